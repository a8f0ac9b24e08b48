"""ALTER, RENAME and DROP DATABASE: order, crashes, and what a user did to the tables."""

from dataclasses import replace

import pytest
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
from ticdc_consumer.ddl import numbering
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.errors import Stop
from ticdc_consumer.source.marks import SeenDdl
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.target import Target
from ticdc_encoder.event import Ddl

TS = 199


def entry(query: str, table: str = "accounts", seq: int = 1) -> LedgerEntry:
    return LedgerEntry(TS, seq, "bank", table, query)


def run_pending(here: Bank) -> None:
    ddl.run_pending(here.ddl_context, here.store, retries=1)


def known_bank(target: Target) -> Bank:
    """A bank whose CREATE TABLE came through the stream."""
    here = bank(target)
    with target.transaction():
        here.store.ledger.define(ACCOUNTS)
    return here


def run(target: Target, *statements: str) -> None:
    for text in statements:
        target.connection.exec_driver_sql(text, None, {"no_parameters": True})


def columns(target: Target, table: str) -> list[str]:
    described = target.describe(*place(target, table))
    return [] if described is None else [column.name for column in described.columns]


# --- order --------------------------------------------------------------------------------------


def rename(old: str, new: str, final: str) -> Ddl:
    return Ddl("s", final, f"RENAME TABLE `s`.`{old}` TO `s`.`{new}`;", TS)


@pytest.mark.parametrize(
    "renames",
    [
        [rename("a", "b", "b")],
        [rename("ra", "tmp", "rb"), rename("rb", "ra", "ra"), rename("tmp", "rb", "rb")],
        [rename("b", "c", "c"), rename("a", "b", "b")],
        [rename("a", "b", "c"), rename("b", "c", "c")],
        [
            rename("a", "x", "b"),
            rename("b", "y", "a"),
            rename("x", "b", "b"),
            rename("y", "a", "a"),
        ],
        [rename("a", "t", "b"), rename("t", "b", "b"), rename("c", "t", "t")],
    ],
    ids=["one", "a swap", "a shift", "a chain", "a swap by two names", "a name that two get"],
)
def test_renames_of_one_statement_run_in_a_possible_order(renames: list[Ddl]) -> None:
    for turn in range(len(renames)):
        came = renames[turn:] + renames[:turn]
        seen = [SeenDdl(ddl_, "topic", offset) for offset, ddl_ in enumerate(came)]
        ran = [one.query for one in numbering.entries(seen)]
        now: dict[str, str] = {}
        for query in ran:
            old, new = query.split("`")[3], query.split("`")[7]
            assert new not in now
            now[new] = now.pop(old, old)
        final = {now_: first for first, now_ in now.items()}
        first_names: dict[str, str] = {}
        for query in ran:
            old, new = query.split("`")[3], query.split("`")[7]
            first_names[new] = first_names.pop(old, old)
            sent = next(ddl_.table for ddl_ in renames if ddl_.query == query)
            assert final[first_names[new]] == sent


# --- crashes ------------------------------------------------------------------------------------

FOUR = (
    entry("ALTER TABLE accounts ADD COLUMN note VARCHAR(9) NOT NULL DEFAULT 'n', ADD KEY k (note)"),
    entry("ALTER TABLE accounts MODIFY COLUMN owner VARCHAR(40), DROP KEY k", seq=2),
    entry("ALTER TABLE accounts CHANGE COLUMN note remark VARCHAR(20) FIRST", seq=3),
    entry("RENAME TABLE bank.accounts TO bank.log", "log", seq=4),
)


def work(here: Bank) -> None:
    here.apply(*FOUR)
    run_pending(here)


# TiDB: no key over a column that the same statement adds.
@pytest.mark.slow
@pytest.mark.parametrize("target_url", ["sqlite", "postgresql", "mariadb", "mysql"], indirect=True)
def test_an_alter_is_done_once_wherever_it_was_cut_off(target_url: str) -> None:
    for before, crashed in crashes(target_url):
        with before.target.transaction():
            before.store.ledger.define(ACCOUNTS)
        crashed(lambda before=before: work(before))  # type: ignore[misc]
        with opened(target_url) as target:
            here = open_bank(target)
            if here.old.resolved_ts == 100:
                assert accounts(target) == BEFORE
                here.apply(*FOUR)
            run_pending(here)
            assert columns(target, "accounts") == []
            assert sorted(columns(target, "log")) == ["id", "owner", "remark"]
            relation = target.quote(*place(target, "log"))
            rows = target.execute(f"SELECT id, owner, remark FROM {relation} ORDER BY id").all()  # noqa: S608
            assert [tuple(row) for row in rows] == [(*row, "n") for row in AFTER]
            assert {e.state for e in here.store.ledger.entries()} == {"done"}
            (definition,) = here.store.ledger.definitions().values()
            assert definition.name == "log"
            assert [column.name for column in definition.columns] == ["remark", "id", "owner"]


# --- what a user did ----------------------------------------------------------------------------


@pytest.mark.parametrize("server", ["mariadb", "mysql", "tidb"])
def test_a_table_that_is_neither_as_before_nor_as_after_stops(
    server: str, request: pytest.FixtureRequest
) -> None:
    with opened(request.getfixturevalue(f"{server}_url")) as target:
        here = known_bank(target)
        run(target, f"ALTER TABLE {target.quote(*place(target))} MODIFY owner varchar(30)")
        here.apply(entry("ALTER TABLE accounts MODIFY COLUMN owner VARCHAR(40)"))
        with pytest.raises(Stop) as stop:
            run_pending(here)
        assert (
            "matches neither its state before the DDL nor after it: column owner was varchar(20) "
            "utf8mb4_bin before, is varchar(40) utf8mb4_bin after, and is now varchar(30)"
        ) in str(stop.value)


@pytest.mark.parametrize(
    "addition",
    [
        "CREATE INDEX mine ON accounts (owner)",
        "CREATE TRIGGER mine AFTER INSERT ON accounts BEGIN SELECT 1; END",
        "ALTER TABLE accounts ADD COLUMN mine INT",
    ],
)
def test_sqlite_does_not_build_a_table_anew_that_a_user_added_to(
    sqlite_url: str, addition: str
) -> None:
    with opened(sqlite_url) as target:
        here = known_bank(target)
        run(target, addition)
        here.apply(entry("ALTER TABLE accounts ALTER COLUMN owner SET DEFAULT 'x'"))
        with pytest.raises(Stop, match="would lose what is not the consumer's: mine"):
            run_pending(here)
        assert accounts(target) == AFTER


def test_a_column_that_a_user_added_stops_with_the_servers_error(target_url: str) -> None:
    with opened(target_url) as target:
        here = known_bank(target)
        run(target, f"ALTER TABLE {target.quote(*place(target))} ADD COLUMN note text")
        here.apply(entry("ALTER TABLE accounts ADD COLUMN note INT"))
        with pytest.raises(Stop, match="note"):
            run_pending(here)
        assert accounts(target) == AFTER


# --- DROP DATABASE ------------------------------------------------------------------------------


def test_drop_database_drops_what_came_through_the_stream(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        name = f"{target.engine.url.database}_more"

        def to_more(_: str, table: str) -> tuple[str, str]:
            return name, table

        context = replace(here.ddl_context, route=to_more)

        def attempt(*entries: LedgerEntry) -> None:
            with target.transaction():
                here.store.ledger.add(entries)
            ddl.run_pending(context, here.store, retries=1)

        attempt(
            LedgerEntry(201, 1, "more", "", "CREATE DATABASE `more`"),
            LedgerEntry(202, 1, "more", "log", "CREATE TABLE log (id INT PRIMARY KEY)"),
            LedgerEntry(203, 1, "more", "", "ALTER DATABASE `more` CHARACTER SET = utf8mb4"),
        )
        at = target.locate(*to_more("more", "log"))
        assert target.describe(*at) is not None
        attempt(LedgerEntry(204, 1, "more", "", "DROP DATABASE `more`"))
        assert target.describe(*at) is None
        assert accounts(target) == BEFORE
        assert here.store.ledger.definitions() == {}


def test_drop_database_stops_where_a_user_has_tables_in_it(postgresql_url: str) -> None:
    with opened(postgresql_url) as target:
        here = bank(target)
        created = [
            LedgerEntry(201, 1, "more", "", "CREATE DATABASE `more`"),
            LedgerEntry(202, 1, "more", "log", "CREATE TABLE log (id INT PRIMARY KEY)"),
        ]
        dropped = LedgerEntry(204, 1, "more", "", "DROP DATABASE `more`")

        def plain(schema: str, table: str) -> tuple[str, str]:
            return schema, table

        context = replace(here.ddl_context, route=plain)
        with target.transaction():
            here.store.ledger.add(created)
        ddl.run_pending(context, here.store, retries=1)
        run(target, "CREATE TABLE more.mine (id int)")
        with target.transaction():
            here.store.ledger.add([dropped])
        with pytest.raises(
            Stop, match="holds objects that did not come through the stream as more's: mine"
        ):
            ddl.run_pending(context, here.store, retries=1)
        assert target.describe("more", "log") is not None
