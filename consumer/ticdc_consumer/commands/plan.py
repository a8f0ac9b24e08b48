"""Plans the next cuts without doing them: nothing is taken over, nothing is written."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Ddl
from ticdc_encoder.filters.table import TableFilter

from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply.counts import Applied
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.epoch import CAUGHT_UP, Epochs, Goal
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.opening import look
from ticdc_consumer.cut.read.report import OTHERS
from ticdc_consumer.cut.read_ahead import Preparer
from ticdc_consumer.cut.reconcile.gathered import Gathered
from ticdc_consumer.cut.reconcile.net_change import NetChange, NoChange
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.ddl import attempt, known_views, renames, views
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.ddl.kinds import names_of
from ticdc_consumer.ddl.quarantined import literal_rule
from ticdc_consumer.errors import Stop, TableNotSent, ValuesNotSent
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.ledger import Ledger, LedgerEntry, LedgerInMemory
from ticdc_consumer.state.loading import LoadNotes
from ticdc_consumer.targets.layout import Layout, TableName, TargetName
from ticdc_consumer.targets.not_held import require_holdable
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

MOST_ROWS_AS_SQL = 100
"""Most rows of a cut whose statements are part of its plan."""
MOST_KEYS = 2_000_000
"""Keys of earlier cuts that are remembered: a plan with more of them ends."""


@dataclass(frozen=True, slots=True)
class PlannedRows:
    """Rows of one table, compared with the target and the cuts before; `compared` is False if rows
    have no key, or are too many for memory: `inserted` are then all written rows."""

    inserted: int
    updated: int
    deleted: int
    compared: bool = True

    @property
    def total(self) -> int:
        return self.inserted + self.updated + self.deleted


@dataclass(frozen=True, slots=True)
class PlannedDdl:
    """A planned DDL. `statements` are in the target's dialect. `note` says why there are none, why
    it would stop or be skipped, or which views would be left out."""

    entry: LedgerEntry
    statements: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class PlannedCut:
    """The planned work from `begin` to `resolved_ts`. `waiting` counts the changes, duplicates
    included, that the cut does not count because they wait for an earlier DDL, by upstream
    `schema.table`, "" for tables beyond a limit; `statements` are those for the rows, if they were
    asked for and are few."""

    begin: int
    resolved_ts: int
    tables: Mapping[str, PlannedRows]
    ddls: tuple[PlannedDdl, ...] = ()
    waiting: Mapping[str, int] = field(default_factory=dict)
    statements: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(rows.total for rows in self.tables.values())


class DryRun:
    """Goes through cuts as a consumer does, and records the effects of each."""

    def __init__(
        self,
        options: Settings,
        preparer: Preparer,
        target: Target,
        ledger: Ledger,
        tables: TableLayouts,
        state: Checkpoint,
        scope: CutScope,
        *,
        sql: bool = False,
    ) -> None:
        """`ledger` is in memory; with `sql`, small cuts have the statements for their rows."""
        context = DdlContext.of(options, target, ledger, tables.route)
        self._recorder = Recorder(options, context, sql)
        self.epochs = Epochs(options, preparer, self._recorder, tables, state, scope)

    @property
    def resolved_ts(self) -> int:
        """R, if everything planned so far were applied."""
        return self.epochs.state.resolved_ts

    def close(self) -> None:
        self.epochs.close()

    def plan(self, until: int) -> tuple[PlannedCut | None, Stop | None]:
        """Returns the next cut, and the error that would end the run after it. Raises an earlier
        one."""
        begin = self.resolved_ts
        if self._recorder.compared > MOST_KEYS:
            logger.warning(
                "the plan ends at R %d: it has compared %d rows",
                begin,
                MOST_KEYS,
                extra={"event": "plan_ends", "resolved_ts": begin, "rows": MOST_KEYS},
            )
            return None, None
        recorded = self._recorder.begin()
        epoch = self.epochs.next(until, 0.0)
        if epoch is None:
            return None, None
        cut = PlannedCut(
            begin,
            epoch.resolved_ts,
            recorded.tables,
            tuple(recorded.ddls),
            recorded.waiting,
            tuple(recorded.statements),
        )
        return cut, recorded.stop

    def pending(self) -> tuple[tuple[PlannedDdl, ...], Stop | None]:
        """The DDL that were left pending, which come first."""
        recorded = self._recorder.begin()
        self.epochs.run_pending()
        return tuple(recorded.ddls), recorded.stop

    def cuts(self, goal: int) -> Iterator[PlannedCut]:
        """Yields all cuts up to `goal`. Raises the error that would end the run, after the cut
        before it."""
        begin = self.resolved_ts
        ddls, stopped = self.pending()
        if ddls:
            yield PlannedCut(begin, begin, {}, ddls)
        while stopped is None and self.resolved_ts < goal:
            cut, stopped = self.plan(goal)
            if cut is None:
                return
            yield cut
        if stopped is not None:
            raise stopped


@dataclass
class Recorded:
    """The effects of the next cut, and the error that would end the run after it."""

    tables: dict[str, PlannedRows] = field(default_factory=dict)
    ddls: list[PlannedDdl] = field(default_factory=list)
    waiting: dict[str, int] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)
    stop: Stop | None = None

    def end_by(self, stop: Stop) -> None:
        self.stop = stop


class Recorder:
    """Records the effects of a cut (an `apply.to_target.Applier`)."""

    reads_ahead = False
    """False, since the next cut may depend on the contents of this one."""

    def __init__(self, options: Settings, context: DdlContext, sql: bool) -> None:
        self._options = options
        self._context = context
        self._target = context.target
        self.left_out: tuple[str, ...] = ()
        """Patterns of tables whose rows wait for a DDL of the plan."""
        self._sql = sql
        self._keys: dict[str, dict[bytes, bool]] = {}  # whether they exist after the cuts so far
        self._recorded = Recorded()

    @property
    def ledger(self) -> Ledger:
        return self._context.ledger

    @property
    def compared(self) -> int:
        """Number of remembered keys of the cuts so far."""
        return sum(map(len, self._keys.values()))

    def begin(self) -> Recorded:
        """Returns the record from here on."""
        self._recorded = Recorded()
        return self._recorded

    def recover(self) -> None:
        self._target.reconnect()

    def purge(self, resolved_ts: int) -> None:
        """Does nothing: a plan does not list purges."""

    def set_aside(self, name: TableName, state: Checkpoint, error: Stop) -> None:
        """Raises `error`: a plan ends where a table would be quarantined."""
        raise error

    def tend(self) -> bool:
        """Does nothing: a running consumer tends tables that are being loaded."""
        return False

    def holds(self, seen: Ddl) -> bool:
        """Returns False: a DDL that a table's load holds back still comes next."""
        return False

    def run_pending(self) -> None:
        for group in renames.groups(self._context):
            if self._recorded.stop is None:
                self._plan_ddl(group)

    def apply(self, step: Step, gathered: Gathered) -> Applied:
        change, recorded = gathered.change or NoChange(), self._recorded
        recorded.waiting.update(self._waiting(gathered))
        for _, rows in change.rows():
            require_holdable(rows)
        if gathered.facts is not None:
            self._compare(gathered, gathered.facts)
        else:
            self._sum_up(change)
        if self._sql and sum(rows.total for rows in recorded.tables.values()) <= MOST_ROWS_AS_SQL:
            for number, keys in change.deletes():
                recorded.statements.extend(self._target.shown_deletes(change.layouts[number], keys))
            for number, rows in change.rows():
                layout = change.layouts[number]
                recorded.statements.extend(
                    self._target.shown_inserts(layout, rows, self._options.on_drift)
                )
        step.record_tables(self.ledger)
        self.ledger.add(step.entries)
        return Applied()

    def _waiting(self, gathered: Gathered) -> dict[str, int]:
        """The changes that the options' filter takes, and that wait for a DDL of the plan."""
        if not self.left_out:
            return {}
        chosen = TableFilter(self._options.filter, self._options.case_sensitive)
        return {
            ".".join(filter(None, name)): changes
            for name, changes in gathered.report.left_out.items()
            if name == OTHERS or chosen.matches(*name)
        }

    # --- rows ---------------------------------------------------------------------------------

    def _compare(self, gathered: Gathered, facts: pa.Table) -> None:
        for number in pc.unique(facts["table"]).to_pylist():
            mine = facts.filter(pc.equal(facts["table"], number))
            layout = gathered.layouts[number]
            present = mine.filter(mine["present"])["key"].combine_chunks()
            absent = mine.filter(pc.invert(mine["present"]))["key"].combine_chunks()
            if layout.key:
                updated, deleted = self._existing(layout, present), self._existing(layout, absent)
                rows = PlannedRows(len(present) - updated, updated, deleted)
                self._remember(layout, present, absent)
            else:
                rows = PlannedRows(len(present), 0, len(absent), compared=False)
            self._recorded.tables[layout.name] = rows

    def _sum_up(self, change: NetChange) -> None:
        counts: dict[int, list[int]] = {}
        for number, keys in change.deletes():
            counts.setdefault(number, [0, 0])[0] += len(keys)
        for number, rows in change.rows():
            counts.setdefault(number, [0, 0])[1] += len(rows)
        for number, (deleted, written) in counts.items():
            layout = change.layouts[number]
            deleted -= written if layout.replaces else 0
            self._recorded.tables[layout.name] = PlannedRows(written, 0, deleted, compared=False)

    def _remember(self, layout: Layout, present: pa.Array, absent: pa.Array) -> None:
        known = self._keys.setdefault(layout.relation, {})
        known |= dict.fromkeys(present.to_pylist(), True)
        known |= dict.fromkeys(absent.to_pylist(), False)

    def _existing(self, layout: Layout, keys: pa.Array) -> int:
        """Number of the keys that would exist: after earlier cuts of the plan, else in the
        target."""
        known = self._keys.get(layout.relation, {})
        planned = [known.get(key) for key in keys.to_pylist()] if known else [None] * len(keys)
        others = keys.filter(pa.array([one is None for one in planned], pa.bool_()))
        return sum(one is True for one in planned) + (
            self._target.existing(layout, others) if len(others) else 0
        )

    # --- DDL ----------------------------------------------------------------------------------

    def _plan_ddl(self, group: Sequence[LedgerEntry]) -> None:
        ledger, entry = self.ledger, group[0]
        try:
            planned, aside = self._translated(group)
        except (Stop, DefinitionError) as refusal:
            if not self._context.policy.passes(entry, refusal):
                self._stop(entry, str(refusal))
                return
            verb = "left out" if known_views.is_create(entry) else "skipped"
            note = f"would be {verb}: {refusal}"
            dropped = views.outdated(self._context, entry)
            self._recorded.ddls.append(PlannedDdl(entry, dropped, note))
            keep_definition(ledger, entry, "declared")
            ledger.mark(replace(entry, state="skipped", reason=str(refusal)))
        else:
            note = f"by the statement of {entry.id}"
            others = [PlannedDdl(one, note=note) for one in group[1:]]
            self._recorded.ddls.extend([planned, *others])
            for one in group:
                keep_definition(ledger, one, set_aside=aside)
                ledger.mark(replace(one, state="done"))

    def _stop(self, entry: LedgerEntry, reason: str) -> None:
        self._recorded.ddls.append(PlannedDdl(entry, note=f"would stop: {reason}"))
        name = f"{entry.schema}.{entry.table}"
        self._recorded.end_by(Stop(f"DDL {entry.id} of {name} stops: {reason}"))

    def _translated(self, group: Sequence[LedgerEntry]) -> tuple[PlannedDdl, TargetName | None]:
        """The DDL in the target's dialect, and the name of the dropped table that it keeps."""
        context, entry = self._context, group[0]
        patterns = {pattern for one in group for pattern in _touched(context, one)}
        if patterns & set(self.left_out):
            note = "its SQL depends on the preceding DDL, and is known once that is done"
            return PlannedDdl(entry, note=note), None
        with attempt.refusals(context.target):
            if len(group) > 1:
                work = Alteration(renames.statements(context, group) or ())
            else:
                try:
                    work = attempt.work_of(context, entry)
                except (ValuesNotSent, TableNotSent) as refusal:
                    if not self._reads_upstream(refusal):
                        raise
                    self.left_out = (*self.left_out, *sorted(patterns))
                    note = f"the rows are read again from [source] upstream: {refusal}"
                    return PlannedDdl(entry, note=note), None
        if work.statements:
            self.left_out = (*self.left_out, *sorted(patterns))
        lost = known_views.note_left_out(self.ledger, work)
        note = "; ".join(f"view {one.schema}.{one.table} would be left out" for one in lost)
        return PlannedDdl(entry, work.statements, note), work.set_aside

    def _reads_upstream(self, refusal: ValuesNotSent | TableNotSent) -> bool:
        if isinstance(refusal, TableNotSent):
            return self._options.ddl_load_missing
        return self._options.upstream_url is not None


def _touched(context: DdlContext, entry: LedgerEntry) -> set[str]:
    """The tables that a DDL changes, as patterns."""
    # The entry names the table of EXCHANGE PARTITION.
    names = {(entry.schema, entry.table), *names_of(context.statement(entry)).tables}
    return {literal_rule(schema, table) for schema, table in names if schema}


def plan(
    options: Settings,
    until: Goal = CAUGHT_UP,
    *,
    sql: bool = False,
    spark: "SparkSession | None" = None,
) -> Iterator[PlannedCut]:
    """Plans the next cuts of a changefeed, even while a consumer runs. Nothing is taken over,
    nothing is written. With `sql`, small cuts have the statements for their rows.

    Raises the error that would end the run, after the cuts that would come before it.
    """
    with ExitStack() as stack:
        opened = stack.enter_context(look(options))
        starter = SparkStarter(options.spark, "ticdc plan", spark)
        stack.callback(starter.close)
        options = replace(options, apply="net")
        tables = TableLayouts(options, opened.target)
        preparer = Preparer.of(options, starter, opened, tables.for_reading)
        aside = opened.store.quarantine.tables()
        opened.monitor.begins_without(aside)
        scope = CutScope(frozenset(table.name for table in aside))
        where = opened.store.where
        tables.fill(LoadNotes(opened.target, options.changefeed).filled())
        ledger = LedgerInMemory(options.changefeed, options.ddl_keep_dropped, where)
        if opened.stored:
            ledger.copy_from(opened.store.ledger)
        dry = DryRun(options, preparer, opened.target, ledger, tables, opened.state, scope, sql=sql)
        stack.callback(dry.close)
        last = dry.epochs.greatest_mark()
        yield from dry.cuts(last if until == CAUGHT_UP else min(until, last))
