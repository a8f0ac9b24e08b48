"""Every DDL that came, done or not, the table definitions that they left behind, and the dropped
tables that are still stored.

Memory holds what the database holds. It is right for as long as only this consumer writes, which
the fence sees to, and every transaction that wrote was committed: after one that was not, or may
not have been, the next read goes to the database. See `LedgerInDatabase`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Protocol

import sqlalchemy as sa
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import from_json, to_json

from ticdc_consumer.state.known_tables import (
    NOTHING_KNOWN,
    Basis,
    Definition,
    Definitions,
    KnownTables,
)
from ticdc_consumer.state.schema import DEFINITION, KEPT, LEDGER
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target

LedgerState = Literal["pending", "done", "skipped"]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One DDL, numbered from 1 within its commit_ts in the order of execution. `reason` is why it
    was skipped, `instead` the SQL that an operator had run in its place."""

    commit_ts: int
    seq: int
    schema: str
    table: str
    query: str
    kind: int = 0
    state: LedgerState = "pending"
    reason: str = ""
    instead: str = ""

    @property
    def id(self) -> str:
        """What `--ddl-done` takes."""
        return f"{self.commit_ts}:{self.seq}"

    @property
    def order(self) -> tuple[int, int]:
        """Entries are executed in this order."""
        return self.commit_ts, self.seq

    @property
    def of_schema_or_view(self) -> bool:
        """False only for what is sure to be about a table."""
        return not self.table or "VIEW" in self.query.upper()


@dataclass(frozen=True, slots=True)
class DroppedTable:
    """A table that was dropped or emptied upstream at `commit_ts`, and where it is stored since."""

    commit_ts: int
    seq: int
    schema: str
    table: str
    target_schema: str | None
    target_table: str
    definition: Table | None
    basis: Basis

    @property
    def order(self) -> tuple[int, int]:
        return self.commit_ts, self.seq


class Ledger(Protocol):
    """What one changefeed knows of its DDL. `keep_dropped` is for how many seconds, of the
    upstream's time, a dropped table is stored."""

    changefeed: str
    keep_dropped: float

    def check(self) -> None:
        """Raises `Fenced` if a newer consumer took over; until the end of the transaction none
        can."""

    def entries(self) -> list[LedgerEntry]:
        """Every DDL there was, in the order of execution."""

    def entry(self, order: tuple[int, int]) -> LedgerEntry | None:
        """The DDL of that (commit_ts, seq), as it is now."""

    def of_schemas_and_views(self) -> Sequence[LedgerEntry]:
        """Those that may be about schemas or views, in the order of execution."""

    def pending(self) -> list[LedgerEntry]:
        """What must be done before any later cut, in order."""

    def add(self, entries: Iterable[LedgerEntry]) -> None:
        """New entries; inside the transaction of their cut."""

    def mark(self, entry: LedgerEntry) -> None:
        """Writes an entry's state, and why. Raises `Fenced` if another consumer took over."""

    def known(self) -> KnownTables:
        """All that is known of the upstream's tables; a value, which later writes do not change."""

    def definitions(self) -> Definitions:
        """The tables whose CREATE TABLE came through the stream."""

    def define(self, table: Table, basis: Basis = "made") -> None:
        """Stores a definition; in the transaction in which its CREATE TABLE is done."""

    def forget(self, schema: str, table: str | None = None) -> None:
        """Drops the definition of a table, or of all tables of a schema."""

    def dropped(self) -> Sequence[DroppedTable]:
        """The dropped tables that are still stored, the oldest first."""

    def add_dropped(self, table: DroppedTable) -> None:
        """Notes a table that was set aside."""

    def remove_dropped(self, table: DroppedTable) -> None:
        """Notes that a table is set aside no more. Raises `Fenced` if another consumer took
        over."""

    def writes(self) -> int:
        """How often something was written."""


@dataclass(frozen=True, slots=True)
class Entries:
    """All entries, by (commit_ts, seq). A value: each change gives another."""

    by_order: Mapping[tuple[int, int], LedgerEntry]
    pending: Mapping[tuple[int, int], LedgerEntry]
    of_schemas_and_views: Mapping[tuple[int, int], LedgerEntry]

    @classmethod
    def of(cls, entries: Iterable[LedgerEntry]) -> "Entries":
        return cls({}, {}, {}).changed(sorted(entries, key=lambda entry: entry.order))

    def changed(self, entries: Iterable[LedgerEntry]) -> "Entries":
        """With these, in place of those of the same (commit_ts, seq)."""
        every, pending = dict(self.by_order), dict(self.pending)
        others = dict(self.of_schemas_and_views)
        for entry in entries:
            every[entry.order] = entry
            if entry.of_schema_or_view:
                others[entry.order] = entry
            if entry.state == "pending":
                pending[entry.order] = entry
            else:
                pending.pop(entry.order, None)
        return Entries(every, pending, others)


def _in_order(entries: Mapping[tuple[int, int], LedgerEntry]) -> list[LedgerEntry]:
    return [entries[order] for order in sorted(entries)]


class LedgerInMemory:
    """A ledger that is stored nowhere: what a database's would be."""

    def __init__(self, changefeed: str, keep_dropped: float = 0.0) -> None:
        self.changefeed = changefeed
        self.keep_dropped = keep_dropped
        self._entries = Entries({}, {}, {})
        self._known = NOTHING_KNOWN
        self._dropped: tuple[DroppedTable, ...] = ()
        self._writes = 0

    def copy_from(self, ledger: Ledger) -> None:
        """Holds what the other holds now, instead of what was here."""
        self.replace_entries(ledger.entries())
        self.replace_known(ledger.known())
        self.replace_dropped(ledger.dropped())

    def check(self) -> None:
        """Nobody else writes here."""

    def entries(self) -> list[LedgerEntry]:
        return _in_order(self._entries.by_order)

    def entry(self, order: tuple[int, int]) -> LedgerEntry | None:
        return self._entries.by_order.get(order)

    def of_schemas_and_views(self) -> Sequence[LedgerEntry]:
        return _in_order(self._entries.of_schemas_and_views)

    def pending(self) -> list[LedgerEntry]:
        return _in_order(self._entries.pending)

    def add(self, entries: Iterable[LedgerEntry]) -> None:
        self._entries = self._entries.changed(entries)
        self._writes += 1

    def mark(self, entry: LedgerEntry) -> None:
        self.check()
        stored = self._entries.by_order.get(entry.order)
        if stored is not None:
            state, reason, instead = entry.state, entry.reason, entry.instead
            marked = replace(stored, state=state, reason=reason, instead=instead)
            self._entries = self._entries.changed([marked])
        self._writes += 1

    def known(self) -> KnownTables:
        return self._known

    def definitions(self) -> Definitions:
        return self._known.created

    def define(self, table: Table, basis: Basis = "made") -> None:
        self.put((table.schema, table.name), Definition.of(table, basis))

    def put(self, name: TableName, definition: Definition) -> None:
        self._known = self._known.changed({name: definition})
        self._writes += 1

    def forget(self, schema: str, table: str | None = None) -> None:
        names = self._known.of_schema(schema) if table is None else [(schema, table)]
        self._known = self._known.changed(dict.fromkeys(names))
        self._writes += 1

    def dropped(self) -> Sequence[DroppedTable]:
        return self._dropped

    def add_dropped(self, table: DroppedTable) -> None:
        self._dropped = tuple(sorted((*self._dropped, table), key=lambda one: one.order))
        self._writes += 1

    def remove_dropped(self, table: DroppedTable) -> None:
        self.check()
        self._dropped = tuple(one for one in self._dropped if one.order != table.order)
        self._writes += 1

    def writes(self) -> int:
        return self._writes

    def replace_entries(self, entries: Iterable[LedgerEntry]) -> None:
        self._entries = Entries.of(entries)

    def replace_known(self, known: KnownTables) -> None:
        self._known = known

    def replace_dropped(self, tables: Iterable[DroppedTable]) -> None:
        self._dropped = tuple(sorted(tables, key=lambda one: one.order))


class LedgerInDatabase:
    """One changefeed's part of `ticdc_ddl`, `ticdc_table` and `ticdc_dropped`.

    Each of the three is read once, when it is needed, and every write goes to the database and to
    memory. Memory is read again after whatever may have undone a write, or let another consumer
    write: `target.undone` counts transactions that were rolled back, commits of unknown outcome and
    new sessions, and `generation` is that of the fence. While it is 0 this consumer does not own
    the changefeed, others may write at any time, and every read goes to the database.

    Writes belong into `target.transaction()`. `check` locks the checkpoint, and raises `Fenced` if
    a newer consumer took over.
    """

    def __init__(
        self,
        target: Target,
        changefeed: str,
        check: Callable[[], None],
        generation: Callable[[], int],
        keep_dropped: float = 0.0,
    ) -> None:
        self.changefeed = changefeed
        self.keep_dropped = keep_dropped
        self.check = check
        self._target = target
        self._generation = generation
        self._memory = LedgerInMemory(changefeed)
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

    def known(self) -> KnownTables:
        return self._with(DEFINITION).known()

    def definitions(self) -> Definitions:
        return self._with(DEFINITION).definitions()

    def dropped(self) -> Sequence[DroppedTable]:
        return self._with(KEPT).dropped()

    def writes(self) -> int:
        return self._writes

    def _with(self, part: sa.Table) -> LedgerInMemory:
        """Memory, in which `part` is."""
        if not self._remembers(part):
            # What the read begins with counts: whatever happens meanwhile makes it stale.
            self._read_at = self._now()
            _READ[part](self._memory, self._select(part))
            self._read_parts.add(part)
        return self._memory

    def _remembers(self, part: sa.Table) -> bool:
        """Whether memory holds `part` as the database does."""
        now = self._now()
        if now != self._read_at or not self._generation():
            self._read_parts.clear()
        return part in self._read_parts

    def _now(self) -> tuple[int, int]:
        return self._target.undone, self._generation()

    def _select(self, part: sa.Table) -> Sequence[sa.Row[Any]]:
        statement = sa.select(part).where(part.c.changefeed == self.changefeed)
        with self._target.errors():
            return self._target.connection.execute(statement).all()

    # --- writing -------------------------------------------------------------------------------

    def add(self, entries: Iterable[LedgerEntry]) -> None:
        new = list(entries)
        rows = [{"changefeed": self.changefeed, **asdict(entry)} for entry in new]
        if rows:
            self._write(LEDGER, lambda memory: memory.add(new), (sa.insert(LEDGER), rows))

    def mark(self, entry: LedgerEntry) -> None:
        self.check()
        of_it = (LEDGER.c.commit_ts == entry.commit_ts, LEDGER.c.seq == entry.seq)
        values = {"state": entry.state, "reason": entry.reason, "instead": entry.instead}
        update = sa.update(LEDGER).where(LEDGER.c.changefeed == self.changefeed, *of_it)
        self._write(LEDGER, lambda memory: memory.mark(entry), (update.values(values), None))

    def define(self, table: Table, basis: Basis = "made") -> None:
        name, definition = (table.schema, table.name), Definition.of(table, basis)
        values = {
            "changefeed": self.changefeed,
            "schema": table.schema,
            "table": table.name,
            "definition": definition.text,
            "basis": basis,
        }
        self._write(
            DEFINITION,
            lambda memory: memory.put(name, definition),
            (sa.delete(DEFINITION).where(*self._defined(table.schema, table.name)), None),
            (sa.insert(DEFINITION).values(values), None),
        )

    def forget(self, schema: str, table: str | None = None) -> None:
        delete = sa.delete(DEFINITION).where(*self._defined(schema, table))
        self._write(DEFINITION, lambda memory: memory.forget(schema, table), (delete, None))

    def add_dropped(self, table: DroppedTable) -> None:
        values = {name: getattr(table, name) for name in DroppedTable.__slots__}
        if table.definition is not None:
            values["definition"] = json.dumps(to_json(table.definition))
        insert = sa.insert(KEPT).values(changefeed=self.changefeed, **values)
        self._write(KEPT, lambda memory: memory.add_dropped(table), (insert, None))

    def remove_dropped(self, table: DroppedTable) -> None:
        self.check()
        delete = sa.delete(KEPT).where(
            KEPT.c.changefeed == self.changefeed,
            KEPT.c.commit_ts == table.commit_ts,
            KEPT.c.seq == table.seq,
        )
        self._write(KEPT, lambda memory: memory.remove_dropped(table), (delete, None))

    def _defined(self, schema: str, table: str | None = None) -> list[sa.ColumnElement[bool]]:
        rows = [DEFINITION.c.changefeed == self.changefeed, DEFINITION.c.schema == schema]
        return rows if table is None else [*rows, DEFINITION.c.table == table]

    def _write(
        self,
        part: sa.Table,
        remember: Callable[[LedgerInMemory], None],
        *statements: tuple[sa.Executable, Any],
    ) -> None:
        self._writes += 1
        try:
            for statement, rows in statements:
                self._target.connection.execute(statement, rows)
            if self._remembers(part):
                remember(self._memory)
        except BaseException:
            self._read_parts.clear()
            raise


def _read_entries(memory: LedgerInMemory, rows: Sequence[sa.Row[Any]]) -> None:
    memory.replace_entries(
        LedgerEntry(**{name: getattr(row, name) for name in LedgerEntry.__slots__}) for row in rows
    )


def _read_definitions(memory: LedgerInMemory, rows: Sequence[sa.Row[Any]]) -> None:
    by_name = (((row.schema, row.table), Definition(row.definition, row.basis)) for row in rows)
    memory.replace_known(KnownTables.of(by_name))


def _read_dropped(memory: LedgerInMemory, rows: Sequence[sa.Row[Any]]) -> None:
    tables = []
    for row in rows:
        values = {name: getattr(row, name) for name in DroppedTable.__slots__}
        if row.definition:
            values["definition"] = from_json(json.loads(row.definition))
        tables.append(DroppedTable(**values))
    memory.replace_dropped(tables)


_READ: Mapping[sa.Table, Callable[[LedgerInMemory, Sequence[sa.Row[Any]]], None]] = {
    LEDGER: _read_entries,
    DEFINITION: _read_definitions,
    KEPT: _read_dropped,
}
