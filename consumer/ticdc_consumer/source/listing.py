"""The topics and partitions of a source, and their ends."""

from collections.abc import Mapping
from dataclasses import dataclass

from ticdc_consumer.source.marks import TopicPartition


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing. `ends` has every partition of every topic, with the offset after its last record;
    `topic_ids` is "" where the brokers have no ids (before Kafka 2.8), or no controller now."""

    ends: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str]

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(sorted(self.topic_ids))


@dataclass(frozen=True, slots=True)
class LogRecord:
    """The identity of a record: `time` is Kafka's timestamp in ms, `crc` that of key and value."""

    offset: int
    time: int
    crc: int
