"""A net change and its checkpoint -> one transaction of the target."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, cast

import pyarrow as pa
from ticdc_encoder.counted import counted
from ticdc_encoder.event import Ddl, Table

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Options
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.beside import Beside
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.dropped_tables import over, purge
from ticdc_consumer.ddl.quarantined import bond_of
from ticdc_consumer.errors import Denied, StagedRowsLost, Stop, about
from ticdc_consumer.layouts import TableLayouts
from ticdc_consumer.reconcile.gathered import Gathered
from ticdc_consumer.reconcile.net_change import NetChange, NoChange
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.ledger import DroppedTable, Ledger, LedgerEntry
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import Layout, TableName
from ticdc_consumer.targets.staging import STAGING_TABLE, Unneeded, drop_left
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.repair.writing import Repair

UPSTREAM = "pip install ticdc-consumer[mysql]"
"""What reads an upstream TiDB."""


@dataclass(slots=True)
class Counts:
    """The rows of one table: deleted, written, and cleared away because the table had drifted and
    they were in the way. `missing` rows of a table without a key were to be deleted, but the table
    did not have them."""

    deleted: int = 0
    upserted: int = 0
    cleared: int = 0
    missing: int = 0


@dataclass(slots=True)
class Applied:
    """What was committed, by upstream `schema.table`."""

    tables: dict[str, Counts] = field(default_factory=dict)

    def of(self, layout: Layout) -> Counts:
        return self.tables.setdefault(layout.name, Counts())

    def rows(self) -> int:
        """Rows deleted and written so far; any thread may ask."""
        return sum(counts.deleted + counts.upserted for counts in list(self.tables.values()))

    def add(self, other: "Applied") -> None:
        for name, more in other.tables.items():
            counts = self.tables.setdefault(name, Counts())
            counts.deleted += more.deleted
            counts.upserted += more.upserted
            counts.cleared += more.cleared
            counts.missing += more.missing


@dataclass(frozen=True, slots=True)
class Step:
    """From which checkpoint to which. `entries` are the DDL of the cut, `seen` the
    tables whose columns, as rows showed them, are news for the ledger; `newcomers` those that it
    does not know yet; `waiting` counts the rows of tables that are set aside. `copies` are those
    that are loaded beside those in use (`ddl.beside`), `repair` rows that are put right beside
    those of the cut."""

    old: Checkpoint
    new: Checkpoint
    entries: Sequence[LedgerEntry] = ()
    seen: Sequence[Table] = ()
    newcomers: Sequence[TableName] = ()
    waiting: Mapping[TableName, int] = field(default_factory=dict)
    copies: Mapping[TableName, str] = field(default_factory=dict)
    repair: Repair | None = None

    def with_copy(self, layout: Layout) -> tuple[Layout, ...]:
        """The table of a layout, and the one that is loaded beside it."""
        copy = self.copies.get((layout.schema, layout.table))
        return (layout,) if copy is None else (layout, replace(layout, relation=copy))

    def record_tables(self, ledger: Ledger) -> None:
        """What the rows show of their tables; inside the transaction of the rows."""
        if self.seen:
            ledger.define_all(self.seen, "seen")
        known = ledger.known().destinations
        if unknown := [name for name in self.newcomers if name not in known]:
            ledger.note_all(unknown)


def apply(
    context: DdlContext, store: Store, step: Step, change: NetChange, options: Options
) -> Applied:
    """Moves the tables and the checkpoint one step, both or neither.

    Transactional DDL runs here, too; what cannot run, and everything elsewhere, is pending
    afterwards: see `ddl.run.run_pending`. Raises `ddl.run.Unshared`. A repair that the target
    refuses is left out, and put off.
    """
    try:
        return _apply(context, store, step, change, options)
    except Stop as refusal:
        if step.repair is None or step.repair.put_off:
            raise
        step = replace(step, repair=step.repair.refused(str(refusal)))
        return _apply(context, store, step, change, options)


def _apply(
    context: DdlContext, store: Store, step: Step, change: NetChange, options: Options
) -> Applied:
    applied = Applied()
    target = context.target
    store.monitor.loaded = applied.rows

    def attempt() -> None:
        applied.tables.clear()
        _complete(target, change)
        with target.transaction():
            failpoints.hit("S7")
            store.lock(step.old)
            failpoints.hit("S8")
            if step.repair is not None:
                step.repair.delete(target)
            _write(target, change, options, applied, step)
            if step.repair is not None:
                step.repair.write(target, store.repairs, step.new.resolved_ts)
            step.record_tables(context.ledger)
            store.quarantine.count(step.waiting)
            failpoints.hit("S11")
            ddl.run_in_cut(context, step.entries)
            failpoints.hit("S12")
            store.write(step.old, step.new)
            failpoints.hit("S13")
        failpoints.hit("S14")

    until_known(
        store,
        options.retries,
        attempt,
        happened=lambda: store.resolve_unknown(step.old, step.new) == "new",
    )
    return applied


def _write(
    target: Target, change: NetChange, options: Options, applied: Applied, step: Step
) -> None:
    """All deletes, over all tables, then all rows: the final rows satisfy every unique key among
    themselves, so only a stale row of the same cut can be in their way. The same to copies, of
    which nothing is counted: they hold a part of the upstream's rows, and no others."""
    for table, keys in change.deletes():
        failpoints.hit("S9")
        layout, *copies = step.with_copy(change.layouts[table])
        with about((layout.schema, layout.table)), target.errors(layout):
            counts = applied.of(layout)
            for copy in copies:
                target.delete(copy, keys)
            if layout.key:
                counts.deleted += target.delete(layout, keys)
            else:
                _delete_rows(target, layout, keys, options, counts)
    for table, rows in change.rows():
        failpoints.hit("S10")
        layout, *copies = step.with_copy(change.layouts[table])
        with about((layout.schema, layout.table)), target.errors(layout):
            counts = applied.of(layout)
            for copy in copies:
                target.insert(copy, rows, "stop")
            counts.cleared += target.insert(layout, rows, options.on_drift)
            counts.upserted += len(rows)
    for staged in change.staged:
        failpoints.hit("P4")
        layout, *copies = step.with_copy(change.layouts[staged.table])
        with about((layout.schema, layout.table)), target.errors(layout):
            counts = applied.of(layout)
            for copy in copies:
                target.publish(copy, staged.name, "stop")
            counts.cleared += target.publish(layout, staged.name, options.on_drift)
            counts.upserted += staged.count


def _complete(target: Target, change: NetChange) -> None:
    """Leaves in the staging tables what is of the net change, and raises `StagedRowsLost` unless
    they have all of that. A server that restarts may lose their rows, but not without this session:
    what is there now is there in the transaction that follows."""
    if not change.staged:
        return
    failpoints.hit("P3")
    names = [staged.name for staged in change.staged]
    missing = set(names) - set(target.staging_tables(STAGING_TABLE))
    for staged in change.staged:
        layout = change.layouts[staged.table]
        if staged.name in missing or (
            target.trim(layout, staged.name, staged.superseded) != staged.count
        ):
            raise StagedRowsLost(f"{layout.name}: the target lost rows that tasks had staged")


def _delete_rows(
    target: Target, layout: Layout, rows: pa.BinaryArray, options: Options, counts: Counts
) -> None:
    deleted = target.delete_rows(layout, rows)
    missing = len(rows) - deleted
    if missing and options.on_drift == "stop":
        raise Stop(
            f"{layout.name}: {missing} of {len(rows)} rows to be deleted do not exist: the table "
            "has drifted, or a DELETE was sent twice, which cannot be recognised in a table "
            'without a key; set on_drift = "overwrite" to go on'
        )
    counts.deleted += deleted
    counts.missing += missing


def apply_groups(
    context: DdlContext,
    store: Store,
    step: Step,
    groups: Iterable[tuple[int, NetChange]],
    options: Options,
) -> Applied:
    """The same step in one transaction per commit_ts, `groups` in ascending order.

    Each but the last ends at its commit_ts + 1, with the offsets that the cut started from; the
    last, there also without groups, writes `new` and the DDL. A group is applied after the next
    one was taken from the iterator.
    """
    applied = Applied()
    old, new = step.old, step.new
    started = _started(old, new)
    before, change = old, cast(NetChange, NoChange())
    end = old.resolved_ts
    for commit_ts, following in groups:
        if not end <= commit_ts < new.resolved_ts:
            raise ValueError(f"the group of commit_ts {commit_ts} is not in the rest of its cut")
        if end > old.resolved_ts:
            after = replace(started, resolved_ts=end)
            part = replace(step, old=before, new=after, entries=(), repair=None)
            applied.add(apply(context, store, part, change, options))
            before, step = after, replace(step, seen=(), newcomers=(), waiting={})
        end, change = commit_ts + 1, following
    applied.add(apply(context, store, replace(step, old=before), change, options))
    return applied


def _started(old: Checkpoint, new: Checkpoint) -> Checkpoint:
    """Where the cut began, proven by its own mark: partitions that joined it begin at 0."""
    positions = {
        topic_partition: old.positions.get(
            topic_partition, replace(position, restart_offset=0, mark_offset=None, mark_crc=None)
        )
        for topic_partition, position in new.positions.items()
    }
    return replace(old, mark_time=new.mark_time, positions=positions)


class Applier(Protocol):
    """What is done with a cut that was read: it is applied, or what it would do is recorded."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def reads_ahead(self) -> bool:
        """Whether the next cut may be read before this one is applied."""

    def recover(self) -> None:
        """After a `Retry`: replaces the session if it is gone. Raises `Fenced`, `Retry`."""

    def run_pending(self) -> None:
        """Does what the ledger holds as pending. Raises `Stop`."""

    def tend(self) -> bool:
        """Between two cuts: sees to tables that are loaded beside those in use. Whether rows go
        elsewhere now, so that a cut that was read before is of no use. Raises `Stop`."""

    def holds(self, seen: Ddl) -> bool:
        """Whether a DDL has to wait until a table is loaded; any thread may ask."""

    def apply(self, step: Step, gathered: Gathered) -> Applied:
        """Does the rows of a cut, and its DDL as far as they are part of its transaction."""

    def purge(self, resolved_ts: int) -> None:
        """Drops the tables that were dropped upstream and kept, and whose time is over."""

    def set_aside(self, name: TableName, state: Checkpoint, error: Stop) -> None:
        """Sets a table aside for what `error` says, at `state`. Raises `error` if it may not be."""


class ToTarget:
    """Applies cuts to the target."""

    reads_ahead = True

    def __init__(
        self,
        options: Options,
        target: Target,
        store: Store,
        tables: TableLayouts,
        unneeded: Unneeded | None = None,
    ) -> None:
        """Staging tables that are `unneeded` are dropped after each cut."""
        self._options = options
        self._unneeded = unneeded or Unneeded()
        self._store = store
        self._tables = tables
        self._context = DdlContext.of(options, target, store.ledger, tables.route)
        self._beside = Beside(self._context, store, options.retries)
        self._dropped: Sequence[DroppedTable] = ()

    @property
    def ledger(self) -> Ledger:
        return self._store.ledger

    def recover(self) -> None:
        self._store.recover()

    def run_pending(self) -> None:
        ddl.run_pending(self._context, self._store, self._options.retries)
        self._dropped = self.ledger.dropped()

    def tend(self) -> bool:
        self._beside.tend()
        return self._tables.fill(self._beside.filled)

    def holds(self, seen: Ddl) -> bool:
        return self._beside.holds(seen)

    def apply(self, step: Step, gathered: Gathered) -> Applied:
        step = replace(step, copies=self._beside.copies)
        repair = self._repair(step)
        applied = self._applied(replace(step, repair=repair), gathered)
        if repair is not None:
            self._report(repair.number)
        return applied

    def _report(self, number: int) -> None:
        """What became of a repair. Its cut is committed, and may not be tried again."""
        store = self._store

        def look() -> None:
            store.monitor.repaired(store.repairs.state(number))

        until_known(store, self._options.retries, look, happened=lambda: False)

    def _repair(self, step: Step) -> Repair | None:
        """What a request that waits brings to the cut. A DDL of the cut may change the tables."""
        store = self._store
        if not store.takes_repairs or not store.monitor.repair_waits or step.entries:
            return None
        request = self._store.repairs.oldest_pending()
        if request is None:
            self._store.monitor.repair_waits = False
            return None
        try:
            from ticdc_consumer.upstream.repair.reading import read_repair
        except ModuleNotFoundError as error:
            return Repair(request.number).refused(f"{error.name} is not installed: {UPSTREAM}")
        with self._store.monitor.at("applying", f"a repair of {counted(request.rows, 'row')}"):
            return read_repair(self._options, self._store, request, step.new.resolved_ts)

    def _applied(self, step: Step, gathered: Gathered) -> Applied:
        if self._options.apply == "transactions":
            steps = gathered.steps()
            return apply_groups(self._context, self._store, step, steps, self._options)
        change = gathered.change or NoChange()
        return apply(self._context, self._store, step, change, self._options)

    def set_aside(self, name: TableName, state: Checkpoint, error: Stop) -> None:
        if not self._options.quarantine or isinstance(error, Denied) or not state.resolved_ts:
            raise error
        if name in self._beside.under_way:
            error.add_note(f"{'.'.join(name)} cannot be set aside while load --table loads it")
            raise error
        if bond := self._bond_of(name):
            error.add_note(f"{'.'.join(name)} cannot be set aside: {bond}")
            raise error
        store, table = self._store, SetAside.of(name, state, str(error))

        def attempt() -> None:
            with store.target.transaction():
                store.lock(state)
                store.quarantine.add(table)
                failpoints.hit("Q1")
            failpoints.hit("Q2")

        def happened() -> bool:
            store.reconnect()
            return store.quarantine.get(name) is not None

        until_known(store, self._options.retries, attempt, happened)
        drop_left(store.target, store.changefeed)

    def _bond_of(self, name: TableName) -> str:
        """Why the table cannot be set aside. The session may have ended with the refused cut."""
        bond = ""

        def look() -> None:
            nonlocal bond
            bond = bond_of(self._context, name)

        until_known(self._store, self._options.retries, look, happened=lambda: False)
        return bond

    def purge(self, resolved_ts: int) -> None:
        self._unneeded.drop(self._context.target)
        failpoints.hit("P5")
        for one in over(self._dropped, self.ledger.keep_dropped, resolved_ts):
            self._purge(one)
            self._dropped = self.ledger.dropped()

    def _purge(self, one: DroppedTable) -> None:
        store = self._store

        def happened() -> bool:
            store.reconnect()
            return one.order not in [other.order for other in self.ledger.dropped()]

        attempt = partial(purge, store.target, self.ledger, one)
        until_known(store, self._options.retries, attempt, happened)
