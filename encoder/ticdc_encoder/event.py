"""Events of the upstream, apart from any wire format."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum

from ticdc_encoder.column import Column, ForeignKey, Index, handle_key
from ticdc_encoder.partitioning import Partitioning

Value = None | int | float | Decimal | str | bytes
"""A value exactly as it came in.

int: integers, YEAR, BIT (its bits as a number), ENUM (index, 0 = the invalid '') and SET (mask);
float: FLOAT (the double nearest to its shortest decimal) and DOUBLE; Decimal: DECIMAL, with its
scale; bytes: BINARY and BLOB families; str: everything else in TiDB's text form, temporal types
included, since TiDB knows zero and partial dates (`2024-00-10`).
"""

Row = Mapping[str, Value]
"""Column name -> value. A column that was not sent is absent, which is not NULL."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table at one schema version, as far as it is known.

    From a CREATE TABLE it is complete. From a protocol's row it holds the columns of that row and
    the `handle_key` that the wire names, which may be empty, and no `indexes`. `version` is TiDB's
    number for this definition, if the protocol carries one; `charset` and `collation` are the
    table's defaults. A `partitioned` table without `partitioning` is partitioned in a way that is
    not understood.
    """

    schema: str
    name: str
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...] = ()
    handle_key: tuple[str, ...] = ()
    partitioned: bool = False
    table_id: int | None = None
    version: int | None = field(default=None, compare=False)
    charset: str | None = field(default=None, compare=False)
    collation: str | None = field(default=None, compare=False)
    foreign_keys: tuple[ForeignKey, ...] = field(default=(), compare=False)
    partitioning: Partitioning | None = field(default=None, compare=False)

    @classmethod
    def define(
        cls, schema: str, name: str, columns: tuple[Column, ...], indexes: tuple[Index, ...] = ()
    ) -> "Table":
        """A table whose handle key follows from its indexes by TiDB's rule."""
        return cls(schema, name, columns, indexes, handle_key(columns, indexes))

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the primary key; of a table whose indexes are not known, as of most
        protocols' rows, the handle key, which stands for it."""
        if not self.indexes:
            return self.handle_key
        return next((index.columns for index in self.indexes if index.primary), ())

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of the handle key and of all unique keys."""
        names = dict.fromkeys(self.handle_key)
        for index in self.indexes:
            if index.unique:
                names |= dict.fromkeys(index.columns)
        return tuple(names)

    def column(self, name: str) -> Column:
        """The column of that name, case as declared. Raises KeyError."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)


class KeyChange(Enum):
    """Kind of key that an UPDATE changes, as the OpType that TiKV was asked to tell
    (tikv/tikv#17062).
    """

    PRIMARY = "UPDATEPK"
    UNIQUE = "UPDATEUK"


@dataclass(slots=True)  # not frozen, which would be six times as slow to create
class RowChange:
    """One row of one committed transaction. Treat it as immutable: see `dataclasses.replace`.

    A DELETE has only `before`, an INSERT only `after`, an UPDATE both. `before` of an UPDATE may
    lack columns that did not change; a DELETE may carry only the handle key. `incomplete` means
    that a large row was reduced to its handle key (`handle-key-only`); `claim_check` is the
    location of the whole message. `row_key` is TiKV's, if the protocol carries it: it identifies
    the row of a table without any key. `corrupted` means that the row does not match its checksum.
    """

    table: Table
    commit_ts: int
    before: Row | None = None
    after: Row | None = None
    start_ts: int = 0
    partition_id: int | None = None
    incomplete: bool = False
    claim_check: str | None = None
    row_key: bytes | None = None
    corrupted: bool = False

    @property
    def key_changed(self) -> KeyChange | None:
        """The kind of key that an UPDATE changes, the primary or else any unique key, as far as the
        table's indexes are known: TiCDC splits the UPDATE by this."""
        if not self._changes(self.table.key_columns):
            return None
        primary = self._changes(self.table.primary_key)
        return KeyChange.PRIMARY if primary else KeyChange.UNIQUE

    @property
    def handle_key_changed(self) -> bool:
        """Returns whether an UPDATE changes a column of the handle key."""
        return self._changes(self.table.handle_key)

    def _changes(self, columns: tuple[str, ...]) -> bool:
        before, after = self.before, self.after
        if before is None or after is None:
            return False
        return any(name in before and before[name] != after.get(name) for name in columns)

    def half(self, *, before: bool) -> "RowChange":
        """The DELETE or the INSERT of an UPDATE. The DELETE has the whole old row: columns that
        `before` lacks did not change."""
        old, new = self.before, self.after
        if before and old is not None and new is not None and len(old) < len(new):
            old = {**new, **old}
        return RowChange(
            self.table,
            self.commit_ts,
            old if before else None,
            None if before else new,
            self.start_ts,
            self.partition_id,
            self.incomplete,
            self.claim_check,
            self.row_key,
            self.corrupted,
        )


@dataclass(frozen=True, slots=True)
class Ddl:
    """A schema change. `schema` and `table` are as the message names them (`table` is "" for a
    schema-level DDL, a RENAME's are the names after it); `kind` is TiDB's action code if the
    protocol has it, else 0. `definition` is the table after it, `previous` before it, if they are
    known. Identity: (commit_ts, schema, table, query)."""

    schema: str
    table: str
    query: str
    commit_ts: int
    kind: int = 0
    definition: Table | None = field(default=None, compare=False)
    previous: Table | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Resolved:
    """Every change with commit_ts < `resolved_ts` has been sent, of every table, to every
    partition (TiCDC's code includes = for rows, its documents do not)."""

    resolved_ts: int


Event = RowChange | Ddl | Resolved


@dataclass(frozen=True, slots=True)
class Transaction:
    """The row changes of one upstream transaction, of any table, in the order of its statements: a
    row may have several. `net`: one change per row, as TiKV holds them, in any order."""

    commit_ts: int
    changes: tuple[RowChange, ...]
    start_ts: int = 0
    net: bool = False
