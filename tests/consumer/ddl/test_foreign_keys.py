"""What the foreign keys that a DDL created do to the cuts after it."""

import pytest
from support.loading import ACCOUNTS, AFTER, accounts, bank, open_bank, opened, place
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
