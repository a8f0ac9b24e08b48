"""Applies a cut that was read: its rows, its DDL, a repair, and copies being loaded."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Protocol

from ticdc_encoder.counted import counted
from ticdc_encoder.event import Ddl

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply.before_commit import BeforeCommit
from ticdc_consumer.cut.apply.counts import Applied
from ticdc_consumer.cut.apply.repair import Repair
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.cut.apply.transaction import apply, apply_groups
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.reconcile.gathered import Gathered
from ticdc_consumer.cut.reconcile.net_change import NoChange
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.beside import Beside
from ticdc_consumer.ddl.context import DdlContext, Snapshot
from ticdc_consumer.ddl.dropped_tables import over, purge
from ticdc_consumer.ddl.quarantined import bond_of
from ticdc_consumer.errors import UPSTREAM_DRIVER, Denied, Stop, UpstreamAway
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.ledger import DroppedTable, Ledger
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.repairs import RepairRequest
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.staging import Unneeded, drop_left
from ticdc_consumer.targets.target import Target

ReadRepair = Callable[[Settings, Store, RepairRequest, int], Repair]
"""Reads the rows of a request as of a cut's end upstream, at that resolved ts."""


class Applier(Protocol):
    """Handles a cut that was read: applies it, or records what that would do."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def reads_ahead(self) -> bool:
        """Returns whether the next cut may be read before this one is applied."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Patterns of tables whose rows are not read."""

    def recover(self) -> None:
        """Replaces the session after a `Retry`, if it is lost. Raises `Fenced`, `Retry`."""

    def run_pending(self) -> None:
        """Runs what the ledger holds as pending. Raises `Stop`."""

    def tend(self) -> bool:
        """Tends, between two cuts, the copies being loaded. Returns whether rows now go elsewhere,
        so that a cut read earlier is useless. Raises `Stop`."""

    def holds(self, seen: Ddl) -> bool:
        """Returns whether a DDL has to wait until a table is loaded. Thread-safe."""

    def apply(self, step: Step, gathered: Gathered) -> Applied:
        """Applies the rows of a cut, and its DDL as far as they are part of its transaction."""

    def purge(self, resolved_ts: int) -> None:
        """Drops the kept copies of dropped tables whose time is over."""

    def set_aside(self, name: TableName, state: Checkpoint, error: Stop) -> None:
        """Quarantines a table for the reason in `error`, at `state`. Raises `error` if not
        allowed."""


class ToTarget:
    """Applies cuts to the target."""

    reads_ahead = True
    left_out = ()

    def __init__(
        self,
        options: Settings,
        target: Target,
        store: Store,
        tables: TableLayouts,
        unneeded: Unneeded | None = None,
        before_commit: BeforeCommit | None = None,
        read_repair: ReadRepair | None = None,
    ) -> None:
        """Staging tables that are `unneeded` are dropped after each cut; `before_commit` is called
        in the transaction of each. Without `read_repair`, repair requests wait."""
        self._before_commit = before_commit
        self._read_repair = read_repair
        self._options = options
        self._unneeded = unneeded or Unneeded()
        self._store = store
        self._tables = tables
        snapshot_of = partial(_upstream_table, options) if options.upstream_url else None
        self._context = DdlContext.of(options, target, store.ledger, tables.route, snapshot_of)
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
        changed = self._tables.fill(self._beside.filled)
        if changed:
            self._tables.learn(self.ledger)  # a table whose load began is known
        return changed

    def holds(self, seen: Ddl) -> bool:
        return self._beside.holds(seen)

    def apply(self, step: Step, gathered: Gathered) -> Applied:
        step = replace(step, copies=self._beside.copies, before_commit=self._before_commit)
        repair = self._repair(step)
        applied = self._applied(replace(step, repair=repair), gathered)
        if repair is not None:
            self._report(repair.number)
        return applied

    def _report(self, number: int) -> None:
        """Reports the result of a repair. Its cut is committed, and must not be tried again."""
        store = self._store

        def look() -> None:
            store.monitor.repaired(store.repairs.state(number))

        until_known(store, self._options.retries, look, happened=lambda: False)

    def _repair(self, step: Step) -> Repair | None:
        """Returns the rows that a waiting request adds to the cut. A DDL of the cut may change the
        tables."""
        store = self._store
        if self._read_repair is None or not store.monitor.repair_waits or step.entries:
            return None
        request = store.repairs.oldest_pending()
        if request is None:
            store.monitor.repaired(None)
            return None
        with store.monitor.at("applying", f"a repair of {counted(request.rows, 'row')}"):
            return self._read_repair(self._options, store, request, step.new.resolved_ts)

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
            error.add_note(f"{'.'.join(name)} cannot be quarantined while load --table loads it")
            raise error
        if bond := self._bond_of(name):
            error.add_note(f"{'.'.join(name)} cannot be quarantined: {bond}")
            raise error
        store, table = self._store, SetAside.of(name, state, str(error))

        def attempt() -> None:
            with store.target.transaction():
                store.lock(state)
                store.quarantine.add(table)
                failpoints.hit("quarantine-commit")
            failpoints.hit("quarantined")

        def happened() -> bool:
            store.reconnect()
            return store.quarantine.get(name) is not None

        until_known(store, self._options.retries, attempt, happened)
        drop_left(store.target, store.changefeed)

    def _bond_of(self, name: TableName) -> str:
        """Returns why the table cannot be quarantined. The session may have ended with the refused
        cut."""
        bond = ""

        def look() -> None:
            nonlocal bond
            bond = bond_of(self._context, name)

        until_known(self._store, self._options.retries, look, happened=lambda: False)
        return bond

    def purge(self, resolved_ts: int) -> None:
        self._unneeded.drop(self._context.target)
        failpoints.hit("stages-dropped")
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


@contextmanager
def _upstream_table(options: Settings, name: TableName, snapshot_ts: int) -> Iterator[Snapshot]:
    """Opens a table of `[source] upstream`; only this needs its driver."""
    try:
        from ticdc_consumer.upstream.as_of import table_as_of
    except ModuleNotFoundError as error:
        raise UpstreamAway(f"{error.name} is not installed: {UPSTREAM_DRIVER}") from error
    with table_as_of(options, name, snapshot_ts) as table:
        yield table
