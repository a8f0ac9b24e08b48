"""Rows larger than a packet of MySQL (16 MiB), through Kafka with its compression; and what a
target that does not take them says."""

from typing import Any

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession
from support import brokers
from support.torture_cli import Command, Make
from support.torture_topics import Feed, deleted, inserted, table, ts, updated
from ticdc_consumer.targets.mysql.bulk import MySqlBulk
from ticdc_consumer.targets.mysql.session import SQL_MODE, MySql

BYTES = 18_000_000
DOCS = (
    "CREATE TABLE `docs` (`id` INT NOT NULL, `part` VARCHAR(10) NOT NULL, `data` LONGBLOB, "
    "`body` LONGTEXT, PRIMARY KEY (`id`, `part`))"
)
ANY_BYTES = bytes(range(256))
THE_ROW = "shop.docs: the row of key id=2, part='a''b' "


def data(seed: int) -> bytes:
    return (ANY_BYTES[seed:] + ANY_BYTES[:seed]) * (BYTES // 256)


def body(seed: int) -> str:
    return f"{seed} 'quoted' \\ 表 " * (BYTES // 18)


def doc(number: int, **columns: Any) -> dict[str, Any]:
    return {"id": number, "part": "a'b", "data": None, "body": None, **columns}


def begin(kafka: brokers.Kafka, make: Make, url: str, spark: Any = None, **settings: Any) -> Any:
    """A changefeed of two rows, one of them large, after its first cut."""
    codec = settings.get("source__compression", "none")
    feed, known = Feed(kafka, compression=codec, max_message_bytes=100_000_000), table(DOCS)
    feed.ddl(5, "CREATE DATABASE `shop`", kind=1)
    feed.create(10, DOCS)
    feed.send(0, inserted(20, doc(1, body="small"), known))
    feed.send(0, inserted(30, doc(2, data=data(2)), known))
    feed.mark(100)
    parsed = sa.make_url(url)
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        settings["tables__route"] = f'{{"*.*" = "{parsed.database}.{{table}}"}}'
    return feed, make([feed], url, spark, **settings)


def change(feed: Feed) -> None:
    known = table(DOCS)
    feed.send(1, inserted(110, doc(3, data=data(3)), known))
    feed.send(1, updated(120, doc(1, body="small"), doc(1, body=body(1)), known))
    feed.send(0, deleted(130, doc(2, data=data(2)), known))
    feed.mark(200)


def rows(run: Command) -> list[tuple[Any, ...]]:
    schema = "shop." if run.target_url.startswith("postgresql") else ""
    return run.rows(f"SELECT id, part, data, body FROM {schema}docs ORDER BY id")  # noqa: S608


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("sqlite", {}),
        ("postgresql", {"limits__memory_budget": 1}),
        ("mariadb", {"limits__memory_budget": 1}),
        ("mysql", {"source__compression": "lz4"}),
    ],
)
def test_rows_of_18_mb_are_inserted_updated_and_deleted(
    kind: str,
    settings: dict[str, Any],
    request: pytest.FixtureRequest,
    mock_kafka: brokers.Mock,
    command: Make,
    spark: SparkSession,
) -> None:
    """TiDB's embedded store takes no more than 8 MiB a row, whatever is set."""
    url = request.getfixturevalue(f"{kind}_url")
    feed, run = begin(mock_kafka, command, url, spark, **settings)
    outcome = run()
    assert outcome.code == 0, outcome.said
    small, large = tuple(doc(1, body="small").values()), tuple(doc(2, data=data(2)).values())
    assert rows(run) == [small, large]
    change(feed)
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, ts(200)), outcome.said
    assert rows(run) == [
        tuple(doc(1, body=body(1)).values()),
        tuple(doc(3, data=data(3)).values()),
    ]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("tidb", "is larger than TiDB's txn-entry-size-limit (entry too large, the max entry"),
        ("mysql", "the target's max_allowed_packet is 16777216: SET GLOBAL max_allowed_packet"),
    ],
)
def test_a_row_too_large_stops_with_its_key_and_the_variable(
    kind: str,
    words: str,
    request: pytest.FixtureRequest,
    mock_kafka: brokers.Mock,
    command: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if kind == "mysql":
        monkeypatch.setattr(MySql, "_new_bulk", of_small_packets)
    _, run = begin(mock_kafka, command, request.getfixturevalue(f"{kind}_url"))
    outcome = run()
    last = outcome.said.splitlines()[-1]
    assert (outcome.code, THE_ROW in last, words in last) == (3, True, True), outcome.said
    assert rows(run) == []
    assert run.resolved_ts < ts(100)


def of_small_packets(target: MySql) -> MySqlBulk:
    """As where the server's variable is smaller; a session cannot have another."""
    return MySqlBulk(target.connection, 16 << 20, target.differences, SQL_MODE)
