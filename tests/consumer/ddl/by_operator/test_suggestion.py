"""What is suggested at a stop: only what the target takes, with what it leaves undone."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest
from support.loading import ACCOUNTS, Bank, bank, opened, place
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.by_operator import trial
from ticdc_consumer.ddl.by_operator.manual import run_by_operator
from ticdc_consumer.ddl.context import Snapshot
from ticdc_consumer.errors import Stop, UpstreamAway
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target
from ticdc_encoder.event import Table

ADDED = "ALTER TABLE accounts ADD COLUMN n INT DEFAULT (1 + 1)"
REBUILT = "ALTER TABLE accounts ADD COLUMN n INT NOT NULL DEFAULT (1 + 1)"
VIEW = "CREATE VIEW v AS SELECT id FROM accounts"
REPAIR = (
    "(rows may then differ from TiDB's; once the run has caught up, repair them from [source] "
    "upstream: ticdc-consumer verify CONFIG --repair --table bank.accounts)"
)


def entry(query: str, commit_ts: int = 199, name: str = "accounts") -> LedgerEntry:
    return LedgerEntry(commit_ts, 1, "bank", name, query)


def stopped(
    target: Target, query: str, *statements: str, table: Table = ACCOUNTS, view: str = ""
) -> tuple[Bank, str]:
    """A bank in which a DDL of the accounts stops, and what that says; `statements` are of an
    operator before, with {t} for the accounts, `view` is one that came through the stream."""
    here = bank(target)
    with target.transaction():
        here.store.ledger.define(table)
        here.store.ledger.add([entry(view, 198, "v")] if view else [])
    if view:
        ddl.run_pending(here.ddl_context, here.store, retries=1)
    run(target, statements)
    with target.transaction():
        here.store.ledger.add([entry(query)])
    with pytest.raises(Stop) as stop:
        ddl.run_pending(here.ddl_context, here.store, retries=1)
    return here, str(stop.value)


def run(target: Target, statements: Sequence[str]) -> None:
    for statement in statements:
        target.execute(statement.format(t=target.quote(*place(target)))).close()


def suggested(here: Bank) -> str:
    """What the last stop shows to `why` and `status`."""
    (waiting,) = here.monitor.look().ddls
    return ";\n".join(waiting.suggestion)


REFUSED = [
    ("TRUNCATE TABLE accounts", "DROP TABLE {t}"),
    ("ALTER TABLE accounts ADD COLUMN n INT DEFAULT 7", "ALTER TABLE {t} ADD COLUMN n VARCHAR(7)"),
    (ADDED, "ALTER TABLE {t} ADD COLUMN n VARCHAR(7)"),
    ("ALTER TABLE accounts ADD UNIQUE KEY k (owner)", "UPDATE {t} SET owner = 'same'"),
    (f"{REBUILT}, ADD UNIQUE KEY k (n)", "UPDATE {t} SET owner = 'same'"),
    (
        "ALTER TABLE accounts DROP PRIMARY KEY, ADD COLUMN n INT AUTO_INCREMENT PRIMARY KEY",
        "UPDATE {t} SET owner = 'same'",
    ),
]


@pytest.mark.parametrize(("query", "before"), REFUSED)
def test_a_statement_that_the_target_refuses_is_not_suggested(
    target_url: str, query: str, before: str
) -> None:
    with opened(target_url) as target:
        _, said = stopped(target, query, before)
        assert "perhaps" not in said


def test_what_the_target_refused_runs_once_that_is_put_right(target_url: str) -> None:
    with opened(target_url) as target:
        here, said = stopped(target, "TRUNCATE TABLE accounts", "DROP TABLE {t}")
        assert "; correct that in the target, then start again; or else run your own SQL" in said
        run(target, ["CREATE TABLE {t} (id INTEGER PRIMARY KEY)"])
        ddl.run_pending(here.ddl_context, here.store, retries=1)


def test_a_key_that_is_taken_says_by_itself_how_to_go_on(target_url: str) -> None:
    with opened(target_url) as target:
        _, said = stopped(
            target, "ALTER TABLE accounts ADD UNIQUE KEY k (owner)", "UPDATE {t} SET owner = 'same'"
        )
        assert "--repair --table bank.accounts, then start again; run your own SQL" in said
        assert "correct that" not in said


def test_values_that_the_upstream_has_are_read_there_first(target_url: str) -> None:
    with opened(target_url) as target:
        here, said = stopped(target, ADDED)
        way = "set [source] upstream, from which these values can be read, and start again"
        assert f"; {way}; or else " in said
        (waiting,) = here.monitor.look().ddls
        assert waiting.reason.endswith(way)


def test_nothing_is_suggested_while_the_upstream_is_only_away(target_url: str) -> None:
    def away(name: TableName, commit_ts: int) -> AbstractContextManager[Snapshot]:
        raise UpstreamAway("it does not answer; start again when it answers")

    with opened(target_url) as target:
        here, _ = stopped(target, ADDED)
        with pytest.raises(Stop) as stop:
            ddl.run_pending(replace(here.ddl_context, snapshot_of=away), here.store, retries=1)
        assert "; start again when it answers; run your own SQL in its place" in str(stop.value)
        assert "correct that" not in str(stop.value)


def test_a_schema_that_is_missing_is_to_be_created(postgresql_url: str) -> None:
    with opened(postgresql_url) as target:
        here = bank(target)
        context = replace(here.ddl_context, route=lambda _, table: ("shop", table))
        with target.transaction():
            here.store.ledger.add([entry("CREATE TABLE a (id INT PRIMARY KEY)", name="a")])
        with pytest.raises(Stop) as stop:
            ddl.run_pending(context, here.store, retries=1)
        assert "create that schema, then start again; run your own SQL" in str(stop.value)
        target.execute('CREATE SCHEMA "shop"').close()
        ddl.run_pending(context, here.store, retries=1)
        assert target.describe("shop", "a") is not None


def test_a_suggestion_does_not_break_the_view_of_somebody_else(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        _, said = stopped(target, REBUILT, "CREATE VIEW mine AS SELECT owner FROM {t}")
        assert "perhaps" not in said


@pytest.mark.parametrize("url", ["sqlite_url", "postgresql_url"])
@pytest.mark.parametrize("query", [ADDED, REBUILT])
def test_what_is_suggested_keeps_the_views_of_the_stream(
    url: str, query: str, request: pytest.FixtureRequest
) -> None:
    with opened(request.getfixturevalue(url)) as target:
        here, _ = stopped(target, query, view=VIEW)
        assert "DROP VIEW" in suggested(here) and "CREATE VIEW" in suggested(here)
        run_by_operator(here.ddl_context, here.store, "199", suggested(here))
        schema, _ = place(target)
        assert target.query(f"SELECT count(*) FROM {target.quote(schema, 'v')}") == [(3,)]  # noqa: S608


def test_a_large_table_is_left_as_it_is_and_that_is_said(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "MOST_ROWS", 2)
    with opened(sqlite_url) as target:
        _, said = stopped(target, ADDED)
        assert '"n" INTEGER (this was not tried) (rows may then differ from TiDB' in said


@pytest.mark.parametrize("url", ["sqlite_url", "postgresql_url", "mysql_url", "mariadb_url"])
def test_values_that_are_not_certain_are_to_be_corrected(
    url: str, request: pytest.FixtureRequest
) -> None:
    with opened(request.getfixturevalue(url)) as target:
        here, said = stopped(target, ADDED)
        assert f" {REPAIR}; run your own SQL in its place by --ddl-run 199:1 FILE" in said
        run_by_operator(here.ddl_context, here.store, "199", suggested(here))


def test_nothing_is_suggested_that_cannot_be_corrected_by_a_key(target_url: str) -> None:
    with opened(target_url) as target:
        keyless = replace(ACCOUNTS, handle_key=(), indexes=())
        _, said = stopped(target, ADDED, table=keyless)
        assert "perhaps" not in said
