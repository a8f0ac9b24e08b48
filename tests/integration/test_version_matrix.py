"""Every version, dispatcher and way of splitting UPDATEs gives the same tables."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from integration.key_histories import (
    BASE,
    STEPS,
    TABLES,
    VERSIONS,
    WHOLE,
    Feed,
    Values,
    contents,
    feeds,
    storage_feeds,
    storage_of,
    topic_of,
    versions,
)
from pyspark.sql import SparkSession
from support import brokers
from support.local_spark import LocalSpark
from support.registry_server import served
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.config.options import Settings
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import RowChange, Transaction
from ticdc_encoder.formats.registry import MemoryRegistry

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


def options(protocol: str, topic: str, kafka: brokers.Kafka, url: str, **more: Any) -> Settings:
    return Settings(
        changefeed="versions",
        protocol=protocol,
        topics=(topic,),
        kafka=kafka.config,
        target_url=url,
        route=ROUTE,
        **more,
    )


ROUTE = {"*.*": "main.{schema}_{table}"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(3 if metafunc.config.getoption("--long") else 1))


class Tables:
    """The target's tables of these changefeeds."""

    def __init__(self, url: str, chosen: Sequence[Feed]) -> None:
        self._file = sqlite3.connect(url.removeprefix("sqlite:///"))
        self._names = {(feed.schema, table): feed for feed in chosen for table in TABLES}
        for names in self._names:
            self._file.execute(CREATE.format(*names))

    def wrong(self, step: int) -> set[str]:
        """Those that do not hold what they should after so many steps."""
        return {
            f"{feed.version}, {feed.dispatcher}, {table}"
            for (schema, table), feed in self._names.items()
            if self._rows(schema, table) != contents(step)
        }

    def _rows(self, schema: str, table: str) -> list[Values]:
        with closing(self._file.execute(SELECT.format(schema, table))) as found:
            return found.fetchall()

    def close(self) -> None:
        self._file.close()


@pytest.mark.parametrize("protocol", SETTINGS)
def test_the_tables_are_right_however_their_changes_are_sent(
    protocol: str,
    seed: int,
    mock_kafka: brokers.Mock,
    sqlite_url: str,
    spark: SparkSession,
    long: bool,
) -> None:
    chosen = feeds(protocol, long)
    topic = mock_kafka.create_topic("versions", 3)
    schemas = MemoryRegistry()
    messages = topic_of(chosen, topic, SETTINGS[protocol], Random(seed), schemas)
    mock_kafka.produce(messages)
    with (
        closing(Tables(sqlite_url, chosen)) as tables,
        served(schemas.schemas) as url,
        Consumer(
            options(protocol, topic, mock_kafka, sqlite_url, registry={"url": url}), spark
        ) as consumer,
    ):
        for step in range(STEPS):
            resolved_ts = BASE + 10 * step + 10
            assert sum(epoch.rows for epoch in consumer.epochs(until=resolved_ts)) > 0
            assert tables.wrong(step) == set()


FILES: list[tuple[str, dict[str, bool], Literal["day", "none"]]] = [
    ("csv", {"output-old-value": True}, "day"),
    ("csv", {"output-old-value": False}, "none"),
    ("canal-json", {}, "day"),
]


@pytest.mark.parametrize(("protocol", "csv", "separator"), FILES)
def test_the_tables_are_right_however_files_are_written(
    protocol: str,
    csv: dict[str, bool],
    separator: Literal["day", "none"],
    seed: int,
    tmp_path: Path,
    sqlite_url: str,
) -> None:
    chosen = storage_feeds(protocol, csv.get("output-old-value", True))
    settings = f"&enable-tidb-extension=true&date-separator={separator}"
    csv = {"include-commit-ts": True, **csv} if protocol == "csv" else {}
    folder = tmp_path / "sink"
    stated = Settings(
        changefeed="versions",
        protocol=protocol,
        topics=(),
        kafka={},
        target_url=sqlite_url,
        route=ROUTE,
        storage_url=folder.as_uri(),
        storage_date_separator=separator,
        storage_csv=csv,
    )
    spark: Any = LocalSpark(2)
    written = storage_of(chosen, settings, Random(seed), **csv)
    with closing(Tables(sqlite_url, chosen)) as tables:
        for step, files in enumerate(written):
            for file in files:
                path = folder / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.content)
            with Consumer(stated, spark) as consumer:
                assert sum(epoch.rows for epoch in consumer.epochs(until="caught-up")) > 0
            assert tables.wrong(step) == set()


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
# nothing of the old key. So it is in Avro, and elsewhere where old values are switched off.
def messages_of(feed: Feed, *changes: RowChange) -> list[bytes | None]:
    """Those of a transaction, without old values."""
    transaction = Transaction(BASE + 20, changes)
    if feed.protocol == "csv":
        storage = feed.storage(BASE, date.today)
        storage.encode(transaction)
        return [*storage.flush()[0].content.splitlines()]
    sink = {"open": {"output-old-value": False}, "debezium": {"output-old-value": False}}
    settings = f"{SETTINGS[feed.protocol]}&max-batch-size=1"
    changefeed = feed.changefeed("t", settings, MemoryRegistry(), **sink)
    messages = [*changefeed.encode(transaction), *changefeed.flush()]
    return [message.value for message in messages]


HANDLE_KEY_SPLIT = {"6.5.3", "6.5.4", "7.1.1", "7.2.0", "7.3.0"}
"""Versions that split every UPDATE of the handle key in CSV and Avro, and in no other protocol."""


@pytest.mark.parametrize("protocol", ["avro", "csv", "debezium", "open-protocol"])
def test_what_no_message_shows_is_named(protocol: str) -> None:
    unseen = set()
    known: Sequence[str] = VERSIONS
    if protocol == "csv":
        known = [feed.version for feed in storage_feeds(protocol)]
    elif protocol == "debezium":
        known = versions(protocol)
    for version in known:
        feed = Feed("s", protocol, version, "table")
        loose, _ = feed.tables()
        first, second, third, fourth = ({"id": n, "u": n, "p": 0, "v": 0} for n in range(1, 5))
        moved = RowChange(loose, BASE + 20, first, second)
        other = RowChange(loose, BASE + 20, third, fourth)
        if len(messages_of(feed, moved)) == 1 or len(messages_of(feed, moved, other)) == 2:
            unseen.add(version)
    split = HANDLE_KEY_SPLIT if protocol in ("avro", "csv") else set()
    assert unseen == (WHOLE - split) & set(known)


def test_in_open_protocol_not_even_the_update_shows() -> None:
    feed = Feed("s", "open-protocol", "8.5.7 new raw", "table")
    loose, _ = feed.tables()
    old, new = ({"id": n, "u": 1, "p": 0, "v": 0} for n in (1, 2))
    inserted = messages_of(feed, RowChange(loose, BASE + 20, None, new))
    assert messages_of(feed, RowChange(loose, BASE + 20, old, new)) == inserted
