"""A load that is not finished: the rows of `ticdc_load`.

They are there from the transaction that begins a load until the one that sets R. A chunk is noted
as done in the transaction that writes its rows, so that a crash between the two does not exist.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import sqlalchemy as sa
from ticdc_encoder.counted import counted

from ticdc_consumer.errors import Stop
from ticdc_consumer.state.schema import LOAD
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.target import Target

TableState = Literal["create", "empty", "use", "rows", "done", "asked", "whole", "given up"]
"""Of a table: to be created, to be emptied, to be used as it is; ready for rows; complete. Of one
that is loaded beside that in use: the stream is to write to it, too ("asked"), and does ("rows");
all of its rows are there ("whole"); it is to be dropped ("given up")."""

TABLE = 0
"""In place of a chunk's number: the table itself."""
AT_ONCE = 1_000
"""Rows of `ticdc_load` that one statement writes."""


@dataclass(frozen=True, slots=True)
class TableLoad:
    """A table of a load: its CREATE TABLE upstream, and how its rows are cut into chunks, each as
    JSON with about how many rows it has. `created`: the consumer makes the table. `beside`: the
    table of the target that is filled, to take the place of that in use. `strange`: the
    rows of that in use did not come from the upstream."""

    name: TableName
    state: TableState
    statement: str
    created: bool
    chunks: Sequence[tuple[str, int]] = ()
    beside: TargetName | None = None
    snapshot_ts: int = 0
    strange: bool = False

    @property
    def alone(self) -> bool:
        """Whether the upstream's rows go to the table that is filled, and to no other."""
        return self.created or self.strange


@dataclass(frozen=True, slots=True)
class TableProgress:
    """How far a table is: chunks, and rows, those that are not loaded yet by estimate."""

    name: TableName
    state: TableState
    chunks: int
    chunks_done: int
    rows: int
    rows_done: int


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far a load as of `snapshot_ts` is; `beside` tables that are in use, the load began
    there."""

    snapshot_ts: int
    tables: Sequence[TableProgress]
    beside: bool = False

    @property
    def chunks(self) -> int:
        return sum(table.chunks for table in self.tables)

    @property
    def chunks_done(self) -> int:
        return sum(table.chunks_done for table in self.tables)

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    @property
    def rows_done(self) -> int:
        return sum(table.rows_done for table in self.tables)

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {
            "snapshot_ts": str(self.snapshot_ts),
            "rows": self.rows,
            "rows_done": self.rows_done,
            "chunks": self.chunks,
            "chunks_done": self.chunks_done,
        }

    def __str__(self) -> str:
        done = sum(table.state == "done" for table in self.tables)
        return (
            f"{self.rows_done:,} of about {counted(self.rows, 'row')}, {self.chunks_done:,} of "
            f"{counted(self.chunks, 'chunk')}, {done} of {counted(len(self.tables), 'table')}"
        )


class LoadNotes:
    """What the target holds of a changefeed's load. Writes belong into `target.transaction()`."""

    def __init__(self, target: Target, changefeed: str) -> None:
        self._target = target
        self._mine = LOAD.c.changefeed == changefeed
        self._changefeed = changefeed

    # --- reading -------------------------------------------------------------------------------

    def progress(self) -> LoadProgress | None:
        """How far the load is; None if there is none. Whoever only looks may find older tables."""
        with self._target.errors():
            if not sa.inspect(self._target.connection).has_table(LOAD.name):
                return None
            columns = [LOAD.c.schema, LOAD.c.table, LOAD.c.state, LOAD.c.snapshot_ts]
            of_table = LOAD.c.chunk == TABLE
            rows = self._run(
                sa.select(
                    *columns,
                    sa.case((of_table, 1), else_=0).label("is_table"),
                    sa.func.count().label("number"),
                    sa.func.sum(LOAD.c.row_count).label("row_count"),
                )
                .where(self._mine)
                .group_by(*columns, "is_table")
            ).all()
        if not rows:
            return None
        names = sorted({(row.schema, row.table) for row in rows})
        beside = any(table.beside for table in self.tables())
        return LoadProgress(rows[0].snapshot_ts, [_progress(name, rows) for name in names], beside)

    def tables(self) -> list[TableLoad]:
        """The tables of the load, without their chunks."""
        query = sa.select(LOAD).where(self._mine, LOAD.c.chunk == TABLE)
        with self._target.errors():
            rows = self._run(query.order_by(LOAD.c.schema, LOAD.c.table)).all()
        return [_load(row) for row in rows]

    def beside(self) -> list[TableLoad]:
        """The tables that are loaded beside those in use."""
        return [table for table in self.tables() if table.beside]

    def filled(self) -> dict[TableName, TargetName]:
        """Those whose rows go nowhere else. Whoever only looks may find older tables."""
        if self.progress() is None:
            return {}
        return {load.name: load.beside for load in self.beside() if load.alone and load.beside}

    def state(self, name: TableName) -> TableState:
        """How far a table is. Raises `Stop` if its load was ended."""
        query = sa.select(LOAD.c.state).where(*self._chunk(name, TABLE))
        with self._target.errors():
            state = self._run(query).scalar_one_or_none()
        if state is None:
            raise Stop(
                f"{'.'.join(name)}: another client ended its load meanwhile, by load --give-up or "
                "forget"
            )
        return cast("TableState", state)

    def pending(self) -> list[tuple[TableName, int]]:
        """The chunks that are not loaded: of each table in order."""
        query = sa.select(LOAD.c.schema, LOAD.c.table, LOAD.c.chunk).where(
            self._mine, LOAD.c.chunk != TABLE, LOAD.c.state == "pending"
        )
        with self._target.errors():
            rows = self._run(query.order_by(LOAD.c.schema, LOAD.c.table, LOAD.c.chunk)).all()
        return [((row.schema, row.table), row.chunk) for row in rows]

    def pending_sizes(self) -> list[tuple[str, int]]:
        """The chunks that are not loaded, each as JSON with its rows."""
        query = sa.select(LOAD.c.detail, LOAD.c.row_count).where(
            self._mine, LOAD.c.chunk != TABLE, LOAD.c.state == "pending"
        )
        with self._target.errors():
            return [(row.detail, row.row_count) for row in self._run(query)]

    def locked_chunk(self, name: TableName, number: int, snapshot_ts: int) -> str | None:
        """A chunk that is to be loaded, as JSON. Until the end of the transaction nobody else
        loads it. None if another client has, or if this load has ended."""
        query = sa.select(LOAD.c.detail).where(
            *self._chunk(name, number), LOAD.c.state == "pending", LOAD.c.snapshot_ts == snapshot_ts
        )
        return cast("str | None", self._run(self._target.locking_read(query)).scalar())

    # --- writing -------------------------------------------------------------------------------

    def begin(self, snapshot_ts: int, tables: Sequence[TableLoad]) -> None:
        """Writes a new load."""
        rows = list(self._rows(snapshot_ts, tables))
        for start in range(0, len(rows), AT_ONCE):
            self._target.connection.execute(sa.insert(LOAD), rows[start : start + AT_ONCE])

    def loaded(self, name: TableName, number: int, rows: int) -> None:
        """Notes a chunk that was locked as done, with the rows that it had."""
        self._update(name, number, state="done", row_count=rows)

    def reached(self, name: TableName, state: TableState) -> None:
        """Notes how far a table is."""
        self._update(name, TABLE, state=state)

    def end(self) -> None:
        """Removes the load."""
        self._run(sa.delete(LOAD).where(self._mine))

    def remove(self, name: TableName) -> None:
        """Removes one table's."""
        of_table = LOAD.c.schema == name[0], LOAD.c.table == name[1]
        self._run(sa.delete(LOAD).where(self._mine, *of_table))

    def _rows(self, snapshot_ts: int, tables: Sequence[TableLoad]) -> Iterator[dict[str, object]]:
        for table in tables:
            about = {
                "changefeed": self._changefeed,
                "schema": table.name[0],
                "table": table.name[1],
                "snapshot_ts": snapshot_ts,
            }
            detail: dict[str, object] = {
                "statement": table.statement,
                "created": table.created,
            }
            if table.beside:
                detail |= {"beside": table.beside, "strange": table.strange}
            of_table = {"detail": json.dumps(detail)}
            yield about | {"chunk": TABLE, "state": table.state, "row_count": 0} | of_table
            for number, (chunk, rows) in enumerate(table.chunks, TABLE + 1):
                state = {"chunk": number, "state": "pending", "row_count": rows}
                yield about | state | {"detail": chunk}

    def _update(self, name: TableName, number: int, **values: object) -> None:
        self._run(sa.update(LOAD).where(*self._chunk(name, number)).values(**values))

    def _chunk(self, name: TableName, number: int) -> tuple[sa.ColumnElement[bool], ...]:
        of_table = LOAD.c.schema == name[0], LOAD.c.table == name[1]
        return self._mine, *of_table, LOAD.c.chunk == number

    def _run(self, statement: sa.Executable) -> sa.CursorResult[Any]:
        return self._target.connection.execute(statement)


def _load(row: sa.Row[Any]) -> TableLoad:
    detail = json.loads(row.detail)
    beside = cast("TargetName | None", tuple(detail.get("beside", ())) or None)
    name, snapshot_ts = (row.schema, row.table), int(row.snapshot_ts)
    return TableLoad(
        name,
        row.state,
        detail["statement"],
        detail["created"],
        beside=beside,
        snapshot_ts=snapshot_ts,
        strange=detail.get("strange", False),
    )


def _progress(name: TableName, rows: Sequence[Any]) -> TableProgress:
    mine = [row for row in rows if (row.schema, row.table) == name]
    (state,) = [row.state for row in mine if row.is_table]
    chunks = [row for row in mine if not row.is_table]
    done = [row for row in chunks if row.state == "done"]
    return TableProgress(
        name,
        state,
        sum(row.number for row in chunks),
        sum(row.number for row in done),
        sum(int(row.row_count) for row in chunks),
        sum(int(row.row_count) for row in done),
    )


def require_loaded(target: Target, changefeed: str) -> None:
    """Raises `Stop` if a load of the changefeed is not finished: the tables hold a part of it."""
    progress = LoadNotes(target, changefeed).progress()
    if progress is not None and not progress.beside:
        raise Stop(
            f"changefeed {changefeed} is being loaded as of {progress.snapshot_ts}: {progress}; "
            "continue with: ticdc-consumer load CONFIG; or start over by: ticdc-consumer forget "
            "CONFIG, then: ticdc-consumer load CONFIG --replace"
        )
