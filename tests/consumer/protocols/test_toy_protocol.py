"""A protocol that another distribution adds by one line, from Kafka through Spark into SQLite."""

import sqlite3
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support import brokers, toy_protocol
from ticdc_consumer import config, protocols
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.protocol_names import GROUP
from ticdc_consumer.errors import Stop
from ticdc_encoder.message import Message

REGISTERED = "toy = toy_protocol:PROTOCOL"
BASE = 450_000_000_000_000_000


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The distribution, as a zip for `--py-files`; this process has it, too."""
    archive = tmp_path / f"{tmp_path.name}.zip"  # Spark knows a file by its name
    with zipfile.ZipFile(archive, "w") as files:
        files.write(toy_protocol.__file__, "toy_protocol.py")
        files.writestr("toy-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
        files.writestr("toy-1.dist-info/entry_points.txt", f"[{GROUP}]\n{REGISTERED}\n")
    monkeypatch.setattr(protocols.PROTOCOLS, "_loaded", {})
    monkeypatch.syspath_prepend(archive)
    yield archive
    sys.modules.pop("toy_protocol", None)


@pytest.fixture
def options(
    installed: Path, mock_kafka: brokers.Mock, spark: SparkSession, sqlite_url: str
) -> Settings:
    """Of a topic of two partitions, and a target with the table that it fills."""
    spark.sparkContext.addPyFile(str(installed))
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as target:
        target.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)")
    return config.Settings.of(
        {
            "changefeed": "toys",
            "protocol": "toy",
            "kafka.topics": [mock_kafka.create_topic("toys", 2)],
            "kafka.bootstrap.servers": mock_kafka.bootstrap,
            "kafka.log_level": 2,
            "target.url": sqlite_url,
        }
    )


def send(kafka: brokers.Mock, options: Settings, texts: list[tuple[int, str]]) -> None:
    (topic,) = options.topics
    kafka.produce(Message(topic, number, None, text.encode()) for number, text in texts)


def test_a_protocol_of_others_is_applied(
    options: Settings, mock_kafka: brokers.Mock, spark: SparkSession, sqlite_url: str
) -> None:
    texts = [
        (0, f"row {BASE + 20} 1 bear"),
        (1, f"row {BASE + 20} 2 car"),
        (1, f"row {BASE + 30} 2 kite"),
        (0, f"mark {BASE + 100}"),
        (1, f"mark {BASE + 100}"),
    ]
    send(mock_kafka, options, texts)
    with Consumer(options, spark) as consumer:
        epochs = list(consumer.epochs("caught-up"))
    assert epochs[-1].resolved_ts == BASE + 100
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as target:
        rows = target.execute("SELECT id, name FROM items ORDER BY id").fetchall()
    assert rows == [(1, "bear"), (2, "kite")]


def test_an_exception_of_a_foreign_decoder_stops_with_its_place(
    options: Settings, mock_kafka: brokers.Mock, spark: SparkSession
) -> None:
    texts = [(1, f"row {BASE + 20} 1 car"), (1, f"row {BASE + 20} secret bear")]
    send(mock_kafka, options, [*texts, (0, f"mark {BASE + 100}")])
    began = time.monotonic()
    with Consumer(options, spark) as consumer, pytest.raises(Stop) as caught:
        list(consumer.epochs("caught-up"))
    assert time.monotonic() - began < 20
    said = str(caught.value)
    assert said.startswith("ValueError in ticdc_consumer/")
    assert said.endswith("-toys[1] offset 1")
    assert "secret" not in said
