"""The life of a cut: `Epochs` has one after the other planned, read and applied.

A cut is the range [R, R') of commit_ts that is applied in one transaction; or, with
`apply = "transactions"`, in one for each commit_ts, of which the last moves the offsets. Its steps
have the names of the fail points at which tests kill a run (`failpoints.STEPS`):

    step              what happens                                             where
    plan              marks and DDL are read from partition 0 of each topic    cut.planner
    end-chosen        R' is a mark, or just after a DDL below that mark        cut.planner
    read              the driver or Spark's tasks read the rows of [R, R')     cut.cut_reader
    decode            a task decodes its part of the partitions                cut.read.task
    apply             the rows of each key are one net change                  cut.epoch
    begin             the transaction begins                                   cut.apply.transaction
    fenced            the checkpoint is locked, and is this consumer's         cut.apply.transaction
    delete-rows       the deletes of all tables                                cut.apply.transaction
    write-rows        the rows of all tables                                   cut.apply.transaction
    run-ddl           DDL run, or are noted in the ledger as pending           ddl.run
    write-checkpoint  R' and the offsets replace R and those before            state.store
    commit            COMMIT                                                   cut.apply.transaction
    committed         the target is at R'; pending DDL run, one by one         ddl.run
    cut-ended         tables that no cut needs any more were dropped           cut.epoch
    publish-offsets   lag monitors see the offsets; nothing else reads them    commands.run

The transitions between the states of a cut:

    state      what happens                                next
    idle       no resolved ts above R                      idle
    idle       a cut is planned                            planned
    planned    its rows are read                           read
    planned    a row's schema has not come                 idle, until it has
    planned    a partition has a DDL that was not planned  idle, to be planned with it
    planned    Retry                                       planned, up to `[limits] retries` times
    read       a table has no layout yet                   planned, once it has one
    read       rows of a table that the cut creates        idle, for a shorter cut
    read       two different rows of one key, at one ts    stopped
    read       none of these                               applying
    applying   Retry, StagedRowsLost                       idle: nothing was applied
    applying   a DDL cannot share the cut                  idle, for a shorter cut
    applying   the connection is lost at COMMIT            as the checkpoint says, which is read
    applying   COMMIT                                      committed
    committed  its pending DDL are done                    idle, with R' as R
    any        Stop about one table, which quarantine may  idle, without the table
               take
    any        Stop, Unavailable, Fenced                   stopped

A crash is a start from the checkpoint. Before COMMIT the target has R and nothing of the cut: the
same range is read again. After it, the target has R', and the ledger, which is written in the same
transaction, has the DDL that are pending: the next start runs them before it plans a cut. While
one cut is applied, the next is planned and read already (`cut.read_ahead`), for R' as its base; it
is used only if R' is committed.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from ticdc_encoder.event import Ddl, Table

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply.counts import Applied, Counts
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.cut.apply.to_target import Applier
from ticdc_consumer.cut.cut_reader import Knowledge
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.cuts import Cut
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.planner import activity_of
from ticdc_consumer.cut.read_ahead import Prepared, Preparer
from ticdc_consumer.cut.reconcile.chunks import Clash
from ticdc_consumer.cut.reconcile.gathered import Gathered
from ticdc_consumer.cut.shared_cuts import early
from ticdc_consumer.cut.upstream_definitions import add_with_upstream
from ticdc_consumer.ddl import numbering
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.errors import Retry, StagedRowsLost, Stop, Unavailable, about
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.status.activity.activity import LastDdl
from ticdc_consumer.waiting import PAUSE, backing_off, retried

logger = logging.getLogger(__name__)

T = TypeVar("T")

IDLE = 1.0
"""Seconds that one step of the loop waits for a quiet topic."""

Goal = Literal["caught-up"] | int
CAUGHT_UP: Literal["caught-up"] = "caught-up"


@dataclass(frozen=True, slots=True)
class Epoch:
    """The result of one commit. `resolved_ts` is R: the target equals the upstream at every
    commit_ts below it. `tables` counts rows deleted and written by upstream `schema.table`;
    `changes` counts the facts inside the cut, of which `duplicates` came more than once; `replays`
    counts those below it. `corrupted` counts accepted rows whose checksums do not match;
    `corrupted_rows` describes the first of them. `left_out` counts the row changes that the filter
    left out, by upstream `schema.table`, "" for tables beyond those counted. `stages` has the
    seconds of each stage: plan, read, load, ddl."""

    resolved_ts: int
    tables: Mapping[str, Counts]
    messages: int
    bytes: int
    changes: int
    duplicates: int
    replays: int
    ddls: tuple[LedgerEntry, ...]
    stages: Mapping[str, float]
    corrupted: int = 0
    corrupted_rows: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, prepared: Prepared, applied: Applied, ddls: Sequence[LedgerEntry]) -> "Epoch":
        report = prepared.gathered.report
        return cls(
            prepared.cut.end,
            applied.tables,
            report.messages,
            report.bytes,
            prepared.changes,
            prepared.duplicates,
            prepared.replays,
            tuple(ddls),
            dict(prepared.seconds),
            report.corrupted,
            tuple(report.corrupted_rows),
            {".".join(filter(None, name)): rows for name, rows in report.left_out.items()},
        )

    @property
    def rows(self) -> int:
        """The number of rows deleted and written."""
        return sum(counts.deleted + counts.upserted for counts in self.tables.values())

    @property
    def seconds(self) -> float:
        """The seconds of all stages together. A cut may be read while the one before is applied."""
        return sum(self.stages.values())


class Epochs:
    """Applies cut after cut; after each, `state` is the checkpoint that the target holds."""

    def __init__(
        self,
        options: Settings,
        preparer: Preparer,
        applier: Applier,
        tables: TableLayouts,
        state: Checkpoint,
        scope: CutScope | None = None,
    ) -> None:
        """`scope` is that of the first cut, before the applier says what it leaves out and holds;
        by default all of the filter."""
        self._options = options
        self._preparer = preparer
        self._planner = preparer.planner
        self._applier = applier
        self._tables = tables
        self._scope = replace(scope or CutScope(), holds=applier.holds)
        self._monitor = preparer.planner.monitor
        self._monitor.reached(state.resolved_ts, state.positions)
        self._all_done = False
        self._done: Sequence[LedgerEntry] | None = None  # at the start, any DDL may be done
        self.state = state

    def close(self) -> None:
        self._preparer.close()

    def greatest_mark(self) -> int:
        """Returns the greatest resolved ts that the source has now."""
        self._preparer.wait()  # the reader has one user at a time
        return self._planner.greatest_mark(self.state)

    def next(self, until: int | None, wait: float) -> Epoch | None:
        """Applies the next cut; returns None if none came within `wait` seconds. A table whose rows
        cannot be applied is quarantined first, if that is allowed.

        Raises `Stop`, `Unavailable` and `Fenced`; the target then is at `state`.
        """
        while True:
            try:
                return self._next_patiently(until, wait)
            except Stop as error:
                self._set_aside(error)

    def _set_aside(self, error: Stop) -> None:
        """Continues without the table that the error is about. Raises the error if that is not
        allowed."""
        name = error.table
        if name is None or error.ddl is not None or name in self._scope.set_aside:
            raise error
        self._preparer.drop()
        self._applier.set_aside(name, self.state, error)
        self._tables.forget(name)
        self._scope = replace(self._scope, set_aside=self._scope.set_aside | {name})
        self._planner.awaits({})
        self._monitor.sets_aside(name, self.state.resolved_ts, str(error))
        logger.warning(
            "%s is quarantined at R %d: %s",
            ".".join(name),
            self.state.resolved_ts,
            error,
            extra={
                "event": "quarantined",
                "table": ".".join(name),
                "resolved_ts": self.state.resolved_ts,
                "reason": str(error),
            },
        )

    def _next_patiently(self, until: int | None, wait: float) -> Epoch | None:
        def attempt() -> Epoch | None:
            self.run_pending()
            self._preparer.wait()  # its tasks may use tables that are now replaced
            if self._applier.tend():
                self._preparer.drop()
            return self._next(until, wait)

        return self._patiently(attempt)

    def finish(self) -> None:
        """Runs the DDL that the last cut left pending, as `run_pending` does, when no cut follows.
        Raises `Stop`, `Unavailable` and `Fenced`."""
        self._patiently(self.run_pending)

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """Returns the result of `attempt`, retried if the target refused it for a passing
        reason."""
        try:
            return retried(
                attempt,
                backing_off(self._options.retries, PAUSE),
                on=(Retry, StagedRowsLost),
                recover=self._applier.recover,
                failed=lambda error: self._monitor.retries(error, "target refused"),
                recovered=self._monitor.recovered,
            )
        except (Retry, StagedRowsLost) as cause:
            raise Unavailable(f"the target does not answer: {cause}") from cause

    def run_pending(self) -> list[LedgerEntry]:
        """Runs the DDL that a cut or a crash left pending, and returns their final ledger entries.
        No cut is read past a DDL before it is done.

        Raises `Stop` if an operator must run one.
        """
        if self._all_done:
            return []
        started = time.monotonic()
        ledger = self._applier.ledger
        entries = ledger.pending() if self._done is None else self._done
        self._applier.run_pending()
        self._tables.learn(ledger, self._done)
        self._all_done = True
        stored = [entry for each in entries if (entry := ledger.entry(each.order)) is not None]
        if stored:
            took, last = time.monotonic() - started, stored[-1]
            self._monitor.ran_ddls(
                [entry.state for entry in stored],
                took,
                LastDdl(last.id, last.short_query, last.state, last.reason, time.time()),
            )
        return stored

    def _next(self, until: int | None, wait: float) -> Epoch | None:
        prepared = self._take(until, wait)
        if prepared is not None:
            prepared = self._complete(prepared, until)
        if prepared is None:
            return None
        gathered, cut = prepared.gathered, prepared.cut
        require_executed(
            gathered.report.stale_ddls, self._applier.ledger, self._scope, self.state.resolved_ts
        )
        if gathered.clash is not None:
            try:
                self._refuse(cut, gathered, gathered.clash)
            finally:
                gathered.release()
        new = self._advanced(prepared)
        entries = self._numbered(numbering.entries(cut.ddls))
        if not entries and self._applier.reads_ahead:
            self._read_ahead(new, until)
        started = time.monotonic()
        spilled = gathered.spilled is not None
        self._monitor.applies(replace(activity_of(cut), changes=prepared.changes, spilled=spilled))
        try:
            with self._monitor.at("applying", f"the cut up to {cut.end}"):
                applied = self._apply(new, gathered, entries)
        except ddl.Unshared as unshared:
            self._planner.together.shorten(unshared.number)
            return self._next(until, 0.0)
        finally:
            gathered.release()
        self._planner.together.applied(len(entries))
        prepared.seconds["load"] = time.monotonic() - started
        self.state = new
        self._report(prepared, applied, spilled)
        stored: Sequence[LedgerEntry] = ()
        if entries:
            self._planner.schemas.keep(new.schemas)
            started = time.monotonic()
            self._all_done, self._done = False, entries
            stored = self.run_pending()
            prepared.seconds["ddl"] = time.monotonic() - started
        else:
            self._applier.purge(new.resolved_ts)
        failpoints.hit("cut-ended")
        return Epoch.of(prepared, applied, stored)

    def _numbered(self, entries: Sequence[LedgerEntry]) -> Sequence[LedgerEntry]:
        """Numbers the entries after those of the same commit_ts in the ledger: a statement of
        several tables, one of which was quarantined."""
        if self._scope.released is None or not entries:
            return entries
        entries_of = Counter(entry.commit_ts for entry in self._applier.ledger.entries())
        return [replace(entry, seq=entry.seq + entries_of[entry.commit_ts]) for entry in entries]

    def _report(self, prepared: Prepared, applied: Applied, spilled: bool) -> None:
        report = prepared.gathered.report
        totals = {
            "cuts": 1,
            "spilled_cuts": int(spilled),
            "messages": report.messages,
            "bytes": report.bytes,
            "changes": prepared.changes,
            "duplicates": prepared.duplicates,
            "replays": prepared.replays,
            "corrupted": report.corrupted,
            "left_out": sum(report.left_out.values()),
        }
        tables = {name: (c.deleted, c.upserted) for name, c in applied.tables.items()}
        self._monitor.keeps_waiting(report.waiting)
        self._monitor.committed(
            self.state.resolved_ts, self.state.positions, totals, tables, prepared.seconds
        )
        if logger.isEnabledFor(logging.DEBUG):
            self._log_commit(totals, applied, prepared)

    def _log_commit(self, totals: Mapping[str, int], applied: Applied, prepared: Prepared) -> None:
        end = self.state.resolved_ts
        for name, counts in applied.tables.items():
            rows = {"rows_deleted": counts.deleted, "rows_written": counts.upserted}
            logger.debug(
                "%s: %d rows deleted, %d written",
                name,
                *rows.values(),
                extra={"event": "rows", "resolved_ts": end, "table": name, **rows},
            )
        for (topic, number), position in sorted(self.state.positions.items()):
            before = prepared.base.positions.get((topic, number))
            if before is None or before.restart_offset != position.restart_offset:
                logger.debug(
                    "%s[%d] continues at offset %d",
                    topic,
                    number,
                    position.restart_offset,
                    extra={
                        "event": "position",
                        "resolved_ts": end,
                        "topic": topic,
                        "partition": number,
                        "offset": position.restart_offset,
                    },
                )
        seconds = sum(prepared.seconds.values())
        logger.debug(
            "the cut up to %d is committed after %.3f s",
            end,
            seconds,
            extra={
                "event": "commit",
                "resolved_ts": end,
                "seconds": seconds,
                "stages": dict(prepared.seconds),
                **totals,
            },
        )

    def _take(self, until: int | None, wait: float) -> Prepared | None:
        prepared = self._preparer.take()
        if prepared is not None:
            fits = until is None or prepared.cut.end <= until
            waits = any(self._applier.holds(seen.ddl) for seen in prepared.cut.ddls)
            if fits and not waits and prepared.base.resolved_ts == self.state.resolved_ts:
                return replace(prepared, base=self.state)
            prepared.gathered.release()
        return self._preparer.prepare(self.state, until, wait, self._knowledge())

    def _read_ahead(self, base: Checkpoint, until: int | None) -> None:
        """Reads the next cut, if there is one already, while this one is applied."""
        if until is None or base.resolved_ts < until:
            self._preparer.begin(base, until, self._knowledge())

    def _knowledge(self) -> Knowledge:
        scope = replace(self._scope, left_out=self._applier.left_out)
        return Knowledge(*self._tables.for_tasks(), scope, self.state.resolved_ts)

    def _complete(self, prepared: Prepared, until: int | None) -> Prepared | None:
        """Creates the layouts that the read missed, and reads again until none is missing. Returns
        None if rows wait for their schema."""
        while True:
            if shorter := self._before_rows(prepared):
                if shorter >= self._planner.together.limit:
                    raise Stop(
                        f"the cut from {prepared.cut.begin} to {prepared.cut.end} has rows of a "
                        "table that it creates, and cannot be shorter: please report it"
                    )
                self._planner.together.shorten(shorter)
                prepared.gathered.release()
                prepared = self._planned_again(until)
                continue
            if not prepared.gathered.report.missing:
                return prepared
            for table, deletes_only in prepared.gathered.report.missing.values():
                self._add(table, deletes_only, prepared.cut)
            started = time.monotonic()
            gathered = self._preparer.gather(self.state, prepared.cut, self._knowledge())
            prepared.seconds["read"] += time.monotonic() - started
            if gathered.report.unread:
                return None
            if gathered.report.unknown_ddls:
                prepared = self._planned_again(until)
            else:
                prepared = replace(prepared, gathered=gathered)

    def _add(self, table: Table, deletes_only: bool, cut: Cut) -> None:
        """Builds the layout of a table. The upstream is asked as of a moment at which all DDL
        before its rows are done, and none after them."""
        snapshot_ts = min((seen.ddl.commit_ts for seen in cut.ddls), default=cut.end) - 1
        empty_at, url = self.state.empty_at, self._options.upstream_url
        add_with_upstream(self._tables, table, deletes_only, empty_at, url, snapshot_ts)

    def _planned_again(self, until: int | None) -> Prepared:
        again = self._preparer.prepare(self.state, until, 0.0, self._knowledge())
        if again is None:
            raise Unavailable("the marks that were seen are no longer in the log")
        return again

    def _before_rows(self, prepared: Prepared) -> int:
        """Returns how many of its shared DDL the cut may have, 0 for all: none with rows of a table
        that an earlier one creates."""
        gathered, cut = prepared.gathered, prepared.cut
        with_rows = [n for n, counts in gathered.report.tables.items() if n >= 0 and counts.facts]
        met = [gathered.layouts[n] for n in with_rows if gathered.layouts]
        names = [(layout.schema, layout.table) for layout in met]
        return early(cut, [*gathered.report.missing, *names])

    def _apply(
        self, new: Checkpoint, gathered: Gathered, entries: Sequence[LedgerEntry]
    ) -> Applied:
        failpoints.hit("apply")
        seen, newcomers = self._tables.sightings(), self._tables.newcomers()
        came = gathered.report.waiting
        waiting = {name: came.get(name, 0) for name in sorted(self._scope.set_aside)}
        declared = self._tables.declared()
        step = Step(self.state, new, entries, seen, newcomers, waiting, declared=declared)
        applied = self._applier.apply(step, gathered)
        # The cut is committed: reading it again would find another R.
        self._patiently(lambda: self._tables.note_recorded(seen, newcomers))
        return applied

    def _advanced(self, prepared: Prepared) -> Checkpoint:
        cut, report = prepared.cut, prepared.gathered.report
        counters = dict(self.state.counters)
        for name, more in (
            ("cuts", 1),
            ("changes", prepared.changes),
            ("duplicates", prepared.duplicates),
            ("replays", prepared.replays),
            ("messages", report.messages),
        ):
            counters[name] = counters.get(name, 0) + more
        if report.corrupted:
            counters["corrupted"] = counters.get("corrupted", 0) + report.corrupted
        return replace(
            self.state,
            resolved_ts=cut.end,
            mark_time=cut.proof.time,
            positions=self._positions(cut, report.restarts),
            counters=counters,
            schemas=self._planner.schemas.after(seen.ddl for seen in cut.ddls),
        )

    def _positions(
        self, cut: Cut, restarts: Mapping[tuple[str, int], int]
    ) -> dict[tuple[str, int], Position]:
        """Returns the position from which each partition is read after the cut."""
        marks = self._planner.source.top
        positions = {}
        for topic_partition, restart in restarts.items():
            topic, number = topic_partition
            mark = marks.get(topic) if number == 0 else None
            before = self.state.positions.get(topic_partition)
            positions[topic_partition] = Position(
                topic,
                cut.topic_ids[topic] or (before.topic_id if before else ""),
                number,
                restart,
                mark.offset if mark else None,
                mark.crc if mark else None,
            )
        return positions

    def _refuse(self, cut: Cut, gathered: Gathered, clash: Clash) -> None:
        knowledge = replace(self._knowledge(), layouts=gathered.layouts)
        self._preparer.reader.read_again(self.state, cut, knowledge, clash)
        topic_partitions = sorted(cut.ends)
        where = " and ".join(
            "{}[{}] offset {}".format(*topic_partitions[number], offset)
            for number, offset in (clash.first, clash.second)
        )
        layout = gathered.layouts[clash.table]
        with about((layout.schema, layout.table), clash.commit_ts):
            raise Stop(
                f"{layout.name}: two different rows for one key at commit_ts {clash.commit_ts}, "
                f"at {where}"
            )


def require_executed(
    stale: Sequence[Ddl], ledger: Ledger, scope: CutScope, resolved_ts: int
) -> None:
    """Raises `Stop` for a DDL below R that a new topic brings and the ledger lacks."""
    if not stale:
        return
    known = {(e.commit_ts, e.schema, e.table, e.query) for e in ledger.entries()}
    for one in stale:
        if scope.is_of_another_run(one):
            continue
        if (one.commit_ts, one.schema, one.table, one.query) not in known:
            raise Stop(
                f"a new topic has a DDL of {one.schema}.{one.table} with commit_ts "
                f"{one.commit_ts}, below the applied {resolved_ts}, that was never executed here"
            )
