"""Values and their text on the wire, per type family, in both directions."""

from collections.abc import Callable

from ticdc_encoder.column import ColumnType
from ticdc_encoder.event import Value

Canonical = str | bytes | None


def canonicaliser(type: ColumnType) -> Callable[[Value], Canonical]:
    """The function that brings a column's values to canonical form (see `layout.py`)."""
    return lambda value: value if value is None or isinstance(value, bytes) else str(value)


def canonical(value: Value, type: ColumnType) -> Canonical:
    return canonicaliser(type)(value)
