"""Waits until the consumer of a changefeed is gone, instead of taking over from it.

A leader that is alive shows it in the target: it writes its activity every few seconds, and raises
R or the generation in the checkpoint. A leader that ends says so. Taking over from a leader that
only seems to be gone does no harm: the lease refuses it.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import sqlalchemy as sa
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Away, Retry
from ticdc_consumer.state.schema import CHECKPOINT
from ticdc_consumer.status.activity import stored
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import until

PAUSE = 1.0
"""Seconds between two looks."""


@dataclass(frozen=True, slots=True)
class Signs:
    """The target's signs of a leader: the checkpoint's generation and R, both None if there is no
    checkpoint; the last written activity's generation, whether its consumer was ending, and its age
    in seconds."""

    generation: int | None = None
    resolved_ts: int | None = None
    written_by: int = 0
    ended: bool = False
    age: float | None = None


class Watch:
    """Judges a leader by successive looks."""

    def __init__(self, patience: float) -> None:
        """`patience` is how many seconds a leader may give no sign."""
        self._patience = patience
        self._reached: tuple[int | None, int | None] | None = None
        self._since = 0.0

    def is_gone(self, signs: Signs, now: float) -> bool:
        """Returns whether the leader is gone; `now` is by a monotonic clock."""
        if signs.generation is None:
            return True
        reached = (signs.generation, signs.resolved_ts)
        if reached != self._reached:
            self._reached, self._since = reached, now
        if signs.ended and signs.written_by == signs.generation:
            return True
        writes = signs.age is not None and signs.age < self._patience
        return not writes and now - self._since >= self._patience


def signs_of(target: Target, changefeed: str) -> Signs:
    """Looks once, without locking. A target without the tables has no leader."""
    activity = stored.read(target, changefeed)
    with target.errors():
        if not sa.inspect(target.connection).has_table(CHECKPOINT.name):
            return Signs()
        mine = CHECKPOINT.c.changefeed == changefeed
        columns = CHECKPOINT.c.generation, CHECKPOINT.c.resolved_ts
        row = target.connection.execute(sa.select(*columns).where(mine)).one_or_none()
    if row is None:
        return Signs()
    if activity is None:
        return Signs(row.generation, int(row.resolved_ts))
    return Signs(
        row.generation,
        int(row.resolved_ts),
        activity.activity.generation,
        activity.activity.stage == "stopped",
        activity.age,
    )


def wait_for_leader_to_go(
    options: Settings, monitor: Monitor, gives_up: Callable[[], bool]
) -> bool:
    """Returns True once no other consumer of the changefeed is alive, False if `gives_up` said so
    first. Waits for a target that does not answer."""
    watch = Watch(options.standby_after)
    target: Target | None = None
    try:
        with monitor.at("standby", "while another consumer is alive"):
            while not gives_up():
                try:
                    if target is None:
                        target = open_target(
                            options.target_url, to_look=True, changefeed=options.changefeed
                        )
                    if watch.is_gone(signs_of(target, options.changefeed), time.monotonic()):
                        return True
                    monitor.recovered()
                except (Away, Retry) as error:
                    monitor.retries(error, "target unreachable")
                    _close(target)
                    target = None
                until(gives_up, PAUSE, pause=0.1)
        return False
    finally:
        _close(target)


def _close(target: Target | None) -> None:
    if target is not None:
        with suppress(TicdcError):
            target.close()
