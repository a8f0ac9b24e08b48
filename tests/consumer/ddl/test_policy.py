"""Which DDL `[ddl]` lets the consumer skip, and what that leaves."""

from dataclasses import replace

import pytest
from support.loading import ACCOUNTS, AFTER, Bank, accounts, bank, open_bank, opened, options, route
from ticdc_consumer.config.choices import DDL_KINDS
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply import transaction as apply_step
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.by_operator.suggestion import Suggestion, suggested
from ticdc_consumer.ddl.policy import Policy
from ticdc_consumer.errors import Denied, Stop, Unsupported
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_encoder.filters.table import TableMatcher

SKIP = Policy("skip")


def entry(query: str, table: str = "accounts", seq: int = 1) -> LedgerEntry:
    return LedgerEntry(199, seq, "bank", table, query)


def run_pending(here: Bank, policy: Policy) -> None:
    ddl.run_pending(replace(here.ddl_context, policy=policy), here.store, retries=1)


VIEW = "CREATE OR REPLACE ALGORITHM=UNDEFINED DEFINER=`table`@`%` SQL SECURITY DEFINER VIEW v AS S"
TWO = "ALTER TABLE t ADD COLUMN a INT DEFAULT (1 + 1), DROP PARTITION p"


@pytest.mark.parametrize(
    ("policy", "query", "skipped"),
    [
        ({}, VIEW, True),
        ({"kinds": {"VIEW": "stop"}}, VIEW, False),
        ({"kinds": {"VIEW": "if-certain", "CREATE VIEW": "stop"}}, VIEW, False),
        ({"kinds": {"VIEW": "skip"}}, "DROP VIEW v", True),
        ({"on_unsupported": "skip"}, VIEW, True),
        ({"on_unsupported": "skip", "kinds": {"CREATE VIEW": "stop"}}, VIEW, False),
        ({"kinds": {"CREATE VIEW": "skip"}}, VIEW, True),
        ({"kinds": {"CREATE TABLE": "skip", "VIEW": "stop"}}, VIEW, False),
        ({"kinds": {"RECOVER TABLE": "skip"}}, "recover table t", True),
        ({"kinds": {"TRUNCATE TABLE": "skip"}}, "TRUNCATE t", True),
        ({"kinds": {"DROP DATABASE": "skip"}}, "DROP SCHEMA s", True),
        ({"kinds": {"CREATE INDEX": "skip"}}, "CREATE UNIQUE INDEX i ON t (a)", True),
        ({"kinds": {"ADD INDEX": "skip"}}, "CREATE UNIQUE INDEX i ON t (a)", True),
        ({"kinds": {"ALTER TABLE": "skip"}}, TWO, True),
        ({"kinds": {"ALTER TABLE": "skip", "ADD COLUMN": "stop"}}, TWO, False),
        ({"kinds": {"DROP PARTITION": "skip"}}, TWO, False),
        ({"kinds": {"DROP PARTITION": "skip", "ADD COLUMN": "skip"}}, TWO, True),
        ({"kinds": {"ALTER TABLE": "skip"}}, "ALTER TABLE t ADD COLUMN a NEWTYPE", True),
        ({"kinds": {"ALTER TABLE": "skip"}}, "ALTER TABLE t ADD `a", False),
        ({"on_unsupported": "skip"}, "ALTER TABLE t ADD `a", True),
        ({"tables": {"bank.acc*": "skip"}}, VIEW, True),
        ({"tables": {"shop.*": "skip"}, "kinds": {"VIEW": "stop"}}, VIEW, False),
        ({"tables": {"bank.a*": "stop", "*.*": "skip"}, "on_unsupported": "skip"}, VIEW, False),
        ({"tables": {"*.*": "skip"}, "kinds": {"CREATE VIEW": "stop"}}, VIEW, True),
    ],
)
def test_a_table_goes_before_a_kind_and_that_before_the_rest(
    policy: dict[str, object], query: str, skipped: bool
) -> None:
    set_ = {f"ddl_{name}": value for name, value in policy.items()}
    of = Policy.of(options("sqlite://", **set_))
    assert of.passes(entry(query), Unsupported("")) is skipped


def test_only_the_certain_of_views_never_stops() -> None:
    denied = Denied("the target's user lacks a privilege")
    assert Policy().passes(entry(VIEW), denied)
    assert not Policy(kinds={"VIEW": "skip"}).passes(entry(VIEW), denied)
    assert not Policy().passes(entry("CREATE TABLE t (id INT)"), denied)


def test_every_kind_is_one_that_a_statement_can_have() -> None:
    for kind in DDL_KINDS:
        text = f"ALTER TABLE t {kind} p" if kind.endswith("PARTITION") else f"{kind} t"
        assert not Policy("skip", {kind: "stop"}).skips(entry(_whole(kind, text))), kind


def _whole(kind: str, text: str) -> str:
    column = {
        "ADD COLUMN": "ALTER TABLE t ADD c INT",
        "MODIFY COLUMN": "ALTER TABLE t CHANGE c d INT",
        "DROP COLUMN": "ALTER TABLE t DROP c",
        "RENAME COLUMN": "ALTER TABLE t RENAME COLUMN c TO d",
        "SET DEFAULT": "ALTER TABLE t ALTER c DROP DEFAULT",
        "ADD INDEX": "ALTER TABLE t ADD KEY (c)",
        "DROP INDEX": "DROP INDEX i ON t",
        "RENAME INDEX": "ALTER TABLE t RENAME INDEX i TO j",
        "EXCHANGE PARTITION": "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE x",
        "VIEW": "DROP VIEW v",
    }
    return column.get(kind, text)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("CREATE PLACEMENT POLICY q", "CREATE PLACEMENT is not translated"),
        ("ALTER TABLE accounts ORDER BY id", "'ORDER' is not translated"),
        ("ALTER TABLE accounts ADD COLUMN n INT DEFAULT (1 + 1)", "its default is an expression"),
        ("ALTER TABLE accounts ADD COLUMN n NEWTYPE", "unknown type 'newtype'"),
    ],
)
def test_what_is_skipped_is_in_the_ledger_with_its_reason(
    target_url: str, query: str, reason: str
) -> None:
    with opened(target_url) as target:
        here = bank(target)
        with target.transaction():
            here.store.ledger.define(ACCOUNTS)
        load_options = options(target_url, ddl_on_unsupported="skip")
        ddl_entries = [entry(query), entry("CREATE TABLE log (id INT PRIMARY KEY)", "log", 2)]
        apply_with(here, load_options, ddl_entries)
        run_pending(here, SKIP)
        skipped, done = here.store.ledger.entries()
        assert skipped == replace(ddl_entries[0], state="skipped", reason=skipped.reason)
        assert reason in skipped.reason
        assert done.state == "done"
        assert accounts(target) == AFTER


@pytest.mark.parametrize(
    "query",
    [
        "CREATE SEQUENCE IF NOT EXISTS q START WITH 5 CACHE 100",
        "ALTER SEQUENCE q RESTART WITH 7",
        "DROP SEQUENCE IF EXISTS q, r",
    ],
)
def test_a_sequence_is_left_out_and_told_whatever_the_policy_is(
    target_url: str, query: str
) -> None:
    with opened(target_url) as target:
        here = bank(target)
        here.apply(entry(query, "q"))
        run_pending(here, Policy("stop"))
        (skipped,) = here.store.ledger.entries()
        assert skipped.state == "skipped"
        assert skipped.reason == "the target has no sequences: rows carry the generated values"


def apply_with(here: Bank, settings: Settings, entries: list[LedgerEntry]) -> None:
    context = replace(here.ddl_context, policy=Policy.of(settings))
    apply_step.apply(context, here.store, Step(here.old, here.new, entries), here.change, settings)


@pytest.mark.parametrize(
    ("query", "table"),
    [
        ("RENAME TABLE nowhere TO a", "a"),
        ("TRUNCATE TABLE nowhere", "nowhere"),
        ("CREATE TABLE accounts (id INT PRIMARY KEY)", "accounts"),
        ("TRUNCATE TABLE other", "accounts"),
    ],
)
def test_what_the_target_or_its_state_forbids_is_never_skipped(
    target_url: str, query: str, table: str
) -> None:
    with opened(target_url) as target:
        here = bank(target)
        settings = options(target_url, ddl_on_unsupported="skip")
        apply_with(here, settings, [entry(query, table)])
        with pytest.raises(Stop, match="waits for an operator") as stopped:
            run_pending(here, SKIP)
        (pending,) = here.store.ledger.entries()
        assert pending.state == "pending"
        error = stopped.value
        assert (error.table, error.commit_ts) == (("bank", table), pending.commit_ts)
        assert error.ddl is not None
        assert (error.ddl.id, error.ddl.statement) == (pending.id, query)
        assert error.ddl.reason in str(error)


def test_what_stopped_is_skipped_once_the_policy_says_so(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        here.apply(entry("CREATE PLACEMENT POLICY q"))
        with pytest.raises(Stop):
            run_pending(here, Policy())
    with opened(target_url) as target:
        here = open_bank(target)
        run_pending(here, Policy(tables=((TableMatcher(("bank.*",)), "skip"),)))
        assert [e.state for e in here.store.ledger.entries()] == ["skipped"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "CREATE VIEW v AS SELECT id FROM accounts WHERE owner = 'a'",
            "CREATE VIEW {v} AS SELECT id FROM {accounts} WHERE owner = 'a'",
        ),
        ("CREATE VIEW sqlite_v AS SELECT id FROM accounts", None),
        ("CREATE VIEW v AS SELECT 1; DROP TABLE accounts", None),
        ("RECOVER TABLE accounts", None),
        ("ALTER TABLE accounts ADD `", None),
    ],
)
def test_a_suggestion_has_the_targets_names(
    sqlite_url: str, query: str, expected: str | None
) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        where = route(target)
        table = "v" if "VIEW v" in query else "accounts"
        suggestion = suggested(here.ddl_context, entry(query, table))
        names = {
            name: target.quote(*target.locate(*where("s", name))) for name in ("v", "accounts")
        }
        shown = Suggestion((expected.format(**names),), tried=True) if expected else None
        assert suggestion == shown
