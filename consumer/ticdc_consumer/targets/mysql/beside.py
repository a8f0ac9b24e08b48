"""A table of the MySQL family that is filled beside the one in use, and takes its place."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from ticdc_consumer.targets.layout import KeyOfTable, TargetName
from ticdc_consumer.targets.target import Target

# TiDB's names of foreign keys are unique in a table, the others' in a database.
_KEYS = """
SELECT k.table_schema, k.table_name, k.constraint_name, k.referenced_table_schema,
       k.referenced_table_name, r.delete_rule, r.update_rule, k.column_name,
       k.referenced_column_name
FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints r
  ON r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name
  AND r.table_name = k.table_name
WHERE k.referenced_table_name IS NOT NULL
  AND (%s, %s) IN ((k.table_schema, k.table_name),
                   (k.referenced_table_schema, k.referenced_table_name))
ORDER BY k.table_schema, k.table_name, k.constraint_name, k.ordinal_position
"""

# Views, and privileges, are of the name.
_HINDRANCES = """
SELECT CONCAT('trigger ', trigger_name) FROM information_schema.triggers
WHERE event_object_schema = %(schema)s AND event_object_table = %(table)s
UNION
SELECT 'the history of a system-versioned table' FROM information_schema.tables
WHERE table_schema = %(schema)s AND table_name = %(table)s AND table_type = 'SYSTEM VERSIONED'
"""


def copy_structure(target: Target, table: TargetName, copy: TargetName) -> list[str]:
    """Without foreign keys and triggers."""
    return [f"CREATE TABLE IF NOT EXISTS {target.quote(*copy)} LIKE {target.quote(*table)}"]


def hindrances(target: Target, table: TargetName, but_keys: bool) -> list[str]:
    """What goes with the table when it is renamed."""
    keys = [] if but_keys else [f"foreign key {key.name}" for key in _keys(target, table)]
    with target.errors():
        rows = target.execute(_HINDRANCES, {"schema": _schema(target, table), "table": table[1]})
        return sorted({*keys, *(str(hindrance) for (hindrance,) in map(tuple, rows))})


class _Key(NamedTuple):
    child: TargetName
    name: str
    parent: TargetName
    on_delete: str
    on_update: str
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]


def keys_of(target: Target, table: TargetName) -> list[KeyOfTable]:
    """The foreign keys from and to the table, each with the columns that the table has in it."""
    those = []
    for key in _keys(target, table):
        columns = key.columns if _is(target, key.child, table) else ()
        columns += key.parent_columns if _is(target, key.parent, table) else ()
        those.append(KeyOfTable(key.name, key.child, columns))
    return those


def copy_keys(target: Target, table: TargetName, copy: TargetName) -> list[str]:
    """Gives `copy` the foreign keys of `table`; one to `table` itself is to `copy`."""
    return [
        f"ALTER TABLE {target.quote(*copy)} "
        + _clause(target, key, copy if _is(target, key.parent, table) else key.parent)
        for key in _keys(target, table)
        if _is(target, key.child, table)
    ]


def return_keys(target: Target, aside: TargetName, table: TargetName) -> list[str]:
    """Turns the other tables' foreign keys, which followed the old table to its new name `aside`,
    to the table that has its place. What is turned already is left out."""
    # One statement each: after a crash a key is there, to the one or to the other.
    return [
        f"ALTER TABLE {target.quote(*key.child)} "
        f"DROP FOREIGN KEY {target.quote(None, key.name)}, {_clause(target, key, table)}"
        for key in _keys(target, aside)
        if _is(target, key.parent, aside) and not _is(target, key.child, aside)
    ]


def _clause(target: Target, key: _Key, parent: TargetName) -> str:
    """Without a name of its own: the old one is still in use."""
    columns = ", ".join(target.quote(None, column) for column in key.columns)
    referenced = ", ".join(target.quote(None, column) for column in key.parent_columns)
    return (
        f"ADD FOREIGN KEY ({columns}) REFERENCES {target.quote(*parent)} ({referenced}) "
        f"ON DELETE {key.on_delete} ON UPDATE {key.on_update}"
    )


def _keys(target: Target, table: TargetName) -> list[_Key]:
    """The foreign keys from and to a table."""
    with target.errors():
        rows = target.query(_KEYS, _schema(target, table), table[1])
    keys = []
    for (child, name, parent, on_delete, on_update), parts in groupby(rows, key=_all_but_columns):
        columns, referenced = zip(*[(str(part[7]), str(part[8])) for part in parts], strict=True)
        key = _Key(child, name, parent, on_delete, on_update, columns, referenced)
        if _is(target, key.child, table) or _is(target, key.parent, table):
            keys.append(key)
    return keys


def _all_but_columns(row: Sequence[Any]) -> tuple[TargetName, str, TargetName, str, str]:
    schema, child, name, parent_schema, parent, on_delete, on_update = map(str, row[:7])
    return (schema, child), name, (parent_schema, parent), on_delete, on_update


def _is(target: Target, name: TargetName, table: TargetName) -> bool:
    """Whether the catalog's name is this table's: it compares letters of either case as equal."""
    return target.comparable(name) == target.comparable((_schema(target, table), table[1]))


def _schema(target: Target, table: TargetName) -> str:
    return table[0] or str(target.query("SELECT DATABASE()")[0][0])


def replace_tables(target: Target, moves: Sequence[tuple[TargetName, TargetName]]) -> list[str]:
    """One RENAME TABLE, after which no copy has its own name: what is renamed shows that it ran."""
    parts, drops = [], []
    for table, copy in moves:
        aside = (copy[0], copy[1].replace("loading", "replaced", 1))
        drops += target.drop_table(*aside)
        if target.describe(*copy) is not None:
            for old, new in ((table, aside), (copy, table)):
                parts.append(f"{target.quote(*old)} TO {target.quote(*new)}")
    return [*([f"RENAME TABLE {', '.join(parts)}"] if parts else []), *drops]
