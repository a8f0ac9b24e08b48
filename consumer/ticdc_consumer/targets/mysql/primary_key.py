"""Changes of a primary key that TiDB refuses, and a new table that replaces the old one.

A clustered primary key is the place of the rows, and is never dropped; the type of a column of any
primary key changes only if no row has to be rewritten (TiDB 8.4, error 8200).
"""

import re
from collections.abc import Mapping, Sequence

from ticdc_encoder.event import Table

from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.mysql.create import MySqlColumn, MySqlTable, create_table
from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.mysql.types import CatalogType
from ticdc_consumer.targets.target import Target

_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
_GROWING = ("varchar", "varbinary", "char", "bit", "datetime", "timestamp", "time")
_LABELLED = ("enum", "set")
_TYPE = re.compile(r"\w+(?:\((.*)\))?([^)]*)", re.DOTALL)
_REBUILT, _REPLACED = "ticdc_rebuilt", "ticdc_replaced"


def refusal(
    target: Target,
    name: TargetName,
    before: MySqlTable,
    dropped: Sequence[str],
    after: Mapping[str, MySqlColumn],
) -> str | None:
    """The reason why TiDB would refuse the change; None if it would not. `dropped` are the dropped
    keys, and `after` the columns by their old names."""
    for key, index in before.indexes.items():
        if not index.primary:
            continue
        if key in dropped and _clustered(target, name):
            return f"{target.quote(*name)} has a clustered primary key, which TiDB does not drop"
        for column, _ in () if key in dropped else index.parts:
            old, new = before.columns[column], after.get(column)
            if new is not None and not _stored_alike(old.type, new.type):
                return (
                    f"column {column} is of the primary key, and TiDB does not make "
                    f"{new.type} of {old.type} there"
                )
    return None


def rebuilt(
    target: Target, dialect: Dialect, name: TargetName, table: Table, values: Mapping[str, str]
) -> tuple[str, ...]:
    """Statements that replace the old table by a new one with these rows. `values` are the
    expressions of the columns that take one from the old table."""
    schema, _ = name
    old, new, replaced = (
        target.quote(*name),
        *(target.quote(schema, n) for n in (_REBUILT, _REPLACED)),
    )
    columns = ", ".join(target.quote(None, column) for column in values)
    return (
        create_table(dialect, new, table),
        f"INSERT INTO {new} ({columns}) SELECT {', '.join(values.values())} FROM {old}",  # noqa: S608
        f"RENAME TABLE {old} TO {replaced}, {new} TO {old}",
        f"DROP TABLE {replaced}",
    )


def _clustered(target: Target, name: TargetName) -> bool:
    with target.errors():
        rows = target.query(
            "SELECT tidb_pk_type FROM information_schema.tables "
            "WHERE table_schema = %s AND table_name = %s",
            *name,
        )
    return [kind for (kind,) in rows] == ["CLUSTERED"]


def _stored_alike(old: str, new: str) -> bool:
    """Returns whether TiDB takes the new type without rewriting any value."""
    before, after = CatalogType.parse(old), CatalogType.parse(new)
    if old == new:
        return True
    if before.name in _INTEGERS and after.name in _INTEGERS:
        wider = _INTEGERS.index(after.name) >= _INTEGERS.index(before.name)
        return wider and before.unsigned == after.unsigned
    if before.name != after.name or not _same_bytes(_parts(old)[1], _parts(new)[1]):
        return False
    if before.name in _LABELLED:
        return _parts(new)[0].startswith(f"{_parts(old)[0]},")
    return before.name in _GROWING and after.number(0) >= before.number(0)


def _same_bytes(old: str, new: str) -> bool:
    """Returns whether texts of these types are stored alike, also in an index."""
    return new in (old, re.sub(r"\b(utf8|latin1)(?=[ _])", "utf8mb4", old))


def _parts(type_: str) -> tuple[str, str]:
    """The arguments of a type, and the text after: its character set and collation."""
    arguments, rest = _TYPE.fullmatch(type_).groups("")  # type: ignore[union-attr]
    return arguments, rest
