"""Writes a consumer's activity into the target: in its own thread and session, every few seconds.
Failures and delays here do not affect the run: `Monitor.unwritten` shows them."""

import logging
import platform
import time
from contextlib import suppress
from threading import Event, Thread

from ticdc_encoder.errors import TicdcError

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Locked
from ticdc_consumer.state.repairs import RepairRequests
from ticdc_consumer.status.activity.activity import Activity
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.status.activity.process import state_of
from ticdc_consumer.status.activity.stored import read, write
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.blockers import Blocker
from ticdc_consumer.targets.target import Target

logger = logging.getLogger(__name__)

INTERVAL = 5.0
"""Seconds between two writes."""
FIRST = 1.0
"""Seconds until the first write: a run that ends earlier writes once."""
LAST_WORD = 3.0
"""Seconds that the end of a run waits for the last write."""
WARNING_INTERVAL = 300.0
SLOW_ANSWER = 1.0
"""Seconds without an answer from the target before it is asked what blocks it."""
LOCKED = Locked.__name__


class ActivityRecorder:
    """Writes the activity of `monitor` into the target of these options."""

    def __init__(self, monitor: Monitor, options: Settings) -> None:
        self._monitor = monitor
        self._options = options
        self._ends = Event()
        self._target: Target | None = None
        self._warned = -WARNING_INTERVAL
        # A daemon, so that a target that hangs does not keep the process alive.
        self._thread = Thread(target=self._work, name="ticdc-activity", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Writes once more, if that is soon possible."""
        self._ends.set()
        if self._monitor.session or not self._monitor.is_away:
            self._thread.join(LAST_WORD)

    def _work(self) -> None:
        ended = self._ends.wait(FIRST)
        while not ended:
            if self._monitor.generation:
                self._record()
            ended = self._ends.wait(INTERVAL if self._monitor.generation else FIRST)
        self._record()
        self._close()

    def _record(self) -> None:
        try:
            if self._target is None:
                self._target = self._open()
                self._monitor.writes_by(self._target.session_id())
            self._monitor.blocked_by(self._blockers(self._target))
            write(self._target, self._monitor.look())
            self._monitor.wrote()
            self._look_for_repairs(self._target)
        except Exception as error:  # noqa: BLE001
            self._close()
            self._monitor.wrote(
                str(error) if isinstance(error, TicdcError) else type(error).__name__
            )
            # The error that ends a run may be the same, and is reported anyway.
            due = time.monotonic() - self._warned >= WARNING_INTERVAL
            if due and not self._ends.is_set():
                self._warned = time.monotonic()
                logger.warning(
                    "cannot write to the target what this consumer is doing, for `status`, `why` "
                    "and `list`: %s",
                    self._monitor.unwritten,
                    extra={"event": "activity_not_written", "reason": self._monitor.unwritten},
                )

    def _look_for_repairs(self, target: Target) -> None:
        """Checks for repair requests, so that no cut has to."""
        if self._monitor.generation and RepairRequests(target, self._options.changefeed).waits():
            self._monitor.has_repair(waits=True)

    def _blockers(self, target: Target) -> tuple[Blocker, ...]:
        """Sessions that block the consumer's; between two attempts at a lock, the last that were
        seen."""
        session, retry = self._monitor.session, self._monitor.retry
        if session and self._monitor.waited_for_target() >= SLOW_ANSWER:
            return blockers_of(target, session)
        return self._monitor.blockers if retry is not None and LOCKED in retry.kinds else ()

    def _open(self) -> Target:
        options = self._options
        return open_target(
            options.target_url,
            to_look=True,
            write_source=options.write_source,
            changefeed=options.changefeed,
        )

    def _close(self) -> None:
        target, self._target = self._target, None
        if target is not None:
            with suppress(Exception):
                target.close()


def blockers_of(target: Target, session: str) -> tuple[Blocker, ...]:
    """Sessions that block `session`, if this user may see them and the server shows them."""
    try:
        return tuple(target.blockers(session))
    except TicdcError:
        return ()


def follow(target: Target, monitor: Monitor, changefeed: str) -> None:
    """Passes to the monitor what the last consumer wrote, as far as it can be read."""
    with suppress(TicdcError):
        stored = read(target, changefeed)
        if stored is not None:
            monitor.follows(stored.activity)
            if stored.running and not _was_killed(target, stored.activity):
                monitor.overtook(stored.activity.who)


def _was_killed(target: Target, last: Activity) -> bool:
    """Returns whether a consumer that wrote recently is known to be gone: by its session, or, where
    sessions have no names, by its process, if that was on this machine."""
    if last.session:
        return not target.has_session(last.session)
    return last.host == platform.node() and not state_of(last.pid, last.started)
