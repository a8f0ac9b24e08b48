"""`ticdc_activity`: the activity that a consumer wrote last, and its age."""

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
"""Seconds since its last write after which a consumer counts as silent: it writes every 5."""
ENDED = 5.0
"""Seconds after the last write of an ended consumer from which a holder of its lease is another
one."""


@dataclass(frozen=True, slots=True)
class Silent:
    """A consumer that is alive but does not write: its session, if known, and whether its process
    is `stopped`."""

    session: str = ""
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class StoredActivity:
    """A stored activity. `age` is in seconds by the target's clock, of which the consumer's was
    `ahead` by so many at the write. A `silent` consumer is alive without recent writes; a `killed`
    one wrote recently, and is gone."""

    activity: Activity
    age: float
    ahead: float = 0.0
    silent: Silent | None = None
    killed: bool = False

    @property
    def running(self) -> bool:
        """Returns whether the consumer wrote recently and is not known to have stopped."""
        return self.activity.stage != "stopped" and self.age < ALIVE and not self.killed

    @property
    def alive(self) -> bool:
        """Returns whether a consumer runs, judged by its writes, or by its session or process."""
        return self.running or self.silent is not None


def read_all(target: Target) -> Mapping[str, StoredActivity]:
    """Activities by changefeed. Tables of an older release have none; unreadable ones are left
    out."""
    return _read(target, sa.select(ACTIVITY))


def read(target: Target, changefeed: str) -> StoredActivity | None:
    """The activity of a changefeed's consumer; None if none has written it."""
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
    """Returns whether both the process, which was on this machine, and its session are gone: a
    container with the same host name may not see the process."""
    last = stored.activity
    if not (stored.running and last.session and last.host == platform.node()):
        return False
    with suppress(TicdcError):  # this user may not see sessions
        return not state_of(last.pid, last.started) and not target.has_session(last.session)
    return False


def _silent(target: Target, stored: StoredActivity) -> Silent | None:
    """A silent consumer: a lock, a read-only server or a full disk prevents its writes without
    ending it."""
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
    # Where sessions have no names, only the process can tell.
    return Silent(stopped=process == "stopped") if process and not last.session else None


def write(target: Target, activity: Activity) -> bool:
    """Replaces the stored activity, unless a newer consumer wrote it, or the changefeed has ended.
    Its statements lock nothing that a cut needs.

    A consumer whose start failed has no generation: it writes unless another one runs.
    """
    generation = activity.generation or _generation_of_none(target, activity.changefeed)
    if not generation or _newest_generation(target, activity.changefeed) > generation:
        return False
    written_at = round(target.seconds() * 1000)
    with target.errors():
        values = (activity.changefeed, generation, written_at, dumps(activity))
        target.put(ACTIVITY, [values])
    return True


def _newest_generation(target: Target, changefeed: str) -> float:
    """The newest generation of the changefeed's consumers; infinite if it has ended."""
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
    """The newest generation; 0 if a consumer runs, there is no checkpoint, or the tables are not of
    this release."""
    version = OwnTables(target).version()
    if version is None or (version.version, version.migrating_to) != (STATE_VERSION, STATE_VERSION):
        return 0
    stored, newest = read(target, changefeed), _newest_generation(target, changefeed)
    return 0 if newest == inf or (stored is not None and stored.alive) else int(newest)
