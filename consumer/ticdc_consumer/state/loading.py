"""An unfinished load: the rows of `ticdc_load`.

They exist from the transaction that begins a load until the one that sets R. A chunk is noted as
done in the transaction that writes its rows, so that no crash can fall between the two.
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
"""State of a table: to be created, to be emptied, to be used as it is; ready for rows; complete.
For a table that is loaded next to the one in use: the stream must write to it, too ("asked"), and
does ("rows"); all of its rows are there ("whole"); it must be dropped ("given up")."""

TABLE = 0
"""Chunk number that stands for the table itself."""
AT_ONCE = 1_000
"""Rows of `ticdc_load` that one statement writes."""


@dataclass(frozen=True, slots=True)
class TableLoad:
    """A table of a load: its upstream CREATE TABLE, and its chunks, each as JSON with its
    approximate number of rows. `created`: the consumer creates the table. `beside`: the table of
    the target that is filled, to replace the one in use. `strange`: the rows of the one in use did
    not come from the upstream."""

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
        """Returns whether the upstream's rows go only to the table that is filled."""
        return self.created or self.strange


@dataclass(frozen=True, slots=True)
class TableProgress:
    """Progress of a table: chunks, and rows; the rows not yet loaded are an estimate."""

    name: TableName
    state: TableState
    chunks: int
    chunks_done: int
    rows: int
    rows_done: int


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """Progress of a load as of `snapshot_ts`; `beside` if it began next to tables in use."""

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
        """JSON for programs."""
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
    """The target's notes of a changefeed's load. Writes belong in `target.transaction()`."""

    def __init__(self, target: Target, changefeed: str) -> None:
        self._target = target
        self._mine = LOAD.c.changefeed == changefeed
        self._changefeed = changefeed

    # --- reading -------------------------------------------------------------------------------

    def progress(self) -> LoadProgress | None:
        """Progress of the load; None if there is none. A command that only reads may find older
        tables."""
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
        """The tables that are loaded next to those in use."""
        return [table for table in self.tables() if table.beside]

    def filled(self) -> dict[TableName, TargetName]:
        """The filled tables whose rows go nowhere else. A command that only reads may find older
        tables."""
        if self.progress() is None:
            return {}
        return {load.name: load.beside for load in self.beside() if load.alone and load.beside}

    def state(self, name: TableName) -> TableState:
        """State of a table. Raises `Stop` if its load was ended."""
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
        """The chunks that are not loaded, ordered within each table."""
        query = sa.select(LOAD.c.schema, LOAD.c.table, LOAD.c.chunk).where(
            self._mine, LOAD.c.chunk != TABLE, LOAD.c.state == "pending"
        )
        with self._target.errors():
            rows = self._run(query.order_by(LOAD.c.schema, LOAD.c.table, LOAD.c.chunk)).all()
        return [((row.schema, row.table), row.chunk) for row in rows]

    def pending_sizes(self) -> list[tuple[str, int]]:
        """The chunks that are not loaded: JSON and number of rows of each."""
        query = sa.select(LOAD.c.detail, LOAD.c.row_count).where(
            self._mine, LOAD.c.chunk != TABLE, LOAD.c.state == "pending"
        )
        with self._target.errors():
            return [(row.detail, row.row_count) for row in self._run(query)]

    def locked_chunk(self, name: TableName, number: int, snapshot_ts: int) -> str | None:
        """Locks a pending chunk and returns its JSON: nobody else loads it until the transaction
        ends. None if another client has loaded it, or if this load has ended."""
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
        """Marks a locked chunk as done, with its number of rows."""
        self._update(name, number, state="done", row_count=rows)

    def reached(self, name: TableName, state: TableState) -> None:
        """Stores the state of a table."""
        self._update(name, TABLE, state=state)

    def end(self) -> None:
        """Removes the load."""
        self._run(sa.delete(LOAD).where(self._mine))

    def remove(self, name: TableName) -> None:
        """Removes one table from the load."""
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
    """Raises `Stop` if a load of the changefeed is unfinished: the tables then hold only part of
    it."""
    progress = LoadNotes(target, changefeed).progress()
    if progress is not None and not progress.beside:
        raise Stop(
            f"changefeed {changefeed} is being loaded as of {progress.snapshot_ts}: {progress}; "
            "continue with: ticdc-consumer load CONFIG; or start over by: ticdc-consumer forget "
            "CONFIG, then: ticdc-consumer load CONFIG --replace"
        )
