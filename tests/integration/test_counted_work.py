"""What cuts cost, in counted work: no time is measured, so every figure is exact."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import confluent_kafka
import pyarrow as pa
import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame
from support import brokers
from support.torture_cli import Begin, Make
from support.torture_topics import ITEMS, Feed, inserted, ts, updated
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.cut.read.facts import REPORT
from ticdc_consumer.ddl import beside
from ticdc_consumer.source.kafka import follower, scout
from ticdc_consumer.source.kafka import tasks as poll
from ticdc_consumer.source.kafka.brokers import Cluster
from ticdc_consumer.status.activity import recorder

CUTS = 5
ROWS = 40
"""Of each cut, half of them in each of two partitions."""


STATEMENTS = [
    "BEGIN IMMEDIATE",
    "SELECT ticdc_checkpoint.changefeed, ticdc_checkpoint.generation,",
    "UPDATE ticdc_checkpoint SET",
    'INSERT INTO "ticdc_offset"',
    "COMMIT",
]
"""Of one cut, beside those for its rows, which do not go through SQLAlchemy."""
READ_BY_A_DDL = [
    "SELECT ticdc_checkpoint.changefeed, ticdc_checkpoint.generation,",
    'PRAGMA main.table_info("ticdc_checkpoint")',
    'PRAGMA main.table_xinfo("ticdc_table")',
    "SELECT ticdc_checkpoint.changefeed FROM",
    "SELECT * FROM",
    "SELECT 'temporary '",
    "SELECT ticdc_checkpoint.changefeed, ticdc_checkpoint.generation,",
]
"""What one CREATE TABLE reads of the target, cut and all: the checkpoint, its own table, and
whether another changefeed has it."""


@dataclass
class Work:
    """`records` that Kafka's clients gave the driver, `listings` of the brokers, `facts` that Spark
    brought to the driver with the `size` of their keys and rows, and `statements` that were sent to
    the target, by their first words."""

    records: int = 0
    listings: int = 0
    assignments: int = 0
    facts: int = 0
    size: int = 0
    statements: list[str] = field(default_factory=list)

    def forget(self) -> None:
        self.records = self.listings = self.assignments = self.facts = self.size = 0
        self.statements.clear()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    counted = Work()

    class Counted(confluent_kafka.Consumer):
        def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Any]:
            messages = super().consume(num_messages, timeout)
            counted.records += sum(message.error() is None for message in messages)
            return messages

        def assign(self, partitions: Any) -> None:
            counted.assignments += 1
            super().assign(partitions)

        def incremental_assign(self, partitions: Any) -> None:
            counted.assignments += 1
            super().incremental_assign(partitions)

    # What comes with time is not of a cut.
    monkeypatch.setattr(recorder, "FIRST", 1e9)
    monkeypatch.setattr(beside, "LOOK", 1e9)
    for module in (scout, follower, poll):
        monkeypatch.setattr(module, "Consumer", Counted)
    monkeypatch.setattr(poll, "_consumers", {})
    listed = Cluster.list

    def listing(self: Cluster) -> Any:
        counted.listings += 1
        return listed(self)

    def executed(*given: Any) -> None:
        counted.statements.append(" ".join(given[2].split()[:3]))

    collected = DataFrame.toArrow

    def brought(frame: DataFrame) -> pa.Table:
        answer = collected(frame)
        for payload in answer["payload"] if "payload" in answer.column_names else ():
            for fact in pa.ipc.open_stream(payload.as_buffer()).read_all().to_pylist():
                if fact["table"] != REPORT:
                    counted.facts += 1
                    counted.size += len(fact["key"]) + len(fact["row"] or b"")
        return answer

    monkeypatch.setattr(DataFrame, "toArrow", brought)
    monkeypatch.setattr(Cluster, "list", listing)
    sa.event.listen(sa.Engine, "before_cursor_execute", executed)
    yield counted
    sa.event.remove(sa.Engine, "before_cursor_execute", executed)


def trickle(feed: Feed, consumer: Consumer, work: Work, after: Callable[[], None]) -> int:
    """Sends cut after cut, and applies each. The number of messages sent."""
    sent = 0
    for cut in range(CUTS):
        number = 1000 * (cut + 1)
        for partition in (0, 1):
            rows = [
                inserted(number - 1, {"id": number + partition * ROWS + n, "name": "n"})
                for n in range(ROWS // 2)
            ]
            feed.send(partition, *rows)
            sent += len(rows)
        feed.mark(number)
        sent += 2
        epochs = list(consumer.epochs(ts(number)))
        assert [epoch.changes for epoch in epochs] == [ROWS]
        after()
    return sent


def test_a_small_cut_costs_one_listing_and_its_own_messages(begin: Begin, work: Work) -> None:
    feed, run = begin()
    with Consumer(run.options()) as consumer:
        assert list(consumer.epochs("caught-up")) == []
        feed.mark(200)
        list(consumer.epochs(ts(200)))
        feed.send(0, inserted(250, {"id": 3, "name": "three"}))
        feed.mark(300)
        list(consumer.epochs(ts(300)))  # the table's layout and each connection are made
        work.forget()
        sent = trickle(feed, consumer, work, lambda: None)
        assert not consumer._spark.begun
    assert (work.records, work.listings, work.assignments) == (sent, CUTS, 0)


def test_a_small_cut_sends_the_target_the_same_few_statements(begin: Begin, work: Work) -> None:
    feed, run = begin()
    cuts: list[list[str]] = []

    def note() -> None:
        cuts.append(list(work.statements))
        work.forget()

    with Consumer(run.options()) as consumer:
        feed.send(0, inserted(250, {"id": 3, "name": "three"}))
        feed.mark(300)
        list(consumer.epochs(ts(300)))
        work.forget()
        trickle(feed, consumer, work, note)
    assert cuts == [STATEMENTS] * CUTS


def test_a_large_cut_among_small_ones_is_read_once_by_its_tasks(begin: Begin, work: Work) -> None:
    """Beside them the scout reads partition 0; the small cut after it begins where it ended."""
    feed, run = begin(spark__from_messages=200)
    with run.consumer() as consumer:
        list(consumer.epochs("caught-up"))
        trickle(feed, consumer, work, lambda: None)
        for number, rows in ((10_000, 300), (20_000, 20)):
            work.forget()
            for partition in (0, 1):
                first = number + partition * rows
                feed.send(
                    partition,
                    *(inserted(number - 1, {"id": first + n, "name": "n"}) for n in range(rows)),
                )
            feed.mark(number)
            list(consumer.epochs(ts(number)))
            scouted, tasks = rows + 1, 2 * (rows + 1)
            if rows == 300:
                assert (work.records, work.listings) == (scouted + tasks, 1)
            else:
                assert (work.records, work.listings, work.assignments) == (tasks, 1, 1)
    assert run.rows("SELECT count(*) FROM items") == [(2 + CUTS * ROWS + 2 * 320,)]


def test_a_large_cut_is_one_job_that_brings_one_row_a_key(
    begin: Begin, work: Work, spark: Any
) -> None:
    """Of 300 changes of each of two keys the tasks send one key and row each, and no message."""
    feed, run = begin(spark=spark, spark__from_messages=200)
    tracker = spark.sparkContext.statusTracker()
    with run.consumer() as consumer:
        feed.send(0, inserted(250, {"id": 3, "name": "three"}))
        feed.mark(300)
        list(consumer.epochs(ts(300)))  # the table's layout is made
        before = {*tracker.getJobIdsForGroup(None)}
        work.forget()
        for partition in (0, 1):
            rows = [
                updated(n, {"id": partition + 1, "name": "n"}, {"id": partition + 1, "name": "n"})
                for n in range(1000, 1300)
            ]
            feed.send(partition, *rows)
        feed.mark(2000)
        (epoch,) = consumer.epochs(ts(2000))
    assert epoch.changes == 600
    assert len({*tracker.getJobIdsForGroup(None)} - before) == 1
    assert (work.facts, work.size) == (2, 2 * len('1["1","n"]'))


def test_rows_far_ahead_in_one_partition_bypass_the_driver(
    mock_kafka: brokers.Mock,
    command: Make,
    sqlite_url: str,
    work: Work,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 2,000 rows and 20 resolved ts the driver is given those of its first few polls."""
    for name, limit in (("BATCH", 50), ("FAR_BEHIND", 10), ("FAR", 100)):
        monkeypatch.setattr(scout, name, limit)
    feed = Feed(mock_kafka, partitions=1)
    feed.create(10)
    feed.mark(100)
    for cut in range(20):
        first = 1000 * (cut + 1)
        feed.send(0, *(inserted(first + n, {"id": first + n, "name": "n"}) for n in range(100)))
        feed.mark(first + 500)
    with command([feed], sqlite_url, spark, spark__from_messages=200).consumer() as consumer:
        epochs = list(consumer.epochs("caught-up"))
    assert sum(epoch.changes for epoch in epochs) == 2000
    assert 0 < work.records < 300


def test_a_ddl_reads_no_more_when_more_tables_are_known(begin: Begin, work: Work) -> None:
    feed, run = begin()
    read: list[list[str]] = []
    with Consumer(run.options()) as consumer:
        for number in range(1, 13):
            at = 1000 * number
            work.forget()
            feed.create(at, ITEMS.replace("items", f"t{number}"))
            feed.mark(at + 10)
            assert sum(len(epoch.ddls) for epoch in consumer.epochs(ts(at + 10))) == 1
            read.append([text for text in work.statements if text[:6] in ("SELECT", "PRAGMA")])
    assert read[1:] == [READ_BY_A_DDL] * 11
