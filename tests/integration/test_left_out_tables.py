"""TiCDC leaves out a table without a key until an ALTER TABLE gives it one: the real TiDB, and the
topic as TiCDC writes it."""

from collections.abc import Callable
from contextlib import closing
from signal import SIGKILL

import pytest
import sqlalchemy as sa
from support.torture_cli import Command
from support.torture_topics import Feed
from support.upstream_tidb import Upstream
from ticdc_consumer.cut.read.upstream import Snapshots
from ticdc_encoder.event import Ddl, RowChange
from ticdc_encoder.sql.parser import parse_create_table

COLUMNS = (
    "id INT NOT NULL, e ENUM('a', 'b') NOT NULL, s VARCHAR(20) NULL, d DECIMAL(10, 2), "
    "at DATETIME(3), raw VARBINARY(9), twice INT AS (id * 2) STORED"
)
ROWS = "INSERT INTO t (id, e, s, d, at, raw) VALUES (1, 'a', 'one', 1.5, '2024-01-02', 'x')"
MORE = "INSERT INTO t (id, e, s, d, at, raw) VALUES (2, 'b', NULL, NULL, NULL, NULL)"
LATER = "INSERT INTO t (id, e, s) VALUES (3, 'b', 'three')"
CASES = [
    ("", "ALTER TABLE t ADD PRIMARY KEY (id)"),
    ("", "ALTER TABLE t ADD UNIQUE KEY u (id), ADD INDEX (s)"),
    ("", "CREATE UNIQUE INDEX u ON t (e, id)"),
    (", n INT, UNIQUE KEY (n)", "ALTER TABLE t MODIFY COLUMN n INT NOT NULL"),
    (", KEY (s)", "ALTER TABLE t ADD PRIMARY KEY (id) NONCLUSTERED"),
]
"""More columns and keys of the table, and what gives it its key."""


class History:
    """A changefeed of a table that is there without a key."""

    def __init__(self, tidb: Upstream, feed: Feed) -> None:
        self._tidb, self._feed = tidb, feed

    def begins(self, more: str = "") -> None:
        number = ", n" if "n INT" in more else ""
        self._tidb.execute(f"CREATE TABLE t ({COLUMNS}{more})")
        for text, value in ((ROWS, 7), (MORE, 8)):
            if number:
                text = text.replace(") VALUES", ", n) VALUES").removesuffix(")") + f", {value})"
            self._tidb.execute(text)

    def ddl(self, statement: str) -> int:
        commit_ts = self._tidb.ddl(statement)
        ((_, created),) = self._tidb.execute("SHOW CREATE TABLE t")
        table = parse_create_table(created, self._tidb.schema)
        self._feed.send(0, Ddl(self._tidb.schema, "t", statement, commit_ts, 32, table))
        self._feed.resolve(commit_ts + 1)
        return commit_ts

    def insert(self, statement: str, key: int) -> None:
        self._tidb.execute("BEGIN", statement, "COMMIT")
        ((text,),) = self._tidb.execute("SELECT json_extract(@@tidb_last_txn_info, '$.commit_ts')")
        with closing(Snapshots(self._tidb.url)) as snapshots:
            for table, rows in snapshots.rows(self._tidb.schema, "t", int(text), [{"id": key}]):
                for row in rows:
                    self._feed.send(1, RowChange(table, int(text), after=row))
        self._feed.resolve(int(text) + 1)


@pytest.fixture
def history(tidb: Upstream, feed: Feed) -> History:
    return History(tidb, feed)


def equal(run: Command) -> None:
    outcome = run.command("verify")
    assert outcome.code == 0, outcome.printed


def own_tables(url: str) -> list[str]:
    names = sa.inspect(sa.create_engine(url, poolclass=sa.NullPool)).get_table_names()
    return [name for name in names if "refill" in name or "loading" in name]


@pytest.mark.parametrize(("more", "alter"), CASES)
def test_the_table_is_loaded_at_the_statement_that_adds_a_key(
    history: History, into: Callable[..., Command], target_url: str, more: str, alter: str
) -> None:
    history.begins(more)
    run = into(target_url, ddl__load_missing=True, limits__load_chunk=1)
    history.ddl(alter)
    outcome = run()
    assert outcome.code == 0, outcome.said
    assert run.rows("SELECT id, twice FROM t ORDER BY id") == [(1, 2), (2, 4)]
    equal(run)
    later = LATER.replace(") VALUES", ", n) VALUES").replace("'three')", "'three', 9)")
    history.insert(later if "n INT" in more else LATER, 3)
    history.ddl("ALTER TABLE t ADD COLUMN more INT DEFAULT 5")
    history.ddl("ALTER TABLE t MODIFY COLUMN e ENUM('b', 'a', 'c') NOT NULL")
    outcome = run()
    assert outcome.code == 0, outcome.said
    equal(run)
    assert own_tables(target_url) == []


def test_without_the_setting_it_stops_and_load_brings_the_table(
    history: History, tidb: Upstream, into: Callable[..., Command], target_url: str
) -> None:
    history.begins()
    run = into(target_url)
    commit_ts = history.ddl("ALTER TABLE t ADD PRIMARY KEY (id)")
    name = f"{tidb.schema}.t"
    for _ in range(2):
        outcome = run()
        assert outcome.code == 3, outcome.said
        assert (
            "TiCDC leaves out a table that has neither a primary key nor a NOT NULL unique key; "
            "the rows that it had when this statement gave it one are not in the topic; load it "
            f"by: ticdc-consumer load CONFIG --table {name}, then start again; or set [ddl] "
            "load_missing = true, by which a run loads such tables itself; or else run your own "
        ) in outcome.said
    assert "perhaps by" not in outcome.said
    history.insert(LATER, 3)
    outcome = run.command("load", "--table", name)
    assert outcome.code == 0, outcome.said
    of_the_table = f"SELECT state, reason FROM ticdc_ddl WHERE commit_ts = {commit_ts}"  # noqa: S608
    ((state, reason),) = run.rows(of_the_table)
    assert state == "done"
    assert reason.startswith("the table was loaded as of ")
    outcome = run()
    assert outcome.code == 0, outcome.said
    history.ddl("ALTER TABLE t MODIFY COLUMN e ENUM('b', 'a', 'c') NOT NULL")
    assert run().code == 0
    equal(run)


@pytest.mark.parametrize("server", ["sqlite", "mysql"])
def test_after_a_skipped_statement_the_table_is_loaded_at_a_row(
    request: pytest.FixtureRequest,
    history: History,
    tidb: Upstream,
    into: Callable[..., Command],
    server: str,
) -> None:
    history.begins()
    run = into(request.getfixturevalue(f"{server}_url"))
    history.ddl("ALTER TABLE t ADD PRIMARY KEY (id)")
    assert run(ddl__on_unsupported="skip").code == 0
    history.insert(LATER, 3)
    outcome = run()
    assert outcome.code == 3
    assert f"load it by: ticdc-consumer load CONFIG --table {tidb.schema}.t" in outcome.said
    assert run.command("load", "--table", f"{tidb.schema}.t").code == 0
    assert run().code == 0
    equal(run)


def test_a_foreign_key_of_the_table_and_one_to_it_are_created(
    history: History, tidb: Upstream, feed: Feed, into: Callable[..., Command], target_url: str
) -> None:
    history.begins()
    run = into(target_url, ddl__load_missing=True)
    history.ddl("ALTER TABLE t ADD UNIQUE KEY (id)")
    assert "the rows are read again from [source] upstream" in run.command("plan").printed
    assert run().code == 0
    child = "CREATE TABLE c (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id))"
    commit_ts = tidb.ddl(child)
    table = parse_create_table(child, tidb.schema)
    feed.send(0, Ddl(tidb.schema, "c", child, commit_ts, 3, table))
    feed.resolve(commit_ts + 1)
    outcome = run()
    assert outcome.code == 0, outcome.said
    inspector = sa.inspect(sa.create_engine(target_url, poolclass=sa.NullPool))
    assert [key["referred_table"] for key in inspector.get_foreign_keys("c")] == ["t"]


def test_what_forbids_the_load_stops_the_run_with_its_reason(
    history: History, tidb: Upstream, into: Callable[..., Command], postgresql_url: str
) -> None:
    history.begins()
    tidb.execute("INSERT INTO t (id, e, at) VALUES (5, 'a', '0000-00-00')")
    run = into(postgresql_url, ddl__load_missing=True)
    history.ddl("ALTER TABLE t ADD PRIMARY KEY (id)")
    outcome = run()
    assert outcome.code == 3
    assert "; and it is not loaded from [source] upstream: " in outcome.said
    assert "zero-date-as-null" in outcome.said
    away = run(source__upstream="mysql+pymysql://root@127.0.0.1:1")
    assert away.code == 3
    assert "start again when it answers" in away.said
    assert not sa.inspect(sa.create_engine(postgresql_url, poolclass=sa.NullPool)).has_table("t")
    outcome = run(target__rules="zero-date-as-null")
    assert outcome.code == 0, outcome.said
    assert run.rows("SELECT count(*) FROM t") == [(3,)]


KILLS = {
    True: ["run-ddl:1", "ddl-statement:1", "ddl-statement-ran:1", "write-checkpoint:1", "commit:1"],
    False: [
        *(
            "ddl-statement:1",
            "ddl-statement-ran:1",
            "ddl-statement:3",
            "ddl-statement-ran:3",
            "refill-commit:1",
            "refill-commit:2",
            "ddl-statement:4",
            "ddl-statement-ran:4",
            "ddl-statement:5",
            "ddl-statement-ran:5",
        ),
        *("ddl-mark-done:1", "ddl-commit:1", "ddl-committed:1"),
    ],
}
"""By whether the target's DDL is transactional. Elsewhere an attempt drops two, creates, fills,
marks and renames."""


@pytest.mark.torture
@pytest.mark.parametrize("server", ["sqlite", "postgresql", "mysql", "mariadb", "tidb"])
def test_kill_9_at_every_step_leaves_no_table_or_all_of_it(
    request: pytest.FixtureRequest, history: History, into: Callable[..., Command], server: str
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    history.begins()
    run = into(url, ddl__load_missing=True, limits__load_chunk=1, limits__takeover_after=1)
    assert run().code == 0
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    commit_ts = history.ddl("ALTER TABLE t ADD PRIMARY KEY (id)")
    for failpoint in KILLS[server in ("sqlite", "postgresql")]:
        step, hit = failpoint.split(":")
        code, said = run.driver(failpoint=f"{step}:kill:{hit}", until="caught-up").wait()
        if code == 0:
            assert step == "ddl-committed", said  # the one before it was this, too: it is done
            break
        assert code == -SIGKILL, (failpoint, said)
        exists = sa.inspect(engine).has_table("t")
        if exists:
            assert run.rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]
        state = f"SELECT state FROM ticdc_ddl WHERE commit_ts = {commit_ts}"  # noqa: S608
        assert exists or ("done",) not in run.rows(state)
    history.insert(LATER, 3)
    code, said = run.driver(until="caught-up").wait()
    assert code == 0, said
    equal(run)
    assert own_tables(url) == []
