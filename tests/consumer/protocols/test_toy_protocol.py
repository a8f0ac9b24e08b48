"""A protocol that another distribution adds by one line, from Kafka through Spark into SQLite."""

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession
from support import brokers, toy_protocol
from ticdc_consumer import config, protocols
from ticdc_consumer.consumer import Consumer
from ticdc_encoder.message import Message

REGISTERED = "toy = toy_protocol:PROTOCOL"
BASE = 450_000_000_000_000_000


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The distribution, as a zip for `--py-files`; this process has it, too."""
    archive = tmp_path / "toy.zip"
    with zipfile.ZipFile(archive, "w") as files:
        files.write(toy_protocol.__file__, "toy_protocol.py")
        files.writestr("toy-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1\n")
        files.writestr("toy-1.dist-info/entry_points.txt", f"[{protocols.GROUP}]\n{REGISTERED}\n")
    monkeypatch.setattr(protocols.PROTOCOLS, "_loaded", {})
    monkeypatch.syspath_prepend(archive)
    yield archive
    sys.modules.pop("toy_protocol", None)


def test_a_protocol_of_others_is_applied(
    installed: Path, mock_kafka: brokers.Mock, spark: SparkSession, sqlite_url: str
) -> None:
    spark.sparkContext.addPyFile(str(installed))
    engine = sa.create_engine(sqlite_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)")
    topic = mock_kafka.create_topic("toys", 2)
    texts = [
        (0, f"row {BASE + 20} 1 bear"),
        (1, f"row {BASE + 20} 2 car"),
        (1, f"row {BASE + 30} 2 kite"),
        (0, f"mark {BASE + 100}"),
        (1, f"mark {BASE + 100}"),
    ]
    mock_kafka.produce(Message(topic, number, None, text.encode()) for number, text in texts)
    options = config.parse(
        {
            "changefeed": "toys",
            "protocol": "toy",
            "kafka.topics": [topic],
            "kafka.bootstrap.servers": mock_kafka.bootstrap,
            "kafka.log_level": 2,
            "target.url": sqlite_url,
        }
    )
    with Consumer(options, spark) as consumer:
        epochs = list(consumer.epochs("caught-up"))
    assert epochs[-1].resolved_ts == BASE + 100
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT id, name FROM items ORDER BY id").all()
    assert [tuple(row) for row in rows] == [(1, "bear"), (2, "kite")]
