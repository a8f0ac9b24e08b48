"""The ledger of a changefeed: every DDL, done or pending, the table definitions that DDL left, and
the dropped tables that are still stored. The interface, and an implementation in memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from ticdc_encoder.event import Table

from ticdc_consumer.state.destinations import Destinations
from ticdc_consumer.state.known_tables import (
    NOTHING_KNOWN,
    Basis,
    Definition,
    Definitions,
    KnownTables,
)
from ticdc_consumer.targets.layout import TableName

LedgerState = Literal["pending", "done", "skipped"]

LONGEST_QUERY = 120
"""Characters of a statement that one line shows."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One DDL, numbered from 1 within its commit_ts in the order of execution. `reason` says why it
    was skipped, or that an operator did it elsewhere; `instead` is the SQL that an operator ran in
    its place. `begun` is set once its first statement may have run and committed by itself: the
    fingerprint of the target before it (`ddl/begun.py`)."""

    commit_ts: int
    seq: int
    schema: str
    table: str
    query: str
    kind: int = 0
    state: LedgerState = "pending"
    reason: str = ""
    instead: str = ""
    begun: str = ""

    @property
    def id(self) -> str:
        """The value that `--ddl-done` takes."""
        return f"{self.commit_ts}:{self.seq}"

    @property
    def short_query(self) -> str:
        """The beginning of the statement, on one line."""
        query = " ".join(self.query.split())
        return query if len(query) <= LONGEST_QUERY else f"{query[:LONGEST_QUERY]}..."

    @property
    def order(self) -> tuple[int, int]:
        """The sort key of the execution."""
        return self.commit_ts, self.seq

    @property
    def of_schema_or_view(self) -> bool:
        """Returns False only for a DDL that is certainly about a table."""
        return not self.table or "VIEW" in self.query.upper()


@dataclass(frozen=True, slots=True)
class DroppedTable:
    """A table that was dropped or emptied upstream at `commit_ts`, and its place in the target
    since."""

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
    """The DDL of one changefeed. `keep_dropped` is how long a dropped table is stored, in seconds
    of the upstream's time."""

    changefeed: str
    keep_dropped: float

    def check(self) -> None:
        """Raises `Fenced` if a newer consumer took over; none can until the transaction ends."""

    def entries(self) -> list[LedgerEntry]:
        """Every DDL so far, in the order of execution."""

    def entry(self, order: tuple[int, int]) -> LedgerEntry | None:
        """The DDL of that (commit_ts, seq), as it is now."""

    def of_schemas_and_views(self) -> Sequence[LedgerEntry]:
        """The DDL that may be about schemas or views, in the order of execution."""

    def pending(self) -> list[LedgerEntry]:
        """The DDL that must be done before any later cut, in order."""

    def last_before(self, resolved_ts: int) -> int:
        """The greatest commit_ts of a DDL below `resolved_ts`; 0 if there is none."""

    def add(self, entries: Iterable[LedgerEntry]) -> None:
        """Adds new entries, inside the transaction of their cut."""

    def mark(self, entry: LedgerEntry) -> None:
        """Writes an entry's state, reason, and `begun`. Raises `Fenced` if another consumer took
        over."""

    def known(self) -> KnownTables:
        """The known tables of the upstream, as a value that later writes do not change."""

    def definitions(self) -> Definitions:
        """The tables whose CREATE TABLE came through the stream."""

    def define(self, table: Table, basis: Basis = "applied") -> None:
        """Stores a definition and the table's destination, in the transaction in which its CREATE
        TABLE is done."""

    def define_all(self, tables: Sequence[Table], basis: Basis) -> None:
        """Does the same for several tables."""

    def note(self, schema: str, table: str) -> None:
        """Stores the destination of a table without a definition, or one that has lost it."""

    def note_all(self, names: Sequence[TableName]) -> None:
        """Does the same for several tables."""

    def forget(self, schema: str, table: str | None = None) -> None:
        """Forgets a table that no longer exists, or all tables of a schema."""

    def dropped(self) -> Sequence[DroppedTable]:
        """The dropped tables that are still stored, oldest first."""

    def add_dropped(self, table: DroppedTable) -> None:
        """Notes a dropped table that is kept."""

    def remove_dropped(self, table: DroppedTable) -> None:
        """Notes that a dropped table is no longer kept. Raises `Fenced` if another consumer took
        over."""

    def writes(self) -> int:
        """Number of writes so far."""


@dataclass(frozen=True, slots=True)
class Entries:
    """All entries, by (commit_ts, seq). An immutable value: each change returns another."""

    by_order: dict[tuple[int, int], LedgerEntry]
    pending: Mapping[tuple[int, int], LedgerEntry]
    of_schemas_and_views: Mapping[tuple[int, int], LedgerEntry]

    @classmethod
    def of(cls, entries: Iterable[LedgerEntry]) -> "Entries":
        return cls({}, {}, {}).changed(sorted(entries, key=lambda entry: entry.order))

    def changed(self, entries: Iterable[LedgerEntry]) -> "Entries":
        """Returns a copy with these entries, which replace those of the same (commit_ts, seq)."""
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
    """A ledger in memory, equal to the one that a database would store."""

    def __init__(
        self, changefeed: str, keep_dropped: float = 0.0, where: Destinations | None = None
    ) -> None:
        self.changefeed = changefeed
        self.keep_dropped = keep_dropped
        self.where = where
        self._entries = Entries({}, {}, {})
        self._known = NOTHING_KNOWN if where is None else KnownTables.of((), where)
        self._dropped: tuple[DroppedTable, ...] = ()
        self._writes = 0

    def copy_from(self, ledger: Ledger) -> None:
        """Replaces the contents with those of `ledger`."""
        self.replace_entries(ledger.entries())
        self.replace_known(ledger.known())
        self.replace_dropped(ledger.dropped())

    def check(self) -> None:
        """Does nothing: nobody else writes here."""

    def entries(self) -> list[LedgerEntry]:
        return _in_order(self._entries.by_order)

    def entry(self, order: tuple[int, int]) -> LedgerEntry | None:
        return self._entries.by_order.get(order)

    def of_schemas_and_views(self) -> Sequence[LedgerEntry]:
        return _in_order(self._entries.of_schemas_and_views)

    def pending(self) -> list[LedgerEntry]:
        return _in_order(self._entries.pending)

    def last_before(self, resolved_ts: int) -> int:
        # Entries of a cut have the greatest commit_ts, so the search begins at the end.
        backwards = (commit_ts for commit_ts, _ in reversed(self._entries.by_order))
        return next((commit_ts for commit_ts in backwards if commit_ts < resolved_ts), 0)

    def add(self, entries: Iterable[LedgerEntry]) -> None:
        self._entries = self._entries.changed(entries)
        self._writes += 1

    def mark(self, entry: LedgerEntry) -> None:
        self.check()
        stored = self._entries.by_order.get(entry.order)
        if stored is not None:
            state, reason, instead = entry.state, entry.reason, entry.instead
            marked = replace(stored, state=state, reason=reason, instead=instead, begun=entry.begun)
            self._entries = self._entries.changed([marked])
        self._writes += 1

    def known(self) -> KnownTables:
        return self._known

    def definitions(self) -> Definitions:
        return self._known.created

    def define(self, table: Table, basis: Basis = "applied") -> None:
        self.define_all([table], basis)

    def define_all(self, tables: Sequence[Table], basis: Basis) -> None:
        self.put({(table.schema, table.name): Definition.of(table, basis) for table in tables})

    def put(self, definitions: Mapping[TableName, Definition]) -> None:
        self._known = self._known.changed(definitions)
        self._writes += 1

    def note(self, schema: str, table: str) -> None:
        self.note_all([(schema, table)])

    def note_all(self, names: Sequence[TableName]) -> None:
        self._known = self._known.changed(dict.fromkeys(names), noted=set(names))
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
