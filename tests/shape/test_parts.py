"""The parts that other tests run against."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from support import brokers
from ticdc_encoder.message import Message


def read(kafka: brokers.Kafka, topic: str, partition: int, number: int) -> list[bytes | None]:
    consumer = Consumer({**kafka.config, "group.id": "reader", "enable.auto.commit": False})
    # Not where the group is: brokers that have just started may not know its coordinator yet.
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    records = consumer.consume(number, 30)
    consumer.close()
    return [record.value() for record in records]


def test_a_topic_has_the_partitions_it_was_made_with(kafka: brokers.Kafka) -> None:
    orders, users = kafka.create_topic("orders", 3), kafka.create_topic("users", 1)
    assert orders == f"{kafka.prefix}orders"
    assert (kafka.partitions(orders), kafka.partitions(users)) == (3, 1)


def test_records_keep_their_order_and_partition(kafka: brokers.Kafka) -> None:
    topic = kafka.create_topic("orders", 2)
    kafka.produce(Message(topic, n % 2, None, b"%d" % n) for n in range(1000))
    assert read(kafka, topic, 0, 500) == [b"%d" % n for n in range(0, 1000, 2)]
    assert read(kafka, topic, 1, 500) == [b"%d" % n for n in range(1, 1000, 2)]


def test_a_topic_loses_its_first_records_as_by_retention(kafka: brokers.Kafka) -> None:
    topic = kafka.create_topic("orders")
    for value in (b"1", b"2", b"3"):
        kafka.produce([Message(topic, 0, None, value)])
    kafka.delete_records(topic, 0, 2)
    assert read(kafka, topic, 0, 1) == [b"3"]


def test_a_topic_is_deleted_and_made_again(kafka: brokers.Kafka) -> None:
    topic = kafka.create_topic("orders", 1)
    kafka.produce([Message(topic, 0, None, b"1")])
    kafka.delete_topic(topic)
    assert kafka.create_topic("orders", 2) == topic
    kafka.produce([Message(topic, 0, None, b"2")])
    assert read(kafka, topic, 0, 1) == [b"2"]


def test_a_real_topic_gets_more_partitions(real_kafka: brokers.Real) -> None:
    topic = real_kafka.create_topic("orders", 1, **{"retention.bytes": "1000000"})
    real_kafka.add_partitions(topic, 3)
    assert real_kafka.partitions(topic) == 3


def test_a_target_is_empty_and_takes_rows(target_url: str) -> None:
    engine = sa.create_engine(target_url, poolclass=sa.NullPool)
    assert sa.inspect(engine).get_table_names() == []
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (id INT PRIMARY KEY)")
        connection.exec_driver_sql("INSERT INTO t VALUES (1)")
        assert connection.exec_driver_sql("SELECT id FROM t").scalars().all() == [1]


@pytest.fixture
def left() -> Iterator[list[sa.Connection]]:
    """Sessions that a test leaves behind; closed after the databases are gone."""
    connections: list[sa.Connection] = []
    yield connections
    for connection in connections:
        connection.invalidate()
        connection.close()


def test_a_database_goes_despite_a_session_in_a_transaction(
    left: list[sa.Connection], target_url: str
) -> None:
    connection = sa.create_engine(target_url, poolclass=sa.NullPool).connect()
    left.append(connection)
    connection.exec_driver_sql("CREATE TABLE t (id INT PRIMARY KEY)")
    connection.exec_driver_sql("SELECT * FROM t")
