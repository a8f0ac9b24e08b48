"""The plan is pure: marks and DDL in, the next cut out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ticdc_consumer.plan import Mark, SeenDdl, choose, end_of_cut, spread
from ticdc_encoder.event import Ddl


def ddl(commit_ts: int, topic: str = "t", offset: int = 0, query: str = "DROP TABLE a") -> SeenDdl:
    return SeenDdl(Ddl("s", "a", query, commit_ts), topic, offset)


CHOICES = [
    ("no mark at all", 5, [], 100, None),
    ("a mark that is applied already", 5, [5, 3], 100, None),
    ("the greatest mark whose rows fit", 5, [6, 9, 20], 12, 9),
    ("the least where even that does not fit: a commit_ts is never divided", 5, [8, 9], 3, 8),
    ("marks in any order, and again", 0, [7, 2, 7, 4], 100, 7),
]


@pytest.mark.parametrize(
    ("applied", "marks", "room", "chosen"), [c[1:] for c in CHOICES], ids=[c[0] for c in CHOICES]
)
def test_the_proof_of_a_cut(applied: int, marks: list[int], room: int, chosen: int | None) -> None:
    found = choose(applied, [Mark(ts) for ts in marks], lambda mark: mark.resolved_ts, room)
    assert (found and found.resolved_ts) == chosen


ENDS = [
    ("without DDL the mark is the end", 5, 9, [], 9, []),
    ("a cut ends just after the least DDL", 5, 9, [8, 7], 8, [7]),
    ("a DDL of the mark's own ts belongs to the next cut", 5, 9, [9], 9, []),
    ("a DDL of the applied ts belongs to this one", 5, 9, [5], 6, [5]),
    ("a DDL below is a replay", 5, 9, [4, 1], 9, []),
    ("all DDL of one ts come together", 5, 9, [7, 8, 7], 8, [7, 7]),
]


@pytest.mark.parametrize(
    ("applied", "reach", "ddls", "end", "taken"), [e[1:] for e in ENDS], ids=[e[0] for e in ENDS]
)
def test_the_end_of_a_cut(
    applied: int, reach: int, ddls: list[int], end: int, taken: list[int]
) -> None:
    found, together = end_of_cut(applied, reach, [ddl(ts) for ts in ddls])
    assert (found, [seen.ddl.commit_ts for seen in together]) == (end, taken)


def test_ddl_of_one_commit_ts_are_ordered_by_topic_and_first_offset() -> None:
    seen = [ddl(7, "b", 1), ddl(7, "a", 9), ddl(7, "a", 2)]
    assert [(s.topic, s.offset) for s in end_of_cut(5, 9, seen)[1]] == [
        ("a", 2),
        ("a", 9),
        ("b", 1),
    ]


@given(st.lists(st.integers(0, 100), max_size=20), st.integers(1, 6))
def test_partitions_are_spread_over_tasks_each_once(weights: list[int], tasks: int) -> None:
    places = [(("t", n), weight) for n, weight in enumerate(weights)]
    groups = spread(places, tasks)
    assert sorted(place for group in groups for place in group) == [place for place, _ in places]
    assert len(groups) <= tasks
    assert all(groups)
