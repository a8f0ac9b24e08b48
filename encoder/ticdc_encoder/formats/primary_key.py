"""The primary key that TiDB takes a table to have."""

from ticdc_encoder.column import INTEGERS, Index
from ticdc_encoder.event import Table


def implicit_primary_key(table: Table) -> Index | None:
    """The primary key, else the first unique key whose columns are all NOT NULL: TiDB's
    `GetPrimaryKey`."""
    nullable = {column.name for column in table.columns if column.nullable}
    implicit = None
    for index in table.indexes:
        if index.primary:
            return index
        if implicit is None and index.unique and not index.expression:
            implicit = index if nullable.isdisjoint(index.columns) else None
    return implicit


def is_row_id(table: Table, index: Index) -> bool:
    """Returns whether the index is a clustered primary key of one integer, which is TiDB's row
    id.
    """
    if not index.clustered or len(index.columns) != 1:
        return False
    return table.column(index.columns[0]).type.name in INTEGERS
