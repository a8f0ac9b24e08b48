"""Labels of ENUM and SET that ALTER TABLEs told, of a table whose CREATE TABLE did not come."""

from collections.abc import Sequence

import pytest
from ticdc_consumer.ddl.definitions import with_labels
from ticdc_consumer.state.ledger import LedgerEntry, LedgerInMemory
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Table

ROWS = Table(
    "shop",
    "t",
    (
        Column("id", ColumnType("int"), nullable=False),
        Column("e", ColumnType("enum")),
        Column("s", ColumnType("set")),
    ),
)

HISTORIES: list[tuple[str, Sequence[tuple[str, str]], dict[str, tuple[str, ...]]]] = [
    ("none came", [], {}),
    ("of a new column", [("t", "ALTER TABLE t ADD COLUMN E ENUM('b','a')")], {"e": ("b", "a")}),
    (
        "of the last change",
        [
            ("t", "ALTER TABLE t ADD COLUMN e ENUM('a'), ADD COLUMN s SET('x')"),
            ("t", "ALTER TABLE t MODIFY COLUMN e ENUM('c','a')"),
        ],
        {"e": ("c", "a"), "s": ("x",)},
    ),
    (
        "of a column that was renamed",
        [
            ("t", "ALTER TABLE t ADD COLUMN m ENUM('a'), ADD COLUMN f SET('x')"),
            ("t", "ALTER TABLE t RENAME COLUMN m TO e"),
            ("t", "ALTER TABLE t CHANGE COLUMN f s SET('x','y')"),
        ],
        {"e": ("a",), "s": ("x", "y")},
    ),
    (
        "not of a column that took the name of another",
        [
            ("t", "ALTER TABLE t ADD COLUMN e ENUM('a')"),
            ("t", "ALTER TABLE t DROP COLUMN e"),
            ("t", "ALTER TABLE t RENAME COLUMN old TO e"),
        ],
        {},
    ),
    (
        "of a table that was renamed",
        [("u", "ALTER TABLE u ADD COLUMN e ENUM('a')"), ("t", "RENAME TABLE shop.u TO shop.t")],
        {"e": ("a",)},
    ),
    (
        "of the table that it is like",
        [("u", "ALTER TABLE u ADD COLUMN e ENUM('a')"), ("t", "CREATE TABLE t LIKE shop.u")],
        {"e": ("a",)},
    ),
    ("not of another table", [("u", "ALTER TABLE u ADD COLUMN e ENUM('a')")], {}),
    (
        "not of a table that was dropped",
        [("t", "ALTER TABLE t ADD COLUMN e ENUM('a')"), ("t", "DROP TABLE t")],
        {},
    ),
    (
        "not of a database that was dropped",
        [("t", "ALTER TABLE t ADD COLUMN e ENUM('a')"), ("", "DROP DATABASE shop")],
        {},
    ),
    (
        "of a column that was sent because it was new",
        [("t", "ALTER TABLE t ADD COLUMN IF NOT EXISTS e ENUM('a')")],
        {"e": ("a",)},
    ),
    (
        "not of one that may have been there before",
        [("t", "ALTER TABLE t ADD COLUMN IF NOT EXISTS e ENUM('a'), ADD COLUMN n INT")],
        {},
    ),
]


@pytest.mark.parametrize(
    ("queries", "labels"), [h[1:] for h in HISTORIES], ids=[h[0] for h in HISTORIES]
)
def test_labels_are_those_of_the_alters_that_are_done(
    queries: Sequence[tuple[str, str]], labels: dict[str, tuple[str, ...]]
) -> None:
    ledger = LedgerInMemory("c")
    ledger.add(
        LedgerEntry(10 + n, 1, "shop", table, query, state="done")
        for n, (table, query) in enumerate(queries)
    )
    ledger.add([LedgerEntry(99, 1, "shop", "t", "ALTER TABLE t MODIFY COLUMN e ENUM('late')")])
    completed = with_labels(ROWS, ledger)
    assert {c.name: c.type.elements for c in completed.columns if c.type.elements} == labels


def test_labels_that_the_rows_carry_stay() -> None:
    ledger = LedgerInMemory("c")
    query = "ALTER TABLE t ADD COLUMN e ENUM('other')"
    ledger.add([LedgerEntry(10, 1, "shop", "t", query, state="done")])
    told = Table("shop", "t", (Column("e", ColumnType("enum", elements=("a",))),))
    assert with_labels(told, ledger) == told
