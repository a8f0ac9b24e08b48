"""Follows partition 0 of every topic, where all marks and all DDL come by."""

import time
import zlib
from collections.abc import Callable, Mapping

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka import Message as KafkaMessage
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl, Resolved
from ticdc_encoder.formats.registry import RegistryError

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop, Unavailable
from ticdc_consumer.plan import Mark, SeenDdl
from ticdc_consumer.protocols import control_test, decoder, protocol_of
from ticdc_consumer.protocols.protocol import check_ts, latest_sane, located
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source.kafka.brokers import Listing, consumer_settings
from ticdc_consumer.source.kafka.client import Failures

BATCH = 10_000
Identity = tuple[int, str, str, str]


class Scout:
    """Keeps the marks and DDL it has met, and how far it has read; it may run ahead of what is
    applied, since Kafka's log is the buffer. The schemas that it meets are told to `schemas`. Up to
    a topic's first mark it decodes rows, too: what lacks a commit_ts may have no mark ever."""

    rows_per_offset = 1.0
    """About, as long as nothing is known."""

    def __init__(self, options: Options, schemas: Schemas) -> None:
        self._options = options
        self._schemas = schemas
        self._decode = decoder(options, schemas.tables)
        self._may_be_control = control_test(options)
        group = options.kafka.get("group.id", f"ticdc-{options.changefeed}")
        self._failures = Failures(tells=True)
        self._consumer = Consumer(
            {
                **consumer_settings(options.kafka),
                "group.id": group,
                "error_cb": self._failures,
            }
        )
        self._next: dict[str, int] = {}
        self.marks: list[Mark] = []
        self.top: dict[str, Mark] = {}
        self._ddls: dict[Identity, SeenDdl] = {}
        self.regressions = 0
        self._rows = False
        self._last_record = time.monotonic()

    def close(self) -> None:
        self._consumer.close()

    def follow(self, starts: Mapping[str, int]) -> None:
        """Adds topics, each from an offset of its partition 0."""
        for topic, offset in starts.items():
            if topic not in self._next:
                self._next[topic] = offset
                self._consumer.incremental_assign([TopicPartition(topic, 0, offset)])

    def commit(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Writes the group's offsets, without waiting."""
        self._consumer.commit(
            offsets=[TopicPartition(*place, offset) for place, offset in offsets.items()],
            asynchronous=True,
        )

    def position(self, topic: str) -> int:
        """The offset after the last record read of the topic's partition 0."""
        return self._next[topic]

    def ddls(self) -> list[SeenDdl]:
        return list(self._ddls.values())

    def forget(self, applied: int) -> None:
        """Drops what lies below `applied`: replays of it mean nothing."""
        self.marks = [mark for mark in self.marks if mark.resolved_ts > applied]
        for identity in [i for i, seen in self._ddls.items() if seen.ddl.commit_ts < applied]:
            del self._ddls[identity]

    def poll(self, wait: float) -> int:
        """Reads what is there, at most a batch, waiting up to `wait` seconds for the first."""
        messages = self._consumer.consume(BATCH, 0) or self._consumer.consume(1, wait)
        latest = latest_sane(self._options)
        for message in messages:
            self._meet(message, latest)
        if messages:
            self._last_record = time.monotonic()
        return len(messages)

    def require_marks(self, patience: float, list_topics: Callable[[], Listing]) -> None:
        """Raises `Stop` where there are rows, in any partition, and no resolved ts at all, and for
        `patience` seconds nothing more came: TiCDC sends one every second."""
        if self.top or time.monotonic() - self._last_record < patience:
            return
        if not self._rows and not any(
            end > 0 for (_, number), end in list_topics().ends.items() if number > 0
        ):
            return
        setting = protocol_of(self._options).needs_for_marks
        raise Stop(
            "the topics have rows, and no resolved ts: "
            + (f"set {setting} in the changefeed's sink URI" if setting else "is it the protocol?")
            + " (a changefeed that has just begun sends its first within seconds)"
        )

    def read_to(self, reach: int, ends: Mapping[str, int], patience: float) -> None:
        """Reads partition 0 of every topic in `ends` to a mark >= `reach` or to its end.

        Raises `Unavailable` where the brokers give nothing for `patience` seconds.
        """
        deadline = time.monotonic() + patience
        while any(
            position < ends[topic] and not self._reached(topic, reach)
            for topic, position in self._next.items()
            if topic in ends
        ):
            if self.poll(0.05):
                deadline = time.monotonic() + patience
            elif time.monotonic() > deadline:
                raise Unavailable(f"the brokers gave nothing for {patience:.0f} s")

    def _reached(self, topic: str, reach: int) -> bool:
        top = self.top.get(topic)
        return top is not None and top.resolved_ts >= reach

    def _meet(self, message: KafkaMessage, latest: int) -> None:
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
        self._next[topic] = offset + 1
        key, value = message.key(), message.value()
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
                        stamp = int(message.timestamp()[1])
                        self._mark(Mark(resolved_ts, offset, topic, stamp, crc))
                    case Ddl():
                        check_ts(event, latest)
                        identity = (event.commit_ts, event.schema, event.table, event.query)
                        self._ddls.setdefault(identity, SeenDdl(event, topic, offset))
                    case _:
                        self._rows = True
            # A row is a task's to read.
            self._decode.unread()
        except RegistryError as error:
            raise Unavailable(str(error)) from error
        except TicdcError as error:
            raise located(error, topic, 0, offset) from None

    def _mark(self, mark: Mark) -> None:
        top = self.top.get(mark.topic)
        if top is not None and mark.resolved_ts <= top.resolved_ts:
            self.regressions += mark.resolved_ts < top.resolved_ts
            return
        self.top[mark.topic] = mark
        self.marks.append(mark)


_PASSING = (
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError._TIMED_OUT,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REQUEST_TIMED_OUT,
)


def consume_error(error: KafkaError, topic: str, partition: int, wanted: int) -> TicdcError | None:
    """What a broker's refusal to give a record means; None for what librdkafka tries again."""
    if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        return Stop(
            f"{topic}[{partition}] no longer holds offset {wanted}, which the next cut needs: "
            "the log was cut by retention or truncated, or the topic was deleted and created "
            "again; load a new snapshot and start from it"
        )
    if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION):
        return Stop(f"{topic}[{partition}] is gone: was the topic deleted?")
    if error.code() in _PASSING or error.retriable():
        return None
    return Unavailable(f"{topic}[{partition}]: {error.str()}")
