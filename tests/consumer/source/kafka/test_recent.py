"""What is remembered of a client's messages has no gap, and is bounded."""

from dataclasses import dataclass

import pytest
from confluent_kafka import KafkaError
from ticdc_consumer.source.kafka.recent import OVERHEAD, Recent

A, B = ("a", 0), ("b", 1)


@dataclass(frozen=True)
class Record:
    """Stands for librdkafka's message; one without a value is the end of its partition."""

    where: tuple[str, int]
    at: int
    content: bytes | None = b"x"

    def topic(self) -> str:
        return self.where[0]

    def partition(self) -> int:
        return self.where[1]

    def offset(self) -> int:
        return self.at

    def value(self) -> bytes | None:
        return self.content

    def error(self) -> KafkaError | None:
        return None if self.content else KafkaError(KafkaError._PARTITION_EOF)


def following(most_bytes: int = 1 << 20) -> Recent:
    recent = Recent(most_bytes)
    recent.begin(A, 5)
    recent.begin(B, 0)
    return recent


def offsets(recent: Recent, where: tuple[str, int], since: int) -> list[int]:
    return [message.offset() for message in recent.since(where, since)]


def test_messages_are_there_again_from_where_the_next_cut_begins() -> None:
    recent = following()
    recent.add([Record(A, 5), Record(B, 0), Record(A, 6), Record(A, 7)])
    assert (offsets(recent, A, 5), offsets(recent, A, 6), offsets(recent, B, 0)) == (
        [5, 6, 7],
        [6, 7],
        [0],
    )
    assert not recent.covers(A, 5)  # below what a cut began with


@pytest.mark.parametrize(
    ("offset", "covered"), [(4, False), (5, True), (6, True), (7, True), (8, False)]
)
def test_only_what_came_without_a_gap_is_covered(offset: int, covered: bool) -> None:
    recent = following()
    recent.add([Record(A, 5), Record(A, 6)])
    assert recent.covers(A, offset) is covered
    assert not recent.covers(("other", 0), 0)


def test_a_message_that_comes_again_is_there_once() -> None:
    recent = following()
    recent.add([Record(A, 5), Record(A, 6), Record(A, 5), Record(A, 6), Record(A, 7)])
    assert offsets(recent, A, 5) == [5, 6, 7]


def test_a_partition_may_end_behind_its_last_record() -> None:
    recent = following()
    recent.add([Record(A, 5), Record(A, 9, None)])
    assert (recent.reaches(A, 9), recent.reaches(A, 10), recent.covers(A, 9)) == (True, False, True)
    recent.add([Record(A, 9)])
    assert offsets(recent, A, 5) == [5, 9]


def test_messages_of_a_partition_not_followed_are_not_kept() -> None:
    recent = following()
    recent.drop(A)
    recent.add([Record(A, 5)])
    assert recent.partitions == {B}


def test_above_the_budget_all_is_forgotten_but_what_follows() -> None:
    recent = following(2 * OVERHEAD + 100)
    recent.add([Record(A, 5), Record(B, 0)])
    assert offsets(recent, A, 5) == [5]
    recent.add([Record(B, 1, b"x" * 200)])
    assert not recent.covers(A, 5)
    assert not recent.covers(B, 0)
    recent.add([Record(A, 6), Record(B, 2)])
    assert (offsets(recent, A, 6), offsets(recent, B, 2)) == ([6], [2])


def test_what_is_forgotten_makes_room() -> None:
    recent = following(3 * OVERHEAD)
    for offset in range(5, 50):
        recent.add([Record(A, offset)])
        assert offsets(recent, A, offset) == [offset]
