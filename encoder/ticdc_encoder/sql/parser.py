"""MySQL and TiDB statements that define tables, read into `Table`s.

The words come from sqlglot's MySQL tokenizer; the grammar of column and index definitions is
here, since sqlglot's own tree loses display widths, element order and TiDB's clauses.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from ticdc_encoder.column import Column, ColumnType, ForeignKey, Index
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Table
from ticdc_encoder.partitioning import partitioning_from_json
from ticdc_encoder.sql.alter import alter_table, create_index, drop_index
from ticdc_encoder.sql.clauses import Clauses, charset_options
from ticdc_encoder.sql.statements import (
    AlterSchema,
    AlterTable,
    Charset,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    DropSchema,
    DropTable,
    Other,
    RecoverTable,
    RenameTable,
    Statement,
    TruncateTable,
)
from ticdc_encoder.sql.view import create_view, drop_view
from ticdc_encoder.sql.words import SqlWords, escaped

__all__ = [
    "AlterSchema",
    "AlterTable",
    "CreateSchema",
    "CreateTable",
    "CreateTableLike",
    "DropSchema",
    "DropTable",
    "Other",
    "RecoverTable",
    "RenameTable",
    "Statement",
    "TruncateTable",
    "altered_table",
    "from_json",
    "parse_create_table",
    "parse_ddl",
    "to_json",
]


MOST_KEPT = 1 << 16
"""Longest statement, in characters, whose parse is cached."""


def parse_create_table(sql: str, default_schema: str) -> Table:
    """The table that a CREATE TABLE defines; `default_schema` is its schema if its name is not
    qualified.

    Raises DefinitionError, also for CREATE TABLE ... LIKE and ... AS SELECT.
    """
    match parse_ddl(sql, default_schema):
        case CreateTable(table):
            return table
        case other:
            raise DefinitionError(f"not a CREATE TABLE with columns but {type(other).__name__}")


def parse_ddl(query: str, schema: str, charset: Charset | None = None) -> Statement:
    """The one statement in `query`. Unqualified names belong to `schema`. `charset` is the
    database's; without it, utf8mb4. A backslash counts as one if TiCDC does not escape it: see
    `escaped`. Raises DefinitionError."""
    return (_known if len(query) <= MOST_KEPT else _parsed)(query, schema, charset)


def _parsed(query: str, schema: str, charset: Charset | None) -> Statement:
    words = SqlWords(escaped(query))
    if words.done() or words.at(";"):
        raise DefinitionError("an empty statement")
    statement = _statement(words, schema, charset) or Other(query, words.first_two())
    if isinstance(statement, Other):
        words.skip_to_semicolon()
    words.take(";")
    if not words.done():
        raise DefinitionError(f"unexpected {words.upcoming()} after the statement")
    return statement


_known = lru_cache(maxsize=128)(_parsed)
"""Cache: each statement is read by the scout, by the tasks, and once it runs."""


def altered_table(query: str, schema: str) -> tuple[str, str, bool] | None:
    """Schema and table that an ALTER TABLE or RENAME TABLE names first, and whether it renames
    it. None for any other statement."""
    words = SqlWords(escaped(query))
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
    keys = tuple(
        ForeignKey(**_tuples(key, "columns", "parent", "parent_columns"))
        for key in stored.get("foreign_keys", ())
    )
    whole = {
        "columns": columns,
        "indexes": indexes,
        "foreign_keys": keys,
        "partitioning": partitioning_from_json(stored.get("partitioning")),
    }
    return Table(**{**_tuples(stored, "handle_key"), **whole})


def _tuples(stored: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {**stored, **{name: tuple(stored[name]) for name in names}}


# --- statements --------------------------------------------------------------------------------


def _statement(words: SqlWords, schema: str, charset: Charset | None) -> Statement | None:
    """The statement, or None if it is not of the kinds known here."""
    if words.take("CREATE", "TABLE"):
        return _create_table(words, schema, charset)
    for first, parse in _STATEMENTS.items():
        if words.take(*first):
            return parse(words, schema)
    for kind, parse in _CREATED.items():
        if words.at("CREATE", *kind):
            words.expect("CREATE")
            return parse(words, schema)
    return None


def _drop_table(words: SqlWords, schema: str) -> DropTable | None:
    exists = words.take("IF", "EXISTS")
    dropped = DropTable(*words.qualified(schema), exists)
    return None if words.at(",") else dropped


def _truncate_table(words: SqlWords, schema: str) -> TruncateTable:
    words.take("TABLE")
    return TruncateTable(*words.qualified(schema))


def _rename_table(words: SqlWords, schema: str) -> RenameTable | None:
    old = words.qualified(schema)
    words.expect("TO")
    renamed = RenameTable(old, words.qualified(schema))
    return None if words.at(",") else renamed


def _recover_table(words: SqlWords, schema: str) -> RecoverTable:
    if words.take("BY", "JOB"):
        words.next("number")
        return RecoverTable(None, None)
    table = words.qualified(schema)
    if words.kind() == "number":
        words.next()  # how many jobs TiDB is to look at
    return RecoverTable(table, table)


def _flashback_table(words: SqlWords, schema: str) -> RecoverTable | None:
    dropped = words.qualified(schema)
    if words.at(","):
        return None
    return RecoverTable(dropped, words.qualified(dropped[0]) if words.take("TO") else dropped)


def _create_schema(words: SqlWords, schema: str) -> CreateSchema:
    exists = words.take("IF", "NOT", "EXISTS")
    return CreateSchema(words.identifier(), exists, charset_options(words))


def _alter_schema(words: SqlWords, schema: str) -> AlterSchema:
    name = schema if _at_option(words) else words.identifier()
    return AlterSchema(name, charset_options(words))


def _drop_schema(words: SqlWords, schema: str) -> DropSchema:
    exists = words.take("IF", "EXISTS")
    return DropSchema(words.identifier(), exists)


def _at_option(words: SqlWords) -> bool:
    return any(map(words.at, ("DEFAULT", "CHARSET", "CHARACTER", "COLLATE", "PLACEMENT")))


def _create_table(
    words: SqlWords, schema: str, charset: Charset | None
) -> CreateTable | CreateTableLike | None:
    exists = words.take("IF", "NOT", "EXISTS")
    session_schema, written = schema, words.qualified("")
    schema, name = written[0] or schema, written[1]
    inside = words.take("(", "LIKE")
    if inside or words.take("LIKE"):
        # Beside a name with its database, one without is in the session's, which is unknown.
        like = words.qualified("" if written[0] else session_schema)
        if inside:
            words.expect(")")
        return CreateTableLike(schema, name, like, exists)
    if not words.at("(") or words.at("(", "SELECT"):
        return None
    try:
        return CreateTable(Clauses(words).table(schema, name, charset), exists)
    except DefinitionError as exc:
        exc.add_note(f"in the definition of {schema}.{name}")
        raise


Parse = Callable[[SqlWords, str], Statement | None]

_STATEMENTS: dict[tuple[str, ...], Parse] = {
    ("DROP", "TABLE"): _drop_table,
    ("TRUNCATE",): _truncate_table,
    ("ALTER", "TABLE"): alter_table,
    ("RENAME", "TABLE"): _rename_table,
    ("DROP", "VIEW"): drop_view,
    ("RECOVER", "TABLE"): _recover_table,
    ("FLASHBACK", "TABLE"): _flashback_table,
    ("DROP", "INDEX"): drop_index,
    ("CREATE", "DATABASE"): _create_schema,
    ("CREATE", "SCHEMA"): _create_schema,
    ("ALTER", "DATABASE"): _alter_schema,
    ("ALTER", "SCHEMA"): _alter_schema,
    ("DROP", "DATABASE"): _drop_schema,
    ("DROP", "SCHEMA"): _drop_schema,
}
"""A statement's first words -> the parser of the rest."""

_CREATED: dict[tuple[str, ...], Parse] = {
    ("VIEW",): create_view,
    ("OR", "REPLACE"): create_view,
    ("ALGORITHM",): create_view,
    ("DEFINER",): create_view,
    ("SQL", "SECURITY"): create_view,
    ("INDEX",): create_index,
    ("UNIQUE", "INDEX"): create_index,
    ("FULLTEXT", "INDEX"): create_index,
    ("SPATIAL", "INDEX"): create_index,
    ("VECTOR", "INDEX"): create_index,
}
"""The words after CREATE -> the parser of them and the rest."""
