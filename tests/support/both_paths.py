"""The same records through the plain decoder and through the fast reader."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from ticdc_consumer import fast_json, read
from ticdc_consumer.facts import Shape, shape
from ticdc_consumer.fast import FastReader, NoFastReader, fast_reader
from ticdc_consumer.options import Options
from ticdc_consumer.read import Reading, ReadJob
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.wire import decoder
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl, RowChange, Table
from ticdc_encoder.formats import Record

PLACE = ("topic", 0)
END = 1 << 62


@dataclass
class Outcome:
    """What one path made of the records. `fast` of its `rows` were not decoded."""

    facts: list[tuple[Any, ...]] = field(default_factory=list)
    report: tuple[Any, ...] = ()
    error: tuple[str, ...] = ()
    fast: int = 0
    rows: int = 0


def options_for(protocol: str, **changed: Any) -> Options:
    given: dict[str, Any] = {
        "changefeed": "c",
        "protocol": protocol,
        "topics": ("topic",),
        "kafka": {},
        "target_url": "sqlite://",
    }
    return Options(**given | changed)


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


def tables_in(options: Options, records: Iterable[Record]) -> dict[tuple[str, str], Table]:
    """Each table as its first whole row shows it."""
    decode, tables = decoder(options), dict[tuple[str, str], Table]()
    for key, value in records:
        try:
            events = decode(key, value)
        except TicdcError:
            continue
        for event in events:
            if isinstance(event, RowChange) and event.after is not None and not event.incomplete:
                tables.setdefault((event.table.schema, event.table.name), event.table)
    return tables


def job_of(
    options: Options,
    tables: Mapping[tuple[str, str], Table],
    keys: Mapping[str, Sequence[str]],
    begin: int = 0,
    end: int = END,
) -> ReadJob:
    """A cut of all tables that have a key, by the wire or by `keys`."""
    layouts: list[Layout] = []
    shapes: dict[tuple[str, str], tuple[int, Shape | None]] = {}
    for name, table in tables.items():
        key = table.handle_key or keys.get(table.name, ())
        if key:
            shapes[name] = (len(layouts), shape(table))
            layouts.append(layout_for(table, key))
    return ReadJob(
        options=options,
        begin=begin,
        end=end,
        latest=END,
        places=(PLACE,),
        starts={PLACE: 0},
        ends={PLACE: END},
        joined=frozenset(),
        proof_time=0,
        known_ddls=frozenset(),
        layouts=tuple(layouts),
        shapes=shapes,
        most_bytes=0,
    )


class _Counted:
    """The reader, with every taken change counted."""

    def __init__(self, reader: FastReader) -> None:
        self.reader = reader
        self.learn, self.parse = reader.learn, reader.parse
        self.taken = 0

    def take(self, key: bytes | None, value: bytes | None) -> Any:
        taken = self.reader.take(key, value)
        self.taken += len(taken or ())
        return taken


def outcome(job: ReadJob, records: Iterable[Record], fast: bool) -> Outcome:
    found = Outcome()
    readers: list[_Counted] = []

    def reader(*arguments: Any) -> _Counted:
        readers.append(_Counted(fast_reader(*arguments) if fast else NoFastReader()))
        return readers[-1]

    with mock.patch.object(read, "fast_reader", reader):
        reading = Reading(job, [0])
    progress = reading.progress[PLACE]
    try:
        for offset, (key, value) in enumerate(records):
            reading.feed(progress, key, value, offset, 0)
        for batch in reading.fold.flush():
            found.facts += [tuple(row.values()) for row in batch.to_pylist()]
    except TicdcError as error:
        found.error = (type(error).__name__, str(error), *getattr(error, "__notes__", ()))
    found.facts.sort(key=lambda fact: fact[:4])
    report, tally = reading.report, reading.fold.tally
    found.report = (
        progress,
        sorted(report.missing),
        report.unknown_ddls,
        (tally.facts, tally.duplicates, reading.fold.bytes),
    )
    found.fast = readers[0].taken
    found.rows = tally.facts.total()
    return found


@contextmanager
def learning_at_once() -> Iterator[None]:
    """The first row of a kind is learned from."""
    with mock.patch.object(fast_json, "FIRST_TRY", 1):
        yield


def both(job: ReadJob, records: Sequence[Record]) -> tuple[Outcome, Outcome]:
    """Asserts that both paths give the same, or refuse in the same words."""
    plain, fast = outcome(job, records, fast=False), outcome(job, records, fast=True)
    assert plain.error == fast.error
    if not plain.error:
        assert plain.facts == fast.facts
        assert plain.report == fast.report
    return plain, fast


def schema_changes(options: Options, records: Iterable[Record]) -> list[int]:
    """The commit_ts of all DDL, in order."""
    decode = decoder(options)
    events = [event for key, value in records for event in decode(key, value)]
    return sorted({event.commit_ts for event in events if isinstance(event, Ddl)})
