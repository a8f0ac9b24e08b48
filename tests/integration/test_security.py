"""SASL and TLS settings reach librdkafka as they are, in the driver and in the tasks."""

import os
import sqlite3
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.brokers import Real
from support.server_address import server_address
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Unavailable
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import RowChange, Transaction
from ticdc_encoder.sql.parser import parse_create_table

TABLE = parse_create_table("CREATE TABLE t (id int NOT NULL PRIMARY KEY, v varchar(9))", "s")
COMMIT_TS = 470_000_000_000_000_000


def settings(way: str) -> dict[str, str]:
    match way:
        case "tls":
            return {
                "bootstrap.servers": server_address("KAFKA_TLS"),
                "security.protocol": "SSL",
                "ssl.ca.location": os.environ["KAFKA_CA"],
            }
        case mechanism:
            return {
                "bootstrap.servers": server_address("KAFKA_SASL"),
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": mechanism,
                "sasl.username": "app",
                "sasl.password": "app-secret",
            }


def options(kafka: dict[str, str], topic: str, path: Path) -> Settings:
    return Settings(
        changefeed="secure",
        protocol="canal-json",
        topics=(topic,),
        kafka=kafka,
        target_url=f"sqlite:///{path}",
    )


@pytest.mark.parametrize("way", ["PLAIN", "SCRAM-SHA-256", "tls"])
def test_a_secured_listener_is_read_with_librdkafkas_settings(
    way: str, real_kafka: Real, spark: SparkSession, tmp_path: Path
) -> None:
    secured = settings(way)
    topic = real_kafka.create_topic("secure", 1)
    feed = Changefeed(
        f"kafka://h/{topic}?protocol=canal-json&partition-num=1&enable-tidb-extension=true"
    )
    change = RowChange(TABLE, COMMIT_TS, after={"id": 1, "v": "x"})
    real_kafka.produce(
        [*feed.encode(Transaction(COMMIT_TS, (change,))), *feed.resolve(COMMIT_TS + 1)]
    )
    path = tmp_path / "target.db"
    with sqlite3.connect(path) as target:
        target.execute("CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, v TEXT)")
    with Consumer(options(secured, topic, path), spark) as consumer:
        epochs = list(consumer.epochs(until="caught-up"))
    assert [epoch.resolved_ts for epoch in epochs] == [COMMIT_TS + 1]
    with sqlite3.connect(path) as target:
        assert list(target.execute("SELECT * FROM t")) == [(1, "x")]


def test_a_wrong_password_is_said_without_the_password(
    real_kafka: Real, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ticdc_consumer.source.kafka.brokers.REQUEST_TIMEOUT", 3.0)
    monkeypatch.setattr("ticdc_consumer.cut.opening.PATIENCE", 3.0)
    topic = real_kafka.create_topic("secure", 1)
    wrong = settings("PLAIN") | {"sasl.password": "canary-7731"}
    consumer = Consumer(options(wrong, topic, tmp_path / "target.db"), spark)
    with pytest.raises(Unavailable) as refused, consumer:
        pass
    assert "Invalid username or password" in str(refused.value)
    assert "canary-7731" not in str(refused.value)
