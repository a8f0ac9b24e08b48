"""Topics that lost something, or are not what they were: refused, never skipped."""

import signal
from typing import Any

import pytest
from support import brokers
from support.torture_cli import Begin, Command, Make, ended_by, refuses
from support.torture_topics import Feed, inserted, ts
from ticdc_consumer import api
from ticdc_consumer.source.kafka.brokers import Cluster
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_encoder.event import Row

THREE: Row = {"id": 3, "name": "three"}


@pytest.fixture
def begun(kafka: brokers.Kafka, sqlite_url: str, command: Make) -> tuple[Feed, Command]:
    """As `begin`, on the mock broker and on the real one."""
    feed = Feed(kafka)
    feed.create(10)
    feed.send(0, inserted(20, {"id": 1, "name": "one"}))
    feed.send(1, inserted(20, {"id": 2, "name": "two"}))
    feed.mark(100)
    run = command([feed], sqlite_url)
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, ts(100)), outcome.said
    return feed, run


# --- retention ------------------------------------------------------------------------------------


@pytest.mark.parametrize("partition", [0, 1])
def test_a_retention_gap_is_refused_at_the_start(
    begun: tuple[Feed, Command], partition: int
) -> None:
    feed, run = begun
    feed.send(partition, inserted(150, THREE))
    feed.mark(200)
    end = 3 - partition
    feed.kafka.delete_records(feed.topic, partition, end + 1)
    refuses(
        run,
        f"{feed.topic}[{partition}] begins at offset {end + 1}, but the next cut begins at {end}: "
        f"retention has cut off what was not applied; R is {ts(100)}",
        "ticdc-consumer forget CONFIG, then ticdc-consumer load CONFIG --replace",
    )


def test_what_retention_takes_of_the_applied_is_no_gap(begun: tuple[Feed, Command]) -> None:
    feed, run = begun
    feed.send(1, inserted(150, THREE))
    feed.mark(200)
    for partition in (0, 1):
        feed.kafka.delete_records(feed.topic, partition, 3 - partition)
    assert run().code == 0
    assert (run.resolved_ts, run.rows("SELECT count(*) FROM items")) == (ts(200), [(3,)])


@pytest.mark.parametrize("partition", [0, 1])
def test_a_retention_gap_is_refused_while_running(
    begun: tuple[Feed, Command], partition: int
) -> None:
    feed, run = begun
    before = run.contents()
    with run.consumer() as consumer:
        feed.send(partition, *[inserted(150, {"id": n, "name": "n"}) for n in range(10, 20)])
        feed.mark(200)
        feed.kafka.delete_records(feed.topic, partition, 8)
        end = ended_by(consumer.epochs("caught-up"))
    assert end.code == 3
    assert f"{feed.topic}[{partition}] no longer holds offset {3 - partition}" in end.said
    assert "the log was cut by retention or truncated" in end.said
    assert run.contents() == before


def test_a_first_start_needs_the_whole_log(
    kafka: brokers.Kafka, sqlite_url: str, command: Make
) -> None:
    feed = Feed(kafka)
    feed.create(10)
    feed.send(1, inserted(20, {"id": 1, "name": "one"}))
    feed.mark(100)
    kafka.delete_records(feed.topic, 1, 1)
    run = command([feed], sqlite_url)
    outcome = run()
    assert outcome.code == 3
    words = f"{feed.topic}[1] begins at offset 1: the log is incomplete; load all tables by"
    assert words in outcome.said
    assert run.rows("SELECT * FROM ticdc_checkpoint") == []


# --- brokers that go ------------------------------------------------------------------------------


def test_brokers_that_are_gone_are_told_once_and_waited_for(
    begin: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    feed, run = begin()
    with run.consumer() as consumer:
        caplog.clear()  # of the first run
        assert isinstance(feed.kafka, brokers.Mock)
        feed.kafka.close()
        while not caplog.records:
            assert consumer._epochs.next(None, 0.2) is None
        assert consumer._epochs.next(None, 1.0) is None
    (told,) = caplog.records
    assert told.getMessage().startswith("Kafka: ")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_at_start_ends_the_run_before_its_first_cut(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    feed, run = begin()
    feed.send(0, inserted(150, THREE))
    feed.mark(200)

    def opened(url: str, **settings: Any) -> Target:
        signal.raise_signal(signal.Signals[name])
        return open_target(url, **settings)

    monkeypatch.setattr("ticdc_consumer.cut.opening.open_target", opened)
    outcome = run()
    assert outcome.code == 0
    assert outcome.said == f"stopped by {name}: nothing was applied\n"
    assert run.resolved_ts == ts(100)


# --- compaction -----------------------------------------------------------------------------------


def test_a_compacted_topic_is_refused_before_anything_is_read(
    real_kafka: brokers.Real, sqlite_url: str, command: Make
) -> None:
    """Rows of one table and commit_ts have the same key in Open Protocol: all but one may go."""
    feed = Feed(real_kafka, "open-protocol", partitions=0)
    feed.topic = real_kafka.create_topic(feed.name, 2, **{"cleanup.policy": "compact"})
    feed.partitions = 2
    feed.create(10)
    feed.send(0, inserted(20, {"id": 1, "name": "one"}), inserted(20, {"id": 2, "name": "two"}))
    feed.mark(100)
    run = command([feed], sqlite_url)
    outcome = run()
    assert outcome.code == 3
    assert f"topic {feed.topic} is compacted, which deletes changes" in outcome.said
    assert run.rows("SELECT * FROM ticdc_checkpoint") == []


# --- other topics under the same name -------------------------------------------------------------


def again(feed: Feed, rows: int) -> None:
    """The topic is deleted, and created with other messages."""
    feed.kafka.delete_topic(feed.topic)
    feed.kafka.create_topic(feed.name, feed.partitions)
    feed.send(0, *[inserted(130, {"id": n, "name": "n"}) for n in range(10, 10 + rows)])
    feed.send(1, *[inserted(130, {"id": n, "name": "n"}) for n in range(50, 50 + rows)])
    feed.mark(200)


@pytest.mark.parametrize("rows", [0, 5], ids=["shorter", "longer"])
def test_a_topic_that_was_created_again_is_refused(begun: tuple[Feed, Command], rows: int) -> None:
    feed, run = begun
    again(feed, rows)
    refuses(
        run, f"topic {feed.topic} was deleted and recreated: its old offsets are no longer valid"
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (0, "[0] ends at offset 1, but the next cut begins at 3: its log was truncated"),
        (5, "[0] offset 2 is not the resolved message that was read there"),
    ],
    ids=["shorter", "longer"],
)
def test_a_recreated_topic_is_refused_where_topics_have_no_ids(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, rows: int, words: str
) -> None:
    """As brokers before Kafka 2.8: the last mark that was read tells."""
    monkeypatch.setattr(Cluster, "ask_ids", lambda _, topics: lambda: dict.fromkeys(topics, ""))
    feed, run = begin()
    again(feed, rows)
    refuses(run, f"{feed.topic}{words}")


@pytest.mark.parametrize("rows", [0, 5], ids=["shorter", "longer"])
def test_a_topic_that_is_created_again_while_running_is_refused(
    begun: tuple[Feed, Command], rows: int
) -> None:
    feed, run = begun
    before = run.contents()
    with run.consumer() as consumer:
        again(feed, rows)
        end = ended_by(consumer.epochs(ts(300)))
    assert end.code == 3
    assert "deleted and recreated" in end.said
    assert run.contents() == before


def test_a_topic_that_is_deleted_is_refused(
    begun: tuple[Feed, Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, run = begun
    monkeypatch.setattr("ticdc_consumer.cut.opening.PATIENCE", 1.0)
    feed.kafka.delete_topic(feed.topic)
    refuses(run, f"topic {feed.topic} does not exist")


# --- settings that give R its meaning -------------------------------------------------------------

FROM = f"ticdc-consumer run CONFIG --from-ts {ts(100) - 1}"
ANEW = "load all tables again: ticdc-consumer forget CONFIG, then ticdc-consumer load CONFIG"
SCOPE = [
    ("kafka__topics", None, '"topics" was', FROM),
    ("tables__filter", '["shop.*"]', 'filter was ["*.*"] and is ["shop.*"]', FROM),
    ("tables__route", '{"shop.*" = "x.{table}"}', 'route was [] and is [["shop.*",', FROM),
    ("protocol", "open-protocol", 'protocol was "canal-json" and is "open-protocol"', FROM),
    ("source__time_zone", "Asia/Shanghai", 'time_zone was "UTC" and is "Asia/', ANEW),
    ("tables__case_sensitive", "true", "case_sensitive was false and is true", FROM),
]


@pytest.mark.parametrize(("name", "value", "words", "way"), SCOPE, ids=[case[0] for case in SCOPE])
def test_another_scope_is_refused(
    begin: Begin, name: str, value: str | None, words: str, way: str
) -> None:
    feed, run = begin()
    more = Feed(feed.kafka, name="more")
    if value is None:
        value, words = f"{feed.topic},{more.topic}", f'topics was ["{feed.topic}"] and is ['
    feed.send(0, inserted(150, THREE))
    feed.mark(200)
    refuses(
        run,
        f"the checkpoint of changefeed proof at R = {ts(100)} was reached with other settings",
        words,
        way,
        **{name: value},
    )
    assert run().code == 0
    assert run.resolved_ts == ts(200)


@pytest.mark.parametrize("way", ["run", "plan first"])
def test_a_first_start_may_be_corrected_before_the_first_cut(
    kafka: brokers.Kafka, sqlite_url: str, command: Make, way: str
) -> None:
    feed = Feed(kafka)
    feed.create(10)
    feed.send(1, inserted(20, THREE))
    feed.mark(100)
    run = command([feed], sqlite_url)
    wrong = run(protocol="open-protocol", tables__filter='["shop.itmes"]')
    assert (wrong.code, run.resolved_ts) == (3, 0)
    if way == "plan first":
        assert [cut.resolved_ts for cut in api.plan(run.options())] == [ts(11), ts(100)]
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, ts(100)), outcome.said
    assert run.rows("SELECT * FROM items") == [(3, "three")]
    refuses(run, 'protocol was "canal-json" and is "open-protocol"', protocol="open-protocol")
