"""Which DDL a cut takes, and which it ends before."""

import pytest
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.errors import Stop
from ticdc_consumer.source.marks import SeenDdl
from ticdc_consumer.targets.layout import TableName
from ticdc_encoder.event import Ddl

WITHOUT_ITEMS = CutScope(frozenset({("shop", "items")}))


@pytest.mark.parametrize(
    ("released", "table", "is_of_another"),
    [
        (None, "items", True),
        (None, "orders", False),
        (("shop", "items"), "items", False),
        (("shop", "items"), "orders", True),
    ],
)
def test_a_ddl_of_a_table_that_waits_is_left_to_its_release(
    released: TableName | None, table: str, is_of_another: bool
) -> None:
    scope = CutScope(WITHOUT_ITEMS.set_aside, released)
    ddl = Ddl("shop", table, f"DROP TABLE {table}", 5)
    assert scope.is_of_another_run(ddl) == is_of_another


@pytest.mark.parametrize(("commit_ts", "reach"), [(4, 9), (7, 7), (9, 9)])
def test_a_cut_ends_before_a_ddl_of_a_waiting_table_and_another(commit_ts: int, reach: int) -> None:
    seen = SeenDdl(Ddl("shop", "a", "RENAME TABLE shop.items TO shop.a", commit_ts), "orders", 0)
    assert WITHOUT_ITEMS.before_joined(5, 9, [seen]) == reach


def test_a_ddl_of_a_waiting_table_and_another_stops_if_next() -> None:
    seen = SeenDdl(Ddl("shop", "a", "RENAME TABLE shop.items TO shop.a", 5), "orders", 0)
    with pytest.raises(Stop, match="release the table first"):
        WITHOUT_ITEMS.before_joined(5, 9, [seen])


@pytest.mark.parametrize(("commit_ts", "reach"), [(4, 9), (5, 5), (8, 8), (9, 9)])
def test_no_cut_goes_past_a_ddl_that_has_to_wait(commit_ts: int, reach: int) -> None:
    scope = CutScope(holds=lambda ddl: ddl.table == "items")
    ddls = [Ddl("shop", "orders", "", 6), Ddl("shop", "items", "", commit_ts)]
    seen = [SeenDdl(ddl, "orders", place) for place, ddl in enumerate(ddls)]
    assert scope.before_held(seen, 5, 9) == reach
