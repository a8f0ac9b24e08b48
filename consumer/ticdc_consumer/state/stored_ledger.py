"""The ledger of one changefeed as its target stores it, and the part of it that memory holds."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, cast

import sqlalchemy as sa
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import from_json, to_json

from ticdc_consumer.state.destinations import Destinations, InTarget
from ticdc_consumer.state.known_tables import NAMED, Basis, Definition, Definitions, KnownTables
from ticdc_consumer.state.ledger import DroppedTable, LedgerEntry, LedgerInMemory
from ticdc_consumer.state.schema import BASES, DEFINITION, KEPT, LEDGER
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.target import Target

AT_ONCE = 100
"""Tables that one statement writes: servers limit its bytes."""


class LedgerInDatabase:
    """One changefeed's part of `ticdc_ddl`, `ticdc_table` and `ticdc_dropped`.

    Each of the three is read once, on first use, and every write goes to the database and to
    memory. Memory is read again after anything that may have undone a write, or let another
    consumer write: `target.undone` counts transactions that were rolled back, commits of unknown
    outcome and new sessions, and `generation` is that of the fence. While it is 0 this consumer
    does not own the changefeed, others may write at any time, and every read goes to the database.

    Writes belong in `target.transaction()`. `check` locks the checkpoint, and raises `Fenced` if a
    newer consumer took over.
    """

    def __init__(
        self,
        target: Target,
        changefeed: str,
        check: Callable[[], None],
        generation: Callable[[], int],
        keep_dropped: float = 0.0,
        where: Destinations | None = None,
    ) -> None:
        self.changefeed = changefeed
        self.keep_dropped = keep_dropped
        self.check = check
        self._target = target
        self._generation = generation
        self._where = where or InTarget.unrouted(target)
        self._memory = LedgerInMemory(changefeed, where=self._where)
        self._read_parts: set[sa.Table] = set()
        self._read_at = (0, 0)
        self._writes = 0

    # --- reading -------------------------------------------------------------------------------

    def entries(self) -> list[LedgerEntry]:
        return self._with(LEDGER).entries()

    def entry(self, order: tuple[int, int]) -> LedgerEntry | None:
        return self._with(LEDGER).entry(order)

    def of_schemas_and_views(self) -> Sequence[LedgerEntry]:
        return self._with(LEDGER).of_schemas_and_views()

    def pending(self) -> list[LedgerEntry]:
        return self._with(LEDGER).pending()

    def last_before(self, resolved_ts: int) -> int:
        """The last DDL in memory, as it was last read or written: the caller compares it with the
        database."""
        return self._memory.last_before(resolved_ts)

    def known(self) -> KnownTables:
        return self._with(DEFINITION).known()

    def definitions(self) -> Definitions:
        return self._with(DEFINITION).definitions()

    def dropped(self) -> Sequence[DroppedTable]:
        return self._with(KEPT).dropped()

    def writes(self) -> int:
        return self._writes

    def _with(self, part: sa.Table) -> LedgerInMemory:
        """Returns memory after reading `part` into it if needed."""
        if not self._remembers(part):
            # The state at the beginning of the read counts: any later event makes the read stale.
            self._read_at = self._now()
            _READ[part](self._memory, self._select(part))
            self._read_parts.add(part)
        return self._memory

    def _remembers(self, part: sa.Table) -> bool:
        """Returns whether memory holds `part` as the database does."""
        now = self._now()
        if now != self._read_at or not self._generation():
            self._read_parts.clear()
        return part in self._read_parts

    def _now(self) -> tuple[int, int]:
        return self._target.undone, self._generation()

    def _select(self, part: sa.Table) -> Sequence[sa.Row[Any]]:
        with self._target.errors():
            statement = sa.select(*self._columns(part)).where(part.c.changefeed == self.changefeed)
            return self._target.connection.execute(statement).all()

    def _columns(self, part: sa.Table) -> list[sa.Column[Any]]:
        """The existing columns: a command that only reads may find tables before a migration."""
        if self._generation():
            return list(part.c)
        existing = sa.inspect(self._target.connection).get_columns(part.name)
        names = {column["name"] for column in existing}
        return [column for column in part.c if column.name in names]

    # --- writing -------------------------------------------------------------------------------

    def add(self, entries: Iterable[LedgerEntry]) -> None:
        new = list(entries)
        rows = [{"changefeed": self.changefeed, **asdict(entry)} for entry in new]
        if rows:
            insert = partial(self._target.connection.execute, sa.insert(LEDGER), rows)
            self._write(LEDGER, lambda memory: memory.add(new), insert)

    def mark(self, entry: LedgerEntry) -> None:
        self.check()
        of_it = (LEDGER.c.commit_ts == entry.commit_ts, LEDGER.c.seq == entry.seq)
        values = {name: getattr(entry, name) for name in ("state", "reason", "instead", "begun")}
        update = sa.update(LEDGER).where(LEDGER.c.changefeed == self.changefeed, *of_it)
        self._write(LEDGER, lambda memory: memory.mark(entry), self._run(update.values(values)))

    def define(self, table: Table, basis: Basis = "applied") -> None:
        self.define_all([table], basis)

    def define_all(self, tables: Sequence[Table], basis: Basis) -> None:
        new = {(table.schema, table.name): Definition.of(table, basis) for table in tables}
        texts = {name: definition.text for name, definition in new.items()}
        self._write_tables(lambda memory: memory.put(new), texts, basis)

    def note(self, schema: str, table: str) -> None:
        self.note_all([(schema, table)])

    def note_all(self, names: Sequence[TableName]) -> None:
        self._write_tables(lambda memory: memory.note_all(names), dict.fromkeys(names, ""), NAMED)

    def _write_tables(
        self,
        remember: Callable[[LedgerInMemory], None],
        definitions: Mapping[TableName, str],
        basis: str,
    ) -> None:
        rows = [
            (self.changefeed, *name, text, basis, *(self._where.of(name) or (None, None)))
            for name, text in definitions.items()
        ]
        writes = [
            partial(self._target.put, DEFINITION, rows[start : start + AT_ONCE])
            for start in range(0, len(rows), AT_ONCE)
        ]
        self._write(DEFINITION, remember, *writes)

    def forget(self, schema: str, table: str | None = None) -> None:
        delete = sa.delete(DEFINITION).where(*self._defined(schema, table))
        self._write(DEFINITION, lambda memory: memory.forget(schema, table), self._run(delete))

    def add_dropped(self, table: DroppedTable) -> None:
        values = {name: getattr(table, name) for name in DroppedTable.__slots__}
        if table.definition is not None:
            values["definition"] = json.dumps(to_json(table.definition))
        insert = sa.insert(KEPT).values(changefeed=self.changefeed, **values)
        self._write(KEPT, lambda memory: memory.add_dropped(table), self._run(insert))

    def remove_dropped(self, table: DroppedTable) -> None:
        self.check()
        delete = sa.delete(KEPT).where(
            KEPT.c.changefeed == self.changefeed,
            KEPT.c.commit_ts == table.commit_ts,
            KEPT.c.seq == table.seq,
        )
        self._write(KEPT, lambda memory: memory.remove_dropped(table), self._run(delete))

    def _run(self, statement: sa.Executable) -> Callable[[], object]:
        return partial(self._target.connection.execute, statement)

    def _defined(self, schema: str, table: str | None = None) -> list[sa.ColumnElement[bool]]:
        rows = [DEFINITION.c.changefeed == self.changefeed, DEFINITION.c.schema == schema]
        return rows if table is None else [*rows, DEFINITION.c.table == table]

    def _write(
        self,
        part: sa.Table,
        remember: Callable[[LedgerInMemory], None],
        *writes: Callable[[], object],
    ) -> None:
        self._writes += 1
        try:
            for write in writes:
                write()
            if self._remembers(part):
                remember(self._memory)
        except BaseException:
            self._read_parts.clear()
            raise


def _read_entries(memory: LedgerInMemory, rows: Sequence[sa.Row[Any]]) -> None:
    memory.replace_entries(
        LedgerEntry(**{n: getattr(row, n) for n in LedgerEntry.__slots__ if hasattr(row, n)})
        for row in rows  # older tables lack some
    )


def _read_definitions(memory: LedgerInMemory, rows: Sequence[sa.Row[Any]]) -> None:
    by_name = {
        (row.schema, row.table): Definition(row.definition, _basis(row.basis))
        for row in rows
        if row.basis != NAMED
    }
    stored: dict[TableName, TargetName | None] = {
        (row.schema, row.table): (row.target_schema, row.target_table)
        if getattr(row, "target_table", None)
        else None
        for row in rows
    }
    memory.replace_known(KnownTables.of(by_name.items(), memory.where, stored))


def _basis(stored: str) -> Basis:
    """Translates the words of older tables."""
    return cast(Basis, BASES.get(stored, stored))


def _read_dropped(memory: LedgerInMemory, rows: Sequence[sa.Row[Any]]) -> None:
    tables = []
    for row in rows:
        values = {name: getattr(row, name) for name in DroppedTable.__slots__}
        if row.definition:
            values["definition"] = from_json(json.loads(row.definition))
        values["basis"] = _basis(row.basis)
        tables.append(DroppedTable(**values))
    memory.replace_dropped(tables)


_READ: Mapping[sa.Table, Callable[[LedgerInMemory, Sequence[sa.Row[Any]]], None]] = {
    LEDGER: _read_entries,
    DEFINITION: _read_definitions,
    KEPT: _read_dropped,
}
