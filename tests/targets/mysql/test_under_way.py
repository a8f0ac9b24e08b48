"""A DDL that the server still runs is waited for, and not started once more.

What keeps it from ending is a metadata lock, which goes when the consumer says that it waits; or
TiDB is being upgraded, and queues all DDL until then, as what a kill -9 left there.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import sqlalchemy as sa
from support.databases import fresh_database
from support.loading import ACCOUNTS, AFTER, Bank, accounts, bank, opened, place
from support.own_server import OwnServer, own_server
from support.server_address import server_address
from ticdc_consumer.ddl import attempt, begun, translate
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.errors import Unavailable
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.mysql import under_way
from ticdc_consumer.targets.mysql.dialects import TIDB
from ticdc_consumer.targets.target import Target

ADD = LedgerEntry(199, 1, "bank", "accounts", "ALTER TABLE accounts ADD INDEX k (owner)")


@pytest.fixture(params=["mariadb", "mysql", "tidb"])
def family_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(params=["mariadb", "mysql"])
def killing_url(request: pytest.FixtureRequest) -> str:
    """Of a server whose sessions end when they are killed: TiDB's end when their DDL does."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


def pending_bank(target: Target) -> Bank:
    """The cut is applied, and the ADD INDEX was begun by a consumer that is gone."""
    here = bank(target)
    with target.transaction():
        here.store.ledger.define(ACCOUNTS)
    here.apply(ADD)
    with target.transaction():
        begun.note(here.ddl_context, ADD, translate.work(here.ddl_context, ADD))
    return here


def run_pending(here: Bank) -> None:
    ddl.run_pending(here.ddl_context, here.store, retries=3)


@contextmanager
def reading(url: str, target: Target) -> Iterator[Callable[[], None]]:
    """A reader in a transaction: no ALTER TABLE ends before it. Gives what ends it."""
    with opened(url) as reader:
        reader.execute("START TRANSACTION").close()
        relation = target.quote(*place(target))
        reader.execute(f"SELECT count(*) FROM {relation}").close()  # noqa: S608

        def release() -> None:
            if not reader.connection.closed:
                reader.execute("ROLLBACK").close()

        yield release


class AtFirstWord(logging.Handler):
    """Does something as soon as waiting is told of, and keeps what was said."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self.messages: list[str] = []
        self._then = then

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
        if len(self.messages) == 1:
            self._then()


@contextmanager
def logged(then: Callable[[], None]) -> Iterator[AtFirstWord]:
    handler = AtFirstWord(then)
    under_way.logger.addHandler(handler)
    try:
        yield handler
    finally:
        under_way.logger.removeHandler(handler)


def waiting_for_readers(target: Target, session: str) -> str:
    """The query for an ALTER TABLE of the session that a reader holds up."""
    if target.dialect == "tidb":
        return (
            "SELECT 1 FROM information_schema.ddl_jobs WHERE db_name = DATABASE() "
            "AND state = 'running' AND schema_state <> 'none'"
        )
    return (
        f"SELECT 1 FROM information_schema.processlist WHERE id = {session} "  # noqa: S608
        "AND info LIKE 'ALTER%' AND state LIKE '%metadata lock%'"
    )


@contextmanager
def altering(url: str, statement: str) -> Iterator[threading.Thread]:
    """Another session that sends the statement, and is at it when this begins."""
    with opened(url) as other, opened(url) as watcher:
        session = other.session_id()
        thread = threading.Thread(target=lambda: other.execute(statement).close())
        thread.start()
        while not watcher.query(waiting_for_readers(watcher, session)):
            assert thread.is_alive()
        yield thread
        thread.join()


def statements(target: Target) -> list[str]:
    """What DDL this consumer's sessions send from now on."""
    sent: list[str] = []

    def watch(_connection: object, _cursor: object, text: str, *_: object) -> None:
        if under_way.is_ddl(text):
            sent.append(text)

    sa.event.listen(target.engine, "before_cursor_execute", watch)
    return sent


@pytest.mark.parametrize("by_hand", [False, True], ids=["ours", "a person's"])
def test_the_same_statement_of_another_session_is_waited_for(
    family_url: str, by_hand: bool
) -> None:
    with opened(family_url) as target:
        here = pending_bank(target)
        relation = target.quote(*place(target))
        statement = f"ALTER TABLE {relation} ADD KEY `k` (`owner`)"
        if by_hand:
            statement = "ALTER  TABLE accounts  ADD INDEX k (owner) -- by hand"
        with reading(family_url, target) as release, altering(family_url, statement):
            sent = statements(target)
            with logged(release) as handler:
                run_pending(here)
        assert sent == []
        assert [entry.state for entry in here.store.ledger.entries()] == ["done"]
        assert "still runs: ALTER TABLE" in handler.messages[0].replace("  ", " ")
        assert keys(target) == {"PRIMARY", "k"}


def test_another_tables_ddl_is_not_waited_for(family_url: str) -> None:
    with opened(family_url) as target:
        here = pending_bank(target)
        target.execute("CREATE TABLE accounts_2 (id INT PRIMARY KEY)").close()
        with opened(family_url) as reader:
            reader.execute("START TRANSACTION").close()
            reader.execute("SELECT * FROM accounts_2").close()
            with altering(family_url, "ALTER TABLE accounts_2 ADD n INT"):
                run_pending(here)
                reader.execute("ROLLBACK").close()
        assert keys(target) == {"PRIMARY", "k"}


def test_a_job_is_waited_for_that_has_no_session_any_more(tidb_url: str) -> None:
    """As after TiDB was killed: it goes on with its DDL jobs when it starts anew."""
    with opened(tidb_url) as target:
        here = pending_bank(target)
        relation = target.quote(*place(target))
        statement = f"ALTER TABLE {relation} ADD KEY `k` (`owner`)"
        with reading(tidb_url, target) as release, altering(tidb_url, statement):
            running = [who for who, _, _ in target.query(TIDB.statements)]
            assert sum(who.startswith("DDL job ") for who in running) >= 1
            with logged(release) as handler:
                under_way.wait_for_others(target, ONLY_JOBS, [place(target)])
        assert handler.messages[0].startswith("DDL job ")
        run_pending(here)
        assert keys(target) == {"PRIMARY", "k"}


def test_an_alter_whose_client_timed_out_is_not_started_twice(family_url: str) -> None:
    with opened(family_url) as target:
        here = pending_bank(target)
        fill(target)
        here.store.start(0.0)  # a session in the way is ended at once
        sent = statements(target)
        sa.event.listen(target.engine, "before_cursor_execute", impatient)
        run_pending(here)
        assert len(sent) == 1
        assert [entry.state for entry in here.store.ledger.entries()] == ["done"]
        assert keys(target) == {"PRIMARY", "k"}


def fill(target: Target) -> None:
    """So many rows that an index over them takes a while."""
    relation = target.quote(*place(target))
    for power in range(15):
        target.execute(
            f"INSERT INTO {relation} SELECT id + {10 << power}, uuid() FROM {relation}".replace(  # noqa: S608
                "uuid()", "left(uuid(), 20)"
            )
        ).close()


def impatient(connection: sa.Connection, _cursor: object, text: str, *_: object) -> None:
    """The driver gives a session up whose ALTER TABLE takes 20 ms; the server goes on with it."""
    if text.startswith("ALTER"):
        driver = connection.connection.dbapi_connection
        driver._read_timeout = 0.02  # type: ignore[union-attr]


def test_an_alter_whose_connection_was_killed_is_run_again(killing_url: str) -> None:
    with opened(killing_url) as target, opened(killing_url) as admin:
        here = pending_bank(target)
        session = target.session_id()
        sent = statements(target)
        with reading(killing_url, target) as release:
            killer = threading.Thread(target=lambda: kill_when_waiting(admin, session, release))
            killer.start()
            run_pending(here)
            killer.join()
        assert len(sent) == 2
        assert keys(target) == {"PRIMARY", "k"}


def kill_when_waiting(admin: Target, session: str, then: Callable[[], None]) -> None:
    while not admin.query(waiting_for_readers(admin, session)):
        pass
    admin.end_session(session)
    then()


def test_too_long_a_wait_ends_the_run_and_leaves_the_ddl_pending(
    family_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(under_way, "LONGEST", -1.0)
    with opened(family_url) as target:
        here = pending_bank(target)
        statement = f"ALTER TABLE {target.quote(*place(target))} ADD KEY `k` (`owner`)"
        with reading(family_url, target) as release, altering(family_url, statement):
            with pytest.raises(Unavailable, match="still runs: ALTER TABLE"):
                run_pending(here)
            release()
        assert [entry.state for entry in here.store.ledger.entries()] == ["pending"]
        monkeypatch.undo()  # a server may still list a statement that it has just answered
        run_pending(here)
        assert [entry.state for entry in here.store.ledger.entries()] == ["done"]


def test_waiting_ends_with_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_way, "LONGEST", -1.0)
    with pytest.raises(Unavailable, match="session 7 of the target still runs: ALTER TABLE t"):
        under_way.Wait().on("session 7", "ALTER  TABLE t")


def keys(target: Target) -> set[str]:
    schema, table = place(target)
    rows = target.execute(
        "SELECT DISTINCT index_name FROM information_schema.statistics "
        "WHERE table_schema = %s AND table_name = %s",
        (schema, table),
    ).all()
    return {str(row[0]) for row in rows}


def test_what_is_there_after_the_wait_is_as_the_cut_left_it(family_url: str) -> None:
    with opened(family_url) as target:
        run_pending(pending_bank(target))
        relation = target.quote(*place(target))
        rows = target.execute(f"SELECT id, owner FROM {relation} ORDER BY id").all()  # noqa: S608
        assert [tuple(row) for row in rows] == AFTER


# --- TiDB's queue --------------------------------------------------------------------------------

PATIENCE = 120.0


ONLY_JOBS = replace(TIDB, statements=TIDB.statements.partition("UNION ALL")[2])


@pytest.fixture(scope="module")
def tidb() -> Iterator[OwnServer]:
    server_address("TIDB_URL")  # it may be missing here
    with own_server("tidb") as server:
        yield server


LIKE = "CREATE TABLE others LIKE accounts"
VIEW = "CREATE VIEW some AS SELECT id FROM accounts WHERE id > 1"

CASES: list[tuple[str, tuple[str, ...], str]] = [
    ("ADD COLUMN", (), "ALTER TABLE accounts ADD COLUMN n INT NOT NULL DEFAULT 7"),
    ("ADD INDEX", (), "CREATE UNIQUE INDEX o ON accounts (owner)"),
    ("DROP INDEX", (), "ALTER TABLE accounts DROP INDEX k"),
    ("a rewritten column", (), "ALTER TABLE accounts MODIFY COLUMN owner VARCHAR(9)"),
    ("two statements of one DDL", (), "ALTER TABLE accounts ADD COLUMN n INT, ADD INDEX i (n)"),
    ("CREATE TABLE", (), "CREATE TABLE others (id INT PRIMARY KEY, v INT)"),
    ("CREATE TABLE LIKE", (), LIKE),
    ("DROP TABLE", (LIKE,), "DROP TABLE others"),
    ("TRUNCATE TABLE", (LIKE,), "TRUNCATE TABLE others"),
    ("RENAME TABLE", (LIKE,), "RENAME TABLE others TO more"),
    ("CREATE VIEW", (), VIEW),
    ("DROP VIEW", (VIEW,), "DROP VIEW some"),
]


def add(here: Bank, number: int, query: str) -> LedgerEntry:
    entry = LedgerEntry(200 + number, 1, "bank", "", query)
    with here.target.transaction():
        here.store.ledger.add([entry])
    return entry


@contextmanager
def queued(server: OwnServer, url: str, statement: str) -> Iterator[None]:
    """The statement is in the queue, and its session about to be forgotten."""
    server.hold_ddl()
    patience = threading.Timer(PATIENCE, server.let_ddl_go)
    patience.start()
    with opened(url) as other, opened(url) as watcher:
        thread = threading.Thread(target=lambda: other.execute(statement).close())
        thread.start()
        while not jobs(watcher, "paused"):
            assert thread.is_alive()
            time.sleep(0.1)
        yield
        server.let_ddl_go()
        patience.cancel()
        thread.join()


def jobs(target: Target, state: str) -> list[str]:
    """The statements of this database's DDL jobs in that state."""
    rows = target.query(
        "SELECT query FROM information_schema.ddl_jobs WHERE db_name = DATABASE() AND state = %s "
        "AND job_type NOT LIKE '%%subjob%%'",
        state,
    )
    return [str(query) for (query,) in rows]


@pytest.mark.parametrize(
    ("before", "query"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_queued_statement_is_waited_for_and_not_sent_again(
    tidb: OwnServer, before: tuple[str, ...], query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fresh_database(tidb.url) as url, opened(url) as target:
        here = pending_bank(target)
        for number, text in enumerate(before):
            add(here, number, text)
        run_pending(here)
        entry = add(here, 50, query)
        work = attempt.work_of(here.ddl_context, entry)
        with target.transaction():
            begun.note(here.ddl_context, entry, work)
        first, *rest = work.statements
        with queued(tidb, url, first):
            monkeypatch.setattr(type(target), "differences", ONLY_JOBS)
            sent = statements(target)
            with logged(tidb.let_ddl_go) as handler:
                run_pending(here)
        assert handler.messages[0].startswith("DDL job ")
        # These may be sent once more.
        again = [first] if query.startswith(("TRUNCATE", "DROP VIEW", VIEW)) else []
        assert sent == [*again, *rest]
        assert [entry.state for entry in here.store.ledger.pending()] == []
        assert jobs(target, "cancelled") == jobs(target, "rollback done") == []
        assert accounts(target) == AFTER
