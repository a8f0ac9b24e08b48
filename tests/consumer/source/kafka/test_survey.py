from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, cast

import pyarrow as pa
import pytest
from confluent_kafka import Message as KafkaMessage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import brokers
from support.local_spark import LocalSpark
from support.torture_topics import ITEMS, Feed, inserted, ts
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.spark import jobs
from ticdc_consumer.errors import Retry, SourceAway
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source import RunSurvey, Survey
from ticdc_consumer.source.kafka import scout as scout_of_kafka
from ticdc_consumer.source.kafka import survey as survey_of_kafka
from ticdc_consumer.source.kafka import tasks
from ticdc_consumer.source.kafka.client import Polled, consume
from ticdc_consumer.source.kafka.scout import Scout
from ticdc_consumer.source.kafka.survey import COLUMNS, Candidate, KafkaSurvey, Surveyed, surveyed
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Ddl, Resolved

Open = Callable[..., Scout]
EVERYTHING = 1 << 62
NAMES = count()
PATIENCE = 30.0


class Tasks:
    """Looks by so many tasks of this process; `looks` is how often."""

    def __init__(self, number: int) -> None:
        self.looks = 0
        self._spark = LocalSpark(number)

    def __call__(self) -> RunSurvey:
        return self.look

    def look(self, survey: Survey) -> pa.Table:
        self.looks += 1
        return jobs.look(cast(Any, self._spark), survey)


def options_of(feed: Feed) -> Settings:
    return Settings(
        changefeed="c",
        protocol=feed.protocol,
        topics=(feed.topic,),
        kafka={**feed.kafka.config, "log_level": "2"},
        target_url="sqlite://",
    )


def whole_batch(consumer: Polled, size: int, wait: float) -> list[KafkaMessage]:
    """As many as there are: how many of them come at a time is librdkafka's affair."""
    messages = consume(consumer, size, wait)
    while messages and len(messages) < size and not messages[-1].error():
        messages += consume(consumer, size - len(messages), PATIENCE)
    return messages


@pytest.fixture
def open_scout(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """A scout at the beginning of a feed, for which few messages are many."""
    for name, limit in (("BATCH", 4), ("FAR_BEHIND", 4), ("FAR", 4), ("FARTHEST", 20)):
        monkeypatch.setattr(scout_of_kafka, name, limit)
    monkeypatch.setattr(scout_of_kafka, "consume", whole_batch)
    monkeypatch.setattr(survey_of_kafka, "BATCH", 5)
    monkeypatch.setattr(tasks, "_consumers", {})
    scouts: list[Scout] = []

    def open_scout(feed: Feed, surveys: Callable[[], RunSurvey | None] = lambda: None) -> Scout:
        options = options_of(feed)
        scouts.append(Scout(options, Schemas(options), surveys))
        scouts[-1].follow({feed.topic: 0})
        return scouts[-1]

    yield open_scout
    for each in scouts:
        each.close()


def seen(scout: Scout) -> Any:
    return scout.marks, scout.top, scout.ddls(), scout.regressions, scout.newest, scout._next


Steps = list[str | int]


def send(feed: Feed, steps: Steps) -> int:
    """Rows ("row"), DDL ("ddl") and resolved ts (their numbers); how many messages that is."""
    events: list[Any] = []
    for number, step in enumerate(steps, 100):
        match step:
            case "row":
                events.append(inserted(number, {"id": number, "name": "x"}))
            case "ddl":
                query = ITEMS.replace("items", f"t{number}")
                events.append(Ddl("shop", f"t{number}", query, ts(number)))
            case int():
                events.append(Resolved(ts(step)))
    feed.send(0, *events)
    return len(events)


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol", "debezium"])
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.sampled_from(["row", "row", "row", "ddl", 90, 150, 200, 210]), max_size=60),
    st.integers(1, 5),
)
def test_tasks_find_the_marks_and_ddl_that_the_driver_does(
    mock_kafka: brokers.Mock, open_scout: Open, protocol: str, steps: Steps, number: int
) -> None:
    feed = Feed(mock_kafka, protocol, name=f"feed{next(NAMES)}", partitions=1)
    size = send(feed, [50, *steps])
    by_itself, by_tasks = open_scout(feed), open_scout(feed, Tasks(number))
    for scout in (by_itself, by_tasks):
        scout.read_to(EVERYTHING, {feed.topic: size}, PATIENCE)
    assert seen(by_tasks) == seen(by_itself)


def test_rows_far_ahead_do_not_come_through_the_driver(
    mock_kafka: brokers.Mock, open_scout: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = Feed(mock_kafka, partitions=1)
    size = send(feed, [50, *["row"] * 59, 200])
    looks = Tasks(2)
    scout = open_scout(feed, looks)
    read: list[KafkaMessage] = []
    by_client = scout._read

    def noted(message: KafkaMessage, latest: int) -> None:
        read.append(message)
        by_client(message, latest)

    monkeypatch.setattr(scout, "_read", noted)
    scout.read_to(ts(200), {feed.topic: size}, PATIENCE)
    assert scout.position(feed.topic) == 61 and scout.top[feed.topic].offset == 60
    assert looks.looks == 3 and len(read) == 4


@pytest.mark.parametrize(("ahead", "is_far"), [(3, False), (4, True)])
def test_so_many_offsets_are_far_ahead(
    mock_kafka: brokers.Mock, open_scout: Open, ahead: int, is_far: bool
) -> None:
    feed = Feed(mock_kafka, partitions=1)
    size = send(feed, [50, *["row"] * 9])
    scout = open_scout(feed)
    scout.read_to(EVERYTHING, {feed.topic: size}, PATIENCE)
    scout._next[feed.topic] = size - ahead
    assert scout._far() == ({feed.topic: (size - ahead, size)} if is_far else {})


def test_what_comes_after_is_read_by_the_driver_again(
    mock_kafka: brokers.Mock, open_scout: Open
) -> None:
    feed = Feed(mock_kafka, partitions=1)
    size = send(feed, [50, *["row"] * 9, 200])
    looks = Tasks(2)
    scout = open_scout(feed, looks)
    scout.read_to(ts(200), {feed.topic: size}, PATIENCE)
    assert scout.poll(PATIENCE) == 1  # the end
    size += send(feed, ["row", 300])
    scout.read_to(ts(300), {feed.topic: size}, PATIENCE)
    assert looks.looks == 1 and scout.top[feed.topic].resolved_ts == ts(300)
    kept = scout.recent.since((feed.topic, 0), 11)
    assert [message.offset() for message in kept] == [11, 12]


def test_a_topic_without_a_mark_is_left_to_the_driver(
    mock_kafka: brokers.Mock, open_scout: Open
) -> None:
    feed = Feed(mock_kafka, partitions=1)
    size = send(feed, ["row"] * 30)
    looks = Tasks(2)
    scout = open_scout(feed, looks)
    scout.read_to(EVERYTHING, {feed.topic: size}, PATIENCE)
    assert looks.looks == 0


def test_as_long_as_spark_starts_the_driver_reads(
    mock_kafka: brokers.Mock, open_scout: Open
) -> None:
    feed = Feed(mock_kafka, partitions=1)
    size = send(feed, [50, *["row"] * 30, 200])
    scout = open_scout(feed, lambda: None)
    scout.read_to(EVERYTHING, {feed.topic: size}, PATIENCE)
    assert scout.top[feed.topic].resolved_ts == ts(200)


@pytest.mark.parametrize("number", [1, 3])
def test_a_message_that_cannot_be_read_is_named_with_its_place(
    mock_kafka: brokers.Mock, open_scout: Open, number: int
) -> None:
    feed = Feed(mock_kafka, partitions=1)
    size = send(feed, [50, *["row"] * 9])
    feed.send_raw(0, None, b"{no json, TIDB_WATERMARK")
    size += 1 + send(feed, ["row"] * 9)
    scout = open_scout(feed, Tasks(number))
    with pytest.raises(WireError) as caught:
        scout.read_to(EVERYTHING, {feed.topic: size}, PATIENCE)
    assert f"{feed.topic}[0] offset 10" in "".join(caught.value.__notes__) + str(caught.value)


def test_what_no_task_can_look_at_is_named_by_the_driver(
    mock_kafka: brokers.Mock, open_scout: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(key: bytes | None, value: bytes | None) -> bool:
        raise ValueError("odd")

    feed = Feed(mock_kafka, partitions=1)
    size = send(feed, [50, *["row"] * 20, 200])
    scout = open_scout(feed, Tasks(2))
    monkeypatch.setattr(survey_of_kafka, "control_test", lambda options: fails)
    scout.read_to(EVERYTHING, {feed.topic: size}, PATIENCE)
    assert [each.resolved_ts for each in scout.marks] == [ts(50), ts(200)]


def test_where_tasks_get_nothing_the_driver_goes_on_itself(
    mock_kafka: brokers.Mock, open_scout: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> Iterator[Any]:
        raise SourceAway("no answer")

    feed = Feed(mock_kafka, partitions=1)
    size = send(feed, [50, *["row"] * 40, 200])
    looks = Tasks(2)
    scout = open_scout(feed, looks)
    monkeypatch.setattr(tasks, "messages", refused)
    scout.read_to(EVERYTHING, {feed.topic: size}, PATIENCE)
    assert [each.resolved_ts for each in scout.marks] == [ts(50), ts(200)]
    assert looks.looks == 1


def test_where_spark_fails_the_driver_continues_by_itself(
    mock_kafka: brokers.Mock, open_scout: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[Survey] = []

    def fails(survey: Survey) -> pa.Table:
        failed.append(survey)
        raise Retry("an executor is gone")

    feed = Feed(mock_kafka, partitions=1)
    size = send(feed, [50, *["row"] * 40, 200])
    scout = open_scout(feed, lambda: fails)
    scout.read_to(EVERYTHING, {feed.topic: size}, PATIENCE)
    assert [each.resolved_ts for each in scout.marks] == [ts(50), ts(200)]
    assert len(failed) == 1
    monkeypatch.setattr(scout, "_looks_from", 0.0)
    size += send(feed, ["row"] * 20)
    scout.read_to(EVERYTHING, {feed.topic: size}, PATIENCE)
    assert len(failed) == 2


def test_the_driver_names_a_log_that_is_cut_off_ahead_of_tasks(
    mock_kafka: brokers.Mock, open_scout: Open
) -> None:
    feed = Feed(mock_kafka, partitions=1)
    send(feed, [50, *["row"] * 40, 200])
    survey = KafkaSurvey(options_of(feed).kafka, options_of(feed), {feed.topic: (5, 30)})
    feed.kafka.delete_records(feed.topic, 0, 20)
    found = surveyed(survey.spans, Tasks(5).look(survey))
    assert found == {feed.topic: Surveyed(5, 0, [])}


def test_a_survey_is_divided_without_a_gap() -> None:
    options = cast(Any, None)
    survey = KafkaSurvey({}, options, {"a": (10, 17), "b": (3, 4)})
    assert [part.spans for part in survey.parts(3)] == [
        {"a": (10, 12), "b": (3, 3)},
        {"a": (12, 14), "b": (3, 3)},
        {"a": (14, 17), "b": (3, 4)},
    ]


SPANS = {"a": (10, 20)}
FIRST, SECOND = Candidate("a", 15, 7, start=10), Candidate("a", 20, 9, start=15)
EARLY, LATE = Candidate("a", 12, 5, None, b"early"), Candidate("a", 17, 8, b"key", b"late")


@pytest.mark.parametrize(
    ("found", "together"),
    [
        ([EARLY, FIRST, LATE, SECOND], Surveyed(20, 9, [EARLY, LATE])),
        ([LATE, SECOND, EARLY, FIRST], Surveyed(20, 9, [EARLY, LATE])),
        # The second task was refused at once, or half-way.
        ([EARLY, FIRST, Candidate("a", 15, 0, start=15)], Surveyed(15, 7, [EARLY])),
        ([EARLY, FIRST, LATE, Candidate("a", 18, 8, start=15)], Surveyed(18, 8, [EARLY, LATE])),
        # What the first one lacks, nobody may go past.
        ([EARLY, Candidate("a", 13, 5, start=10), LATE, SECOND], Surveyed(13, 5, [EARLY])),
        ([Candidate("a", 10, 0, start=10), LATE, SECOND], Surveyed(10, 0, [])),
        ([], Surveyed(10, 0, [])),
    ],
)
def test_what_tasks_found_counts_up_to_the_first_unread_offset(
    found: list[Candidate], together: Surveyed
) -> None:
    rows = [each._asdict() for each in found]
    assert surveyed(SPANS, pa.Table.from_pylist(rows, COLUMNS)) == {"a": together}
