"""A SQLite table that is filled next to the one in use and gives it its rows.

It does not replace that table: indexes keep their names, which are unique in the file, only if the
table stays.
"""

from collections.abc import Sequence

from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.sqlite.quoting import quote_name
from ticdc_consumer.targets.target import Target

_WRITTEN = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid"
_TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE"


def copy_structure(
    target: Target, table: TargetName, copy: TargetName, key: Sequence[str]
) -> list[str]:
    """Creates the table as SQLite itself would write it under the other name, and the key if that
    is a separate index. Runs inside a transaction."""
    if target.describe(*copy) is not None:
        return []
    new = target.quote(*copy)
    target.execute("SAVEPOINT ticdc_beside")
    target.execute(f"ALTER TABLE {target.quote(*table)} RENAME TO {new}")
    ((create,),) = target.query("SELECT sql FROM sqlite_master WHERE name = ?", copy[1])
    target.execute("ROLLBACK TO SAVEPOINT ticdc_beside")
    target.execute("RELEASE SAVEPOINT ticdc_beside")
    index = quote_name(f"{copy[1]}_key")
    return [str(create), f"CREATE UNIQUE INDEX {index} ON {new} ({', '.join(key)})"]


def hindrances(target: Target, table: TargetName) -> list[str]:
    """The triggers, each of which would see all rows deleted and inserted."""
    return [f"trigger {name}" for (name,) in target.query(_TRIGGERS, table[1])]


def replace_tables(target: Target, moves: Sequence[tuple[TargetName, TargetName]]) -> list[str]:
    """Gives each table the rows of its copy."""
    statements = []
    for table, copy in moves:
        relation, new = target.quote(*table), target.quote(*copy)
        names = ", ".join(quote_name(name) for (name,) in target.query(_WRITTEN, table[1]))
        statements += [
            f"DELETE FROM {relation}",  # noqa: S608
            f"INSERT INTO {relation} ({names}) SELECT {names} FROM {new}",  # noqa: S608
            *target.drop_table(*copy),
        ]
    return statements
