"""What the foreign keys that a DDL created do to the cuts after it."""

import logging

import pytest
from support.loading import (
    ACCOUNTS,
    AFTER,
    Bank,
    accounts,
    bank,
    crashes,
    open_bank,
    opened,
    place,
)
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.target import Target

CHILD = (
    "CREATE TABLE log (id INT PRIMARY KEY, account INT, CONSTRAINT fk_account "
    "FOREIGN KEY (account) REFERENCES accounts (id) ON DELETE CASCADE)"
)


def refer(target: Target, *referred: int) -> None:
    """A bank with a table that refers to accounts, by one row to each of these."""
    ledger = bank(target).store.ledger
    with target.transaction():
        ledger.define(ACCOUNTS)
        ledger.add([LedgerEntry(99, 1, "bank", "log", CHILD)])
    here = open_bank(target)
    ddl.run_pending(here.ddl_context, here.store, retries=1)
    relation = target.quote(*place(target, "log"))
    for account in referred:
        target.execute(f"INSERT INTO {relation} VALUES ({account}, {account})").close()  # noqa: S608


def test_a_row_and_the_row_that_it_refers_to_need_no_order(target_url: str) -> None:
    with opened(target_url) as target:
        refer(target, 1, 2)
        open_bank(target).apply()
        assert accounts(target) == AFTER


def test_an_upstream_that_breaks_its_own_foreign_key_is_told(postgresql_url: str) -> None:
    with opened(postgresql_url) as target:
        refer(target, 3)
        with pytest.raises(
            Stop, match=r'foreign key constraint "log_fk_account_\w+" .*\(id\)=\(3\)'
        ):
            open_bank(target).apply()
        (key,) = target.references(*place(target, "log"))
        relation = target.quote(*place(target, "log"))
        target.execute(f'ALTER TABLE {relation} DROP CONSTRAINT "{key.name}"').close()
        open_bank(target).apply()
        assert accounts(target) == AFTER


def test_nothing_else_checks_it(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        refer(target, 3)
        open_bank(target).apply()
        assert accounts(target) == AFTER
        (key,) = target.references(*place(target, "log"))
        assert (key.columns, key.table, key.parent_columns) == (("account",), "accounts", ("id",))


PARENT = "CREATE TABLE parent (id INT PRIMARY KEY)"
ORPHAN = (
    "CREATE TABLE log (id INT PRIMARY KEY, account INT, u INT UNIQUE, CONSTRAINT fk_account "
    "FOREIGN KEY (account) REFERENCES parent (id))"
)


def orphan(here: Bank) -> LedgerEntry:
    """Has a child with a row whose parent is not there, as a dump has it; the parent's CREATE."""
    target = here.target
    with target.transaction():
        here.store.ledger.add([LedgerEntry(99, 1, "bank", "log", ORPHAN)])
    ddl.run_pending(here.ddl_context, here.store, retries=1)
    relation = target.quote(*place(target, "log"))
    target.execute(f"INSERT INTO {relation} VALUES (1, 7, 1)").close()  # noqa: S608
    return LedgerEntry(199, 1, "bank", "parent", PARENT)


def validity(target: Target) -> list[bool]:
    """Of the child's foreign keys in PostgreSQL."""
    keys = "SELECT convalidated FROM pg_constraint WHERE contype = 'f'"
    return [bool(row[0]) for row in target.query(keys)]


def test_a_parent_is_created_though_rows_violate_the_foreign_key(
    target_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(target_url) as target, caplog.at_level(logging.WARNING, "ticdc_consumer.targets"):
        here = bank(target)
        here.apply(orphan(here))
        ddl.run_pending(here.ddl_context, here.store, retries=1)
        assert [entry.state for entry in here.store.ledger.entries()] == ["done", "done"]
        assert accounts(target) == AFTER
        if target.dialect != "postgresql":
            return
        assert validity(target) == [False]
        (key,) = target.references(*place(target, "log"))
        relation = ".".join(map(str, place(target, "log")))
        assert [record.getMessage() for record in caplog.records] == [
            f"foreign key {key.name} of {relation} is NOT VALID: rows of the upstream violate it"
        ]


def test_a_parent_of_violating_rows_survives_a_crash_anywhere(
    postgresql_url: str,
) -> None:
    for before, crashed in crashes(postgresql_url):
        for text in before.target.drop_table(*place(before.target, "parent")):
            before.target.execute(text).close()
        parent = orphan(before)
        crashed(lambda before=before, parent=parent: before.apply(parent))  # type: ignore[misc]
        with opened(postgresql_url) as target:
            here = open_bank(target)
            if here.old.resolved_ts == 200:
                assert validity(target) == [False]
                continue
            assert validity(target) == []
            here.apply(parent)
            assert validity(target) == [False]
