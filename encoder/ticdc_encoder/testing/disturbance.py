"""Disturbances of a changefeed's messages that at-least-once delivery allows."""

from collections import deque
from collections.abc import Iterator, Sequence
from random import Random

from ticdc_encoder.message import Message

TopicPartition = tuple[str, int]


class Disturbance:
    """Duplicates, replays, restarts, and any order over partitions.

    Within a partition first copies keep their order, and nothing overtakes the mark that covers
    it: that is all that TiCDC promises.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        duplicates: float = 0.02,
        replays: float = 0.004,
        restarts: float = 0.05,
        slice_length: int = 50,
        waves: int = 3,
    ) -> None:
        """Takes the probabilities that each message is sent twice, that a slice ending with it is
        repeated, and that after each mark the last `waves` are sent again, in all partitions, marks
        included."""
        self.messages = 0
        self.repeated = 0
        self._random = Random(seed)
        self._duplicates, self._replays, self._restarts = duplicates, replays, restarts
        self._slice_length = slice_length
        self._tails: dict[TopicPartition, deque[Message]] = {}
        self._waves: deque[tuple[list[Message], list[Message]]] = deque(maxlen=waves)

    def wave(self, rows: Sequence[Message], marks: Sequence[Message]) -> Iterator[list[Message]]:
        """Batches to produce: the brokers must have acknowledged one before the next is sent."""
        self._waves.append((list(rows), list(marks)))
        yield self._interleaved([self._troubled(part) for part in _by_partition(rows).values()])
        yield self._marks(marks)
        if self._random.random() < self._restarts:
            for again, marks_again in list(self._waves):
                self.repeated += len(again) + len(marks_again)
                self.messages += len(again) + len(marks_again)
                yield self._interleaved(list(_by_partition(again).values()))
                yield marks_again

    def _troubled(self, messages: Sequence[Message]) -> list[Message]:
        """One partition's messages: 1 2 3 4 becomes 1 2 2 3 4, or 1 2 3 2 3 4."""
        sent: list[Message] = []
        for message in messages:
            tail = self._tail(message)
            tail.append(message)
            sent.append(message)
            if self._random.random() < self._duplicates:
                sent.append(message)
            if self._random.random() < self._replays:
                sent += list(tail)[-self._random.randint(1, len(tail)) :]
        self.messages += len(sent)
        self.repeated += len(sent) - len(messages)
        return sent

    def _marks(self, marks: Sequence[Message]) -> list[Message]:
        for mark in marks:
            self._tail(mark).append(mark)
        self.messages += len(marks)
        return self._random.sample(list(marks), len(marks))

    def _tail(self, message: Message) -> deque[Message]:
        """The last messages that were sent to this message's partition."""
        partition = (message.topic, message.partition)
        return self._tails.setdefault(partition, deque(maxlen=self._slice_length))

    def _interleaved(self, parts: list[list[Message]]) -> list[Message]:
        """One list in which each part keeps its order."""
        turns = [number for number, part in enumerate(parts) for _ in part]
        self._random.shuffle(turns)
        streams = [iter(part) for part in parts]
        return [next(streams[turn]) for turn in turns]


def _by_partition(messages: Sequence[Message]) -> dict[TopicPartition, list[Message]]:
    parts: dict[TopicPartition, list[Message]] = {}
    for message in messages:
        parts.setdefault((message.topic, message.partition), []).append(message)
    return parts
