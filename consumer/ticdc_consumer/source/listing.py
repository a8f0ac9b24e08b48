"""Which topics and partitions a source has, and where they end."""

from collections.abc import Mapping
from dataclasses import dataclass

from ticdc_consumer.source.marks import TopicPartition


@dataclass(frozen=True, slots=True)
class Listing:
    """`ends` has every partition of every topic, with the offset after its last record;
    `topic_ids` is "" where the brokers have no ids (before Kafka 2.8), or no controller now."""

    ends: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str]

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(self.topic_ids))


@dataclass(frozen=True, slots=True)
class LogRecord:
    """What tells a record from another: `time` is Kafka's timestamp in ms, `crc` that of key and
    value."""

    offset: int
    time: int
    crc: int
