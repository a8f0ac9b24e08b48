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
from ticdc_consumer.errors import Stop
from ticdc_consumer.pickled_once import PickledOnce
from ticdc_consumer.plan import Cut, Mark, Place, choose, end_of_cut, spread
from ticdc_consumer.protocols.protocol import latest_sane
from ticdc_consumer.protocols.schemas import SchemaKey, Schemas
from ticdc_consumer.protocols.shape import TableShapes
from ticdc_consumer.read.job import ReadJob
from ticdc_consumer.reconcile.chunks import Clash
from ticdc_consumer.source.ddl_filter import wants
from ticdc_consumer.source.kafka.brokers import Cluster, Listing
from ticdc_consumer.source.kafka.scout import Scout
from ticdc_consumer.source.storage.source import StorageSource
from ticdc_consumer.spark.jobs import Gathered, gather
from ticdc_consumer.spark.session import cores
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.targets.layout import Layout

PATIENCE = 30.0
"""Seconds that brokers may take to list all partitions, or to give what they listed."""
MARKLESS = 60.0
"""Seconds that a changefeed's first resolved ts is waited for behind its first rows."""
SMALL = 5_000
"""Messages up to which one task reads all partitions: a second task costs more than it saves."""


Definitions = Mapping[tuple[str, str], Table]


class Reader:
    """Plans cuts and reads them. One thread at a time."""

    def __init__(
        self,
        options: Options,
        spark: SparkSession,
        cluster: Cluster | StorageSource,
        definitions: Callable[[], Definitions] = dict,
        schemas: Iterable[Table] = (),
    ) -> None:
        """`definitions` are the tables whose CREATE TABLE came through the stream, `schemas`
        Simple's that the target holds."""
        self._options = options
        self._spark = spark
        self._cluster = cluster
        self._definitions = definitions
        self._filter = TableFilter(options.filter, case_sensitive=options.case_sensitive)
        self._bytes_per_message = 0.0
        self._layouts: PickledOnce[Layout] = PickledOnce()
        self.schemas = Schemas(options, schemas)
        # A storage is listed and followed by one.
        self.scout = cluster if isinstance(cluster, StorageSource) else Scout(options, self.schemas)
        self._rows_per_message = self.scout.rows_per_offset
        self.leave_out: tuple[str, ...] = ()
        """Patterns of tables whose rows are not read; their DDL are."""
        self._unread: dict[SchemaKey, tuple[str, int, int]] = {}
        self._unread_since = 0.0

    def close(self) -> None:
        self.scout.close()

    def plan(self, base: Checkpoint, until: int | None, wait: float) -> Cut | None:
        """The next cut, or None where no mark above the applied R came within `wait` seconds."""
        applied = base.resolved_ts
        failpoints.hit("S2")
        self._drain(base, wait)
        if self._schemas_are_missing(wait):
            return None
        if not any(mark.resolved_ts > applied for mark in self.scout.marks):
            if not base.mark_time:
                self.scout.require_marks(
                    MARKLESS, lambda: self._cluster.list_patiently((), PATIENCE)
                )
            return None
        # Listed after the marks were seen: nothing below any of them lies outside.
        listing = self._cluster.list_patiently(base.positions, PATIENCE)
        starts, joined = self._starts(base, listing)
        proof = choose(
            applied,
            self.scout.marks,
            lambda mark: self._rows_before(mark, starts, listing),
            self._options.rows_per_epoch,
        )
        if proof is None:
            return None
        reach = proof.resolved_ts if until is None else min(proof.resolved_ts, until)
        if reach <= applied:
            return None
        heads = {topic: listing.ends[topic, 0] for topic in listing.topics}
        self.scout.read_to(reach, heads, PATIENCE)
        wanted = [seen for seen in self.scout.ddls() if wants(self._filter, seen.ddl)]
        end, ddls = end_of_cut(applied, reach, wanted)
        failpoints.hit("S6")
        return Cut(
            applied, end, proof, starts, listing.ends, listing.topic_ids, joined, tuple(ddls)
        )

    def read(
        self,
        base: Checkpoint,
        cut: Cut,
        layouts: Sequence[Layout],
        shapes: TableShapes,
    ) -> Gathered:
        """Reads a cut with the layouts there are; the report tells if some are missing, or if a
        DDL was met that the cut does not hold. If it has `unread` rows, whose schema nobody told
        yet, there is no cut: `plan` gives none before the schema is there."""
        places = tuple(sorted(cut.ends))
        weights = [(place, cut.ends[place] - cut.starts[place]) for place in places]
        total = sum(weight for _, weight in weights)
        small = total * self.scout.rows_per_offset <= SMALL
        tasks = 1 if small else cores(self._spark)
        numbers = {place: number for number, place in enumerate(places)}
        busy = [(place, weight) for place, weight in weights if weight > 0] or weights[:1]
        groups = [[numbers[place] for place in group] for group in spread(busy, tasks)] or [[]]
        known = [seen for seen in self.scout.ddls() if wants(self._filter, seen.ddl)]
        job = ReadJob(
            options=self._read_options(),
            begin=cut.begin,
            end=cut.end,
            latest=latest_sane(self._options),
            partitions=places,
            starts=cut.starts,
            ends=cut.ends,
            joined=cut.joined,
            proof_time=base.mark_time,
            known_ddls=frozenset(
                (s.ddl.commit_ts, s.ddl.schema, s.ddl.table, s.ddl.query) for s in known
            ),
            layouts=self._lasting(layouts),
            shapes=dict(shapes),
            most_bytes=self._options.memory_budget // len(groups),
            definitions={} if self._options.storage_url is None else dict(self._definitions()),
            schemas=self.schemas.tables,
        )
        failpoints.hit("S3")
        gathered = self._gather(job, groups, total)
        report = gathered.report
        self.schemas.learn(report.schemas)
        if report.unread:
            if not self.schemas.missing(report.unread):
                return self.read(base, cut, layouts, shapes)
            self._unread, self._unread_since = report.unread, time.monotonic()
            return gathered
        for place in places:
            report.restarts.setdefault(place, cut.starts[place])
        rows = sum(counts.facts + counts.replays for counts in report.tables.values())
        if report.messages > 1000:
            self._rows_per_message = max(0.1, rows / report.messages)
            self._bytes_per_message = report.bytes / report.messages
        return gathered

    def _lasting(self, layouts: Sequence[Layout]) -> PickledOnce[Layout]:
        """The same as for the job before, if they are."""
        same = len(layouts) == len(self._layouts)
        if not same or any(map(operator.is_not, layouts, self._layouts)):
            self._layouts = PickledOnce(layouts)
        return self._layouts

    def _read_options(self) -> Options:
        if not self.leave_out:
            return self._options
        rules = self._options.filter or ("*.*",)
        return replace(
            self._options, filter=(*rules, *(f"!{pattern}" for pattern in self.leave_out))
        )

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
        places = sorted(cut.ends)
        starts: dict[Place, int] = {}
        ends: dict[Place, int] = {}
        for number, offset in (clash.first, clash.second):
            place = places[number]
            starts[place] = min(offset, starts.get(place, offset))
            ends[place] = max(offset + 1, ends.get(place, 0))
        self.read(base, replace(cut, starts=starts, ends=ends), layouts, shapes)

    def _gather(self, job: ReadJob, groups: Sequence[Sequence[int]], messages: int) -> Gathered:
        """In memory where the facts should fit, else by Spark's shuffle; there as well if they
        turn out not to fit."""
        if messages * self._bytes_per_message <= self._options.memory_budget:
            gathered = gather(self._spark, job, groups, spill=False)
            if not gathered.report.too_large:
                return gathered
        return gather(self._spark, replace(job, most_bytes=0), groups, spill=True)

    def _drain(self, base: Checkpoint, wait: float) -> None:
        """Reads partition 0 of every topic: what is there, or until a cut is full."""
        self.scout.forget(base.resolved_ts)
        heads = {topic: p.restart_offset for (topic, n), p in base.positions.items() if n == 0}
        self.scout.follow(heads)
        deadline = time.monotonic() + wait
        while True:
            read = self.scout.poll(0)
            ahead = max((self.scout.position(t) - start for t, start in heads.items()), default=0)
            found = any(mark.resolved_ts > base.resolved_ts for mark in self.scout.marks)
            if found and (read == 0 or ahead > self._options.rows_per_epoch):
                return
            if read == 0:
                left = deadline - time.monotonic()
                if left <= 0:
                    return
                self.scout.poll(min(left, 0.1))

    def _schemas_are_missing(self, wait: float) -> bool:
        """Whether the last cut that was read still lacks a schema. Raises `Stop` where the log has
        ended, and none came for `limits.schema_wait`."""
        if not self._unread:
            return False
        more = self.scout.poll(wait)
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
                f"{version} of its schema, which no message told for {patience:g} s; the "
                "changefeed repeats the newest by send-bootstrap-interval-in-sec and "
                "send-bootstrap-in-msg-count; of an older one load a new snapshot, and start "
                "from it"
            )
        return True

    def _starts(
        self, base: Checkpoint, listing: Listing
    ) -> tuple[dict[Place, int], frozenset[Place]]:
        """Where each listed partition is read from, and those that join. Raises `Stop`."""
        starts = {}
        for place, position in base.positions.items():
            if place not in listing.ends:
                continue  # of a storage, and settled
            topic, number = place
            now = listing.topic_ids[topic]
            if position.topic_id and now and position.topic_id != now:
                raise Stop(
                    f"topic {topic} was deleted and created again: its offsets mean nothing any "
                    "more; load a new snapshot and start another changefeed from it"
                )
            if listing.ends[place] < position.restart_offset:
                raise Stop(
                    f"{topic}[{number}] ends at offset {listing.ends[place]}, before "
                    f"{position.restart_offset}, where the next cut begins: its log was truncated, "
                    "or the topic created again"
                )
            starts[place] = position.restart_offset
        new = sorted(set(listing.ends) - set(starts))
        if new:
            for (topic, number), begin in self._cluster.begins(new).items():
                if begin > 0:
                    raise Stop(
                        f"{topic}[{number}] joins, but its log begins at offset {begin}: "
                        "rows of it are lost"
                    )
            starts.update(dict.fromkeys(new, 0))
            self.scout.follow({topic: 0 for topic, number in new if number == 0})
        # What a broker does not know yet, a storage lists.
        joined = () if isinstance(self._cluster, StorageSource) else new
        return starts, frozenset(joined)

    def _rows_before(self, mark: Mark, starts: Mapping[Place, int], listing: Listing) -> float:
        """About how many rows lie before a mark: its share of its partition, times the lag. All,
        where it lies in none."""
        head = (mark.topic, 0)
        share = 1.0
        if head in listing.ends:
            lag = max(1, listing.ends[head] - starts[head])
            share = min(1.0, max(0, mark.offset - starts[head]) / lag)
        total = sum(listing.ends[place] - start for place, start in starts.items())
        return total * share * self._rows_per_message
