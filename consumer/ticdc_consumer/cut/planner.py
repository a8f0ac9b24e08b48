"""Plans the next cut from the marks and DDL of partition 0, without rows or the target.

So the next cut can be planned and read while this one is applied.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ticdc_encoder.filters.table import TableFilter

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.cuts import Cut, choose, end_of_cut, lag_of, messages_before
from ticdc_consumer.cut.shared_cuts import Together, creates
from ticdc_consumer.cut.sizes import Sizes
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.errors import LOAD_ANEW, SchemaMissing, about
from ticdc_consumer.protocols.schemas import SchemaKey, Schemas
from ticdc_consumer.source import PATIENCE, Source, Survey
from ticdc_consumer.source.ddl_filter import wants
from ticdc_consumer.source.listing import Listing
from ticdc_consumer.source.log import Log, gaps_since, require
from ticdc_consumer.source.marks import Mark, SeenDdl, TopicPartition
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.status.activity.activity import CutActivity
from ticdc_consumer.status.activity.monitor import FOR_LOAD, FOR_MARK, FOR_SCHEMA, Monitor
from ticdc_consumer.waiting import Deadline, sleep

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

MARKLESS = 60.0
"""Seconds to wait for a changefeed's first resolved ts after its first rows."""

EVERYTHING = 1 << 64
"""A timestamp above all others."""


class Planner:
    """Plans cuts. One thread at a time."""

    def __init__(
        self,
        options: Settings,
        spark: SparkStarter,
        source: Source,
        sizes: Sizes,
        monitor: Monitor,
        together: Together | None = None,
    ) -> None:
        """`together` limits the DDL that share a cut; without it each has its own."""
        self.source = source
        self.monitor = monitor
        self.together = together or Together()
        self.source.survey_by(lambda: self._look if self._spark.ready else None)
        self._options = options
        self._spark = spark
        self._sizes = sizes
        self._filter = TableFilter(options.filter, case_sensitive=options.case_sensitive)
        self._awaited: Mapping[SchemaKey, tuple[str, int, int]] = {}
        self._awaited_since = 0.0

    @property
    def schemas(self) -> Schemas:
        return self.source.schemas

    def awaits(self, unread: Mapping[SchemaKey, tuple[str, int, int]]) -> None:
        """Plans no cut before these schemas have come; each is named with the topic, partition and
        offset of a row that needs it."""
        self._awaited, self._awaited_since = unread, time.monotonic()

    def plan(
        self, base: Checkpoint, until: int | None, wait: float, scope: CutScope, committed_ts: int
    ) -> Cut | None:
        """Returns the next cut, or None if no mark above the applied R came within `wait` seconds.

        Forgets no DDL at or above `committed_ts`: a cut that was read ahead of it may have to be
        read again.
        """
        failpoints.hit("plan")
        self._drain(base, committed_ts, wait)
        if self._schemas_are_missing(base, wait):
            self._waits(self._lacking())
            return None
        if not any(mark.resolved_ts > base.resolved_ts for mark in self.source.marks):
            if not base.mark_time:
                self.source.require_marks(MARKLESS)
            self._waits(FOR_MARK)
            return None
        # Listed after the marks were seen: everything below any of them is inside.
        with self.monitor.at("planning", "the next cut"):
            reach, cut = self._planned(base, until, scope)
        if reach is not None and reach <= base.resolved_ts:
            self._waits(FOR_LOAD)
            sleep(wait)
        return cut

    def _planned(
        self, base: Checkpoint, until: int | None, scope: CutScope
    ) -> tuple[int | None, Cut | None]:
        """Returns how far the DDL that have to wait let the cut reach, if a mark allows one; and
        the cut up to a seen mark."""
        applied, estimates = base.resolved_ts, self._sizes.estimates
        listing = self.source.list_patiently(base.positions, PATIENCE)
        starts, joined = self._starts(base, listing)
        lag = lag_of(starts, listing.ends)
        most_rows = estimates.most_rows(lag, self._options.rows_per_epoch)
        proof = choose(
            applied,
            self.source.marks,
            lambda mark: estimates.fit_cut(
                messages_before(mark, starts, listing.ends, lag),
                most_rows,
                self._options.memory_budget,
            ),
        )
        if proof is None:
            return None, None
        reach = proof.resolved_ts if until is None else min(proof.resolved_ts, until)
        if reach <= applied:
            return None, None
        heads = {topic: listing.ends[topic, 0] for topic in listing.topics}
        self.source.read_to(reach, heads, PATIENCE)
        selected = [seen for seen in self.ddls() if not scope.is_of_another_run(seen.ddl)]
        reach = scope.before_joined(applied, reach, selected)
        reach = scope.before_held(selected, applied, reach)
        if reach <= applied:
            return reach, None
        end, ddls = end_of_cut(applied, reach, selected, self.together.limit, creates)
        failpoints.hit("end-chosen")
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
        return reach, cut

    def ddls(self) -> list[SeenDdl]:
        """Returns the DDL seen so far that pass the filter."""
        return [seen for seen in self.source.ddls() if wants(self._filter, seen.ddl)]

    def _waits(self, lacking: str) -> None:
        self.monitor.waiting(self.source.newest, self._tops(), lacking, self.source.trouble)

    def _lacking(self) -> str:
        """Returns the schema that the last cut read waits for."""
        (schema, table, version), (topic, number, offset) = next(iter(self._awaited.items()))
        return (
            f"{FOR_SCHEMA} {version} of the schema of {schema}.{table}, which the row at "
            f"{topic}[{number}] offset {offset} has"
        )

    def _tops(self) -> dict[str, int]:
        return {topic: mark.resolved_ts for topic, mark in self.source.top.items()}

    def greatest_mark(self, base: Checkpoint) -> int:
        """Returns the greatest resolved ts that the source has now."""
        self._read_to_ends(base)
        if not base.mark_time:
            self.source.require_marks(0.0)
        return max([base.resolved_ts, *(mark.resolved_ts for mark in self.source.marks)])

    def _read_to_ends(self, base: Checkpoint) -> None:
        """Reads partition 0 of every topic up to the brokers' current end. Raises `Unavailable` if
        they do not answer."""
        listing = self.source.list_patiently((), PATIENCE)
        self.source.follow({topic: _start(base, (topic, 0)) for topic in listing.topics})
        lag = sum(end - _start(base, partition) for partition, end in listing.ends.items())
        if lag and not self._sizes.is_small(lag):
            self._spark.begin(self._sizes.why_spark(lag))  # while partition 0 is read
        heads = {topic: listing.ends[topic, 0] for topic in listing.topics}
        self.source.read_to(EVERYTHING, heads, PATIENCE)

    def _drain(self, base: Checkpoint, committed_ts: int, wait: float) -> None:
        """Reads the new messages in partition 0 of every topic, or until a cut is full."""
        self.source.forget(min(base.resolved_ts, committed_ts))
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
        """Returns whether the last cut read still lacks a schema. Raises `Stop` if the log has
        ended and none came for `limits.schema_wait`."""
        if not self._awaited:
            return False
        more = self.source.poll(wait)
        patience = self._options.schema_wait
        is_over = not more and time.monotonic() - self._awaited_since >= patience
        if is_over and self.schemas.missing(self._awaited):
            self._read_to_ends(base)  # brokers that were silent may have it
        missing = self.schemas.missing(self._awaited)
        if not missing:
            self._awaited = {}
            return False
        if is_over:
            schema, table, version = missing[0]
            topic, number, offset = self._awaited[missing[0]]
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
        """Returns where each listed partition is read from, and the joining ones. Raises `Stop`."""
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

    def _look(self, survey: Survey) -> "pa.Table":
        """Has tasks look for marks and DDL."""
        from ticdc_consumer.cut.spark import jobs

        return jobs.look(self._spark.session("to look for resolved ts"), survey)


def activity_of(cut: Cut) -> CutActivity:
    return CutActivity(cut.begin, cut.end, round(cut.messages), len(cut.ddls))


def _start(base: Checkpoint, topic_partition: TopicPartition) -> int:
    """Returns the offset to read a partition from; a joining one starts at its beginning."""
    position = base.positions.get(topic_partition)
    return position.restart_offset if position else 0
