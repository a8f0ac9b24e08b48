"""Columns, keys and options as CREATE TABLE and ALTER TABLE write them, and the table that they
define."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from ticdc_encoder.column import TEXTS, Column, ColumnType, ForeignKey, Index
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.column import (
    OF_CHARSET,
    column_type,
    current_timestamp,
    default_collation,
    typed_default,
    with_charset,
)
from ticdc_encoder.sql.partitions import partition_by
from ticdc_encoder.sql.statements import Charset
from ticdc_encoder.sql.words import SqlWords


def complete(described: Table, columns: Iterable[Column], indexes: Iterable[Index]) -> Table:
    """`described` with these columns and keys, and all that follows from them: names of keys,
    character sets, NOT NULL of the primary key, the handle key."""
    columns = tuple(columns)
    declared = {column.name.lower(): column for column in columns}
    if len(declared) != len(columns):
        raise DefinitionError("a column is defined twice")
    if not columns:
        raise DefinitionError("a table without columns")
    indexes = sorted(indexes, key=lambda index: not index.primary)
    used: set[str] = set()
    for index in indexes:
        if index.name.lower() in used:
            raise DefinitionError(f"two keys of the name {index.name!r}")
        used |= {index.name.lower()} if index.name and not index.primary else set()
    named: list[Index] = []
    for index in indexes:
        named.append(_resolved(index, declared, used))
        used.add(named[-1].name.lower())
    if sum(index.primary for index in named) > 1:
        raise DefinitionError("two primary keys")
    primary = {column for index in named if index.primary for column in index.columns}
    whole = tuple(
        replace(
            column,
            type=_inherited(column.type, described.charset, described.collation),
            nullable=column.nullable and column.name not in primary,
        )
        for column in columns
    )
    defined = Table.define(described.schema, described.name, whole, tuple(named))
    return replace(
        defined,
        partitioned=described.partitioned,
        table_id=described.table_id,
        charset=described.charset,
        collation=described.collation,
        foreign_keys=described.foreign_keys,
        partitioning=described.partitioning,
    )


def with_foreign_key(table: Table, key: ForeignKey) -> Table:
    """`table` with a foreign key, and the index of its name that TiDB creates if no index begins
    with its columns."""
    declared = {column.name.lower(): column.name for column in table.columns}
    for name in key.columns:
        if name.lower() not in declared:
            raise DefinitionError(f"foreign key on an unknown column {name!r}")
    numbers = [int(k.name[3:]) for k in table.foreign_keys if _NUMBERED.fullmatch(k.name)]
    number = max([len(table.foreign_keys), *numbers]) + 1
    columns = tuple(declared[name.lower()] for name in key.columns)
    key = replace(key, name=key.name or f"fk_{number}", columns=columns)
    indexes = table.indexes
    if not any(index.begins_with(columns) for index in indexes):
        created = Index(key.name, columns, lengths=(None,) * len(columns))
        indexes = (*indexes, created)
    return replace(table, indexes=indexes, foreign_keys=(*table.foreign_keys, key))


_NUMBERED = re.compile(r"fk_[0-9]{1,9}")


def _resolved(index: Index, declared: dict[str, Column], used: set[str]) -> Index:
    for column in index.columns:
        if column.lower() not in declared:
            raise DefinitionError(f"index on an unknown column {column!r}")
    columns = tuple(declared[column.lower()].name for column in index.columns)
    lengths = tuple(
        None if length == declared[column.lower()].type.length else length
        for column, length in zip(columns, index.lengths, strict=True)
    )
    named = index.name or _free_name(columns, used)
    return replace(index, name=named, columns=columns, lengths=lengths)


def _inherited(type_: ColumnType, charset: str | None, collation: str | None) -> ColumnType:
    if type_.name not in TEXTS and type_.name not in ("enum", "set"):
        return replace(type_, charset=None, collation=None)
    if type_.charset is None and type_.collation in (None, OF_CHARSET):
        own = type_.collation is not None and type_.name in TEXTS
        return with_charset(type_, charset or "utf8mb4", None if own else collation)
    return with_charset(type_, type_.charset, type_.collation)


class Clauses:
    """Reads definitions one by one and collects the columns and keys."""

    def __init__(self, words: SqlWords) -> None:
        self._words = words
        self.columns: list[Column] = []
        self.indexes: list[Index] = []  # of clauses of their own
        self.column_indexes: list[Index] = []  # TiDB creates these after them
        self.foreign_keys: list[ForeignKey] = []
        self.computed = False  # whether a default was an expression

    def table(self, schema: str, name: str, charset: Charset | None) -> Table:
        """The table of the parentheses of a CREATE TABLE, and the options after them; `charset` is
        the database's."""
        self._words.expect("(")
        while True:
            self.element()
            if not self._words.take(","):
                break
        self._words.expect(")")
        described = self._options(Table(schema, name, ()), charset)
        table = complete(described, self.columns, self.indexes + self.column_indexes)
        for key in self.foreign_keys:
            parent = key.parent[0] or schema, key.parent[1]
            table = with_foreign_key(table, replace(key, parent=parent))
        return table

    def element(self) -> None:
        words = self._words
        constraint = ""
        if words.take("CONSTRAINT") and not (
            words.at("PRIMARY") or words.at("UNIQUE") or words.at("FOREIGN") or words.at("CHECK")
        ):
            constraint = words.identifier()
        if words.take("PRIMARY", "KEY"):
            self.index(primary=True)
        elif words.take("UNIQUE"):
            _ = words.take("KEY") or words.take("INDEX")
            self.index(unique=True)
        elif words.take("FOREIGN", "KEY"):
            words.take("IF", "NOT", "EXISTS")
            index = "" if words.at("(") else words.identifier()
            columns = self._names()
            parent, parent_columns = self.reference()
            self.foreign_keys.append(
                ForeignKey(constraint or index, columns, parent, parent_columns)
            )
        elif words.at("CHECK", "("):
            self.check()
        elif any(words.take(kind) for kind in ("FULLTEXT", "SPATIAL")) or (
            words.at("VECTOR", "INDEX") and words.take("VECTOR")
        ):
            _ = words.take("KEY") or words.take("INDEX")
            self.index()
        elif words.take("KEY") or words.take("INDEX"):
            self.index()
        else:
            self.column()

    def check(self) -> None:
        self._words.expect("CHECK")
        self._condition()

    def _condition(self) -> None:
        self._words.parenthesised()
        _ = self._words.take("NOT", "ENFORCED") or self._words.take("ENFORCED")

    def reference(self) -> tuple[tuple[str, str], tuple[str, ...]]:
        """The parent table, "" for a schema that is not written, and its columns."""
        self._words.expect("REFERENCES")
        return self._parent()

    def _parent(self) -> tuple[tuple[str, str], tuple[str, ...]]:
        words = self._words
        parent = words.qualified("")
        columns = self._names()
        while words.take("ON") or words.take("MATCH"):
            words.identifier()  # DELETE, UPDATE; or FULL, PARTIAL, SIMPLE
            _ = words.take("NO", "ACTION") or words.take("SET", "NULL")
            _ = words.take("SET", "DEFAULT") or words.take("CASCADE") or words.take("RESTRICT")
        return parent, columns

    def _names(self) -> tuple[str, ...]:
        words = self._words
        words.expect("(")
        names = [words.identifier()]
        if words.at("("):
            words.parenthesised()
        while words.take(","):
            names.append(words.identifier())
            if words.at("("):
                words.parenthesised()
        words.expect(")")
        return tuple(names)

    def _ended(self) -> bool:
        words = self._words
        return words.done() or words.at(",") or words.at(")") or words.at(";")

    def index(self, *, primary: bool = False, unique: bool = False, name: str = "") -> None:
        """The rest of a key's definition; `name` if it came before."""
        words = self._words
        words.take("IF", "NOT", "EXISTS")
        if not (name or words.at("(") or words.at("USING")):
            name = words.identifier()
        if words.take("USING") or words.take("TYPE"):
            words.identifier()
        columns, lengths, expression = [], [], False
        words.expect("(")
        while True:
            if words.at("("):
                words.parenthesised()
                expression = True
            else:
                columns.append(words.identifier())
                lengths.append(words.number() if words.at("(") else None)
            _ = words.take("ASC") or words.take("DESC")
            if not words.take(","):
                break
        words.expect(")")
        clustered = primary  # by default (tidb_enable_clustered_index = ON)
        partial = False
        while not self._ended():
            partial |= words.at("WHERE") and not primary
            if words.at("("):
                words.parenthesised()
            else:
                clustered &= not words.at("NONCLUSTERED")
                words.next()
        self.indexes.append(
            Index(
                "PRIMARY" if primary else name,
                tuple(columns),
                primary or unique,
                primary,
                tuple(lengths),
                expression,
                clustered,
                partial,
            )
        )

    def column(self) -> None:
        words = self._words
        name = words.identifier()
        column = Column(name, column_type(words))
        if column.type.name == "serial":
            column = Column(name, ColumnType("bigint", True, length=20), False, auto_increment=True)
            self._key_of(name)
        while not (self._ended() or words.at("FIRST") or words.at("AFTER")):
            try:
                column = self._attribute(column)
            except DefinitionError as exc:
                exc.add_note(f"at column {name}")
                raise
        self.columns.append(column)

    def _key_of(self, name: str, *, primary: bool = False) -> None:
        clustered = primary and not self._words.take("NONCLUSTERED")
        self.column_indexes.append(
            Index(
                "PRIMARY" if primary else "", (name,), True, primary, (None,), clustered=clustered
            )
        )

    def _attribute(self, column: Column) -> Column:
        """The column with its next attribute."""
        for words, read in _ATTRIBUTES.items():
            if self._words.take(*words):
                return read(self, column)
        raise DefinitionError(f"unexpected {self._words.upcoming()}")

    def _default(self, column: Column) -> Column:
        null = self._words.at("NULL")
        default = typed_default(self._words, column.type)
        self.computed |= default is None and not null
        return replace(column, default=default)

    def _serial(self, column: Column) -> Column:
        self._key_of(column.name)
        return replace(column, nullable=False, auto_increment=True)

    def _on_update(self, column: Column) -> Column:
        current_timestamp(self._words)
        return replace(column, on_update=True)

    def _primary_key(self, column: Column) -> Column:
        self._key_of(column.name, primary=True)
        return column

    def _unique_key(self, column: Column) -> Column:
        self._words.take("KEY")
        self._key_of(column.name)
        return column

    def _comment(self, column: Column) -> Column:
        return replace(column, comment=self._words.string())

    def _collation(self, column: Column) -> Column:
        return replace(column, type=replace(column.type, collation=self._words.option().lower()))

    def _generated(self, column: Column) -> Column:
        expression = self._words.parenthesised()
        if self._words.take("STORED"):
            return replace(column, generated="stored", expression=expression)
        self._words.take("VIRTUAL")
        return replace(column, generated="virtual", expression=expression)

    def _references(self, column: Column) -> Column:
        self._parent()
        return column

    def _constraint(self, column: Column) -> Column:
        if not self._words.at("CHECK"):
            self._words.identifier()
        return column

    def _column_check(self, column: Column) -> Column:
        self._condition()
        return column

    def _auto_random(self, column: Column) -> Column:
        if self._words.at("("):
            self._words.parenthesised()
        return column

    def _storage(self, column: Column) -> Column:
        self._words.identifier()
        return column

    def _options(self, table: Table, of_database: Charset | None) -> Table:
        words = self._words
        charset = collation = None
        while not (words.done() or words.at(";")):
            if words.take("PARTITION", "BY"):
                table = replace(table, partitioned=True, partitioning=partition_by(words))
            elif words.take("CHARSET") or words.take("CHARACTER", "SET"):
                charset = words.option().lower()
            elif words.take("COLLATE"):
                collation = words.option().lower()
            elif words.at("("):
                words.parenthesised()
            elif words.take("AS") or words.take("SELECT"):
                raise DefinitionError("CREATE TABLE ... AS SELECT has no complete definition")
            else:
                words.next()
        named = _charset(charset, collation) or of_database
        if named is None:
            return table
        return replace(table, charset=named.name, collation=named.collation)


def charset_options(words: SqlWords) -> Charset | None:
    """The character set among the options of a database, up to the end of the statement."""
    charset = collation = None
    while not (words.done() or words.at(";")):
        if words.take("CHARSET") or words.take("CHARACTER", "SET"):
            charset = words.option().lower()
        elif words.take("COLLATE"):
            collation = words.option().lower()
        else:
            words.next()
    return _charset(charset, collation)


def _charset(name: str | None, collation: str | None) -> Charset | None:
    """Each of the two follows from the other; None if neither is named."""
    name = name or (collation or "").partition("_")[0]
    name = "utf8" if name == "utf8mb3" else name
    return Charset(name, collation or default_collation(name)) if name else None


def _free_name(columns: tuple[str, ...], used: set[str]) -> str:
    """The name that TiDB gives a unique key without one."""
    first = columns[0] if columns else "expression_index"
    name, number = first, 2
    while name.lower() in used:
        name, number = f"{first}_{number}", number + 1
    return name


_ATTRIBUTES: dict[tuple[str, ...], Callable[[Clauses, Column], Column]] = {
    ("NOT", "NULL"): lambda _, column: replace(column, nullable=False),
    ("NULL",): lambda _, column: replace(column, nullable=True),
    ("DEFAULT",): Clauses._default,
    ("SERIAL", "DEFAULT", "VALUE"): Clauses._serial,
    ("ON", "UPDATE"): Clauses._on_update,
    ("AUTO_INCREMENT",): lambda _, column: replace(column, auto_increment=True),
    ("PRIMARY", "KEY"): Clauses._primary_key,
    ("KEY",): Clauses._primary_key,
    ("UNIQUE",): Clauses._unique_key,
    ("COMMENT",): Clauses._comment,
    ("COLLATE",): Clauses._collation,
    ("GENERATED", "ALWAYS", "AS"): Clauses._generated,
    ("AS",): Clauses._generated,
    ("REFERENCES",): Clauses._references,
    ("CONSTRAINT",): Clauses._constraint,
    ("CHECK",): Clauses._column_check,
    ("AUTO_RANDOM",): Clauses._auto_random,
    ("COLUMN_FORMAT",): Clauses._storage,
    ("STORAGE",): Clauses._storage,
    ("CLUSTERED",): lambda _, column: column,
    ("GLOBAL",): lambda _, column: column,
}
"""First words of a column's attribute -> the parser of its rest."""
