"""Where DDL commits by itself, what a target has already counts as done only if the consumer began
it: what somebody else did stops the run, and the way on that is printed ends as upstream."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support.loading import (
    ACCOUNTS,
    BEFORE,
    CHANGEFEED,
    IMPATIENT,
    Bank,
    bank,
    open_bank,
    opened,
    place,
)
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.target import Target

FAMILY = ["mariadb", "mysql", "tidb"]


class Killed(Exception):
    """The process is gone."""


@pytest.fixture(params=FAMILY)
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def run(target: Target, *statements: str) -> None:
    relation = target.quote(*place(target))
    for text in statements:
        text = text.replace("{t}", relation).replace("{log}", target.quote(*place(target, "log")))
        target.connection.exec_driver_sql(text, None, {"no_parameters": True})


def rows(target: Target, columns: str, table: str = "accounts") -> list[tuple[object, ...]]:
    relation = target.quote(*place(target, table))
    return target.query(f"SELECT {columns} FROM {relation} ORDER BY id")  # noqa: S608


def entry(query: str, table: str = "accounts", ts: int = 199) -> LedgerEntry:
    return LedgerEntry(ts, 1, "bank", table, query)


def known_bank(target: Target) -> Bank:
    here = bank(target)
    with target.transaction():
        here.store.ledger.define(ACCOUNTS)
    return here


def pending(here: Bank) -> None:
    ddl.run_pending(here.ddl_context, here.store, retries=1)


def send(here: Bank, query: str, table: str = "accounts", ts: int = 199) -> None:
    with here.target.transaction():
        here.store.ledger.add([entry(query, table, ts)])


def way_on(stop: Stop) -> str:
    """The statement that the message tells to run."""
    found = re.search(r"; undo that by (.+?), and start again", str(stop))
    assert found, str(stop)
    return found[1]


@dataclass(frozen=True)
class Case:
    """`first` is what somebody else did, `query` what upstream sends; the way on that is printed
    leads to `expected`, of these columns."""

    first: tuple[str, ...]
    query: str
    columns: str
    expected: list[tuple[object, ...]]


DONE_BY_OTHERS = [
    Case(
        ("ALTER TABLE {t} ADD COLUMN w INT",),
        "ALTER TABLE accounts ADD COLUMN w INT DEFAULT 7",
        "id, w",
        [(key, 7) for key, _ in BEFORE],
    ),
    Case(
        ("ALTER TABLE {t} ADD COLUMN w INT", "ALTER TABLE {t} ADD INDEX k (w)"),
        "ALTER TABLE accounts ADD COLUMN w INT DEFAULT 7, ADD INDEX k (w)",
        "id, w",
        [(key, 7) for key, _ in BEFORE],
    ),
    Case(
        ("ALTER TABLE {t} ADD COLUMN w VARCHAR(9) NOT NULL COLLATE utf8mb4_bin",),
        "ALTER TABLE accounts ADD COLUMN w VARCHAR(9) NOT NULL DEFAULT 'n'",
        "id, w",
        [(key, "n") for key, _ in BEFORE],
    ),
    Case(
        ("ALTER TABLE {t} ADD UNIQUE INDEX u (owner)",),
        "ALTER TABLE accounts ADD UNIQUE INDEX u (owner)",
        "id, owner",
        list(BEFORE),
    ),
    Case(
        ("RENAME TABLE {t} TO {log}",),
        "RENAME TABLE bank.accounts TO bank.log",
        "id, owner",
        list(BEFORE),
    ),
]


@pytest.mark.parametrize("case", DONE_BY_OTHERS, ids=lambda case: case.query)
def test_a_strangers_change_stops_and_the_advice_ends_equal(url: str, case: Case) -> None:
    table = "log" if "RENAME" in case.query else "accounts"
    with opened(url) as target:
        here = known_bank(target)
        run(target, *case.first)
        send(here, case.query, table)
        with pytest.raises(Stop, match=r"not begun by the consumer|another default") as stop:
            pending(here)
        assert "perhaps by" not in str(stop.value)
        with pytest.raises(Stop, match=r"not begun by the consumer|another default"):
            pending(here)  # another start takes it for done as little
        assert here.store.ledger.pending()
        run(target, way_on(stop.value))
        pending(here)
        assert rows(target, case.columns, table) == case.expected
        assert here.store.ledger.pending() == []


NO_WAY_BACK = [
    ("ALTER TABLE {t} MODIFY owner VARCHAR(40) COLLATE utf8mb4_bin", "MODIFY owner VARCHAR(40)"),
    ("ALTER TABLE {t} ADD holder VARCHAR(20) COLLATE utf8mb4_bin, DROP owner",
     "RENAME COLUMN owner TO holder"),
    ("ALTER TABLE {t} DROP COLUMN owner", "DROP COLUMN owner"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "action"), NO_WAY_BACK, ids=[c[1] for c in NO_WAY_BACK])
def test_what_cannot_be_undone_waits_for_a_person(url: str, first: str, action: str) -> None:
    with opened(url) as target:
        here = known_bank(target)
        run(target, first)
        send(here, f"ALTER TABLE accounts {action}")
        with pytest.raises(Stop, match="restore the table and its rows as they were before it"):
            pending(here)
        assert here.store.ledger.pending()


def test_a_view_of_somebody_else_stops(url: str) -> None:
    with opened(url) as target:
        here = known_bank(target)
        run(target, "CREATE VIEW {log} (id) AS SELECT id + 1 FROM {t}")
        create = "CREATE VIEW `bank`.`log` (`id`) AS SELECT `id` FROM `bank`.`accounts`"
        send(here, create, "log")
        with pytest.raises(Stop, match=r"there is a view .* already") as stop:
            pending(here)
        run(target, way_on(stop.value))
        pending(here)
        assert rows(target, "id", "log") == [(1,), (2,), (3,)]
        run(target, "DROP VIEW {log}")


def test_a_table_in_the_way_of_what_is_set_aside_stops(url: str) -> None:
    """As one of a changefeed that was forgotten, and begins again."""
    with opened(url) as target:
        known_bank(target)
        store = Store(target, CHANGEFEED, keep_dropped=3600)
        old = store.start(IMPATIENT)
        assert old is not None
        here = Bank(target, store, old)
        aside = target.quote(*place(target, "ticdc_dropped_199_1"))
        run(target, f"CREATE TABLE {aside} LIKE {{t}}")
        send(here, "TRUNCATE TABLE accounts")
        with pytest.raises(Stop, match=r"exists already; drop it, and start again"):
            pending(here)
        assert rows(target, "id, owner") == BEFORE
        run(target, f"DROP TABLE {aside}")
        pending(here)
        assert rows(target, "id, owner") == []


# --- between a crash and the next start ---------------------------------------------------------


@pytest.fixture
def killed_at(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """A target whose consumer dies before the first statement of its DDL."""

    def hit(step: str) -> None:
        if step == "ddl-begun":
            raise Killed

    with opened(url) as target:
        monkeypatch.setattr("ticdc_consumer.failpoints.hit", hit)
        yield target


def after_the_crash(target: Target, query: str, table: str, *statements: str) -> Bank:
    here = known_bank(target)
    send(here, query, table)
    with pytest.raises(Killed):
        pending(here)
    run(target, *statements)
    assert open_bank(target).store.ledger.pending()[0].begun
    return open_bank(target)


OTHERS_AFTER_THE_CRASH = [
    (
        ("ALTER TABLE {t} ADD COLUMN w INT",),
        "ALTER TABLE accounts ADD COLUMN w INT DEFAULT 7",
        "another default or expression for column w",
    ),
    (
        ("ALTER TABLE {t} ADD COLUMN w INT", "ALTER TABLE {t} ALTER w SET DEFAULT 7"),
        "ALTER TABLE accounts ADD COLUMN w INT DEFAULT 7",
        "hold another value in the new column w",
    ),
    (
        ("ALTER TABLE {t} ADD COLUMN holder VARCHAR(20) COLLATE utf8mb4_bin, DROP COLUMN owner",),
        "ALTER TABLE accounts RENAME COLUMN owner TO holder",
        "the table is not the one that it was",
    ),
    (
        ("CREATE TABLE {log} LIKE {t}", "DROP TABLE {t}"),
        "RENAME TABLE bank.accounts TO bank.log",
        "the table is not the one that it was",
    ),
]


@pytest.mark.parametrize(("statements", "query", "why"), OTHERS_AFTER_THE_CRASH)
def test_a_strangers_change_after_a_crash_is_not_taken_for_ours(
    killed_at: Target,
    monkeypatch: pytest.MonkeyPatch,
    statements: tuple[str, ...],
    query: str,
    why: str,
) -> None:
    table = "log" if "RENAME TABLE" in query else "accounts"
    here = after_the_crash(killed_at, query, table, *statements)
    monkeypatch.undo()
    with pytest.raises(Stop, match=why):
        pending(here)
    assert here.store.ledger.pending()


SAME_AFTER_THE_CRASH = [
    ("ALTER TABLE {t} ADD COLUMN w INT DEFAULT 7", "ADD COLUMN w INT DEFAULT 7"),
    ("ALTER TABLE {t} CHANGE owner holder VARCHAR(20) COLLATE utf8mb4_bin",
     "RENAME COLUMN owner TO holder"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "action"), SAME_AFTER_THE_CRASH)
def test_the_same_work_is_not_done_twice(
    killed_at: Target, monkeypatch: pytest.MonkeyPatch, statement: str, action: str
) -> None:
    query = f"ALTER TABLE accounts {action}"
    here = after_the_crash(killed_at, query, "accounts", statement)
    monkeypatch.undo()
    pending(here)
    assert here.store.ledger.pending() == []


def test_a_statement_that_the_server_refused_is_not_begun(url: str) -> None:
    with opened(url) as target:
        here = known_bank(target)
        run(target, "UPDATE {t} SET owner = 'ann'")
        send(here, "ALTER TABLE accounts ADD UNIQUE INDEX u (owner)")
        with pytest.raises(Stop, match="u"):
            pending(here)
        assert [one.begun for one in here.store.ledger.pending()] == [""]
