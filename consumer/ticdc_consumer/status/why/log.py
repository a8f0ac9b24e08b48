"""What the end of the log shows: the newest message, resolved ts and row of each partition."""

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field

from confluent_kafka.admin import AdminClient
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Resolved, RowChange

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Unavailable
from ticdc_consumer.protocols import control_test, decoder
from ticdc_consumer.source import open_source, source_kind
from ticdc_consumer.source.kafka.brokers import Cluster, topic_settings
from ticdc_consumer.source.kafka.client import admin_settings, records_from
from ticdc_consumer.source.marks import TopicPartition

TAIL = 1_000
"""Messages at the end of a partition that are looked at, and of all partitions twenty times."""
DECODED = 20
"""Of them, those at the end of which rows are decoded, too."""
MARK_INTERVAL = 30.0
"""Seconds without a resolved ts, which TiCDC sends every second, that mean something."""


@dataclass(slots=True)
class Tail:
    """The last messages of a partition. `time` is when the newest came, `since` the oldest that was
    looked at, in seconds since 1970 by Kafka; `mark` and `mark_time` the newest resolved ts among
    them; `rows` the commit_ts of the last rows."""

    begin: int = 0
    end: int = 0
    messages: int = 0
    time: float | None = None
    since: float | None = None
    mark: int = 0
    mark_time: float | None = None
    rows: list[int] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether all that the partition holds was looked at."""
        return self.messages >= self.end - self.begin


@dataclass(slots=True)
class LogEvidence:
    """`retention` is in seconds, by topic, where the brokers tell it; `error` says why the log
    could not be looked at."""

    tails: dict[TopicPartition, Tail] = field(default_factory=dict)
    retention: dict[str, float] = field(default_factory=dict)
    error: TicdcError | None = None

    @property
    def topics(self) -> list[str]:
        return sorted({topic for topic, _ in self.tails})

    @property
    def newest_mark(self) -> int:
        return max((tail.mark for tail in self.tails.values()), default=0)

    @property
    def newest_time(self) -> float | None:
        """When the newest message of all came."""
        return max((t.time for t in self.tails.values() if t.time is not None), default=None)

    @property
    def newest_mark_time(self) -> float | None:
        return max((t.mark_time for t in self.tails.values() if t.mark_time), default=None)


def look_at_log(options: Options, log: LogEvidence, patience: float) -> None:
    """Fills `log`. Raises what the source answers."""
    if source_kind(options) == "kafka":
        _look_at_kafka(options, log, patience)
        return
    with closing(open_source(options)) as source:
        for name, end in source.list().ends.items():
            log.tails[name] = Tail(end=end)


def _look_at_kafka(options: Options, log: LogEvidence, patience: float) -> None:
    deadline = time.monotonic() + patience * 0.8
    cluster = Cluster(options.kafka, options.topics, timeout=patience * 0.7)
    with closing(cluster):
        listing = cluster.list()
        begins = cluster.begins(listing.ends)
    most = max(DECODED, min(TAIL, 20 * TAIL // max(1, len(listing.ends))))
    starts = {}
    for name, end in listing.ends.items():
        log.tails[name] = Tail(begin=begins[name], end=end)
        if end > begins[name]:
            starts[name] = max(begins[name], end - most)
    _read(options, starts, log, deadline)
    admin = AdminClient(admin_settings(options.kafka))
    for topic, settings in topic_settings(admin, listing.topics, timeout=patience * 0.2).items():
        milliseconds = int(settings.get("retention.ms", "-1"))
        if milliseconds >= 0:
            log.retention[topic] = milliseconds / 1000


def _read(
    options: Options, starts: Mapping[TopicPartition, int], log: LogEvidence, deadline: float
) -> None:
    left = set(starts)
    if not left:
        return
    decode, may_be_control = decoder(options), control_test(options)
    try:
        with closing(records_from(options.kafka, starts, 1000, 1.0)) as records:
            for name, message in records:
                tail = log.tails[name]
                if message is not None:
                    offset = message.offset() or 0
                    at = message.timestamp()[1] / 1000
                    tail.messages += 1
                    tail.time, tail.since = at, tail.since or at
                    key, value = message.key(), message.value()
                    if offset >= tail.end - DECODED or may_be_control(key, value):
                        _decode(decode, key, value, tail, at)
                if message is None or offset >= tail.end - 1:
                    left.discard(name)
                if not left or time.monotonic() > deadline:
                    return
    except Unavailable:
        return  # what came is evidence enough


def _decode(
    decode: object, key: bytes | None, value: bytes | None, tail: Tail, at: float
) -> None:
    try:
        for event in decode(key, value):  # type: ignore[operator]
            match event:
                case Resolved(resolved_ts):
                    tail.mark, tail.mark_time = max(tail.mark, resolved_ts), at
                case RowChange():
                    tail.rows = [*tail.rows[-DECODED:], event.commit_ts]
    except Exception:  # noqa: BLE001, S110 - whether a message can be read is not asked here
        pass
