"""The last messages of partitions, kept for the next cut."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from confluent_kafka import KafkaError

from ticdc_consumer.source.marks import TopicPartition

MOST_BYTES = 8 << 20
"""Approximate bytes of messages that are remembered, over all partitions."""
OVERHEAD = 300
"""Approximate bytes of a message without its value."""


class Recent:
    """Messages of each partition from an offset on, without a gap, as a client returned them. Above
    a budget of bytes all earlier ones are forgotten."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._messages: dict[TopicPartition, deque[Any]] = {}
        self._begins: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}

    def begin(self, topic_partition: TopicPartition, offset: int) -> None:
        """Notes that the client returns this partition from `offset` from here on."""
        self.drop(topic_partition)
        self._messages[topic_partition] = deque()
        self._begins[topic_partition] = self._ends[topic_partition] = offset

    def drop(self, topic_partition: TopicPartition) -> None:
        """Notes that the client no longer returns the partition."""
        for message in self._messages.pop(topic_partition, ()):
            self._bytes -= _size(message)
        self._begins.pop(topic_partition, None)
        self._ends.pop(topic_partition, None)

    def add(self, messages: Iterable[Any]) -> None:
        """Takes all messages of the client, in its order: records, and the ends of partitions."""
        for message in messages:
            topic_partition = message.topic(), message.partition()
            if topic_partition not in self._ends:
                continue
            error, offset = message.error(), message.offset()
            if error is None and offset >= self._ends[topic_partition]:
                self._messages[topic_partition].append(message)
                self._bytes += _size(message)
                self._ends[topic_partition] = offset + 1
            elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                # The last offsets may belong to no record (transaction markers, compaction).
                self._ends[topic_partition] = max(offset, self._ends[topic_partition])
        if self._bytes > self._most_bytes:
            self.forget()

    def forget(self) -> None:
        """Drops all messages; continues with the next."""
        for topic_partition, end in list(self._ends.items()):
            self.begin(topic_partition, end)

    def covers(self, topic_partition: TopicPartition, offset: int) -> bool:
        """Returns whether all messages from `offset` on are here, or will be once the client
        returns them."""
        begin = self._begins.get(topic_partition)
        return begin is not None and begin <= offset <= self._ends[topic_partition]

    def reaches(self, topic_partition: TopicPartition, offset: int) -> bool:
        """Returns whether the client has returned everything below `offset`."""
        return self._ends.get(topic_partition, -1) >= offset

    def since(self, topic_partition: TopicPartition, offset: int) -> list[Any]:
        """Returns the messages from `offset` on, which must be covered; forgets those before."""
        messages = self._messages[topic_partition]
        while messages and messages[0].offset() < offset:
            self._bytes -= _size(messages.popleft())
        self._begins[topic_partition] = offset
        return list(messages)

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        return frozenset(self._ends)


def _size(message: Any) -> int:
    return len(message.value() or b"") + OVERHEAD
