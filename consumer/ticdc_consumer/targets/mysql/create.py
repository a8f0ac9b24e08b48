"""CREATE TABLE for an upstream table, in this dialect."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ticdc_encoder.column import BINARIES, TEXTS, Column, ColumnType, Index
from ticdc_encoder.event import Table

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.layout import Reference
from ticdc_consumer.targets.mysql.collations import kept_charset, kept_collation
from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.mysql.generated import writer_of
from ticdc_consumer.targets.mysql.quoting import quote_name, string_literal
from ticdc_consumer.targets.mysql.types import CatalogType, bytes_of_character, column_type
from ticdc_consumer.targets.schema.conversions import CAPACITIES
from ticdc_consumer.targets.schema.defaults import constant
from ticdc_consumer.targets.schema.generated import reads, virtual_columns
from ticdc_consumer.targets.target import Target

_LONGEST_ROW = 65_535
"""Bytes of all columns except those of the TEXT and BLOB families. TiDB has no such limit."""
_LONGEST_KEY = 3_072

_NOW = re.compile(r"CURRENT_TIMESTAMP(?:\(([0-6])\))?")


@dataclass(frozen=True, slots=True)
class MySqlColumn:
    """A column. `default` is the text after DEFAULT, None if there is none; `generated` the text
    after the type of a computed column, and `reads` the columns that it reads, in lower case."""

    type: str
    nullable: bool
    default: str | None
    generated: str | None = None
    reads: frozenset[str] = frozenset()

    def text(self) -> str:
        if self.generated is not None:
            return f"{self.type} {self.generated}"
        # Explicit, since a TIMESTAMP without it is NOT NULL on some servers.
        null = "NULL" if self.nullable else "NOT NULL"
        return f"{self.type} {null}" + (f" DEFAULT {self.default}" if self.default else "")


@dataclass(frozen=True, slots=True)
class MySqlIndex:
    """An index. `parts` are columns, each with its number of indexed characters (None: all).
    `apart`: the primary key of a TiDB table that is not clustered by it."""

    unique: bool
    primary: bool
    parts: tuple[tuple[str, int | None], ...]
    apart: bool = False

    @property
    def columns(self) -> list[str]:
        return [column for column, _ in self.parts]

    def renamed(self, old: str, new: str) -> "MySqlIndex":
        """Returns the index after a column was renamed."""
        parts = ((new if column == old else column, length) for column, length in self.parts)
        return replace(self, parts=tuple(parts))

    def text(self, name: str, dialect: Dialect) -> str:
        parts = ", ".join(
            quote_name(column, dialect.wide_names) + (f"({length})" if length else "")
            for column, length in self.parts
        )
        if self.primary:
            return f"PRIMARY KEY ({parts})" + (" NONCLUSTERED" if self.apart else "")
        kind = "UNIQUE KEY" if self.unique else "KEY"
        return f"{kind} {quote_name(name, dialect.wide_names)} ({parts})"


@dataclass(frozen=True, slots=True)
class MySqlTable:
    """A table here, by upstream's names: columns, NOT NULL, defaults and keys.

    A stored generated column becomes a plain one, since its values come with the rows. The values
    of a virtual one do not: it is computed here, too, or left out, and so is each key with an
    expression or a column that is left out.
    """

    columns: dict[str, MySqlColumn]
    indexes: dict[str, MySqlIndex]


def shape(dialect: Dialect, table: Table, wide: Collection[str] = ()) -> MySqlTable:
    """Derives the table; `wide` columns are utf8mb4 whatever upstream's character set is."""
    computed = virtual_columns(table, writer_of(dialect)).expressions
    columns = [c for c in table.columns if c.generated != "virtual" or c.name in computed]
    types = {c.name: column_type(c, dialect, wide=c.name in wide) for c in columns}
    indexes = [
        _whole(index, table, dialect, types) for index in table.indexes if _can_keep(index, columns)
    ]
    types = _within_a_row(columns, indexes, types)
    return MySqlTable(
        {
            c.name: MySqlColumn(types[c.name], c.nullable, _default(c, types[c.name], dialect))
            if c.name not in computed
            else _computed(c, types[c.name], computed[c.name])
            for c in columns
        },
        {
            index.name: MySqlIndex(
                index.unique,
                index.primary,
                tuple(zip(index.columns, _lengths(index), strict=True)),
                dialect.clustered_keys and index.primary and not index.clustered,
            )
            for index in indexes
            if index.unique or _short_enough(index, types)
        },
    )


def create_table(dialect: Dialect, relation: str, table: Table) -> str:
    new = shape(dialect, table)
    _require_short_keys(dialect, new, table)
    lines = [
        *(
            f"{quote_name(name, dialect.wide_names)} {of.text()}"
            for name, of in new.columns.items()
        ),
        *(index.text(name, dialect) for name, index in new.indexes.items()),
    ]
    return (
        f"CREATE TABLE {relation} (\n  "
        + ",\n  ".join(lines)
        + f"\n) ENGINE=InnoDB DEFAULT CHARACTER SET {_default_charset(dialect, table)}"
    )


def _default_charset(dialect: Dialect, table: Table) -> str:
    """The table's default, of no column here: it shows upstream's to readers of the catalog."""
    text = ColumnType("text", charset=table.charset, collation=table.collation)
    charset = kept_charset(text, dialect)
    if charset is None:
        return "utf8mb4 COLLATE utf8mb4_bin"
    return f"{charset} COLLATE {kept_collation(text, charset, dialect)}"


def _require_short_keys(dialect: Dialect, created: MySqlTable, table: Table) -> None:
    """Raises `Unsupported` for a key that is certainly longer than a server takes."""
    wide = {column.name for column in table.columns if column.type.charset == "utf8mb4"}
    for name, index in created.indexes.items():
        types = [(created.columns[of].type, length) for of, length in index.parts]
        size = sum(_least_bytes(type_, length) for type_, length in types)
        if size <= _LONGEST_KEY or (dialect.long_unique_keys and not index.primary):
            continue
        in_utf8mb4 = any(" character set utf8mb4 " in type_ for type_, _ in types)
        narrow = sum(_least_bytes(type_, length, 3) for type_, length in types) <= _LONGEST_KEY
        by_hand = "create the table with these columns in utf8mb3, which takes fewer, or "
        raise Unsupported(
            f"key {name} ({', '.join(index.columns)}) takes {size} bytes"
            f"{' with its texts in utf8mb4' if in_utf8mb4 else ''}, and {dialect.name} takes "
            f"{_LONGEST_KEY}; "
            + (by_hand if narrow and not wide.intersection(index.columns) else "")
            + "leave the table out by [tables] filter"
        )


def _least_bytes(type_: str, length: int | None, most: int = 4) -> int:
    """The least size of a column in a key, in bytes, with at most `most` bytes per character."""
    parsed = CatalogType.parse(type_)
    size = length or parsed.number(0)
    if parsed.name in TEXTS:
        return size * min(bytes_of_character(type_), most)
    return size if parsed.name in BINARIES else 1


def add_reference(target: Target, schema: str | None, name: str, added: Reference) -> str:
    """Adds a foreign key without a name, so that the server's name follows a RENAME TABLE."""
    columns = ", ".join(target.quote(None, column) for column in added.columns)
    parent = ", ".join(target.quote(None, column) for column in added.parent_columns)
    return (
        f"ALTER TABLE {target.quote(schema, name)} ADD FOREIGN KEY ({columns}) "
        f"REFERENCES {target.quote(added.schema, added.table)} ({parent})"
    )


def _computed(column: Column, type_: str, expression: str) -> MySqlColumn:
    # No NOT NULL: MariaDB refuses it there.
    generated = f"GENERATED ALWAYS AS ({expression}) VIRTUAL"
    return MySqlColumn(type_, True, None, generated, frozenset(reads(column)))


def _default(column: Column, type_: str, dialect: Dialect) -> str | None:
    """The default, if its value is certain. Rows carry all their values, so only other writers miss
    a default that is left out."""
    text, name = column.default, column.type.name
    if text is None or column.generated or column.type.binary or name in CAPACITIES:
        return None
    if name in ("timestamp", "datetime") and (now := _NOW.fullmatch(text)):
        return text if int(now[1] or 0) == (column.type.decimals or 0) else None
    value = constant(column)
    if value is None:
        return None
    if name == "bit" and isinstance(value, int):
        return f"b'{value:b}'"
    # '0' is the year 2000, here as in TiDB.
    literal = string_literal("0000" if name == "year" and not value else str(value))
    if CatalogType.parse(type_).name not in CAPACITIES:
        return literal
    # A VARCHAR that is a TEXT here.
    return f"({literal})" if dialect.text_defaults else None


def _can_keep(index: Index, columns: Sequence[Column]) -> bool:
    """Returns whether the index covers columns and all rows of the new table, and is neither a full
    text nor a vector index."""
    types = {column.name: column.type.name for column in columns}
    if index.expression or index.partial or not all(name in types for name in index.columns):
        return False
    return all(
        length is not None or (types[name] not in CAPACITIES and types[name] != "vector")
        for name, length in zip(index.columns, _lengths(index), strict=True)
    )


def _whole(index: Index, table: Table, dialect: Dialect, types: Mapping[str, str]) -> Index:
    """The key that identifies rows, over whole columns if the server accepts it: only such a key
    allows upserts."""
    if not (index.unique and index.columns == table.handle_key):
        return index
    columns = [table.column(name) for name in index.columns]
    size = sum(_least_bytes(types[name], None) for name in index.columns)
    is_short = size <= _LONGEST_KEY or (dialect.long_unique_keys and not index.primary)
    if is_short and not any(column.type.name in CAPACITIES for column in columns):
        return replace(index, lengths=())
    return index


def _lengths(index: Index) -> tuple[int | None, ...]:
    return index.lengths or (None,) * len(index.columns)


def _within_a_row(
    columns: Sequence[Column], indexes: Sequence[Index], new_types: Mapping[str, str]
) -> dict[str, str]:
    """The columns' types. If a row would be too long, the longest VARCHAR and VARBINARY without an
    index become TEXT and BLOB, which hold the same."""
    types = dict(new_types)
    indexed = {name for index in indexes for name in index.columns}
    longest = sorted(
        (column for column in columns if column.type.name in ("varchar", "varbinary")),
        key=lambda column: _bytes(types[column.name]),
        reverse=True,
    )
    for column in longest:
        if sum(map(_bytes, types.values())) <= _LONGEST_ROW:
            break
        if column.name not in indexed:
            old = types[column.name]
            family = "blob" if column.type.name in BINARIES else "text"
            types[column.name] = re.sub(r"^\w+\(\d+\)", family, old)
    return types


def _bytes(type_: str) -> int:
    """An upper bound of a column's bytes in a row."""
    parsed = CatalogType.parse(type_)
    match parsed.name:
        case "varchar" | "char":
            return parsed.number(0) * bytes_of_character(type_) + 2
        case "varbinary" | "binary":
            return parsed.number(0) + 2
        case "decimal":
            return parsed.number(0) // 2 + 4
        case _:
            return 12


def _short_enough(index: Index, types: dict[str, str]) -> bool:
    size = sum(
        length * bytes_of_character(types[name]) if length else _bytes(types[name])
        for name, length in zip(index.columns, _lengths(index), strict=True)
    )
    return size <= _LONGEST_KEY
