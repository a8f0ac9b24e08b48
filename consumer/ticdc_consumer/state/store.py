"""The checkpoint in the target: R, the Kafka positions that belong to it, and the DDL ledger.

All of it changes only in the transactions that change the rows. Each write guarantees that the
checkpoint still is what this consumer last read or wrote; otherwise nothing is written.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, Literal

import sqlalchemy as sa
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import from_json, to_json

from ticdc_consumer.errors import Fenced, Stop, Usage
from ticdc_consumer.protocols.schemas import SchemaKey, key_of
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.destinations import Destinations, InTarget
from ticdc_consumer.state.lease import Lease
from ticdc_consumer.state.ledger import Ledger
from ticdc_consumer.state.quarantine import Quarantine
from ticdc_consumer.state.repairs import RepairRequests
from ticdc_consumer.state.reports import Reports, Unheard
from ticdc_consumer.state.schema import CHECKPOINT, LEDGER, METADATA, OFFSET, SCHEMA
from ticdc_consumer.state.stored_ledger import LedgerInDatabase
from ticdc_consumer.state.upgrade import OwnTables
from ticdc_consumer.targets.staging import drop_left
from ticdc_consumer.targets.target import Target

AT_ONCE = 2_000
"""Positions that one statement writes: databases take at least some 32,000 parameters."""

_COLUMNS = attrgetter(*[column.name for column in list(OFFSET.c)[1:]])
"""Returns a position's columns of `OFFSET`, without the changefeed."""

_MOVE = sa.update(CHECKPOINT).where(
    CHECKPOINT.c.changefeed == sa.bindparam("left_changefeed"),
    CHECKPOINT.c.generation == sa.bindparam("left_generation"),
    CHECKPOINT.c.resolved_ts == sa.bindparam("left_resolved_ts"),
    ~sa.exists().where(
        LEDGER.c.changefeed == sa.bindparam("left_changefeed"),
        LEDGER.c.commit_ts == sa.bindparam("last_ddl"),
        LEDGER.c.state == "pending",
    ),
)
"""Moves a checkpoint that is unchanged: at the same R, and with the DDL below R done."""


def _nothing() -> None:
    """Does nothing: a first checkpoint needs no other write."""


class Store:
    """The checkpoint of one changefeed, with its `ledger`.

    Every write is refused once another consumer took the changefeed over. Writes belong in
    `target.transaction()`. Reading methods neither create nor migrate the tables; they raise `Stop`
    for those of a newer release.
    """

    def __init__(
        self,
        target: Target,
        changefeed: str,
        keep_dropped: float = 0.0,
        where: Destinations | None = None,
        monitor: Reports | None = None,
        gives_up: Callable[[], bool] = lambda: False,
    ) -> None:
        """`where` gives the tables' destinations: their own names, if no setting matters. `monitor`
        takes the reports; `gives_up` is the lease's."""
        self.target = target
        self.changefeed = changefeed
        self.tables = OwnTables(target)
        self.monitor: Reports = monitor or Unheard()
        self.lease = Lease(target, changefeed, self.tables, self.monitor, gives_up)
        self.where = where or InTarget.unrouted(target)
        self.repairs = RepairRequests(target, changefeed)
        self.ledger: Ledger = LedgerInDatabase(
            target,
            changefeed,
            self.check_generation,
            lambda: self.lease.generation,
            keep_dropped,
            self.where,
        )
        self.quarantine = Quarantine(target, changefeed)

    # --- reading -------------------------------------------------------------------------------

    def changefeeds(self) -> list[str]:
        """The changefeeds with a checkpoint in the target."""
        if not self.tables.readable():
            return []
        with self.target.errors():
            return sorted(self._run(sa.select(CHECKPOINT.c.changefeed)).scalars())

    def read(self) -> Checkpoint | None:
        """The current checkpoint, read without waiting; None before the first start."""
        if not self.tables.readable():
            return None
        with self.target.errors():
            return self._checkpoint()

    def schemas(self) -> dict[SchemaKey, Table]:
        """The Simple schemas that the target holds."""
        return self._schemas() if self.tables.readable() else {}

    def unknown(self) -> Stop:
        """The error for a missing checkpoint where there must be one."""
        known = ", ".join(self.changefeeds())
        others = f", which has those of: {known}" if known else ""
        return Stop(
            f"changefeed {self.changefeed} has no checkpoint in the target{others}; "
            "its first run or load writes one"
        )

    # --- the lease -----------------------------------------------------------------------------

    def start(self, takeover_after: float) -> Checkpoint | None:
        """Takes the changefeed over: from here on, older consumers are refused.

        Creates the tables, or migrates those of an older release. Drops the staging tables that
        older consumers left. Ends the session of an older consumer that blocks it for longer than
        `takeover_after` seconds. Returns None, without taking over, if there is no checkpoint yet.
        Raises `Stop` if a newer release made the tables.
        """

        def read() -> Checkpoint:
            checkpoint = self._checkpoint()
            assert checkpoint is not None  # its row is locked
            return replace(checkpoint, schemas=self._schemas())

        started = self.lease.take(takeover_after, read)
        if started is not None:
            drop_left(self.target, self.changefeed)
        return started

    def begin_first(self, checkpoint: Checkpoint, beside: Callable[[], None] = _nothing) -> None:
        """Writes the first checkpoint, and runs `beside` in the same transaction. Raises `Fenced`
        if another consumer was faster."""

        def insert() -> None:
            self._run(
                sa.insert(CHECKPOINT).values(
                    changefeed=self.changefeed,
                    generation=checkpoint.generation,
                    owner=self.target.session_id(),
                    scope=checkpoint.scope,
                    scope_text=checkpoint.scope_text,
                    **_moving(checkpoint),
                )
            )
            self._write_positions({}, checkpoint.positions)
            beside()

        self.lease.begin(checkpoint.generation, insert)

    def begin_again(
        self, old: Checkpoint, checkpoint: Checkpoint, beside: Callable[[], None] = _nothing
    ) -> Checkpoint:
        """Replaces a first checkpoint to which nothing was applied, and runs `beside` in the same
        transaction; returns the new one."""

        def update() -> None:
            self.lock(old)
            scope = {"scope": checkpoint.scope, "scope_text": checkpoint.scope_text}
            self.lease.update(**scope, **_moving(checkpoint))
            self._write_positions(old.positions, checkpoint.positions)
            beside()

        self.lease.correct(update)
        return replace(checkpoint, generation=self.lease.generation)

    def end(self, takeover_after: float) -> Checkpoint | None:
        """Removes the changefeed's rows from the ticdc_* tables, and nothing else. Returns its last
        checkpoint; None, without removing anything, if there is none. From here on a running
        consumer is refused, as by a newer one."""
        checkpoint = self.start(takeover_after)
        if checkpoint is None:
            return None

        def delete() -> None:
            for table in METADATA.sorted_tables:
                if "changefeed" in table.c:
                    self._run(sa.delete(table).where(table.c.changefeed == self.changefeed))

        self.lease.end(delete)
        return checkpoint

    def check_generation(self) -> None:
        """Locks the checkpoint, and raises `Fenced` if another consumer took it over."""
        self.lease.own(self.lease.locked_row())

    def recover(self) -> None:
        """Replaces the session after a `Retry` if it was lost."""
        self.lease.recover()

    def reconnect(self) -> int:
        """Opens a new session, fenced like the first; returns R. Waits and raises as the lease
        does."""
        return int(self.lease.reconnect().resolved_ts)

    # --- one cut -------------------------------------------------------------------------------

    def lock(self, old: Checkpoint) -> None:
        """Locks the checkpoint first in every load: waits for any writer, then refuses to continue
        unless it is `old`."""
        row = self.lease.own(self.lease.locked_row())
        if row.resolved_ts != old.resolved_ts:
            raise self._moved(old, row.resolved_ts)

    def write(self, old: Checkpoint, new: Checkpoint) -> None:
        """Moves the checkpoint from `old` to `new`; inside the transaction of the rows."""
        if new.resolved_ts <= old.resolved_ts:
            raise ValueError("a cut must raise R: the outcome of a lost COMMIT shows in R alone")
        last_ddl = self.ledger.last_before(old.resolved_ts)
        left = {
            "left_changefeed": self.changefeed,
            "left_generation": old.generation,
            "left_resolved_ts": old.resolved_ts,
            "last_ddl": last_ddl,
        }
        touched = self._run(_MOVE, left | _moving(new))
        if touched.rowcount != 1:
            self.lock(old)
            raise Fenced(
                f"changefeed {self.changefeed}: the DDL of commit_ts {last_ddl} was done, and is "
                "pending again: was the target restored?"
            )
        self._write_positions(old.positions, new.positions)
        self._write_schemas(old.schemas, new.schemas)

    def require_written(self, new: Checkpoint) -> None:
        """Raises `Usage` if this transaction has lost the result of `write`: a program that ran in
        it has ended it."""
        row = self.lease.locked_row()
        if row is None or row.resolved_ts != new.resolved_ts:
            raise Usage("before_commit has rolled the transaction of its cut back: raise instead")

    def resolve_unknown(self, old: Checkpoint, new: Checkpoint) -> Literal["new", "old"]:
        """Returns whether the COMMIT from `old` to `new` happened, after the connection was lost.

        The locking read of a new session waits for the old session's transaction, then sees its
        result.
        """
        reached = self.reconnect()
        if reached not in (old.resolved_ts, new.resolved_ts):
            raise self._moved(old, reached)
        return "new" if reached == new.resolved_ts else "old"

    def _moved(self, old: Checkpoint, reached: int) -> Fenced:
        return Fenced(
            f"the checkpoint of changefeed {self.changefeed} is at R = {reached}, but this "
            f"consumer left it at {old.resolved_ts}: something else wrote it"
        )

    # --- rows of the tables --------------------------------------------------------------------

    def _run(self, statement: sa.Executable, rows: Any = None) -> sa.CursorResult[Any]:
        return self.target.connection.execute(statement, rows)

    def _checkpoint(self) -> Checkpoint | None:
        """The checkpoint in one statement: a reader next to the writer must not mix R and offsets
        of two cuts."""
        mine = CHECKPOINT.c.changefeed == self.changefeed
        of_it = OFFSET.c.changefeed == CHECKPOINT.c.changefeed
        columns = [column for column in OFFSET.c if column is not OFFSET.c.changefeed]
        both = CHECKPOINT.outerjoin(OFFSET, of_it)
        rows = self._run(sa.select(CHECKPOINT, *columns).select_from(both).where(mine)).all()
        if not rows:
            return None
        row = rows[0]
        positions = {
            (o.topic, o.partition): Position(
                o.topic, o.topic_id, o.partition, o.restart_offset, o.mark_offset, o.mark_crc
            )
            for o in rows
            if o.topic is not None
        }
        return Checkpoint(
            self.changefeed,
            row.generation,
            row.resolved_ts,
            row.scope,
            row.mark_time,
            positions,
            json.loads(row.counters),
            row.scope_text,
        )

    def _schemas(self) -> dict[SchemaKey, Table]:
        mine = SCHEMA.c.changefeed == self.changefeed
        with self.target.errors():
            rows = self._run(sa.select(SCHEMA.c.definition).where(mine))
            tables = [from_json(json.loads(row.definition)) for row in rows]
        return {key_of(table): table for table in tables}

    def _write_positions(
        self, old: Mapping[tuple[str, int], Position], new: Mapping[tuple[str, int], Position]
    ) -> None:
        """Writes the positions that moved, in one statement for all topics."""
        dropped = [key for key in old if key not in new]
        for start in range(0, len(dropped), AT_ONCE):
            names = sa.tuple_(OFFSET.c.topic, OFFSET.c.partition)
            of_them = names.in_(dropped[start : start + AT_ONCE])
            self._run(sa.delete(OFFSET).where(OFFSET.c.changefeed == self.changefeed, of_them))
        moved = [
            (self.changefeed, *_COLUMNS(position))
            for key, position in new.items()
            if old.get(key) != position
        ]
        for start in range(0, len(moved), AT_ONCE):
            self.target.put(OFFSET, moved[start : start + AT_ONCE])

    def _write_schemas(
        self, old: Mapping[SchemaKey, Table], new: Mapping[SchemaKey, Table]
    ) -> None:
        for schema, table, version in [key for key in old if old[key] != new.get(key)]:
            self._run(
                sa.delete(SCHEMA).where(
                    SCHEMA.c.changefeed == self.changefeed,
                    SCHEMA.c.schema == schema,
                    SCHEMA.c.table == table,
                    SCHEMA.c.version == version,
                )
            )
        rows = [
            {
                "changefeed": self.changefeed,
                "schema": schema,
                "table": table,
                "version": version,
                "definition": json.dumps(to_json(definition)),
            }
            for (schema, table, version), definition in new.items()
            if old.get((schema, table, version)) != definition
        ]
        if rows:
            self._run(sa.insert(SCHEMA), rows)


def _moving(checkpoint: Checkpoint) -> dict[str, object]:
    """The columns that each cut writes."""
    return {
        "resolved_ts": checkpoint.resolved_ts,
        "mark_time": checkpoint.mark_time,
        "counters": json.dumps(dict(checkpoint.counters), sort_keys=True),
    }
