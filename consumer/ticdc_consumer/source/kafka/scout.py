"""Follows partition 0 of every topic, to which all marks and all DDL are sent."""

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import Message as KafkaMessage
from confluent_kafka import TopicPartition as KafkaTopicPartition
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl, Resolved
from ticdc_encoder.formats.registry import RegistryError

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Retry, SourceAway, Stop, Unavailable, fault
from ticdc_consumer.protocols import control_test, decoder, for_tasks, protocol_of
from ticdc_consumer.protocols.protocol import check_ts, every_record, latest_sane, located
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source import RunSurvey
from ticdc_consumer.source.kafka.client import Failures, consume, consume_error, consumer_settings
from ticdc_consumer.source.kafka.recent import MOST_BYTES, Recent
from ticdc_consumer.source.kafka.survey import KafkaSurvey, Surveyed, surveyed
from ticdc_consumer.source.listing import Listing
from ticdc_consumer.source.marks import DdlIdentity, Mark, SeenDdl, TopicPartition
from ticdc_consumer.waiting import Deadline

BATCH = 10_000
"""Most messages that one poll takes."""
FAR_BEHIND = 3_000
"""Messages of one poll from which on no small cut will need them."""
FAR = 100_000
"""Offsets ahead in a topic's partition 0 from which Spark's tasks search them."""
FARTHEST = 1_000_000
"""Offsets of a topic that tasks search at a time."""
AFTER_FAILURE = 60.0
"""Seconds for which tasks are not asked again after they read nothing."""


class Scout:
    """Keeps the marks and DDL that it has read, and its position, which may run ahead of the
    applied R, since Kafka's log is the buffer. It adds the schemas that it reads to `schemas`.
    Up to a topic's first mark it decodes rows, too: a topic without commit_ts may never have a
    mark."""

    def __init__(
        self,
        options: Settings,
        schemas: Schemas,
        surveys: Callable[[], RunSurvey | None] = lambda: None,
    ) -> None:
        """`surveys` returns a way to have Spark's tasks search far ahead, if there is one now."""
        self._surveys = surveys if _tells_rows(options) else (lambda: None)
        self._options = options
        self._schemas = schemas
        self._decode = decoder(options, schemas.tables)
        self._may_be_control = control_test(options)
        group = options.kafka.get("group.id", f"ticdc-{options.changefeed}")
        self._failures = Failures(warns=True)
        self._consumer = Consumer(
            {
                **consumer_settings(options.kafka),
                "group.id": group,
                "error_cb": self._failures,
            }
        )
        self._begun: dict[str, int] = {}
        self._next: dict[str, int] = {}
        self.recent = Recent(MOST_BYTES)
        """The messages that a small cut is read from, including rows."""
        self.marks: list[Mark] = []
        self.top: dict[str, Mark] = {}
        self._ddls: dict[DdlIdentity, SeenDdl] = {}
        self.regressions = 0
        self._rows = False
        self._is_behind = False
        self._looks_from = 0.0
        self.newest: float | None = None
        """Kafka's time of the newest message, in seconds."""
        self._last_record = time.monotonic()

    def close(self) -> None:
        self._consumer.close()

    @property
    def trouble(self) -> Unavailable | None:
        """librdkafka's failure since the last message."""
        return self._failures.trouble

    def follow(self, starts: Mapping[str, int]) -> None:
        """Adds topics, each from an offset of its partition 0. One that was begun after that offset
        is read again from there, for a table that was released."""
        for topic, offset in starts.items():
            begun = self._begun.get(topic)
            if begun is None or offset < begun:
                if begun is not None:
                    self._consumer.incremental_unassign([KafkaTopicPartition(topic, 0)])
                    self.top.pop(topic, None)  # nothing is known of the offsets before its mark
                self._begun[topic] = self._next[topic] = offset
                self.recent.begin((topic, 0), offset)
                self._consumer.incremental_assign([KafkaTopicPartition(topic, 0, offset)])

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Writes the group's offsets, without waiting."""
        self._consumer.commit(
            offsets=[KafkaTopicPartition(*name, offset) for name, offset in offsets.items()],
            asynchronous=True,
        )

    def position(self, topic: str) -> int:
        """The offset after the last record read of the topic's partition 0."""
        return self._next[topic]

    def ddls(self) -> list[SeenDdl]:
        return list(self._ddls.values())

    def forget(self, applied: int) -> None:
        """Drops everything below `applied`, whose replays mean nothing."""
        self.marks = [mark for mark in self.marks if mark.resolved_ts > applied]
        for identity in [i for i, seen in self._ddls.items() if seen.ddl.commit_ts < applied]:
            del self._ddls[identity]

    def poll(self, wait: float) -> int:
        """Reads new messages, at most a batch, waiting up to `wait` seconds for the first. Spark's
        tasks search what is far ahead, if they can. Returns the number of messages, or of the
        offsets that tasks have read."""
        if self._is_behind and (far := self._look_far()):
            return far
        messages = consume(self._consumer, BATCH, wait)
        latest = latest_sane(self._options)
        if len(messages) < FAR_BEHIND:
            self.recent.add(messages)
        for message in messages:
            self._read(message, latest)
        self._is_behind = len(messages) >= FAR_BEHIND
        if self._is_behind:
            for topic, offset in self._next.items():
                self.recent.begin((topic, 0), offset)
        if messages:
            times = (m.timestamp()[1] for m in reversed(messages) if m.error() is None)
            self._has_come(next(times, 0))
        return len(messages)

    def _has_come(self, newest: int) -> None:
        """Records that messages arrived; `newest` is the time of the newest in ms, 0 if unknown."""
        self._failures.forget()
        self._last_record = time.monotonic()
        if newest:
            self.newest = newest / 1000

    def _look_far(self) -> int:
        """Has tasks search what is far ahead. Returns the number of offsets; 0 if nothing is, or
        tasks cannot now."""
        look = self._surveys() if time.monotonic() >= self._looks_from else None
        far = self._far() if look is not None else {}
        if look is None or not far:
            return 0
        survey = KafkaSurvey(self._options.kafka, for_tasks(self._options), far)
        read = 0
        # This client reads what tasks cannot.
        with self._fetching_from_next(far), suppress(Retry):
            results = surveyed(far, look(survey))
            read = sum(self._take(topic, result) for topic, result in results.items())
        if not read:
            self._looks_from = time.monotonic() + AFTER_FAILURE
        return read

    def _far(self) -> dict[str, tuple[int, int]]:
        """The offsets far ahead, by topic, of topics that have shown a mark."""
        far = {}
        for topic in self.top:
            start, partition = self._next[topic], KafkaTopicPartition(topic, 0)
            _, end = self._consumer.get_watermark_offsets(partition, cached=True)
            if end - start >= FAR:
                far[topic] = (start, min(end, start + FARTHEST))
        return far

    @contextmanager
    def _fetching_from_next(self, topics: Iterable[str]) -> Iterator[None]:
        """Keeps the client from fetching these topics inside; then it continues from their new
        positions."""
        self._consumer.incremental_unassign([KafkaTopicPartition(topic, 0) for topic in topics])
        try:
            yield
        finally:
            nexts = [KafkaTopicPartition(topic, 0, self._next[topic]) for topic in topics]
            self._consumer.incremental_assign(nexts)
            for topic in topics:
                self.recent.begin((topic, 0), self._next[topic])

    def _take(self, topic: str, result: Surveyed) -> int:
        """Takes the results of tasks. Returns the number of offsets that they read."""
        latest, start = latest_sane(self._options), self._next[topic]
        for each in result.messages:
            self._take_message(topic, each.offset, each.time, each.key, each.value, latest)
        self._next[topic] = max(self._next[topic], result.end)
        if result.end > start:
            self._has_come(result.time)
        return result.end - start

    def require_marks(self, silence: float, list_topics: Callable[[], Listing]) -> None:
        """Raises `Stop` if any partition has rows, no topic has a resolved ts, and nothing came for
        `silence` seconds: TiCDC sends one every second. Waits for brokers that have more, but do
        not send it."""
        if self.top or time.monotonic() - self._last_record < silence:
            return
        ends = list_topics().ends
        behind = any(position < ends.get((topic, 0), 0) for topic, position in self._next.items())
        if silence and behind:
            return
        if not self._rows and not any(end > 0 for (_, number), end in ends.items() if number > 0):
            return
        setting = protocol_of(self._options).needs_for_marks
        raise Stop(
            "the topics have rows, and no resolved ts: "
            + (f"set {setting} in the changefeed's sink URI" if setting else "is it the protocol?")
            + " (a changefeed that has just begun sends its first within seconds)"
        )

    def read_to(self, reach: int, ends: Mapping[str, int], patience: float) -> None:
        """Reads partition 0 of every topic in `ends` to a mark >= `reach` or to its end.

        Raises `Unavailable` if the brokers send nothing for `patience` seconds.
        """
        deadline = Deadline(patience)
        while any(
            position < ends[topic] and not self._reached(topic, reach)
            for topic, position in self._next.items()
            if topic in ends
        ):
            if self.poll(0.05):
                deadline.renew()
            elif deadline.passed:
                raise SourceAway(f"the brokers sent nothing for {patience:.0f} s")

    def _reached(self, topic: str, reach: int) -> bool:
        top = self.top.get(topic)
        return top is not None and top.resolved_ts >= reach

    def _read(self, message: KafkaMessage, latest: int) -> None:
        topic, offset = str(message.topic()), int(message.offset() or 0)
        if refusal := message.error():
            if refusal.code() == KafkaError._PARTITION_EOF:
                self._next[topic] = max(self._next[topic], offset)
                return
            if problem := consume_error(refusal, topic, 0, self._next.get(topic, offset)):
                raise problem
            return
        if offset < self._next[topic]:
            return
        stamp = int(message.timestamp()[1])
        self._take_message(topic, offset, stamp, message.key(), message.value(), latest)

    def _take_message(
        self,
        topic: str,
        offset: int,
        time: int,
        key: bytes | None,
        value: bytes | None,
        latest: int,
    ) -> None:
        self._next[topic] = offset + 1
        try:
            if topic in self.top and not self._may_be_control(key, value):
                return
            events = self._decode(key, value)
            self._schemas.learn(self._decode.new_schemas())
            for event in events:
                match event:
                    case Resolved(resolved_ts):
                        check_ts(event, latest)
                        crc = zlib.crc32((key or b"") + (value or b""))
                        self._mark(Mark(resolved_ts, offset, topic, time, crc))
                    case Ddl():
                        check_ts(event, latest)
                        seen = SeenDdl(event, topic, offset)
                        self._ddls.setdefault(seen.identity, seen)
                    case _:
                        self._rows = True
            # Rows are read by the tasks.
            self._decode.unread()
        except RegistryError as error:
            raise Unavailable(str(error)) from error
        except TicdcError as error:
            if error.table is None:
                raise located(error, topic, 0, offset) from None
            self._rows = True  # of one table: the task that reads it decides
        except Exception as error:
            raise located(fault(error), topic, 0, offset) from error

    def _mark(self, mark: Mark) -> None:
        top = self.top.get(mark.topic)
        if top is not None and mark.resolved_ts <= top.resolved_ts:
            self.regressions += mark.resolved_ts < top.resolved_ts
            return
        self.top[mark.topic] = mark
        self.marks.append(mark)


def _tells_rows(options: Settings) -> bool:
    """Returns whether most rows are recognised without being decoded."""
    return protocol_of(options).may_be_control is not every_record
