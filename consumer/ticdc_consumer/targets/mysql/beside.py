"""A table of the MySQL family that is filled beside the one in use, and takes its place."""

from collections.abc import Sequence

from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.target import Target

# Views, and privileges, are of the name.
_HINDRANCES = """
SELECT CONCAT('foreign key ', constraint_name) FROM information_schema.key_column_usage
WHERE referenced_table_name IS NOT NULL
  AND (%(schema)s, %(table)s) IN
      ((table_schema, table_name), (referenced_table_schema, referenced_table_name))
UNION
SELECT CONCAT('trigger ', trigger_name) FROM information_schema.triggers
WHERE event_object_schema = %(schema)s AND event_object_table = %(table)s
UNION
SELECT 'the history of a system-versioned table' FROM information_schema.tables
WHERE table_schema = %(schema)s AND table_name = %(table)s AND table_type = 'SYSTEM VERSIONED'
"""


def copy_structure(target: Target, table: TargetName, copy: TargetName) -> list[str]:
    """Without foreign keys and triggers."""
    return [f"CREATE TABLE IF NOT EXISTS {target.quote(*copy)} LIKE {target.quote(*table)}"]


def hindrances(target: Target, table: TargetName) -> list[str]:
    """What goes with the table when it is renamed."""
    with target.errors():
        schema = table[0] or target.query("SELECT DATABASE()")[0][0]
        rows = target.execute(_HINDRANCES, {"schema": schema, "table": table[1]})
        return sorted(str(hindrance) for (hindrance,) in map(tuple, rows))


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
