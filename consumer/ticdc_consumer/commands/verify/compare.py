"""The rows of one table, on both sides."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Protocol, TypeVar

from ticdc_consumer.commands.verify.fingerprint import Fingerprint, Row, buckets_of, groups
from ticdc_consumer.commands.verify.pairs import Pair
from ticdc_consumer.targets import read_back
from ticdc_consumer.targets.comparable import Comparable
from ticdc_consumer.targets.target import Target

ROWS_IN_MEMORY = 50_000
"""Most rows that are compared one by one; a hundredth of it where they may be long."""

Kind = Literal["missing", "extra", "differs"]
"""Kind of difference: the target lacks the row, only the target has it, or its columns differ."""

T = TypeVar("T")

Batches = Callable[[], Iterator[Sequence[Row]]]
"""Reads all rows of one side, from the beginning."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that is not the same on both sides, in comparable texts, None where a side lacks it.
    `columns` are those that differ."""

    kind: Kind
    key: tuple[tuple[str, str | None], ...]
    columns: tuple[str, ...]
    upstream: Row | None
    target: Row | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The number of rows of each side, and the differences; `whole` unless there are more."""

    upstream_rows: int
    target_rows: int
    differences: tuple[Difference, ...] = ()
    whole: bool = True


class Rows(Protocol):
    """The other side of a comparison: a session of the upstream, or of another target."""

    def query(self, statement: str) -> Sequence[Sequence[Any]]: ...

    def stream(
        self, statement: str, parameters: Sequence[object], rows: int
    ) -> Iterator[Sequence[tuple[Any, ...]]]: ...


def compare(pair: Pair, upstream: Rows, target: Target, most: int) -> Outcome:
    """Compares a table. Asks both databases for digests, if they print the columns alike, and reads
    the rows of the parts whose digests differ, else all; if rows differ, reads again to find at
    least `most` of them, if there are as many."""
    parts: Collection[int] | None = None
    same_rows = 0
    if pair.has_digests(target):
        parts, same_rows = _unlike_parts(pair, upstream, target)
        if not parts:
            return Outcome(same_rows, same_rows)

    def upstream_rows() -> Iterator[Sequence[Row]]:
        return _upstream(pair, upstream, parts)

    def target_rows() -> Iterator[Sequence[Row]]:
        return _target(pair, target, parts)

    theirs, ours = _both(
        lambda: _fingerprint(pair, upstream_rows), lambda: _fingerprint(pair, target_rows)
    )
    differences = list[Difference]()
    most_rows = ROWS_IN_MEMORY // (100 if pair.long else 1)
    left = groups(ours.unlike(theirs), ours, theirs, most_rows)
    while left and len(differences) < most:
        differences += _in_buckets(pair, left.pop(0), upstream_rows, target_rows)
    rows = theirs.rows + same_rows, ours.rows + same_rows
    return Outcome(*rows, tuple(differences), whole=not left)


def _both(upstream: Callable[[], T], target: Callable[[], T]) -> tuple[T, T]:
    """Both results; each database works while the other side waits for its own."""
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(upstream)
        ours = target()
        return theirs.result(), ours


def _unlike_parts(pair: Pair, upstream: Rows, target: Target) -> tuple[frozenset[int], int]:
    """The parts whose digests differ, and the number of rows of the others."""

    def ours_by_part() -> dict[int, tuple[int, int]]:
        with target.errors(pair.layout):
            return _by_part(target.query(pair.target_digests()))

    theirs, ours = _both(lambda: _by_part(upstream.query(pair.upstream_digests())), ours_by_part)
    parts = ours.keys() | theirs.keys()
    unlike = frozenset(part for part in parts if ours.get(part) != theirs.get(part))
    return unlike, sum(count for part, (count, _) in ours.items() if part not in unlike)


def _by_part(rows: Iterable[Sequence[Any]]) -> dict[int, tuple[int, int]]:
    return {int(part): (int(count), int(total)) for part, count, total in rows}


def _fingerprint(pair: Pair, batches: Batches) -> Fingerprint:
    fingerprint = Fingerprint()
    for rows in batches():
        fingerprint.add(rows, pair.key_of)
    return fingerprint


def _in_buckets(
    pair: Pair, buckets: frozenset[int], upstream: Batches, target: Batches
) -> Iterator[Difference]:
    theirs, ours = _both(
        lambda: _by_key(pair, buckets, upstream), lambda: _by_key(pair, buckets, target)
    )
    for key in dict.fromkeys([*theirs, *ours]):
        yield from _of_key(pair, theirs.get(key, []), ours.get(key, []))


def _by_key(pair: Pair, buckets: frozenset[int], batches: Batches) -> dict[Any, list[Row]]:
    rows_by_key: defaultdict[Any, list[Row]] = defaultdict(list)
    for rows in batches():
        for bucket, row in zip(buckets_of(rows, pair.key_of).tolist(), rows, strict=True):
            if bucket in buckets:
                rows_by_key[pair.key_of(row)].append(row)
    return rows_by_key


def _of_key(pair: Pair, theirs: list[Row], ours: list[Row]) -> Iterator[Difference]:
    """Differences of one key. Several rows may have it, without any key or without this key in the
    target's table."""
    for row in list(theirs):
        if row in ours:
            theirs.remove(row)
            ours.remove(row)
    for number in range(max(len(theirs), len(ours))):
        yield _difference(
            pair,
            theirs[number] if number < len(theirs) else None,
            ours[number] if number < len(ours) else None,
        )


def _difference(pair: Pair, theirs: Row | None, ours: Row | None) -> Difference:
    names = [column.name for column in pair.columns]
    row = theirs if theirs is not None else ours
    assert row is not None
    values = dict(zip(names, row, strict=True))
    key = tuple((name, values[name]) for name in pair.key)
    if theirs is None or ours is None:
        return Difference("missing" if ours is None else "extra", key, (), theirs, ours)
    differing = tuple(
        name for name, one, other in zip(names, theirs, ours, strict=True) if one != other
    )
    return Difference("differs", key, differing, theirs, ours)


# --- the rows of a side ------------------------------------------------------------------------


def _upstream(pair: Pair, session: Rows, parts: Collection[int] | None) -> Iterator[Sequence[Row]]:
    columns = [column.upstream for column in pair.columns]
    for records in session.stream(pair.upstream_rows(parts), (), pair.at_once):
        yield _compared(columns, records)


def _target(pair: Pair, target: Target, parts: Collection[int] | None) -> Iterator[Sequence[Row]]:
    columns = [column.target for column in pair.columns]
    with target.errors(pair.layout):
        rows = read_back(target.dialect).rows(target, pair.target_rows(parts))
        for records in batched(rows, pair.at_once):
            yield _compared(columns, records)


def batched(rows: Iterable[tuple[Any, ...]], at_once: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yields batches of at most `at_once` rows."""
    rows = iter(rows)
    while batch := list(islice(rows, at_once)):
        yield batch


def _compared(columns: Sequence[Comparable], records: Sequence[tuple[Any, ...]]) -> Sequence[Row]:
    """The rows in comparable form."""
    if not any(column.convert for column in columns):
        return records
    converted = [
        values
        if column.convert is None
        else [None if value is None else column.convert(value) for value in values]
        for column, values in zip(columns, zip(*records, strict=True), strict=True)
    ]
    return list(zip(*converted, strict=True))
