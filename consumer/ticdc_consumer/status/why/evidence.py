"""What is looked at to explain a changefeed's state: target, log, clock; all at once, each for no
longer than a few seconds. What cannot be reached is evidence, too."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import sqlalchemy as sa
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.tso import seconds

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.activity.activity import Activity, Trouble
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.reading import Status, read
from ticdc_consumer.status.why.log import LogEvidence, look_at_log
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_consumer.targets.waits import LockWait, LongWork

PATIENCE = 4.0
"""Seconds that target and log may take."""
LONG = 300.0
"""Seconds after which an idle transaction is long."""


@dataclass(slots=True)
class TargetEvidence:
    """What the target shows. `status` is None before the first start; `clock_ahead` is how far its
    clock is ahead of this machine's."""

    status: Status | None = None
    waits: list[LockWait] = field(default_factory=list)
    long_work: list[LongWork] = field(default_factory=list)
    unindexed: list[str] = field(default_factory=list)
    clock_ahead: float = 0.0
    error: TicdcError | None = None
    catalog_error: str = ""


@dataclass(slots=True)
class Evidence:
    """All that is known. `now` is this machine's clock; `target_error` and `log.error` say why a
    part is not known."""

    options: Options
    target: TargetEvidence
    log: LogEvidence
    now: float

    @property
    def status(self) -> Status | None:
        return self.target.status

    @property
    def activity(self) -> Activity | None:
        """What the consumer is at, or was at last."""
        stored = self.status.activity if self.status else None
        return stored.activity if stored else None

    @property
    def running(self) -> bool:
        stored = self.status.activity if self.status else None
        return stored is not None and stored.running

    @property
    def error(self) -> Trouble | None:
        """What ended the last run, or what is tried again by the present one."""
        activity = self.activity
        if activity is None:
            return None
        return activity.retry or activity.error if self.running else activity.error

    @property
    def resolved_ts(self) -> int:
        return self.status.resolved_ts if self.status else 0

    @property
    def lag(self) -> float:
        """Seconds that R is behind this machine's clock."""
        return max(0.0, self.now - seconds(self.resolved_ts)) if self.resolved_ts else 0.0

    def stage_for(self, *stages: str) -> float:
        """For how long a consumer that runs has been in one of these stages; 0 if it is not."""
        activity = self.activity
        if activity is None or not self.running or activity.stage not in stages:
            return 0.0
        return max(0.0, activity.at - activity.since)


def gather(options: Options, patience: float = PATIENCE) -> Evidence:
    """Looks at target and log at once; the log's tail needs no checkpoint."""
    target, log = TargetEvidence(), LogEvidence()
    works = [
        _Bounded(lambda: _look_at_target(options, target), "the target"),
        _Bounded(lambda: look_at_log(options, log, patience), "the source"),
    ]
    deadline = time.monotonic() + patience
    errors = [work.result(max(0.0, deadline - time.monotonic())) for work in works]
    target.error, log.error = target.error or errors[0], log.error or errors[1]
    return Evidence(options, target, log, time.time())


class _Bounded:
    """Work in a thread that nobody waits for in the end: a target that hangs must not hang us."""

    def __init__(self, work: Callable[[], Any], what: str) -> None:
        self._what = what
        self._error: TicdcError | None = None
        self._thread = Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except TicdcError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001
            self._error = Stop(f"{self._what} cannot be looked at: {type(error).__name__}")

    def result(self, patience: float) -> TicdcError | None:
        self._thread.join(patience)
        if self._thread.is_alive():
            return Stop(f"{self._what} does not answer: it was given {PATIENCE:g} s")
        return self._error


def _look_at_target(options: Options, seen: TargetEvidence) -> None:
    with closing(open_target(options.target_url, to_look=True)) as target:
        before = time.time()
        seen.clock_ahead = target.seconds() - before
        seen.status = _status(target, options)
        try:
            seen.waits = target.lock_waits()
            seen.long_work = target.long_work(LONG)
            seen.unindexed = _unindexed(target, options, seen.status)
        except TicdcError as error:  # as where the user may not see other sessions
            seen.catalog_error = str(error)


def _status(target: Target, options: Options) -> Status | None:
    try:
        return read(target, options)
    except Stop:
        if Store(target, options.changefeed).read() is None:
            return None
        raise


def _unindexed(target: Target, options: Options, status: Status | None) -> list[str]:
    """Tables without a key whose rows were deleted and that have no index: each DELETE reads the
    whole table."""
    names = []
    for table in status.tables if status and options.at_least_once else ():
        if not table.deleted:
            continue
        schema, name = table.destination
        inspector = sa.inspect(target.connection)
        has_key = inspector.get_pk_constraint(name, schema)["constrained_columns"]
        if not has_key and not inspector.get_indexes(name, schema):
            names.append(table.name)
    return names

