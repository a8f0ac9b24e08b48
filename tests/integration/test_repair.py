"""`verify --repair` puts rows right in the transaction of a cut, and nothing else; wherever a kill
-9 comes, nothing is half done. What it cannot put right it names."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa
from support import brokers
from support.loading import opened
from support.moved_money import Workload, has_rows, moving, verified_json
from support.torture_cli import Command, Make
from support.torture_driver import Driver
from support.torture_topics import Feed
from support.upstream_tidb import upstream
from support.upstream_workload import definition
from support.verified import Verified
from ticdc_consumer import api
from ticdc_consumer.commands.repair import command as repair_command
from ticdc_consumer.commands.repair import differing_keys
from ticdc_consumer.state.repairs import RepairRequest, RepairRequests, TableKeys
from ticdc_consumer.status import reading, text
from ticdc_consumer.status.standby import Watch
from ticdc_consumer.waiting import sleep, until
from ticdc_encoder.event import Ddl
from ticdc_encoder.tso import with_time


@pytest.fixture
def verified(
    upstream_url: str, target_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Verified:
    """A target that no consumer writes."""
    settings = {"limits": {"standby_after": 6}}
    return Verified.of(upstream_url, target_url, tmp_path, capsys, settings)


@pytest.fixture(autouse=True)
def nobody_to_wait_for(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changefeed that never had a consumer has none that may come back."""
    if "verified" in request.fixturenames:
        monkeypatch.setattr(Watch, "is_gone", lambda *_: True)


SHOP = (
    "CREATE TABLE people (id INT PRIMARY KEY, mail VARCHAR(20) NOT NULL, UNIQUE KEY (mail))",
    "INSERT INTO people VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
    "CREATE TABLE odd (mood ENUM('sad','glad'), tags SET('x','y'), raw VARBINARY(8), f FLOAT, "
    "at DATETIME(3), n DECIMAL(9,2), note TEXT, PRIMARY KEY (mood, tags, raw, f, at, n))",
    "INSERT INTO odd VALUES ('sad', 'x,y', X'00ff', 0.1, '2024-02-29 10:11:12.5', 1.5, '%s'), "
    "('glad', '', X'', 16777217, '2024-02-29', -2, NULL)",
    "CREATE TABLE words (w VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, n INT)",
    "INSERT INTO words VALUES ('B', 1), ('a', 2)",
)


@pytest.mark.parametrize("target_url", ["sqlite", "postgresql"], indirect=True)
def test_rows_of_all_kinds_of_keys_are_repaired_without_a_run(
    verified: Verified,
) -> None:
    verified.execute(*SHOP)
    resolved_ts = verified.load()
    verified.execute("UPDATE people SET mail = 'later' WHERE id = 4", "DELETE FROM odd")
    verified.spoil(
        "UPDATE people SET mail = 'none' WHERE id = 1",
        "UPDATE people SET mail = 'a' WHERE id = 2",
        "UPDATE people SET mail = 'b' WHERE id = 1",
        "DELETE FROM people WHERE id = 3",
        "INSERT INTO people VALUES (9, 'c')",
        "UPDATE odd SET note = 'wrong'",
        "UPDATE words SET n = 7 WHERE w = 'a'",
    )
    code, out, err = verified.verify("--repair", "--json")
    assert code == 0, (out, err)
    report = json.loads(out)
    assert report["repair"]["rows"] == 7
    assert report["repair"]["resolved_ts"] == str(resolved_ts)
    assert report["equal"] is True
    assert verified.differences() == set()


@pytest.fixture
def drifted(
    upstream_url: str, sqlite_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Verified:
    verified = Verified.of(upstream_url, sqlite_url, tmp_path, capsys)
    verified.execute(*SHOP, "CREATE TABLE log (a INT)", "INSERT INTO log VALUES (1)")
    verified.load()
    verified.spoil("UPDATE people SET mail = upper(mail)", "DELETE FROM log")
    return verified


def test_what_cannot_be_put_right_is_named_and_the_rest_is_done(
    drifted: Verified, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watch, "is_gone", lambda *_: True)
    code, out, _ = drifted.verify("--repair")
    assert code == 5
    assert "log: not repaired: nothing identifies its rows: load all tables again" in out
    assert "to repair: 4 rows of 1 table\n" in out
    assert "4 rows repaired at R = " in out
    assert {name for name, *_ in drifted.differences()} == {"log"}


def test_a_program_has_rows_put_right_as_the_command_does(
    drifted: Verified, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watch, "is_gone", lambda *_: True)
    found = {report.table[1]: report for report in api.verify(drifted.options, ["*.people"])}
    assert [len(report.differences) for report in found.values()] == [4]
    repaired = api.repair(drifted.options)
    assert repaired.outcome is not None and repaired.outcome.rows == 4
    reports = {report.table[1]: report for report in repaired.reports}
    assert reports["people"].equal and not reports["log"].equal
    assert reports["log"].not_repaired.startswith("nothing identifies its rows")
    assert not repaired.equal
    assert {name for name, *_ in drifted.differences()} == {"log"}


def test_a_program_gets_the_statements_that_put_rows_right(drifted: Verified) -> None:
    seen = list[str]()
    repair = api.repair_sql(
        drifted.options, ["*.people"], report=lambda report: seen.append(report.table[1])
    )
    assert [report.table[1] for report in repair.reports] == seen == ["people"]
    assert not repair.equal
    with closing(sqlite3.connect(str(sa.make_url(drifted.target_url).database))) as target:
        target.executescript(repair.statements)
    assert api.repair_sql(drifted.options, ["*.people"]).statements == ""


def test_too_many_rows_are_not_put_right_by_their_keys(
    drifted: Verified, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(differing_keys, "MOST_KEYS", 3)
    code, out, _ = drifted.verify("--repair", "--table", "*.people")
    assert code == 5
    assert "people: not repaired: more than 3 rows differ in all" in out


def test_a_repair_that_nobody_takes_up_is_withdrawn(
    drifted: Verified, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_command, "PATIENCE", 0.0)
    monkeypatch.setattr(Watch, "is_gone", lambda *_: False)
    code, _, err = drifted.verify("--repair")
    assert code == 1
    assert "the request is withdrawn: no cut without DDL was committed" in err
    with opened(drifted.target_url) as target:
        assert target.query("SELECT count(*) FROM ticdc_repair") == [(0,)]


def test_the_request_of_a_killed_command_goes_at_the_next_one(
    drifted: Verified, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No command waits for it any more, and no cut might ever take it up."""
    monkeypatch.setattr(Watch, "is_gone", lambda *_: True)
    with opened(drifted.target_url) as target, target.transaction():
        RepairRequests(target, "proof").add(RepairRequest(1, 0, {}))
    drifted.verify("--repair")
    with opened(drifted.target_url) as target:
        assert target.query("SELECT state FROM ticdc_repair") == [("done",)]


# --- beside the stream --------------------------------------------------------------------------


@pytest.fixture
def stream(upstream_url: str, sqlite_url: str, mock_kafka: brokers.Mock, command: Make) -> "Stream":
    return Stream(upstream_url, Feed(mock_kafka), sqlite_url, command)


class Stream:
    """A changefeed of a table that is loaded, whose cuts the test makes one by one."""

    def __init__(self, upstream_url: str, feed: Feed, target_url: str, command: Make) -> None:
        self.feed = feed
        self.run = moving(command, feed, upstream_url, target_url)
        with upstream(upstream_url) as tidb:
            tidb.execute(*SHOP[:2])
            self.schema = tidb.schema
            self.feed.resolve(tidb.ts())
        assert self.run.load().code == 0
        self.url = upstream_url

    def cut(self, *statements: str) -> Any:
        """The upstream goes on, without a word of its rows in the topic, and a cut is applied."""
        with upstream(self.url) as tidb:
            tidb.execute(*statements)
            self.feed.resolve(tidb.ts())
        return self.run()

    def ddl(self, query: str, kind: int, of: str = "people") -> None:
        """In the upstream and in the topic, before the next cut."""
        with upstream(self.url) as tidb:
            commit_ts = tidb.ddl(query)
            found = tidb.execute(f"SHOW TABLES LIKE '{of}'")
            table = definition(tidb, of) if found else None
            self.feed.send(0, Ddl(tidb.schema, of, query, commit_ts, kind, table))

    def ask(self, *keys: str) -> int:
        """A request for rows of `people`."""
        differing = TableKeys(("id",), [(key,) for key in keys])
        request = RepairRequest(
            repair_command.number_of_now(), 1, {(self.schema, "people"): differing}
        )
        with opened(self.run.target_url) as target, target.transaction():
            RepairRequests(target, "proof").add(request)
        return request.number

    def people(self) -> list[Any]:
        return self.run.rows("SELECT id, mail FROM people ORDER BY id")

    def requests(self) -> list[tuple[str, bool, str]]:
        rows = self.run.rows("SELECT state, resolved_ts, reason FROM ticdc_repair ORDER BY number")
        return [(state, int(ts) == self.run.resolved_ts, reason) for state, ts, reason in rows]


def test_rows_are_read_as_of_the_end_of_the_cut_that_writes_them(stream: Stream) -> None:
    stream.ask("1", "2", "7", "8")
    outcome = stream.cut(
        "UPDATE people SET mail = 'new' WHERE id = 1",
        "DELETE FROM people WHERE id = 2",
        "INSERT INTO people VALUES (7, 'b')",
        "UPDATE people SET mail = 'not asked' WHERE id = 3",
    )
    assert outcome.code == 0, outcome.said
    assert "repair: 4 rows repaired at R = " in outcome.said
    assert stream.people() == [(1, "new"), (3, "c"), (4, "d"), (7, "b")]
    assert stream.requests() == [("done", True, "")]
    with opened(stream.run.target_url) as target:
        shown = text.to_text(reading.read(target, stream.run.options()), "orders.toml")
    assert re.search(r"last repair +4 rows repaired at R = \d+", shown), shown


def test_a_row_with_the_unique_value_of_a_repaired_one_goes(stream: Stream) -> None:
    with opened(stream.run.target_url) as target:
        target.execute("UPDATE people SET mail = 'x' WHERE id = 2").close()
        target.execute("INSERT INTO people VALUES (9, 'b')").close()
    stream.ask("2")
    assert stream.cut().code == 0
    assert stream.people() == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_a_repair_that_the_target_refuses_leaves_the_cut(stream: Stream) -> None:
    with opened(stream.run.target_url) as target:
        target.execute(
            "CREATE TRIGGER never BEFORE INSERT ON people WHEN NEW.mail = 'a' "
            "BEGIN SELECT RAISE(ABORT, 'not this one'); END"
        ).close()
    stream.ask("1", "2")
    before = stream.run.resolved_ts
    outcome = stream.cut()
    assert outcome.code == 0, outcome.said
    assert stream.run.resolved_ts > before
    assert stream.people() == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    ((state, _, reason),) = stream.requests()
    assert state == "pending" and reason in outcome.said and reason
    with opened(stream.run.target_url) as target:
        target.execute("DROP TRIGGER never").close()
    assert stream.cut("UPDATE people SET mail = 'again' WHERE id = 2").code == 0
    assert stream.people()[1] == (2, "again")
    assert stream.requests()[0][:2] == ("done", True)


def test_an_upstream_that_is_away_puts_a_repair_off(stream: Stream) -> None:
    stream.ask("2")
    stream.run._settings["source__upstream"] = "mysql+pymysql://root@127.0.0.1:1"
    outcome = stream.cut()
    assert outcome.code == 0 and "cannot connect to" in outcome.said, outcome.said
    assert [state for state, *_ in stream.requests()] == ["pending"]


def test_a_table_gone_upstream_is_left_out_with_the_reason(stream: Stream) -> None:
    stream.ask("2")
    assert stream.cut("DROP TABLE people").code == 0
    ((state, _, reason),) = stream.requests()
    assert state == "done" and "people: the upstream has no such table" in reason


# --- a DDL between the request and the cut ------------------------------------------------------


def test_rows_of_a_table_with_other_columns_by_then_are_repaired(stream: Stream) -> None:
    with opened(stream.run.target_url) as target:
        target.execute("UPDATE people SET mail = upper(mail)").close()
    stream.ask("1", "2", "3", "4")
    stream.ddl("ALTER TABLE people ADD COLUMN age INT DEFAULT 7", 5)
    stream.ddl("CREATE TABLE more (id INT PRIMARY KEY)", 3, "more")
    stream.ddl("ALTER TABLE people ADD COLUMN note VARCHAR(9)", 5)
    outcome = stream.cut("UPDATE people SET age = 8, note = 'new' WHERE id = 2")
    assert outcome.code == 0, outcome.said
    assert stream.run.rows("SELECT * FROM people ORDER BY id") == [
        (1, "a", 7, None),
        (2, "b", 8, "new"),
        (3, "c", 7, None),
        (4, "d", 7, None),
    ]
    assert stream.requests() == [("done", True, "")]
    assert stream.run.command("verify").code == 0


ANOTHER = "CREATE TABLE people (mail VARCHAR(20) PRIMARY KEY, n INT)"
GONE = [
    ([("DROP TABLE people", 4)], "the upstream has no such table"),
    ([("DROP TABLE people", 4), (ANOTHER, 3)], "its key columns have changed: verify again"),
    ([("RENAME TABLE people TO persons", 14)], "the upstream has no such table"),
]


@pytest.mark.parametrize(("statements", "words"), GONE)
def test_rows_of_a_table_replaced_by_then_are_left_and_named(
    statements: list[tuple[str, int]], words: str, stream: Stream
) -> None:
    stream.ask("2")
    for query, kind in statements:
        stream.ddl(query, kind, "persons" if "persons" in query else "people")
    outcome = stream.cut()
    assert outcome.code == 0, outcome.said
    ((state, _, reason),) = stream.requests()
    assert state == "done" and words in reason, reason
    assert f"repair: 0 rows repaired at R = {with_time(stream.run.resolved_ts)}" in outcome.said


# --- kill -9 ------------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        all_targets = metafunc.config.getoption("--long")
        metafunc.parametrize("kind", TARGETS if all_targets else TARGETS[:1])


TARGETS = ("sqlite", "postgresql", "mariadb", "mysql", "tidb")
STEPS = (
    "repair-written:kill:1",
    "committed:kill:2",
    "repair-deleted:kill:1",
    "repair-noted:kill:1",
)
"""Where the first kills come; those after it at any moment."""


def test_kills_at_any_moment_leave_nothing_half_repaired(
    kind: str,
    upstream_url: str,
    mock_kafka: brokers.Mock,
    command: Make,
    capsys: pytest.CaptureFixture[str],
    long: bool,
    request: pytest.FixtureRequest,
) -> None:
    rng, patience = Random(kind), 600.0 if long else 60.0
    feed = Feed(mock_kafka)
    target_url = request.getfixturevalue(f"{kind}_url")
    run = moving(command, feed, upstream_url, target_url, limits__standby_after=6)
    workload = Workload(upstream_url, feed)
    workload.begin()
    consumer, repairing = run.driver(), list[Driver]()
    try:
        assert until(lambda: has_rows(run), patience), consumer.text
        for number in range(30 if long else 2):
            spoil(run, rng)
            step = STEPS[number] if number < len(STEPS) else None
            if step is not None:
                consumer.kill()
                consumer = run.driver(step)
            repairing.append(Driver(["verify", str(run._file), "--repair", *run.arguments()]))
            if number % 2 == 0:
                sleep(rng.uniform(0.0, 3.0))
                workload.define_more()
            until(lambda: not consumer.running, patience if step else rng.uniform(0.5, 9.0))  # noqa: B023
            assert step is None or not consumer.running, consumer.text
            if rng.random() < 0.3:
                repairing[-1].kill()
            consumer.kill()
            consumer = run.driver()
            repairing[-1].kill()
        code, report = verified_json(run, capsys, "--repair")
        assert (code, report["equal"]) == (0, True), (report, consumer.text)
        assert consumer.running and workload.running, consumer.text
    finally:
        workload.end()
        for process in (*repairing, consumer):
            process.kill()


def spoil(run: Command, rng: Random) -> None:
    """Rows of which the stream never writes some, and some at any moment."""
    with opened(run.target_url) as target:
        for statement in (
            f"UPDATE accounts SET note = 'drift {rng.random()}' WHERE id IN (1, 2)",  # noqa: S608
            "DELETE FROM accounts WHERE id = 3",
            f"DELETE FROM accounts WHERE id = {rng.randrange(4, 40)}",  # noqa: S608
            f"UPDATE accounts SET balance = -1 WHERE id = {rng.randrange(4, 40)}",  # noqa: S608
        ):
            target.execute(statement).close()
