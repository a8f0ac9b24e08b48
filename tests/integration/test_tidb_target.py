"""TiDB as the target of whole runs: the mark of its writes, and its limits."""

from dataclasses import replace

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Command, Make
from support.torture_topics import Feed, inserted, ts, updated
from ticdc_consumer.targets.mysql.bulk import MySqlBulk
from ticdc_consumer.targets.mysql.dialects import TIDB
from ticdc_consumer.targets.mysql.session import TiDb


@pytest.fixture
def feed(mock_kafka: brokers.Mock) -> Feed:
    feed = Feed(mock_kafka)
    feed.create(10)
    feed.send(0, inserted(20, {"id": 1, "name": "one"}))
    feed.mark(100)
    return feed


def into(url: str) -> str:
    return f'{{"*.*" = "{sa.make_url(url).database}.{{table}}"}}'


@pytest.fixture
def run(feed: Feed, tidb_url: str, command: Make) -> Command:
    return command([feed], tidb_url, tables__route=into(tidb_url))


# --- the mark of its writes ----------------------------------------------------------------------


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What tidb_cdc_write_source is in the sessions that commit, at each commit."""
    seen: list[int] = []
    execute = TiDb.execute

    def watched(target: TiDb, statement: str, parameters: object = ()) -> object:
        if statement == "COMMIT":
            seen.append(int(execute(target, "SELECT @@tidb_cdc_write_source").scalar() or 0))
        return execute(target, statement, parameters)

    monkeypatch.setattr(TiDb, "execute", watched)
    return seen


def test_every_session_that_writes_is_marked(
    run: Command, feed: Feed, sources: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = run(target__write_source=7)
    assert outcome.code == 0, outcome.said
    assert set(sources) == {7}
    feed.send(0, updated(150, {"id": 1, "name": "one"}, {"id": 1, "name": "uno"}))
    feed.mark(200)
    sources.clear()
    insert = MySqlBulk.insert

    def lost_once(bulk: MySqlBulk, *arguments: object) -> int:
        """The session is killed as it writes its first rows."""
        monkeypatch.setattr(MySqlBulk, "insert", insert)
        bulk._connection.exec_driver_sql("KILL CONNECTION_ID()")
        return insert(bulk, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(MySqlBulk, "insert", lost_once)
    outcome = run(target__write_source=7)
    assert (outcome.code, run.resolved_ts) == (0, ts(200)), outcome.said
    assert MySqlBulk.insert is insert
    assert len(sources) >= 2 and set(sources) == {7}
    assert run.rows("SELECT name FROM items") == [("uno",)]


def test_without_the_setting_nothing_is_marked(run: Command, sources: list[int]) -> None:
    assert run().code == 0
    assert set(sources) == {0}


@pytest.mark.parametrize("target_url", ["sqlite", "postgresql", "mariadb", "mysql"], indirect=True)
def test_a_target_that_cannot_mark_is_refused_before_any_write(
    feed: Feed, target_url: str, command: Make
) -> None:
    run = command([feed], target_url)
    outcome = run(target__write_source=7)
    assert outcome.code == 2
    assert outcome.said.startswith(
        "ticdc-consumer: [target] write_source is for a target that is TiDB, and this is "
    )
    engine = sa.create_engine(target_url, poolclass=sa.NullPool)
    assert sa.inspect(engine).get_table_names() == []


# --- its limits ----------------------------------------------------------------------------------


def test_a_cut_beyond_the_limits_stops_and_a_smaller_one_goes_on(
    run: Command, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run().code == 0
    small = "SET SESSION tidb_mem_quota_query = 1500000"
    monkeypatch.setattr(TiDb, "differences", replace(TIDB, settings=(*TIDB.settings, small)))
    for half in range(2):
        at, numbers = 110 + half * 50, range(half * 5000 + 10, half * 5000 + 5010)
        feed.send(half, *(inserted(at, {"id": n, "name": "x" * 40}) for n in numbers))
        feed.mark(150 + half * 50)
    outcome = run()
    assert outcome.code == 3
    assert "items: the cut takes TiDB more memory than its tidb_mem_quota_query" in outcome.said
    assert "or lower [limits] rows_per_epoch" in outcome.said
    assert (run.resolved_ts, run.rows("SELECT count(*) FROM items")) == (ts(100), [(1,)])
    # The first cut is planned without knowing what a message comes to.
    outcome = run(limits__rows_per_epoch=1000)
    assert outcome.code == 0, outcome.said
    assert (run.resolved_ts, run.rows("SELECT count(*) FROM items")) == (ts(200), [(10_001,)])
