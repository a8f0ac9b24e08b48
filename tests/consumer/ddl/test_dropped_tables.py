"""Dropped and emptied tables lie aside, come back, and go when their time is over."""

from dataclasses import replace

import pytest
from support.loading import AFTER, Bank, accounts, bank, crashes, open_bank, opened, place
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.dropped_tables import over, purge
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.target import Target
from ticdc_encoder.sql.parser import parse_create_table

DAY = 86_400.0
SECOND = 1000 << 18
PARENT = "CREATE TABLE parent (id INT PRIMARY KEY)"
CHILD = "CREATE TABLE child (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES parent (id))"
TABLE = parse_create_table(
    "CREATE TABLE accounts (id INT PRIMARY KEY, owner VARCHAR(20), KEY ix (owner))", "bank"
)


def keeping(target: Target) -> Bank:
    """A bank whose table's definition is known, and that keeps what is dropped for a day."""
    here = bank(target)
    here.store.ledger.keep_dropped = DAY
    with target.transaction():
        here.store.ledger.define(TABLE)
    return here


def run(here: Bank, *queries: tuple[str, str]) -> None:
    """The bank's cut and these DDL of its commit_ts, with the tables beside them."""
    entries = [
        LedgerEntry(199, seq, "bank", table, query) for seq, (query, table) in enumerate(queries, 1)
    ]
    here.apply(*entries)
    ddl.run_pending(here.ddl_context, here.store, retries=1)


def rows(target: Target, table: str) -> list[tuple[int, str]]:
    relation = target.quote(*place(target, table))
    result = target.execute(f"SELECT id, owner FROM {relation} ORDER BY id").all()  # noqa: S608
    return [(key, owner) for key, owner in map(tuple, result)]


@pytest.mark.parametrize(
    ("back", "table"),
    [
        ("RECOVER TABLE accounts", "accounts"),
        ("RECOVER TABLE BY JOB 53", "accounts"),
        ("RECOVER TABLE `Accounts` 100", "accounts"),
        ("FLASHBACK TABLE accounts TO old", "old"),
        ("FLASHBACK TABLE `bank`.`accounts`", "accounts"),
    ],
)
def test_a_dropped_table_comes_back_with_its_rows(target_url: str, back: str, table: str) -> None:
    with opened(target_url) as target:
        here = keeping(target)
        run(here, ("DROP TABLE accounts", "accounts"), (back, table))
        assert rows(target, table) == AFTER
        ((name, known),) = here.store.ledger.definitions().items()
        assert name == ("bank", table)
        assert known.indexes == TABLE.indexes
        assert not here.store.ledger.dropped()


def test_a_table_that_was_emptied_comes_back_beside_itself(target_url: str) -> None:
    with opened(target_url) as target:
        here = keeping(target)
        run(
            here,
            ("TRUNCATE TABLE accounts", "accounts"),
            ("ALTER TABLE accounts ADD KEY more (id, owner)", "accounts"),
            ("FLASHBACK TABLE accounts TO old", "old"),
        )
        assert accounts(target) == []
        assert rows(target, "old") == AFTER
        assert sorted(here.store.ledger.definitions()) == [("bank", "accounts"), ("bank", "old")]


@pytest.mark.slow
def test_a_crash_at_any_statement_loses_no_kept_table(target_url: str) -> None:
    queries = (
        ("TRUNCATE TABLE accounts", "accounts"),
        ("FLASHBACK TABLE accounts TO log", "log"),
    )
    for before, crashed in crashes(target_url):
        before.store.ledger.keep_dropped = DAY
        with before.target.transaction():
            before.store.ledger.define(TABLE)
        crashed(lambda before=before: run(before, *queries))  # type: ignore[misc]
        with opened(target_url) as target:
            here = open_bank(target)
            here.store.ledger.keep_dropped = DAY
            if here.old.resolved_ts == 100:
                run(here, *queries)
            else:
                ddl.run_pending(here.ddl_context, here.store, retries=1)
            assert accounts(target) == []
            assert rows(target, "log") == AFTER
            assert not here.store.ledger.dropped()


def test_the_table_that_was_dropped_last_comes_back(target_url: str) -> None:
    with opened(target_url) as target:
        here = keeping(target)
        run(
            here,
            ("TRUNCATE TABLE accounts", "accounts"),
            ("DROP TABLE accounts", "accounts"),
            ("RECOVER TABLE accounts", "accounts"),
        )
        assert accounts(target) == []
        (dropped,) = here.store.ledger.dropped()
        assert dropped.seq == 1


def test_what_was_not_set_aside_waits_for_an_operator(target_url: str) -> None:
    with opened(target_url) as target:
        here = keeping(target)
        here.store.ledger.keep_dropped = 0
        with pytest.raises(Stop, match=r"accounts was not kept.*keep_dropped"):
            run(here, ("DROP TABLE accounts", "accounts"), ("RECOVER TABLE accounts", "accounts"))


def test_a_table_does_not_come_back_over_another(target_url: str) -> None:
    with opened(target_url) as target:
        here = keeping(target)
        with pytest.raises(Stop, match="the latter exists"):
            run(
                here,
                ("DROP TABLE accounts", "accounts"),
                ("CREATE TABLE accounts (id INT PRIMARY KEY)", "accounts"),
                ("RECOVER TABLE accounts", "accounts"),
            )


def test_what_foreign_keys_refer_to_is_not_kept(target_url: str) -> None:
    with opened(target_url) as target:
        here = keeping(target)
        run(
            here,
            (PARENT, "parent"),
            (CHILD, "child"),
            ("DROP TABLE parent", "parent"),
            ("DROP TABLE child", "child"),
        )
        assert [dropped.table for dropped in here.store.ledger.dropped()] == ["child"]


def test_a_kept_table_goes_when_its_time_is_over(target_url: str) -> None:
    with opened(target_url) as target:
        here = keeping(target)
        run(here, ("DROP TABLE accounts", "accounts"))
        ledger = here.store.ledger
        (dropped,) = ledger.dropped()
        aside = dropped.target_schema, dropped.target_table
        assert over([dropped], DAY, 199 + int(DAY - 1) * SECOND) == []
        assert over([dropped], DAY, 199 + int(DAY) * SECOND) == [dropped]
        assert target.describe(*aside) is not None
        purge(target, ledger, dropped)
        assert target.describe(*aside) is None
        assert not ledger.dropped()


def test_tables_set_aside_go_with_their_database(target_url: str) -> None:
    with opened(target_url) as target:
        here = keeping(target)
        name = f"{target.engine.url.database}_more"
        queries = (
            (f"CREATE DATABASE `{name}`", ""),
            ("CREATE TABLE t (id INT PRIMARY KEY)", "t"),
            ("DROP TABLE t", "t"),
            (f"DROP DATABASE `{name}`", ""),
        )
        ledger = here.store.ledger
        as_is = replace(here.ddl_context, route=lambda *name: name)
        for seq, (query, table) in enumerate(queries, 1):
            with target.transaction():
                ledger.add([LedgerEntry(199, seq, name, table, query)])
            ddl.run_pending(as_is, here.store, retries=1)
            assert len(ledger.dropped()) == (seq == 3)


def test_the_name_of_a_table_set_aside_is_the_consumers_own(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        name = "ticdc_dropped_199_1"
        with pytest.raises(Stop, match="is the consumer's own"):
            run(keeping(target), (f"CREATE TABLE {name} (id INT PRIMARY KEY)", name))
