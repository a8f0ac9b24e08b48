"""Decoded rows as keys."""

from decimal import Decimal

import pytest
from support.both_paths import layout_for
from ticdc_consumer.cut.read.columns import Columns
from ticdc_consumer.cut.read.time_zone import Zone
from ticdc_consumer.errors import Stop
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Row, RowChange, Table

PRICES = Table(
    "shop",
    "prices",
    (
        Column("price", ColumnType("decimal", length=9, decimals=2)),
        Column("name", ColumnType("varchar")),
    ),
)


def keys(before: Row) -> object:
    columns = Columns(layout_for(PRICES, ("price", "name")), Zone("UTC"))
    return columns.keys(RowChange(PRICES, 5, before=before))


def test_a_key_is_the_text_of_its_columns() -> None:
    assert keys({"price": Decimal("1.50"), "name": "é"}) == ((b"1.50", "é".encode()), None)


@pytest.mark.parametrize(
    ("before", "refusal"),
    [
        ({"price": "1.50", "name": "a"}, "key column price has a value of another type"),
        ({"price": Decimal(1), "name": 7}, "key column name has a value of another type"),
        ({"price": Decimal(1), "name": None}, "no value for key column name"),
        ({"price": Decimal(1)}, "no value for key column name"),
    ],
)
def test_a_key_that_its_columns_cannot_hold_stops(before: Row, refusal: str) -> None:
    with pytest.raises(Stop, match=rf"shop\.prices: {refusal}"):
        keys(before)
