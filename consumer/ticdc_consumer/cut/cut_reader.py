"""Reads the rows of a cut, by the driver or by Spark's tasks; the target is not needed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from ticdc_encoder.event import Table

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.cuts import Cut, shares
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.reconcile.chunks import Clash
from ticdc_consumer.cut.reconcile.gathered import Gathered, gather_here
from ticdc_consumer.cut.sizes import SMALL_BYTES, Sizes
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.protocols import for_tasks, protocol_of
from ticdc_consumer.protocols.protocol import latest_sane
from ticdc_consumer.protocols.shape import TableShapes
from ticdc_consumer.source import Source
from ticdc_consumer.source.marks import SeenDdl, Span, TopicPartition
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.staging import StagingJob, Unneeded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = 5_000
"""Messages up to which one task reads all partitions: a second task costs more than it saves."""

Definitions = Mapping[tuple[str, str], Table]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """A snapshot, taken when planning or reading begins, of the layouts, the scope of the cut and
    the committed R."""

    layouts: Sequence[Layout]
    shapes: TableShapes
    scope: CutScope
    committed_ts: int


class CutReader:
    """Reads the rows of cuts. One thread at a time."""

    def __init__(
        self,
        options: Settings,
        spark: SparkStarter,
        source: Source,
        sizes: Sizes,
        monitor: Monitor,
        ddls: Callable[[], Sequence[SeenDdl]],
        definitions: Callable[[], Definitions] = dict,
        staging: StagingJob | None = None,
        unneeded: Unneeded | None = None,
    ) -> None:
        """`ddls` gives the DDL seen so far, `definitions` the tables whose CREATE TABLE came
        through the stream. With `staging`, Spark's tasks write rows themselves; their staging
        tables become `unneeded` once the cut is applied or discarded."""
        self.monitor = monitor
        self._options = options
        self._spark = spark
        self._source = source
        self._sizes = sizes
        self._ddls = ddls
        self._definitions = definitions
        self._staging = staging
        self._unneeded = unneeded or Unneeded()

    def read(self, base: Checkpoint, cut: Cut, knowledge: Knowledge) -> Gathered:
        """Reads a cut with the known layouts. The report names missing layouts and DDL that the cut
        lacks. If it has `unread` rows, whose schema has not come yet, the cut must not be applied
        and the caller must tell `Planner.awaits`."""
        failpoints.hit("read")
        with self.monitor.at("reading", f"the cut up to {cut.end}"):
            gathered = self._gather(cut, partial(self._job, base, cut, knowledge))
        report = gathered.report
        if report.is_incomplete:
            gathered.release()
        self._source.schemas.learn(report.schemas)
        if report.unread:
            if not self._source.schemas.missing(report.unread):
                return self.read(base, cut, knowledge)
            return gathered
        for partition in cut.ends:
            report.restarts.setdefault(partition, cut.starts[partition])
        self._sizes.learn(report)
        return gathered

    def _job(
        self,
        base: Checkpoint,
        cut: Cut,
        knowledge: Knowledge,
        here: bool,
    ) -> ReadJob:
        known = [seen for seen in self._ddls() if seen.ddl.commit_ts < cut.end]
        most_bytes = self._options.memory_budget
        return ReadJob(
            options=self._read_options(knowledge.scope),
            source=self._source.tasks(
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
            layouts=knowledge.layouts,
            shapes=knowledge.shapes,
            most_bytes=min(most_bytes, SMALL_BYTES) if here else most_bytes,
            staging=None if here else self._staging,
            schemas=self._source.schemas.tables,
            joining=knowledge.scope.joining,
            set_aside=knowledge.scope.set_aside,
        )

    def _read_options(self, scope: CutScope) -> ReadSettings:
        options = for_tasks(self._options)
        if not scope.left_out:
            return options
        rules = options.filter or ("*.*",)
        return replace(options, filter=(*rules, *(f"!{pattern}" for pattern in scope.left_out)))

    def read_again(self, base: Checkpoint, cut: Cut, knowledge: Knowledge, clash: Clash) -> None:
        """Reads the two rows of a clash with one task, which names their key and columns. Raises
        `Stop`."""
        partitions = sorted(cut.ends)
        starts: dict[TopicPartition, int] = {}
        ends: dict[TopicPartition, int] = {}
        for number, offset in (clash.first, clash.second):
            partition = partitions[number]
            starts[partition] = min(offset, starts.get(partition, offset))
            ends[partition] = max(offset + 1, ends.get(partition, 0))
        self.read(base, replace(cut, starts=starts, ends=ends, messages=0.0), knowledge)

    def _gather(self, cut: Cut, job: Callable[[bool], ReadJob]) -> Gathered:
        """Reads a small cut in the driver, any other with Spark, including one that proves larger
        than expected. `job` takes whether the driver reads."""
        budget = self._options.memory_budget
        fits = self._sizes.estimates.fit_memory(cut.messages, budget)
        if fits and self._sizes.is_small(cut.offsets):
            gathered = self._gather_here(cut, job(True))
            if not gathered.report.too_large:
                return gathered
            self._sizes.learn(gathered.report)
            fits = budget > SMALL_BYTES
        return self._gather_by_spark(cut, job(False), fits)

    def _gather_here(self, cut: Cut, job: ReadJob) -> Gathered:
        try:
            return gather_here(job, shares(cut, 1)[0], self.monitor.reads_by)
        finally:
            self.monitor.reads(1.0)  # the driver does not hold this for it

    def _gather_by_spark(self, cut: Cut, job: ReadJob, fits: bool) -> Gathered:
        """Folds in the driver if the facts should fit its memory, otherwise, or if they do not fit
        after all, by Spark's shuffle."""
        from ticdc_consumer.cut.spark.job_progress import reporting
        from ticdc_consumer.cut.spark.session import cores

        why = self._sizes.why_spark(cut.offsets)
        with self.monitor.at("starting Spark", why):
            spark = self._spark.session(why)
        one_task = cut.offsets * self._source.rows_per_offset <= SMALL
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
            gathered = replace(jobs.gather(spark, job, groups, spill=0), unneeded=self._unneeded)
            if gathered.clash is not None and gathered.stages:
                # The facts do not show whether two rows that tasks staged are equal.
                gathered.release()
                gathered = jobs.gather(spark, alone, groups, spill=0)
            if not gathered.report.too_large:
                return gathered
            gathered.release()
            self._sizes.learn(gathered.report)
        parts = shuffle_partitions(spark, self._sizes.estimates.size(cut.messages))
        return jobs.gather(spark, replace(alone, most_bytes=0), groups, spill=parts)

    def _is_divisible(self, job: ReadJob) -> bool:
        """Returns whether several tasks may read a partition: no row needs what precedes it in its
        partition, and a row that two tasks read counts once."""
        stands_alone = protocol_of(self._options).decoder_with_schemas is None
        return job.source.gives_messages and stands_alone and not self._options.at_least_once
