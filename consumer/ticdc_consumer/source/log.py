"""Checks that the log still reaches back to the start of the next cut: one rule for `run`, `plan`
and `check`.

The rule is a function of values: each partition's restart, and the source's present listing. It
yields every gap; `run` and `plan` stop at the first, `check` reports all of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Protocol

from ticdc_encoder.tso import physical

from ticdc_consumer.errors import LOAD_ANEW, Stop
from ticdc_consumer.source import Source
from ticdc_consumer.source.listing import Listing, LogRecord
from ticdc_consumer.source.marks import TopicPartition

RecordAt = Callable[[TopicPartition, int], LogRecord | None]


class Restart(Protocol):
    """The point from which a partition continues. `topic_id` is "" where the brokers have no ids;
    offset and CRC of the last mark that was read then identify the topic."""

    @property
    def topic_id(self) -> str: ...

    @property
    def restart_offset(self) -> int: ...

    @property
    def mark_offset(self) -> int | None: ...

    @property
    def mark_crc(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Gap:
    """Loss in the log. `subject` and `text` make a sentence."""

    subject: str
    text: str
    topic_partition: TopicPartition
    exit_code: int = Stop.exit_code


@dataclass(frozen=True, slots=True)
class Log:
    """The source's log at one time. The beginning of a partition that `begins` lacks is not
    judged."""

    listing: Listing
    begins: Mapping[TopicPartition, int]


def survey(source: Source, known: Iterable[TopicPartition], patience: float) -> Log:
    """The present log, with the partitions of `known`. Raises as the source does."""
    listing = source.list_patiently(known, patience)
    return Log(listing, source.begins(listing.ends))


def require(gaps: Iterable[Gap]) -> None:
    """Raises `Stop` for the first gap."""
    for gap in gaps:
        raise Stop(f"{gap.subject} {gap.text}")


_LOAD = "load all tables by: ticdc-consumer load CONFIG --replace"
LOAD_A_SNAPSHOT = f"{_LOAD}, or, if they hold the rows of a snapshot, start with --from-ts TS"


def gaps_of_whole(log: Log, instead: str = LOAD_A_SNAPSHOT) -> Iterator[Gap]:
    """Gaps for a first start without a snapshot, which needs everything ever sent; `instead` is the
    advice if that is gone."""
    for topic_partition, begin in sorted(log.begins.items()):
        if begin > 0:
            yield _gap(
                topic_partition,
                f"begins at offset {begin}: the log is incomplete; {instead}",
            )


def gaps_before_snapshot(
    log: Log, from_ts: int, clock_skew: float, record_at: RecordAt
) -> Iterator[Gap]:
    """Gaps for a first start from a snapshot: each partition's log must begin before it, by Kafka's
    clock, which may differ by `clock_skew` seconds."""
    bound = physical(from_ts) - clock_skew * 1000
    for topic_partition, begin in sorted(log.begins.items()):
        if begin == 0:
            continue
        record = None
        if begin < log.listing.ends[topic_partition]:
            record = record_at(topic_partition, begin)
        if record is None:
            yield _gap(
                topic_partition,
                f"retains nothing: what was cut off may be later than {from_ts}; {_LOAD}",
            )
        elif record.time >= bound:
            yield _gap(
                topic_partition,
                f"begins at offset {begin}, whose record is not older than the snapshot "
                f"{from_ts} by limits.clock_skew: rows may be lost; use a newer one, or {_LOAD}",
            )


def gaps_since(
    restarts: Mapping[TopicPartition, Restart],
    resolved_ts: int,
    log: Log,
    expected: Set[TopicPartition],
    record_at: RecordAt | None = None,
) -> Iterator[Gap]:
    """Gaps for a cut that begins at a checkpoint. `expected` are the partitions of `restarts` that
    must be listed; others may be missing. Without `record_at`, marks are not compared."""
    ends = log.listing.ends
    for topic_partition, restart in sorted(restarts.items(), key=lambda item: item[0]):
        if topic_partition in ends:
            yield from _gaps_of(topic_partition, restart, resolved_ts, log, record_at)
        elif topic_partition in expected:
            yield _gap(topic_partition, "is in the checkpoint, but not listed: was it deleted?")
    for topic_partition in sorted(set(ends) - set(restarts)):
        if (begin := log.begins.get(topic_partition, 0)) > 0:
            yield _gap(
                topic_partition, f"joins, but its log begins at offset {begin}: rows of it are lost"
            )


def _gaps_of(
    topic_partition: TopicPartition,
    restart: Restart,
    resolved_ts: int,
    log: Log,
    record_at: RecordAt | None,
) -> Iterator[Gap]:
    """Yields at most one gap: a recreated topic was not truncated as well."""
    topic, offset = topic_partition[0], restart.restart_offset
    topic_id, end = log.listing.topic_ids[topic], log.listing.ends[topic_partition]
    begin = log.begins.get(topic_partition, 0)
    if restart.topic_id and topic_id and restart.topic_id != topic_id:
        yield Gap(
            f"topic {topic}",
            f"was deleted and recreated: its old offsets are no longer valid; {LOAD_ANEW}",
            topic_partition,
        )
    elif begin > offset:
        yield _gap(
            topic_partition,
            f"begins at offset {begin}, but the next cut begins at {offset}: retention has cut off "
            f"what was not applied; R is {resolved_ts}; {LOAD_ANEW}",
        )
    elif end < offset:
        yield _gap(
            topic_partition,
            f"ends at offset {end}, but the next cut begins at {offset}: its log was truncated, or "
            f"the topic was deleted and recreated; {LOAD_ANEW}",
        )
    elif record_at is not None and not (restart.topic_id and topic_id):
        yield from _gaps_of_mark(topic_partition, restart, begin, end, record_at)


def _gaps_of_mark(
    topic_partition: TopicPartition, restart: Restart, begin: int, end: int, record_at: RecordAt
) -> Iterator[Gap]:
    """Checks a topic without an id, which the last mark that was read identifies."""
    offset = restart.mark_offset
    if offset is None or offset < begin:
        return
    record = record_at(topic_partition, offset) if offset < end else None
    if record is None or record.offset != offset or record.crc != restart.mark_crc:
        yield _gap(
            topic_partition,
            f"offset {offset} is not the resolved message that was read there: the topic was "
            f"deleted and recreated; {LOAD_ANEW}",
        )


def _gap(topic_partition: TopicPartition, text: str) -> Gap:
    return Gap(f"{topic_partition[0]}[{topic_partition[1]}]", text, topic_partition)
