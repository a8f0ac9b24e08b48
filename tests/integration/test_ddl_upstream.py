"""Values that TiCDC does not send are read from the real TiDB, as of the DDL: the target is TiDB's
after each, whatever the session's time zone, clock and sql_mode were."""

from collections.abc import Callable
from contextlib import closing
from signal import SIGKILL

import pytest
import sqlalchemy as sa
from support import brokers
from support.databases import own_schema
from support.torture_cli import Command, Make
from support.torture_topics import Feed
from support.upstream_tidb import Upstream
from ticdc_consumer.cut.read.upstream import Snapshots
from ticdc_encoder.event import Ddl, RowChange
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.tso import compose

CREATE = (
    "CREATE TABLE t (id INT PRIMARY KEY, f FLOAT, s VARCHAR(20), n INT, at TIMESTAMP(3) NULL, "
    "dt DATETIME, e INT, raw VARBINARY(9), UNIQUE KEY s (s))"
)
ROWS = (
    "INSERT INTO t VALUES (1, 1e20, '7.5', NULL, '2024-01-02 03:04:05.678', "
    "'2024-01-02 03:04:05', 1, 'abc'), (2, 0.1, '-2.5', 5, '1970-01-01 00:00:01', NULL, 2, ''), "
    "(3, NULL, '1e2', 6, NULL, '2011-06-07 08:09:10', NULL, NULL)"
)
EAST = "SET time_zone = '+08:00'"
LAX = "SET sql_mode = ''"
CASES = [
    (EAST, "ALTER TABLE t ADD COLUMN made DATETIME DEFAULT CURRENT_TIMESTAMP"),
    (EAST, "ALTER TABLE t ADD COLUMN m6 DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) FIRST"),
    (
        "SET timestamp = 1234567890.125",
        "ALTER TABLE t ADD COLUMN m3 TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) "
        "ON UPDATE CURRENT_TIMESTAMP(3)",
    ),
    (EAST, "ALTER TABLE t ADD COLUMN old TIMESTAMP DEFAULT '2011-01-01 02:03:04'"),
    (EAST, "ALTER TABLE t ADD COLUMN far DATETIME DEFAULT '2011-01-01 02:03:04+02:00'"),
    ("SET timestamp = 1000000000", "ALTER TABLE t ADD COLUMN today DATE DEFAULT (CURRENT_DATE)"),
    (EAST, "ALTER TABLE t ADD COLUMN month VARCHAR(9) DEFAULT (DATE_FORMAT(NOW(), '%Y-%m'))"),
    (EAST, "ALTER TABLE t MODIFY COLUMN at DATETIME(3)"),
    (EAST, "ALTER TABLE t MODIFY COLUMN dt TIMESTAMP NULL, RENAME COLUMN raw TO bytes"),
    (LAX, "ALTER TABLE t MODIFY COLUMN f VARCHAR(40)"),
    (LAX, "ALTER TABLE t MODIFY COLUMN s INT"),
    (LAX, "ALTER TABLE t MODIFY COLUMN e ENUM('one', 'two')"),
    (LAX, "ALTER TABLE t MODIFY COLUMN bytes VARCHAR(5), DROP COLUMN m6"),
]
"""What the session sets, and the statement."""


class History:
    """A table of the TiDB whose changes are sent as a changefeed sends them."""

    def __init__(self, tidb: Upstream, feed: Feed) -> None:
        self._tidb, self._feed = tidb, feed
        self.ddl("", CREATE, 3)
        self.insert(ROWS, range(1, 4))

    def ddl(self, setting: str, statement: str, kind: int = 5, name: str = "t") -> int:
        """The commit_ts. The resolved ts behind it is sent, too."""
        tidb, feed = self._tidb, self._feed
        if setting:
            tidb.execute(setting)
        commit_ts = tidb.ddl(statement)
        tidb.execute(
            "SET time_zone = '+00:00', timestamp = DEFAULT, sql_mode = 'ALLOW_INVALID_DATES'"
        )
        ((_, created),) = tidb.execute(f"SHOW CREATE TABLE {name}")
        table = parse_create_table(created, tidb.schema)
        feed.send(0, Ddl(tidb.schema, name, statement, commit_ts, kind, table))
        feed.resolve(commit_ts + 1)
        return commit_ts

    def insert(self, statement: str, ids: range) -> None:
        tidb, feed = self._tidb, self._feed
        tidb.execute("BEGIN", statement, "COMMIT")
        ((text,),) = tidb.execute("SELECT json_extract(@@tidb_last_txn_info, '$.commit_ts')")
        commit_ts, keys = int(text), [{"id": each} for each in ids]
        with closing(Snapshots(tidb.url)) as snapshots:
            for table, rows in snapshots.rows(tidb.schema, "t", commit_ts, keys):
                for number, row in enumerate(rows):
                    feed.send(number % 2, RowChange(table, commit_ts, after=row))
        feed.resolve(commit_ts + 1)

    def delete(self, ids: range) -> None:
        tidb, feed = self._tidb, self._feed
        tidb.execute("BEGIN", "DELETE FROM t", "COMMIT")
        ((text,),) = tidb.execute("SELECT json_extract(@@tidb_last_txn_info, '$.commit_ts')")
        with closing(Snapshots(tidb.url)) as snapshots:
            keys = [{"id": each} for each in ids]
            for table, rows in snapshots.rows(tidb.schema, "t", int(text) - 1, keys):
                for number, row in enumerate(rows):
                    feed.send(number % 2, RowChange(table, int(text), before=row))
        feed.resolve(int(text) + 1)


@pytest.fixture
def history(tidb: Upstream, feed: Feed) -> History:
    return History(tidb, feed)


def equal(run: Command, **settings: str) -> None:
    outcome = run.command("verify", **settings)
    assert outcome.code == 0, outcome.said


def test_each_ddl_leaves_the_rows_that_tidb_has(
    tidb: Upstream, history: History, into: Callable[..., Command], target_url: str
) -> None:
    run = into(target_url)
    for number, (setting, statement) in enumerate(CASES, 4):
        history.ddl(setting, statement)
        outcome = run()
        assert outcome.code == 0, outcome.said
        equal(run)
        history.insert(
            f"INSERT INTO t (id, s) VALUES ({number}, '{number}00')",  # noqa: S608
            range(number, number + 1),
        )
    outcome = run()
    assert outcome.code == 0, outcome.said
    equal(run)
    assert run.rows("SELECT id, f, s FROM t WHERE id < 4 ORDER BY id") == [
        (1, "100000000000000000000", 8),
        (2, "0.1", -3),
        (3, None, 100),
    ]
    assert run.rows("SELECT DISTINCT state FROM ticdc_ddl") == [("done",)]
    names = sa.inspect(sa.create_engine(target_url, poolclass=sa.NullPool)).get_table_names()
    assert [name for name in names if "refill" in name] == []


KILLS = {
    True: ["run-ddl:1", "ddl-statement:1", "ddl-statement-ran:1", "write-checkpoint:1", "commit:1"],
    False: [
        "ddl-statement:1",
        "ddl-statement-ran:2",
        "ddl-statement:3",
        "ddl-statement-ran:3",
        "refill-commit:1",
        "refill-commit:2",
        "ddl-statement:4",
        "ddl-statement-ran:4",
        "ddl-mark-done:1",
        "ddl-commit:1",
        "ddl-committed:1",
    ],
}
"""By whether the target's DDL is transactional. Elsewhere an attempt drops, creates, alters and
renames."""


@pytest.mark.torture
@pytest.mark.parametrize("server", ["sqlite", "postgresql", "mysql", "mariadb", "tidb"])
def test_kill_9_at_every_step_leaves_the_table_before_or_after(
    request: pytest.FixtureRequest,
    tidb: Upstream,
    history: History,
    into: Callable[..., Command],
    server: str,
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    run = into(url, limits__load_chunk=1, limits__takeover_after=1)
    assert run().code == 0
    before = run.rows("SELECT id, s FROM t ORDER BY id")
    commit_ts = history.ddl(*CASES[10])  # text becomes numbers
    after = [(1, 8), (2, -3), (3, 100)]
    for failpoint in KILLS[server in ("sqlite", "postgresql")]:
        step, hit = failpoint.split(":")
        code, said = run.driver(failpoint=f"{step}:kill:{hit}", until="caught-up").wait()
        if code == 0:
            assert step == "ddl-committed", said  # the one before it was this, too: it is done
            break
        assert code == -SIGKILL, (failpoint, said)
        rows = run.rows("SELECT id, s FROM t ORDER BY id")
        assert rows in (before, after)
        if ("done",) not in run.rows(
            f"SELECT state FROM ticdc_ddl WHERE commit_ts = {commit_ts}"  # noqa: S608
        ):
            continue
        assert rows == after
    code, said = run.driver(until="caught-up").wait()
    assert code == 0, said
    assert run.rows("SELECT id, s FROM t ORDER BY id") == after
    equal(run)
    names = sa.inspect(sa.create_engine(url, poolclass=sa.NullPool)).get_table_names()
    assert [name for name in names if "refill" in name] == []


RELATIVES = [
    ("g", "CREATE TABLE g (id INT PRIMARY KEY)", 3),
    ("t", "ALTER TABLE t ADD COLUMN up INT, ADD COLUMN g INT", 5),
    ("t", "ALTER TABLE t ADD FOREIGN KEY itself (up) REFERENCES t (id)", 5),
    ("t", "ALTER TABLE t ADD FOREIGN KEY above (g) REFERENCES g (id)", 5),
    ("c", "CREATE TABLE c (id INT PRIMARY KEY, t INT, FOREIGN KEY below (t) REFERENCES t (id))", 3),
]
"""Tables, statements and their kinds, after which `t` is a child, a parent, and its own parent."""
OPERATORS = (
    "CREATE TABLE mine (id INT PRIMARY KEY, t INT, s VARCHAR(20), "
    "CONSTRAINT cascades FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE ON UPDATE SET NULL)"
)
MYSQL_FAMILY = ["mysql", "mariadb", "tidb"]


def foreign_keys(url: str) -> list[tuple[object, ...]]:
    """All but their names, which the server gives."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return [
            tuple(row)
            for row in connection.exec_driver_sql(
                "SELECT k.table_name, k.column_name, k.referenced_table_name, "
                "k.referenced_column_name, r.delete_rule = 'CASCADE', r.update_rule = 'SET NULL' "
                "FROM information_schema.key_column_usage k "
                "JOIN information_schema.referential_constraints r "
                "ON r.constraint_schema = k.table_schema AND r.table_name = k.table_name "
                "AND r.constraint_name = k.constraint_name "
                "WHERE k.table_schema = DATABASE() AND k.referenced_table_name IS NOT NULL "
                "ORDER BY 1, 2"
            )
        ]


KEYS = [
    ("c", "t", "t", "id", 0, 0),
    ("mine", "t", "t", "id", 1, 1),
    ("t", "g", "g", "id", 0, 0),
    ("t", "up", "t", "id", 0, 0),
]


def begin_related(history: History, run: Command, url: str) -> None:
    for name, statement, kind in RELATIVES:
        history.ddl("", statement, kind, name)
    outcome = run()
    assert outcome.code == 0, outcome.said
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        connection.exec_driver_sql(OPERATORS)
    assert foreign_keys(url) == KEYS


@pytest.mark.parametrize("server", MYSQL_FAMILY)
def test_a_table_keeps_its_foreign_keys_and_its_childrens(
    request: pytest.FixtureRequest,
    history: History,
    into: Callable[..., Command],
    server: str,
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    run = into(url)
    begin_related(history, run, url)
    for case in (CASES[9], CASES[10]):
        history.ddl(*case)
        outcome = run()
        assert outcome.code == 0, outcome.said
        assert foreign_keys(url) == KEYS
        equal(run)
    history.insert("INSERT INTO t (id, s, up) VALUES (9, 9, 1)", range(9, 10))
    assert run().code == 0
    equal(run)
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        connection.exec_driver_sql("INSERT INTO mine (id, t) VALUES (1, 9)")
        with pytest.raises(sa.exc.IntegrityError):
            connection.exec_driver_sql("INSERT INTO mine (id, t) VALUES (2, 77)")


BY_TEXT = (
    "ALTER TABLE c ADD COLUMN s VARCHAR(20)",
    "ALTER TABLE c ADD FOREIGN KEY (s) REFERENCES t (s)",
)
LONGER = (
    "ALTER TABLE t ADD COLUMN now DATETIME DEFAULT CURRENT_TIMESTAMP, "
    "CHANGE COLUMN up upper INT, RENAME COLUMN id TO ident, CHANGE COLUMN s text VARCHAR(30)"
)
RENAMED = [
    ("c", "s", "t", "text", 0, 0),
    ("c", "t", "t", "ident", 0, 0),
    ("mine", "t", "t", "ident", 1, 1),
    ("t", "g", "g", "id", 0, 0),
    ("t", "upper", "t", "ident", 0, 0),
]


@pytest.mark.parametrize("server", MYSQL_FAMILY)
@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.torture)])
def test_foreign_keys_follow_columns_that_are_renamed_or_longer(
    request: pytest.FixtureRequest,
    history: History,
    into: Callable[..., Command],
    server: str,
    killed: bool,
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    run = into(url, limits__takeover_after=1)
    begin_related(history, run, url)
    for statement in BY_TEXT:
        history.ddl("", statement, name="c")
    assert run().code == 0
    history.ddl(EAST, LONGER)
    if killed:  # after RENAME, which the first key that is turned follows
        code, said = run.driver(failpoint="ddl-statement:kill:7").wait()
        assert code == -SIGKILL, said
        assert foreign_keys(url) != RENAMED
    outcome = run()
    assert outcome.code == 0, outcome.said
    assert foreign_keys(url) == RENAMED
    equal(run)


@pytest.mark.torture
@pytest.mark.parametrize("server", MYSQL_FAMILY)
def test_kill_9_at_every_step_loses_no_foreign_key(
    request: pytest.FixtureRequest,
    history: History,
    into: Callable[..., Command],
    server: str,
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    run = into(url, limits__takeover_after=1)
    begin_related(history, run, url)
    history.ddl(*CASES[10])
    after = [(1, 8), (2, -3), (3, 100)]
    # Drop, create, alter, two keys of its own, RENAME; then one statement for each child.
    for failpoint in [
        "ddl-statement-ran:4",
        "ddl-statement-ran:5",
        "ddl-statement:6",
        "ddl-statement-ran:6",
        "ddl-statement:1",
        "ddl-statement-ran:1",
        "ddl-statement:1",
        "ddl-mark-done:1",
        "ddl-committed:1",
    ]:
        step, hit = failpoint.split(":")
        code, said = run.driver(failpoint=f"{step}:kill:{hit}", until="caught-up").wait()
        assert code == -SIGKILL, (failpoint, said)
    code, said = run.driver(until="caught-up").wait()
    assert code == 0, said
    assert run.rows("SELECT id, s FROM t ORDER BY id") == after
    assert foreign_keys(url) == KEYS
    equal(run)
    names = sa.inspect(sa.create_engine(url, poolclass=sa.NullPool)).get_table_names()
    assert [name for name in names if "refill" in name] == []


@pytest.fixture
def alone(command: Make, tidb: Upstream, feed: Feed) -> Callable[[str], Command]:
    """The changefeed without `[source] upstream`."""

    def alone(target_url: str) -> Command:
        route = f'{{"*.*" = "{own_schema(target_url)}.{{table}}"}}'
        return command([feed], target_url, tables__route=route, tables__filter=f"{tidb.schema}.*")

    return alone


def test_without_the_upstream_it_stops_until_that_is_set(
    tidb: Upstream, history: History, alone: Callable[[str], Command], target_url: str
) -> None:
    run = alone(target_url)
    history.ddl(*CASES[0])
    outcome = run()
    assert outcome.code == 3
    assert (
        "column made: existing rows get the time at which the upstream began the statement, which "
        "is not sent; set [source] upstream, from which these values can be read, and start again; "
        "or else "
    ) in outcome.said
    outcome = run(source__upstream=tidb.url)
    assert outcome.code == 0, outcome.said
    equal(run, source__upstream=tidb.url)


def test_an_empty_table_needs_no_upstream(
    tidb: Upstream, history: History, alone: Callable[[str], Command], sqlite_url: str
) -> None:
    history.delete(range(1, 4))
    run = alone(sqlite_url)
    history.ddl(*CASES[0])
    outcome = run()
    assert outcome.code == 0, outcome.said
    history.insert("INSERT INTO t (id) VALUES (9)", range(9, 10))
    assert run().code == 0
    equal(run, source__upstream=tidb.url)


WAYS = [
    (
        {"source__upstream": "mysql+pymysql://root@127.0.0.1:1"},
        "",
        "and they are not read from [source] upstream: ",
        "start again when it answers",
    ),
    ({}, "INSERT INTO t (id) VALUES (77)", "the target has 4 rows and the upstream 3 as of", ""),
    ({}, "ALTER TABLE t ADD COLUMN mine INT", "has a column mine of its own", ""),
]
"""Settings, what an operator does to the target, and words of the message."""


@pytest.mark.parametrize(("settings", "done", "why", "more"), WAYS)
@pytest.mark.parametrize("server", ["sqlite", "mysql"])
def test_what_forbids_it_stops_the_run_and_leaves_the_table(
    request: pytest.FixtureRequest,
    history: History,
    into: Callable[..., Command],
    server: str,
    settings: dict[str, str],
    done: str,
    why: str,
    more: str,
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    run = into(url)
    assert run().code == 0
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        if done:
            connection.exec_driver_sql(done)
    before = run.rows("SELECT * FROM t ORDER BY id")
    history.ddl(*CASES[10])
    for _ in range(2):  # a second attempt says the same
        outcome = run(**settings)
        assert outcome.code == 3, outcome.said
        assert "column s: cannot convert existing values from varchar(20) to int" in outcome.said
        assert why in outcome.said
        assert more in outcome.said
        assert run.rows("SELECT * FROM t ORDER BY id") == before
    tables = sa.inspect(engine).get_table_names()
    assert [name for name in tables if "refill" in name] == []


def test_a_snapshot_that_is_collected_stops_the_run(
    tidb: Upstream, feed: Feed, mock_kafka: brokers.Mock, command: Make, sqlite_url: str
) -> None:
    # The tests' TiDB has a safe point of 2020 (tests/services).
    commit_ts = compose(1_560_000_000_000)
    table = parse_create_table("CREATE TABLE t (id INT PRIMARY KEY)", tidb.schema)
    feed = Feed(mock_kafka, name="old")
    feed.send(0, Ddl(tidb.schema, "t", "CREATE TABLE t (id INT PRIMARY KEY)", commit_ts, 3, table))
    feed.send(0, RowChange(table, commit_ts + 1, after={"id": 1}))
    statement = "ALTER TABLE t ADD COLUMN b DATETIME DEFAULT CURRENT_TIMESTAMP"
    feed.send(0, Ddl(tidb.schema, "t", statement, commit_ts + 2, 5, None))
    feed.resolve(commit_ts + 3)
    run = command([feed], sqlite_url, source__upstream=tidb.url)
    outcome = run()
    assert outcome.code == 3
    assert f"the upstream no longer has the snapshot of {commit_ts + 2}" in outcome.said
    assert run.rows("SELECT * FROM t") == [(1,)]
    assert run(ddl__on_unsupported="skip").code == 0
