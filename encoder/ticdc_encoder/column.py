"""Columns as TiDB declares them, and TiDB's rule for the key that names a row."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

INTEGERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})
TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
BINARIES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
TEMPORALS = frozenset({"date", "datetime", "timestamp", "time"})
TYPE_NAMES = (
    INTEGERS
    | TEXTS
    | BINARIES
    | TEMPORALS
    | {"float", "double", "decimal", "year", "bit", "enum", "set", "json", "vector"}
)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's type. What a protocol does not carry is None (or False, or empty).

    `name` is one of `TYPE_NAMES`, lower case: `bool` is `tinyint`, `char` with charset binary is
    `binary`. `length` is the declared length, display width or precision; `decimals` the scale of
    a DECIMAL, or the digits after the second of a temporal type.
    """

    name: str
    unsigned: bool = False
    zerofill: bool = False
    length: int | None = None
    decimals: int | None = None
    elements: tuple[str, ...] = ()
    charset: str | None = None
    collation: str | None = None

    @property
    def binary(self) -> bool:
        """Returns whether values are bytes, not text."""
        return self.name in BINARIES


@dataclass(frozen=True, slots=True)
class Column:
    """`default` is the text of the DEFAULT clause's value (`CURRENT_TIMESTAMP` included), None
    without one; `generated` is a generated column's kind, `expression` its SQL; `on_update` means
    that every UPDATE sets it to the current timestamp."""

    name: str
    type: ColumnType
    nullable: bool = True
    default: str | None = None
    generated: Literal["stored", "virtual"] | None = None
    expression: str | None = None
    comment: str | None = None
    auto_increment: bool = False
    on_update: bool = field(default=False, compare=False)

    @property
    def virtual(self) -> bool:
        """Returns whether it is computed when read: TiCDC sends no values of it."""
        return self.generated == "virtual"


@dataclass(frozen=True, slots=True)
class Index:
    """An index. `columns` are in index order; `lengths` runs parallel, None for a whole column.

    An expression's hidden column is in neither: an index over one has `expression` true. Rows are
    stored by a `clustered` primary key. A `partial` index covers only the rows of a WHERE: if it is
    unique, other rows may still share a value.
    """

    name: str
    columns: tuple[str, ...]
    unique: bool = False
    primary: bool = False
    lengths: tuple[int | None, ...] = ()
    expression: bool = False
    clustered: bool = False
    partial: bool = False

    def begins_with(self, columns: Sequence[str]) -> bool:
        """Returns whether its first columns are these, each whole."""
        size = len(columns)
        whole = not (any(self.lengths[:size]) or self.expression or self.partial)
        return whole and self.columns[:size] == tuple(columns)


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key without its actions on DELETE and UPDATE: the rows that they change are
    sent.
    """

    name: str
    columns: tuple[str, ...]
    parent: tuple[str, str]
    parent_columns: tuple[str, ...]


def handle_key(columns: Iterable[Column], indexes: Sequence[Index]) -> tuple[str, ...]:
    """The columns that identify a row: the primary key; else, among the unique indexes that are not
    partial and whose columns are all NOT NULL and not virtual, the one with the fewest columns,
    then the first created.

    Empty if the table has neither, which TiCDC does not replicate unless `force-replicate`. Source:
    TiCDC `pkg/common/table_info.go`, "valid index".
    """
    by_name = {column.name: column for column in columns}
    for index in indexes:
        if index.primary:
            return index.columns
    valid = [
        index
        for index in indexes
        if index.unique
        and not (index.expression or index.partial)
        and all(
            not by_name[n].nullable and by_name[n].generated != "virtual" for n in index.columns
        )
    ]
    return min(valid, key=lambda index: len(index.columns)).columns if valid else ()
