"""Stands for `upstream.repair.reading`: the rows of a request, from the world's TiDB."""

from typing import Any

import pyarrow as pa
from ticdc_consumer.cut.apply.repair import Repair, RepairedTable
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.protocols.shape import NO_ROWS
from ticdc_consumer.state.repairs import RepairRequest
from ticdc_consumer.targets import encoders
from ticdc_consumer.targets.layout import Layout, TableName
from ticdc_torture.upstream import TiDB


def read_repair(
    upstream: TiDB, tables: TableLayouts, request: RepairRequest, end: int, is_away: bool
) -> Repair:
    """All rows of the tables that the consumer has met, as of `end` - 1."""
    if is_away:
        return Repair(request.number).refused("the upstream does not answer")
    contents = upstream.at(end)
    repaired, left = list[RepairedTable](), list[str]()
    for name in request.tables:
        layout = _layout(tables, name)
        if layout is None or name[1] not in contents:
            left.append(f"{'.'.join(name)} is not known")
        else:
            repaired.append(_table(layout, *contents[name[1]]))
    return Repair(request.number, repaired, "; ".join(left))


def _layout(tables: TableLayouts, name: TableName) -> Layout | None:
    """One by which whole rows of a table with a key are written."""
    number, expected = tables.shapes.get(name, (0, NO_ROWS))
    layout = None if expected.keys_only else tables.layouts[number]
    return layout if layout is not None and layout.key else None


def _table(layout: Layout, names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> RepairedTable:
    columns = [names.index(column.name) for column in layout.source]
    texts = [[None if row[n] is None else str(row[n]) for row in rows] for n in columns]
    arrays = [pa.array(values, pa.string()) for values in texts]
    encode_rows, encode_keys = encoders(layout.dialect)
    keys = encode_keys(layout, [arrays[n] for n in layout.key_positions()])
    return RepairedTable(layout, len(rows), keys, encode_rows(layout, arrays))
