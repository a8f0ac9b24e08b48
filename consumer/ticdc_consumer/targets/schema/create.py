"""CREATE TABLE in SQL that PostgreSQL and SQLite share, from a complete upstream definition."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ticdc_encoder.column import TEMPORALS, TEXTS, Column, Index
from ticdc_encoder.event import Table

from ticdc_consumer.targets.schema.defaults import constant
from ticdc_consumer.targets.schema.generated import WriterOf, virtual_columns

LONGEST_INDEXED = 2600
"""Bytes: PostgreSQL refuses rows whose index entry is longer (a third of a page, 2704)."""


@dataclass(frozen=True, slots=True)
class DdlWords:
    """The differences between the two. `key_type` is the type of a column in a unique key, `prefix`
    the expression for a column's first n characters or bytes. `writer_of` writes the expressions of
    virtual columns, which are then `generated`; without it they are left out."""

    quote: Callable[[str], str]
    column_type: Callable[[Column], str]
    key_type: Callable[[Column], str]
    prefix: Callable[[str, int], str]
    now: Callable[[Column], str | None]
    writer_of: WriterOf | None = None
    generated: str = "STORED"


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """A column. `default` is the text after DEFAULT, None if there is none; `generated` the text
    after the type of a column that the target computes."""

    type: str
    not_null: bool
    default: str | None
    generated: str | None = None

    def text(self) -> str:
        if self.generated is not None:
            return f"{self.type} {self.generated}"
        not_null = " NOT NULL" if self.not_null else ""
        return self.type + not_null + ("" if self.default is None else f" DEFAULT {self.default}")


@dataclass(frozen=True, slots=True)
class IndexShape:
    unique: bool
    parts: tuple[str, ...]

    def create(self, label: str, relation: str) -> str:
        unique = "UNIQUE " if self.unique else ""
        return f"CREATE {unique}INDEX {label} ON {relation} ({', '.join(self.parts)})"


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table here, by upstream's names. A stored generated column is an ordinary one, since its
    values arrive; a virtual one never arrives: the target computes it, or it is left out with its
    indexes.

    The key that identifies rows covers whole columns, even if upstream's covers prefixes; other
    unique prefixes are kept. Also left out: indexes over expressions (of TiDB's functions) or over
    a part of the rows, and indexes that only speed up reading and may grow beyond what PostgreSQL
    accepts.
    """

    columns: dict[str, ColumnShape]
    primary: tuple[str, ...]
    indexes: dict[str, IndexShape]


def shape(table: Table, words: DdlWords) -> TableShape:
    computed = virtual_columns(table, words.writer_of).expressions
    columns = {c.name: c for c in table.columns if c.generated != "virtual" or c.name in computed}
    indexes = [
        index
        for index in table.indexes
        if not (index.expression or index.partial) and set(index.columns) <= columns.keys()
    ]
    keyed = {column for index in indexes if index.unique for column in index.columns}
    return TableShape(
        {
            name: ColumnShape(
                words.key_type(column) if name in keyed else words.column_type(column),
                not column.nullable and name not in computed,
                _default(column, words),
                f"GENERATED ALWAYS AS ({computed[name]}) {words.generated}"
                if name in computed
                else None,
            )
            for name, column in columns.items()
        },
        next((index.columns for index in indexes if index.primary), ()),
        {
            index.name: IndexShape(index.unique, tuple(_parts(index, table, words)))
            for index in indexes
            if not index.primary and (index.unique or _short(index, columns))
        },
    )


def create_table(
    relation: str, name: str, table: Table, words: DdlWords, constraints: Iterable[str] = ()
) -> list[str]:
    """Creates the table, with further lines in its CREATE TABLE, then its indexes."""
    new = shape(table, words)
    lines = [f"{words.quote(column)} {of.text()}" for column, of in new.columns.items()]
    if new.primary:
        lines.append(primary_key(new.primary, words))
    lines += constraints
    return [f"CREATE TABLE {relation} ({', '.join(lines)})"] + [
        index.create(words.quote(index_name(name, label)), relation)
        for label, index in new.indexes.items()
    ]


def primary_key(columns: Iterable[str], words: DdlWords) -> str:
    return f"PRIMARY KEY ({', '.join(map(words.quote, columns))})"


def _parts(index: Index, table: Table, words: DdlWords) -> list[str]:
    lengths = index.lengths or (None,) * len(index.columns)
    if index.columns == table.handle_key:
        lengths = (None,) * len(index.columns)
    return [
        words.quote(column) if length is None else words.prefix(words.quote(column), length)
        for column, length in zip(index.columns, lengths, strict=True)
    ]


def _short(index: Index, columns: dict[str, Column]) -> bool:
    """Returns whether every entry of the index is short enough, by the declared lengths."""
    total = 0
    lengths = index.lengths or (None,) * len(index.columns)
    for name, prefix in zip(index.columns, lengths, strict=True):
        type_ = columns[name].type
        if type_.name in TEXTS or type_.binary:
            length = prefix or (type_.length if not type_.name.endswith(("text", "blob")) else None)
            total += LONGEST_INDEXED if length is None else length * (1 if type_.binary else 4)
        else:
            total += 64
    return total < LONGEST_INDEXED


def index_name(table: str, index: str) -> str:
    """A name of at most 63 bytes, unique in the schema; upstream's is unique only in its table."""
    digest = hashlib.sha256(f"{table}\0{index}".encode()).hexdigest()[:8]
    readable = f"{table}_{index}".encode()[:54].decode(errors="ignore")
    return f"{readable}_{digest}"


def _default(column: Column, words: DdlWords) -> str | None:
    """The default, if its value is certain. Rows of the stream carry every column and need none."""
    default, name = column.default, column.type.name
    if default is None or column.generated or column.type.binary:
        return None
    if name == "timestamp" and default.upper().startswith("CURRENT_TIMESTAMP"):
        return words.now(column)
    value = None if name in TEMPORALS else constant(column)
    return None if value is None or "\0" in str(value) else literal(str(value))


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
