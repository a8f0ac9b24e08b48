"""MySQL and TiDB statements that define tables, read into `Table`s.

The words come from sqlglot's MySQL tokenizer; the grammar of column and index definitions is
here, since sqlglot's own tree loses display widths, element order and TiDB's clauses.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ticdc_encoder.column import TEXTS, Column, ColumnType, Index
from ticdc_encoder.column_definition import (
    column_type,
    current_timestamp,
    default_collation,
    default_of,
    with_charset,
)
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Table
from ticdc_encoder.sql_words import Words


@dataclass(frozen=True, slots=True)
class CreateSchema:
    schema: str
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropSchema:
    schema: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateTable:
    table: Table
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropTable:
    schema: str
    table: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable:
    schema: str
    table: str


@dataclass(frozen=True, slots=True)
class Other:
    """A statement that is none of the above; `what` is its first two words, lower case."""

    query: str
    what: str


Statement = CreateSchema | DropSchema | CreateTable | DropTable | TruncateTable | Other


def parse_create_table(sql: str, default_schema: str) -> Table:
    """The table that a CREATE TABLE defines; `default_schema` where its name is not qualified.

    Raises DefinitionError, also for CREATE TABLE ... LIKE and ... AS SELECT.
    """
    match parse_ddl(sql, default_schema):
        case CreateTable(table):
            return table
        case other:
            raise DefinitionError(f"not a CREATE TABLE with columns but {type(other).__name__}")


def parse_ddl(query: str, schema: str) -> Statement:
    """The one statement in `query`, where unqualified names belong to `schema`."""
    words = Words(query)
    if words.done() or words.at(";"):
        raise DefinitionError("an empty statement")
    statement = _statement(words, schema) or Other(query, words.first_two())
    if isinstance(statement, Other):
        words.skip_to_semicolon()
    words.take(";")
    if not words.done():
        raise DefinitionError(f"unexpected {words.shown()} after the statement")
    return statement


def altered_table(query: str, schema: str) -> tuple[str, str, bool] | None:
    """Schema and table that an ALTER TABLE or RENAME TABLE names first, and whether it renames
    it. None for any other statement."""
    words = Words(query)
    renames = words.take("RENAME", "TABLE")
    if not renames and not words.take("ALTER", "TABLE"):
        return None
    name = words.qualified(schema)
    if not renames and words.take("RENAME"):
        renames = not any(words.at(part) for part in ("COLUMN", "INDEX", "KEY"))
    return *name, renames


def to_json(table: Table) -> dict[str, Any]:
    """A form that JSON can hold; `from_json` restores it."""
    return asdict(table)


def from_json(stored: Mapping[str, Any]) -> Table:
    columns = tuple(
        Column(**{**column, "type": ColumnType(**_tuples(column["type"], "elements"))})
        for column in stored["columns"]
    )
    indexes = tuple(Index(**_tuples(index, "columns", "lengths")) for index in stored["indexes"])
    return Table(**{**_tuples(stored, "handle_key"), "columns": columns, "indexes": indexes})


def _tuples(stored: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {**stored, **{name: tuple(stored[name]) for name in names}}


# --- statements --------------------------------------------------------------------------------


def _statement(words: Words, schema: str) -> Statement | None:
    """The statement, or None if it is not of the kinds known here."""
    if words.take("CREATE", "TABLE"):
        return _create_table(words, schema)
    if words.take("DROP", "TABLE"):
        exists = words.take("IF", "EXISTS")
        dropped = DropTable(*words.qualified(schema), exists)
        return None if words.at(",") else dropped
    if words.take("TRUNCATE"):
        words.take("TABLE")
        return TruncateTable(*words.qualified(schema))
    if words.take("CREATE", "DATABASE") or words.take("CREATE", "SCHEMA"):
        exists = words.take("IF", "NOT", "EXISTS")
        created = CreateSchema(words.identifier(), exists)
        words.skip_to_semicolon()
        return created
    if words.take("DROP", "DATABASE") or words.take("DROP", "SCHEMA"):
        exists = words.take("IF", "EXISTS")
        return DropSchema(words.identifier(), exists)
    return None


def _create_table(words: Words, schema: str) -> CreateTable | None:
    exists = words.take("IF", "NOT", "EXISTS")
    schema, name = words.qualified(schema)
    if not words.at("(") or words.at("(", "LIKE") or words.at("(", "SELECT"):
        return None
    try:
        body = _Body(words)
        return CreateTable(body.table(schema, name), exists)
    except DefinitionError as exc:
        exc.add_note(f"in the definition of {schema}.{name}")
        raise


class _Body:
    """What stands in and after the parentheses of a CREATE TABLE."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._columns: list[Column] = []
        self._indexes: list[Index] = []  # of the table's own clauses
        self._column_indexes: list[Index] = []  # TiDB creates these after them
        self._charset, self._collation, self._partitioned = "utf8mb4", "utf8mb4_bin", False
        words.expect("(")
        while True:
            self._element()
            if not words.take(","):
                break
        words.expect(")")
        self._options()

    def table(self, schema: str, name: str) -> Table:
        declared = {column.name.lower(): column for column in self._columns}
        if len(declared) != len(self._columns):
            raise DefinitionError("a column is defined twice")
        indexes: list[Index] = []
        clauses = self._indexes + self._column_indexes
        for index in sorted(clauses, key=lambda index: not index.primary):
            for column in index.columns:
                if column.lower() not in declared:
                    raise DefinitionError(f"index on an unknown column {column!r}")
            columns = tuple(declared[column.lower()].name for column in index.columns)
            lengths = tuple(
                None if length == declared[column.lower()].type.length else length
                for column, length in zip(columns, index.lengths, strict=True)
            )
            named = index.name or _free_name(columns, {other.name.lower() for other in indexes})
            indexes.append(replace(index, name=named, columns=columns, lengths=lengths))
        if sum(index.primary for index in indexes) > 1:
            raise DefinitionError("two primary keys")
        primary = {column for index in indexes if index.primary for column in index.columns}
        columns_ = tuple(
            replace(
                column,
                type=self._inherit(column.type),
                nullable=column.nullable and column.name not in primary,
            )
            for column in self._columns
        )
        defined = Table.define(schema, name, columns_, tuple(indexes))
        return replace(defined, partitioned=self._partitioned, charset=self._charset)

    def _inherit(self, type_: ColumnType) -> ColumnType:
        if type_.name not in TEXTS and type_.name not in ("enum", "set"):
            return replace(type_, charset=None, collation=None)
        charset, collation = type_.charset, type_.collation
        if charset is None and collation is None:
            charset, collation = self._charset, self._collation
        return with_charset(type_, charset, collation)

    def _element(self) -> None:
        words = self._words
        if words.take("CONSTRAINT") and not (
            words.at("PRIMARY") or words.at("UNIQUE") or words.at("FOREIGN") or words.at("CHECK")
        ):
            words.identifier()
        if words.take("PRIMARY", "KEY"):
            self._index(primary=True)
        elif words.take("UNIQUE"):
            _ = words.take("KEY") or words.take("INDEX")
            self._index(unique=True)
        elif words.take("FOREIGN", "KEY"):
            if not words.at("("):
                words.identifier()
            words.parenthesised()
            self._reference()
        elif words.at("CHECK", "("):
            self._check()
        elif any(words.take(kind) for kind in ("FULLTEXT", "SPATIAL")) or (
            words.at("VECTOR", "INDEX") and words.take("VECTOR")
        ):
            _ = words.take("KEY") or words.take("INDEX")
            self._index()
        elif words.take("KEY") or words.take("INDEX"):
            self._index()
        else:
            self._column()

    def _check(self) -> None:
        self._words.expect("CHECK")
        self._words.parenthesised()
        _ = self._words.take("NOT", "ENFORCED") or self._words.take("ENFORCED")

    def _reference(self) -> None:
        words = self._words
        words.expect("REFERENCES")
        words.qualified("")
        words.parenthesised()
        while words.take("ON") or words.take("MATCH"):
            words.identifier()  # DELETE, UPDATE; or FULL, PARTIAL, SIMPLE
            _ = words.take("NO", "ACTION") or words.take("SET", "NULL")
            _ = words.take("SET", "DEFAULT") or words.take("CASCADE") or words.take("RESTRICT")

    def _index(self, *, primary: bool = False, unique: bool = False) -> None:
        words = self._words
        name = ""
        if words.take("IF", "NOT", "EXISTS") or not (words.at("(") or words.at("USING")):
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
        clustered = primary  # where nothing is said (tidb_enable_clustered_index = ON)
        while not (words.at(",") or words.at(")") or words.done()):
            if words.at("("):
                words.parenthesised()
            else:
                clustered &= not words.at("NONCLUSTERED")
                words.next()
        self._indexes.append(
            Index(
                "PRIMARY" if primary else name,
                tuple(columns),
                primary or unique,
                primary,
                tuple(lengths),
                expression,
                clustered,
            )
        )

    def _column(self) -> None:
        words = self._words
        name = words.identifier()
        column = Column(name, column_type(words))
        if column.type.name == "serial":
            column = Column(name, ColumnType("bigint", True, length=20), False, auto_increment=True)
            self._key_of(name)
        while not (words.at(",") or words.at(")")):
            try:
                column = self._attribute(column)
            except DefinitionError as exc:
                exc.add_note(f"at column {name}")
                raise
        self._columns.append(column)

    def _key_of(self, name: str, *, primary: bool = False) -> None:
        clustered = primary and not self._words.take("NONCLUSTERED")
        self._column_indexes.append(
            Index(
                "PRIMARY" if primary else "", (name,), True, primary, (None,), clustered=clustered
            )
        )

    def _attribute(self, column: Column) -> Column:
        """The column with its next attribute."""
        words = self._words
        if words.take("NOT", "NULL"):
            return replace(column, nullable=False)
        if words.take("NULL"):
            return replace(column, nullable=True)
        if words.take("DEFAULT"):
            return replace(column, default=default_of(words))
        if words.take("SERIAL", "DEFAULT", "VALUE"):
            self._key_of(column.name)
            return replace(column, nullable=False, auto_increment=True)
        if words.take("ON", "UPDATE"):
            current_timestamp(words)
            return replace(column, on_update=True)
        if words.take("AUTO_INCREMENT"):
            return replace(column, auto_increment=True)
        elif words.take("PRIMARY", "KEY") or words.take("KEY"):
            self._key_of(column.name, primary=True)
        elif words.take("UNIQUE"):
            words.take("KEY")
            self._key_of(column.name)
        elif words.take("COMMENT"):
            return replace(column, comment=words.string())
        elif words.take("COLLATE"):
            return replace(column, type=replace(column.type, collation=words.option().lower()))
        elif words.take("GENERATED", "ALWAYS", "AS") or words.take("AS"):
            expression = words.parenthesised()
            if words.take("STORED"):
                return replace(column, generated="stored", expression=expression)
            words.take("VIRTUAL")
            return replace(column, generated="virtual", expression=expression)
        elif words.at("REFERENCES"):
            self._reference()
        elif words.take("CONSTRAINT"):
            if not words.at("CHECK"):
                words.identifier()
        elif words.at("CHECK"):
            self._check()
        elif words.take("AUTO_RANDOM"):
            if words.at("("):
                words.parenthesised()
        elif words.take("COLUMN_FORMAT") or words.take("STORAGE"):
            words.identifier()
        elif not (words.take("CLUSTERED") or words.take("GLOBAL")):
            raise DefinitionError(f"unexpected {words.shown()}")
        return column

    def _options(self) -> None:
        words = self._words
        while not (words.done() or words.at(";")):
            if words.take("PARTITION", "BY"):
                self._partitioned = True
                words.skip_to_semicolon()
            elif words.take("CHARSET") or words.take("CHARACTER", "SET"):
                self._charset = words.option().lower()
                self._collation = default_collation(self._charset)
            elif words.take("COLLATE"):
                self._collation = words.option().lower()
                self._charset = self._collation.partition("_")[0]
            elif words.at("("):
                words.parenthesised()
            elif words.take("AS") or words.take("SELECT"):
                raise DefinitionError("CREATE TABLE ... AS SELECT has no complete definition")
            else:
                words.next()


def _free_name(columns: tuple[str, ...], taken: set[str]) -> str:
    """TiDB's name of a unique key that was given none."""
    first = columns[0] if columns else "expression_index"
    name, number = first, 2
    while name.lower() in taken:
        name, number = f"{first}_{number}", number + 1
    return name
