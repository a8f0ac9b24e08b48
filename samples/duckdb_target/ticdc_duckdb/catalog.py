"""A table in DuckDB's catalog. Names have no case there."""

import re
from collections.abc import Sequence

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.layout import TargetColumn, TargetTable, UniqueKey
from ticdc_consumer.targets.target import Query

_HERE = (
    "database_name = current_database() AND lower(schema_name) = lower(coalesce(?, "
    "current_schema())) AND lower(table_name) = lower(?)"
)
_TABLE = f"SELECT sql FROM duckdb_tables() WHERE {_HERE}"  # noqa: S608
_VIEW = f"SELECT 1 FROM duckdb_views() WHERE {_HERE.replace('table_name', 'view_name')}"  # noqa: S608
_COLUMNS = (
    "SELECT column_name, data_type, is_nullable, column_default FROM duckdb_columns() "  # noqa: S608
    f"WHERE {_HERE} ORDER BY column_index"
)
_CONSTRAINTS = (
    "SELECT constraint_type, constraint_name, constraint_column_names FROM duckdb_constraints() "  # noqa: S608
    f"WHERE {_HERE} AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')"
)
_INDEXES = f"SELECT index_name, is_unique, expressions FROM duckdb_indexes() WHERE {_HERE}"  # noqa: S608

_QUOTED = re.compile(r""""(?:[^"]|"")*"|'(?:[^']|'')*'""")
_INEXACT = re.compile(r"\bCOLLATE\b|\bGENERATED ALWAYS\b", re.IGNORECASE)


def describe(query: Query, schema: str | None, table: str) -> TargetTable | None:
    """None if there is no such table. Raises `Stop` for a view, for a collation, which may take
    different keys for equal, and for a generated column."""
    found = query(_TABLE, schema, table)
    if not found:
        if query(_VIEW, schema, table):
            raise Stop(f"{table} is a view")
        return None
    if inexact := _INEXACT.search(_QUOTED.sub("", found[0][0])):
        raise Stop(f"{table} has a column with {inexact[0].upper()}, which is not supported")
    constraints = query(_CONSTRAINTS, schema, table)
    columns = tuple(
        TargetColumn(name, type_.lower(), bool(nullable), has_default=default is not None)
        for name, type_, nullable, default in query(_COLUMNS, schema, table)
    )
    keys = [
        UniqueKey(name, tuple(names), kind == "PRIMARY KEY")
        for kind, name, names in constraints
        if kind != "FOREIGN KEY"
    ]
    return TargetTable(
        schema=schema,
        name=table,
        columns=columns,
        unique_keys=(*keys, *_over_indexes(indexes(query, schema, table), columns)),
        strict_foreign_keys=tuple(
            (name, "create the table without it: DuckDB can neither defer nor drop it")
            for kind, name, _ in constraints
            if kind == "FOREIGN KEY"
        ),
    )


def indexes(query: Query, schema: str | None, table: str) -> list[tuple[str, bool, str]]:
    """(name, whether it is unique, its expressions), without those of constraints."""
    return [
        (str(name), bool(unique), str(expressions))
        for name, unique, expressions in query(_INDEXES, schema, table)
    ]


def _over_indexes(
    existing: Sequence[tuple[str, bool, str]], columns: Sequence[TargetColumn]
) -> list[UniqueKey]:
    """An index over anything but names of letters and digits counts as one over expressions."""
    names = {column.name for column in columns}
    keys = []
    for index, unique, expressions in existing:
        parts = tuple(expressions.strip("[]").split(", "))
        plain = set(parts) <= names
        if unique:
            keys.append(UniqueKey(index, parts if plain else (), False, plain))
    return keys


def unique_keys(query: Query, relation: str) -> tuple[UniqueKey, ...]:
    """Of a table by its quoted name."""
    names = [name.replace('""', '"') for name in re.findall(r'"((?:[^"]|"")*)"', relation)]
    described = describe(query, names[-2] if len(names) > 1 else None, names[-1])
    return described.unique_keys if described else ()
