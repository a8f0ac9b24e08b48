"""The same records through the plain decoder and through a fast reader."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from unittest import mock

from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.read import task as read
from ticdc_consumer.cut.read.fast import json as fast_json
from ticdc_consumer.cut.read.fast.json import FastRun
from ticdc_consumer.cut.read.fast.reader import FastReader, NoFastReader, fast_reader
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.task import Reading
from ticdc_consumer.protocols import decoder
from ticdc_consumer.protocols.shape import ExpectedShape, shape
from ticdc_consumer.source.kafka.tasks import KafkaTasks
from ticdc_consumer.source.marks import Span
from ticdc_consumer.source.records import Records
from ticdc_consumer.targets.layout import Layout
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Event, RowChange, Table
from ticdc_encoder.formats import Record

PLACE = ("topic", 0)
LATEST = 1 << 62
WHOLE = Span(0, 0, LATEST)
BATCH = 3
"""Messages that come together."""

Name = tuple[str, str]


@dataclass
class Outcome:
    """What became of the records; `read_fast` of the `rows` were not decoded."""

    facts: list[tuple[Any, ...]] = field(default_factory=list)
    report: tuple[Any, ...] = ()
    error: tuple[str, ...] = ()
    read_fast: int = 0
    rows: int = 0


def options_for(protocol: str, **changed: Any) -> Settings:
    given: dict[str, Any] = {
        "changefeed": "c",
        "protocol": protocol,
        "topics": ("topic",),
        "kafka": {},
        "target_url": "sqlite://",
    }
    return Settings(**given | changed)


def layout_for(table: Table, key: Sequence[str]) -> Layout:
    """Payloads of this layout are the canonical values, as JSON."""
    return Layout(
        dialect="sqlite",
        schema=table.schema,
        table=table.name,
        relation=table.name,
        source=table.columns,
        columns=tuple(column.name for column in table.columns),
        codecs=tuple("blob" if column.type.binary else "text" for column in table.columns),
        key=tuple(key),
        upsert=True,
    )


def decoded(options: Settings, records: Iterable[Record]) -> list[Event]:
    """All events, but those of records that cannot be read."""
    decode, events = decoder(options), list[Event]()
    for key, value in records:
        try:
            events += decode(key, value)
        except TicdcError:
            continue
    return events


def tables_in(events: Iterable[Event]) -> dict[Name, Table]:
    """Each table as its first whole row shows it."""
    tables: dict[Name, Table] = {}
    for event in events:
        if isinstance(event, RowChange) and event.after is not None and not event.incomplete:
            tables.setdefault((event.table.schema, event.table.name), event.table)
    return tables


def job_of(
    options: Settings,
    tables: Mapping[Name, Table],
    keys: Mapping[Name, Sequence[str]] | None = None,
    begin: int = 0,
    end: int = LATEST,
) -> ReadJob:
    """A cut of all tables that have a key, by the wire or by `keys`."""
    layouts: list[Layout] = []
    shapes: dict[Name, tuple[int, ExpectedShape]] = {}
    for name, table in tables.items():
        key = table.handle_key or (keys or {}).get(name, ())
        if key:
            shapes[name] = (len(layouts), ExpectedShape(shape(table)))
            layouts.append(layout_for(table, key))
    return ReadJob(
        options=options,
        source=KafkaTasks({}),
        begin=begin,
        end=end,
        latest=LATEST,
        partitions=(PLACE,),
        ends={PLACE: LATEST},
        joined=frozenset(),
        proof_time=0,
        known_ddls=frozenset(),
        layouts=tuple(layouts),
        shapes=shapes,
        most_bytes=0,
    )


def fast_for(job: ReadJob) -> FastReader:
    return fast_reader(job.options, job.layouts, job.shapes, job.latest)


@dataclass(frozen=True)
class Given:
    """A record as librdkafka gives it."""

    sent: Record
    at: int

    def key(self) -> bytes | None:
        return self.sent[0]

    def value(self) -> bytes | None:
        return self.sent[1]

    def offset(self) -> int:
        return self.at

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


def given(records: Sequence[Record], start: int = 0) -> Records:
    return Records([*map(Given, records, count(start))], LATEST)


@contextmanager
def matching(one_by_one: bool) -> Iterator[None]:
    """Whether messages are matched one by one, or always by an expression for many."""
    with mock.patch.object(fast_json, "ONE_BY_ONE", 1 << 60 if one_by_one else 0):
        yield


def taken(reader: FastReader, *records: Record) -> FastRun:
    """What a reader takes of these records, in both ways."""
    with matching(one_by_one=True):
        run = reader.take(given(records), 0, len(records))
    with matching(one_by_one=False):
        assert reader.take(given(records), 0, len(records)) == run
    return run


def changes_of(run: FastRun) -> Iterator[tuple[Any, ...]]:
    """Table, commit_ts, the key that is present, the piece that holds its row, and the key that is
    absent, of each change, those of a kind together."""
    for records, rows in run.parts:
        columns = ([None] * len(records) if c is None else c for c in rows[1:])
        yield from zip([rows.table] * len(records), *columns, strict=True)


class _Counted:
    """A reader, with every change that it reads counted. It is not kept."""

    size = 0

    def __init__(self, reader: FastReader) -> None:
        self.reader = reader
        self.learn, self.parse = reader.learn, reader.parse
        self.changes = 0

    def take(self, records: Records, start: int, end: int) -> FastRun:
        run = self.reader.take(records, start, end)
        self.changes += run.changes
        return run


def outcome(
    job: ReadJob, records: Sequence[Record], reader: FastReader, together: int = BATCH
) -> Outcome:
    """What a task makes of the records with this reader, if so many come together."""
    found, counted = Outcome(), _Counted(reader)
    with mock.patch.object(read, "fast_reader", lambda *_: counted):
        reading = Reading(job, [WHOLE])
    progress = reading.progress[PLACE]
    try:
        for start in range(0, len(records), together):
            reading.feed_records(progress, given(records[start : start + together], start))
        for batch in reading.fold.flush():
            found.facts += [tuple(row.values()) for row in batch.to_pylist()]
    except TicdcError as error:
        found.error = (type(error).__name__, str(error), *getattr(error, "__notes__", ()))
    found.facts.sort(key=lambda fact: fact[:4])
    report, counts = reading.report, reading.fold.counts
    # A copy is one if it meets the other before a newer fact does: that depends on the order in
    # which kinds of changes are taken.
    counts.duplicates.clear()
    found.report = (progress, [*report.missing], report.unknown_ddls, counts, reading.close())
    found.read_fast, found.rows = counted.changes, counts.facts.total()
    return found


def same(job: ReadJob, records: Sequence[Record], reader: FastReader | None = None) -> Outcome:
    """Asserts that all paths give the same, or refuse in the same words; says what."""
    plain = outcome(job, records, NoFastReader())
    with matching(one_by_one=True):
        singly = outcome(job, records, deepcopy(reader) if reader else fast_for(job))
    with matching(one_by_one=False):
        fast = outcome(job, records, reader or fast_for(job), len(records) or 1)
    errors = [each.error[0] for each in (plain, singly, fast) if each.error]
    if {*errors} == {"Conflict"} and len(errors) < 3:
        # Two rows for one key at one commit_ts, which no database makes: they meet only if no newer
        # fact comes between, and that depends on the order in which kinds of changes are taken.
        return fast
    for other in (singly, fast):
        assert plain.error == other.error
        if not plain.error:
            assert plain.facts == other.facts
            assert plain.report == other.report
    assert fast.error or fast.read_fast == singly.read_fast
    return fast


@contextmanager
def learning_at_once() -> Iterator[None]:
    """The first row of a kind is learned from."""
    with mock.patch.object(fast_json, "FIRST_TRY", 1):
        yield
