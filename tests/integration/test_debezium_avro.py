"""Debezium-avro, with a registry over HTTP: what is applied, and what is refused by name."""

from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest
from support.brokers import Mock
from support.registry_server import served
from support.torture_cli import Command, Make, refuses
from support.torture_topics import Feed, deleted, inserted, table, updated
from support.upstream_tidb import Upstream
from ticdc_consumer.cut.read.upstream import Snapshots
from ticdc_encoder.event import Row, RowChange
from ticdc_encoder.formats.registry import MemoryRegistry

WIDE = (
    "CREATE TABLE `items` (`id` INT PRIMARY KEY, `t` TINYINT UNSIGNED NOT NULL DEFAULT 7, "
    "`c` VARCHAR(9), `e` ENUM('it''s','b'), `d` DECIMAL(30,5), `b` BIGINT UNSIGNED, `w` TIME(3), "
    "`x` VARBINARY(9), `a-b` TIMESTAMP(2) NULL)"
)
ROW: Row = {
    "id": 1,
    "t": 255,
    "c": "x",
    "e": 1,
    "d": Decimal("-1234567890123456789012345.00001"),
    "b": 5,
    "w": "-12:00:00.000",
    "x": b"\0\xff",
    "a-b": "2024-01-02 03:04:05.10",
}
NULLS: Row = {**dict.fromkeys(ROW), "id": 2, "t": 0}
TRUSTED = {"target__rules": "literal-defaults"}


@pytest.fixture
def registry() -> MemoryRegistry:
    return MemoryRegistry()


@pytest.fixture
def url(registry: MemoryRegistry) -> Iterator[str]:
    with served(registry.schemas) as url:
        yield url


def of(kafka: Mock, registry: MemoryRegistry, **options: Any) -> Feed:
    options = {"avro_enable_watermark": True, **options}
    return Feed(kafka, "debezium-avro", f"t{len(options)}", registry=registry, **options)


@pytest.fixture
def feed(mock_kafka: Mock, registry: MemoryRegistry) -> Feed:
    return of(mock_kafka, registry)


@pytest.fixture
def run(feed: Feed, url: str, sqlite_url: str, command: Make) -> Command:
    return command([feed], sqlite_url, registry__url=url, **TRUSTED)


@pytest.mark.parametrize("mode", ["precise", "string"])
def test_rows_and_ddl_are_applied(
    mode: str, mock_kafka: Mock, registry: MemoryRegistry, url: str, sqlite_url: str, command: Make
) -> None:
    feed = of(
        mock_kafka,
        registry,
        avro_decimal_handling_mode=mode,
        avro_bigint_unsigned_handling_mode="long" if mode == "precise" else "string",
    )
    run = command([feed], sqlite_url, registry__url=url, **TRUSTED)
    feed.create(10, WIDE)
    wide, moved, three = table(WIDE), {**ROW, "id": 4}, {**ROW, "id": 3}
    feed.send(0, *(inserted(20, row, wide) for row in (ROW, NULLS, three)))
    feed.send(1, updated(30, ROW, moved, wide), deleted(40, three, wide))
    feed.ddl(50, "ALTER TABLE `items` ADD COLUMN `n` INT", "items", kind=5)
    feed.mark(100)
    assert run().code == 0
    assert run.rows("SELECT id, t, c, e, d, b, w, x, [a-b], n FROM items ORDER BY id") == [
        (2, 0, *[None] * 8),
        (
            *(4, 255, "x", "it's", str(ROW["d"]), "5", "-12:00:00.000", b"\0\xff"),
            *("2024-01-02 03:04:05.10", None),
        ),
    ]


LOSSES: list[tuple[str, Row, str]] = [
    ("n INT DEFAULT 5", {"n": None}, "debezium-avro sends its DEFAULT for NULL: make it NOT NULL"),
    ("n TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP", {"n": None}, "sends its DEFAULT for NULL"),
    ("n DATE", {"n": "2024-01-02"}, 'by [target] rules = ["calendar-dates"]'),
    ("n ENUM('a','')", {"n": 1}, "sends the member '' of ENUM like its invalid, or empty, value"),
]


@pytest.mark.parametrize(("column", "row", "words"), LOSSES)
def test_a_column_that_it_cannot_carry_is_refused(
    feed: Feed, run: Command, column: str, row: Row, words: str
) -> None:
    sql = f"CREATE TABLE `items` (`id` INT PRIMARY KEY, {column})"
    feed.create(10, sql)
    feed.mark(100)
    assert run().code == 0
    feed.send(1, inserted(150, {"id": 1, **row}, table(sql)))
    feed.mark(200)
    refuses(run, "shop.items.n: debezium-avro ", words)
    assert run(tables__filter="*.*,!shop.items", changefeed="other").code == 0


def test_a_default_that_is_gone_stands_in_no_row_that_follows(feed: Feed, run: Command) -> None:
    sql = "CREATE TABLE `items` (`id` INT PRIMARY KEY, `n` INT DEFAULT 5)"
    plain = table(sql.replace(" DEFAULT 5", ""))
    feed.create(10, sql)
    feed.ddl(20, "ALTER TABLE `items` ALTER COLUMN `n` DROP DEFAULT", "items", kind=15)
    feed.send(1, inserted(30, {"id": 1, "n": None}, plain))
    feed.mark(100)
    assert run().code == 0
    assert run.rows("SELECT id, n FROM items") == [(1, None)]


def test_without_a_definition_a_default_is_not_guessed(feed: Feed, run: Command) -> None:
    with run.consumer() as consumer:
        consumer.target.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, n INTEGER)")
    sql = "CREATE TABLE `items` (`id` INT PRIMARY KEY, `n` INT)"
    feed.send(1, inserted(150, {"id": 1, "n": 2}, table(sql)))
    feed.mark(200)
    refuses(run, "shop.items.n: debezium-avro sends a column's DEFAULT for its NULL, and this")


OF_UPSTREAM = (
    "CREATE TABLE items (id INT PRIMARY KEY, t TINYINT UNSIGNED NOT NULL DEFAULT 7, c VARCHAR(9), "
    "e ENUM('it''s','b'), d DECIMAL(30,5), w TIME(3), x VARBINARY(9))"
)


def of_upstream(tidb: Upstream, feed: Feed, statement: str) -> None:
    """Rows as they are after a statement, without the CREATE TABLE."""
    tidb.execute("BEGIN", statement, "COMMIT")
    ((text,),) = tidb.execute("SELECT json_extract(@@tidb_last_txn_info, '$.commit_ts')")
    ids = [{"id": id_} for (id_,) in tidb.execute("SELECT id FROM items")]
    with closing(Snapshots(tidb.url)) as snapshots:
        for source, rows in snapshots.rows(tidb.schema, "items", int(text), ids):
            feed.send(1, *(RowChange(source, int(text), after=row) for row in rows))
    feed.resolve(int(text) + 1)


def test_a_definition_not_in_the_stream_is_read_upstream(
    tidb: Upstream, feed: Feed, run: Command
) -> None:
    with run.consumer() as consumer:
        consumer.target.execute(
            "CREATE TABLE items (id INTEGER PRIMARY KEY, t INTEGER NOT NULL, c TEXT, e TEXT, "
            "d TEXT, w TEXT, x BLOB)"
        )
    tidb.execute(OF_UPSTREAM)
    feed.resolve(tidb.ts())
    of_upstream(
        tidb,
        feed,
        "INSERT INTO items VALUES (1, 255, 'x', 1, '-1234567890123456789012345.00001', "
        "'-12:00:00', x'00ff'), (2, 0, NULL, NULL, NULL, NULL, NULL)",
    )
    refuses(run, ".items.t: debezium-avro sends a column's DEFAULT for its NULL, and this table's")
    outcome = run(source__upstream=tidb.url)
    assert outcome.code == 0, outcome.said
    assert run.rows("SELECT * FROM items ORDER BY id") == [
        (1, 255, "x", "it's", str(ROW["d"]), "-12:00:00.000", b"\0\xff"),
        (2, 0, *[None] * 5),
    ]


def test_a_default_read_upstream_is_refused_as_one_sent(
    tidb: Upstream, feed: Feed, run: Command
) -> None:
    with run.consumer() as consumer:
        consumer.target.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, n INTEGER)")
    tidb.execute("CREATE TABLE items (id INT PRIMARY KEY, n INT DEFAULT 5)")
    feed.resolve(tidb.ts())
    of_upstream(tidb, feed, "INSERT INTO items VALUES (1, NULL)")
    run.set(source__upstream=tidb.url)
    refuses(run, ".items.n: debezium-avro sends its DEFAULT for NULL: make it NOT NULL")


def test_the_rule_that_only_its_user_can_know_is_asked_for(feed: Feed, run: Command) -> None:
    feed.mark(100)
    outcome = run(target__rules="")
    assert (outcome.code, 'by [target] rules = ["literal-defaults"]' in outcome.said) == (2, True)


def test_a_row_without_the_extension_has_no_types_and_is_refused(
    mock_kafka: Mock, feed: Feed, registry: MemoryRegistry, run: Command
) -> None:
    sql = "CREATE TABLE `items` (`id` INT PRIMARY KEY, `n` SMALLINT UNSIGNED, `c` CHAR(9))"
    bare = of(mock_kafka, registry, enable_tidb_extension=False)
    feed.create(10, sql)
    feed.mark(100)
    assert run().code == 0
    feed.send_raw(1, *bare.record(inserted(150, {"id": 1, "n": 2, "c": "x"}, table(sql))))
    feed.mark(200)
    refuses(run, "shop.items.", "debezium-avro sends a column's DEFAULT for its NULL")
