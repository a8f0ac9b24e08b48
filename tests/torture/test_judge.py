"""What the kit says of looks at a target, by a history of a few rows."""

import pytest
from ticdc_torture.history import State
from ticdc_torture.judge import CHECKS, Judge
from ticdc_torture.target import Look

Rows = tuple[tuple[str, str], ...]


def table(*rows: str) -> State:
    """Rows of a table t (id, v), as `1a`."""
    return (("t", ("id", "v"), tuple(sorted((row[0], row[1:]) for row in rows))),)


STATES = [
    (0, table()),
    (10, table("1a")),
    (20, table("1a", "2b")),
    (30, table("1c")),
    (40, table()),
]
"""Transactions at 10, 20, 30 and 40; the table is empty again in the end."""
TO_30 = STATES[:4]

RIGHT = {
    "every state": [Look(state) for _, state in STATES],
    "some states": [Look(table()), Look(table("1c"))],
    "a state that comes twice": [Look(table()), Look(table("1a")), Look(table())],
    "with R": [
        Look(table(), 10),
        Look(table("1a"), 11),
        Look(table("1a"), 20),
        Look(table("1c"), 40),
    ],
    "with an R that was told before": [Look(table("1a", "2b"), reached=11)],
}


@pytest.mark.parametrize("looks", RIGHT.values(), ids=RIGHT.keys())
def test_right_looks_pass(looks: list[Look]) -> None:
    judge = Judge(STATES)
    for look in looks:
        judge.seen(look)
    assert judge.verdict.wrong == {}


WRONG = {
    "a part of a transaction": ("torn", [Look(table("2b"))], "beside 0, t: id=2 v=b is too much"),
    "an older state": ("back", [Look(table("1c")), Look(table("1a"))], "at 30, then at 10 again"),
    "not the state at R": (
        "resolved",
        [Look(table("1a"), 21)],
        "at R = 21: t: id=2 v=b is missing",
    ),
    "ahead of R": ("resolved", [Look(table("1a"), 10)], "at R = 10: t: id=1 v=a is too much"),
    "an R that goes back": (
        "back",
        [Look(table("1c"), 35), Look(table("1c"), 31)],
        "R was 35, then 31",
    ),
    "behind an R that was told": (
        "resolved",
        [Look(table("1a"), reached=21)],
        "behind R = 21: t: id=2 v=b is missing",
    ),
}


@pytest.mark.parametrize(("check", "looks", "words"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_look_is_named(check: str, looks: list[Look], words: str) -> None:
    judge = Judge(TO_30)
    for look in looks:
        judge.seen(look)
    assert {*judge.verdict.wrong} == {check}
    assert words in judge.verdict.wrong[check]


ENDS = {
    "a row is missing": ("lost", table(), "t: id=1 v=c is missing"),
    "a row is left": ("left", table("1c", "2b"), "t: id=2 v=b is too much"),
    "a row has old values": ("stale", table("1a"), "t: id=1 v=a, not id=1 v=c"),
    "a row is there twice": ("doubled", table("1c", "1c"), "t: id=1 v=c is there 2 times"),
    "a table is missing": ("tables", (), "table t is missing"),
    "a table has other columns": (
        "tables",
        (("t", ("id",), (("1",),)),),
        "table t has the columns id, not id, v",
    ),
}


@pytest.mark.parametrize(("check", "tables", "words"), ENDS.values(), ids=ENDS.keys())
def test_a_wrong_end_is_named(check: str, tables: State, words: str) -> None:
    judge = Judge(TO_30)
    judge.seen(Look(tables))
    judge.judge_the_end()
    assert not judge.is_over
    assert judge.verdict.wrong[check] == words
    assert {*judge.verdict.wrong} <= {check, "torn"} <= {*CHECKS}


def test_a_target_that_was_never_seen_is_not_right() -> None:
    judge = Judge(STATES)
    judge.judge_the_end()
    assert {*judge.verdict.wrong} == {"alive"}
