from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition
from support.brokers import Kafka, Mock
from ticdc_encoder.kafka.produce import ProduceError, ensure_topics, produce
from ticdc_encoder.message import Message


def stored(kafka: Kafka, topic: str, partition: int) -> list[tuple[bytes | None, bytes | None]]:
    settings = {"group.id": "reader", "enable.partition.eof": True, "enable.auto.commit": False}
    reader = Consumer({**kafka.config, **settings})
    reader.assign([TopicPartition(topic, partition, 0)])
    records = []
    while (record := reader.poll(10)) is not None and record.error() is None:
        records.append((record.key(), record.value()))
    reader.close()
    return records


def test_each_partition_holds_its_messages_in_order(kafka: Kafka) -> None:
    topic = kafka.create_topic("order", 2)
    messages = [Message(topic, n % 2, None if n % 3 else b"k", b"%d" % n) for n in range(500)]
    assert produce(messages, kafka.config) == 500
    for partition in range(2):
        expected = [(m.key, m.value) for m in messages if m.partition == partition]
        assert stored(kafka, topic, partition) == expected


def test_a_full_queue_waits_for_the_broker(mock_kafka: Mock) -> None:
    topic = mock_kafka.create_topic("full")
    config = {**mock_kafka.config, "queue.buffering.max.messages": "10"}
    assert produce((Message(topic, 0, None, b"x") for _ in range(300)), config) == 300


def test_a_message_of_ticdcs_greatest_default_size_is_taken(mock_kafka: Mock) -> None:
    topic = mock_kafka.create_topic("large")
    assert produce([Message(topic, 0, None, b"x" * 2_000_000)], mock_kafka.config) == 1


def test_progress_is_what_was_acknowledged(mock_kafka: Mock) -> None:
    topic = mock_kafka.create_topic("progress")
    reported: list[int] = []
    produce([Message(topic, 0, None, b"x")] * 50, mock_kafka.config, reported.append)
    assert reported == sorted(reported)
    assert reported[-1] == 50


def test_a_partition_that_is_not_there_is_named(mock_kafka: Mock) -> None:
    topic = mock_kafka.create_topic("small", 1)
    with pytest.raises(ProduceError) as caught:
        produce([Message(topic, 7, None, b"secret")] * 3, mock_kafka.config)
    assert f"{topic}[7]" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_message_beyond_the_limit_is_an_error(mock_kafka: Mock) -> None:
    topic = mock_kafka.create_topic("limit")
    config = {**mock_kafka.config, "message.max.bytes": "1000"}
    with pytest.raises(ProduceError, match="too large"):
        produce([Message(topic, 0, None, b"x" * 2000)], config)


def test_a_broker_that_is_away_is_an_error() -> None:
    config = {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": "300", "log_level": "0"}
    with pytest.raises(ProduceError, match=r"t\[0\]"):
        produce([Message("t", 0, None, b"x")], config)


def test_a_setting_that_contradicts_idempotence_is_an_error() -> None:
    with pytest.raises(ProduceError, match="librdkafka refuses these settings"):
        produce([], {"bootstrap.servers": "127.0.0.1:1", "no.such.setting": "1"})


def test_what_came_before_an_error_of_the_caller_is_written(mock_kafka: Mock) -> None:
    topic = mock_kafka.create_topic("before")

    def messages() -> Iterator[Message]:
        yield Message(topic, 0, None, b"1")
        raise LookupError

    with pytest.raises(LookupError):
        produce(messages(), mock_kafka.config)
    assert stored(mock_kafka, topic, 0) == [(None, b"1")]


def test_topics_are_created_once_with_their_partitions(real_kafka: Kafka) -> None:
    partitions = {real_kafka.prefix + "a": 3, real_kafka.prefix + "b": 1}
    ensure_topics(real_kafka.config, partitions)
    ensure_topics(real_kafka.config, partitions)
    assert {name: real_kafka.partitions(name) for name in partitions} == partitions


def test_a_topic_with_too_few_partitions_is_named(kafka: Kafka) -> None:
    topic = kafka.create_topic("few", 2)
    ensure_topics(kafka.config, {topic: 2})
    with pytest.raises(ProduceError, match=f"topic {topic} has 2 partitions, not 3"):
        ensure_topics(kafka.config, {topic: 3})
