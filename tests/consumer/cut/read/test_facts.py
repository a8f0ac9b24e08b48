"""The maximum over the facts of one task, fact by fact."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from support.both_paths import layout_for
from ticdc_consumer.cut.read.facts import Conflict, Fact, FastRows, Fold
from ticdc_consumer.cut.read.time_zone import Zone
from ticdc_consumer.targets.layout import Layout
from ticdc_encoder.column import Column, ColumnType, Index
from ticdc_encoder.event import Table

ITEMS = Table.define(
    "shop",
    "items",
    (
        Column("id", ColumnType("int"), nullable=False),
        Column("name", ColumnType("varchar", length=9)),
    ),
    (Index("PRIMARY", ("id",), unique=True, primary=True, lengths=(None,)),),
)


def parsed(layout: Layout, pieces: Sequence[bytes]) -> list[pa.Array]:
    """A fast reader's pieces are `id,name` here."""
    rows = [piece.decode().split(",") for piece in pieces]
    return [pa.array([row[place].strip() for row in rows]) for place in (0, 1)]


@pytest.fixture
def fold() -> Fold:
    return Fold([layout_for(ITEMS, ("id",))], Zone("UTC"), parsed)


def held(commit_ts: int, name: str) -> Fact:
    return commit_ts, True, 0, commit_ts, {"id": "1", "name": name}


def gone(commit_ts: int) -> Fact:
    return commit_ts, False, 0, commit_ts, None


KEY = b"1"


def remains(fold: Fold) -> list[tuple[int, bool]]:
    """commit_ts of the facts that remain, and whether they are present."""
    return [
        (fact["commit_ts"], fact["present"]) for batch in fold.flush() for fact in batch.to_pylist()
    ]


@pytest.mark.parametrize(
    ("facts", "remaining", "duplicates"),
    [
        ([held(5, "a"), held(6, "b")], (6, True), 0),
        ([held(6, "b"), held(5, "a")], (6, True), 0),
        ([held(5, "a"), gone(5)], (5, True), 0),
        ([gone(5), held(5, "a")], (5, True), 0),
        ([held(5, "a"), held(5, "a"), held(5, "a")], (5, True), 2),
        ([gone(5), gone(5)], (5, False), 1),
    ],
)
def test_the_greatest_fact_of_a_key_remains_and_copies_count(
    fold: Fold, facts: list[Fact], remaining: tuple[int, bool], duplicates: int
) -> None:
    for fact in facts:
        fold.add(0, KEY, fact, 10)
    assert fold.counts.facts[0] == len(facts)
    assert fold.counts.duplicates[0] == duplicates
    assert fold.bytes == 10
    assert remains(fold) == [remaining]
    assert (fold.bytes, fold.counts.sent) == (0, 1)


@pytest.mark.parametrize("as_pieces", [False, True], ids=["decoded", "pieces"])
def test_two_different_rows_of_one_key_and_ts_are_a_conflict(fold: Fold, as_pieces: bool) -> None:
    known = (5, True, 0, 7, b"1,a") if as_pieces else held(5, "a")
    other = (5, True, 0, 8, b"1,b") if as_pieces else held(5, "b")
    fold.add(0, KEY, known, 10)
    with pytest.raises(
        Conflict, match=r"for key id=1 at commit_ts 5: columns name differ"
    ) as found:
        fold.add(0, KEY, other, 10)
    assert found.value.known == known
    assert found.value.table == ("shop", "items")


def test_rows_written_differently_of_the_same_meaning_are_copies(fold: Fold) -> None:
    fold.add(0, KEY, (5, True, 0, 7, b"1,a"), 10)
    fold.add(0, KEY, (5, True, 0, 8, b"1, a"), 10)
    assert fold.counts.duplicates[0] == 1
    assert remains(fold) == [(5, True)]


@pytest.mark.parametrize(
    ("changes", "remaining", "duplicates"),
    [
        ([(5, b"1,a", None), (6, None, KEY)], (6, False), 0),
        ([(6, None, KEY), (5, b"1,a", None)], (6, False), 0),
        ([(6, b"1,b", None), (5, None, KEY)], (6, True), 0),
        ([(5, None, KEY), (5, b"1,a", None)], (5, True), 0),
        ([(5, b"1,a", None), (5, None, KEY)], (5, True), 0),
        ([(5, b"1,a", None), (6, b"1,b", None), (5, b"1,a", None)], (6, True), 0),
        ([(5, b"1,a", None), (5, b"1,a", None)], (5, True), 1),
        ([(5, None, KEY), (5, None, KEY)], (5, False), 1),
        ([(5, None, KEY), (6, None, KEY), (5, None, KEY)], (6, False), 0),
        ([(5, b"1,a", KEY)], (5, True), 0),
    ],
)
def test_the_facts_of_a_fast_reader_are_folded_alike(
    fold: Fold,
    changes: list[tuple[int, bytes | None, bytes | None]],
    remaining: tuple[int, bool],
    duplicates: int,
) -> None:
    for offset, (commit_ts, body, absent) in enumerate(changes):
        present, bodies = (None, None) if body is None else ([KEY], [body])
        rows = FastRows(0, [commit_ts], present, bodies, [absent] if absent else None)
        fold.add_many(rows, [offset], 0, 10)
    assert fold.counts.facts[0] == len(changes)
    assert fold.counts.duplicates[0] == duplicates
    assert remains(fold) == [remaining]


def test_what_is_held_is_counted_in_bytes(fold: Fold) -> None:
    other = b"2"
    fold.add_many(FastRows(0, [5, 6], [KEY, KEY], [b"1,a", b"1,b"], None), [1, 2], 0, 10)
    assert fold.bytes == 10
    fold.add_many(FastRows(0, [7, 7], None, None, [KEY, other]), [3, 4], 0, 10)
    assert fold.bytes == 10 + 64
    fold.add_many(FastRows(0, [8], None, None, [other]), [5], 0, 10)
    assert fold.bytes == 10 + 64


def test_a_conflict_is_found_among_the_facts_of_a_fast_reader(fold: Fold) -> None:
    fold.add_many(FastRows(0, [5], [KEY], [b"1,a"], None), [7], 0, 10)
    with pytest.raises(Conflict, match="columns name differ"):
        fold.add_many(FastRows(0, [5], [KEY], [b"1,b"], None), [8], 0, 10)
