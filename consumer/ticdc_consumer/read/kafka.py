"""EDGE Kafka -> messages, inside Spark's tasks."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson
from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as KafkaTopicPartition

from ticdc_consumer.errors import Unavailable
from ticdc_consumer.read.progress import PartitionProgress
from ticdc_consumer.source.kafka.brokers import consumer_settings
from ticdc_consumer.source.kafka.scout import consume_error
from ticdc_consumer.source.marks import TopicPartition

SILENCE = 60.0
"""Seconds without a record after which a task fails because the brokers do not answer."""


Partitions = Mapping[TopicPartition, PartitionProgress]


def messages(
    kafka: Mapping[str, str], partitions: Partitions, size: int
) -> Iterator[Iterator[tuple[PartitionProgress, Any]]]:
    """The brokers' messages, at most `size` of them at a time, until all partitions are done.

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
                KafkaTopicPartition(*name, progress.position)
                for name, progress in partitions.items()
                if not progress.done
            ]
        )
        silence = 0.0
        while not done():
            batch = consumer.consume(size, 0) or consumer.consume(1, 0.2)
            silence = 0.0 if batch else silence + 0.2
            if silence > SILENCE:
                raise Unavailable(f"the brokers sent nothing for {SILENCE:.0f} s")
            yield until_ends(batch, partitions)
    finally:
        consumer.unassign()


def until_ends(
    batch: Iterable[Any], partitions: Partitions
) -> Iterator[tuple[PartitionProgress, Any]]:
    """A batch's records, each with its partition, which is done at the end that was listed. One by
    one: a partition must not be done before its last records are read."""
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
    settings = consumer_settings(kafka)
    name = orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)
    if name not in _consumers:
        while _consumers:
            # A worker outlives the run that used it: another cluster's may be gone.
            _consumers.popitem()[1].close()
        _consumers[name] = Consumer(settings)
    return _consumers[name]
