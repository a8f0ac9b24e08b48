"""Compares sets of rows in any order, in memory that does not grow with them.

Rows go into buckets by their keys. The number of rows and the sum of their hashes are known for
each bucket: two sets of rows whose sums are equal in all buckets are equal, except with a chance of
about 2^-64. Python keys its hashes of texts newly in each process, so that no row can be made to
look like another.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

BUCKETS = 1 << 14

Row = tuple[str | None, ...]
"""The comparable texts of a row's columns."""
KeyOf = Callable[[Row], Any]
"""Returns the values of the columns that identify a row, or the row itself."""

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


def buckets_of(rows: Sequence[Row], key_of: KeyOf) -> Numbers:
    hashes = np.fromiter(map(hash, map(key_of, rows)), np.int64, len(rows))
    return hashes & (BUCKETS - 1)


class Fingerprint:
    """Fingerprint of all rows that were added."""

    def __init__(self) -> None:
        self.counts = np.zeros(BUCKETS, np.int64)
        self._sums = np.zeros(BUCKETS, np.int64)

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    def add(self, rows: Sequence[Row], key_of: KeyOf) -> None:
        buckets = buckets_of(rows, key_of)
        self.counts += np.bincount(buckets, minlength=BUCKETS)
        # Sums wrap around.
        np.add.at(self._sums, buckets, np.fromiter(map(hash, rows), np.int64, len(rows)))

    def unlike(self, other: "Fingerprint") -> list[int]:
        """The buckets that are not equal."""
        differ = (self.counts != other.counts) | (self._sums != other._sums)
        return [int(bucket) for bucket in np.flatnonzero(differ)]


def groups(
    buckets: Sequence[int], one: Fingerprint, other: Fingerprint, most: int
) -> list[frozenset[int]]:
    """Groups of buckets whose rows fit into memory: at most `most` rows of either side, or one
    bucket."""
    sizes = np.maximum(one.counts, other.counts)
    grouped, rows = list[list[int]](), most
    for bucket in buckets:
        rows += int(sizes[bucket])
        if rows > most:
            grouped.append([])
            rows = int(sizes[bucket])
        grouped[-1].append(bucket)
    return [frozenset(group) for group in grouped]
