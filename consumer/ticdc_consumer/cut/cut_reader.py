"""From a checkpoint to a cut that was read; the target is not needed for it.

So the next cut can be read while this one is loaded.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

from ticdc_encoder.counted import counted
from ticdc_encoder.event import Ddl, Table
from ticdc_encoder.filters.table import TableFilter

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.cut.cuts import (
    Cut,
    Estimates,
    choose,
    end_of_cut,
    lag_of,
    messages_before,
    shares,
)
from ticdc_consumer.cut.opening import Opened
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.report import Report
from ticdc_consumer.cut.reconcile.chunks import Clash
from ticdc_consumer.cut.reconcile.gathered import Gathered, gather_here
from ticdc_consumer.cut.shared_cuts import Together, creates
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.ddl.quarantined import relation
from ticdc_consumer.errors import LOAD_ANEW, SchemaMissing, Stop, about
from ticdc_consumer.protocols import for_tasks, protocol_of
from ticdc_consumer.protocols.protocol import latest_sane
from ticdc_consumer.protocols.schemas import SchemaKey, Schemas
from ticdc_consumer.protocols.shape import TableShapes
from ticdc_consumer.source import PATIENCE, Source, Survey
from ticdc_consumer.source.ddl_filter import wants
from ticdc_consumer.source.listing import Listing
from ticdc_consumer.source.log import Log, gaps_since, require
from ticdc_consumer.source.marks import Mark, SeenDdl, Span, TopicPartition
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.status.activity.activity import CutActivity
from ticdc_consumer.status.activity.monitor import FOR_LOAD, FOR_MARK, FOR_SCHEMA, Monitor
from ticdc_consumer.targets.layout import Layout, TableName
from ticdc_consumer.targets.staging import StagingJob, Unneeded
from ticdc_consumer.waiting import Deadline, sleep

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

MARKLESS = 60.0
"""Seconds to wait for a changefeed's first resolved ts after its first rows."""
SMALL = 5_000
"""Messages up to which one task reads all partitions: a second task costs more than it saves."""
SMALL_BYTES = 16 << 20
"""Bytes of messages, and of their facts, up to which the driver reads a cut itself."""


EVERYTHING = 1 << 64
"""Above every timestamp."""

Definitions = Mapping[tuple[str, str], Table]


class Reader:
    """Plans cuts and reads them. One thread at a time."""

    def __init__(
        self,
        options: Settings,
        spark: SparkStarter,
        source: Source,
        definitions: Callable[[], Definitions] = dict,
        schemas: Iterable[Table] = (),
        together: Together | None = None,
        monitor: Monitor | None = None,
        staging: StagingJob | None = None,
    ) -> None:
        """`definitions` are the tables whose CREATE TABLE came through the stream, `schemas`
        Simple's that the target holds; `together` may be DDL of one cut, else each has its own.
        By `staging` tasks of Spark write rows themselves; what they wrote is then `unneeded` once
        the cut was applied, or thrown away."""
        self.source = source
        self.monitor = monitor or Monitor()
        self.together = together or Together()
        self.source.schemas.learn(schemas)
        self.source.survey_by(lambda: self._look if self._spark.ready else None)
        self.leave_out: tuple[str, ...] = ()
        """Patterns of tables whose rows are not read, but whose DDL are."""
        self.holds: Callable[[Ddl], bool] = lambda ddl: False
        """Whether a DDL has to wait: no cut goes past it."""
        self.joining: tuple[str, ...] = ()
        """The rules of a wider filter, which is to hold after the cuts that are read now."""
        self.set_aside: frozenset[TableName] = frozenset()
        """Tables that wait: neither their rows nor their DDL are read."""
        self.released: TableName | None = None
        """The only table that is read, and of whose DDL alone cuts are made."""
        self.committed_ts = EVERYTHING
        """The R that is committed: a cut that was read ahead of it may have to be read again."""
        self._options = options
        self._spark = spark
        self._definitions = definitions
        self._filter = TableFilter(options.filter, case_sensitive=options.case_sensitive)
        self._estimates = Estimates(source.rows_per_offset)
        self._bytes_per_offset = 0.0  # of the cut before
        self._staging = staging
        self.unneeded = Unneeded()
        self._unread: dict[SchemaKey, tuple[str, int, int]] = {}
        self._unread_since = 0.0
        self._ddl_comes_next = False  # one that has to wait

    @classmethod
    def of(
        cls,
        options: Settings,
        spark: SparkStarter,
        opened: Opened,
        definitions: Callable[[], Definitions],
        together: Together | None = None,
        staging: StagingJob | None = None,
    ) -> Self:
        """That of a target and a source that were opened."""
        schemas = opened.state.schemas.values()
        monitor = opened.monitor
        return cls(options, spark, opened.source, definitions, schemas, together, monitor, staging)

    @property
    def schemas(self) -> Schemas:
        return self.source.schemas

    def plan(self, base: Checkpoint, until: int | None, wait: float) -> Cut | None:
        """The next cut, or None if no mark above the applied R came within `wait` seconds."""
        failpoints.hit("S2")
        self._ddl_comes_next = False
        self._drain(base, wait)
        if self._schemas_are_missing(base, wait):
            self._waits(self._lacking())
            return None
        if not any(mark.resolved_ts > base.resolved_ts for mark in self.source.marks):
            if not base.mark_time:
                self.source.require_marks(MARKLESS)
            self._waits(FOR_MARK)
            return None
        # Listed after the marks were seen: nothing below any of them is outside.
        with self.monitor.at("planning", "the next cut"):
            cut = self._planned(base, until)
        if cut is None and self._ddl_comes_next:
            self._waits(FOR_LOAD)
            sleep(wait)
        return cut

    def _waits(self, lacking: str) -> None:
        self.monitor.waiting(self.source.newest, self._tops(), lacking, self.source.trouble)

    def _lacking(self) -> str:
        """What the last cut that was read waits for."""
        (schema, table, version), (topic, number, offset) = next(iter(self._unread.items()))
        return (
            f"{FOR_SCHEMA} {version} of the schema of {schema}.{table}, which the row at "
            f"{topic}[{number}] offset {offset} has"
        )

    def _tops(self) -> dict[str, int]:
        return {topic: mark.resolved_ts for topic, mark in self.source.top.items()}

    def _planned(self, base: Checkpoint, until: int | None) -> Cut | None:
        """The cut up to a mark that was seen."""
        applied = base.resolved_ts
        listing = self.source.list_patiently(base.positions, PATIENCE)
        starts, joined = self._starts(base, listing)
        lag = lag_of(starts, listing.ends)
        most_rows = self._estimates.most_rows(lag, self._options.rows_per_epoch)
        proof = choose(
            applied,
            self.source.marks,
            lambda mark: self._estimates.fit_cut(
                messages_before(mark, starts, listing.ends, lag),
                most_rows,
                self._options.memory_budget,
            ),
        )
        if proof is None:
            return None
        reach = proof.resolved_ts if until is None else min(proof.resolved_ts, until)
        if reach <= applied:
            return None
        heads = {topic: listing.ends[topic, 0] for topic in listing.topics}
        self.source.read_to(reach, heads, PATIENCE)
        selected = [seen for seen in self._ddls() if not self.is_of_another_run(seen.ddl)]
        reach = self._before_joined(applied, reach, selected)
        reach = self._reach_before_waiting(selected, applied, reach)
        self._ddl_comes_next = reach <= applied
        if self._ddl_comes_next:
            return None
        end, ddls = end_of_cut(applied, reach, selected, self.together.limit, creates)
        failpoints.hit("S6")
        last: Sequence[Mark | SeenDdl] = ddls or [proof]
        messages = max(messages_before(record, starts, listing.ends, lag) for record in last)
        cut = Cut(
            applied,
            end,
            proof,
            starts,
            listing.ends,
            listing.topic_ids,
            joined,
            tuple(ddls),
            messages,
        )
        self.monitor.planned(activity_of(cut), listing.ends, self._tops())
        logger.debug(
            "the next cut goes from %d to %d, with about %d messages",
            applied,
            end,
            messages,
            extra={
                "event": "cut",
                "begin_ts": applied,
                "end_ts": end,
                "messages": round(messages),
                "ddl": len(ddls),
            },
        )
        return cut

    def _reach_before_waiting(self, ddls: Iterable[SeenDdl], applied: int, reach: int) -> int:
        """How far a cut may go: not past a DDL that has to wait."""
        inside = (seen.ddl for seen in ddls if applied <= seen.ddl.commit_ts < reach)
        return min([reach, *(ddl.commit_ts for ddl in inside if self.holds(ddl))])

    def begin_without(self, tables: Collection[SetAside]) -> None:
        """These are quarantined already."""
        self.set_aside = frozenset(table.name for table in tables)
        self.monitor.begins_without(tables)

    def leave_aside(self, name: TableName, resolved_ts: int, cause: str) -> None:
        """Reads a table no more."""
        self.set_aside |= {name}
        self._unread = {}
        self.monitor.sets_aside(name, resolved_ts, cause)

    def _ddls(self) -> list[SeenDdl]:
        return [seen for seen in self.source.ddls() if wants(self._filter, seen.ddl)]

    def is_of_another_run(self, ddl: Ddl) -> bool:
        """Whether the DDL is left to another run: it waits with a table that is quarantined, or it
        is not of the one that is released."""
        if self.released is not None:
            return relation(ddl, {self.released}) == "apart"
        return bool(self.set_aside) and relation(ddl, self.set_aside) == "alone"

    def _before_joined(self, applied: int, reach: int, ddls: Iterable[SeenDdl]) -> int:
        """The reach of a cut: before the first DDL that is of a quarantined table and of something
        else. Raises `Stop` if that one is next."""
        tables = self.set_aside if self.released is None else {self.released}
        joined = [
            seen.ddl
            for seen in ddls
            if applied <= seen.ddl.commit_ts < reach
            if tables and relation(seen.ddl, tables) == "joined"
        ]
        first = min(joined, key=lambda ddl: ddl.commit_ts, default=None)
        if first is None:
            return reach
        if first.commit_ts > applied:
            return first.commit_ts
        name = next(each for each in sorted(tables) if relation(first, {each}) != "apart")
        raise Stop(
            f"{' '.join(first.query.split())} (in {first.schema or '-'}, commit_ts "
            f"{first.commit_ts}) involves a quarantined table and something else: release the "
            f"table first by: ticdc-consumer release CONFIG {'.'.join(name)}"
        )

    def greatest_mark(self, base: Checkpoint) -> int:
        """The greatest resolved ts that the source has now."""
        self._read_to_ends(base)
        if not base.mark_time:
            self.source.require_marks(0.0)
        return max([base.resolved_ts, *(mark.resolved_ts for mark in self.source.marks)])

    def _read_to_ends(self, base: Checkpoint) -> None:
        """Reads partition 0 of every topic as far as the brokers have it now. Raises `Unavailable`
        if they do not answer."""
        listing = self.source.list_patiently((), PATIENCE)
        self.source.follow({topic: _start(base, (topic, 0)) for topic in listing.topics})
        lag = sum(end - _start(base, partition) for partition, end in listing.ends.items())
        if lag and not self._is_small(lag):
            self._spark.begin(self._why_spark(lag))  # while partition 0 is read
        heads = {topic: listing.ends[topic, 0] for topic in listing.topics}
        self.source.read_to(EVERYTHING, heads, PATIENCE)

    def read(
        self,
        base: Checkpoint,
        cut: Cut,
        layouts: Sequence[Layout],
        shapes: TableShapes,
    ) -> Gathered:
        """Reads a cut with the given layouts; the report names those that are missing, and DDL that
        the cut does not have. If it has `unread` rows, whose schema has not come yet, the cut is
        not to be applied: `plan` gives none before the schema has come."""
        failpoints.hit("S3")
        with self.monitor.at("reading", f"the cut up to {cut.end}"):
            gathered = self._gather(cut, partial(self._job, base, cut, layouts, shapes))
        report = gathered.report
        if report.is_incomplete:
            gathered.release()
        self.schemas.learn(report.schemas)
        if report.unread:
            if not self.schemas.missing(report.unread):
                return self.read(base, cut, layouts, shapes)
            self._unread, self._unread_since = report.unread, time.monotonic()
            return gathered
        for partition in cut.ends:
            report.restarts.setdefault(partition, cut.starts[partition])
        self._estimate(report)
        return gathered

    def _job(
        self,
        base: Checkpoint,
        cut: Cut,
        layouts: Sequence[Layout],
        shapes: TableShapes,
        here: bool,
    ) -> ReadJob:
        known = [seen for seen in self._ddls() if seen.ddl.commit_ts < cut.end]
        most_bytes = self._options.memory_budget
        return ReadJob(
            options=self._read_options(),
            source=self.source.tasks(
                cut.end,
                {seen.ddl.commit_ts for seen in known},
                self._definitions(),
                here=here,
            ),
            begin=cut.begin,
            end=cut.end,
            latest=latest_sane(self._options),
            partitions=tuple(sorted(cut.ends)),
            ends=cut.ends,
            joined=cut.joined,
            proof_time=base.mark_time,
            known_ddls=frozenset(seen.identity for seen in known),
            layouts=layouts,
            shapes=shapes,
            most_bytes=min(most_bytes, SMALL_BYTES) if here else most_bytes,
            staging=None if here else self._staging,
            schemas=self.schemas.tables,
            joining=self.joining,
            set_aside=self.set_aside,
        )

    def _read_options(self) -> ReadSettings:
        options = for_tasks(self._options)
        if not self.leave_out:
            return options
        rules = options.filter or ("*.*",)
        return replace(options, filter=(*rules, *(f"!{pattern}" for pattern in self.leave_out)))

    def read_again(
        self,
        base: Checkpoint,
        cut: Cut,
        layouts: Sequence[Layout],
        shapes: TableShapes,
        clash: Clash,
    ) -> None:
        """Reads the two rows of a clash by one task, which names their key and columns. Raises
        `Stop`."""
        partitions = sorted(cut.ends)
        starts: dict[TopicPartition, int] = {}
        ends: dict[TopicPartition, int] = {}
        for number, offset in (clash.first, clash.second):
            partition = partitions[number]
            starts[partition] = min(offset, starts.get(partition, offset))
            ends[partition] = max(offset + 1, ends.get(partition, 0))
        self.read(base, replace(cut, starts=starts, ends=ends, messages=0.0), layouts, shapes)

    def _gather(self, cut: Cut, job: Callable[[bool], ReadJob]) -> Gathered:
        """By the driver if the cut is small, else by Spark; also if it turns out not to be. `job`
        takes whether it is for the driver."""
        budget = self._options.memory_budget
        fits = self._estimates.fit_memory(cut.messages, budget)
        if fits and self._is_small(cut.offsets):
            gathered = self._gather_here(cut, job(True))
            if not gathered.report.too_large:
                return gathered
            self._estimate(gathered.report)
            fits = budget > SMALL_BYTES
        return self._gather_by_spark(cut, job(False), fits)

    def _gather_here(self, cut: Cut, job: ReadJob) -> Gathered:
        try:
            return gather_here(job, shares(cut, 1)[0], self.monitor.reads_by)
        finally:
            self.monitor.reads(1.0)  # and what was read is not held for it

    def _gather_by_spark(self, cut: Cut, job: ReadJob, fits: bool) -> Gathered:
        """Folded by the driver if the facts should fit its memory, else by Spark's shuffle; also if
        they turn out not to fit."""
        from ticdc_consumer.cut.spark.job_progress import reporting
        from ticdc_consumer.cut.spark.session import cores

        why = self._why_spark(cut.offsets)
        with self.monitor.at("starting Spark", why):
            spark = self._spark.session(why)
        one_task = cut.offsets * self.source.rows_per_offset <= SMALL
        groups = shares(cut, 1 if one_task else cores(spark), self._is_divisible(job))
        self.monitor.reads(0.0)
        with reporting(spark, len(groups), self.monitor.reads):
            return self._gather_groups(spark, cut, job, groups, fits)

    def _gather_groups(
        self,
        spark: "SparkSession",
        cut: Cut,
        job: ReadJob,
        groups: Sequence[Sequence[Span]],
        fits: bool,
    ) -> Gathered:
        from ticdc_consumer.cut.spark import jobs
        from ticdc_consumer.cut.spark.session import shuffle_partitions

        alone = replace(job, staging=None)
        if fits:
            gathered = jobs.gather(spark, job, groups, spill=0)
            gathered.unneeded = self.unneeded
            if gathered.clash is not None and gathered.stages:
                # Whether two rows that tasks staged are the same does not show here.
                gathered.release()
                gathered = jobs.gather(spark, alone, groups, spill=0)
            if not gathered.report.too_large:
                return gathered
            gathered.release()
            self._estimate(gathered.report)
        parts = shuffle_partitions(spark, self._estimates.size(cut.messages))
        return jobs.gather(spark, replace(alone, most_bytes=0), groups, spill=parts)

    def _look(self, survey: Survey) -> "pa.Table":
        """Has tasks look for marks and DDL."""
        from ticdc_consumer.cut.spark import jobs

        return jobs.look(self._spark.session("to look for resolved ts"), survey)

    def _is_divisible(self, job: ReadJob) -> bool:
        """Whether several tasks may read a partition: none of its rows needs what came before it in
        its partition, and one that two of them read counts once."""
        stands_alone = protocol_of(self._options).decoder_with_schemas is None
        return job.source.gives_messages and stands_alone and not self._options.at_least_once

    def _is_small(self, offsets: int) -> bool:
        """Whether the driver should read so many offsets itself."""
        messages = offsets * self.source.rows_per_offset
        size = offsets * self._bytes_per_offset
        return messages < self._options.spark_from_messages and size <= SMALL_BYTES

    def _why_spark(self, offsets: int) -> str:
        """Goes on the sentence "starting Spark"."""
        messages = round(offsets * self.source.rows_per_offset)
        most = self._options.spark_from_messages
        if messages >= most:
            return f"to read {counted(messages, 'message')} ([spark] from_messages = {most:,})"
        return f"to read {counted(messages, 'large message')}"

    def _estimate(self, report: Report) -> None:
        rows = sum(counts.facts + counts.replays for counts in report.tables.values())
        self._estimates = self._estimates.after(report.messages, rows, report.bytes)
        if report.messages:
            self._bytes_per_offset = report.bytes / report.messages

    def _drain(self, base: Checkpoint, wait: float) -> None:
        """Reads partition 0 of every topic: what has come, or until a cut is full."""
        self.source.forget(min(base.resolved_ts, self.committed_ts))
        heads = {topic: p.restart_offset for (topic, n), p in base.positions.items() if n == 0}
        self.source.follow(heads)
        deadline = Deadline(wait)
        while True:
            read = self.source.poll(0)
            ahead = max((self.source.position(t) - start for t, start in heads.items()), default=0)
            has_mark = any(mark.resolved_ts > base.resolved_ts for mark in self.source.marks)
            if has_mark and (read == 0 or ahead > self._options.rows_per_epoch):
                return
            if read == 0:
                if not deadline.left:
                    return
                self.source.poll(min(deadline.left, 0.1))

    def _schemas_are_missing(self, base: Checkpoint, wait: float) -> bool:
        """Whether the last cut that was read still lacks a schema. Raises `Stop` if the log has
        ended, and none came for `limits.schema_wait`."""
        if not self._unread:
            return False
        more = self.source.poll(wait)
        patience = self._options.schema_wait
        is_over = not more and time.monotonic() - self._unread_since >= patience
        if is_over and self.schemas.missing(self._unread):
            self._read_to_ends(base)  # brokers that were silent may have it
        missing = self.schemas.missing(self._unread)
        if not missing:
            self._unread = {}
            return False
        if is_over:
            schema, table, version = missing[0]
            topic, number, offset = self._unread[missing[0]]
            with about((schema, table)):
                raise SchemaMissing(
                    f"{schema}.{table}: {topic}[{number}] offset {offset} has a row of version "
                    f"{version} of its schema, which no message brought for {patience:g} s; the "
                    "changefeed repeats the newest by send-bootstrap-interval-in-sec and "
                    f"send-bootstrap-in-msg-count; if an older one is missing, {LOAD_ANEW}"
                )
        return True

    def _starts(
        self, base: Checkpoint, listing: Listing
    ) -> tuple[dict[TopicPartition, int], frozenset[TopicPartition]]:
        """Where each listed partition is read from, and those that join. Raises `Stop`."""
        new = sorted(set(listing.ends) - set(base.positions))
        log = Log(listing, self.source.begins(new) if new else {})
        expected = self.source.expected(base.positions)
        require(gaps_since(base.positions, base.resolved_ts, log, expected))
        starts = {
            partition: position.restart_offset
            for partition, position in base.positions.items()
            if partition in listing.ends
        }
        starts.update(dict.fromkeys(new, 0))
        self.source.follow({topic: 0 for topic, number in new if number == 0})
        return starts, frozenset(new if self.source.listing_may_lag else ())


def activity_of(cut: Cut) -> CutActivity:
    return CutActivity(cut.begin, cut.end, round(cut.messages), len(cut.ddls))


def _start(base: Checkpoint, topic_partition: TopicPartition) -> int:
    """Where a partition is read from; one that joins, from its beginning."""
    position = base.positions.get(topic_partition)
    return position.restart_offset if position else 0
