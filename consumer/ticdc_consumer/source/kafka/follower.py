"""Reads topics in the driver as a task: from cut to cut, without connecting or seeking."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as KafkaTopicPartition

from ticdc_consumer.source import ProgressT, Receiver
from ticdc_consumer.source.kafka import tasks
from ticdc_consumer.source.kafka.client import batches, consumer_settings
from ticdc_consumer.source.kafka.recent import MOST_BYTES, Recent
from ticdc_consumer.source.marks import TopicPartition

MOST_PREFETCHED = {"queued.max.messages.kbytes": "16384"}
"""Limit on prefetching: a small cut has no more, and other messages stay with the brokers."""


class Follower:
    """A consumer that stays at the end of the partitions that small cuts are read from. Messages
    above one cut are kept for the next. The scout's messages of partition 0 are used as far as they
    go: nothing is fetched twice. One thread at a time."""

    gives_messages = True

    def __init__(self, kafka: Mapping[str, str], scouted: Recent) -> None:
        self._kafka = kafka
        self._scouted = scouted
        self._recent = Recent(MOST_BYTES)

    @cached_property
    def _consumer(self) -> Consumer:
        return Consumer(consumer_settings({**MOST_PREFETCHED, **self._kafka}))

    def close(self) -> None:
        if "_consumer" in self.__dict__:
            self._consumer.close()

    def release(self) -> None:
        """Stops following, as while large cuts are read elsewhere."""
        self._unfollow(self._recent.partitions)

    def read(self, receiver: Receiver[ProgressT], size: int) -> Iterator[None]:
        yield from tasks.feed(receiver, self._messages(receiver.progress, size))

    def _messages(
        self, partitions: Mapping[TopicPartition, ProgressT], size: int
    ) -> Iterator[Sequence[Any]]:
        """Yields messages as `tasks.messages` does."""
        yield from self._remembered(self._scouted, partitions)
        rest = {name: progress for name, progress in partitions.items() if not progress.done}
        if not rest:
            return
        self._follow(rest)
        yield from self._remembered(self._recent, rest)
        if all(progress.done for progress in rest.values()):
            return
        for batch in batches(self._consumer, size, tasks.SILENCE):
            self._recent.add(batch)
            yield [*self._concerning(rest, batch)]
            if all(progress.done for progress in rest.values()):
                return

    def _remembered(
        self, recent: Recent, partitions: Mapping[TopicPartition, ProgressT]
    ) -> Iterator[Sequence[Any]]:
        """Yields messages that were fetched before. Partitions that lack nothing are done."""
        covered = {
            name: progress
            for name, progress in partitions.items()
            if not progress.done and recent.covers(name, progress.position)
        }
        messages = [
            message
            for name, progress in covered.items()
            for message in recent.since(name, progress.position)
        ]
        if messages:
            yield messages
        for name, progress in covered.items():
            progress.done |= recent.reaches(name, progress.end)

    def _follow(self, partitions: Mapping[TopicPartition, ProgressT]) -> None:
        """Makes the consumer follow these partitions from their present positions."""
        new = [
            (name, progress.position)
            for name, progress in partitions.items()
            if not self._recent.covers(name, progress.position)
        ]
        elsewhere = self._scouted.partitions - partitions.keys()
        self._unfollow(elsewhere | {name for name, _ in new})
        if new:
            self._consumer.incremental_assign([KafkaTopicPartition(*n, o) for n, o in new])
        for name, position in new:
            self._recent.begin(name, position)

    def _unfollow(self, partitions: Iterable[TopicPartition]) -> None:
        followed = self._recent.partitions.intersection(partitions)
        if followed:
            self._consumer.incremental_unassign([KafkaTopicPartition(*name) for name in followed])
        for name in followed:
            self._recent.drop(name)

    def _concerning(
        self, partitions: Mapping[TopicPartition, object], batch: Iterable[Any]
    ) -> Iterator[Any]:
        """Yields the messages without refusals for partitions that are not read now: the brokers
        are asked again when one is."""
        for message in batch:
            topic, error = message.topic(), message.error()
            name = topic, message.partition()
            if error is None or topic is None or name in partitions:
                yield message
            elif error.code() != KafkaError._PARTITION_EOF:
                self._unfollow([name])
