import sys
from dataclasses import replace

import pytest
from support.loading import (
    AFTER,
    CHANGEFEED,
    IMPATIENT,
    Bank,
    bank,
    kill_session,
    lose_the_next_commit,
    opened,
    stands_at,
)
from ticdc_consumer.commands.repair.beside_run import repair_beside_run
from ticdc_consumer.cut.apply.repair import Repair
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.cut.apply.to_target import ToTarget
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.read.report import Report
from ticdc_consumer.cut.reconcile.gathered import Gathered
from ticdc_consumer.errors import Denied, Fenced, Retry, Stop
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.loading import LoadNotes, TableLoad
from ticdc_consumer.state.repairs import RepairRequest
from ticdc_consumer.state.store import Store
from ticdc_encoder.sql.parser import parse_create_table

ACCOUNTS = parse_create_table("CREATE TABLE accounts (id INT PRIMARY KEY, owner TEXT)", "bank")
ACCOUNTS_NAME = ("bank", "accounts")
LOANS = parse_create_table(
    "CREATE TABLE loans (id INT PRIMARY KEY, account INT, "
    "FOREIGN KEY (account) REFERENCES accounts (id))",
    "bank",
)


def setting_aside(here: Bank) -> ToTarget:
    """With `[on_error] quarantine`."""
    willing = replace(here.options, quarantine=True)
    return ToTarget(willing, here.target, here.store, TableLayouts(willing, here.target))


def taking_repairs(here: Bank) -> ToTarget:
    tables = TableLayouts(here.options, here.target)
    return ToTarget(here.options, here.target, here.store, tables, read_repair=repair_beside_run)


@pytest.mark.parametrize(
    ("waits", "entries", "looks"),
    [(True, (), 1), (False, (), 0), (True, (LedgerEntry(199, 1, "bank", "t", ""),), 0)],
    ids=["one may wait", "none waits", "a DDL is in the cut"],
)
def test_a_cut_looks_for_a_repair_if(
    sqlite_url: str,
    monkeypatch: pytest.MonkeyPatch,
    waits: bool,
    entries: tuple[LedgerEntry, ...],
    looks: int,
) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        applier = taking_repairs(here)
        looked: list[None] = []
        monkeypatch.setattr(here.store.repairs, "oldest_pending", lambda: looked.append(None))
        here.monitor.repair_waits = waits
        step = Step(here.old, here.new, entries)
        assert [applier._repair(step) for _ in range(2)] == [None, None]
        assert len(looked) == looks  # once is enough until another look finds a request


def test_a_repair_is_put_off_where_nothing_can_read_the_upstream(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = "ticdc_consumer.commands.repair.reading"
    with opened(sqlite_url) as target:
        here = bank(target)
        applier = taking_repairs(here)
        request = RepairRequest(7, 100, {})
        monkeypatch.setattr(here.store.repairs, "oldest_pending", lambda: request)
        monkeypatch.setitem(sys.modules, reading, None)
        here.monitor.repair_waits = True
        reason = f"{reading} is not installed: pip install ticdc-consumer[mysql]"
        assert applier._repair(Step(here.old, here.new)) == Repair(7).refused(reason)


def test_a_retry_asks_again_for_the_repair_and_not_for_its_cut(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        applier = ToTarget(here.options, target, here.store, TableLayouts(here.options, target))
        monkeypatch.setattr(applier, "_repair", lambda step: Repair(1))
        asked: list[int] = []

        def state(number: int) -> None:
            asked.append(number)
            if len(asked) == 1:
                raise Retry("the connection was lost")

        monkeypatch.setattr(here.store.repairs, "state", state)
        applier.apply(Step(here.old, here.new), Gathered(Report(), here.change))
        assert asked == [1, 1]
        assert stands_at(sqlite_url) == (AFTER, here.new)


def test_a_table_is_set_aside_if_the_session_ended_with_its_cut(server_url: str) -> None:
    with opened(server_url) as target:
        here = bank(target)
        applier = setting_aside(here)
        with pytest.raises(Stop), target.transaction():
            here.store.lock(here.old)
            kill_session(server_url, target.session_id())
            raise Stop("a row is refused")
        applier.set_aside(ACCOUNTS_NAME, here.old, Stop("a row is refused"))
        assert [table.table for table in here.store.quarantine.tables()] == ["accounts"]


@pytest.mark.parametrize(
    ("quarantine", "error", "resolved_ts"),
    [
        (False, Stop("a row is refused"), 100),
        (True, Denied("the target's user may not write"), 100),
        (True, Stop("a row is refused"), 0),
    ],
    ids=["without [on_error] quarantine", "for want of a grant", "before the first cut"],
)
def test_no_table_is_set_aside(
    sqlite_url: str, quarantine: bool, error: Stop, resolved_ts: int
) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        options = replace(here.options, quarantine=quarantine)
        applier = ToTarget(options, target, here.store, TableLayouts(options, target))
        with pytest.raises(type(error), match=str(error)):
            applier.set_aside(ACCOUNTS_NAME, replace(here.old, resolved_ts=resolved_ts), error)
        assert not here.store.quarantine.tables()


def test_a_table_that_is_loaded_again_is_not_set_aside(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        applier = setting_aside(here)
        load = TableLoad(ACCOUNTS_NAME, "rows", "", False, beside=(None, "filled"))
        with target.transaction():
            LoadNotes(target, CHANGEFEED).begin(100, [load])
        applier.tend()
        with pytest.raises(Stop, match="a row is refused") as stop:
            applier.set_aside(ACCOUNTS_NAME, here.old, Stop("a row is refused"))
        note = "bank.accounts cannot be quarantined while load --table loads it"
        assert stop.value.__notes__ == [note]
        assert not here.store.quarantine.tables()


def test_a_consumer_that_was_overtaken_sets_no_table_aside(sqlite_url: str) -> None:
    with opened(sqlite_url) as target, opened(sqlite_url) as other:
        here = bank(target)
        applier = setting_aside(here)
        Store(other, CHANGEFEED).start(IMPATIENT)
        with pytest.raises(Fenced, match="a newer consumer took over"):
            applier.set_aside(ACCOUNTS_NAME, here.old, Stop("a row is refused"))
        assert not here.store.quarantine.tables()


@pytest.mark.parametrize("committed", [True, False])
def test_a_table_is_set_aside_once_where_the_commit_is_lost(
    server_url: str, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(server_url) as target:
        here = bank(target)
        applier = setting_aside(here)
        lost = lose_the_next_commit(monkeypatch, target, server_url, committed)
        applier.set_aside(ACCOUNTS_NAME, here.old, Stop("a row is refused"))
        assert lost
        assert [table.name for table in here.store.quarantine.tables()] == [ACCOUNTS_NAME]


def test_a_table_with_a_foreign_key_is_not_quarantined(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        target.execute("CREATE TABLE loans (id INT PRIMARY KEY, account INT REFERENCES accounts)")
        with target.transaction():
            here.store.ledger.define(ACCOUNTS)
            here.store.ledger.define(LOANS)
        applier = setting_aside(here)
        with pytest.raises(Stop, match="a row is refused") as stop:
            applier.set_aside(ACCOUNTS_NAME, here.old, Stop("a row is refused"))
        assert "cannot be quarantined: " in stop.value.__notes__[0]
        assert not here.store.quarantine.tables()


def test_a_table_that_is_refilled_says_once_where_its_rows_go(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        tables = TableLayouts(here.options, target)
        applier = ToTarget(here.options, target, here.store, tables)
        notes = LoadNotes(target, CHANGEFEED)
        statement, beside = "CREATE TABLE logs (id INT PRIMARY KEY)", (None, "filled")
        load = TableLoad(("bank", "logs"), "rows", statement, True, beside=beside)
        news = [applier.tend()]
        with target.transaction():
            notes.begin(100, [load])
        for _ in range(2):
            applier._beside._next_look = 0.0
            news.append(applier.tend())
        with target.transaction():
            notes.end()
        applier._beside._next_look = 0.0
        news.append(applier.tend())
        # What was read before goes to another table, so it is read again.
        assert news == [False, True, False, True]


@pytest.mark.parametrize("committed", [True, False])
def test_a_kept_table_goes_once_where_the_commit_is_lost(
    server_url: str, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(server_url) as target:
        here = bank(target)
        here.store.ledger.keep_dropped = 1.0
        with target.transaction():
            here.store.ledger.define(ACCOUNTS)
        here.apply(LedgerEntry(199, 1, "bank", "accounts", "DROP TABLE accounts"))
        applier = ToTarget(here.options, target, here.store, TableLayouts(here.options, target))
        applier._context = here.ddl_context
        applier.run_pending()
        (kept,) = here.store.ledger.dropped()
        lost = lose_the_next_commit(monkeypatch, target, server_url, committed)
        applier.purge(199 + (2000 << 18))
        assert lost and not here.store.ledger.dropped()
        assert target.describe(kept.target_schema, kept.target_table) is None
