from collections.abc import Sequence
from dataclasses import replace

import pytest
import sqlalchemy as sa
from support.loading import (
    ACCOUNTS,
    AFTER,
    BEFORE,
    CHANGEFEED,
    IMPATIENT,
    Bank,
    accounts,
    bank,
    crashes,
    open_bank,
    opened,
    place,
)
from ticdc_consumer.cut.apply import transaction as apply_step
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.cut.reconcile.net_change import NoChange
from ticdc_consumer.ddl import numbering
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.by_operator.manual import BY_OPERATOR, done_by_operator
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.kinds import names_of
from ticdc_consumer.errors import Denied, Fenced, Stop
from ticdc_consumer.source.marks import SeenDdl
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.target import Target
from ticdc_encoder.event import Ddl
from ticdc_encoder.sql.parser import parse_create_table, parse_ddl

LOG = "CREATE TABLE log (id INT PRIMARY KEY, note VARCHAR(20) COMMENT '100% sure')"
DROP = "DROP TABLE `bank`.`accounts`"
TRUNCATE = "TRUNCATE TABLE accounts"
ALTER = "ALTER TABLE accounts ADD COLUMN note INT DEFAULT (1 + 1)"


def entry(query: str, table: str = "accounts", seq: int = 1) -> LedgerEntry:
    """A DDL of the commit_ts at which the bank's cut ends."""
    return LedgerEntry(199, seq, "bank", table, query)


def run_pending(here: Bank) -> None:
    ddl.run_pending(here.ddl_context, here.store, retries=1)


def apply(here: Bank, *entries: LedgerEntry) -> None:
    """The cut of the bank, then its DDL, as an epoch does it."""
    here.apply(*entries)
    run_pending(here)


def exists(target: Target, table: str) -> bool:
    return target.describe(*place(target, table)) is not None


def states(here: Bank) -> list[str]:
    return [entry.state for entry in here.store.ledger.entries()]


def test_ddl_of_one_commit_ts_run_in_the_order_of_first_copies() -> None:
    one, two = Ddl("a", "t", "DROP TABLE t", 7), Ddl("b", "t", "DROP TABLE t", 7, kind=4)
    seen = [SeenDdl(two, "y", 3), SeenDdl(one, "y", 9), SeenDdl(one, "x", 12), SeenDdl(two, "y", 8)]
    assert numbering.entries(seen) == [
        LedgerEntry(7, 1, "a", "t", "DROP TABLE t"),
        LedgerEntry(7, 2, "b", "t", "DROP TABLE t", 4),
    ]


@pytest.mark.parametrize(("table", "query"), [("t\0", "DROP TABLE t"), ("t", "DROP TABLE `t\0`")])
def test_a_ddl_with_a_nul_in_it_is_refused(table: str, query: str) -> None:
    with pytest.raises(Stop, match=r"x\[0\] offset 5: .*NUL"):
        numbering.entries([SeenDdl(Ddl("a", table, query, 7), "x", 5)])


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("BINARY(3) DEFAULT _UTF8MB4'\0\0\0'", r"BINARY(3) DEFAULT '\0\0\0'"),
        (
            "ENUM('c\\d') DEFAULT _UTF8MB4'c\\\\d', b VARBINARY(9) DEFAULT _UTF8MB4'it''s \0\\\\1'",
            r"ENUM('c\d') DEFAULT _UTF8MB4'c\\d', b VARBINARY(9) DEFAULT 'it''s \0\\1'",
        ),
    ],
)
def test_a_nul_in_a_default_is_kept_by_its_escape(sent: str, kept: str) -> None:
    query = "CREATE TABLE `t` (`id` INT PRIMARY KEY, `a` {})"
    (entry,) = numbering.entries([SeenDdl(Ddl("a", "t", query.format(sent), 7), "x", 5)])
    assert entry.query == query.format(kept)
    assert parse_ddl(entry.query, "a") == parse_ddl(query.format(sent), "a")


def test_create_runs_and_its_definition_is_kept(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        apply(here, entry(LOG, "log"))
        assert accounts(target) == AFTER
        assert exists(target, "log")
        assert here.store.ledger.definitions() == {("bank", "log"): parse_create_table(LOG, "bank")}
        assert states(here) == ["done"]


def test_drop_runs_and_its_definition_is_forgotten(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        with target.transaction():
            here.store.ledger.define(ACCOUNTS)
        apply(here, entry(DROP))
        assert not exists(target, "accounts")
        assert here.store.ledger.definitions() == {}
        assert states(here) == ["done"]


def test_truncate_runs_and_its_definition_stays(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        with target.transaction():
            here.store.ledger.define(ACCOUNTS)
        apply(here, entry(TRUNCATE))
        assert accounts(target) == []
        assert here.store.ledger.definitions() == {("bank", "accounts"): ACCOUNTS}


def test_create_database_runs(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        name = f"{target.engine.url.database}_more"
        apply(here, LedgerEntry(199, 1, name, "", f"CREATE DATABASE `{name}` CHARSET utf8mb4"))
        assert states(here) == ["done"]


def test_the_spelling_of_the_table_is_the_upstreams(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        apply(here, entry("create table LOG (id int primary key)", "Log"))
        assert list(here.store.ledger.definitions()) == [("bank", "Log")]


CREATE_LIKE = "CREATE TABLE log LIKE accounts"
SEEN = "CREATE VIEW v AS SELECT 1"
BY_HAND = {
    ALTER: "ALTER TABLE {accounts} ADD COLUMN note INT",
    CREATE_LIKE: "CREATE TABLE {log} (id INT PRIMARY KEY, note VARCHAR(20))",
    SEEN: "CREATE VIEW {v} AS SELECT 1 AS a",
}


@pytest.mark.parametrize(
    ("query", "table", "why"),
    [
        (ALTER, "accounts", "its default is an expression"),
        ("RENAME TABLE accounts TO a, b TO c", "a", "RENAME TABLE is not translated"),
        (CREATE_LIKE, "log", "the definition of bank.accounts did not come"),
        (SEEN, "v", "CREATE VIEW is not translated"),
        (
            "ALTER TABLE accounts DROP PARTITION p",
            "accounts",
            "the definition of bank.accounts did not come",
        ),
        ("ALTER TABLE accounts ORDER BY id", "accounts", "'ORDER' is not translated"),
        ("DROP DATABASE bank", "", "bank was not created through the stream"),
        ("CREATE TABLE log (id INT", "log", ""),
        ("TRUNCATE TABLE other", "accounts", "names bank.other"),
        ("DROP VIEW other", "seen", "names bank.other"),
    ],
)
def test_what_cannot_run_waits_for_a_person_behind_its_cut(
    target_url: str, query: str, table: str, why: str
) -> None:
    with opened(target_url) as target:
        here = bank(target)
        following = entry(LOG, "log", seq=2)
        with pytest.raises(Stop) as stop:
            apply(here, entry(query, table), following)
        assert accounts(target) == AFTER
        assert here.store.read() == here.new
        assert states(here) == ["pending", "pending"]
        assert not exists(target, "log")
        text = str(stop.value)
        assert text.endswith(f"; its statement: {query}") and why in text.partition("; its")[0]
        assert "commit_ts 199, number 1" in text
        assert "ticdc-consumer run CONFIG --ddl-done 199:1; its statement" in text
        assert [waiting.id for waiting in here.monitor.look().ddls] == ["199:1"]
    with opened(target_url) as target:  # a restart says the same
        here = open_bank(target)
        with pytest.raises(Stop, match="--ddl-done 199:1"):
            run_pending(here)
        if query in BY_HAND:
            names = {name: target.quote(*place(target, name)) for name in ("accounts", "log", "v")}
            target.execute(BY_HAND[query].format(**names)).close()
        done = done_by_operator(here.ddl_context, "199:1")
        assert done == replace(entry(query, table), state="done", reason=BY_OPERATOR)
        run_pending(here)
        assert here.monitor.look().ddls == ()
        assert exists(target, "log")
        assert states(here) == ["done", "done"]


@pytest.mark.parametrize("query", ["CREATE TABLE ticdc_ddl (id INT)", "DROP TABLE Ticdc_Offset"])
def test_the_consumers_own_tables_are_out_of_reach(target_url: str, query: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        home = str(sa.inspect(target.connection).default_schema_name)
        own = entry(query, query.split()[2])

        def to_home(_: str, table: str) -> tuple[str, str]:
            return home, table

        context = replace(here.ddl_context, route=to_home)
        step = Step(here.old, here.new, [own])
        apply_step.apply(context, here.store, step, NoChange(), here.options)
        with pytest.raises(Stop, match="the consumer's own table"):
            ddl.run_pending(context, here.store, retries=1)
        assert here.store.read() == here.new


def test_a_ddl_that_the_target_refuses_leaves_nothing(
    target_url: str,
) -> None:
    with opened(target_url) as target:
        here = bank(target)
        with pytest.raises(Stop, match="--ddl-done 199:2"):
            apply(here, entry(LOG, "log"), entry("TRUNCATE TABLE nowhere", "nowhere", seq=2))
        assert accounts(target) == AFTER
        assert states(here) == ["done", "pending"]
        apply_texts(target, target.create_table(*place(target, "nowhere"), ACCOUNTS))
        run_pending(here)
        assert states(here) == ["done", "done"]


def apply_texts(target: Target, texts: Sequence[str]) -> None:
    for text in texts:
        target.connection.exec_driver_sql(text, None, {"no_parameters": True})


def test_a_ddl_without_permission_stops_before_those_that_follow(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def denied(context: DdlContext, entry: LedgerEntry) -> None:
        tried.append(entry.seq)
        raise Denied("permission denied for table accounts")

    monkeypatch.setattr(ddl, "attempt", denied)
    with opened(sqlite_url) as target:
        here = bank(target)
        with target.transaction():
            here.store.ledger.add([entry(TRUNCATE), entry(LOG, "log", seq=2)])
        with pytest.raises(
            Denied,
            match=r"number 1\) waits: permission denied .* accounts; its statement: TRUNCATE",
        ):
            run_pending(here)
        (waiting,) = here.monitor.look().ddls
        assert (tried, waiting.id, waiting.suggestion) == ([1], "199:1", ())


COLUMNS = "id INT PRIMARY KEY, owner VARCHAR(20)"


@pytest.mark.parametrize(
    ("body", "emptied", "why"),
    [
        (COLUMNS, True, None),
        (COLUMNS, False, "has rows"),
        (f"{COLUMNS}, note INT", True, "other columns: they differ in note"),
        ("id INT PRIMARY KEY", True, "other columns: they differ in owner"),
        ("id INT, owner VARCHAR(20)", True, "another unique key"),
        ("id INT, owner VARCHAR(20) PRIMARY KEY", True, "another unique key"),
        (
            "id INT NOT NULL, owner VARCHAR(20), UNIQUE part (id) WHERE owner > 'a'",
            True,
            "another unique key",
        ),
    ],
)
def test_create_of_an_existing_table_needs_an_equal_empty_one(
    target_url: str, body: str, emptied: bool, why: str | None
) -> None:
    with opened(target_url) as target:
        here = bank(target)
        if emptied:
            apply_texts(target, [f"DELETE FROM {target.quote(*place(target))}"])  # noqa: S608
        create = entry(f"CREATE TABLE accounts ({body})")
        here.apply(create, change=NoChange() if emptied else None)
        if why is None:
            run_pending(here)
            assert list(here.store.ledger.definitions()) == [("bank", "accounts")]
        else:
            with pytest.raises(Stop, match=why):
                run_pending(here)
            assert here.store.ledger.definitions() == {}


THREE = (
    entry(TRUNCATE),
    entry(DROP, seq=2),
    entry(LOG, "log", seq=3),
)


@pytest.mark.slow
def test_a_crash_at_any_statement_is_healed_by_a_restart(target_url: str) -> None:
    for before, crashed in crashes(target_url):
        crashed(lambda before=before: apply(before, *THREE))  # type: ignore[misc]
        with opened(target_url) as target:
            here = open_bank(target)
            if here.old.resolved_ts == 100:
                assert accounts(target) == BEFORE and states(here) == []
                apply(here, *THREE)
            else:
                run_pending(here)
            assert not exists(target, "accounts") and exists(target, "log")
            assert states(here) == ["done", "done", "done"]
            assert list(here.store.ledger.definitions()) == [("bank", "log")]


def test_a_fenced_consumer_marks_nothing_done(target_url: str) -> None:
    with opened(target_url) as target, opened(target_url) as other:
        here = bank(target)
        here.apply(entry("CREATE PLACEMENT POLICY q FOLLOWERS=2"))
        Store(other, CHANGEFEED).start(IMPATIENT)
        with pytest.raises(Fenced):
            try:
                done_by_operator(here.ddl_context, "199")
            except Exception:
                here.store.recover()
                raise
        assert [e.state for e in Store(other, CHANGEFEED).ledger.entries()] == ["pending"]


def test_what_a_target_needs_before_its_ddl_runs_once_in_the_cut(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        monkeypatch.setattr(type(target), "before_ddl", "CREATE TABLE prepared (id INT)")
        here.apply(entry(TRUNCATE), entry(LOG, "log", seq=2))
        assert states(here) == ["done", "done"]
        assert exists(target, "prepared")


@pytest.mark.parametrize(
    ("query", "relations"),
    [
        ("CREATE TABLE t (id INT)", ["bank.t"]),
        ("CREATE TABLE t LIKE seen.u", ["bank.t"]),
        ("ALTER TABLE t ADD COLUMN c INT", ["bank.t"]),
        ("TRUNCATE TABLE seen.t", ["seen.t"]),
        ("DROP TABLE t", ["bank.t"]),
        ("RENAME TABLE t TO seen.u", ["bank.t", "seen.u"]),
        ("RECOVER TABLE t", ["bank.t"]),
        ("CREATE VIEW v AS SELECT id FROM t", ["bank.v"]),
        ("DROP VIEW v", ["bank.v"]),
        ("CREATE DATABASE seen", []),
    ],
)
def test_a_ddl_waits_for_others_of_its_tables_and_views(query: str, relations: list[str]) -> None:
    statement = parse_ddl(query, "bank")
    assert [".".join(name) for name in names_of(statement).relations] == relations


def test_deferred_checks_do_not_keep_postgresql_from_its_ddl(postgresql_url: str) -> None:
    with opened(postgresql_url) as target:
        bank(target)
        relation = target.quote(*place(target))
        apply_texts(
            target,
            [
                f"ALTER TABLE {relation} ADD parent INT DEFAULT 1 "
                f"REFERENCES {relation} DEFERRABLE INITIALLY DEFERRED"
            ],
        )
        apply(open_bank(target), entry(TRUNCATE))
        assert accounts(target) == []
