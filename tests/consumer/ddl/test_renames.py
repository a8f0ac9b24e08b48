"""The renames of one statement: one RENAME TABLE where each DDL commits by itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import sqlalchemy as sa
from support.loading import (
    ACCOUNTS,
    AFTER,
    BEFORE,
    Bank,
    accounts,
    bank,
    crashes,
    open_bank,
    opened,
    place,
)
from ticdc_consumer.ddl import renames
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.names import MARKER_NAME
from ticdc_consumer.errors import Fenced, Stop
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.target import Target
from ticdc_encoder.sql.parser import parse_create_table

LOG = "CREATE TABLE log (id INT PRIMARY KEY, owner VARCHAR(20))"


def entry(query: str, table: str, seq: int) -> LedgerEntry:
    return LedgerEntry(199, seq, "bank", table, query)


SWAP = [
    entry("RENAME TABLE `bank`.`accounts` TO `bank`.`x`", "log", 1),
    entry("RENAME TABLE `bank`.`log` TO `bank`.`accounts`", "accounts", 2),
    entry("RENAME TABLE `bank`.`x` TO `bank`.`log`", "log", 3),
]


def run_pending(here: Bank) -> None:
    ddl.run_pending(here.ddl_context, here.store, retries=1)


def two_tables(here: Bank) -> None:
    """An empty `log` beside the accounts, with the same columns."""
    target = here.target
    log = parse_create_table(LOG, "bank")
    for text in target.create_table(*place(target, "log"), log):
        target.connection.exec_driver_sql(text, None, {"no_parameters": True})
    with target.transaction():
        here.store.ledger.define(ACCOUNTS)
        here.store.ledger.define(log)


def swapped(target: Target) -> bool:
    relation = target.quote(*place(target, "log"))
    rows = target.execute(f"SELECT id, owner FROM {relation} ORDER BY id").all()  # noqa: S608
    return accounts(target) == [] and list(map(tuple, rows)) == AFTER


def markers(target: Target) -> list[str]:
    target.connection.rollback()
    names = sa.inspect(target.connection).get_table_names()
    return [name for name in names if MARKER_NAME.fullmatch(name)]


def states(here: Bank) -> list[str]:
    return [entry.state for entry in here.store.ledger.entries()]


@contextmanager
def renaming(target: Target) -> Iterator[list[str]]:
    """The RENAME TABLE statements that run meanwhile."""
    ran: list[str] = []

    def watch(_connection: object, _cursor: object, text: str, *_: object) -> None:
        if text.startswith("RENAME TABLE"):
            ran.append(text)

    sa.event.listen(target.engine, "before_cursor_execute", watch)
    yield ran
    sa.event.remove(target.engine, "before_cursor_execute", watch)


@pytest.fixture
def by_itself(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bank]:
    """Two tables in SQLite, as if each of its DDL committed by itself."""
    with opened(sqlite_url) as target:
        here = bank(target)
        two_tables(here)
        monkeypatch.setattr(type(target), "transactional_ddl", False)
        yield here


DROP = "DROP TABLE `bank`.`log`"
BROKEN = "RENAME TABLE `bank`.`accounts`"
LATER = LedgerEntry(200, 1, "bank", "y", "RENAME TABLE `bank`.`log` TO `bank`.`y`")
INSTEAD = replace(entry(LATER.query, "y", 4), instead="SELECT 1")


@pytest.mark.parametrize(
    ("pending", "sizes"),
    [
        (SWAP, [3]),
        ([*SWAP, LATER], [3, 1]),
        ([*SWAP, INSTEAD, replace(LATER, commit_ts=199, seq=5)], [3, 1, 1]),
        ([SWAP[0], entry(DROP, "log", 2), SWAP[2]], [1, 1, 1]),
        ([entry(BROKEN, "x", 1), entry(LATER.query, "y", 2)], [1, 1]),
        ([SWAP[0], entry(BROKEN, "x", 2), entry(LATER.query, "y", 3)], [1, 1, 1]),
    ],
    ids=["a swap", "a later one", "of an operator", "another DDL", "broken first", "broken second"],
)
def test_renames_in_a_row_at_one_commit_ts_are_one_statement(
    by_itself: Bank, pending: list[LedgerEntry], sizes: list[int]
) -> None:
    with by_itself.target.transaction():
        by_itself.store.ledger.add(pending)
    groups = [*renames.groups(by_itself.ddl_context)]
    assert [len(group) for group in groups] == sizes
    assert [one for group in groups for one in group] == pending


def test_a_swap_takes_a_marker_along(by_itself: Bank) -> None:
    assert renames.statements(by_itself.ddl_context, SWAP) == (
        'CREATE TABLE IF NOT EXISTS "ticdc_renaming_61a0117f_199" (nothing INT)',
        'RENAME TABLE "accounts" TO "x", "log" TO "accounts", "x" TO "log", '
        '"ticdc_renaming_61a0117f_199" TO "ticdc_renamed_61a0117f_199"',
    )
    by_itself.target.execute('CREATE TABLE "ticdc_renamed_61a0117f_199" (id INT)')
    assert renames.statements(by_itself.ddl_context, SWAP) is None


@pytest.mark.parametrize(
    ("in_the_way", "why"),
    [("CREATE TABLE x (id INT)", "x.*both exist"), ("DROP TABLE log", 'there is no "log"')],
)
def test_no_table_is_renamed_unless_the_names_are_as_expected(
    by_itself: Bank, in_the_way: str, why: str
) -> None:
    by_itself.target.execute(in_the_way)
    with pytest.raises(Stop, match=why):
        renames.statements(by_itself.ddl_context, SWAP)


def test_no_table_is_renamed_to_where_rows_of_another_go(by_itself: Bank) -> None:
    with by_itself.target.transaction():
        by_itself.store.ledger.define(parse_create_table("CREATE TABLE x (id INT)", "other"))
    with pytest.raises(Stop, match=r"other\.x"):
        renames.statements(by_itself.ddl_context, SWAP)


def test_a_swap_is_one_statement_where_ddl_commits_by_itself(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        two_tables(here)
        with renaming(target) as ran:
            here.apply(*SWAP)
            run_pending(here)
        assert len(ran) == (0 if target.transactional_ddl else 1)
        assert swapped(target)
        assert states(here) == ["done"] * 3
        assert markers(target) == []


@pytest.mark.slow
def test_a_restart_completes_a_swap_that_a_crash_cut_anywhere(target_url: str) -> None:
    for before, crashed in crashes(target_url):
        two_tables(before)

        def work(before: Bank = before) -> None:
            before.apply(*SWAP)
            run_pending(before)

        crashed(work)
        with opened(target_url) as target:
            here = open_bank(target)
            if here.old.resolved_ts == 100:
                assert accounts(target) == BEFORE and states(here) == []
                here.apply(*SWAP)
            run_pending(here)
            assert swapped(target)
            assert states(here) == ["done"] * 3
            assert markers(target) == []


@pytest.mark.parametrize("moment", ["CREATE TABLE IF NOT EXISTS", "RENAME TABLE"])
@pytest.mark.parametrize("server", ["mariadb", "mysql", "tidb"])
def test_a_consumer_that_was_overtaken_does_not_swap_again(
    request: pytest.FixtureRequest, server: str, moment: str
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    with opened(url) as target, opened(url) as other:
        here = bank(target)
        two_tables(here)
        here.apply(*SWAP)
        overtaken: list[Bank] = []

        def overtake(_connection: object, _cursor: object, text: str, *_: object) -> None:
            if text.startswith(moment) and not overtaken:
                overtaken.append(open_bank(other))
                run_pending(overtaken[0])

        sa.event.listen(target.engine, "before_cursor_execute", overtake)
        with pytest.raises(Fenced):
            run_pending(here)
        assert swapped(other)
        assert states(overtaken[0]) == ["done"] * 3


@pytest.mark.parametrize("server", ["mariadb", "mysql", "tidb"])
@pytest.mark.parametrize(
    ("in_the_way", "why"),
    [("CREATE TABLE x (id INT)", "both exist"), ("DROP TABLE log", "there is no `.*`.`log`")],
)
def test_unexpected_names_stop_before_any_rename(
    request: pytest.FixtureRequest, server: str, in_the_way: str, why: str
) -> None:
    with opened(request.getfixturevalue(f"{server}_url")) as target:
        here = bank(target)
        two_tables(here)
        target.execute(in_the_way)
        here.apply(*SWAP)
        with pytest.raises(Stop, match=why):
            run_pending(here)
        assert accounts(target) == AFTER
        assert states(here) == ["pending"] * 3
