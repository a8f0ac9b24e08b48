"""What a task is fed of a batch that the brokers gave, literally."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message
from ticdc_consumer.errors import Stop
from ticdc_consumer.source.kafka.tasks import feed
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.source.records import Records


@dataclass
class Progress:
    position: int
    end: int
    done: bool = False


@dataclass
class Receiver:
    progress: Mapping[TopicPartition, Progress]
    ends_at: int = 1 << 60
    fed: list[list[int]] = field(default_factory=list)

    def feed_records(self, progress: Progress, records: Records) -> None:
        self.fed.append(records.offsets)
        for _, _, offset, _ in records:
            progress.position = offset + 1
            progress.done |= offset == self.ends_at

    def complete(self) -> Iterator[None]:
        yield


def record(offset: int, partition: int = 0) -> Any:
    return Message(topic="t", partition=partition, offset=offset, key=b"k", value=b"v%d" % offset)


def event(offset: int, code: int = KafkaError._PARTITION_EOF, partition: int = 0) -> Any:
    return Message(topic="t", partition=partition, offset=offset, error=KafkaError(code))


@pytest.mark.parametrize(
    ("batch", "fed", "positions", "done"),
    [
        ([], [], [0, 0], [False, False]),
        ([record(0), record(1)], [[0, 1]], [2, 0], [False, False]),
        ([record(0), record(0, 1), record(1)], [[0], [0], [1]], [2, 1], [False, False]),
        ([record(8), record(9)], [[8, 9]], [10, 0], [True, False]),
        ([record(9), record(10), record(11)], [[9]], [10, 0], [True, False]),
        ([record(8), record(10)], [[8]], [9, 0], [True, False]),
        ([record(9), record(0, 1), record(10)], [[9], [0]], [10, 1], [True, False]),
        ([record(8), event(9)], [[8]], [9, 0], [False, False]),
        ([record(8), event(10)], [[8]], [9, 0], [True, False]),
        ([record(8), event(10), event(10, partition=1)], [[8]], [9, 0], [True, True]),
        ([event(10), record(0, 1), event(1, partition=1)], [[0]], [0, 1], [True, False]),
        ([event(0, partition=7), record(0, 7), record(0)], [[0]], [1, 0], [False, False]),
        ([event(0, KafkaError._TRANSPORT), record(0)], [[0]], [1, 0], [False, False]),
    ],
)
def test_consecutive_records_of_a_partition_come_together(
    batch: list[Any], fed: list[list[int]], positions: list[int], done: list[bool]
) -> None:
    both = [Progress(0, 10), Progress(0, 10)]
    receiver = Receiver({("t", number): progress for number, progress in enumerate(both)})
    assert len([*feed(receiver, [batch])]) == 2  # type: ignore[arg-type]
    assert receiver.fed == fed
    assert [progress.position for progress in both] == positions
    assert [progress.done for progress in both] == done


def test_nothing_is_fed_behind_the_mark_that_ended_a_partition() -> None:
    receiver = Receiver({("t", 0): Progress(0, 10)}, ends_at=1)
    for _ in feed(receiver, [[record(0), record(1)], [record(2)]]):  # type: ignore[arg-type]
        pass
    assert receiver.fed == [[0, 1]]


def test_a_truncated_log_stops_once_what_came_before_is_fed() -> None:
    receiver = Receiver({("t", 0): Progress(0, 10)})
    batch = [record(0), event(1, KafkaError.OFFSET_OUT_OF_RANGE), record(2)]
    with pytest.raises(Stop, match=r"t\[0\] no longer holds offset 1"):
        next(feed(receiver, [batch]))  # type: ignore[arg-type]
    assert receiver.fed == [[0]]
