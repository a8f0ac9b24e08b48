"""`verify --topics` compares the target with what its topics give, replayed into a SQLite file."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import brokers
from support.dumpling import dump
from support.loading import opened
from support.moved_money import Workload, has_rows, moving, verified_json
from support.torture_cli import Command, Make
from support.torture_topics import Feed, deleted, inserted, table, ts, updated
from support.upstream_tidb import Upstream
from support.upstream_workload import Workload as Stock
from ticdc_consumer import api
from ticdc_consumer.cut.epoch import Epoch
from ticdc_consumer.source.kafka.source import KafkaSource
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.store import Store
from ticdc_consumer.waiting import until

LOG = "CREATE TABLE `log` (`line` VARCHAR(20))"
ODD_LOG = "CREATE TABLE `log` (`line` INT, `more` VARCHAR(20))"
WIDER = "CREATE TABLE `items` (`id` INT PRIMARY KEY, `name` VARCHAR(40), `n` INT)"

Verify = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def verify(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Verify:
    """`verify --topics`, which leaves no file behind."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def verify(run: Command, *arguments: str) -> tuple[int, dict[str, Any]]:
        outcome = verified_json(run, capsys, "--topics", *arguments)
        assert list(folder.iterdir()) == []
        return outcome

    return verify


def history(feed: Feed) -> None:
    """Two tables of one name, one without a key, and DDL in between."""
    feed.create(10)
    feed.create(11, schema="archive")
    feed.create(12, LOG)
    archive, log, wider = table(schema="archive"), table(LOG), table(WIDER)
    feed.send(0, *(inserted(20, {"id": n, "name": f"n{n}"}) for n in range(5)))
    feed.send(1, inserted(20, {"id": 1, "name": "old"}, archive))
    feed.send(1, *(inserted(21 + n, {"line": "a"}, log) for n in range(3)))
    feed.mark(30)
    feed.ddl(40, "ALTER TABLE `items` ADD COLUMN `n` INT DEFAULT 7", "items")
    before: dict[str, Any] = {"id": 1, "name": "n1", "n": 7}
    feed.send(0, updated(50, before, {**before, "n": 8}, wider))
    feed.send(0, deleted(51, {"id": 2, "name": "n2", "n": 7}, wider))
    feed.mark(60)


@pytest.fixture
def caught_up(mock_kafka: brokers.Mock, sqlite_url: str, command: Make) -> tuple[Feed, Command]:
    """A changefeed that has applied the whole history."""
    feed = Feed(mock_kafka)
    history(feed)
    route = '{"archive.*" = "shop.archive_{table}"}'
    run = command([feed], sqlite_url, tables__at_least_once="*.log", tables__route=route)
    assert (outcome := run()).code == 0, outcome.said
    return feed, run


def spoil(run: Command, *statements: str) -> None:
    with opened(run.target_url) as target:
        for statement in statements:
            target.execute(statement).close()


def differing(report: dict[str, Any]) -> list[tuple[str, str, dict[str, str]]]:
    return [
        (f"{of['schema']}.{of['table']}", each["kind"], each["key"])
        for of in report["tables"]
        for each in of["differences"]
    ]


def problems(report: dict[str, Any]) -> dict[str, str | None]:
    return {of["table"]: of["problem"] for of in report["tables"]}


def test_a_program_compares_the_target_with_the_topics(caught_up: tuple[Feed, Command]) -> None:
    _, run = caught_up
    cuts = list[object]()
    reports = {
        report.name: report.equal for report in api.verify_topics(run.options(), report=cuts.append)
    }
    assert reports == {"archive.items": True, "shop.items": True, "shop.log": True}
    assert [cut.resolved_ts for cut in cuts if isinstance(cut, Epoch)][-1] == ts(60)


def test_no_report_comes_once_a_program_has_stopped_it(
    caught_up: tuple[Feed, Command],
) -> None:
    _, run = caught_up
    cuts = list[object]()
    reports = api.verify_topics(run.options(), report=cuts.append, stopped=lambda: bool(cuts))
    assert list(reports) == []


def test_a_target_equals_its_topics_until_another_client_writes(
    caught_up: tuple[Feed, Command], verify: Verify
) -> None:
    _, run = caught_up
    code, report = verify(run)
    assert code == 0, report
    rows = {f"{t['schema']}.{t['table']}": t["target_rows"] for t in report["tables"]}
    assert rows == {"archive.items": 1, "shop.items": 4, "shop.log": 3}
    assert {t["resolved_ts"] for t in report["tables"]} == {str(ts(60))}
    spoil(
        run,
        "UPDATE items SET n = 9 WHERE id = 3",
        "DELETE FROM archive_items",
        "INSERT INTO log VALUES ('b')",
    )
    code, report = verify(run)
    assert code == 5
    assert differing(report) == [
        ("archive.items", "missing", {"id": "1"}),
        ("shop.items", "differs", {"id": "3"}),
        ("shop.log", "extra", {}),
    ]
    code, report = verify(run, "--table", "archive.*")
    assert (code, len(report["tables"])) == (5, 1)


def test_monitors_of_lag_do_not_see_the_replay(
    caught_up: tuple[Feed, Command], verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, run = caught_up
    commits = list[object]()
    monkeypatch.setattr(KafkaSource, "commit", lambda _, offsets: commits.append(offsets))
    feed.mark(70)
    assert run().code == 0
    assert commits
    commits.clear()
    assert verify(run)[0] == 0
    assert commits == []


def test_rows_of_a_merged_table_are_those_of_its_shard(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make, verify: Verify
) -> None:
    feed = Feed(mock_kafka)
    for number, schema in enumerate(("east", "west"), 1):
        feed.create(10 + number, schema=schema)
        feed.send(0, inserted(20, {"id": 1, "name": schema}, table(schema=schema)))
    feed.mark(30)
    merged = {"tables__merge": '{"*.items" = "of"}', "tables__route": '{"*.*" = "shop.{table}"}'}
    run = command([feed], sqlite_url, **merged)
    assert (outcome := run()).code == 0, outcome.said
    assert (found := verify(run))[0] == 0, found
    spoil(run, "UPDATE items SET name = 'wrong' WHERE name = 'west'")
    code, report = verify(run)
    assert (code, differing(report)) == (5, [("west.items", "differs", {"id": "1"})])


def test_a_log_that_is_not_whole_is_refused(
    caught_up: tuple[Feed, Command], verify: Verify
) -> None:
    feed, run = caught_up
    feed.kafka.delete_records(feed.topic, 1, 2)
    code, report = verify(run)
    assert code == 3
    assert (
        f"{feed.topic}[1] begins at offset 2: the log is incomplete; begin from a"
        in report["equal"]
    )
    code, report = verify(run, "--at", str(ts(60)))
    assert code == 2 and "[source] upstream is not set" in report["equal"]


def test_a_table_that_is_set_aside_is_named_and_not_replayed(
    caught_up: tuple[Feed, Command], verify: Verify
) -> None:
    feed, run = caught_up
    with opened(run.target_url) as target, target.transaction():
        store = Store(target, "proof")
        state = store.read()
        assert state is not None
        store.quarantine.add(SetAside.of(("shop", "log"), state, "why"))
    feed.send(1, inserted(65, {"line": 7, "more": "than it has"}, table(ODD_LOG)))
    feed.mark(70)
    assert (outcome := run(on_error__quarantine="true")).code == 0, outcome.said
    code, report = verify(run, "--set", "on_error.quarantine=true")
    assert code == 5
    assert "the target: it is quarantined at R" in str(problems(report)["log"])
    assert [t["equal"] for t in report["tables"]] == [True, True, False]


@pytest.mark.parametrize("origin", ["upstream", "dump"])
def test_a_target_that_was_loaded_is_compared_from_a_snapshot(
    origin: str,
    tidb: Upstream,
    feed: Feed,
    into: Callable[..., Command],
    postgresql_url: str,
    verify: Verify,
    tmp_path: Path,
) -> None:
    tidb.execute(
        "CREATE TABLE stock (id int PRIMARY KEY, n int, text varchar(20))",
        "CREATE TABLE quiet (id int PRIMARY KEY)",
        "INSERT INTO quiet VALUES (1)",
    )
    run = into(postgresql_url)
    snapshot_ts = dump(tidb, tmp_path / "dump")
    assert (outcome := run.load("--at", str(snapshot_ts))).code == 0, outcome.said
    code, report = verify(run)
    assert code == 3
    assert "the topics have no resolved ts at or above the target's R yet" in report["equal"]
    feed.resolve(tidb.ts())
    code, report = verify(run)
    assert code == 5, report
    assert "the replay does not have it, since the topics hold no" in str(problems(report)["quiet"])
    stock = Stock(tidb, feed, seed=7)
    for _ in range(9):
        stock.transact()
    assert (outcome := run()).code == 0, outcome.said
    code, report = verify(run)
    assert code == 3
    words = (
        "the topics cannot be replayed into SQLite: ",
        ".stock",
        "begin from a snapshot: --at TS",
    )
    assert [word for word in words if word not in report["equal"]] == []
    settings = ["--at", str(snapshot_ts)]
    if origin == "dump":
        settings = ["--set", f"source.dump={(tmp_path / 'dump').as_uri()}"]
    code, report = verify(run, *settings)
    assert (code, [t["target_rows"] for t in report["tables"]][:1]) == (0, [1]), report
    spoil(run, "DELETE FROM quiet")
    code, report = verify(run, *settings)
    assert (code, differing(report)) == (5, [(f"{tidb.schema}.quiet", "missing", {"id": "1"})])
    code, report = verify(run, "--at", str(run.resolved_ts))
    assert code == 3 and "is not below the target's R" in report["equal"]


def test_a_run_goes_on_meanwhile(
    mock_kafka: brokers.Mock,
    upstream_url: str,
    postgresql_url: str,
    command: Make,
    verify: Verify,
) -> None:
    feed = Feed(mock_kafka)
    run = moving(command, feed, upstream_url, postgresql_url)
    workload = Workload(upstream_url, feed)
    workload.begin()
    consumer = run.driver()
    try:
        assert until(lambda: has_rows(run), 60.0), consumer.text
        begun = run.resolved_ts
        code, report = verify(run)
        assert code == 0, report
        assert int(report["tables"][0]["resolved_ts"]) > begun
        spoil(run, "UPDATE accounts SET note = 'wrong' WHERE id = 2")
        code, report = verify(run)
        assert code == 5, report
        assert [key for _, _, key in differing(report)] == [{"id": "2"}]
        assert consumer.running and workload.running, consumer.text
    finally:
        workload.end()
        consumer.kill()
