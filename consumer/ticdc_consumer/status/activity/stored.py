"""`ticdc_activity`: what a consumer was at when it wrote last, and how long ago that is."""

import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import sqlalchemy as sa
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.state.schema import ACTIVITY, CHECKPOINT, STATE_VERSION
from ticdc_consumer.state.upgrade import OwnTables
from ticdc_consumer.status.activity.activity import Activity, dumps, loads
from ticdc_consumer.status.activity.process import state_of
from ticdc_consumer.targets.target import Target

ALIVE = 20.0
"""Seconds since its last word after which a consumer is silent: it writes every 5."""
ENDED = 5.0
"""Seconds after the last word of one that ended until whoever holds its lease is another one."""


@dataclass(frozen=True, slots=True)
class Silent:
    """A consumer that lives and does not write: its session, if that is known, and whether its
    process is `stopped`."""

    session: str = ""
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class StoredActivity:
    """`age` is in seconds by the target's clock; the consumer's clock was `ahead` of that by so
    many when it wrote. `silent` is a consumer that
    lives although nobody wrote lately; one that was `killed` wrote lately, and is gone."""

    activity: Activity
    age: float
    ahead: float = 0.0
    silent: Silent | None = None
    killed: bool = False

    @property
    def running(self) -> bool:
        """Whether the consumer has not stopped as far as is known, and wrote lately."""
        return self.activity.stage != "stopped" and self.age < ALIVE and not self.killed

    @property
    def alive(self) -> bool:
        """Whether a consumer runs: by what it wrote, or by its session or process."""
        return self.running or self.silent is not None


def read_all(target: Target) -> Mapping[str, StoredActivity]:
    """By changefeed. Tables of an older release have none; what cannot be read is left out."""
    return _read(target, sa.select(ACTIVITY))


def read(target: Target, changefeed: str) -> StoredActivity | None:
    """What the consumer of a changefeed is at, None if none has written it."""
    mine = ACTIVITY.c.changefeed == changefeed
    return _read(target, sa.select(ACTIVITY).where(mine)).get(changefeed)


def _read(target: Target, query: sa.Select[Any]) -> dict[str, StoredActivity]:
    with target.errors():
        if not sa.inspect(target.connection).has_table(ACTIVITY.name):
            return {}
        now = target.seconds()
        rows = target.connection.execute(query).all()
    stored = {}
    for row in rows:
        with suppress(ValueError):
            activity, written_at = loads(row.activity), row.written_at / 1000
            age, ahead = max(0.0, now - written_at), activity.at - written_at
            stored[row.changefeed] = StoredActivity(activity, age, ahead)
    seen = {name: replace(one, killed=_killed(target, one)) for name, one in stored.items()}
    return {name: replace(one, silent=_silent(target, one)) for name, one in seen.items()}


def _killed(target: Target, stored: StoredActivity) -> bool:
    """Whether both the process, which was on this machine, and its session are gone: in a container
    of the same host name, the process alone may be out of sight."""
    last = stored.activity
    if not (stored.running and last.session and last.host == platform.node()):
        return False
    with suppress(TicdcError):  # this user may not see sessions
        return not state_of(last.pid, last.started) and not target.has_session(last.session)
    return False


def _silent(target: Target, stored: StoredActivity) -> Silent | None:
    """A lock, a read-only server or a full disk keeps a consumer from writing, and does not end
    it."""
    last, ended = stored.activity, stored.activity.stage == "stopped"
    if stored.running or (ended and stored.age < ENDED):
        return None
    here = not ended and last.host == platform.node()
    process = state_of(last.pid, last.started) if here else ""
    session = ""
    with suppress(TicdcError):  # this user may not see sessions
        own = () if ended else (last.session, last.writer)
        session = target.leaseholder(last.changefeed, [each for each in own if each])
    if session:
        return Silent(session, process == "stopped" and session in own)
    # Where sessions have no names, there is nothing but the process.
    return Silent(stopped=process == "stopped") if process and not last.session else None


def write(target: Target, activity: Activity) -> bool:
    """Replaces what is there, unless a newer consumer wrote it, or the changefeed has ended. Its
    statements lock nothing that a cut needs.

    A consumer whose start failed has no generation: it writes unless another one runs."""
    generation = activity.generation or _generation_of_none(target, activity.changefeed)
    if not generation or _newest_generation(target, activity.changefeed) > generation:
        return False
    written_at = round(target.seconds() * 1000)
    with target.errors():
        values = (activity.changefeed, generation, written_at, dumps(activity))
        target.put(ACTIVITY, [values])
    return True


def _newest_generation(target: Target, changefeed: str) -> float:
    """Of the changefeed's consumers; infinite if it has ended."""
    both = CHECKPOINT.outerjoin(ACTIVITY, ACTIVITY.c.changefeed == CHECKPOINT.c.changefeed)
    query = (
        sa.select(CHECKPOINT.c.generation, ACTIVITY.c.generation)
        .select_from(both)
        .where(CHECKPOINT.c.changefeed == changefeed)
    )
    with target.errors():
        row = target.connection.execute(query).one_or_none()
    return inf if row is None else max(row[0], row[1] or 0)


def _generation_of_none(target: Target, changefeed: str) -> int:
    """The newest generation, 0 if a consumer runs, there is no checkpoint, or the tables are not of
    this release."""
    version = OwnTables(target).version()
    if version is None or (version.version, version.migrating_to) != (STATE_VERSION, STATE_VERSION):
        return 0
    stored, newest = read(target, changefeed), _newest_generation(target, changefeed)
    return 0 if newest == inf or (stored is not None and stored.alive) else int(newest)
