"""`verify --against` compares two targets of one upstream at one R, whatever databases they are."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from support import brokers
from support.loading import opened
from support.moved_money import Workload, has_rows, moving
from support.torture_cli import Command, Make
from support.torture_topics import Feed
from support.upstream_tidb import upstream
from ticdc_consumer import api
from ticdc_consumer.cli import commands as cli
from ticdc_consumer.commands.verify import same_state
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.store import Store
from ticdc_consumer.waiting import until
from ticdc_encoder.event import Resolved

Against = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def against(capsys: pytest.CaptureFixture[str]) -> Against:
    """One changefeed's target, compared with that of the changefeed `twin`."""

    def against(one: Command, other: Command, *arguments: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        words = ["--against", other.target_url, "--against-changefeed", "twin", *arguments]
        code = cli.main(["verify", str(one._file), "--json", *one.arguments(), *words])
        printed = capsys.readouterr()
        return code, json.loads(printed.out) if printed.out else {"error": printed.err}

    return against


@pytest.fixture
def two(
    mock_kafka: brokers.Mock,
    upstream_url: str,
    command: Make,
    request: pytest.FixtureRequest,
) -> Callable[[str, str], tuple[Feed, Command, Command]]:
    """Two changefeeds of one topic, into databases of these kinds."""

    def two(one: str, other: str) -> tuple[Feed, Command, Command]:
        feed = Feed(mock_kafka)
        urls = [request.getfixturevalue(f"{kind}_url") for kind in (one, other)]
        runs = [
            moving(command, feed, upstream_url, url, changefeed=name, tables__at_least_once="*.log")
            for url, name in zip(urls, ("proof", "twin"), strict=True)
        ]
        return feed, runs[0], runs[1]

    return two


Two = Callable[[str, str], tuple[Feed, Command, Command]]


def load_both(url: str, feed: Feed, *runs: Command) -> int:
    """Both at the same R."""
    with upstream(url) as tidb:
        ts = tidb.ts()
        for partition in range(feed.partitions):
            feed.send(partition, Resolved(ts))
    for run in runs:
        outcome = run.load("--at", str(ts))
        assert outcome.code == 0, outcome.said
    return ts + 1


@pytest.mark.parametrize(
    ("one", "other"), [("postgresql", "sqlite"), ("sqlite", "mysql"), ("tidb", "mariadb")]
)
def test_all_types_are_compared_between_databases(
    one: str, other: str, two: Two, upstream_url: str, against: Against
) -> None:
    feed, mine, theirs = two(one, other)
    with upstream(upstream_url) as tidb:
        tidb.create_typed()
        tidb.execute(
            "CREATE TABLE log (a INT, b VARCHAR(9))", "INSERT INTO log VALUES (1, NULL), (1, NULL)"
        )
    resolved_ts = load_both(upstream_url, feed, mine, theirs)
    found_by_program = {
        (each.table[1], each.equal, each.resolved_ts)
        for each in api.verify_against(mine.options(), theirs.options())
    }
    assert found_by_program == {("typed", True, resolved_ts), ("log", True, resolved_ts)}
    code, report = against(mine, theirs)
    assert code == 0, report
    assert {t["table"]: (t["target_rows"], t["resolved_ts"]) for t in report["tables"]} == {
        "typed": (2, str(resolved_ts)),
        "log": (2, str(resolved_ts)),
    }
    with opened(mine.target_url) as target:
        target.execute("UPDATE typed SET c5 = 7, c31 = 'It''s', c14 = 0.25 WHERE id = 1").close()
        target.execute("DELETE FROM typed WHERE id = 2").close()
        target.execute("INSERT INTO log VALUES (2, 'x')").close()
    code, report = against(mine, theirs)
    found = [
        (table["table"], each["kind"], each["key"], sorted(each["columns"]))
        for table in report["tables"]
        for each in table["differences"]
    ]
    assert code == 5
    assert sorted(found, key=repr) == [
        ("log", "extra", {}, []),
        ("typed", "differs", {"id": "1"}, ["c14", "c31", "c5"]),
        ("typed", "missing", {"id": "2"}, []),
    ]


def test_a_table_that_is_set_aside_is_named_and_not_compared(
    two: Two, upstream_url: str, against: Against, tmp_path: Path
) -> None:
    feed, mine, theirs = two("sqlite", "postgresql")
    with upstream(upstream_url) as tidb:
        tidb.execute("CREATE TABLE a (id INT PRIMARY KEY)", "CREATE TABLE b (id INT PRIMARY KEY)")
    load_both(upstream_url, feed, mine, theirs)
    with opened(theirs.target_url) as target, target.transaction():
        store = Store(target, "twin")
        state = store.read()
        assert state is not None
        (name,) = (name for name in store.ledger.known().destinations if name[1] == "a")
        store.quarantine.add(SetAside.of(name, state, "why"))
    metrics = tmp_path / "verify.prom"
    code, report = against(mine, theirs, "--metrics-file", str(metrics))
    assert code == 5
    for result, tables in (("equal", 1), ("differs", 0), ("not compared", 1)):
        labels = f'{{changefeed="proof",result="{result}"}}'
        assert f"ticdc_consumer_verified_tables{labels} {tables}.0" in metrics.read_text()
    problems = {table["table"]: table["problem"] for table in report["tables"]}
    assert "it is quarantined at R" in problems["a"] and problems["b"] is None


def test_two_consumers_that_go_on_are_compared_where_they_meet(
    two: Two, upstream_url: str, against: Against
) -> None:
    feed, mine, theirs = two("sqlite", "postgresql")
    workload = Workload(upstream_url, feed)
    workload.begin()
    consumers = [mine.driver(), theirs.driver()]
    try:
        for run, consumer in zip((mine, theirs), consumers, strict=True):
            assert until(lambda run=run: has_rows(run), 60.0), consumer.text  # type: ignore[misc]
        code, report = against(mine, theirs)
        assert (code, report.get("equal")) == (0, True), report
        with opened(theirs.target_url) as target:
            target.execute("UPDATE accounts SET note = 'wrong' WHERE id = 2").close()
        code, report = against(mine, theirs)
        assert code == 5, report
        (table,) = report["tables"]
        assert [each["key"] for each in table["differences"]] == [{"id": "2"}]
    finally:
        workload.end()
        for consumer in consumers:
            consumer.kill()


def test_two_that_do_not_meet_are_told_how_to(
    two: Two, upstream_url: str, against: Against, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, mine, theirs = two("sqlite", "postgresql")
    with upstream(upstream_url) as tidb:
        tidb.execute("CREATE TABLE a (id INT PRIMARY KEY)")
    load_both(upstream_url, feed, theirs)
    goal = load_both(upstream_url, feed, mine)
    monkeypatch.setattr(same_state, "PATIENCE", 0.2)
    code, report = against(mine, theirs)
    assert code == 3
    assert f"to the other's R by: ticdc-consumer run CONFIG --until {goal}" in report["error"]
    for partition in range(feed.partitions):
        feed.send(partition, Resolved(goal))
    assert theirs(until=str(goal)).code == 0
    assert against(mine, theirs)[0] == 0
    assert against(mine, theirs, "--repair")[0] == 2


def test_what_one_side_lacks_is_named(two: Two, upstream_url: str, against: Against) -> None:
    feed, mine, theirs = two("sqlite", "postgresql")
    with upstream(upstream_url) as tidb:
        tidb.execute("CREATE TABLE a (id INT PRIMARY KEY)", "CREATE TABLE b (id INT PRIMARY KEY)")
    load_both(upstream_url, feed, mine, theirs)
    with opened(mine.target_url) as target:
        target.execute("DROP TABLE a").close()
    with opened(theirs.target_url) as target:
        target.execute("DELETE FROM ticdc_table WHERE \"table\" = 'b'").close()
    code, report = against(mine, theirs)
    assert (code, {t["table"]: t["problem"] for t in report["tables"]}) == (
        5,
        {
            "a": 'this changefeed: the target has no table "a"',
            "b": "the other changefeed does not have it",
        },
    )
    assert sa.make_url(theirs.target_url).get_backend_name() == "postgresql"
