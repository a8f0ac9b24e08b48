"""Containers for data that go with every Spark job and seldom change: pickled once, unpickled where
needed.
"""

import operator
import pickle
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

BLOCK = 32
"""Items that are pickled together: a single one does not compress."""


class PickledOnce(tuple[T, ...], Generic[T]):
    """A tuple that is pickled once, and unpickled once in each process that receives it."""

    _packed: bytes | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._packed is None:
            self._packed = _packed(self)
        return _unpickled, (self._packed,)


class PickledInBlocks(Sequence[T], Generic[T]):
    """A sequence pickled in blocks. A process unpickles only the blocks that it asks for; only
    blocks that differ from those `before` are pickled again."""

    def __init__(self, items: Iterable[T] = (), before: "PickledInBlocks[T] | None" = None) -> None:
        every = tuple(items)
        old = before._blocks if before is not None else ()
        self._length = len(every)
        self._blocks: tuple[_Block[T], ...] = tuple(
            _same(old[number // BLOCK], every[number : number + BLOCK])
            if number // BLOCK < len(old)
            else _Block(every[number : number + BLOCK])
            for number in range(0, len(every), BLOCK)
        )

    def __eq__(self, other: object) -> bool:
        """Returns whether both are known to have the same items, without inspecting them."""
        return isinstance(other, PickledInBlocks) and self._blocks == other._blocks

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        number = index % self._length
        return self._blocks[number // BLOCK].items()[number % BLOCK]


class _Block(Generic[T]):
    """Holds the items, their pickled form, or both."""

    def __init__(self, items: tuple[T, ...] | None, packed: bytes | None = None) -> None:
        self._items, self._packed = items, packed

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, _Block) and self._packed is not None and self._packed == other._packed
        )

    def items(self) -> tuple[T, ...]:
        if self._items is None:
            assert self._packed is not None
            self._items = unpacked(self._packed)
        return self._items

    def __reduce__(self) -> tuple[Any, ...]:
        if self._packed is None:
            self._packed = _packed(self.items())
        return _Block, (None, self._packed)


def _same(block: _Block[T], items: tuple[T, ...]) -> _Block[T]:
    """The block if it has these very items, else a new one."""
    existing = block.items()
    if len(existing) == len(items) and all(map(operator.is_, existing, items)):
        return block
    return _Block(items)


def _packed(items: Iterable[Any]) -> bytes:
    return zlib.compress(pickle.dumps(tuple(items)), 1)


@lru_cache(maxsize=2)
def _unpickled(packed: bytes) -> PickledOnce[Any]:
    return PickledOnce(pickle.loads(zlib.decompress(packed)))


@lru_cache(maxsize=512)
def unpacked(packed: bytes) -> tuple[Any, ...]:
    """A block's items, kept for later tasks."""
    items: tuple[Any, ...] = pickle.loads(zlib.decompress(packed))
    return items
