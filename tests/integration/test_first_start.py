"""A first start from a snapshot (`--from-ts`): what the log must still hold, and may repeat."""

import time
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Command, Make, refuses
from support.torture_topics import BASE, Feed, inserted, ts
from ticdc_encoder.event import RowChange

HOUR = 3_600_000 << 18
NOW = (time.time_ns() // 1_000_000 << 18) + HOUR - BASE


def snapshot(number: int) -> int:
    """Counted from the snapshot, an hour from now: later than whatever this test sends."""
    return NOW + number


def item(number: int, id: int) -> RowChange:
    return inserted(number, {"id": id, "name": "x"})


def ids(run: Command) -> list[int]:
    return [id for (id,) in run.rows("SELECT id FROM items ORDER BY id")]


@pytest.fixture
def loaded(kafka: brokers.Kafka, sqlite_url: str, command: Make) -> Iterator[tuple[Feed, Command]]:
    """A target that holds a snapshot of an hour from now, and rows around it in the topic."""
    feed = Feed(kafka)
    engine = sa.create_engine(sqlite_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)")
        connection.exec_driver_sql("INSERT INTO items VALUES (1, 'loaded'), (2, 'loaded')")
    feed.create(10)
    feed.send(1, item(20, 9), inserted(snapshot(-1), {"id": 2, "name": "old"}))
    feed.send(1, item(snapshot(0), 8))
    feed.send(1, item(snapshot(1), 3), item(snapshot(1), 4))
    feed.mark(snapshot(100))
    yield feed, command([feed], sqlite_url)


def test_a_snapshot_is_gone_on_from(loaded: tuple[Feed, Command]) -> None:
    feed, run = loaded
    start = ("--from-ts", str(ts(snapshot(0))))
    assert run(*start).code == 0
    assert run.resolved_ts == ts(snapshot(100))
    rows = [(1, "loaded"), (2, "loaded"), (3, "x"), (4, "x")]
    assert run.rows("SELECT * FROM items ORDER BY id") == rows
    feed.send(0, item(snapshot(150), 5))
    feed.mark(snapshot(200))
    assert run(*start).code == 0
    assert run.rows("SELECT * FROM items ORDER BY id") == [*rows, (5, "x")]


def test_a_loaded_table_is_altered_by_an_earlier_runs_knowledge(
    loaded: tuple[Feed, Command],
) -> None:
    feed, run = loaded
    assert run("--from-ts", str(ts(snapshot(0)))).code == 0
    feed.ddl(snapshot(110), "ALTER TABLE `items` MODIFY COLUMN `name` VARCHAR(80)", "items")
    feed.ddl(snapshot(111), "ALTER TABLE `items` ADD COLUMN `n` INT NOT NULL DEFAULT 7", "items")
    feed.mark(snapshot(120))
    outcome = run()
    assert outcome.code == 0, outcome.said
    assert run.rows("SELECT id, n FROM items ORDER BY id") == [(1, 7), (2, 7), (3, 7), (4, 7)]


@pytest.mark.parametrize(
    ("skew", "code", "words"),
    [("0", 0, "done"), ("7200", 3, "[1] begins at offset 2, whose record is not older than the")],
)
def test_a_log_that_begins_before_the_snapshot_is_enough(
    loaded: tuple[Feed, Command], skew: str, code: int, words: str
) -> None:
    feed, run = loaded
    feed.kafka.delete_records(feed.topic, 1, 2)
    outcome = run("--from-ts", str(ts(snapshot(0))), limits__clock_skew=skew)
    assert outcome.code == code
    assert words in outcome.said
    assert len(ids(run)) == (2 if code else 4)


def test_a_partition_that_retains_nothing_follows_no_snapshot(
    loaded: tuple[Feed, Command],
) -> None:
    feed, run = loaded
    feed.kafka.delete_records(feed.topic, 1, 6)
    outcome = run("--from-ts", str(ts(snapshot(0))))
    assert outcome.code == 3
    assert f"{feed.topic}[1] retains nothing: what was cut off may be later than" in outcome.said
    assert len(ids(run)) == 2


def test_a_first_start_without_the_snapshots_ts_is_corrected(
    loaded: tuple[Feed, Command], mock_kafka: brokers.Mock, command: Make
) -> None:
    feed = Feed(mock_kafka, name="later")
    feed.send(1, item(snapshot(0), 8), item(snapshot(1), 3))
    feed.mark(snapshot(100))
    run = command([feed], loaded[1].target_url)
    outcome = run()
    assert outcome.code == 3
    assert "start with --from-ts TS if they are a snapshot of TS, load all tables" in outcome.said
    assert run.resolved_ts == 0
    assert run("--from-ts", str(ts(snapshot(0)))).code == 0
    rows = [(1, "loaded"), (2, "loaded"), (3, "x")]
    assert run.rows("SELECT * FROM items ORDER BY id") == rows


def test_a_snapshot_later_than_the_checkpoint_is_refused_by_name(
    loaded: tuple[Feed, Command],
) -> None:
    _, run = loaded
    assert run("--from-ts", str(ts(snapshot(0)))).code == 0
    reached = ts(snapshot(100))
    refuses(
        run,
        f"changefeed proof is at R = {reached}, before the snapshot {reached}: leave from_ts out "
        "to continue from R; or, if the tables hold the rows of that snapshot, end the "
        "changefeed",
        from_ts=reached,
    )
    assert run("--from-ts", str(reached - 1)).code == 0
