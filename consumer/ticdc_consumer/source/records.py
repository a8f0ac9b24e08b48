"""Records of one partition, as librdkafka gives them."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import methodcaller
from typing import Any

Record = tuple[bytes | None, bytes | None, int, int]
"""Key, value, offset and Kafka's timestamp in ms."""

_key, _value, _offset = map(methodcaller, ("key", "value", "offset"))


class Records:
    """Records of one partition below `end`, in the order of their offsets. Kept by column: fields
    that are rarely needed are not fetched for all."""

    def __init__(self, messages: Sequence[Any], end: int) -> None:
        offsets = [*map(_offset, messages)]
        self._messages = messages[: bisect_left(offsets, end)]
        self.offsets: list[int] = offsets[: len(self._messages)]
        self.values: list[bytes | None] = [*map(_value, self._messages)]

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, index: int) -> Record:
        return self.keys[index], self.values[index], self.offsets[index], self.time(index)

    def __iter__(self) -> Iterator[Record]:
        return map(self.__getitem__, range(len(self)))

    @cached_property
    def keys(self) -> list[bytes | None]:
        return [*map(_key, self._messages)]

    def time(self, index: int) -> int:
        return int(self._messages[index].timestamp()[1])
