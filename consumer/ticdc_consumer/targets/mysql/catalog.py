"""A user's table as `information_schema` shows it."""

import re
from collections.abc import Sequence
from typing import Any

from ticdc_consumer.targets.layout import Reference, TargetColumn, TargetTable, UniqueKey
from ticdc_consumer.targets.mysql import kinds
from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.mysql.quoting import quote_name
from ticdc_consumer.targets.target import Query

_TABLE = """
    SELECT t.table_name, t.table_type, t.engine, e.transactions, e.xa
    FROM information_schema.tables t LEFT JOIN information_schema.engines e ON e.engine = t.engine
    WHERE t.table_schema = %s AND t.table_name = %s
"""
_NOT_LASTING = """
    SELECT t.table_schema, t.table_name, t.table_type, t.engine, e.transactions, e.xa
    FROM information_schema.tables t LEFT JOIN information_schema.engines e ON e.engine = t.engine
    WHERE t.table_schema = DATABASE() AND t.table_name IN ({names})
      AND t.engine IS NOT NULL
      AND (coalesce(e.transactions, '') <> 'YES' OR coalesce(e.xa, '') <> 'YES')
    ORDER BY t.table_name
"""
_COLUMNS = """
    SELECT column_name, column_type, is_nullable, column_default, extra, collation_name,
           generation_expression
    FROM information_schema.columns WHERE table_schema = %s AND table_name = %s
    ORDER BY ordinal_position
"""
_UNIQUE = """
    SELECT index_name, {column}, sub_part
    FROM information_schema.statistics
    WHERE table_schema = %s AND table_name = %s AND non_unique = 0
    ORDER BY index_name, seq_in_index
"""
_REFERENCES = """
    SELECT constraint_name, column_name, referenced_table_schema, referenced_table_name,
           referenced_column_name
    FROM information_schema.key_column_usage
    WHERE table_schema = %s AND table_name = %s AND referenced_table_name IS NOT NULL
    ORDER BY constraint_name, ordinal_position
"""
_TRIGGERS = """
    SELECT trigger_name FROM information_schema.triggers
    WHERE event_object_schema = %s AND event_object_table = %s ORDER BY trigger_name
"""

# MySQL marks a default that is an expression as DEFAULT_GENERATED.
_GENERATED = re.compile(r"\b(virtual|stored|persistent) generated\b", re.I)
_LABELLED = re.compile(r"(enum|set)\(", re.I)
_LABEL = re.compile(r"'((?:[^']|'')*)'")
_ESCAPED = {"n": "\n", "r": "\r", "0": "\0"}


def describe(
    query: Query, dialect: Dialect, schema: str, table: str, any_case: bool
) -> TargetTable | None:
    """Reads a table from the catalog; None if it does not exist. Raises `Stop` for a table that
    cannot be written exactly. `any_case`: this server's table names have no case."""
    tables = [row for row in query(_TABLE, schema, table) if any_case or row[0] == table]
    if not tables:
        return None

    relation = _relation(dialect, schema, table, tables[0][1:])
    statement = f"SHOW CREATE TABLE {relation.quoted}"
    kinds.refuse(relation, dialect, lambda: str(query(statement)[0][1]))
    columns = query(_COLUMNS, schema, table)
    # By this column MariaDB tells current rows from earlier ones.
    row_ends = {name for name, *_, expression in columns if expression == "ROW END"}
    parts = query(_UNIQUE.format(column=dialect.index_column), schema, table)
    return TargetTable(
        schema,
        table,
        tuple(_column(dialect, *row) for *row, _ in columns),
        _unique_keys([part for part in parts if part[1] not in row_ends]),
        triggers=tuple(str(name) for (name,) in query(_TRIGGERS, schema, table)),
    )


def require_lasting(query: Query, dialect: Dialect, tables: Sequence[str]) -> None:
    """Raises `Stop` if one of these tables of the session's database has no transactions."""
    names = ", ".join(["%s"] * len(tables))
    for schema, table, *rest in query(_NOT_LASTING.format(names=names), *tables):
        kinds.refuse(_relation(dialect, schema, table, rest), dialect, lambda: "")


def _relation(dialect: Dialect, schema: str, table: str, fields: Sequence[Any]) -> kinds.Relation:
    quoted = ".".join(quote_name(name, dialect.wide_names) for name in (schema, table))
    return kinds.Relation(f"{schema}.{table}", quoted, *fields)


def unescaped(dialect: Dialect, type_: str) -> str:
    """A column's type with its labels unescaped, except for quotes: the catalogs of MySQL and
    MariaDB escape other characters, whatever sql_mode is."""
    if not dialect.escaped_labels or _LABELLED.match(type_) is None:
        return type_
    return re.sub(r"\\(.)", lambda match: _ESCAPED.get(match[1], match[1]), type_)


def columns_of_view(query: Query, schema: str, view: str) -> tuple[str, ...]:
    """The view's columns; empty if its tables are gone."""
    # After DESCRIBE of a view, TiDB refuses its tables for the rest of a transaction (error 1050);
    # after its tables were read there, it refuses DESCRIBE (1356).
    return tuple(str(name) for name, *_ in query(_COLUMNS, schema, view))


def references(query: Query, schema: str, table: str) -> tuple[Reference, ...]:
    keys: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for name, column, parent_schema, parent, parent_column in query(_REFERENCES, schema, table):
        keys.setdefault((name, parent_schema, parent), []).append((column, parent_column))
    return tuple(
        Reference(
            name,
            tuple(column for column, _ in pairs),
            parent_schema,
            parent,
            tuple(column for _, column in pairs),
        )
        for (name, parent_schema, parent), pairs in keys.items()
    )


def _column(
    dialect: Dialect,
    name: str,
    type_: str,
    nullable: str,
    default: str | None,
    extra: str,
    collation: str | None,
) -> TargetColumn:
    labels = unescaped(dialect, type_) if _LABELLED.match(type_) else ""
    return TargetColumn(
        name=name,
        type=type_.lower(),
        nullable=nullable == "YES",
        has_default=default is not None or "auto_increment" in extra.lower(),
        generated=_GENERATED.search(extra) is not None,
        collation=collation,
        elements=tuple(label.replace("''", "'") for label in _LABEL.findall(labels)),
    )


def _unique_keys(rows: Sequence[Sequence[Any]]) -> tuple[UniqueKey, ...]:
    keys: dict[str, list[tuple[str | None, int | None]]] = {}
    for name, column, prefix in rows:
        keys.setdefault(name, []).append((column, prefix))
    unique_keys = []
    for name, parts in keys.items():
        # An expression has no column name.
        columns = tuple(column for column, _ in parts if column is not None)
        whole = all(prefix is None for _, prefix in parts)
        of_columns = len(columns) == len(parts)
        unique_keys.append(
            UniqueKey(
                name,
                columns,
                primary=name == "PRIMARY",
                plain=of_columns and whole,
                prefixes=of_columns and not whole,
            )
        )
    return tuple(unique_keys)
