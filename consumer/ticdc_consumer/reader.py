"""From a checkpoint to a cut that was read; the target is not needed for it.

So the next cut can be read while this one is loaded.
"""

import operator
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession
from ticdc_encoder.event import Table
from ticdc_encoder.filters.table import TableFilter

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Options
from ticdc_consumer.config.reading import ReadOptions
from ticdc_consumer.errors import Stop
from ticdc_consumer.plan import (
    Cut,
    Estimates,
    choose,
    end_of_cut,
    messages_before,
    shares,
)
from ticdc_consumer.protocols import for_tasks
from ticdc_consumer.protocols.pickled_once import PickledOnce
from ticdc_consumer.protocols.protocol import latest_sane
from ticdc_consumer.protocols.schemas import SchemaKey, Schemas
from ticdc_consumer.protocols.shape import TableShapes
from ticdc_consumer.read.job import ReadJob
from ticdc_consumer.read.report import Report
from ticdc_consumer.reconcile.chunks import Clash
from ticdc_consumer.source import PATIENCE, Source
from ticdc_consumer.source.ddl_filter import wants
from ticdc_consumer.source.listing import Listing
from ticdc_consumer.source.log import Log, gaps_since, require
from ticdc_consumer.source.marks import Mark, SeenDdl, TopicPartition
from ticdc_consumer.spark.jobs import Gathered, gather
from ticdc_consumer.spark.session import cores, shuffle_partitions
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.waiting import Deadline

MARKLESS = 60.0
"""Seconds to wait for a changefeed's first resolved ts after its first rows."""
SMALL = 5_000
"""Messages up to which one task reads all partitions: a second task costs more than it saves."""


EVERYTHING = 1 << 64
"""Above every timestamp."""

Definitions = Mapping[tuple[str, str], Table]


class Reader:
    """Plans cuts and reads them. One thread at a time."""

    def __init__(
        self,
        options: Options,
        spark: SparkSession,
        source: Source,
        definitions: Callable[[], Definitions] = dict,
        schemas: Iterable[Table] = (),
    ) -> None:
        """`definitions` are the tables whose CREATE TABLE came through the stream, `schemas`
        Simple's that the target holds."""
        self.source = source
        self.source.schemas.learn(schemas)
        self.leave_out: tuple[str, ...] = ()
        """Patterns of tables whose rows are not read, but whose DDL are."""
        self._options = options
        self._spark = spark
        self._definitions = definitions
        self._filter = TableFilter(options.filter, case_sensitive=options.case_sensitive)
        self._layouts: PickledOnce[Layout] = PickledOnce()
        self._estimates = Estimates(source.rows_per_offset)
        self._unread: dict[SchemaKey, tuple[str, int, int]] = {}
        self._unread_since = 0.0

    @property
    def schemas(self) -> Schemas:
        return self.source.schemas

    def plan(self, base: Checkpoint, until: int | None, wait: float) -> Cut | None:
        """The next cut, or None if no mark above the applied R came within `wait` seconds."""
        applied = base.resolved_ts
        failpoints.hit("S2")
        self._drain(base, wait)
        if self._schemas_are_missing(wait):
            return None
        if not any(mark.resolved_ts > applied for mark in self.source.marks):
            if not base.mark_time:
                self.source.require_marks(MARKLESS)
            return None
        # Listed after the marks were seen: nothing below any of them is outside.
        listing = self.source.list_patiently(base.positions, PATIENCE)
        starts, joined = self._starts(base, listing)
        proof = choose(
            applied,
            self.source.marks,
            lambda mark: self._estimates.fit_cut(
                messages_before(mark, starts, listing.ends),
                self._options.rows_per_epoch,
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
        selected = [seen for seen in self.source.ddls() if wants(self._filter, seen.ddl)]
        end, ddls = end_of_cut(applied, reach, selected)
        failpoints.hit("S6")
        last: Sequence[Mark | SeenDdl] = ddls or [proof]
        messages = max(messages_before(record, starts, listing.ends) for record in last)
        return Cut(
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

    def greatest_mark(self, base: Checkpoint) -> int:
        """The greatest resolved ts that the source has now."""
        listing = self.source.list_patiently((), PATIENCE)
        self.source.follow(
            {
                topic: base.positions[topic, 0].restart_offset
                if (topic, 0) in base.positions
                else 0
                for topic in listing.topics
            }
        )
        heads = {topic: listing.ends[topic, 0] for topic in listing.topics}
        self.source.read_to(EVERYTHING, heads, PATIENCE)
        if not base.mark_time:
            self.source.require_marks(0.0)
        return max([base.resolved_ts, *(mark.resolved_ts for mark in self.source.marks)])

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
        small = cut.offsets * self.source.rows_per_offset <= SMALL
        groups = shares(cut, 1 if small else cores(self._spark))
        partitions = tuple(sorted(cut.ends))
        known = [seen for seen in self.source.ddls() if wants(self._filter, seen.ddl)]
        job = ReadJob(
            options=self._read_options(),
            source=self.source.tasks(
                cut.end, {seen.ddl.commit_ts for seen in known}, self._definitions()
            ),
            begin=cut.begin,
            end=cut.end,
            latest=latest_sane(self._options),
            partitions=partitions,
            starts=cut.starts,
            ends=cut.ends,
            joined=cut.joined,
            proof_time=base.mark_time,
            known_ddls=frozenset(seen.identity for seen in known),
            layouts=self._lasting(layouts),
            shapes=dict(shapes),
            most_bytes=self._options.memory_budget,
            schemas=self.schemas.tables,
        )
        failpoints.hit("S3")
        gathered = self._gather(job, groups, cut.messages)
        report = gathered.report
        self.schemas.learn(report.schemas)
        if report.unread:
            if not self.schemas.missing(report.unread):
                return self.read(base, cut, layouts, shapes)
            self._unread, self._unread_since = report.unread, time.monotonic()
            return gathered
        for partition in partitions:
            report.restarts.setdefault(partition, cut.starts[partition])
        self._estimate(report)
        return gathered

    def _lasting(self, layouts: Sequence[Layout]) -> PickledOnce[Layout]:
        """The same as for the job before, if they are."""
        same = len(layouts) == len(self._layouts)
        if not same or any(map(operator.is_not, layouts, self._layouts)):
            self._layouts = PickledOnce(layouts)
        return self._layouts

    def _read_options(self) -> ReadOptions:
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

    def _gather(self, job: ReadJob, groups: Sequence[Sequence[int]], messages: float) -> Gathered:
        """In memory if the facts should fit, else by Spark's shuffle; also if they turn out not to
        fit."""
        if self._estimates.fit_memory(messages, self._options.memory_budget):
            gathered = gather(self._spark, job, groups, spill=0)
            if not gathered.report.too_large:
                return gathered
            self._estimate(gathered.report)
        parts = shuffle_partitions(self._spark, self._estimates.size(messages))
        return gather(self._spark, replace(job, most_bytes=0), groups, spill=parts)

    def _estimate(self, report: Report) -> None:
        rows = sum(counts.facts + counts.replays for counts in report.tables.values())
        self._estimates = self._estimates.after(report.messages, rows, report.bytes)

    def _drain(self, base: Checkpoint, wait: float) -> None:
        """Reads partition 0 of every topic: what has come, or until a cut is full."""
        self.source.forget(base.resolved_ts)
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

    def _schemas_are_missing(self, wait: float) -> bool:
        """Whether the last cut that was read still lacks a schema. Raises `Stop` if the log has
        ended, and none came for `limits.schema_wait`."""
        if not self._unread:
            return False
        more = self.source.poll(wait)
        missing = self.schemas.missing(self._unread)
        if not missing:
            self._unread = {}
            return False
        patience = self._options.schema_wait
        if not more and time.monotonic() - self._unread_since >= patience:
            schema, table, version = missing[0]
            topic, number, offset = self._unread[missing[0]]
            raise Stop(
                f"{schema}.{table}: {topic}[{number}] offset {offset} has a row of version "
                f"{version} of its schema, which no message brought for {patience:g} s; the "
                "changefeed repeats the newest by send-bootstrap-interval-in-sec and "
                "send-bootstrap-in-msg-count; if an older one is missing, load a new snapshot "
                "and start from it"
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
