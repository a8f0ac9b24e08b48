"""`why` names what is the matter with a real database: who holds the lock, what is slow."""

import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from sqlalchemy import URL, make_url
from sqlalchemy.exc import DBAPIError
from support import brokers
from support.diagnoses import SOON, backlog, begun, comes_to, diagnosed, of_itself, running
from support.torture_cli import Begin, Command, Make
from support.torture_topics import Feed, deleted, inserted, table, ts, updated
from ticdc_consumer.cli import commands as cli
from ticdc_consumer.status.activity import monitor, recorder, stored
from ticdc_consumer.status.activity.stored import write
from ticdc_consumer.status.causes import thresholds
from ticdc_consumer.status.causes.table import cause_of
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.blockers import Blocker
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import until
from ticdc_encoder.event import Row


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FIRST", 0.1)
    monkeypatch.setattr(recorder, "INTERVAL", 0.1)
    monkeypatch.setattr(recorder, "SLOW_ANSWER", 0.2)
    monkeypatch.setattr(monitor, "PACE_STEP", 0.1)
    for name in ("QUIET", "LONG", "WINDOW"):
        monkeypatch.setattr(thresholds, name, 1.0)


class Begun(NamedTuple):
    feed: Feed
    run: Command
    schema: str


SERVERS = ("postgresql", "mariadb", "mysql", "tidb")


def start(name: str, request: pytest.FixtureRequest, kafka: brokers.Mock, command: Make) -> Begun:
    url = request.getfixturevalue(f"{name}_url")
    schemas = {"postgresql": "public", "sqlite": "shop"}
    schema = schemas.get(name) or str(make_url(url).database)
    return Begun(*begun(command, kafka, url, schema), schema)


@contextmanager
def session(run: Command) -> Iterator[Target]:
    """Another one, inside a transaction."""
    with closing(open_target(run.target_url)) as other, other.transaction():
        yield other


def number(other: Target) -> str:
    return other.session_id().replace("@", " ").partition(" ")[0]


@pytest.mark.parametrize("lives", [True, False])
@pytest.mark.parametrize("server", ("sqlite", *SERVERS))
def test_a_consumer_that_was_killed_is_not_taken_over_from(
    server: str,
    lives: bool,
    request: pytest.FixtureRequest,
    mock_kafka: brokers.Mock,
    command: Make,
) -> None:
    """It wrote a moment ago that it runs; its session, or its process, is there or not."""
    _, run, _ = start(server, request, mock_kafka, command)
    with subprocess.Popen(["true"]) as ended:
        pass
    former = open_target(run.target_url)
    pid = os.getpid() if lives else ended.pid
    session_id = former.session_id()
    last = replace(of_itself(run), stage="waiting", session=session_id, pid=pid)
    with closing(open_target(run.target_url)) as writer, writer.transaction():
        assert write(writer, last)
    if not lives:
        former.close()
    with running(run):
        assert until(lambda: of_itself(run).started != last.started, SOON, pause=0.1)
        assert (of_itself(run).takeover is not None) == lives
    former.close()


@pytest.mark.parametrize("server", SERVERS)
def test_a_row_that_another_session_has_locked(
    server: str, request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make
) -> None:
    feed, run, schema = start(server, request, mock_kafka, command)
    old: Row = {"id": 1, "name": "one"}
    new: Row = {"id": 1, "name": "two"}
    with running(run):
        with session(run) as other:
            other.execute("UPDATE items SET name = 'secret' WHERE id = 1")
            feed.send(0, updated(150, old, new))
            feed.mark(200)
            shown = comes_to(run, "lock")
            words = f"a lock that session {number(other)} holds on {schema}.items"
            assert shown.sentence == f"the consumer waits for {words}"
            assert any("transaction has been open" in line for line in shown.evidence)
            assert number(other) in shown.advice[0] and "secret" not in str(shown)
            assert until(lambda: f"waiting for {words}" in of_itself(run).sentence, SOON, pause=0.2)
            assert cause_of(of_itself(run)) == "lock"
        assert until(lambda: run.resolved_ts == ts(200), SOON, pause=0.2)


@pytest.mark.parametrize("server", SERVERS)
def test_a_consumer_that_cannot_write_what_it_is_at_is_running(
    server: str,
    request: pytest.FixtureRequest,
    mock_kafka: brokers.Mock,
    command: Make,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """As while a backup holds all tables; it has nothing else to write."""
    monkeypatch.setattr(stored, "ALIVE", 1.5)
    _, run, _ = start(server, request, mock_kafka, command)
    with running(run):
        comes_to(run, "ticdc-stopped")
        with session(run) as other:
            other.query("SELECT generation FROM ticdc_activity FOR UPDATE")
            shown = comes_to(run, "lock")
            words = f"a lock that session {number(other)} holds"
            assert f"the consumer waits for {words}" in shown.sentence
            assert any("given no sign for" in line for line in shown.evidence)
            assert not any("start it" in line for line in shown.advice)
            capsys.readouterr()
            assert cli.main(["status", str(tmp_path / "changefeed.toml"), *run.arguments()]) == 0
            said = capsys.readouterr().out
            assert words in said and "a consumer is alive" in said and "none is running" not in said
        comes_to(run, "ticdc-stopped")


@pytest.mark.parametrize("server", ["mysql", "mariadb"])
def test_a_global_read_lock(server: str, request: pytest.FixtureRequest) -> None:
    """For a moment: it holds up all that use the server."""
    url = str(request.getfixturevalue(f"{server}_url"))
    with (
        closing(open_target(url)) as writer,
        closing(open_target(url)) as looking,
        closing(open_target(url)) as backup,
    ):
        writer.execute("CREATE TABLE a (id INT PRIMARY KEY)")
        of_writer = number(writer)
        waiting = Thread(target=lambda: writer.execute("INSERT INTO a VALUES (1)").close())
        backup.execute("SET SESSION lock_wait_timeout = 30")
        backup.execute("FLUSH TABLES WITH READ LOCK")
        try:
            waiting.start()
            found: list[Blocker] = []

            def finds() -> bool:
                found[:] = looking.blockers(of_writer)
                return bool(found)

            assert until(finds, SOON, pause=0.05)
        finally:
            backup.execute("UNLOCK TABLES")
            waiting.join()
        of_backup = number(backup)
    (blocker,) = found
    assert "all tables (a global read lock, as FLUSH TABLES WITH READ LOCK" in blocker.text
    assert (blocker.session == of_backup) == (server == "mysql")


def test_a_table_of_its_own_that_cannot_even_be_read(
    mock_kafka: brokers.Mock, command: Make, request: pytest.FixtureRequest
) -> None:
    _, run, _ = start("postgresql", request, mock_kafka, command)
    with session(run) as other:
        other.execute("LOCK TABLE ticdc_checkpoint")
        shown = diagnosed(run)
        assert shown.cause == "target-unreachable"
        assert shown.sentence == "the target did not answer within 4 s"
        held = f"a lock that session {number(other)} holds on public.ticdc_checkpoint"
        assert "the server accepted the connection" in shown.evidence
        assert f"the query waits for {held}" in shown.evidence
        assert any(line.startswith("the topics answer: ") for line in shown.evidence)


def test_a_table_that_another_session_has_locked(
    mock_kafka: brokers.Mock, command: Make, request: pytest.FixtureRequest
) -> None:
    feed, run, _ = start("postgresql", request, mock_kafka, command)
    with running(run):
        with session(run) as other:
            other.execute("LOCK TABLE items")
            feed.send(0, inserted(150, {"id": 3, "name": "three"}))
            feed.mark(200)
            shown = comes_to(run, "lock")
            assert shown.sentence.endswith(f"session {number(other)} holds on public.items")
            assert "it runs, or ran last: LOCK TABLE items" in shown.evidence
            assert shown.advice[0].endswith(f"SELECT pg_terminate_backend({number(other)})")
        assert until(lambda: run.resolved_ts == ts(200), SOON, pause=0.2)


@pytest.mark.parametrize("server", SERVERS[1:])
def test_a_ddl_that_waits_for_another_session(
    server: str, request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make
) -> None:
    feed, run, _ = start(server, request, mock_kafka, command)
    with running(run):
        with session(run) as other:
            other.query("SELECT id FROM items FOR UPDATE")
            feed.ddl(150, "ALTER TABLE `items` ADD COLUMN `n` INT", "items")
            feed.mark(200)
            shown = comes_to(run, "lock")
            assert f"a lock that session {number(other)} holds" in shown.sentence
            # The consumer's own words are written every few seconds.
            assert until(
                lambda: "running DDL" in comes_to(run, "lock").evidence[-1], SOON, pause=0.2
            )
        assert until(lambda: run.resolved_ts > ts(150) + 1, SOON, pause=0.2)


def test_a_file_that_another_process_has_locked(begin: Begin) -> None:
    feed, run = begin()
    file = run.target_url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        feed.send(0, inserted(150, {"id": 3, "name": "three"}))
        feed.mark(200)
        with run.consumer(limits__retries=1) as consumer:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(Exception, match="holds the write lock"):
                list(consumer.epochs("caught-up"))
            other.execute("ROLLBACK")
    shown = diagnosed(run)
    assert shown.cause == "lock" and "holds the write lock of" in shown.sentence


def test_a_ddl_that_takes_long(
    command: Make,
    mock_kafka: brokers.Mock,
    mariadb_url: str,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setattr(thresholds, "LONG", 0.2)
    feed, run, _ = start("mariadb", request, mock_kafka, command)
    with closing(open_target(mariadb_url)) as other:
        other.execute("INSERT INTO items SELECT seq + 9, 'x' FROM seq_1_to_700000")
    with running(run):
        feed.ddl(150, "ALTER TABLE `items` MODIFY COLUMN `name` VARCHAR(400)", "items")
        feed.mark(200)
        shown = comes_to(run, "ddl-runs-long")
        assert "MODIFY" in shown.sentence
        assert until(lambda: run.resolved_ts > ts(150) + 1, SOON, pause=0.2)


def test_a_transaction_that_has_been_open_for_long(
    command: Make,
    mock_kafka: brokers.Mock,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thresholds, "OPEN_TRANSACTION", 0.5)
    monkeypatch.setattr(thresholds, "QUIET", 3600.0)
    _, run, _ = start("postgresql", request, mock_kafka, command)
    with running(run), session(run) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.query("SELECT count(*) FROM items")
        shown = comes_to(run, "cleanup-held-up")
        assert f"session {number(other)} of" in shown.sentence


def test_a_replication_slot_that_nobody_reads(
    command: Make,
    mock_kafka: brokers.Mock,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(thresholds, "KEPT_WAL", 100_000)
    monkeypatch.setattr(thresholds, "QUIET", 3600.0)
    _, run, _ = start("postgresql", request, mock_kafka, command)
    with running(run), closing(open_target(run.target_url)) as other:
        other.execute("SELECT pg_create_physical_replication_slot('left_behind', true)")
        try:
            other.execute("CREATE TABLE filler AS SELECT generate_series(1, 9000)")
            shown = comes_to(run, "cleanup-held-up")
        finally:
            other.execute("SELECT pg_drop_replication_slot('left_behind')")
    assert "replication slot left_behind, which nobody reads, keeps" in shown.sentence


def test_a_target_that_is_slow(
    command: Make, mock_kafka: brokers.Mock, request: pytest.FixtureRequest
) -> None:
    feed, run, _ = start("postgresql", request, mock_kafka, command)
    _disturb(run, "PERFORM pg_sleep(0.1)")
    backlog(feed, run, 0.001, cuts=300)
    settings = {"limits__rows_per_epoch": 1, "tables__allow_triggers": "shop.items"}
    with running(run, **settings):
        shown = comes_to(run, "slow-target")
    assert "% of the time is spent in it" in shown.sentence and "load" in shown.evidence[0]


def test_what_is_tried_again_for_another_reason(
    command: Make, mock_kafka: brokers.Mock, request: pytest.FixtureRequest
) -> None:
    feed, run, _ = start("postgresql", request, mock_kafka, command)
    _disturb(run, "RAISE EXCEPTION 'try again' USING ERRCODE = '40001'")
    feed.send(0, inserted(150, {"id": 3, "name": "three"}))
    feed.mark(200)
    with running(run, tables__allow_triggers="shop.items"):
        shown = comes_to(run, "retries")
        with closing(open_target(run.target_url)) as other:
            other.execute("DROP TRIGGER disturbs ON items")
        assert until(lambda: run.resolved_ts == ts(200), SOON, pause=0.2)
    assert "try again" in shown.sentence


def _disturb(run: Command, statement: str) -> None:
    """A trigger does it for every row, also for those that a replica writes."""
    with closing(open_target(run.target_url)) as other:
        other.execute(
            f"CREATE FUNCTION disturb() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {statement}; RETURN new; END $$"
        )
        other.execute(
            "CREATE TRIGGER disturbs BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION disturb()"
        )
        other.execute("ALTER TABLE items ENABLE ALWAYS TRIGGER disturbs")


def test_an_index_that_is_missing(
    mock_kafka: brokers.Mock, command: Make, mariadb_url: str
) -> None:
    """A table without a key: each row that is deleted is looked for in all of it."""
    sql = "CREATE TABLE `log` (`id` INT, `name` VARCHAR(40))"
    known, schema = table(sql), str(make_url(mariadb_url).database)
    feed = Feed(mock_kafka)
    feed.create(10, sql)
    feed.mark(100)
    settings = {
        "tables__route.shop.*": f"{schema}.{{table}}",
        "tables__at_least_once": "shop.log",
    }
    run = command([feed], mariadb_url, None, **settings)
    outcome = run()
    assert outcome.code == 0, outcome.said
    with closing(open_target(mariadb_url)) as other:
        other.execute("INSERT INTO log SELECT seq, 'x' FROM seq_1_to_40000")
    feed.send(0, *(deleted(150, {"id": 40_000 - n, "name": "x"}, known) for n in range(150)))
    feed.mark(200)
    with running(run):
        shown = comes_to(run, "missing-index")
    assert "log` has no unique key" in shown.sentence


# --- what an administrator does ------------------------------------------------------------------


class Account(NamedTuple):
    url: URL
    user: str
    by_admin: Callable[..., None]
    end_sessions: Callable[[], None]

    def target_url(self, password: str = "hush") -> str:
        return self.url.set(password=password).render_as_string(hide_password=False)


@contextmanager
def account(name: str, request: pytest.FixtureRequest) -> Iterator[Account]:
    """A user without special privileges, who has all others on the database."""
    admin = make_url(request.getfixturevalue(f"{name}_url"))
    user = f"app_{admin.database}"[:30]
    if name == "postgresql":
        make = [
            f"CREATE ROLE {user} LOGIN PASSWORD 'hush'",
            f"GRANT ALL ON SCHEMA public TO {user}",
        ]
        remove = [f"DROP OWNED BY {user} CASCADE", f"DROP ROLE {user}"]
        sessions = "SELECT usename, pid FROM pg_stat_activity"
        kill = "SELECT pg_terminate_backend({})"
    else:
        make = [f"CREATE USER '{user}'@'%' IDENTIFIED BY 'hush'"]
        make.append(f"GRANT ALL ON `{admin.database}`.* TO '{user}'@'%'")
        remove = [f"DROP USER '{user}'@'%'"]
        sessions, kill = "SELECT user, id FROM information_schema.processlist", "KILL {}"
    with closing(open_target(admin.render_as_string(hide_password=False))) as target:

        def run(*statements: str) -> None:
            for statement in statements:
                target.execute(statement).close()

        def end_sessions() -> None:
            for row in target.execute(sessions).fetchall():
                of, number = map(str, row)
                with suppress(DBAPIError):  # it has ended by itself
                    if of == user:
                        run(kill.format(number))

        run(*make)
        try:
            yield Account(admin.set(username=user, password="hush"), user, run, end_sessions)
        finally:
            end_sessions()
            run(*remove)


READ_ONLY = {
    "postgresql": (
        "ALTER ROLE {user} SET default_transaction_read_only = on",
        "ALTER ROLE {user} RESET default_transaction_read_only",
        "default_transaction_read_only is on for this user, database or server",
    ),
    "mariadb": ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0", "read_only is on"),
    "mysql": ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0", "read_only is on"),
    "tidb": (
        "SET GLOBAL tidb_restricted_read_only = 1",
        "SET GLOBAL tidb_restricted_read_only = 0, GLOBAL tidb_super_read_only = 0",
        "tidb_restricted_read_only is on",
    ),
}


@pytest.mark.parametrize("server", ["postgresql", "mariadb", "mysql"])
def test_a_target_that_was_made_read_only(
    server: str, request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make
) -> None:
    """Not TiDB, whose variable keeps all other users of it from writing, too."""
    on, off, named = READ_ONLY[server]
    with account(server, request) as app:
        schema = "public" if server == "postgresql" else str(app.url.database)
        feed, run = begun(command, mock_kafka, app.target_url(), schema)
        with running(run):
            feed.mark(120)
            assert until(lambda: run.resolved_ts == ts(120), SOON, pause=0.1)
            app.by_admin(on.format(user=app.user))
            try:
                app.end_sessions()
                feed.send(0, inserted(150, {"id": 3, "name": "three"}))
                feed.mark(200)
                shown = diagnosed(run)
                assert shown.cause == "target-read-only"
                assert shown.sentence == f"the target takes no writes: {named}"
                assert "after a failover" in shown.advice[0]
            finally:
                app.by_admin(off.format(user=app.user))
            app.end_sessions()
            assert until(lambda: run.resolved_ts == ts(200), SOON, pause=0.1)
            assert diagnosed(run).cause != "target-read-only"


@pytest.mark.parametrize("server", SERVERS)
def test_a_password_that_was_changed(
    server: str, request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make
) -> None:
    with account(server, request) as app:
        schema = "public" if server == "postgresql" else str(app.url.database)
        _, run = begun(command, mock_kafka, app.target_url(), schema)
        change = f"ALTER USER '{app.user}'@'%' IDENTIFIED BY 'other'"
        if server == "postgresql":
            change = f"ALTER ROLE {app.user} PASSWORD 'other' NOLOGIN"  # the tests' server trusts
        app.by_admin(change)
        assert run().code == 1
        shown = diagnosed(run)
        assert shown.cause == "refused" and app.user in shown.sentence
        assert "hush" not in str(shown)
        if server != "postgresql":
            assert diagnosed(run, target__url=app.target_url("other")).cause == "not-running"
