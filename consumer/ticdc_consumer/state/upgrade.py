"""Creates the consumer's own tables, and migrates those that an older release made.

A migration takes over every changefeed of the target first, since all share the tables: it waits
for their transactions, ends sessions that do not finish, and raises their generations, so that no
consumer of an older release continues. Where DDL is transactional, this and the migration are one
transaction. Where DDL commits by itself, the order makes each prefix safe:

1. `migrating_to` is written: from here on, an older release refuses to start, and the next start
   of this one migrates.
2. Every changefeed is taken over. Its lock is kept until the end.
3. Missing tables are created, then the steps run. Both detect work that is already done.
4. `version` is written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import sqlalchemy as sa

from ticdc_consumer.errors import Retry, Stop, Unavailable, UnknownCommit
from ticdc_consumer.state import schema
from ticdc_consumer.state.schema import CHECKPOINT, METADATA, STATE
from ticdc_consumer.targets.target import Target

ALL = "*"
"""The lock name, where a changefeed's would stand, of the tables that all changefeeds share."""


@dataclass(frozen=True, slots=True)
class StateVersion:
    """The version of the tables; `migrating_to` is greater while a migration is running."""

    version: int
    migrating_to: int
    least_release: str


_OWN = tuple((None, name) for name in sorted(schema.OWN_TABLES))


class OwnTables:
    """The consumer's own tables of a target, whichever release made them."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._patience = 30.0
        self._blocker: Callable[[], str] = _nobody

    def version(self) -> StateVersion | None:
        """The version of the tables; 0 if they are older than versions, None if there are none."""
        with self._target.errors():
            inspector = sa.inspect(self._target.connection)
            if inspector.has_table(STATE.name):
                row = self._run(sa.select(STATE)).one_or_none()
                if row is not None:
                    return StateVersion(row.version, row.migrating_to, row.least_release)
            return StateVersion(0, 0, "") if inspector.has_table(CHECKPOINT.name) else None

    def readable(self) -> bool:
        """Returns whether there are tables to read. Raises `Stop` if this release cannot read their
        version."""
        stored = self.version()
        if stored is None:
            return False
        refuse_newer(stored)
        self._target.require_lasting(_OWN)
        if stored.version < schema.OLDEST_READABLE:
            raise Stop(
                f"the ticdc_* tables of the target have version {stored.version}, made by an older "
                f"release, and this release reads version {schema.OLDEST_READABLE} or later; its "
                f"first `run` migrates them to version {schema.STATE_VERSION}"
            )
        # Where DDL commits by itself, an interrupted first start leaves only some of them.
        return stored.version > 0 or self._all_exist()

    def prepare(self, patience: float) -> None:
        """Creates or migrates the tables if needed; several consumers may do so at once.

        Ends the session of a consumer that blocks it for longer than `patience` seconds. Raises
        `Stop`, without changing anything, if a newer release made the tables, or if their kind does
        not keep committed rows.
        """
        self._patience = patience
        self._target.require_lasting(_OWN)
        if self._is_current():
            return
        try:
            if self._target.transactional_ddl:
                self._alone(patience, partial(self._migrate, self._lock_and_fence))
            else:
                self._migrate_in_steps(patience)
        except (Retry, UnknownCommit) as error:
            raise Unavailable(
                "the ticdc_* tables of the target could not be created or migrated; nothing was "
                f"applied, start again ({error})"
            ) from error

    def hold(self) -> None:
        """Prevents other consumers' migrations and new changefeeds until the transaction ends.
        Raises `Stop` if a newer release migrated the tables since `prepare`."""
        self._lock()
        self._require_current(self._target.locking_read(sa.select(STATE)))

    def require_current(self) -> None:
        """Raises `Stop` if a newer release migrated the tables since `prepare`. Call it inside a
        transaction that locked a checkpoint, for which a migration would wait."""
        self._require_current(sa.select(STATE))

    def blocker(self) -> str:
        """The session that caused a lock timeout inside `prepare` or `hold`, if it may be ended;
        else ""."""
        return self._blocker()

    def _require_current(self, statement: sa.Select[Any]) -> None:
        row = self._run(statement).one()
        stored = StateVersion(row.version, row.migrating_to, row.least_release)
        refuse_newer(stored)
        if stored.version != schema.STATE_VERSION:
            raise Unavailable("the ticdc_* tables of the target were replaced; start again")

    def _alone(self, patience: float, work: Callable[[], None]) -> None:
        def locked() -> None:
            self._lock()
            work()

        self._target.overtake(ALL, patience, self.blocker, locked)

    def _lock(self) -> None:
        """Waits for other sessions that create the tables or write to them for the first time."""
        self._blocker = self._idle_holder
        self._target.one_at_a_time()
        self._blocker = _nobody

    def _migrate_in_steps(self, patience: float) -> None:
        # The migration may have to wait that long for each changefeed.
        self._alone(patience * (1 + len(self._changefeeds())), self._announce)
        # A reader's open transaction would keep an ALTER TABLE waiting for a year.
        self._target.limit_lock_waits(patience)
        self._migrate(self._overtake)
        # The locks and the setting belong to the session.
        self._target.reconnect()

    def _is_current(self) -> bool:
        stored = self.version()
        if stored is None:
            return False
        refuse_newer(stored)
        return stored.version == schema.STATE_VERSION

    def _all_exist(self) -> bool:
        with self._target.errors():
            inspector = sa.inspect(self._target.connection)
            return all(inspector.has_table(table.name) for table in schema.VERSION_0)

    def _announce(self) -> None:
        """Writes the version that the migration leads to. Raises `Stop` if a newer one was
        announced."""
        stored = self.version()
        if stored is not None:
            refuse_newer(stored)
        self._create(STATE)
        release = schema.MIGRATIONS[-1].release
        values = {"migrating_to": schema.STATE_VERSION, "least_release": release}
        if not self._run(sa.update(STATE).values(values)).rowcount and not self._announced():
            self._run(sa.insert(STATE).values(id=1, version=0, **values))

    def _announced(self) -> bool:
        """Returns whether the row exists: MySQL's UPDATE does not count an equal row."""
        return self._run(sa.select(STATE.c.id)).one_or_none() is not None

    def _migrate(self, fence_off: Callable[[str], None]) -> None:
        if self._target.transactional_ddl:
            self._announce()
        stored = self.version()
        if stored is None or stored.version == schema.STATE_VERSION:
            return  # another consumer was faster
        with self._target.errors():
            for changefeed in self._changefeeds():
                fence_off(changefeed)
            for table in METADATA.sorted_tables:
                self._create(table)
            for migration in schema.MIGRATIONS[stored.version :]:
                for step in migration.steps:
                    step(self._target.connection)
            self._run(sa.update(STATE).values(version=schema.STATE_VERSION))

    def _changefeeds(self) -> list[str]:
        with self._target.errors():
            if not sa.inspect(self._target.connection).has_table(CHECKPOINT.name):
                return []
            return sorted(self._run(sa.select(CHECKPOINT.c.changefeed)).scalars())

    def _lock_and_fence(self, changefeed: str) -> None:
        mine = CHECKPOINT.c.changefeed == changefeed
        self._blocker = partial(self._owner, changefeed)
        self._run(self._target.locking_read(sa.select(CHECKPOINT.c.generation).where(mine)))
        self._blocker = _nobody
        self._raise_generation(changefeed)

    def _overtake(self, changefeed: str) -> None:
        self._target.overtake(
            changefeed,
            self._patience,
            partial(self._owner, changefeed),
            partial(self._raise_generation, changefeed),
        )

    def _raise_generation(self, changefeed: str) -> None:
        mine = CHECKPOINT.c.changefeed == changefeed
        raised = CHECKPOINT.c.generation + 1
        self._run(sa.update(CHECKPOINT).where(mine).values(generation=raised))

    def _owner(self, changefeed: str) -> str:
        mine = CHECKPOINT.c.changefeed == changefeed
        with self._target.errors():
            return str(self._run(sa.select(CHECKPOINT.c.owner).where(mine)).scalar() or "")

    def _idle_holder(self) -> str:
        with self._target.errors():
            return self._target.idle_holder(self._patience)

    def _create(self, table: sa.Table) -> None:
        self._run(schema.creation(table, self._target.connection.dialect.name))

    def _run(self, statement: sa.Executable) -> sa.CursorResult[Any]:
        return self._target.connection.execute(statement)


def _nobody() -> str:
    return ""


def refuse_newer(stored: StateVersion) -> None:
    """Raises `Stop` if a release newer than this one made the tables, or is migrating them."""
    newest = max(stored.version, stored.migrating_to)
    if newest > schema.STATE_VERSION:
        raise Stop(
            f"the ticdc_* tables of the target have version {newest}, made by a newer release, and "
            f"this release knows versions up to {schema.STATE_VERSION}: install ticdc-consumer "
            f"{stored.least_release} or later"
        )
