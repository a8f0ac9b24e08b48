"""Every version, dispatcher and way of splitting UPDATEs gives the same tables."""

import sqlite3
from random import Random
from typing import Any

import brokers
import pytest
from histories import BASE, STEPS, TABLES, VERSIONS, Feed, contents, feeds, topic_of
from pyspark.sql import SparkSession
from registry_server import served
from ticdc_consumer.consumer import Consumer
from ticdc_consumer.options import Options
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import RowChange, Transaction
from ticdc_encoder.formats.registry import MemoryRegistry
from ticdc_encoder.message import Message

SETTINGS = {
    "canal-json": "&enable-tidb-extension=true",
    "open-protocol": "",
    "simple": "",
    "debezium": "&enable-tidb-extension=true",
    "avro": "&enable-tidb-extension=true&avro-enable-watermark=true",
}

CREATE = (
    "create table {}_{} (id integer primary key, u integer not null unique, p integer, v integer)"
)
SELECT = "select * from {}_{} order by id"


def options(protocol: str, topic: str, kafka: brokers.Kafka, url: str, **more: Any) -> Options:
    return Options(
        changefeed="versions",
        protocol=protocol,
        topics=(topic,),
        kafka=kafka.config,
        target_url=url,
        route={"*.*": "main.{schema}_{table}"},
        **more,
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(3 if metafunc.config.getoption("--long") else 1))


@pytest.mark.parametrize("protocol", SETTINGS)
def test_the_tables_are_right_however_their_changes_are_sent(
    protocol: str,
    seed: int,
    mock_kafka: brokers.Mock,
    sqlite_url: str,
    spark: SparkSession,
    long: bool,
) -> None:
    rng = Random(seed)
    chosen = feeds(protocol, long)
    topic = mock_kafka.create_topic("versions", 3)
    schemas = MemoryRegistry()
    mock_kafka.produce(topic_of(chosen, topic, SETTINGS[protocol], rng, schemas))
    file = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    for feed in chosen:
        for table in TABLES:
            file.execute(CREATE.format(feed.schema, table))
    with (
        served(schemas.schemas) as url,
        Consumer(
            options(protocol, topic, mock_kafka, sqlite_url, registry={"url": url}), spark
        ) as consumer,
    ):
        for step in range(STEPS):
            resolved_ts = BASE + 10 * step + 10
            rows = sum(epoch.rows for epoch in consumer.epochs(until=resolved_ts))
            assert rows > 0
            wrong = {
                f"{feed.version}, {feed.dispatcher}, {table}"
                for feed in chosen
                for table in TABLES
                if file.execute(SELECT.format(feed.schema, table)).fetchall() != contents(step)
            }
            assert wrong == set()
    file.close()


# What cannot be right. Refused where a message shows it:
REFUSED = [
    ("canal-json", "", "set enable-tidb-extension=true in the changefeed's sink URI"),
]


@pytest.mark.parametrize(("protocol", "settings", "said"), REFUSED)
def test_what_cannot_be_right_is_refused_at_its_first_message(
    protocol: str,
    settings: str,
    said: str,
    mock_kafka: brokers.Mock,
    sqlite_url: str,
    spark: SparkSession,
) -> None:
    topic = mock_kafka.create_topic("versions", 3)
    chosen = feeds(protocol, False)[:1]
    messages = topic_of(chosen, topic, SETTINGS[protocol], Random(0))
    marks = [m for m in messages if b"TIDB_WATERMARK" in (m.value or b"")]
    mock_kafka.produce([*topic_of(chosen, topic, settings, Random(0)), *marks])
    with (
        Consumer(options(protocol, topic, mock_kafka, sqlite_url), spark) as consumer,
        pytest.raises(TicdcError, match=said),
    ):
        list(consumer.epochs(until="caught-up"))


# And where none does: without the old row, the message of an UPDATE of a key that is whole tells
# nothing of the old key. So it is in Avro, and in Open Protocol without old values, where it is an
# INSERT's, byte by byte.
UNSEEN = {
    *("6.5.2", "6.5.4", "6.5.10 raw", "7.1.0", "7.1.6 raw", "7.5.3 raw", "8.1.1 raw"),
    *("8.5.3 raw", "8.5.7 raw"),
    # As the MySQL sink of the old architecture does with what is newer than its start.
    *("6.5.9 mysql", "8.5.3 mysql"),
}
UNSEEN_IN_OPEN_PROTOCOL = UNSEEN | {"6.5.3", "7.1.1", "7.3.0"}


def sent(feed: Feed, change: RowChange, **sink: Any) -> list[Message]:
    changefeed = feed.changefeed("t", SETTINGS[feed.protocol], MemoryRegistry(), **sink)
    return [*changefeed.encode(Transaction(BASE + 20, (change,))), *changefeed.flush()]


@pytest.mark.parametrize(
    ("protocol", "expected"), [("avro", UNSEEN), ("open-protocol", UNSEEN_IN_OPEN_PROTOCOL)]
)
def test_what_no_message_shows_is_named(protocol: str, expected: set[str]) -> None:
    unseen = set()
    for version in VERSIONS:
        feed = Feed("s", protocol, version, "table")
        loose, _ = feed.tables()
        old, new = ({"id": n, "u": 1, "p": 0, "v": 0} for n in (1, 2))
        without = {"open": {"output-old-value": False}}
        messages = sent(feed, RowChange(loose, BASE + 20, old, new), **without)
        if len(messages) == 1 and b'"d":' not in (messages[0].value or b""):
            unseen.add(version)
            inserted = sent(feed, RowChange(loose, BASE + 20, None, new), **without)
            assert messages == inserted or protocol == "avro"
    assert unseen == expected
