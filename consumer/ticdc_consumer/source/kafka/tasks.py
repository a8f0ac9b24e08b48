"""Topics as Spark's tasks read them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import orjson
from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as KafkaTopicPartition

from ticdc_consumer.source import ProgressT, Receiver
from ticdc_consumer.source.kafka.client import batches, consume_error, consumer_settings
from ticdc_consumer.source.marks import TopicPartition

SILENCE = 60.0
"""Seconds without a record after which a task fails because the brokers do not answer."""


@dataclass(frozen=True, slots=True)
class KafkaTasks:
    """`kafka` are librdkafka's settings."""

    kafka: Mapping[str, str]
    gives_messages = True

    def read(self, receiver: Receiver[ProgressT], size: int) -> Iterator[None]:
        yield from feed(receiver, messages(self.kafka, receiver.progress, size))


_value = methodcaller("value")


def feed(receiver: Receiver[ProgressT], batches: Iterable[Sequence[Any]]) -> Iterator[None]:
    """Feeds a task what the brokers gave, up to the listed ends. Yields after each batch, and while
    rows are completed."""
    for batch in batches:
        receiver.expect(filter(None, map(_value, batch)))
        for progress, message in until_ends(batch, receiver.progress):
            offset = message.offset()
            if not progress.done and offset < progress.end:
                receiver.feed(
                    progress, message.key(), message.value(), offset, message.timestamp()[1]
                )
                if progress.position >= progress.end:
                    progress.done = True
        yield
        yield from receiver.complete()


def messages(
    kafka: Mapping[str, str], partitions: Mapping[TopicPartition, ProgressT], size: int
) -> Iterator[Sequence[Any]]:
    """The brokers' messages, at most `size` of them at a time, until all partitions are done, which
    `until_ends` sees to.

    Raises `Unavailable` if the brokers send nothing for `SILENCE` seconds, and `Stop` for a
    partition whose log no longer has what is asked of it.
    """

    def done() -> bool:
        return all(progress.done for progress in partitions.values())

    if done():
        return
    consumer = _consumer(kafka)
    try:
        consumer.assign(
            [
                KafkaTopicPartition(*topic_partition, progress.position)
                for topic_partition, progress in partitions.items()
                if not progress.done
            ]
        )
        for batch in batches(consumer, size, SILENCE):
            yield batch
            if done():
                return
    finally:
        consumer.unassign()


def until_ends(
    batch: Iterable[Any], partitions: Mapping[TopicPartition, ProgressT]
) -> Iterator[tuple[ProgressT, Any]]:
    """A batch's records, each with its partition, which is done at the end that was listed. One by
    one: a partition must not be done before its last records are read."""
    # Messages are untyped: to check what may be None costs too much, once per message.
    for message in batch:
        progress = partitions.get((message.topic(), message.partition()))
        error = message.error()
        if error is None:
            if progress is not None:
                yield progress, message
        elif error.code() == KafkaError._PARTITION_EOF:
            # The last offsets may belong to no record (transaction markers, compaction).
            if progress is not None and message.offset() >= progress.end:
                progress.done = True
        else:
            position = progress.position if progress else 0
            if problem := consume_error(error, message.topic(), message.partition(), position):
                raise problem


_consumers: dict[bytes, Consumer] = {}


def _consumer(kafka: Mapping[str, str]) -> Consumer:
    """One consumer per worker process and cluster: connecting costs more than a small cut."""
    name = orjson.dumps(dict(kafka), option=orjson.OPT_SORT_KEYS)
    if name not in _consumers:
        while _consumers:
            # A worker outlives the run that used it: the cluster of another run may be down.
            _consumers.popitem()[1].close()
        _consumers[name] = Consumer(consumer_settings(kafka))
    return _consumers[name]
