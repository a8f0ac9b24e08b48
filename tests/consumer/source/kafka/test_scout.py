import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import pytest
from confluent_kafka import KafkaError
from confluent_kafka import Message as KafkaMessage
from support import brokers
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import SourceAway, Stop
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source.kafka import scout as scout_of_kafka
from ticdc_consumer.source.kafka.brokers import Cluster
from ticdc_consumer.source.kafka.scout import Scout
from ticdc_consumer.waiting import until
from ticdc_encoder.message import Message

ROW = (
    b'{"id":0,"database":"w","table":"t","pkNames":["id"],"isDdl":false,"type":"INSERT","es":1,'
    b'"ts":1,"sql":"","sqlType":{"id":4},"mysqlType":{"id":"int"},"old":null,"data":[{"id":"1"}],'
    b'"_tidb":{"commitTs":1}}'
)
DDL = (
    b'{"id":0,"database":"w","table":"","pkNames":null,"isDdl":true,"type":"QUERY","es":1,"ts":1,'
    b'"sql":"CREATE DATABASE w","sqlType":null,"mysqlType":null,"data":null,"old":null,'
    b'"_tidb":{"commitTs":1}}'
)


def mark(resolved_ts: int) -> bytes:
    return (
        b'{"id":0,"database":"","table":"","pkNames":null,"isDdl":false,"type":"TIDB_WATERMARK",'
        b'"es":1,"ts":1,"sql":"","sqlType":null,"mysqlType":null,"data":null,"old":null,'
        b'"_tidb":{"watermarkTs":%d}}' % resolved_ts
    )


Follow = Callable[..., tuple[Scout, str]]


@pytest.fixture
def follow(mock_kafka: brokers.Mock) -> Iterator[Follow]:
    """A scout, and its topic, which has these messages."""
    scouts: list[Scout] = []

    def follow(*values: bytes) -> tuple[Scout, str]:
        topic = mock_kafka.create_topic("orders", 1)
        mock_kafka.produce([Message(topic, 0, None, value) for value in values])
        options = Settings(
            changefeed="c",
            protocol="canal-json",
            topics=(topic,),
            kafka={**mock_kafka.config, "log_level": "2"},
            target_url="sqlite://",
        )
        scouts.append(Scout(options, Schemas(options)))
        scouts[-1].follow({topic: 0})
        return scouts[-1], topic

    yield follow
    for each in scouts:
        each.close()


def test_rows_without_a_mark_stop_once_the_brokers_gave_all(
    follow: Follow, mock_kafka: brokers.Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scout_of_kafka, "BATCH", 1)
    scout, topic = follow(ROW, ROW, ROW)
    cluster = Cluster({**mock_kafka.config, "log_level": "2"}, (topic,))
    scout.require_marks(60.0, cluster.list)
    assert until(lambda: bool(scout.poll(0.1)) and scout.position(topic) == 1, 30, 0)
    time.sleep(0.01)
    scout.require_marks(0.001, cluster.list)  # they are silent, or slow
    assert until(lambda: bool(scout.poll(0.1)) and scout.position(topic) == 3, 30, 0)
    scout.require_marks(60.0, cluster.list)  # the last has just come
    time.sleep(0.01)
    with pytest.raises(Stop, match="rows, and no resolved ts: set enable-tidb-extension=true"):
        scout.require_marks(0.001, cluster.list)
    cluster.close()


def test_rows_without_a_mark_do_not_stop_while_a_topic_has_more(
    follow: Follow, mock_kafka: brokers.Mock
) -> None:
    scout, topic = follow(ROW)
    other = mock_kafka.create_topic("items", 1)
    mock_kafka.produce([Message(other, 0, None, ROW)])
    cluster = Cluster({**mock_kafka.config, "log_level": "2"}, (topic, other))
    scout.read_to(9, {topic: 1}, 30)
    scout._next[other] = 0  # it has not come yet
    time.sleep(0.01)
    scout.require_marks(0.001, cluster.list)
    cluster.close()


def test_a_topic_of_ddl_alone_needs_no_mark_yet(follow: Follow, mock_kafka: brokers.Mock) -> None:
    scout, topic = follow(DDL)
    cluster = Cluster({**mock_kafka.config, "log_level": "2"}, (topic,))
    scout.read_to(9, {topic: 1}, 30)
    assert [seen.ddl.query for seen in scout.ddls()] == ["CREATE DATABASE w"]
    scout.require_marks(0.0, cluster.list)
    cluster.close()


def test_the_newest_message_tells_its_time(follow: Follow) -> None:
    begin = time.time()
    scout, topic = follow(ROW, mark(7))
    assert scout.newest is None
    scout.read_to(9, {topic: 2}, 30)
    assert scout.newest is not None
    assert begin - 1 < scout.newest < time.time() + 1


def test_topics_are_read_from_where_followed_to_the_mark_in_all(
    follow: Follow, mock_kafka: brokers.Mock
) -> None:
    scout, one = follow(mark(5), mark(9))
    other = mock_kafka.create_topic("items", 1)
    mock_kafka.produce([Message(other, 0, None, mark(resolved_ts)) for resolved_ts in (6, 7, 10)])
    scout.follow({other: 1})
    scout.read_to(9, {one: 2, other: 3}, 30)
    assert {topic: top.resolved_ts for topic, top in scout.top.items()} == {one: 9, other: 10}
    found = {(each.topic, each.resolved_ts) for each in scout.marks}
    assert found == {(one, 5), (one, 9), (other, 7), (other, 10)}


def test_a_topic_needed_from_further_back_is_read_from_there(
    follow: Follow, mock_kafka: brokers.Mock
) -> None:
    scout, _ = follow()
    topic = mock_kafka.create_topic("items", 1)
    values = (ROW, DDL, mark(9), mark(11))
    mock_kafka.produce([Message(topic, 0, None, value) for value in values])
    scout.follow({topic: 3})
    scout.read_to(10, {topic: 4}, 30)
    assert not scout.ddls()
    scout.follow({topic: 1})
    assert scout.position(topic) == 1
    scout.read_to(10, {topic: 4}, 30)
    assert [(seen.offset, seen.ddl.query) for seen in scout.ddls()] == [(1, "CREATE DATABASE w")]
    scout.follow({topic: 2})
    assert scout.position(topic) == 4


def test_a_small_cut_finds_what_a_followed_topic_has_brought(
    follow: Follow,
) -> None:
    scout, topic = follow(mark(5), ROW)
    assert scout.recent.partitions == {(topic, 0)}
    scout.read_to(9, {topic: 2}, 30)
    assert [message.value() for message in scout.recent.since((topic, 0), 0)] == [mark(5), ROW]


@pytest.mark.parametrize(("far_behind", "kept"), [(1, False), (2, True)])
def test_what_no_small_cut_will_need_is_not_kept(
    follow: Follow, monkeypatch: pytest.MonkeyPatch, far_behind: int, kept: bool
) -> None:
    monkeypatch.setattr(scout_of_kafka, "BATCH", 1)
    monkeypatch.setattr(scout_of_kafka, "FAR_BEHIND", far_behind)
    scout, topic = follow(mark(5), ROW)
    scout.read_to(9, {topic: 2}, 30)
    assert scout.recent.covers((topic, 0), 0) == kept
    assert scout.recent.covers((topic, 0), 2)


@dataclass(frozen=True)
class End:
    """Stands for librdkafka's message that a partition ends at `at`."""

    name: str
    at: int

    def topic(self) -> str:
        return self.name

    def offset(self) -> int:
        return self.at

    def error(self) -> KafkaError:
        return KafkaError(KafkaError._PARTITION_EOF)


@pytest.mark.parametrize(("end", "position"), [(1, 2), (2, 2), (3, 3)])
def test_a_topic_that_ends_behind_its_last_record_is_read_whole(
    follow: Follow, end: int, position: int
) -> None:
    scout, topic = follow(mark(5), mark(9))
    scout.read_to(9, {topic: 2}, 30)
    scout._read(cast(KafkaMessage, End(topic, end)), 1 << 62)
    assert scout.position(topic) == position


def test_a_scout_that_is_closed_asks_the_brokers_no_more(follow: Follow) -> None:
    scout, _ = follow(ROW)
    scout.close()
    with pytest.raises(RuntimeError, match="closed"):
        scout.poll(0)


@pytest.mark.parametrize("key", [None, b"key"])
def test_a_mark_has_the_checksum_of_its_message(
    follow: Follow, mock_kafka: brokers.Mock, key: bytes | None
) -> None:
    scout, topic = follow()
    mock_kafka.produce([Message(topic, 0, key, mark(7))])
    scout.read_to(7, {topic: 1}, 30)
    assert scout.top[topic].crc == zlib.crc32((key or b"") + mark(7))


def test_a_topic_is_read_no_further_than_the_mark(
    follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scout_of_kafka, "BATCH", 1)
    scout, topic = follow(mark(5), mark(9), mark(10))
    scout.read_to(9, {topic: 3}, 30)
    assert scout.position(topic) == 2


def test_a_resolved_ts_that_repeats_or_goes_back_is_no_new_mark(follow: Follow) -> None:
    scout, topic = follow(mark(7), mark(7), mark(5), mark(9))
    scout.read_to(1 << 60, {topic: 4}, 30)
    assert [(each.resolved_ts, each.offset) for each in scout.marks] == [(7, 0), (9, 3)]
    assert (scout.top[topic].offset, scout.regressions) == (3, 1)


def test_a_fault_of_ours_stops_with_the_place_of_its_message(
    follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    scout, topic = follow(ROW)

    def divide(key: bytes | None, value: bytes | None) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(scout, "_decode", divide)
    with pytest.raises(Stop, match="ZeroDivisionError") as stop:
        scout.read_to(9, {topic: 1}, 30)
    assert f"at {topic}[0] offset 0" in stop.value.__notes__


@pytest.mark.parametrize(("silence", "away"), [(6.0, False), (11.0, True)])
def test_brokers_are_away_when_nothing_comes_for_so_long(
    follow: Follow, monkeypatch: pytest.MonkeyPatch, silence: float, away: bool
) -> None:
    scout, topic = follow()
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def poll(wait: float) -> int:
        clock[0] += silence
        scout._next[topic] += (came := int(clock[0] / silence) % 2)
        return came

    monkeypatch.setattr(scout, "poll", poll)
    if away:
        with pytest.raises(SourceAway, match="sent nothing for 10 s"):
            scout.read_to(9, {topic: 3}, 10)
    else:
        scout.read_to(9, {topic: 3}, 10)
