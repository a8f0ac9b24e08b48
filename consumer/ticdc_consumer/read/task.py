"""Kafka -> facts, inside Spark's tasks.

A task reads each of its partitions from the restart offset to the first mark >= the cut's end, or
to the listed end, whichever comes first. It never writes: what it found goes to the driver as
facts, and one report at its end.
"""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.formats.simple import Waiting

from ticdc_consumer import failpoints
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.exactness import LOSSY, OLD_ROWS, require_exact, restored, restorers
from ticdc_consumer.protocols.protocol import check_ts, decoder, located, place_text, zone_of_rows
from ticdc_consumer.read.facts import REPORT, Conflict, Fold, Shape, shape
from ticdc_consumer.read.fast.reader import FastReader, fast_reader
from ticdc_consumer.read.job import Progress, ReadJob
from ticdc_consumer.read.kafka import messages
from ticdc_consumer.read.large_rows import LargeRows
from ticdc_consumer.read.report import Report, pack
from ticdc_consumer.read.time_zone import Zone
from ticdc_consumer.source.ddl_filter import wants
from ticdc_consumer.source.storage.records import (
    FileDecoder,
    FileRecord,
    not_yet,
    records,
    unwanted,
)
from ticdc_consumer.targets.layout import Layout

BATCH = 20_000
FIRST_BATCH = 500
"""As long as no layout is known: what is read then is read again."""
FLUSH = 48 << 20
"""Bytes of messages whose facts a task holds before it hands them on."""
LOOK_AHEAD = 1_000
"""Messages that a task reads, at least, where a layout or schema is missing: there may be more."""
MOST_CORRUPTED = 10
"""Rows that a task tells one by one."""


class Reading:
    """One task's share of a cut: messages in, facts out."""

    def __init__(self, job: ReadJob, numbers: Sequence[int]) -> None:
        options = job.options
        self._job = job
        self._decode = decoder(options, job.schemas)
        self._zone = Zone(zone_of_rows(options))
        self._filter = TableFilter(options.filter, case_sensitive=options.case_sensitive)
        self._wanted: dict[tuple[str, str], bool] = {}
        self._fast: FastReader = fast_reader(options, job.layouts, job.shapes, job.latest)
        self.fold = Fold(
            job.layouts, self._zone, self._fast.parse, steps=options.apply == "transactions"
        )
        self._large: LargeRows[tuple[Progress, int]] = LargeRows(options, self._decode)
        self._lossy = options.protocol in LOSSY
        self._exact: dict[int, Table] = {}
        self._restorers = [restorers(options, layout) for layout in job.layouts]
        self._replays: Counter[int] = Counter()
        self.report = Report()
        self.progress = {
            job.places[n]: Progress(
                job.places[n], n, job.ends[job.places[n]], job.starts[job.places[n]]
            )
            for n in numbers
        }
        for progress in self.progress.values():
            progress.done = progress.position >= progress.end

    @property
    def done(self) -> bool:
        return all(progress.done for progress in self.progress.values())

    def feed(
        self, progress: Progress, key: bytes | None, value: bytes | None, offset: int, time: int
    ) -> None:
        """One record. Raises what `decode` raises, and `Stop`, with the place in it."""
        progress.position = offset + 1
        self.report.messages += 1
        size = len(value or b"")
        self.report.bytes += size
        try:
            taken = self._fast.take(key, value)
            if taken is None:
                events = self._decode(key, value)
                share = size // max(1, len(events))
                for event in events:
                    self._meet(progress, event, offset, time, share)
                for row in self._decode.unread():
                    self._meet_unread(progress, row, offset, time)
                self._fast.learn(key, value, events)
            else:
                for table, commit_ts, present, body, absent in taken:
                    if self._in_cut(progress, table, commit_ts, offset, time):
                        self.fold.add_raw(
                            table, commit_ts, present, body, absent, progress.number, offset, size
                        )
        except TicdcError as error:
            raise self._located(error, progress, offset) from None

    def feed_file(
        self, progress: Progress, record: FileRecord, changes: Iterable[RowChange]
    ) -> Iterator[None]:
        """One file of a storage, some of its changes at a time. Raises what `feed` does."""
        self.report.messages += 1
        self.report.bytes += len(record.content)
        share = len(record.content) // (record.content.count(b"\n") + 1)
        try:
            for number, change in enumerate(changes, 1):
                self._meet(progress, change, record.offset, 0, share)
                if number % BATCH == 0:
                    yield
        except TicdcError as error:
            raise self._located(error, progress, record.offset) from None
        progress.position = record.offset + 1

    def complete(self) -> Iterator[None]:
        """Reads the rows of which the handle key alone was sent, a statement at a time."""
        for some in self._large.completed():
            for change, (progress, offset) in some:
                try:
                    self._take_row(progress, change, offset, _size(change.after))
                except TicdcError as error:
                    raise self._located(error, progress, offset) from None
            yield

    def _located(self, error: TicdcError, progress: Progress, offset: int) -> TicdcError:
        if isinstance(error, Conflict):
            known = error.known
            located(error, *self._job.places[known[2]], known[3])
        return located(error, *progress.place, offset)

    def _meet(self, progress: Progress, event: Event, offset: int, time: int, size: int) -> None:
        check_ts(event, self._job.latest)
        match event:
            case RowChange():
                self._meet_row(progress, event, offset, time, size)
            case Ddl():
                self._meet_ddl(progress, event, offset, time)
            case Resolved(resolved_ts):
                progress.mark = (offset, resolved_ts)
                if resolved_ts >= self._job.end:
                    progress.done = True
                    progress.stopped_at = offset
                    progress.stopped_above = resolved_ts > self._job.end

    def wants(self, name: tuple[str, str]) -> bool:
        """Whether the filter lets the table of that name pass."""
        wanted = self._wanted.get(name)
        if wanted is None:
            wanted = self._wanted[name] = self._filter.matches(*name)
        return wanted

    def _meet_unread(self, progress: Progress, row: Waiting, offset: int, time: int) -> None:
        check_ts(row, self._job.latest)
        lacks = (row.schema, row.table, row.version)
        if self.wants(lacks[:2]) and self._in_cut(progress, REPORT, row.commit_ts, offset, time):
            self.report.unread.setdefault(lacks, (*progress.place, offset))

    def _meet_row(
        self, progress: Progress, change: RowChange, offset: int, time: int, size: int
    ) -> None:
        name = (change.table.schema, change.table.name)
        if not self.wants(name):
            return
        known = self._job.shapes.get(name)
        number = REPORT if known is None else known[0]
        if not self._in_cut(progress, number, change.commit_ts, offset, time):
            return
        if change.claim_check is not None:
            change = self._large.redeem(change)
        elif change.incomplete and change.after is not None:
            self._large.hold(change, (progress, offset))
            return
        self._take_row(progress, change, offset, size)

    def _take_row(self, progress: Progress, change: RowChange, offset: int, size: int) -> None:
        """A row of the cut, whole but for a DELETE's."""
        if self._lossy and id(change.table) not in self._exact:
            require_exact(self._job.options, change.table)
            self._exact[id(change.table)] = change.table
        name = (change.table.schema, change.table.name)
        known = self._job.shapes.get(name)
        if known is None or (known[1] is None and change.after is not None):
            if change.after is not None or name not in self.report.missing:
                self.report.missing[name] = (change.table, change.after is None)
            return
        number, expected = known
        self._check_shape(self._job.layouts[number], change, expected)
        if restore := self._restorers[number]:
            change = restored(change, self._job.layouts[number], restore)
        if change.corrupted:
            self._meet_corrupted(progress, self._job.layouts[number], change, offset)
        self.fold.add_change(number, change, progress.number, offset, size)

    def _meet_corrupted(
        self, progress: Progress, layout: Layout, change: RowChange, offset: int
    ) -> None:
        row = change.before if change.after is None else change.after
        key = ", ".join(f"{name}={(row or {}).get(name)!r}" for name in layout.key)
        words = (
            f"{layout.name}: the row with key {key} of commit_ts {change.commit_ts} is not what "
            "its checksum says"
        )
        if self._job.options.on_corruption == "stop":
            raise Stop(
                f"{words}: compare it with the upstream's; "
                'with [source] on_corruption = "warn" it is taken as it came'
            )
        self.report.corrupted += 1
        if len(self.report.corrupted_rows) < MOST_CORRUPTED:
            place = place_text(*progress.place)
            self.report.corrupted_rows.append(f"{words}; at {place} offset {offset}")

    def _check_shape(self, layout: Layout, change: RowChange, expected: Shape | None) -> None:
        handle = change.table.handle_key
        if handle and set(handle) != set(layout.key):
            raise Stop(
                f"{layout.name}: the stream names ({', '.join(handle)}) as the key, "
                f"the cut began with ({', '.join(layout.key)})"
            )
        if not layout.key:
            self._check_whole(layout, change)
        elif change.after is None:
            missing = [name for name in layout.key if name not in (change.before or {})]
            if missing:
                raise Stop(f"{layout.name}: a DELETE without key column {missing[0]}")
            return
        if expected is not None and (found := shape(change.table)) != expected:
            raise Stop(
                f"{layout.name}: rows of two shapes in one cut: "
                f"{_differences(expected, found)}: was a column selector or a DDL filter changed?"
            )

    def _check_whole(self, layout: Layout, change: RowChange) -> None:
        """Where nothing else identifies a row, all of its columns before the change do."""
        if change.before is None:
            return
        missing = [c.name for c in layout.source if c.name not in change.before]
        # What Canal-JSON leaves out of an UPDATE did not change; Open Protocol leaves out more.
        partial = change.after is not None and self._job.options.protocol == "canal-json"
        if missing and not partial:
            settings = "only-output-updated-columns and delete-only-output-handle-key-columns"
            cure = f"set {settings} of the changefeed to false"
            if not change.before and self._job.options.protocol in OLD_ROWS:
                cure = f"set {OLD_ROWS[self._job.options.protocol]} of the changefeed"
            raise Stop(
                f"{layout.name}: nothing identifies its rows, and column {missing[0]} of a row "
                f"before its change was not sent: {cure}"
            )

    def _in_cut(
        self, progress: Progress, number: int, commit_ts: int, offset: int, time: int
    ) -> bool:
        job = self._job
        if commit_ts >= job.end:
            progress.keep(offset)
            return False
        if commit_ts < job.begin:
            self._replays[number] += 1
            if progress.place in job.joined:
                self._check_joined(commit_ts, time)
            return False
        return True

    def _check_joined(self, commit_ts: int, time: int) -> None:
        job = self._job
        if job.begin and time <= job.proof_time + job.options.clock_skew * 1000:
            raise Stop(
                f"a new partition holds commit_ts {commit_ts}, below the applied {job.begin}, sent "
                "before that was proven: an earlier listing may have missed it"
            )

    def _meet_ddl(self, progress: Progress, ddl: Ddl, offset: int, time: int) -> None:
        if not wants(self._filter, ddl):
            return
        job = self._job
        if ddl.commit_ts < job.begin and progress.place in job.joined:
            self.report.stale_ddls.append(ddl)
        if not self._in_cut(progress, REPORT, ddl.commit_ts, offset, time):
            return
        identity = (ddl.commit_ts, ddl.schema, ddl.table, ddl.query)
        if identity not in job.known_ddls:
            self.report.unknown_ddls.append(ddl)

    def close(self) -> pa.RecordBatch:
        """The report, as the last batch of the task."""
        self._large.close()
        report = self.report
        report.restarts = {place: p.restart for place, p in self.progress.items()}
        report.schemas = list(self._decode.told())
        tally = self.fold.tally
        report.given = tally.given
        for number in {*tally.facts, *self._replays}:
            report.tables[number] = (
                tally.facts[number],
                tally.duplicates[number],
                self._replays[number],
            )
        return pack(report)


def _size(row: Row | None) -> int:
    """About the bytes of a row."""
    return sum(len(v) if isinstance(v, str | bytes) else 8 for v in (row or {}).values())


def read(job: ReadJob, numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Reads the partitions of these numbers; yields facts, then the report.

    An error of ours is a part of the report: Spark would try the task again, and hide the words.
    """
    reading = Reading(job, numbers)
    failpoints.hit("S4")
    # Hundreds of thousands of tuples that no cycle holds: the collector would only walk over them.
    gc.disable()
    try:
        yield from _read(job, reading)
    except TicdcError as error:
        reading.report.error = (type(error).__name__, str(error))
    finally:
        gc.enable()
    yield reading.close()


def _read(job: ReadJob, reading: Reading) -> Iterator[pa.RecordBatch]:
    given = 0
    for _ in _steps(job, reading):
        lacking = reading.report.missing or reading.report.unread
        if lacking and reading.report.messages > LOOK_AHEAD:
            return
        if reading.fold.bytes > FLUSH:
            for batch in reading.fold.flush():
                given += batch.nbytes
                yield batch
        if job.most_bytes and given + reading.fold.bytes > job.most_bytes:
            reading.report.too_large = True
            return
    yield from reading.fold.flush()


def _steps(job: ReadJob, reading: Reading) -> Iterator[None]:
    """After each step, some facts more are there."""
    if job.options.storage_url is not None:
        yield from _file_steps(job, reading)
        return
    size = BATCH if job.layouts else FIRST_BATCH
    for batch in messages(job.options.kafka, reading.progress, size):
        for progress, message in batch:
            if not progress.done and message.offset() < progress.end:
                reading.feed(
                    progress,
                    message.key(),
                    message.value(),
                    message.offset(),
                    message.timestamp()[1],
                )
                if progress.position >= progress.end:
                    progress.done = True
        yield
        yield from reading.complete()


def _file_steps(job: ReadJob, reading: Reading) -> Iterator[None]:
    files = FileDecoder(job.options, job.definitions)
    ddls = {identity[0] for identity in job.known_ddls}
    for place, progress in reading.progress.items():
        if progress.done or unwanted(job.options, place, reading.wants):
            continue
        if not_yet(job.options, place, job.end, ddls):
            progress.keep(progress.position)
            continue
        for record in records(job.options, place, progress.position, progress.end):
            yield from reading.feed_file(progress, record, files.changes(record))
            yield


def _differences(expected: Iterable[Any], found: Iterable[Any]) -> str:
    one, other = set(expected), set(found)
    return ", ".join(
        [f"{name} {kind}" for name, kind, _ in sorted(one - other)]
        + ["now " + f"{name} {kind}" for name, kind, _ in sorted(other - one)]
    )
