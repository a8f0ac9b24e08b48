"""The conversion of an upstream table's rows to payloads for a target's bulk path.

The target's `layout` builds a `Layout` once on the driver. Spark's tasks use it with the two pure
functions of the target's module `encode`:

- `encode_rows(layout, arrays) -> pa.BinaryArray`: one payload per row, `arrays` in the order of
  `layout.source`;
- `encode_keys(layout, arrays) -> pa.BinaryArray`: one payload per key, `arrays` in the order of
  `layout.key`. Two payloads are equal if and only if the keys are: they are the fold keys, too.

No payload begins with the byte FF. Both raise `NotHeld` for a value that the column cannot hold.

The arrays hold values in *canonical form*: `pa.binary()` if the source type is binary, else
`pa.string()` with TiDB's text form. Integers, YEAR, BIT, ENUM (index) and SET (mask) are decimal
digits, TIMESTAMP is in UTC, FLOAT and DOUBLE are the shortest decimal, in any notation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ticdc_encoder.column import Column

if TYPE_CHECKING:  # a command without rows need not wait for Arrow
    import pyarrow as pa

TableName = tuple[str, str]
"""An upstream (schema, table), or the one that it is routed to."""
TargetName = tuple[str | None, str]
"""(schema, table) in the target; None for a target without schemas, or the session's own schema."""


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """A column as the target's catalog shows it; `type` is the catalog's full text, lower case."""

    name: str
    type: str
    nullable: bool
    has_default: bool = False
    generated: bool = False
    identity_always: bool = False
    collation: str | None = None
    elements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """A unique key. `plain` is False for a key over expressions, prefixes or a part of the rows: it
    can clash but identifies no row, unless it is over `prefixes` only: rows that differ there
    differ in the whole values. A `deferrable` key cannot arbitrate an upsert."""

    name: str
    columns: tuple[str, ...]
    primary: bool
    plain: bool = True
    deferrable: bool = False
    prefixes: bool = False

    @property
    def identifies(self) -> bool:
        """Returns whether the key's columns, if all are NOT NULL, identify a row."""
        return self.plain or self.prefixes


@dataclass(frozen=True, slots=True)
class TargetTable:
    """A table of the target. `strict_foreign_keys` can be neither deferred nor switched off in this
    session, each as (name, the ALTER that helps); `triggers` names the row triggers."""

    schema: str | None
    name: str
    columns: tuple[TargetColumn, ...]
    unique_keys: tuple[UniqueKey, ...] = ()
    strict_foreign_keys: tuple[tuple[str, str], ...] = ()
    triggers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key: its own columns, and the parent's columns in the target."""

    name: str
    columns: tuple[str, ...]
    schema: str | None
    table: str
    parent_columns: tuple[str, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """Everything but its name."""
        return self.columns, self.schema, self.table, self.parent_columns


@dataclass(frozen=True, slots=True)
class KeyOfTable:
    """A foreign key from or to a table, and the columns that this table has in it."""

    name: str
    child: TargetName
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReferenceChanges:
    """Changes to a table's foreign keys; those in `staying` and `dropped` are as in the target."""

    staying: tuple[Reference, ...] = ()
    dropped: tuple[Reference, ...] = ()
    added: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """The way rows go into one target table. `relation` is the table, quoted and qualified. Per
    source column, `columns` has the quoted target column, `codecs` the name of its conversion
    ("skip" if the target generates the column), and `elements` the labels of ENUM and SET if the
    conversion needs them. `upsert`: the table has no unique key besides the fold key. Without a
    `key`, nothing identifies a row: equal rows are counted instead. `exact`: the target may merge
    two keys that the upstream distinguishes, so keys are also compared byte by byte, and no row
    replaces another. `shard`, in a table shared with others (`[tables.merge]`), is the value of the
    last column of `source` and `key` in every row; no message has it."""

    dialect: str
    schema: str
    table: str
    relation: str
    source: tuple[Column, ...]
    columns: tuple[str, ...]
    codecs: tuple[str, ...]
    key: tuple[str, ...]
    upsert: bool
    elements: tuple[tuple[str, ...], ...] = ()
    shard: str | None = None
    exact: bool = False

    @property
    def sent(self) -> "Layout":
        """The layout of the columns that rows arrive with: without the shard's column."""
        if self.shard is None:
            return self
        return replace(
            self,
            source=self.source[:-1],
            columns=self.columns[:-1],
            codecs=self.codecs[:-1],
            key=self.key[:-1],
            elements=self.elements[:-1],
            shard=None,
        )

    @property
    def name(self) -> str:
        """The upstream's name of the table, for people."""
        return f"{self.schema}.{self.table}"

    @property
    def replaces(self) -> bool:
        """Returns whether the key of a present row is deleted before the row is inserted."""
        return bool(self.key) and not self.upsert

    def key_positions(self) -> tuple[int, ...]:
        """The indexes of the key's columns in `source`."""
        names = [column.name for column in self.source]
        return tuple(names.index(name) for name in self.key)


Encode = Callable[[Layout, Sequence["pa.Array"]], "pa.Array"]
"""`encode_rows` or `encode_keys`."""
