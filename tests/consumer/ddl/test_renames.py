"""The renames of one statement: one RENAME TABLE where each DDL commits by itself."""

from collections.abc import Iterator
from contextlib import contextmanager

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


def test_a_crash_at_any_statement_of_a_swap_is_healed_by_a_restart(target_url: str) -> None:
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
def test_names_that_are_not_as_they_should_be_stop_before_any_rename(
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
