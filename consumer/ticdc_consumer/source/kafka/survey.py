"""Searches for marks and DDL far ahead in partition 0, in Spark's tasks: the many rows between them
do not pass through the driver."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any, NamedTuple, Self

import pyarrow as pa
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.protocols import control_test
from ticdc_consumer.protocols.protocol import ControlTest
from ticdc_consumer.source.kafka import tasks
from ticdc_consumer.source.records import Records

BATCH = 1_000
"""Messages that a task requests from Kafka at a time."""
COLUMNS = pa.schema(
    [
        ("topic", pa.string()),
        ("offset", pa.int64()),
        ("time", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("start", pa.int64()),
    ]
)
"""Columns of `Candidate`."""


class Candidate(NamedTuple):
    """A message of partition 0 that may be a mark or a DDL. With a `start` it is no message: the
    partition was read from there to this offset. `time` is Kafka's, in ms, of the message or of the
    last one that was read."""

    topic: str
    offset: int
    time: int
    key: bytes | None = None
    value: bytes | None = None
    start: int | None = None


@dataclass(slots=True)
class Surveyed:
    """The results for a topic, in its order, up to the first offset that was not read: `end`.
    `time` is that of the last message before it, in ms."""

    end: int
    time: int
    messages: list[Candidate]


@dataclass(slots=True)
class _Progress:
    """Progress of a task in its part of a partition 0."""

    start: int
    end: int
    position: int
    done: bool = False
    time: int = 0

    def keep(self, offset: int) -> None:
        """Does nothing: no cut is made of it."""


@dataclass(frozen=True, slots=True)
class KafkaSurvey:
    """Search for marks and DDL in partition 0 of some topics: in `spans`, half-open ranges of
    offsets. Pickled to Spark's tasks."""

    kafka: Mapping[str, str]
    options: ReadSettings
    spans: Mapping[str, tuple[int, int]]
    columns = COLUMNS

    def parts(self, tasks: int) -> Sequence[Self]:
        """Returns, for each of `tasks` tasks, its part of every span."""
        return [
            replace(self, spans={name: _part(*s, nth, tasks) for name, s in self.spans.items()})
            for nth in range(tasks)
        ]

    def find(self) -> Iterator[pa.RecordBatch]:
        """Yields the messages, then the position in each span. It falls short of the end if the
        brokers refuse: the next reader from there learns why."""
        progress = {
            (topic, 0): _Progress(start, end, start)
            for topic, (start, end) in self.spans.items()
            if start < end
        }
        may_be_control = control_test(self.options)
        try:
            for batch in tasks.messages(self.kafka, progress, BATCH):
                if candidates := [*_candidates(tasks.until_ends(batch, progress), may_be_control)]:
                    yield _packed(candidates)
        except TicdcError:
            pass
        if progress:
            yield _packed([_end(topic, each) for (topic, _), each in progress.items()])


def _part(start: int, end: int, nth: int, of: int) -> tuple[int, int]:
    """The `nth` of `of` parts of a range, which may be empty."""
    return start + (end - start) * nth // of, start + (end - start) * (nth + 1) // of


def _candidates(
    runs: Iterable[tuple[_Progress, Sequence[Any]]], may_be_control: ControlTest
) -> Iterator[Candidate]:
    for progress, run in runs:
        records = Records(run, progress.end)
        if records and not progress.done:
            for index in compress(range(len(records)), _tested(may_be_control, records)):
                key, value, offset, time = records[index]
                yield Candidate(run[0].topic(), offset, time, key, value)
            progress.position, progress.time = records.offsets[-1] + 1, records.time(-1)
        progress.done |= progress.position >= progress.end or len(records) < len(run)


def _tested(may_be_control: ControlTest, records: Records) -> Sequence[bool]:
    try:
        return [*map(may_be_control, records.keys, records.values)]
    except Exception:  # noqa: BLE001
        return [*map(partial(_may_be, may_be_control), records.keys, records.values)]


def _may_be(may_be_control: ControlTest, key: bytes | None, value: bytes | None) -> bool:
    """Tests a message; True if that fails: the driver then reports it."""
    try:
        return may_be_control(key, value)
    except Exception:  # noqa: BLE001
        return True


def _end(topic: str, progress: _Progress) -> Candidate:
    end = progress.end if progress.done else progress.position
    return Candidate(topic, end, progress.time, start=progress.start)


def _packed(candidates: Sequence[Candidate]) -> pa.RecordBatch:
    columns = zip(*candidates, strict=True)
    arrays = [pa.array(column, f.type) for column, f in zip(columns, COLUMNS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=COLUMNS)


def surveyed(spans: Mapping[str, tuple[int, int]], table: pa.Table) -> dict[str, Surveyed]:
    """The combined results of the tasks of a survey of `spans`, by topic."""
    messages: dict[str, list[Candidate]] = defaultdict(list)
    ends: dict[tuple[str, int], Candidate] = {}
    for each in map(Candidate, *(table[name].to_pylist() for name in COLUMNS.names)):
        if each.start is None:
            messages[each.topic].append(each)
        else:
            ends[each.topic, each.start] = each
    together = {}
    for topic, (start, _) in spans.items():
        position, time = start, 0
        while (end := ends.get((topic, position))) is not None and end.offset > position:
            position, time = end.offset, max(time, end.time)
        before = (each for each in messages[topic] if each.offset < position)
        together[topic] = Surveyed(position, time, sorted(before, key=lambda each: each.offset))
    return together
