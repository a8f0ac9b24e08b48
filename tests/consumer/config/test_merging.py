"""Names of shards."""

import pytest
from ticdc_consumer.config.merging import Merging, table_of

NAMES = [
    ("shop.orders", ("shop", "orders")),
    ('"a.b".orders', ("a.b", "orders")),
    ('shop."a""b"', ("shop", 'a"b')),
    ('"a.b"."c.""d"', ("a.b", 'c."d')),
    ("shop.two\nlines", ("shop", "two\nlines")),
]
OTHERS = ["", "orders", "shop.", ".orders", "shop.orders.more", '"shop.orders', '"".orders']


@pytest.mark.parametrize(("shard", "table"), NAMES)
def test_a_table_and_its_shard_have_names_of_each_other(shard: str, table: tuple[str, str]) -> None:
    named = Merging({"*.*": "shard"}).shard(*table)
    assert named is not None and named.name == shard
    assert table_of(shard) == table


@pytest.mark.parametrize("text", OTHERS)
def test_another_text_is_the_name_of_no_table(text: str) -> None:
    assert table_of(text) is None
