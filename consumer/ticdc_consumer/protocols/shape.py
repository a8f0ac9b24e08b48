"""What must not change about a table's rows within a cut."""

from collections.abc import Mapping

from ticdc_encoder.event import Table

from ticdc_consumer.targets.layout import TableName

Shape = tuple[tuple[str, str, bool], ...]
"""The columns of a table by name, each with its type's name and whether it is unsigned."""

TableShapes = Mapping[TableName, tuple[int, Shape | None]]
"""Upstream (schema, table) -> the number of its layout, and the shape that the layout was made for:
None if only DELETEs were seen, which need not carry all columns."""


def shape(table: Table) -> Shape:
    """The shape of the rows that come with this table."""
    return tuple(sorted((c.name, c.type.name, c.type.unsigned) for c in table.columns))
