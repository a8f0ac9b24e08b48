"""A table in SQLite's catalog."""

from collections.abc import Sequence
from typing import Any

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.layout import Reference, TargetColumn, TargetTable, UniqueKey
from ticdc_consumer.targets.target import Query

# A temporary table hides one of the file; a table that is not stored has no page.
_KINDS = """
SELECT 'temporary ' || type FROM sqlite_temp_master
WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')
UNION ALL
SELECT iif(type = 'table' AND rootpage = 0, 'virtual table', type) FROM sqlite_master
WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')
"""
REFUSED = {
    "view": "{table} is a view, and not a table",
    "virtual table": "{table} is a virtual table, whose module decides what rows it has; create an "
    "ordinary table",
    "temporary table": "{table} is a temporary table, which ends with its session",
    "temporary view": "{table} is a view, and not a table",
}
"""The kinds of names that are no table -> the message for the user. WITHOUT ROWID and STRICT tables
are written like other tables."""

_TRIGGERS = (
    "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE "
    "ORDER BY name"
)


def describe(query: Query, schema: str | None, table: str) -> TargetTable | None:
    """Reads a table; None if it does not exist. Raises `Stop` if it is not written like one."""
    columns = _columns(query, table)
    kinds = query(_KINDS, table, table)
    if not columns or not kinds:
        return None
    if problem := REFUSED.get(kinds[0][0]):
        raise Stop(problem.format(table=table))
    keys, collations = _unique_keys(query, table, columns)
    return TargetTable(
        schema=schema,
        name=table,
        columns=tuple(
            TargetColumn(
                name=name,
                type=type_.lower(),
                # SQLite accepts NULL in a primary key; no upstream has it.
                nullable=not (not_null or in_key),
                has_default=default is not None,
                generated=hidden in (2, 3),
                collation=collations.get(name),
            )
            for _, name, type_, not_null, default, in_key, hidden in columns
            if hidden != 1
        ),
        unique_keys=keys,
        triggers=tuple(name for (name,) in query(_TRIGGERS, table)),
    )


def unique_keys(query: Query, table: str) -> tuple[UniqueKey, ...]:
    return _unique_keys(query, table, _columns(query, table))[0]


def _columns(query: Query, table: str) -> list[tuple[Any, ...]]:
    return query("SELECT * FROM pragma_table_xinfo(?)", table)


def _unique_keys(
    query: Query, table: str, columns: Sequence[Sequence[Any]]
) -> tuple[tuple[UniqueKey, ...], dict[str, str]]:
    """The unique keys, and the coarsest collation that any of them gives a column."""
    keys, collations = [], dict[str, str]()
    for _, index, unique, origin, partial in query("SELECT * FROM pragma_index_list(?)", table):
        if not unique:
            continue
        parts = [
            (name, collation)
            for _, _, name, _, collation, in_key in query(
                "SELECT * FROM pragma_index_xinfo(?)", index
            )
            if in_key
        ]
        for name, collation in parts:
            if name is not None and collations.get(name, "BINARY") == "BINARY":
                collations[name] = collation
        names = tuple(name for name, _ in parts if name is not None)
        plain = len(names) == len(parts) and not partial
        keys.append(UniqueKey(index, names, origin == "pk", plain))
    numbered = sorted((column[5], column[1]) for column in columns if column[5])
    if numbered and not any(key.primary for key in keys):
        # The rowid, which has no index of its own.
        keys.append(UniqueKey("PRIMARY KEY", tuple(name for _, name in numbered), True))
    return tuple(keys), collations


def references(query: Query, table: str) -> tuple[Reference, ...]:
    keys: dict[tuple[int, str], list[tuple[str, str]]] = {}
    for number, _, parent, column, to, *_ in query(
        "SELECT * FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq", table
    ):
        keys.setdefault((number, parent), []).append((column, to or ""))
    return tuple(
        Reference("", tuple(c for c, _ in pairs), None, parent, tuple(to for _, to in pairs if to))
        for (_, parent), pairs in keys.items()
    )
