"""Facts of topics at one time: the ends of their logs, their retention, and the last messages of
each partition."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field

from confluent_kafka import Message as KafkaMessage
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Resolved, RowChange
from ticdc_encoder.filters.table import TableFilter

from ticdc_consumer.config.options import Settings
from ticdc_consumer.protocols import decoder
from ticdc_consumer.protocols.protocol import RecordDecoder
from ticdc_consumer.source.facts import AGED, PartitionFacts, SourceFacts
from ticdc_consumer.source.kafka.brokers import Cluster
from ticdc_consumer.source.kafka.client import records_from
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.waiting import Deadline

LAST = 50
"""Most messages of each partition that are read."""
MOST = 64
"""Most partitions whose last messages are read."""


@dataclass(slots=True)
class _Tail:
    """The last messages of one partition."""

    end: int
    newest: float | None = None
    resolved_ts: int = 0
    rows: Counter[int] = field(default_factory=Counter)
    tables: set[tuple[str, str]] = field(default_factory=set)


def look(options: Settings, patience: float) -> SourceFacts:
    """Collects the facts; `patience` is in seconds per request. Raises `Unavailable` and `Stop`."""
    deadline = Deadline(patience)
    with closing(Cluster(options.kafka, options.topics, patience)) as cluster:
        counts = cluster.partitions()
        names = [(topic, number) for topic, count in counts.items() for number in range(count)]
        ask_ids = cluster.ask_ids(counts)
        begins, ends = cluster.begins(names), cluster.ends(names)
        retention = _retention(cluster, counts)
        aged = _aged(cluster, retention, ends)
        topic_ids = ask_ids()
    tails: Mapping[TopicPartition, _Tail] = {}
    if len(names) <= MOST:
        starts = {name: max(begins[name], ends[name] - LAST) for name in names}
        tails = _tails(options, starts, ends, deadline.left)
    partitions = {}
    for name in names:
        begin, end = begins[name], ends[name]
        tail = tails.get(name, _Tail(end))
        partitions[name] = PartitionFacts(
            begin, end, tail.newest, tail.resolved_ts, dict(tail.rows), aged.get(name)
        )
    rules = TableFilter(options.filter, case_sensitive=options.case_sensitive)
    tables = frozenset(name for tail in tails.values() for name in tail.tables)
    passing = frozenset(name for name in tables if rules.matches(*name))
    return SourceFacts(partitions, retention, bool(tails), tables, passing, topic_ids)


def _retention(cluster: Cluster, topics: Iterable[str]) -> dict[str, float]:
    seconds = {}
    for topic, settings in cluster.settings(topics).items():
        milliseconds = int(settings.get("retention.ms", "-1"))
        if milliseconds >= 0:
            seconds[topic] = milliseconds / 1000
    return seconds


def _aged(
    cluster: Cluster, retention: Mapping[str, float], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    now = time.time()
    times = {name: now - AGED * retention[name[0]] for name in ends if name[0] in retention}
    if not times:
        return {}
    since = cluster.since(times)
    return {name: ends[name] if offset < 0 else offset for name, offset in since.items()}


def _tails(
    options: Settings,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    patience: float,
) -> Mapping[TopicPartition, _Tail]:
    """Tails by partition, empty ones included; none if they did not come in time."""
    tails = {name: _Tail(ends[name]) for name in starts}
    unread = {name for name, start in starts.items() if start < ends[name]}
    if not unread:
        return tails
    decode = decoder(options)
    deadline = Deadline(patience)
    reading = {name: starts[name] for name in unread}
    with (
        suppress(TicdcError),
        closing(records_from(options.kafka, reading, 1000, patience)) as records,
    ):
        for name, message in records:
            if message is None:
                unread.discard(name)
            elif name in unread:
                _add(tails[name], message, decode)
                if int(message.offset() or 0) + 1 >= ends[name]:
                    unread.discard(name)
            if not unread:
                return tails
            if deadline.passed:
                break
    return {}


def _add(tail: _Tail, message: KafkaMessage, decode: RecordDecoder) -> None:
    tail.newest = max(tail.newest or 0.0, message.timestamp()[1] / 1000)
    # The run reports messages that cannot be read.
    with suppress(Exception):
        for event in decode(message.key(), message.value()):
            match event:
                case Resolved(resolved_ts):
                    tail.resolved_ts = max(tail.resolved_ts, resolved_ts)
                case RowChange():
                    tail.rows[event.commit_ts] += 1
                    tail.tables.add((event.table.schema, event.table.name))
        for row in decode.unread():
            tail.rows[row.commit_ts] += 1
