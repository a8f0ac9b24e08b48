"""A part of all rows, small enough to be compared while a consumer runs."""

from dataclasses import dataclass, replace
from typing import Self
from zlib import crc32

from ticdc_consumer.commands.verify.compare import Rows
from ticdc_consumer.commands.verify.pairs import Pair, Range
from ticdc_consumer.upstream.tables import relation

Ranges = tuple[Range, ...]

DAY = 86_400.0
"""Seconds in which each share has its turn."""
SMALLEST = 1 << 14
"""Least number of keys of a range."""
_RANGES = 4
"""Approximate ranges of a table in each share."""


@dataclass(frozen=True, slots=True)
class Share:
    """Number `number` of `shares`. A row stays in its share until its table has twice as many keys:
    its share follows from its key, and nothing needs to be stored. That holds if the first column
    of the key is an integer on both sides; any other table is in one share."""

    number: int
    shares: int

    @classmethod
    def at(cls, now: float, every: float) -> Self:
        """The share whose turn it is at `now`, in seconds since 1970."""
        shares = max(1, round(DAY / every))
        return cls(int(now // every) % shares, shares)

    def of(self, pair: Pair, upstream: Rows) -> Pair | None:
        """The part of a table in this share; None if there is none."""
        first = crc32(pair.name.encode())
        if (key := pair.number_key) is not None:
            ((low, high),) = upstream.query(
                f"SELECT MIN({key}), MAX({key}) FROM {relation(pair.table)}"  # noqa: S608
            )
            if low is not None:
                ranges = self.ranges(first, int(low), int(high))
                return replace(pair, ranges=ranges) if ranges else None
        return pair if first % self.shares == self.number else None

    def ranges(self, first: int, low: int, high: int) -> Ranges:
        """The ranges of keys from `low` to `high` in this share; `first` is the share of key 0. The
        outer ends are open: the target may have other keys beyond them."""
        size = size_of(self.shares, low, high)
        least, last = low // size, high // size
        return tuple(
            (
                None if block == least else block * size,
                None if block == last else (block + 1) * size,
            )
            for block in range(least, last + 1)
            if (block + first) % self.shares == self.number
        )


def size_of(shares: int, low: int, high: int) -> int:
    """The keys of a range: a power of two, so that few growing tables are divided again."""
    keys = (high - low) // (_RANGES * shares) + 1
    return max(SMALLEST, 1 << (keys - 1).bit_length())
