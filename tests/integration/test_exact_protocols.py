"""What Debezium and Avro cannot carry exactly is refused by table and column, before any effect;
what needs a setting of the changefeed is refused by its name."""

from decimal import Decimal
from typing import Any

import pytest
from support.brokers import Mock
from support.torture_cli import Command, Make, refuses
from support.torture_topics import Feed, deleted, inserted, table, ts, updated
from ticdc_encoder.event import Ddl, Resolved, Row


def stops(run: Command, words: str) -> None:
    """The first run ends with 3."""
    outcome = run()
    assert (outcome.code, words in outcome.said) == (3, True), outcome.said


RULE = {"target__rules": "calendar-dates"}

DEBEZIUM_LOSSES: list[tuple[str, Row, str]] = [
    ("n VARCHAR(9) DEFAULT 'x'", {"n": None}, "sends its DEFAULT for NULL: make it NOT NULL, or"),
    ("n INT NULL DEFAULT 0", {"n": 0}, "sends its DEFAULT for NULL"),
    ("n DATETIME DEFAULT CURRENT_TIMESTAMP", {"n": None}, "sends its DEFAULT for NULL"),
    ("n DATE", {"n": "2024-01-02"}, 'by [target] rules = ["calendar-dates"]'),
    ("n DATETIME(3) NOT NULL", {"n": "2024-01-02 00:00:00.000"}, "and for years below 100"),
    ("n DECIMAL(16,2)", {"n": None}, "DECIMAL as a double, which holds 15 digits, not 16"),
    ("n ENUM('a','')", {"n": 1}, "sends the member '' of ENUM like its invalid, or empty, value"),
    ("n SET('a','')", {"n": 1}, "sends the member '' of SET like"),
]


@pytest.fixture
def debezium(mock_kafka: Mock, sqlite_url: str, command: Make) -> tuple[Feed, Command]:
    feed = Feed(mock_kafka, "debezium")
    return feed, command([feed], sqlite_url)


@pytest.mark.parametrize(("column", "row", "words"), DEBEZIUM_LOSSES)
def test_a_column_that_debezium_cannot_carry_is_refused(
    debezium: tuple[Feed, Command], column: str, row: Row, words: str
) -> None:
    feed, run = debezium
    sql = f"CREATE TABLE `items` (`id` INT PRIMARY KEY, {column})"
    feed.create(10, sql)
    feed.mark(100)
    assert run().code == 0
    feed.send(1, inserted(150, {"id": 1, **row}, table(sql)))
    feed.mark(200)
    refuses(run, "shop.items.n: debezium ", words)
    assert run(tables__filter="*.*,!shop.items", changefeed="other").code == 0


def test_digits_that_debezium_lacks_are_those_of_the_definition(
    debezium: tuple[Feed, Command],
) -> None:
    feed, run = debezium
    sql = (
        "CREATE TABLE `items` (`id` INT PRIMARY KEY, `a` DATETIME(1), `b` DATETIME(6), "
        "`c` TIME(3), `d` TIMESTAMP(2) NULL, `e` DECIMAL(15,4), `f` DATETIME, `g` DATE)"
    )
    rows: list[Row] = [
        {
            "id": 1,
            "a": "2024-01-02 03:04:05.0",
            "b": "2024-01-02 03:04:05.100000",
            "c": "-12:00:00.000",
            "d": "0000-00-00 00:00:00.00",
            "e": Decimal("-12345678901.2300"),
            "f": "2024-01-02 03:04:05",
            "g": "1969-12-31",
        },
        {"id": 2, "a": "2024-01-02 03:04:05.1", **dict.fromkeys("bcdefg")},
    ]
    feed.create(10, sql)
    feed.send(1, *(inserted(50, row, table(sql)) for row in rows))
    feed.mark(100)
    assert run(**RULE).code == 0
    assert run.rows("SELECT a, b, c, d, e, f, g FROM items ORDER BY id") == [
        tuple(None if v is None else str(v) for n, v in row.items() if n != "id") for row in rows
    ]


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
def test_a_table_with_soft_deletes_is_refused_in_any_protocol(
    protocol: str, mock_kafka: Mock, sqlite_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka, protocol)
    run = command([feed], sqlite_url)
    sql = "CREATE TABLE `items` (`id` INT PRIMARY KEY, `_tidb_softdelete_time` TIMESTAMP(6) NULL)"
    feed.create(10, sql)
    feed.mark(100)
    assert run().code == 0
    feed.send(1, inserted(150, {"id": 1, "_tidb_softdelete_time": None}, table(sql)))
    feed.mark(200)
    refuses(run, "shop.items: a table with soft deletes", "leave the table out by [tables] filter")
    assert run(tables__filter="*.*,!shop.items", changefeed="other").code == 0


def test_without_a_definition_digits_are_not_guessed(
    debezium: tuple[Feed, Command], sqlite_url: str
) -> None:
    feed, run = debezium
    of = table("CREATE TABLE `items` (`id` INT PRIMARY KEY, `c` TIME)")
    with run.consumer() as consumer:
        consumer.target.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, c TEXT)")
    feed.send(1, inserted(150, {"id": 1, "c": "12:00:00"}, of))
    feed.mark(200)
    refuses(run, "shop.items.c: debezium does not show how many digits after the second a time has")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"enable_tidb_extension": False},
            "without the types of the columns of shop.items: set enable-tidb-extension=true",
        ),
        (
            {"debezium_disable_schema": True},
            "without the types of the columns of shop.items: set debezium-disable-schema=false",
        ),
    ],
)
@pytest.mark.parametrize("partition", [0, 1])
def test_debezium_without_types_is_refused_with_the_setting(
    mock_kafka: Mock,
    sqlite_url: str,
    command: Make,
    options: dict[str, Any],
    words: str,
    partition: int,
) -> None:
    feed, whole = Feed(mock_kafka, "debezium", **options), Feed(mock_kafka, "debezium", "none")
    run = command([feed], sqlite_url)
    feed.create(10)
    feed.send(partition, inserted(50, {"id": 1, "name": "x"}))
    for number in range(2):
        feed.send_raw(number, *whole.record(Resolved(ts(100))))
    stops(run, words)


@pytest.mark.parametrize("partition", [0, 1])
def test_rows_without_any_resolved_ts_are_refused(
    mock_kafka: Mock, sqlite_url: str, command: Make, partition: int
) -> None:
    feed = Feed(mock_kafka, "canal-json")
    run = command([feed], sqlite_url)
    feed.send(partition, inserted(50, {"id": 1, "name": "x"}))
    stops(run, "rows, and no resolved ts: set enable-tidb-extension=true in the changefeed's")
    feed.mark(100)
    assert "the target has no table" in run().said


def test_debezium_does_all_that_rows_and_ddl_do(debezium: tuple[Feed, Command]) -> None:
    feed, run = debezium
    feed.create(10)
    one: Row = {"id": 1, "name": "one"}
    two: Row = {"id": 2, "name": None}
    feed.send(0, inserted(20, one), inserted(20, two))
    feed.send(1, updated(30, one, {"id": 1, "name": '"op":"m"'}), deleted(40, two))
    feed.mark(100)
    for partition in range(2):
        add = "ALTER TABLE `items` ADD COLUMN `n` BIGINT UNSIGNED"
        feed.send(partition, Ddl("shop", "items", add, ts(150), 5))
    wider = table(
        "CREATE TABLE `items` (`id` INT PRIMARY KEY, `name` VARCHAR(40), `n` BIGINT UNSIGNED)"
    )
    feed.send(1, inserted(160, {"id": 3, "name": "ü", "n": 2**64 - 1}, wider))
    feed.mark(200)
    assert run().code == 0
    assert run.rows("SELECT * FROM items ORDER BY id") == [
        (1, '"op":"m"', None),
        (3, "ü", str(2**64 - 1)),
    ]
