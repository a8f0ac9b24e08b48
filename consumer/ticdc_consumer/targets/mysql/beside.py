"""A table of the MySQL family that is filled next to the one in use and then replaces it."""

from collections.abc import Iterator, Mapping, Sequence
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

# Views and privileges belong to the name.
_HINDRANCES = """
SELECT CONCAT('trigger ', trigger_name) FROM information_schema.triggers
WHERE event_object_schema = %(schema)s AND event_object_table = %(table)s
UNION
SELECT 'the history of a system-versioned table' FROM information_schema.tables
WHERE table_schema = %(schema)s AND table_name = %(table)s AND table_type = 'SYSTEM VERSIONED'
"""


def copy_structure(target: Target, table: TargetName, copy: TargetName) -> list[str]:
    """Creates the copy without foreign keys and triggers."""
    return [f"CREATE TABLE IF NOT EXISTS {target.quote(*copy)} LIKE {target.quote(*table)}"]


def hindrances(target: Target, table: TargetName) -> list[str]:
    """Objects that follow the table when it is renamed, besides foreign keys."""
    with target.errors():
        rows = target.execute(_HINDRANCES, {"schema": _schema(target, table), "table": table[1]})
        return sorted({str(hindrance) for (hindrance,) in map(tuple, rows)})


class _Key(NamedTuple):
    child: TargetName
    name: str
    parent: TargetName
    on_delete: str
    on_update: str
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]


def keys_of(target: Target, table: TargetName) -> list[KeyOfTable]:
    """The foreign keys from and to the table, each with its columns in this table."""
    those = []
    for key in _keys(target, table):
        columns = key.columns if _is(target, key.child, table) else ()
        columns += key.parent_columns if _is(target, key.parent, table) else ()
        those.append(KeyOfTable(key.name, key.child, columns))
    return those


def copy_keys(
    target: Target, table: TargetName, copy: TargetName, renamed: Mapping[str, str]
) -> list[str]:
    """Gives `copy` the foreign keys of `table` that it lacks; a key to `table` itself refers to
    `copy`. `renamed` maps the table's column names, in lower case, to the copy's."""
    present = {_meaning(target, key) for key in _keys(target, copy)}
    texts = []
    for key in _keys(target, table):
        if not _is(target, key.child, table):
            continue
        own = key._replace(child=copy, columns=_now(key.columns, renamed))
        if _is(target, key.parent, table):
            own = own._replace(parent=copy, parent_columns=_now(key.parent_columns, renamed))
        if _meaning(target, own) not in present:
            texts.append(f"ALTER TABLE {target.quote(*copy)} {_clause(target, own)}")
    return texts


def return_keys(
    target: Target, aside: TargetName, table: TargetName, renamed: Mapping[str, str]
) -> list[str]:
    """Redirects other tables' foreign keys, which followed the old table to its new name `aside`,
    to the table that replaced it. Redirected keys are skipped."""
    # One statement each: after a crash a key refers to either table, and is never missing.
    texts = []
    for key in _keys(target, aside):
        if _is(target, key.parent, aside) and not _is(target, key.child, aside):
            own = key._replace(parent=table, parent_columns=_now(key.parent_columns, renamed))
            child, name = target.quote(*key.child), target.quote(None, key.name)
            texts.append(f"ALTER TABLE {child} DROP FOREIGN KEY {name}, {_clause(target, own)}")
    return texts


def _now(columns: Sequence[str], renamed: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(renamed.get(column.lower(), column) for column in columns)


def _meaning(target: Target, key: _Key) -> tuple[object, ...]:
    """Everything but the name, which differs between tables."""
    ends = [(_schema(target, name), name[1]) for name in (key.child, key.parent)]
    columns = [column.lower() for column in (*key.columns, *key.parent_columns)]
    # Both mean the same here; MariaDB shows either for what was written as RESTRICT.
    actions = [each.replace("RESTRICT", "NO ACTION") for each in (key.on_delete, key.on_update)]
    return *map(target.comparable, ends), *columns, *actions


def _clause(target: Target, key: _Key) -> str:
    """Gives the key no name: the old one is still in use."""
    columns = ", ".join(target.quote(None, column) for column in key.columns)
    referenced = ", ".join(target.quote(None, column) for column in key.parent_columns)
    return (
        f"ADD FOREIGN KEY ({columns}) REFERENCES {target.quote(*key.parent)} ({referenced}) "
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
    """Returns whether the catalog's name is this table's: the catalog compares without case."""
    return target.comparable(name) == target.comparable((_schema(target, table), table[1]))


def _schema(target: Target, table: TargetName) -> str:
    return table[0] or str(target.query("SELECT DATABASE()")[0][0])


def replace_tables(target: Target, moves: Sequence[tuple[TargetName, TargetName]]) -> Iterator[str]:
    """Replaces tables by one RENAME TABLE, after which no copy has its own name: the new names show
    that it ran. The catalog shows after each statement which steps remain."""
    asides = {_aside(copy): table for table, copy in moves}
    copied = [move for move in moves if target.describe(*move[1]) is not None]
    for table, copy in copied:
        yield from copy_keys(target, table, copy, {})
    if copied:
        renames = [
            f"{target.quote(*old)} TO {target.quote(*new)}"
            for table, copy in copied
            for old, new in ((table, _aside(copy)), (copy, table))
        ]
        yield f"RENAME TABLE {', '.join(renames)}"
    children = [key.child for aside in asides for key in keys_of(target, aside)]
    if children:
        target.wait_for_ddl(children)
    for aside, table in asides.items():
        yield from return_keys(target, aside, table, {})
    for aside in asides:
        yield from target.drop_table(*aside)


def has_replaced(target: Target, copy: TargetName) -> bool:
    """Returns whether the old table exists as `_aside`, where it stays until all is done."""
    return target.describe(*_aside(copy)) is not None


def _aside(copy: TargetName) -> TargetName:
    """The new name of the table that this copy replaces."""
    return copy[0], copy[1].replace("loading", "replaced", 1)
