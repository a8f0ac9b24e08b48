"""Topics and partitions as they come: many, empty, silent, late, shuffled or large.

None of them loses a row or holds the others back (the design's section 3).
"""

from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from support import brokers
from support.torture_cli import Begin, Command, Make
from support.torture_topics import BASE, ITEMS, Feed, inserted, table, ts, updated
from support.torture_upstream import DISPATCHERS, waves
from ticdc_consumer.commands.check.checks import check, exit_code
from ticdc_consumer.cut.planner import Planner
from ticdc_consumer.cut.read.report import Report
from ticdc_consumer.cut.reconcile.gathered import Gathered
from ticdc_consumer.cut.reconcile.gathered import merge as merge_reports
from ticdc_consumer.cut.spark import jobs as job
from ticdc_consumer.cut.spark.jobs import gather as by_spark
from ticdc_consumer.cut.spark.spilled import SpilledCut
from ticdc_consumer.source.kafka.scout import Scout
from ticdc_consumer.testing.audit import ShopTables
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Resolved, Row, RowChange
from ticdc_encoder.message import Message
from ticdc_encoder.testing.disturbance import Disturbance
from ticdc_encoder.testing.shop import TABLES, Shop

OTHERS = "CREATE TABLE `others` (`id` INT NOT NULL PRIMARY KEY, `name` VARCHAR(40))"
OTHER = table(OTHERS)
HOUR = 3_600_000 << 18


def item(number: int, id: int) -> RowChange:
    return inserted(number, {"id": id, "name": "x"})


def other(number: int, id: int) -> RowChange:
    return inserted(number, {"id": id, "name": "x"}, OTHER)


def ids(run: Command, name: str = "items") -> list[int]:
    return [id for (id,) in run.rows(f"SELECT id FROM {name} ORDER BY id")]  # noqa: S608


def caught_up(run: Command, number: int) -> None:
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, ts(number)), outcome.said


# --- several topics -------------------------------------------------------------------------------


def names(feeds: list[Feed]) -> str:
    return ",".join(feed.topic for feed in feeds)


def pattern(feeds: list[Feed]) -> str:
    return f"^{feeds[0].kafka.prefix}"


def both(feeds: list[Feed]) -> str:
    return f"{feeds[0].topic},^{feeds[0].kafka.prefix}[bc]$"


@pytest.mark.parametrize("topics", [names, pattern, both])
def test_several_topics_are_one_changefeed(
    kafka: brokers.Kafka, sqlite_url: str, command: Make, topics: Callable[[list[Feed]], str]
) -> None:
    feeds = [Feed(kafka, name=name) for name in "abc"]
    first, second, silent = feeds
    run = command(feeds, sqlite_url, kafka__topics=topics(feeds))
    first.create(10)
    second.create(11, OTHERS)
    first.send(1, item(50, 1))
    second.send(0, other(50, 1))
    first.mark(100)
    # The second topic's mark comes late: what it proves was acknowledged before the first's.
    caught_up(run, 100)
    assert (ids(run), ids(run, "others")) == ([1], [1])
    second.mark(100)
    second.send(1, other(150, 2))
    second.mark(200)
    first.send(0, item(199, 2), item(200, 3))
    caught_up(run, 200)
    assert (ids(run), ids(run, "others")) == ([1, 2], [1, 2])
    silent.send(0, item(250, 4))
    first.mark(300)
    caught_up(run, 300)
    assert (ids(run), ids(run, "others")) == ([1, 2, 3, 4], [1, 2])


@pytest.mark.parametrize("from_messages", [5_000, 0], ids=["in the driver", "by Spark"])
@pytest.mark.parametrize(("topics", "partitions"), [(1, 200), (100, 2)])
def test_many_topics_and_partitions_are_one_changefeed(
    kafka: brokers.Kafka,
    sqlite_url: str,
    command: Make,
    topics: int,
    partitions: int,
    from_messages: int,
) -> None:
    feeds = [Feed(kafka, name=f"many{n:03}", partitions=partitions) for n in range(topics)]
    of_spark = {"spark__from_messages": from_messages}
    run = command(feeds[:1], sqlite_url, kafka__topics=f"^{kafka.prefix}many", **of_spark)
    everywhere = [(feed, partition) for feed in feeds for partition in range(partitions)]
    feeds[0].create(10)
    for first in (100, 300):
        kafka.produce(
            Message(feed.topic, partition, *feed.record(event))
            for id, (feed, partition) in enumerate(everywhere)
            for event in (item(first, first + id), Resolved(ts(first + 100)))
        )
        caught_up(run, first + 100)
        assert ids(run) == list(range(100, first + len(everywhere)))
    # One row in the last of all, and nothing in the others.
    feeds[-1].send(partitions - 1, item(450, 1))
    for feed in feeds:
        feed.mark(500, 0)
    caught_up(run, 500)
    assert ids(run) == [1, *range(100, 300 + len(everywhere))]


def test_a_topic_of_another_name_is_not_read(
    kafka: brokers.Kafka, sqlite_url: str, command: Make
) -> None:
    feed, alien = Feed(kafka, name="shop_a"), Feed(kafka, name="other")
    run = command([feed], sqlite_url, kafka__topics=f"^{kafka.prefix}shop_.*")
    feed.create(10)
    feed.send(0, item(20, 1))
    alien.send_raw(0, None, b"hello")
    alien.mark(900)
    feed.mark(100)
    caught_up(run, 100)
    assert ids(run) == [1]


# --- what appears while running -------------------------------------------------------------------


def test_a_topic_that_appears_while_running_joins(
    kafka: brokers.Kafka, sqlite_url: str, command: Make
) -> None:
    feed = Feed(kafka, name="a")
    run = command([feed], sqlite_url, kafka__topics=pattern([feed]))
    feed.create(10)
    feed.send(0, item(20, 1))
    feed.mark(100)
    with run.consumer() as consumer:
        list(consumer.epochs("caught-up"))
        late = Feed(kafka, name="b", partitions=3)
        late.create(150, OTHERS)
        late.send(1, other(160, 1), other(250, 2))
        late.send(2, other(165, 3))
        feed.send(1, item(170, 2))
        feed.mark(200)
        list(consumer.epochs(ts(200)))
        assert (ids(run), ids(run, "others")) == ([1, 2], [1, 3])
        late.mark(200)
        late.mark(300)
        list(consumer.epochs(ts(300)))
    assert ids(run, "others") == [1, 2, 3]
    # And so it does for a consumer that starts later.
    later = Feed(kafka, name="c")
    later.send(0, item(350, 5))
    feed.mark(400)
    caught_up(run, 400)
    assert ids(run) == [1, 2, 5]


@pytest.mark.parametrize("running", [True, False])
def test_a_partition_that_appears_joins(
    real_kafka: brokers.Real, sqlite_url: str, command: Make, running: bool
) -> None:
    feed = Feed(real_kafka, partitions=1)
    run = command([feed], sqlite_url)
    feed.create(10)
    feed.send(0, item(20, 1))
    feed.mark(100)
    caught_up(run, 100)

    def grow() -> None:
        real_kafka.add_partitions(feed.topic, 3)
        feed.send(1, item(150, 2), item(210, 3))
        feed.send(0, item(160, 4))
        feed.mark(200, 0)

    if running:
        with run.consumer() as consumer:
            grow()
            list(consumer.epochs(ts(200)))
    else:
        grow()
        caught_up(run, 200)
    assert ids(run) == [1, 2, 4]
    feed.mark(300, 0, 1, 2)
    caught_up(run, 300)
    assert ids(run) == [1, 2, 3, 4]


def test_a_row_below_r_in_a_partition_that_joins_stops(
    kafka: brokers.Kafka, sqlite_url: str, command: Make
) -> None:
    """A listing may have missed it, unless it was sent after R was proven, by Kafka's clock."""
    feed = Feed(kafka, name="a")
    run = command([feed], sqlite_url, kafka__topics=pattern([feed]))
    feed.create(10)
    feed.mark(100)
    caught_up(run, 100)
    late = Feed(kafka, name="b")
    late.send(1, item(50, 1))
    feed.mark(200)
    outcome = run()
    assert outcome.code == 3
    assert f"a new partition holds commit_ts {ts(50)}, below the applied {ts(100)}" in outcome.said
    assert f"at {late.topic}[1] offset 0" in outcome.said
    assert (run.resolved_ts, ids(run)) == (ts(100), [])
    assert run(limits__clock_skew="0").code == 0
    assert (run.resolved_ts, ids(run)) == (ts(200), [])


def test_a_ddl_below_r_in_a_topic_that_joins_stops(
    kafka: brokers.Kafka, sqlite_url: str, command: Make
) -> None:
    feed = Feed(kafka, name="a")
    run = command([feed], sqlite_url, kafka__topics=pattern([feed]), limits__clock_skew="0")
    feed.create(10)
    feed.mark(100)
    caught_up(run, 100)
    known = Feed(kafka, name="b")
    known.create(10)
    feed.mark(200)
    caught_up(run, 200)
    unknown = Feed(kafka, name="c")
    unknown.create(50, OTHERS)
    feed.mark(300)
    outcome = run()
    assert outcome.code == 3
    assert "a new topic has a DDL of shop.others" in outcome.said
    assert run.resolved_ts == ts(200)


def test_a_partition_that_joins_must_be_whole(
    kafka: brokers.Kafka, sqlite_url: str, command: Make
) -> None:
    feed = Feed(kafka, name="a")
    run = command([feed], sqlite_url, kafka__topics=pattern([feed]))
    feed.create(10)
    feed.mark(100)
    caught_up(run, 100)
    late = Feed(kafka, name="b")
    late.send(1, item(150, 1), item(151, 2))
    kafka.delete_records(late.topic, 1, 1)
    feed.mark(200)
    outcome = run()
    assert outcome.code == 3
    assert f"{late.topic}[1] joins, but its log begins at offset 1: rows" in outcome.said
    assert run.resolved_ts == ts(100)


# --- silent, empty, backward ----------------------------------------------------------------------


def test_partitions_without_a_mark_hold_nothing_back(
    kafka: brokers.Kafka, sqlite_url: str, command: Make
) -> None:
    feed = Feed(kafka, partitions=4)
    run = command([feed], sqlite_url)
    feed.create(10)
    for round in range(1, 6):
        now = 100 * round
        feed.send(1, item(now - 50, 10 * round + 1))
        # Of the next cut already, and read again for it.
        feed.send(2, item(now + 20, 10 * round + 2), item(now - 30, 10 * round + 3))
        feed.mark(now, 0)
        caught_up(run, now)
        expected = [10 * n + k for n in range(1, round + 1) for k in (1, 2, 3)]
        assert ids(run) == [id for id in expected if id != 10 * round + 2]


@pytest.mark.parametrize("way", ["net", "transactions"])
def test_a_mark_in_any_partition_but_the_first_proves_nothing(
    kafka: brokers.Kafka, sqlite_url: str, command: Make, way: str
) -> None:
    """All marks come by in partition 0; one that is only elsewhere is yet to come there."""
    feed = Feed(kafka)
    run = command([feed], sqlite_url, target__apply=way)
    feed.create(10)
    feed.send(1, item(50, 1))
    feed.mark(100, 0)
    feed.send(1, item(150, 2))
    feed.mark(200, 1)
    caught_up(run, 100)
    assert ids(run) == [1]
    feed.mark(200, 0)
    caught_up(run, 200)
    assert ids(run) == [1, 2]


@pytest.mark.parametrize("way", ["net", "transactions"])
def test_resolved_ts_may_go_back(
    kafka: brokers.Kafka, sqlite_url: str, command: Make, way: str
) -> None:
    feed = Feed(kafka)
    run = command([feed], sqlite_url, target__apply=way)
    feed.create(10)
    first: Row = {"id": 1, "name": "one"}
    second: Row = {"id": 1, "name": "two"}
    third: Row = {"id": 1, "name": "three"}
    reached = []
    for number, changes in [
        (100, [inserted(50, first)]),
        (200, [updated(150, first, second)]),
        (90, []),
        (150, [inserted(50, first), updated(150, first, second)]),
        (300, [updated(250, second, third)]),
        (120, [inserted(50, first)]),
        (300, [updated(150, first, second), updated(250, second, third)]),
        (400, []),
    ]:
        feed.send(1, *changes)
        feed.mark(number)
        assert run().code == 0
        reached.append(run.resolved_ts - BASE)
    assert reached == [100, 200, 200, 200, 300, 300, 300, 400]
    assert run.rows("SELECT * FROM items") == [(1, "three")]
    # The same in one go.
    again = command([feed], f"{sqlite_url}2", target__apply=way)
    caught_up(again, 400)
    assert again.rows("SELECT * FROM items") == [(1, "three")]


def test_empty_topics_are_no_trouble(kafka: brokers.Kafka, sqlite_url: str, command: Make) -> None:
    feed, empty = Feed(kafka, name="a", partitions=8), Feed(kafka, name="b")
    run = command([feed, empty], sqlite_url)
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, 0)
    assert "there was nothing to apply" in outcome.said
    feed.create(10)
    feed.send(7, item(50, 1))
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (3, 0)
    assert "the topics have rows, and no resolved ts" in outcome.said
    feed.mark(100, 0)
    caught_up(run, 100)
    assert ids(run) == [1]
    feed.mark(200, 0)
    caught_up(run, 200)


@pytest.mark.parametrize("rules", ['["*.*"]', '["shop.items"]'])
def test_a_ddl_before_the_mark_of_an_earlier_cut_is_met_again(
    kafka: brokers.Kafka, sqlite_url: str, command: Make, rules: str
) -> None:
    """As after a restart of TiCDC: the DDL was sent, then the marks before it once more."""
    feed = Feed(kafka)
    run = command([feed], sqlite_url, tables__filter=rules)
    feed.mark(10)
    assert run().code == 0
    feed.ddl(150, "CREATE DATABASE `shop`", kind=1)
    feed.create(151)
    feed.mark(100)
    assert run().code == 0
    feed.send(1, item(160, 1))
    feed.mark(200)
    caught_up(run, 200)
    assert run.rows("SELECT query FROM ticdc_ddl ORDER BY commit_ts") == [
        ("CREATE DATABASE `shop`",),
        (ITEMS,),
    ]
    assert ids(run) == [1]


# --- a cut that is too large for the driver -------------------------------------------------------


@pytest.mark.parametrize("way", ["net", "transactions"])
@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
def test_a_cut_above_the_memory_budget_gives_the_same_tables(
    mock_kafka: brokers.Mock,
    spark: SparkSession,
    sqlite_url: str,
    command: Make,
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
    way: str,
) -> None:
    feed = Feed(mock_kafka, protocol, partitions=4)
    shop, disturbance = Shop(7), Disturbance(7)
    changefeed = Changefeed(
        f"kafka://{mock_kafka.bootstrap}/{feed.topic}?protocol={protocol}"
        "&partition-num=4&enable-tidb-extension=true",
        DISPATCHERS,
        new_architecture=True,
    )
    for ddl in shop.definitions():
        mock_kafka.produce(changefeed.ddl(ddl))
    mock_kafka.produce(changefeed.resolve(shop.resolve()))
    run = command([feed], sqlite_url, spark, target__apply=way, limits__memory_budget="1 KiB")
    outcome = run()
    assert outcome.code == 0, outcome.said
    sent = waves(shop)
    for _ in range(10):
        transactions, final = next(sent)
        rows = [message for one in transactions for message in changefeed.encode(one)]
        rows += changefeed.flush()
        for batch in disturbance.wave(rows, changefeed.resolve(final)):
            mock_kafka.produce(batch)
    spilled: list[bool] = []

    def gather(spark: Any, read: Any, groups: Any, spill: bool) -> Any:
        spilled.append(spill)
        return by_spark(spark, read, groups, spill)

    monkeypatch.setattr(job, "gather", gather)
    with run.consumer() as consumer:
        cuts = list(consumer.epochs("caught-up"))
        tables = ShopTables.of(consumer.options, consumer.target)
    assert [cut.resolved_ts for cut in cuts] == [final]
    assert spilled[-1]
    assert {name: tables.compare(shop, name) for name in TABLES} == {n: [] for n in TABLES}
    tables.engine.dispose()


def test_a_backlog_above_the_memory_budget_is_cut_to_fit_it(
    begin: Begin, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By bytes, from the first cut that showed how large messages are. Nothing is read twice."""
    monkeypatch.setattr("ticdc_consumer.cut.cuts.FEW", 100)
    monkeypatch.setattr("ticdc_consumer.cut.cuts.FIRST_MESSAGES", 250)
    gathers = list[Gathered]()

    def gather(spark: Any, read: Any, groups: Any, spill: int) -> Gathered:
        gathers.append(by_spark(spark, read, groups, spill))
        return gathers[-1]

    feed, run = begin(spark=spark, limits__memory_budget="128 KiB")
    feed.send(0, item(150, 3))
    feed.mark(160)
    with run.consumer() as consumer:
        list(consumer.epochs("caught-up"))  # the table is known from here on
        sent = 0
        for number in range(200, 1200, 100):
            for partition in (0, 1):
                feed.send(partition, *(item(number - 1, sent + id) for id in range(10, 110)))
                sent += 100
            feed.mark(number)
        monkeypatch.setattr(job, "gather", gather)
        cuts = list(consumer.epochs("caught-up"))
    assert len(ids(run)) == sent + 3
    assert not any(one.spilled or one.report.too_large for one in gathers)
    assert 3 < len(cuts) < 10
    assert len(gathers) == len(cuts)
    # Beside rows and marks, a cut reads again at most the mark of each partition before it.
    marks = 10 * 2
    assert sum(one.report.messages for one in gathers) <= sent + marks + 2 * len(cuts)


def test_a_cut_larger_than_what_spark_returns_is_folded_by_spark(
    begin: Begin, spark: SparkSession
) -> None:
    """As where many tasks send as much as the memory budget allows one."""
    feed, run = begin(spark=spark)
    with run.consumer() as consumer:
        feed.send(1, *(item(150, id) for id in range(3, 5003)))
        feed.mark(200)
        conf = spark.sparkContext._jsc.sc().conf()
        conf.set("spark.driver.maxResultSize", "150k")
        try:
            cuts = list(consumer.epochs("caught-up"))
        finally:
            conf.set("spark.driver.maxResultSize", "1g")
    assert (len(cuts), len(ids(run))) == (1, 5002)


@pytest.mark.parametrize("way", ["net", "transactions"])
def test_a_large_cut_of_a_new_table_leaves_sparks_disks_empty(
    begin: Begin, spark: SparkSession, way: str
) -> None:
    def held() -> set[int]:
        return set(spark.sparkContext._jsc.getPersistentRDDs().keySet())

    feed, run = begin(spark=spark, target__apply=way, limits__memory_budget="1")
    with run.consumer() as consumer:
        feed.send(1, *(item(150, id) for id in range(3, 1503)))
        feed.mark(200)
        list(consumer.epochs("caught-up"))
        before = held()
        feed.create(210, OTHERS)
        feed.send(1, other(250, 1))
        feed.mark(300)
        list(consumer.epochs("caught-up"))
    assert (len(ids(run)), ids(run, "others"), held()) == (1502, [1], before)


@pytest.mark.parametrize("way", ["net", "transactions"])
def test_a_large_cut_that_spark_lost_is_no_smaller_cut(
    begin: Begin, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """As where the executor is lost that held a part of the cut, and Kafka's log is cut off."""
    feed, run = begin(spark=spark, target__apply=way, limits__memory_budget="1", limits__retries=1)
    feed.send(1, item(150, 3), item(150, 4))
    feed.mark(200)
    before = run.contents()

    def gather(spark: Any, read: Any, groups: Any, spill: bool) -> Any:
        gathered = by_spark(spark, read, groups, spill)
        if isinstance(gathered.spilled, SpilledCut):
            gathered.spilled.chunks.unpersist(blocking=True)
            feed.kafka.delete_records(feed.topic, 1, 4)
        return gathered

    monkeypatch.setattr(job, "gather", gather)
    outcome = run()
    assert (outcome.code, run.contents()) == (1, before)
    assert "Spark could not stream the cut" in outcome.said


def test_a_large_cut_folded_in_part_is_read_again(
    begin: Begin, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a task that was run again gives other facts than some had taken already."""
    feed, run = begin(spark=spark, limits__memory_budget="1", limits__retries=1)
    feed.send(1, item(150, 3))
    feed.mark(200)
    before, tries = run.contents(), list[int]()

    def merge(reports: Any) -> Report:
        merged = merge_reports(reports)
        tries.append(merged.facts_sent)
        return replace(merged, facts_sent=merged.facts_sent + 1)

    monkeypatch.setattr(job, "merge", merge)
    outcome = run()
    assert (outcome.code, run.contents()) == (1, before)
    assert "Spark lost a part of the cut, and did not read the same again" in outcome.said
    assert [given for given in tries if given] == [1, 1]  # by Spark's fold, twice


# --- offsets that are no records ------------------------------------------------------------------


def test_a_partition_may_end_with_the_marker_of_a_transaction(
    real_kafka: brokers.Real, sqlite_url: str, command: Make
) -> None:
    feed = Feed(real_kafka)
    run = command([feed], sqlite_url)
    feed.create(10)
    producer = Producer({**real_kafka.config, "transactional.id": f"{feed.topic}-writer"})
    producer.init_transactions()

    def transaction(commit: bool, *changes: RowChange) -> None:
        producer.begin_transaction()
        for change in changes:
            key, value = feed.record(change)
            producer.produce(feed.topic, value, key, 1)
        producer.flush()
        producer.commit_transaction() if commit else producer.abort_transaction()

    transaction(True, item(50, 1))
    feed.mark(100, 0)
    caught_up(run, 100)
    assert ids(run) == [1]
    transaction(False, item(150, 2))
    transaction(True, item(160, 3))
    feed.mark(200, 0)
    caught_up(run, 200)
    transaction(False, item(250, 4))
    feed.mark(300, 0)
    caught_up(run, 300)
    feed.mark(400)
    caught_up(run, 400)
    assert ids(run) == [1, 3]


# --- the loop, left and begun again ---------------------------------------------------------------


def test_an_abandoned_loop_is_finished_before_the_next_looks_up(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, run = begin()
    feed.send(1, item(150, 3))
    feed.mark(200)
    planned, read_to, looked_up, told = Planner.plan, Scout.read_to, Event(), list[str]()

    def plan(reader: Any, *arguments: Any) -> Any:
        if told:
            looked_up.wait(1)  # never comes, unless both use the scout at once
        told.append("planned")
        return planned(reader, *arguments)

    def look_up(scout: Any, reach: int, *arguments: Any) -> None:
        if reach > ts(1000):
            looked_up.set()
            told.append("looked up")
        read_to(scout, reach, *arguments)

    monkeypatch.setattr(Planner, "plan", plan)
    monkeypatch.setattr(Scout, "read_to", look_up)
    with run.consumer() as consumer:
        next(consumer.epochs())
        assert list(consumer.epochs("caught-up")) == []
    assert told == ["planned", "planned", "looked up"]


# --- a filter that matches nothing ------------------------------------------------------------


def test_a_filter_that_lets_nothing_pass_is_told(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka)
    feed.create(10)
    feed.create(11, OTHERS)
    feed.send(0, *[item(20 + n, n) for n in range(3)], other(30, 1))
    feed.mark(100)
    mistaken = command([feed], sqlite_url, tables__filter="shopp.*")
    warning = (
        "warning: no row has passed the filter; it left out 4 rows: "
        "shop.items (3), shop.others (1); see [tables] filter\n"
    )
    found = list(check(mistaken.options()))
    assert (
        "leaves out all of the first messages, 4 rows of 2 tables: shop.items, shop.others"
    ) in [one.text for one in found if one.level == "warn"]
    assert exit_code(found) == 0
    outcome = mistaken()
    assert outcome.code == 0
    assert outcome.said.endswith(warning)
    assert ", 0 changes, 4 left out by the filter\n" in outcome.said


def test_a_filter_that_lets_some_pass_is_no_warning(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka)
    feed.create(10)
    feed.create(11, OTHERS)
    feed.send(0, *[item(20 + n, n) for n in range(3)], other(30, 1))
    feed.mark(100)
    run = command([feed], sqlite_url, tables__filter="shop.others")
    outcome = run()
    assert "warning" not in outcome.said
    assert ", 1 row written, 3 left out by the filter\n" in outcome.said
    assert ids(run, "others") == [1]
    assert [f for f in check(run.options()) if f.subject == "filter"] == []
