"""Kafka -> facts, inside Spark's tasks, or in the driver if the cut is small.

A task reads each of its partitions, or its part of one, from the restart offset to the first mark
>= the cut's end, or to the listed end, whichever comes first. It sends facts to the driver, and one
report at the end; with staging, it sends rows to tables of the target that the driver publishes.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress

import pyarrow as pa
from ticdc_encoder.errors import TicdcError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.formats.registry import RegistryError
from ticdc_encoder.formats.simple import Waiting

from ticdc_consumer import failpoints
from ticdc_consumer.cut.read.cut_range import CutRange
from ticdc_consumer.cut.read.facts import Conflict, Fold
from ticdc_consumer.cut.read.fast.json import FastParts, FastRun
from ticdc_consumer.cut.read.fast.reader import FastReader, NoFastReader, fast_reader, keep
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.large_rows import LargeRows
from ticdc_consumer.cut.read.progress import PartitionProgress
from ticdc_consumer.cut.read.report import NO_LAYOUT, Report, TableCounts, pack
from ticdc_consumer.cut.read.staging import staged
from ticdc_consumer.cut.read.table_reader import TableReader
from ticdc_consumer.cut.read.time_zone import Zone
from ticdc_consumer.errors import RegistryAway, Stop, fault
from ticdc_consumer.protocols import decoder, zone_of_rows
from ticdc_consumer.protocols.protocol import check_ts, located, partition_text
from ticdc_consumer.source.ddl_filter import wants
from ticdc_consumer.source.marks import Span, TopicPartition
from ticdc_consumer.source.records import Records
from ticdc_consumer.targets.layout import TableName

BATCH = 1_000
"""Messages requested from Kafka at a time: few enough to be still in the processor's cache when
they are read; row changes of a file between two flushes."""
FIRST_BATCH = 500
"""Messages at a time while no layout is known: they will be read a second time."""
FLUSH = 48 << 20
"""Bytes of messages whose facts a task holds before it sends them."""
LOOK_AHEAD = 1_000
"""Minimum messages that a task reads if a layout or schema is missing: others may be, too."""

MOST_CORRUPTED = 10
"""Rows that a task reports one by one."""


Begun = Callable[[Callable[[], float]], None]


class Reading:
    """One task's share of a cut: messages in, facts out."""

    def __init__(self, job: ReadJob, spans: Sequence[Span]) -> None:
        options = job.options
        self._job = job
        self._decode = decoder(options, job.schemas)
        self._filter = TableFilter(options.filter, case_sensitive=options.case_sensitive)
        self._joining = TableFilter(job.joining, case_sensitive=options.case_sensitive)
        self._fast: FastReader = NoFastReader()
        if job.source.gives_messages:
            self._fast = fast_reader(options, job.layouts, job.shapes, job.latest)
        self.fold = Fold(
            job.layouts,
            Zone(zone_of_rows(options)),
            self._fast.parse,
            steps=options.apply == "transactions",
        )
        self._range = CutRange(job)
        self._tables: dict[TableName, TableReader | None] = {}
        self._large: LargeRows[tuple[PartitionProgress, int]] = LargeRows(options, self._decode)
        self.report = Report()
        self.progress: dict[TopicPartition, PartitionProgress] = {}
        self._together = BATCH
        self._offsets = sum(end - start for _, start, end in spans)
        for number, start, end in spans:
            name = job.partitions[number]
            is_last = end >= job.ends[name]
            self.progress[name] = PartitionProgress(name, number, end, start, is_last, start >= end)

    @property
    def done(self) -> bool:
        return all(progress.done for progress in self.progress.values())

    def share(self) -> float:
        """Returns the share read, 0 to 1. Thread-safe."""
        left = sum(each.end - each.position for each in self.progress.values() if not each.done)
        return 1.0 - left / self._offsets if self._offsets else 1.0

    def feed_records(self, progress: PartitionProgress, records: Records) -> None:
        """Reads records of one partition in order, up to the mark that ends the cut. Raises like
        `feed`."""
        at, together = 0, self._together
        while at < len(records) and not progress.done:
            run = self._fast.take(records, at, min(len(records), at + together))
            if run.parts:
                self._add_run(progress, records, run, at)
                at, together = run.end, min(BATCH, 2 * together)
            elif run.end > at + 1:
                # One of them is not recognised: some of them may be.
                together = (run.end - at) // 4 or 1
            else:
                self.feed(progress, *records[at])
                at += 1
        self._together = together

    def _add_run(
        self, progress: PartitionProgress, records: Records, run: FastRun, start: int
    ) -> None:
        """Adds the changes of recognised records, from `start` on."""
        size = sum(map(len, filter(None, records.values[start : run.end])))
        self.report.messages += run.end - start
        self.report.bytes += size
        begin, end, share = self._range.begin, self._range.end, size // run.changes
        parts = run.parts
        if any(min(rows.commit_ts) < begin or max(rows.commit_ts) >= end for _, rows in parts):
            parts = self._within(progress, records, parts)
        for indices, rows in parts:
            offsets = [records.offsets[index] for index in indices]
            try:
                self.fold.add_many(rows, offsets, progress.number, share)
            except Exception as error:  # noqa: BLE001 - of any kind, it gets its place
                raise self._located(error, progress, progress.position) from None
        progress.position = records.offsets[run.end - 1] + 1

    def _within(self, progress: PartitionProgress, records: Records, parts: FastParts) -> FastParts:
        """Returns the changes inside the cut."""
        within = [[False] * len(indices) for indices, _ in parts]
        in_order = sorted(
            (index, number, nth)
            for number, (indices, _) in enumerate(parts)
            for nth, index in enumerate(indices)
        )
        for index, number, nth in in_order:
            rows, offset = parts[number][1], records.offsets[index]
            time, commit_ts = records.time(index), rows.commit_ts[nth]
            try:
                holds = self._range.holds(progress, rows.table, commit_ts, offset, time)
            except Stop as error:
                raise self._located(error, progress, offset) from None
            within[number][nth] = holds
        return [
            ([*compress(indices, chosen)], rows.chosen(chosen))
            for (indices, rows), chosen in zip(parts, within, strict=True)
        ]

    def feed(
        self,
        progress: PartitionProgress,
        key: bytes | None,
        value: bytes | None,
        offset: int,
        time: int,
    ) -> None:
        """Reads one record with the plain decoder. `time` is its Kafka timestamp in ms. Raises what
        the decoder raises, and `Stop`, with the record's position."""
        progress.position = offset + 1
        report, size = self.report, len(value or b"")
        report.messages += 1
        report.bytes += size
        try:
            events = self._decoded(progress, key, value, offset, time)
            share = size // max(1, len(events))
            for event in events:
                self._read_event(progress, event, offset, time, share)
            for row in self._decode.unread():
                self.read_waiting(progress, row, offset, time)
            if events:
                self._fast.learn(key, value, events)
        except Exception as error:  # noqa: BLE001 - of any kind, it gets its place
            raise self._located(error, progress, offset) from None

    def _decoded(
        self,
        progress: PartitionProgress,
        key: bytes | None,
        value: bytes | None,
        offset: int,
        time: int,
    ) -> list[Event]:
        """Returns a record's events; none if it cannot be read and its rows are replays or of a
        quarantined table."""
        try:
            return self._decode(key, value)
        except WireError as error:
            name, commit_ts = error.table, error.commit_ts
            if name is None or not self._filter.matches(*name):
                error.table = None
                raise
            if not 0 < commit_ts <= self._job.latest:
                raise
            if name in self._job.set_aside:
                self._leave_waiting(progress, name, commit_ts, offset, time)
            elif commit_ts >= self._job.begin:
                raise
            else:
                self._range.holds(progress, NO_LAYOUT, commit_ts, offset, time)
            return []

    def feed_file(
        self,
        progress: PartitionProgress,
        content: bytes,
        offset: int,
        changes: Iterable[RowChange],
    ) -> Iterator[None]:
        """Reads one file of a storage, some of its changes at a time. Raises like `feed`."""
        self.report.messages += 1
        self.report.bytes += len(content)
        share = len(content) // (content.count(b"\n") + 1)
        try:
            for number, change in enumerate(changes, 1):
                self._read_event(progress, change, offset, 0, share)
                if number % BATCH == 0:
                    yield
        except Exception as error:  # noqa: BLE001 - of any kind, it gets its place
            if not (isinstance(error, WireError) and error.table in self._job.set_aside):
                raise self._located(error, progress, offset) from None
            progress.keep(offset)  # the rest of it is unknown
        progress.position = offset + 1

    def complete(self) -> Iterator[None]:
        """Reads the rows sent as their handle key only, a statement at a time."""
        for completed in self._large.completed():
            for change, (progress, offset) in completed:
                try:
                    table = self._table((change.table.schema, change.table.name))
                    assert table is not None
                    self._add_row(progress, table, change, offset, _size(change.after))
                except Exception as error:  # noqa: BLE001 - of any kind, it gets its place
                    raise self._located(error, progress, offset) from None
            yield

    def close(self) -> pa.RecordBatch:
        """Returns the report, as the last batch of the task."""
        self._large.close()
        keep(self._fast, self._job.options, self._job.layouts, self._job.shapes)
        report, counts, replays = self.report, self.fold.counts, self._range.replays
        for name, progress in self.progress.items():
            if (restart := progress.restart) is not None:
                report.restarts[name] = restart
        report.schemas = list(self._decode.new_schemas())
        report.facts_sent = counts.sent
        for number in {*counts.facts, *replays}:
            report.tables[number] = TableCounts(
                counts.facts[number], counts.duplicates[number], replays[number]
            )
        return pack(report)

    def wants(self, name: TableName) -> bool:
        """Returns whether the filter lets the table of that name pass, now or from the cut's end
        on."""
        return self._filter.matches(*name) or self._joins(name)

    def reads(self, name: TableName) -> bool:
        """Returns whether the table's rows are read, too: it is neither quarantined nor only
        joining."""
        return self._table(name) is not None

    def _joins(self, name: TableName) -> bool:
        """Returns whether a table that the filter leaves out will pass from the cut's end on."""
        return bool(self._job.joining) and self._joining.matches(*name)

    def _keep_later(self, progress: PartitionProgress, commit_ts: int, offset: int) -> None:
        """Holds the restart offset for a joining table's row or DDL that belongs to a later cut."""
        if commit_ts >= self._job.end:
            progress.keep(offset)

    def _table(self, name: TableName) -> TableReader | None:
        """Returns the table's reader; None if the filter leaves the table out, or it is
        quarantined."""
        try:
            return self._tables[name]
        except KeyError:
            read = self._filter.matches(*name) and name not in self._job.set_aside
            table = TableReader(self._job, name) if read else None
            self._tables[name] = table
            return table

    def _located(self, error: Exception, progress: PartitionProgress, offset: int) -> TicdcError:
        """Adds the record's position to the error; an exception that is not ours becomes a
        `fault`."""
        if isinstance(error, Conflict):
            known, offset = error.known, error.fact[3]
            located(error, *self._job.partitions[known[2]], known[3])
        return located(fault(error), *progress.topic_partition, offset)

    def _read_event(
        self, progress: PartitionProgress, event: Event, offset: int, time: int, size: int
    ) -> None:
        check_ts(event, self._job.latest)
        match event:
            case RowChange():
                self._read_row(progress, event, offset, time, size)
            case Ddl():
                self.read_ddl(progress, event, offset, time)
            case Resolved(resolved_ts):
                if resolved_ts >= self._job.end:
                    progress.stop(offset, above=resolved_ts > self._job.end)

    def _read_row(
        self, progress: PartitionProgress, change: RowChange, offset: int, time: int, size: int
    ) -> None:
        table = self._table((change.table.schema, change.table.name))
        if table is None:
            self._pass_over(progress, change, offset, time)
            return
        if not self._range.holds(progress, table.number, change.commit_ts, offset, time):
            return
        if change.claim_check is not None:
            change = self._large.redeem(change)
        elif change.incomplete and change.after is not None:
            self._large.hold(change, (progress, offset))
            return
        self._add_row(progress, table, change, offset, size)

    def _pass_over(
        self, progress: PartitionProgress, change: RowChange, offset: int, time: int
    ) -> None:
        """Counts a row that is not read."""
        name, commit_ts = (change.table.schema, change.table.name), change.commit_ts
        if name in self._job.set_aside:
            self._leave_waiting(progress, name, commit_ts, offset, time)
            return
        if self._joins(name):
            self._keep_later(progress, commit_ts, offset)
        if commit_ts >= self._job.begin:
            self.report.leave_out(name)

    def _leave_waiting(
        self, progress: PartitionProgress, name: TableName, commit_ts: int, offset: int, time: int
    ) -> None:
        """Counts a row of the cut that belongs to a quarantined table; a later one holds the
        restart offset, since the table may be released before."""
        if self._range.holds(progress, NO_LAYOUT, commit_ts, offset, time):
            self.report.waiting[name] = self.report.waiting.get(name, 0) + 1

    def _add_row(
        self,
        progress: PartitionProgress,
        table: TableReader,
        change: RowChange,
        offset: int,
        size: int,
    ) -> None:
        """Adds a row of the cut, which has all of its columns unless it is a DELETE's. Errors are
        tied to its table."""
        try:
            self._add_fitting(progress, table, change, offset, size)
        except TicdcError as error:
            error.table, error.commit_ts = table.name, change.commit_ts
            raise

    def _add_fitting(
        self,
        progress: PartitionProgress,
        table: TableReader,
        change: RowChange,
        offset: int,
        size: int,
    ) -> None:
        if not table.is_exact:
            table.require_exact(change.table)
        if table.lacks_layout(change):
            if change.after is not None or table.name not in self.report.missing:
                self.report.missing[table.name] = (change.table, change.after is None)
            return
        change = table.checked(change)
        if change.corrupted:
            self._report_corrupted(progress, table, change, offset)
        self.fold.add_change(table.number, change, progress.number, offset, size)

    def _report_corrupted(
        self, progress: PartitionProgress, table: TableReader, change: RowChange, offset: int
    ) -> None:
        row = change.before if change.after is None else change.after
        key = ", ".join(f"{name}={(row or {}).get(name)!r}" for name in table.layout.key)
        problem = (
            f"{table.layout.name}: the row with key {key} of commit_ts {change.commit_ts} differs "
            "from its checksum"
        )
        if self._job.options.on_corruption == "stop":
            raise Stop(
                f'{problem}: apply it as it came by [source] on_corruption = "warn", and repair '
                "it by: ticdc-consumer verify CONFIG --repair"
            )
        self.report.corrupted += 1
        if len(self.report.corrupted_rows) < MOST_CORRUPTED:
            where = partition_text(*progress.topic_partition)
            self.report.corrupted_rows.append(f"{problem}; at {where} offset {offset}")

    def read_waiting(
        self, progress: PartitionProgress, row: Waiting, offset: int, time: int
    ) -> None:
        """Reports a row of the cut that lacks its schema. It has no layout yet."""
        check_ts(row, self._job.latest)
        name = row.schema, row.table
        if name in self._job.set_aside:
            self._leave_waiting(progress, name, row.commit_ts, offset, time)
        elif not self.reads(name):
            if self._joins(name):
                self._keep_later(progress, row.commit_ts, offset)
        elif self._range.holds(progress, NO_LAYOUT, row.commit_ts, offset, time):
            schema = (*name, row.version)
            self.report.unread.setdefault(schema, (*progress.topic_partition, offset))

    def read_ddl(self, progress: PartitionProgress, ddl: Ddl, offset: int, time: int) -> None:
        """Reports a DDL that the plan lacks, or one below R in a joining partition."""
        if not wants(self._filter, ddl):
            if self._job.joining and wants(self._joining, ddl):
                self._keep_later(progress, ddl.commit_ts, offset)
            return
        job = self._job
        if ddl.commit_ts < job.begin and progress.topic_partition in job.joined:
            self.report.stale_ddls.append(ddl)
        if not self._range.holds(progress, NO_LAYOUT, ddl.commit_ts, offset, time):
            return
        identity = (ddl.commit_ts, ddl.schema, ddl.table, ddl.query)
        if identity not in job.known_ddls:
            self.report.unknown_ddls.append(ddl)


def _size(row: Row | None) -> int:
    """Returns the approximate bytes of a row."""
    return sum(len(v) if isinstance(v, str | bytes) else 8 for v in (row or {}).values())


def read(
    job: ReadJob, spans: Sequence[Span], begun: Begun = lambda share: None
) -> Iterator[pa.RecordBatch]:
    """Reads these spans, of different partitions; yields facts, then the report. `begun` gets a
    function that returns the share read.

    An error becomes part of the report, ours or not: Spark would try the task again, and hide the
    message.
    """
    try:
        reading = Reading(job, spans)
    except Exception as error:  # noqa: BLE001 - the driver raises what is reported
        failed = Report()
        _report(failed, error)
        yield pack(failed)
        return
    begun(reading.share)
    failpoints.hit("decode")
    # Hundreds of thousands of tuples in no cycle: the collector would scan them in vain.
    collects = gc.isenabled()
    gc.disable()
    try:
        yield from staged(job.staging, job.layouts, _read(job, reading))
    except Exception as error:  # noqa: BLE001 - the driver raises what is reported
        _report(reading.report, error, reading.progress.values())
    finally:
        if collects:
            gc.enable()
    yield reading.close()


def _report(report: Report, error: Exception, read: Iterable[PartitionProgress] = ()) -> None:
    """Reports the error. One that is not ours, and of no one record, tells how far the task had
    `read`."""
    ours = fault(error)
    if ours is not error:
        for progress in read:
            where = partition_text(*progress.topic_partition)
            ours.add_note(f"after reading {where} to offset {progress.position}")
    kind = RegistryAway if isinstance(ours, RegistryError) else type(ours)
    report.error = kind.__name__, str(ours)
    report.error_table, report.error_ts = ours.table, ours.commit_ts


def _read(job: ReadJob, reading: Reading) -> Iterator[pa.RecordBatch]:
    sent = 0
    # After each step, the reading may have more facts.
    for _ in job.source.read(reading, BATCH if job.layouts else FIRST_BATCH):
        lacking = reading.report.missing or reading.report.unread
        if lacking and reading.report.messages > LOOK_AHEAD:
            return
        if reading.fold.bytes > FLUSH:
            for batch in reading.fold.flush():
                sent += batch.nbytes
                yield batch
        if job.most_bytes and sent + reading.fold.bytes > job.most_bytes:
            reading.report.too_large = True
            return
    yield from reading.fold.flush()
