"""Small cuts are read by a consumer that stays where the cut before ended."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Consumer
from support import brokers
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source.kafka import follower, scout
from ticdc_consumer.source.kafka.follower import Follower
from ticdc_consumer.source.kafka.scout import Scout
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.source.records import Records
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import RowChange
from ticdc_encoder.message import Message


@dataclass
class Progress:
    position: int
    end: int
    done: bool = False

    def keep(self, offset: int) -> None:
        raise AssertionError


@dataclass
class Receiver:
    """Takes messages until each partition's end, as a task does."""

    partitions: dict[TopicPartition, Progress]
    values: list[bytes | None] = field(default_factory=list)

    @property
    def progress(self) -> Mapping[TopicPartition, Progress]:
        return self.partitions

    def feed(
        self, progress: Progress, key: bytes | None, value: bytes | None, offset: int, time: int
    ) -> None:
        raise AssertionError

    def feed_records(self, progress: Progress, records: Records) -> None:
        self.values += records.values
        progress.position = records.offsets[-1] + 1

    def wants(self, name: tuple[str, str]) -> bool:
        return True

    reads = wants

    def feed_file(
        self, progress: Progress, content: bytes, offset: int, changes: Iterable[RowChange]
    ) -> Iterator[None]:
        raise AssertionError

    def complete(self) -> Iterator[None]:
        return iter(())


class Counted(Consumer):
    """librdkafka's, with every record counted that it gives, and every assignment."""

    records = assignments = 0

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Any]:
        messages = super().consume(num_messages, timeout)
        Counted.records += sum(message.error() is None for message in messages)
        return messages

    def incremental_assign(self, partitions: Any) -> None:
        Counted.assignments += 1
        super().incremental_assign(partitions)


@pytest.fixture(autouse=True)
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    Counted.records = Counted.assignments = 0
    monkeypatch.setattr(scout, "Consumer", Counted)
    monkeypatch.setattr(follower, "Consumer", Counted)


@dataclass
class Topic:
    kafka: brokers.Kafka
    name: str
    scout: Scout
    follower: Follower

    def send(self, partition: int, *values: bytes) -> None:
        self.kafka.produce(Message(self.name, partition, None, value) for value in values)

    def read(self, *spans: tuple[int, int, int]) -> list[bytes | None]:
        """The values of (partition, from, to)."""
        receiver = Receiver({(self.name, n): Progress(start, end) for n, start, end in spans})
        for _ in self.follower.read(receiver, 1000):
            pass
        assert all(progress.done for progress in receiver.progress.values())
        return sorted(receiver.values, key=str)


Make = Callable[[int], Topic]


@pytest.fixture
def make(mock_kafka: brokers.Mock) -> Iterator[Make]:
    """A topic with so many partitions; the scout follows its partition 0."""
    topics: list[Topic] = []

    def make(partitions: int) -> Topic:
        name = mock_kafka.create_topic("orders", partitions)
        options = Settings(
            changefeed="c",
            protocol="canal-json",
            topics=(name,),
            kafka={**mock_kafka.config, "log_level": "2"},
            target_url="sqlite://",
        )
        leader = Scout(options, Schemas(options))
        leader.follow({name: 0})
        topics.append(Topic(mock_kafka, name, leader, Follower(options.kafka, leader.recent)))
        return topics[-1]

    yield make
    for topic in topics:
        topic.follower.close()
        topic.scout.close()


def test_what_a_cut_left_is_not_fetched_again(make: Make) -> None:
    topic = make(2)
    topic.send(1, b"a", b"b", b"c", b"d")
    assert topic.read((1, 0, 2)) == [b"a", b"b"]
    assert topic.read((1, 1, 4)) == [b"b", b"c", b"d"]
    topic.send(1, b"e")
    assert topic.read((1, 4, 5)) == [b"e"]
    assert (Counted.records, Counted.assignments) == (5, 2)  # the scout's and the follower's


def test_a_cut_that_begins_before_what_is_known_is_fetched(make: Make) -> None:
    topic = make(2)
    topic.send(1, b"a", b"b", b"c")
    assert topic.read((1, 2, 3)) == [b"c"]
    assert topic.read((1, 0, 3)) == [b"a", b"b", b"c"]
    assert topic.read((1, 1, 2)) == [b"b"]


def test_partition_0_is_what_the_scout_has_read(make: Make) -> None:
    topic = make(2)
    changefeed = Changefeed(
        f"kafka://x/{topic.name}?protocol=canal-json&enable-tidb-extension=true"
    )
    (mark,) = [m.value for m in changefeed.resolve(7) if m.partition == 0]
    assert mark is not None
    topic.send(0, mark, mark)
    topic.send(1, b"a")
    topic.scout.read_to(1 << 60, {topic.name: 2}, 10)
    assert topic.read((0, 0, 2), (1, 0, 1)) == sorted([mark, mark, b"a"], key=str)
    assert topic.read((0, 1, 2)) == [mark]
    assert Counted.records == 3


def test_what_the_scout_has_no_more_is_fetched(make: Make) -> None:
    topic = make(1)
    topic.scout.recent.begin((topic.name, 0), 2)
    topic.send(0, b"a", b"b", b"c")
    assert topic.read((0, 1, 3)) == [b"b", b"c"]


def test_after_a_release_nothing_is_followed(make: Make) -> None:
    topic = make(3)
    topic.send(1, b"a")
    topic.send(2, b"b")
    assert topic.read((1, 0, 1), (2, 0, 1)) == [b"a", b"b"]
    topic.follower.release()
    assert topic.follower._consumer.assignment() == []
    topic.send(1, b"c")
    assert topic.read((1, 1, 2)) == [b"c"]


def test_an_offset_that_the_log_has_lost_stops(make: Make) -> None:
    topic = make(2)
    topic.send(1, b"a")
    topic.send(1, b"b")
    topic.kafka.delete_records(topic.name, 1, 1)
    with pytest.raises(Stop, match="no longer holds offset 0"):
        topic.read((1, 0, 2))
