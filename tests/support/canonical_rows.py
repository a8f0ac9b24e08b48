"""Rows as tables of literal values, and the way they take into a target."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from ticdc_consumer.targets import encoders
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.target import Target
from ticdc_encoder.column import ColumnType
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table

Canonical = str | bytes | None
"""A value as `layout.py` defines its canonical form."""


def defined(create: str, schema: str = "shop") -> Table:
    return parse_create_table(create, schema)


def arrays(
    layout: Layout, rows: Sequence[Sequence[Canonical]], names: Sequence[str] | None = None
) -> list[pa.Array]:
    """The rows column by column; `names` say which columns they have, all by default."""
    by_name = {column.name: column.type for column in layout.source}
    types = [by_name[name] for name in (by_name if names is None else names)]
    return [
        pa.array([row[i] for row in rows], pa.binary() if type_.binary else pa.string())
        for i, type_ in enumerate(types)
    ]


def row_payloads(layout: Layout, rows: Sequence[Sequence[Canonical]]) -> pa.Array:
    return encoders(layout.dialect)[0](layout, arrays(layout, rows))


def key_payloads(layout: Layout, keys: Sequence[Sequence[Canonical]]) -> pa.Array:
    return encoders(layout.dialect)[1](layout, arrays(layout, keys, layout.key))


def created(
    target: Target, table: Table, schema: str | None = None, rules: frozenset[str] = frozenset()
) -> Layout:
    """The layout of a table that the target created itself."""
    for statement in target.create_table(schema, table.name, table):
        target.execute(statement)
    return laid_out(target, table, schema, rules)


def laid_out(
    target: Target, table: Table, schema: str | None = None, rules: frozenset[str] = frozenset()
) -> Layout:
    described = target.describe(schema, table.name)
    assert described is not None
    return target.layout(table, table.handle_key, described, table, rules)


def load(
    target: Target,
    layout: Layout,
    rows: Sequence[Sequence[Canonical]] = (),
    deleted: Sequence[Sequence[Canonical]] = (),
    on_drift: str = "stop",
) -> tuple[int, int]:
    """One transaction as design section 2 has it. Says (deleted, cleared)."""
    keys = list(deleted)
    if not layout.upsert:
        positions = layout.key_positions()
        keys += [[row[i] for i in positions] for row in rows]
    with target.transaction():
        gone = target.delete(layout, key_payloads(layout, keys))
        cleared = target.insert(
            layout,
            row_payloads(layout, rows),
            "overwrite" if on_drift == "overwrite" else "stop",
        )
    return gone, cleared


def contents(target: Target, layout: Layout) -> list[tuple[object, ...]]:
    """All rows, in the order of the key."""
    by = ", ".join(layout.columns[i] for i in layout.key_positions())
    statement = f"SELECT * FROM {layout.relation} ORDER BY {by or 1}"  # noqa: S608
    return [tuple(row) for row in target.execute(statement).all()]


def from_text(value: Canonical, type_: ColumnType) -> Canonical:
    """What TiDB's text protocol prints, in canonical form."""
    if value is None or type_.binary:
        return value
    if isinstance(value, bytes):
        return str(int.from_bytes(value, "big"))
    if type_.name == "enum":
        return str(type_.elements.index(value) + 1 if value in type_.elements else 0)
    if type_.name == "set":
        labels = value.split(",") if value else []
        return str(sum(1 << type_.elements.index(label) for label in labels))
    return str(int(value)) if type_.name == "year" else value


def by_name(layout: Layout, values: Mapping[str, Canonical]) -> list[Canonical]:
    return [values[column.name] for column in layout.source]
