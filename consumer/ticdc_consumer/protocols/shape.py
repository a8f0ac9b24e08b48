"""Properties of a table's rows that must not change within a cut."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from ticdc_encoder.column import Column
from ticdc_encoder.event import Table

from ticdc_consumer.protocols.pickled_once import PickledInBlocks, PickledOnce
from ticdc_consumer.targets.layout import TableName

Shape = tuple[tuple[str, str, bool], ...]
"""Columns of a table by name, each with its type's name and whether it is unsigned."""


class ExpectedShape(NamedTuple):
    """Shape for which a layout was made."""

    columns: Shape
    keys_only: bool = False
    """True if only DELETEs were seen. They need not carry more than the key's columns, which
    `columns` then are."""


NO_ROWS = ExpectedShape((), keys_only=True)
"""Shape of a table, or of a number, without a layout."""

TableShapes = Mapping[TableName, tuple[int, ExpectedShape]]
"""Upstream (schema, table) -> the number of its layout, and the shape for which it was made."""


def shape(table: Table) -> Shape:
    """The shape of the rows that come with this table."""
    return tuple(sorted(map(shape_of, table.columns)))


def shape_of(column: Column) -> tuple[str, str, bool]:
    """A column's part of the shape."""
    return column.name, column.type.name, column.type.unsigned


class PickledShapes(TableShapes):
    """`TableShapes` of which a task unpickles the names, and the shapes of the tables it meets."""

    def __init__(self, shapes: TableShapes, before: "PickledShapes | None" = None) -> None:
        by_number = dict(shapes.values())
        numbered = [
            by_number.get(number, NO_ROWS) for number in range(max(by_number, default=-1) + 1)
        ]
        self._names = PickledOnce((name, number) for name, (number, _) in shapes.items())
        old = before._shapes if before is not None else None
        self._shapes: PickledInBlocks[ExpectedShape] = PickledInBlocks(numbered, old)

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self._names, self._shapes)

    @cached_property
    def _numbers(self) -> dict[TableName, int]:
        return dict(self._names)

    def __getitem__(self, name: TableName) -> tuple[int, ExpectedShape]:
        number = self._numbers[name]
        return number, self._shapes[number]

    def __eq__(self, other: object) -> bool:
        """Returns whether both are known to be the same, without inspecting any table's shape."""
        return (
            isinstance(other, PickledShapes)
            and self._names == other._names
            and self._shapes == other._shapes
        )

    def __iter__(self) -> Iterator[TableName]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._names)


def _received(
    names: PickledOnce[tuple[TableName, int]], shapes: PickledInBlocks[ExpectedShape]
) -> PickledShapes:
    received = PickledShapes({})
    received._names, received._shapes = names, shapes
    return received
