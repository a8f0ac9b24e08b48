"""The plan is pure: marks and DDL in, the next cut out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ticdc_consumer.cut import cuts
from ticdc_consumer.cut.cuts import (
    FIRST_MESSAGES,
    LAST_ROWS,
    Cut,
    Estimates,
    choose,
    end_of_cut,
    lag_of,
    messages_before,
    shares,
)
from ticdc_consumer.source.marks import Mark, SeenDdl
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
    result = choose(applied, [Mark(ts) for ts in marks], lambda mark: mark.resolved_ts <= room)
    assert (result and result.resolved_ts) == chosen


ENDS = [
    ("without DDL the mark is the end", 5, 9, [], 9, []),
    ("a cut ends just after the least DDL", 5, 9, [8, 7], 8, [7]),
    ("a DDL of the mark's own ts belongs to the next cut", 5, 9, [9], 9, []),
    ("a DDL of the applied ts belongs to this one", 5, 9, [5], 6, [5]),
    ("a DDL below is a replay", 5, 9, [4, 1], 9, []),
    ("all DDL of one ts come together", 5, 9, [7, 8, 7], 8, [7, 7]),
]


@pytest.mark.parametrize(
    ("applied", "reach", "ddls", "end", "selected"), [e[1:] for e in ENDS], ids=[e[0] for e in ENDS]
)
def test_the_end_of_a_cut(
    applied: int, reach: int, ddls: list[int], end: int, selected: list[int]
) -> None:
    result, followers = end_of_cut(applied, reach, [ddl(ts) for ts in ddls])
    assert (result, [seen.ddl.commit_ts for seen in followers]) == (end, selected)


SHARED = [
    ("all, up to the mark", [5, 6, 8, 9], [], 100, 9, [5, 6, 8]),
    ("no more than may", [5, 6, 8], [], 2, 7, [5, 6]),
    ("not a part of one commit_ts", [5, 6, 6], [], 2, 6, [5]),
    ("not what must be alone", [5, 6, 8], [6], 100, 6, [5]),
    ("not after what must be alone", [5, 6, 8], [5], 100, 6, [5]),
    ("none of a commit_ts that has one that must be alone", [5, 6, 6], [6], 100, 6, [5]),
    ("one each, if one may", [5, 6], [], 1, 6, [5]),
    ("the first commit_ts is never divided", [5, 5, 5], [], 2, 6, [5, 5, 5]),
]


@pytest.mark.parametrize(
    ("ddls", "alone", "most", "end", "selected"),
    [s[1:] for s in SHARED],
    ids=[s[0] for s in SHARED],
)
def test_ddl_that_may_share_a_cut_do(
    ddls: list[int], alone: list[int], most: int, end: int, selected: list[int]
) -> None:
    def may_share(seen: SeenDdl) -> bool:
        return seen.ddl.commit_ts not in alone

    result, followers = end_of_cut(5, 9, [ddl(ts) for ts in ddls], most, may_share)
    assert (result, [seen.ddl.commit_ts for seen in followers]) == (end, selected)


def test_ddl_of_one_commit_ts_follow_topic_and_first_offset() -> None:
    seen = [ddl(7, "b", 1), ddl(7, "a", 9), ddl(7, "a", 2)]
    assert [(s.topic, s.offset) for s in end_of_cut(5, 9, seen)[1]] == [
        ("a", 2),
        ("a", 9),
        ("b", 1),
    ]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=20), st.integers(1, 6), st.floats(0, 1))
def test_every_offset_is_of_one_task_and_one_span(lags: list[int], tasks: int, part: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts, "LEAST_SPAN", 5)
        groups = shares(cut_of(dict(enumerate(lags)), part), tasks, divisible=True)
    assert 1 <= len(groups) <= tasks
    assert all(len({span.number for span in group}) == len(group) > 0 for group in groups)
    read = [(s.number, at) for group in groups for s in group for at in range(s.start, s.end)]
    assert sorted(read) == [(n, 5 + at) for n, lag in enumerate(lags) for at in range(lag)]


def cut_of(lags: dict[int, int], part: float = 1.0) -> Cut:
    """Of partitions that are read from offset 5, `part` of whose messages are before its end."""
    starts = {("t", number): 5 for number in lags}
    ends = {("t", number): 5 + lag for number, lag in lags.items()}
    messages = part * sum(lags.values())
    return Cut(0, 9, Mark(9), starts, ends, {"t": ""}, messages=messages)


SHARES = [
    ("the heaviest apart from the others", {0: 9, 1: 3, 2: 4}, 2, [[0], [2, 1]]),
    ("what has nothing to read is left out", {0: 0, 1: 3, 2: 0}, 2, [[1]]),
    ("one finds that there is nothing", {0: 0, 1: 0}, 2, [[0]]),
    ("a source without partitions", {}, 2, [[]]),
]


@pytest.mark.parametrize(
    ("lags", "tasks", "groups"), [s[1:] for s in SHARES], ids=[s[0] for s in SHARES]
)
def test_the_shares_of_tasks(lags: dict[int, int], tasks: int, groups: list[list[int]]) -> None:
    cut = cut_of(lags)
    read = shares(cut, tasks)
    assert [[span.number for span in group] for group in read] == groups
    assert all(span[1:] == (5, 5 + lags[span.number]) for group in read for span in group)
    assert cut.offsets == sum(lags.values())


DIVIDED = [
    ("alike for each task", {0: 80_000}, 1.0, 2, [(0, 5, 40_005), (0, 40_005, 80_005)]),
    ("all of it, if nobody knows", {0: 80_000}, 0.0, 2, [(0, 5, 40_005), (0, 40_005, 80_005)]),
    ("the last goes on to the end", {0: 80_000}, 0.5, 2, [(0, 5, 20_005), (0, 20_005, 80_005)]),
    (
        "only the large one",
        {0: 90_000, 1: 30_000},
        1.0,
        3,
        [(0, 5, 45_005), (0, 45_005, 90_005), (1, 5, 30_005)],
    ),
    (
        "not what is as large as the rest",
        {0: 60_000, 1: 60_000},
        1.0,
        2,
        [(0, 5, 60_005), (1, 5, 60_005)],
    ),
    ("not into small parts", {0: 29_000}, 1.0, 8, [(0, 5, 29_005)]),
    ("not if the cut has little of it", {0: 900_000}, 0.03, 8, [(0, 5, 900_005)]),
]


@pytest.mark.parametrize(
    ("lags", "part", "tasks", "spans"), [d[1:] for d in DIVIDED], ids=[d[0] for d in DIVIDED]
)
def test_a_large_partition_is_divided(
    lags: dict[int, int], part: float, tasks: int, spans: list[tuple[int, int, int]]
) -> None:
    groups = shares(cut_of(lags, part), tasks, divisible=True)
    assert sorted(span for group in groups for span in group) == spans
    assert all(len(group) == 1 for group in groups)
    assert len(shares(cut_of(lags, part), tasks)) == min(tasks, len(lags))


def test_estimates_follow_the_last_cut_that_is_large_enough() -> None:
    first = Estimates(rows_per_message=1.0)
    assert first.fit_memory(1 << 40, budget=0)
    assert first.after(messages=1_000, rows=9_000, size=9_000) == first
    assert first.after(messages=2_000, rows=4_000, size=20_000) == Estimates(2.0, 10.0)
    assert first.after(messages=2_000, rows=0, size=0).rows_per_message == 0.1
    assert Estimates(2.0, 10.0).fit_memory(100, budget=1_000)
    assert not Estimates(2.0, 10.0).fit_memory(101, budget=1_000)


FITS = [
    ("few enough rows, and bytes", Estimates(2.0, 10.0), 100, 200, 1_000, True),
    ("too many rows", Estimates(2.0, 10.0), 101, 200, 2_000, False),
    ("too many bytes", Estimates(2.0, 10.0), 101, 300, 1_000, False),
    (
        "the size is not known: as many as may be read blindly",
        Estimates(1.0),
        50_000,
        1 << 40,
        1,
        True,
    ),
    ("the size is not known, and they are more", Estimates(1.0), 50_001, 1 << 40, 1 << 60, False),
]


@pytest.mark.parametrize(
    ("estimates", "messages", "rows", "budget", "fits"),
    [f[1:] for f in FITS],
    ids=[f[0] for f in FITS],
)
def test_a_cut_fits_by_rows_and_bytes(
    estimates: Estimates, messages: int, rows: int, budget: int, fits: bool
) -> None:
    assert FIRST_MESSAGES == 50_000
    assert estimates.fit_cut(messages, rows, budget) == fits


MOST = [
    ("half of a backlog", Estimates(2.0), 250_000, 400_000, 250_000),
    ("never more than a cut may have", Estimates(2.0), 500_000, 400_000, 400_000),
    ("the last cuts but one", Estimates(0.5), 400_004, 400_000, 100_001),
    ("the last one", Estimates(0.5), 400_002, 400_000, 400_000),
    ("smaller cuts are asked for", Estimates(1.0), 1_000_000, 1_000, 1_000),
]


@pytest.mark.parametrize(
    ("estimates", "lag", "rows", "most"), [m[1:] for m in MOST], ids=[m[0] for m in MOST]
)
def test_the_last_cuts_of_a_backlog_get_smaller(
    estimates: Estimates, lag: int, rows: int, most: int
) -> None:
    assert LAST_ROWS == 100_000
    assert estimates.most_rows(lag, rows) == most


BEFORE = [
    ("half of its partition, half of all", Mark(9, 15, "t"), 15.0),
    ("all of its partition", Mark(9, 20, "t"), 30.0),
    ("beyond the listed end", Mark(9, 25, "t"), 30.0),
    ("the first that is read", Mark(9, 10, "t"), 0.0),
    ("before what is read", Mark(9, 1, "t"), 0.0),
    ("in no partition", Mark(9), 30.0),
    ("a DDL, by its own offset", ddl(9, offset=15), 15.0),
]


@pytest.mark.parametrize(
    ("record", "messages"), [b[1:] for b in BEFORE], ids=[b[0] for b in BEFORE]
)
def test_about_how_many_messages_are_before_a_record(
    record: Mark | SeenDdl, messages: float
) -> None:
    starts, ends = {("t", 0): 10, ("t", 1): 0}, {("t", 0): 20, ("t", 1): 20}
    assert messages_before(record, starts, ends, lag_of(starts, ends)) == messages


def test_all_precede_the_record_after_a_partitions_only_one() -> None:
    assert messages_before(Mark(9, 5, "t"), {("t", 0): 4}, {("t", 0): 5}, 30) == 30.0
