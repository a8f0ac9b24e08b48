"""EDGE: the records of a Kafka topic, to look at: nothing is committed, and no group joined."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import closing
from time import monotonic

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import TopicMetadata  # type: ignore[attr-defined]

from ticdc_encoder.errors import ConfigError, TopicError
from ticdc_encoder.kafka.records import Located

_PATIENCE = 10.0
"""Longest wait, in seconds."""
_BATCH = 500
"""Records per batch."""
_SILENT = logging.getLogger(__name__)
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def records_of_topic(
    topic: str,
    config: Mapping[str, str],
    *,
    partition: int | None = None,
    offset: int | None = None,
    follow: bool = False,
) -> Iterator[Located]:
    """The records that the topic holds now, and with `follow` later ones; only of `partition`, and
    from `offset` on, if given. In order within each partition. `config` are librdkafka's settings.
    """
    failures: list[KafkaError] = []
    try:
        reader = Consumer(
            {
                "group.id": "ticdc-encoder",
                **config,
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "allow.auto.create.topics": False,
                "error_cb": failures.append,
            },
            logger=_SILENT,
        )
    except KafkaException as error:
        raise ConfigError(f"librdkafka refuses these settings: {_reason(error)}") from error
    with closing(reader):
        try:
            yield from _records(reader, topic, partition, offset, follow)
        except KafkaException as error:
            # The first failure names the cause, the last only that nothing is left to try.
            reason = failures[0].str() if failures else _reason(error)
            raise TopicError(f"{topic} cannot be read: {reason}") from error


def _records(
    reader: Consumer, topic: str, partition: int | None, offset: int | None, follow: bool
) -> Iterator[Located]:
    starts, ends = {}, {}
    for number in _partitions(reader, topic, partition):
        at = TopicPartition(topic, number)
        first, ends[number] = reader.get_watermark_offsets(at, _PATIENCE)
        starts[number] = first if offset is None else max(first, offset)
    open_ = {number for number, start in starts.items() if start < ends[number]}
    reader.assign(
        [TopicPartition(topic, n, at) for n, at in starts.items() if follow or n in open_]
    )
    while follow or open_:
        records = reader.consume(_BATCH, 1.0)
        for record in records:
            if (error := record.error()) is not None:
                raise KafkaException(error)
            number, position = record.partition() or 0, record.offset() or 0
            if follow or position < ends[number]:
                where = f"{topic}[{number}] offset {position}"
                yield Located(record.key(), record.value(), where, topic, number, position)
        if not follow:
            # A position may also pass what is not a record, such as a transaction's marker.
            reached = reader.position([TopicPartition(topic, n) for n in open_])
            open_ = {at.partition for at in reached if at.offset < ends[at.partition]}


def _partitions(reader: Consumer, topic: str, partition: int | None) -> list[int]:
    metadata = _listed(reader, topic)
    if metadata.error is not None:
        raise TopicError(f"{topic} cannot be read: {metadata.error.str()}")
    if partition is None:
        return sorted(metadata.partitions)
    if partition not in metadata.partitions:
        raise TopicError(f"{topic} has no partition {partition}, but {len(metadata.partitions)}")
    return [partition]


def _listed(reader: Consumer, topic: str) -> TopicMetadata:
    deadline = monotonic() + _PATIENCE
    while True:
        try:
            metadata: TopicMetadata = reader.list_topics(topic, 1.0).topics[topic]
            return metadata
        except KafkaException:
            reader.poll(0)  # librdkafka reports what failed here
            if monotonic() > deadline:
                raise


def _reason(error: KafkaException) -> str:
    cause = error.args[0]
    return str(cause.str()) if isinstance(cause, KafkaError) else str(cause)
