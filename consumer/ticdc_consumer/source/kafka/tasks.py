"""Reads topics in Spark's tasks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, repeat
from operator import is_not, itemgetter, methodcaller
from typing import Any

import orjson
from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as KafkaTopicPartition

from ticdc_consumer.source import ProgressT, Receiver
from ticdc_consumer.source.kafka.client import batches, consume_error, consumer_settings
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.source.records import Records

SILENCE = 60.0
"""Seconds without a record after which a task fails because the brokers do not answer."""

_topic, _partition, _error = map(methodcaller, ("topic", "partition", "error"))


@dataclass(frozen=True, slots=True)
class KafkaTasks:
    """Reader of topics; `kafka` are librdkafka's settings."""

    kafka: Mapping[str, str]
    gives_messages = True

    def read(self, receiver: Receiver[ProgressT], size: int) -> Iterator[None]:
        yield from feed(receiver, messages(self.kafka, receiver.progress, size))


def feed(receiver: Receiver[ProgressT], batches: Iterable[Sequence[Any]]) -> Iterator[None]:
    """Feeds a task the brokers' messages, up to the listed ends. Yields after each batch, and while
    rows are completed."""
    for batch in batches:
        for progress, messages in until_ends(batch, receiver.progress):
            if not progress.done:
                records = Records(messages, progress.end)
                receiver.feed_records(progress, records)
                progress.done |= progress.position >= progress.end or len(records) < len(messages)
        yield
        yield from receiver.complete()


def messages(
    kafka: Mapping[str, str], partitions: Mapping[TopicPartition, ProgressT], size: int
) -> Iterator[Sequence[Any]]:
    """Yields the brokers' messages, at most `size` at a time, until all partitions are done, as
    `until_ends` marks them.

    Raises `Unavailable` if the brokers send nothing for `SILENCE` seconds, and `Stop` for a
    partition whose log no longer has the requested offset.
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
    batch: Sequence[Any], partitions: Mapping[TopicPartition, ProgressT]
) -> Iterator[tuple[ProgressT, Sequence[Any]]]:
    """Yields a batch's records in order, consecutive ones of a partition together. The partition is
    done at the listed end, once everything before is taken."""
    for (topic, partition), run in _runs(batch):
        progress = partitions.get((topic, partition))
        error = run[0].error()
        if error is None:
            if progress is not None:
                yield progress, run
        elif error.code() == KafkaError._PARTITION_EOF:
            # The last offsets may belong to no record (transaction markers, compaction).
            if progress is not None and run[0].offset() >= progress.end:
                progress.done = True
        else:
            position = progress.position if progress else 0
            if problem := consume_error(error, topic, partition, position):
                raise problem


def _runs(batch: Sequence[Any]) -> Iterator[tuple[TopicPartition, Sequence[Any]]]:
    """Splits the batch: consecutive records of one partition, or one end or error."""
    if not batch:
        return
    # Messages are untyped: checking for None would cost too much, once per message.
    topics, numbers, errors = ([*map(ask, batch)] for ask in (_topic, _partition, _error))
    # `==` is avoided: comparing an error with None leaves an exception behind.
    is_event = [*map(is_not, errors, repeat(None))]
    of_first = topics.count(topics[0]), numbers.count(numbers[0])
    if of_first == (len(batch), len(batch)) and True not in is_event:
        yield (topics[0], numbers[0]), batch
        return
    marked = zip(zip(topics, numbers, strict=True), is_event, batch, strict=True)
    for (topic_partition, alone), run in groupby(marked, itemgetter(0, 1)):
        messages = [message for _, _, message in run]
        if alone:
            for message in messages:
                yield topic_partition, (message,)
        else:
            yield topic_partition, messages


_consumers: dict[bytes, Consumer] = {}


def _consumer(kafka: Mapping[str, str]) -> Consumer:
    """The consumer of a cluster, one per worker process: connecting costs more than a small cut."""
    name = orjson.dumps(dict(kafka), option=orjson.OPT_SORT_KEYS)
    if name not in _consumers:
        while _consumers:
            # A worker outlives the run that used it: the cluster of another run may be down.
            _consumers.popitem()[1].close()
        _consumers[name] = Consumer(consumer_settings(kafka))
    return _consumers[name]
