"""A row's history from what tasks observed: pure, with literal observations."""

from dataclasses import replace

import pytest
from ticdc_consumer.commands.trace.history import (
    Expected,
    expected,
    history,
    with_earlier_marks,
)
from ticdc_consumer.cut.read.row_key import Texts
from ticdc_consumer.cut.read.tracing import Kind, Observation

R = 100
ONE: Texts = {"id": "1"}
TWO: Texts = {"id": "2"}


def seen(
    commit_ts: int, kind: Kind, offset: int = 0, mark: int = 0, digest: str = "", partition: int = 0
) -> Observation:
    """A change of row 1."""
    is_before, is_after = kind in ("update", "delete"), kind in ("update", "insert")
    return Observation(
        *("t", partition, offset, offset, commit_ts, kind, mark),
        was=ONE if is_before else None,
        became=ONE if is_after else None,
        is_before=is_before,
        is_after=is_after,
        digest=digest,
    )


def other(commit_ts: int, kind: Kind, key: Texts) -> Observation:
    """A change of another row of the table."""
    one = seen(commit_ts, kind)
    was, became = (key if one.was else None), (key if one.became else None)
    return replace(one, was=was, became=became, is_before=False, is_after=False)


def ddl(commit_ts: int, query: str, partition: int = 0) -> Observation:
    return replace(seen(commit_ts, "ddl", partition=partition), query=query)


ROLES = [
    ([seen(10, "insert"), seen(20, "delete", 1)], ["change", "change"]),
    ([seen(10, "insert", 0), seen(10, "insert", 1)], ["change", "duplicate"]),
    ([seen(10, "insert", 0), seen(10, "insert", 5, mark=11)], ["change", "replay"]),
    ([seen(10, "insert", 5, mark=10)], ["change"]),
    ([seen(10, "insert", 5, mark=11)], ["replay"]),  # its first copy was before the log
    ([seen(10, "update", 0, digest="a"), seen(10, "update", 1, digest="b")], ["change", "change"]),
    ([ddl(10, "ALTER", 0), ddl(10, "ALTER", 1)], ["ddl"]),
]


@pytest.mark.parametrize(("observations", "roles"), ROLES)
def test_a_message_is_a_change_or_a_copy_of_one(
    observations: list[Observation], roles: list[str]
) -> None:
    assert [entry.role for entry in history(reversed(observations), R)] == roles


def test_what_is_below_r_is_applied() -> None:
    entries = history([seen(R - 1, "insert"), seen(R, "delete")], R)
    assert [entry.applied for entry in entries] == [True, False]
    assert [entry.applied for entry in history([seen(1, "insert")], None)] == [None]


HALVES = [
    ([seen(10, "delete"), seen(10, "insert", 1)], True, ()),
    ([seen(10, "delete"), other(10, "insert", TWO)], True, (TWO,)),
    ([seen(10, "insert"), other(10, "delete", TWO), other(10, "delete", TWO)], True, (TWO,)),
    ([seen(10, "delete"), other(10, "delete", TWO)], False, ()),
    ([seen(10, "delete"), other(11, "insert", TWO)], False, ()),
    ([replace(seen(10, "update"), became=TWO, is_after=False)], False, (TWO,)),
    ([seen(10, "update")], False, ()),
]


@pytest.mark.parametrize(("observations", "half", "others"), HALVES)
def test_both_halves_of_a_split_update_are_named(
    observations: list[Observation], half: bool, others: tuple[Texts, ...]
) -> None:
    entry = history(observations, R)[0]
    assert (entry.half, entry.others) == (half, others)


NET = [
    ([seen(10, "insert"), seen(20, "update", 1)], True),
    ([seen(10, "insert"), seen(20, "delete", 1)], False),
    ([seen(20, "insert"), seen(20, "delete", 1)], True),  # present wins at one commit_ts
    ([seen(20, "delete", 0), seen(10, "insert", 1)], False),  # whatever the order in the log
    ([seen(10, "insert"), seen(R, "delete", 1)], True),
    ([seen(R, "insert")], None),
    ([seen(10, "insert"), ddl(20, "TRUNCATE TABLE t")], None),
    ([seen(10, "insert"), ddl(20, "ALTER TABLE t DROP PARTITION p")], None),
    ([seen(10, "insert"), ddl(20, "ALTER TABLE t DROP COLUMN c")], True),
    ([ddl(5, "DROP TABLE t"), seen(10, "insert")], True),
    ([seen(10, "insert"), ddl(R, "DROP TABLE t")], True),
]


@pytest.mark.parametrize(("observations", "exists"), NET)
def test_the_net_change_up_to_r_is_the_greatest_fact(
    observations: list[Observation], exists: bool | None
) -> None:
    assert expected(history(observations, R), R).exists is exists


def test_a_log_without_the_row_says_nothing() -> None:
    assert expected([], R) == Expected(None, None, "the log has no change of the row below R")


def test_a_mark_in_a_part_that_another_task_read_counts() -> None:
    marks = [(("t", 0), 100, 7), (("t", 0), 0, 50), (("t", 0), 200, 90), (("t", 1), 0, 99)]
    observed = [seen(10, "insert", offset) for offset in (50, 150, 250)]
    assert [each.mark for each in with_earlier_marks(observed, marks)] == [0, 50, 50]
