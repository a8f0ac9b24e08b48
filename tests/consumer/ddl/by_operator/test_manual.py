"""`--ddl-done` and `--ddl-run`: what an operator did, or has run, in place of a DDL."""

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
from ticdc_consumer.ddl.by_operator.manual import done_by_operator, run_by_operator, statements
from ticdc_consumer.errors import Stop, Usage
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.target import Target

ALTER = "ALTER TABLE accounts ADD COLUMN note VARCHAR(20)"
COLUMNS = "id INT PRIMARY KEY, owner VARCHAR(20)"
PLACEMENT = "CREATE PLACEMENT POLICY q FOLLOWERS=2"


def entry(query: str, table: str = "accounts", seq: int = 1) -> LedgerEntry:
    return LedgerEntry(199, seq, "bank", table, query)


def run_pending(here: Bank) -> None:
    ddl.run_pending(here.ddl_context, here.store, retries=1)


def states(here: Bank) -> list[str]:
    return [entry.state for entry in here.store.ledger.entries()]


def columns(target: Target, table: str = "accounts") -> list[str]:
    described = target.describe(*place(target, table))
    return [] if described is None else [column.name for column in described.columns]


@pytest.mark.parametrize(
    ("place_", "why"),
    [
        ("199", "names more than one pending DDL; pending are: 199:1, 199:2"),
        ("199:3", "names no pending DDL"),
        ("198", "names no pending DDL"),
        ("199:", "takes TS or TS:SEQ"),
        ("now", "takes TS or TS:SEQ"),
        ("", "takes TS or TS:SEQ"),
    ],
)
def test_ddl_done_must_name_one_pending_ddl(sqlite_url: str, place_: str, why: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        here.apply(entry(PLACEMENT), entry("ALTER TABLE accounts ADD x INT", seq=2))
        with pytest.raises(Usage, match=why):
            done_by_operator(here.ddl_context, place_)
        assert states(here) == ["pending", "pending"]
        target.execute("ALTER TABLE accounts ADD x INT").close()
        done_by_operator(here.ddl_context, "199:1")
        done_by_operator(here.ddl_context, "199")
        assert states(here) == ["done", "done"]


NOTHING = "SELECT 1"


@pytest.mark.parametrize(
    ("query", "table", "work", "remaining"),
    [
        (ALTER, "accounts", "ALTER TABLE accounts ADD COLUMN note TEXT", ["accounts"]),
        ("ALTER TABLE accounts DROP CONSTRAINT c", "accounts", NOTHING, ["accounts"]),
        ("ALTER TABLE accounts DROP COLUMN nowhere", "accounts", NOTHING, []),
        ("RENAME TABLE accounts TO a", "a", "ALTER TABLE accounts RENAME TO a", ["a"]),
        ("RECOVER TABLE accounts", "accounts", NOTHING, []),
        ("DROP DATABASE bank", "", "DROP TABLE accounts", []),
        ("ALTER DATABASE bank CHARSET utf8mb4", "", NOTHING, ["accounts"]),
        (
            "CREATE TABLE `log` LIKE accounts",
            "log",
            "CREATE TABLE log (id INT, owner TEXT)",
            ["accounts", "log"],
        ),
    ],
)
def test_ddl_done_keeps_the_definitions_as_they_are_then(
    sqlite_url: str, query: str, table: str, work: str, remaining: list[str]
) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        with target.transaction():
            here.store.ledger.define(ACCOUNTS)
            here.store.ledger.add([entry(query, table)])
        target.execute(work).close()
        done_by_operator(here.ddl_context, "199")
        assert sorted(name for _, name in here.store.ledger.definitions()) == remaining


ADD_7 = "ALTER TABLE accounts ADD COLUMN w INT NOT NULL DEFAULT 7"
FOUND = [
    (ADD_7, "accounts", [], "{accounts} has no column w"),
    (
        ADD_7,
        "accounts",
        ["ALTER TABLE {accounts} ADD w INT"],
        "rows of {accounts} have another w than the upstream's rows, which got its default: "
        "correct them by UPDATE {accounts} SET {w} = 7",
    ),
    (
        "ALTER TABLE accounts ADD COLUMN w INT",
        "accounts",
        ["ALTER TABLE {accounts} ADD w INT DEFAULT 5"],
        "by UPDATE {accounts} SET {w} = NULL",
    ),
    ("ALTER TABLE accounts DROP COLUMN owner", "accounts", [], "still has the column owner"),
    ("ALTER TABLE accounts MODIFY owner DOUBLE", "accounts", [], "is still"),
    ("ALTER TABLE accounts RENAME COLUMN owner TO o", "accounts", [], "has no column o"),
    (
        "ALTER TABLE accounts ADD UNIQUE KEY u (owner)",
        "accounts",
        [],
        "{accounts} has no unique key (owner)",
    ),
    ("DROP TABLE accounts", "accounts", [], "the table {accounts} is still there"),
    ("TRUNCATE TABLE accounts", "accounts", [], "there are rows in {accounts}: delete them"),
    ("DROP DATABASE bank", "", [], "the table {accounts} is still there"),
    ("RENAME TABLE accounts TO a", "a", [], "the table {accounts} is still there"),
    (
        "RENAME TABLE elsewhere.c TO bank.b",
        "b",
        [],
        "the rows that bank.b had as elsewhere.c did not come through the changefeed: load them "
        "by: ticdc-consumer load CONFIG --table bank.b",
    ),
    ("CREATE TABLE log (id INT PRIMARY KEY)", "log", [], "there is no table {log}"),
    (
        "CREATE TABLE log (id INT PRIMARY KEY)",
        "log",
        ["CREATE TABLE {log} (id INT PRIMARY KEY)", "INSERT INTO {log} VALUES (1)"],
        "there are rows in {log}: the upstream created the table without rows; delete them",
    ),
    ("CREATE VIEW v AS SELECT id FROM accounts", "v", [], "there is no view {v}"),
    (
        "DROP VIEW v",
        "v",
        ["CREATE VIEW {v} AS SELECT id FROM {accounts}"],
        "the view {v} is still there",
    ),
]


@pytest.mark.parametrize(("query", "table", "work", "found"), FOUND)
def test_ddl_done_looks_before_it_believes(
    target_url: str, query: str, table: str, work: list[str], found: str
) -> None:
    with opened(target_url) as target:
        here = bank(target)
        with target.transaction():
            here.store.ledger.define(ACCOUNTS)
            here.store.ledger.add([entry(query, table)])
        names = {name: target.quote(*place(target, name)) for name in ("accounts", "log", "v")}
        for statement in work:
            target.execute(statement.format(**names)).close()
        with pytest.raises(Stop) as refusal:
            done_by_operator(here.ddl_context, "199")
        assert found.format(**names, w=target.quote(None, "w")) in str(refusal.value)
        assert "--ddl-done 199:1: " in str(refusal.value)
        assert states(here) == ["pending"]


def test_create_done_by_a_person_keeps_the_definition(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        here.apply(entry(f"CREATE TABLE accounts ({COLUMNS}, more INT)"))
        target.execute("DELETE FROM accounts").close()
        done_by_operator(here.ddl_context, "199")
        (definition,) = here.store.ledger.definitions().values()
        assert [column.name for column in definition.columns] == ["id", "owner", "more"]


# --- SQL of an operator --------------------------------------------------------------------------


OF_SESSION = {
    "postgresql": "SET search_path TO pg_catalog;\nSET ROLE pg_read_all_data;\nRESET ROLE;\n",
    "mysql": "USE information_schema;\nSET autocommit = 0;\n",
    "mariadb": "USE information_schema;\nSET autocommit = 0;\n",
    "tidb": "USE information_schema;\nSET autocommit = 0;\n",
}
"""What a file may change for the session that runs it."""


def file_of(target: Target) -> str:
    """Statements, with a semicolon where it ends nothing."""
    relation = target.quote(*place(target))
    return (
        "-- instead; of it\n"
        f"{OF_SESSION.get(target.dialect, '')}"
        f"ALTER TABLE {relation} ADD COLUMN note VARCHAR(20);\n"
        f"UPDATE {relation} SET note = 'a;b' WHERE id = 1;\n"
    )


def notes(target: Target) -> list[tuple[int, str | None]]:
    relation = target.quote(*place(target))
    rows = target.execute(f"SELECT id, note FROM {relation} ORDER BY id").all()  # noqa: S608
    return [(key, note) for key, note in map(tuple, rows)]


def test_sql_of_an_operator_replaces_the_ddl_in_the_ledger_too(
    target_url: str,
) -> None:
    with opened(target_url) as target:
        here = bank(target)
        here.apply(entry(PLACEMENT))
        sql = file_of(target)
        done = run_by_operator(here.ddl_context, here.store, "199", sql)
        assert (done.state, done.instead) == ("done", sql)
        assert here.store.ledger.entries() == [done]
        assert notes(target) == [(1, "a;b"), (2, None), (4, None)]
        run_pending(here)


def test_sql_that_does_something_else_leaves_the_ddl_waiting(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        with target.transaction():
            here.store.ledger.define(ACCOUNTS)
            here.store.ledger.add([entry(ALTER)])
        with pytest.raises(Stop, match=r"--ddl-run 199:1, after its SQL: .* has no column note"):
            run_by_operator(here.ddl_context, here.store, "199", "CREATE TABLE x (id INT)")
        assert states(here) == ["pending"]
        assert (columns(target, "x") == []) is target.transactional_ddl
        added = f"ALTER TABLE {target.quote(*place(target))} ADD COLUMN note VARCHAR(20)"
        run_by_operator(here.ddl_context, here.store, "199", added)
        assert states(here) == ["done"]


def test_sql_that_the_target_refuses_leaves_the_ddl_waiting(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        here.apply(entry(PLACEMENT))
        # TiDB may call a statement's outcome unknown while other sessions change its schema.
        with pytest.raises(Stop, match="statement 2 of 2"):
            run_by_operator(
                here.ddl_context, here.store, "199", "CREATE TABLE x (id INT); DROP TABLE nowhere"
            )
        assert states(here) == ["pending"]
        assert (columns(target, "x") == []) is target.transactional_ddl
        with pytest.raises(Stop, match="199:1"):
            run_pending(here)
        run_by_operator(here.ddl_context, here.store, "199", file_of(target))
        assert states(here) == ["done"]


def test_sql_of_a_person_cut_off_by_a_crash_is_all_or_waits(target_url: str) -> None:
    for before, crashed in crashes(target_url):
        before.apply(entry(PLACEMENT))

        def work(before: Bank = before) -> None:
            run_by_operator(before.ddl_context, before.store, "199", file_of(before.target))

        crashed(work)
        with opened(target_url) as target:
            here = open_bank(target)
            (left,) = here.store.ledger.entries()
            assert accounts(target) == AFTER
            if target.transactional_ddl:
                assert ("note" in columns(target)) is (left.state == "done")
                continue
            if left.state == "pending" and left.instead:
                with pytest.raises(
                    Stop, match="was interrupted or refused, and part of it may be done"
                ):
                    run_pending(here)
            elif left.state == "pending":
                assert "note" not in columns(target)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("", "there is no statement"),
        ("-- nothing\n;;", "there is no statement"),
        ("SELECT 1; COMMIT", "COMMIT must not be in"),
        ("begin; SELECT 1", "BEGIN must not be in"),
        ("START TRANSACTION", "START must not be in"),
        ("SELECT 'a", "unbalanced quotes"),
    ],
)
def test_sql_that_cannot_be_run_at_all_is_wrong_usage(target_url: str, sql: str, why: str) -> None:
    with opened(target_url) as target, pytest.raises(Usage, match=why):
        statements(target, sql)


def test_the_body_of_a_trigger_is_one_statement_in_sqlite(sqlite_url: str) -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END"
    with opened(sqlite_url) as target:
        assert statements(target, f"{trigger}; SELECT 3") == [trigger, "SELECT 3"]


def test_the_body_of_a_function_is_one_statement_in_postgresql(postgresql_url: str) -> None:
    function = "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1; SELECT 2; $$"
    with opened(postgresql_url) as target:
        assert statements(target, f"{function}; SELECT 3") == [function, "SELECT 3"]


@pytest.mark.parametrize(
    ("query", "remaining"),
    [
        ("ALTER TABLE accounts DROP CONSTRAINT c", ["id", "owner"]),
        ("ALTER TABLE accounts ADD COLUMN a INT, ORDER BY id", ["id", "owner", "a"]),
        ("ALTER TABLE accounts ADD COLUMN a NEWTYPE", None),
    ],
)
def test_a_table_keeps_what_is_certain_after_an_unknown_ddl(
    sqlite_url: str, query: str, remaining: list[str] | None
) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        with target.transaction():
            here.store.ledger.define(ACCOUNTS)
            here.store.ledger.add([entry(query)])
        target.execute("ALTER TABLE accounts ADD COLUMN a INT").close()
        done_by_operator(here.ddl_context, "199")
        known = {
            name: ([column.name for column in definition.table.columns], definition.basis)
            for name, definition in here.store.ledger.known().by_name.items()
        }
        assert known == (
            {} if remaining is None else {("bank", "accounts"): (remaining, "declared")}
        )
