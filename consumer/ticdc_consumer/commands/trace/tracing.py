"""Traces one row: every message of its key in the log, and the target's state."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from ticdc_encoder.counted import counted
from ticdc_encoder.event import Table
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.tso import physical

from ticdc_consumer.commands.trace.history import (
    Entry,
    Expected,
    expected,
    history,
    to_follow,
    with_earlier_marks,
)
from ticdc_consumer.commands.trace.row_in_target import RowInTarget, row_in_target
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.cuts import Cut, shares
from ticdc_consumer.cut.read.row_key import RowKey
from ticdc_consumer.cut.read.tracing import (
    Observation,
    TraceJob,
    TraceReport,
    quoted_rule,
    trace,
    unpacked,
)
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.errors import Retry, Unavailable, Usage
from ticdc_consumer.protocols import for_tasks, protocol_of
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source import PATIENCE, Source, TaskSource, open_source
from ticdc_consumer.source.ddl_filter import wants
from ticdc_consumer.source.marks import Mark, Span, TopicPartition
from ticdc_consumer.targets.layout import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERYTHING = 1 << 64
"""A timestamp above every commit_ts."""
TASKS_PER_CORE = 8
"""Approximate number of log parts that one core reads in turn: the progress is counted in them."""
WORTH_SEEKING = 50_000
"""Messages of a partition from which the first one of `Request.begin` is searched for."""

Report = Callable[[float], None]
"""Takes the share of the log that has been read, between 0 and 1."""


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """A request to trace changes with commit_ts in [`begin`, `end`). `follow`: read the log a
    second time for the other halves of UPDATEs that were split because the key changed."""

    table: TableName
    key: RowKey
    begin: int = 0
    end: int = EVERYTHING
    follow: bool = False
    with_values: bool = False


@dataclass(frozen=True, slots=True)
class LogPart:
    """A partition with the offsets [`begin`, `end`), read from `start` on, whose message has
    Kafka's `time` (ms, 0 if unknown)."""

    topic: str
    partition: int
    begin: int
    start: int
    end: int
    time: int


@dataclass(frozen=True, slots=True)
class RowHistory:
    """The result. `agrees`: whether the row exists in the target if and only if the log says so;
    None if one of them does not say."""

    request: TraceRequest
    log: tuple[LogPart, ...]
    entries: tuple[Entry, ...]
    report: TraceReport
    target: RowInTarget
    expected: Expected | None

    @property
    def agrees(self) -> bool | None:
        if self.expected is None or self.expected.exists is None or self.target.rows is None:
            return None
        return self.expected.exists == bool(self.target.rows)


def trace_row(
    options: Settings,
    request: TraceRequest,
    report: Report = lambda share: None,
    spark: "SparkSession | None" = None,
) -> RowHistory:
    """Reads target and log; nothing is taken over, nothing is written. Raises `Usage` for a table
    that is left out and for a key that is not the table's, `Unavailable`, `Stop`. A `spark` that is
    passed is not stopped at the end."""
    tables = TableFilter(options.filter, case_sensitive=options.case_sensitive)
    if not tables.matches(*request.table):
        raise Usage(f"{'.'.join(request.table)} is left out by [tables] filter")
    starter = SparkStarter(options.spark, "ticdc trace", spark)
    with closing(open_source(options)) as source, closing(starter):
        # The target comes first, so that the log listed afterwards has all that it has applied.
        target = row_in_target(options, request.table, request.key, request.with_values)
        return _Tracer(options, source, starter, request, report).traced(target)


class _Tracer:
    def __init__(
        self,
        options: Settings,
        source: Source,
        spark: SparkStarter,
        request: TraceRequest,
        report: Report,
    ) -> None:
        self._options, self._source, self._spark = options, source, spark
        self._request, self._report = request, report
        listing = source.list_patiently((), PATIENCE)
        self._begins = source.begins(listing.ends)
        self._ends = listing.ends
        self._starts = {name: self._start(name) for name in listing.ends}
        self._defined: Table | None = None

    def traced(self, target: RowInTarget) -> RowHistory:
        request, schemas = self._request, Schemas(self._options, target.schemas)
        self._defined = target.table
        observations, report = self._read(self._job(schemas.tables))
        if schemas.missing(report.unread):
            schemas.learn(report.schemas)
            if len(schemas.missing(report.unread)) < len(report.unread):
                observations, report = self._read(self._job(schemas.tables))
        if request.follow and (followed := to_follow(observations)):
            job = replace(self._job(schemas.tables), followed=followed)
            observations, report = self._read(job)
        if target.table is None and target.resolved_ts and report.table is not None:
            target = self._asked_again(target, report.table)
        entries = history(observations, target.resolved_ts)
        return RowHistory(
            request=request,
            log=tuple(self._log(report)),
            entries=tuple(entries),
            report=report,
            target=target,
            expected=self._expected(entries, report, target),
        )

    def _asked_again(self, target: RowInTarget, table: Table) -> RowInTarget:
        """Reads the row again, with the table that its messages show."""
        request = self._request
        again = row_in_target(self._options, request.table, request.key, request.with_values, table)
        if again.resolved_ts == target.resolved_ts:
            return again
        return replace(target, problem="a cut was committed while the log was read: trace it again")

    def _expected(
        self, entries: Sequence[Entry], report: TraceReport, target: RowInTarget
    ) -> Expected | None:
        if target.resolved_ts is None:
            return None
        if self._request.end < target.resolved_ts:
            return Expected(None, reason="--to is below R")
        if report.unreadable or report.unread:
            return Expected(None, reason="some messages could not be read")
        return expected(entries, target.resolved_ts)

    # --- the log ---------------------------------------------------------------------------------

    def _start(self, name: TopicPartition) -> int:
        """The offset to read a partition from: nothing of `begin` or later precedes it."""
        low, high = self._begins.get(name, 0), self._ends[name]
        bound = physical(self._request.begin) - self._options.clock_skew * 1000
        while self._request.begin and high - low > WORTH_SEEKING:
            middle = (low + high) // 2
            record = self._source.record_at(name, middle, PATIENCE)
            if record is None or record.time >= bound:
                high = middle
            else:
                low = middle
        return low

    def _job(self, schemas: tuple[Table, ...]) -> TraceJob:
        request = self._request
        return TraceJob(
            options=for_tasks(self._options),
            source=self._tasks(),
            partitions=tuple(sorted(self._ends)),
            ends=self._ends,
            table=request.table,
            key=request.key,
            begin=request.begin,
            end=request.end,
            defined=self._defined,
            schemas=schemas,
            with_values=request.with_values,
        )

    def _tasks(self) -> TaskSource:
        return self._source.tasks(EVERYTHING, (), {})

    def _read(self, job: TraceJob) -> tuple[list[Observation], TraceReport]:
        cut = Cut(0, job.end, Mark(job.end), self._starts, self._ends, {})
        messages = cut.offsets * self._source.rows_per_offset
        if messages < self._options.spark_from_messages:
            records = self._read_here(job, shares(cut, 1)[0], max(1, cut.offsets))
        else:
            records = self._read_by_spark(job, cut, round(messages))
        observations, report = unpacked(records)
        partitions = job.partitions
        marks = [(partitions[number], start, mark) for number, start, mark, _ in report.spans]
        observations = with_earlier_marks(observations, marks)
        if not job.source.gives_messages:
            observations += self._ddls_beside(job)
        return observations, report

    def _read_here(self, job: TraceJob, spans: Sequence[Span], offsets: int) -> pa.Table:
        def read(messages: int) -> None:
            self._report(messages / offsets)

        return pa.Table.from_batches(trace(job, spans, read))

    def _read_by_spark(self, job: TraceJob, cut: Cut, messages: int) -> pa.Table:
        session = self._spark.session(f"to read {counted(messages, 'message')}")
        from ticdc_consumer.cut.spark.session import cores
        from ticdc_consumer.cut.spark.traces import trace_on_spark

        stands_alone = protocol_of(self._options).decoder_with_schemas is None
        divisible = job.source.gives_messages and stands_alone
        groups = shares(cut, cores(session) * TASKS_PER_CORE, divisible)
        try:
            return trace_on_spark(session, job, groups, self._report)
        except Retry as error:
            raise Unavailable(str(error)) from error

    def _ddls_beside(self, job: TraceJob) -> list[Observation]:
        """The DDL of a storage, which are no messages but have their own files."""
        schema, table = job.table
        tables = TableFilter((f"{quoted_rule(schema)}.{quoted_rule(table)}",))
        return [
            Observation(
                seen.topic, 0, seen.offset, 0, seen.ddl.commit_ts, "ddl", query=seen.ddl.query
            )
            for seen in self._source.ddls()
            if wants(tables, seen.ddl) and job.begin <= seen.ddl.commit_ts < job.end
        ]

    def _log(self, report: TraceReport) -> list[LogPart]:
        times: Mapping[tuple[int, int], int] = {
            (number, start): time for number, start, _, time in report.spans
        }
        return [
            LogPart(
                *name,
                self._begins.get(name, 0),
                self._starts[name],
                self._ends[name],
                times.get((number, self._starts[name]), 0),
            )
            for number, name in enumerate(sorted(self._ends))
        ]
