"""One cut, from checkpoint to commit: `Epochs` has what `reader.Reader` read applied."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field, replace
from typing import Protocol

from ticdc_encoder.event import Ddl

from ticdc_consumer import failpoints
from ticdc_consumer.apply import Applied, Counts, Step, apply, apply_groups
from ticdc_consumer.config.options import Options
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.dropped_tables import purge
from ticdc_consumer.errors import Retry, Stop, Unavailable
from ticdc_consumer.layouts import TableLayouts
from ticdc_consumer.plan import Cut
from ticdc_consumer.protocols.shape import TableShapes
from ticdc_consumer.reader import Reader
from ticdc_consumer.reconcile.chunks import Clash
from ticdc_consumer.reconcile.net_change import NoChange
from ticdc_consumer.spark.jobs import Gathered
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.ledger import DroppedTable, Ledger, LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.target import Target

TRIES = 5
"""How often a cut is planned again when readers meet a DDL that the scout had not."""


@dataclass(slots=True)
class Prepared:
    """A cut that was read, and the state that it was read for."""

    base: Checkpoint
    cut: Cut
    gathered: Gathered
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def changes(self) -> int:
        """Facts inside the cut."""
        return sum(counts.facts for counts in self.gathered.report.tables.values())

    @property
    def duplicates(self) -> int:
        tables = self.gathered.report.tables.values()
        across = sum(self.gathered.duplicates.values())
        return sum(counts.duplicates for counts in tables) + across

    @property
    def replays(self) -> int:
        """Facts below the cut."""
        return sum(counts.replays for counts in self.gathered.report.tables.values())


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one commit brought. `resolved_ts` is R: the target equals the upstream at every
    commit_ts below it. `tables` counts rows deleted and written by upstream `schema.table`;
    `changes` the facts inside the cut, of which `duplicates` came more than once; `replays` those
    below it. `corrupted` counts the rows that were accepted although their checksums do not match,
    `corrupted_rows` describes the first of them.
    `seconds` are by stage: plan, read, load, ddl."""

    resolved_ts: int
    tables: Mapping[str, Counts]
    messages: int
    bytes: int
    changes: int
    duplicates: int
    replays: int
    ddls: tuple[LedgerEntry, ...]
    seconds: Mapping[str, float]
    corrupted: int = 0
    corrupted_rows: tuple[str, ...] = ()

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
            prepared.seconds,
            report.corrupted,
            tuple(report.corrupted_rows),
        )

    @property
    def rows(self) -> int:
        """Rows deleted and written."""
        return sum(counts.deleted + counts.upserted for counts in self.tables.values())


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

    def apply(self, step: Step, gathered: Gathered) -> Applied:
        """Does the rows of a cut, and its DDL as far as they are part of its transaction."""

    def purge(self, resolved_ts: int) -> None:
        """Drops the tables that were set aside, and whose time is over."""


class ToTarget:
    """Applies cuts to the target."""

    reads_ahead = True

    def __init__(
        self, options: Options, target: Target, store: Store, tables: TableLayouts
    ) -> None:
        self._options = options
        self._store = store
        self._context = DdlContext.of(options, target, store.ledger, tables.route)
        self._dropped: Sequence[DroppedTable] = ()

    @property
    def ledger(self) -> Ledger:
        return self._store.ledger

    def recover(self) -> None:
        self._store.recover()

    def run_pending(self) -> None:
        ddl.run_pending(self._context, self._store, self._options.retries)
        self._dropped = self.ledger.dropped()

    def apply(self, step: Step, gathered: Gathered) -> Applied:
        if self._options.apply == "transactions":
            steps = gathered.steps()
            return apply_groups(self._context, self._store, step, steps, self._options)
        change = gathered.change or NoChange()
        return apply(self._context, self._store, step, change, self._options)

    def purge(self, resolved_ts: int) -> None:
        if purge(self._context.target, self.ledger, self._dropped, resolved_ts):
            self._dropped = self.ledger.dropped()


class ReadAhead:
    """The next cut, read in a thread of its own while this one is applied."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ticdc-read")
        self._future: Future[Prepared | None] | None = None

    def begin(self, prepare: Callable[[], Prepared | None]) -> None:
        self._future = self._pool.submit(prepare)

    def take(self) -> Prepared | None:
        """What was read, once; None if nothing was begun, or there was no cut."""
        future, self._future = self._future, None
        return None if future is None else future.result()

    def wait(self) -> None:
        """Waits until nothing is read any more: what reads has one user at a time."""
        if self._future is not None:
            wait_for([self._future])

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


class Epochs:
    """Has cut after cut applied; after each, `state` is what the target holds."""

    def __init__(
        self,
        options: Options,
        reader: Reader,
        applier: Applier,
        tables: TableLayouts,
        state: Checkpoint,
    ) -> None:
        self._options = options
        self._reader = reader
        self._applier = applier
        self._tables = tables
        self._ahead = ReadAhead()
        self._all_done = False
        self.state = state

    def close(self) -> None:
        self._ahead.close()

    def greatest_mark(self) -> int:
        """The greatest resolved ts that the source has now."""
        self._ahead.wait()  # what reads has one user at a time
        return self._reader.greatest_mark(self.state)

    def next(self, until: int | None, wait: float) -> Epoch | None:
        """Applies the next cut, None if none came within `wait` seconds.

        Raises `Stop`, `Unavailable` and `Fenced`; the target then is at `state`.
        """
        for tried in range(self._options.retries + 1):
            try:
                if tried:
                    self._applier.recover()
                self.run_pending()
                return self._next(until, wait)
            except Retry as error:
                cause = error
                time.sleep(min(10.0, 0.1 * 2**tried))
        raise Unavailable(f"the target does not answer: {cause}") from cause

    def run_pending(self) -> None:
        """Runs what a cut, or a crash, left pending. No cut is read past a DDL before it is done.

        Raises `Stop` if an operator must do it.
        """
        if self._all_done:
            return
        self._applier.run_pending()
        self._tables.learn(self._applier.ledger)
        self._all_done = True

    def _next(self, until: int | None, wait: float) -> Epoch | None:
        prepared = self._take(until, wait)
        if prepared is not None:
            prepared = self._complete(prepared, until)
        if prepared is None:
            return None
        gathered, cut = prepared.gathered, prepared.cut
        self._check_stale(gathered.report.stale_ddls)
        if gathered.clash is not None:
            self._refuse(cut, gathered, gathered.clash)
        new = self._advanced(prepared)
        entries = ddl.entries(cut.ddls)
        if not entries and gathered.spilled is None and self._applier.reads_ahead:
            self._read_ahead(new, until)
        started = time.monotonic()
        try:
            applied = self._apply(new, gathered, entries)
        finally:
            gathered.release()
        prepared.seconds["load"] = time.monotonic() - started
        self.state = new
        if entries:
            self._reader.schemas.keep(new.schemas)
            started = time.monotonic()
            self._all_done = False
            self.run_pending()
            prepared.seconds["ddl"] = time.monotonic() - started
        else:
            self._applier.purge(new.resolved_ts)
        failpoints.hit("S16")
        stored = (self._applier.ledger.entry(entry.order) for entry in entries)
        return Epoch.of(prepared, applied, [entry for entry in stored if entry is not None])

    def _take(self, until: int | None, wait: float) -> Prepared | None:
        prepared = self._ahead.take()
        if prepared is not None:
            fits = until is None or prepared.cut.end <= until
            if fits and prepared.base.resolved_ts == self.state.resolved_ts:
                return replace(prepared, base=self.state)
            prepared.gathered.release()
        return self._prepare(self.state, until, wait, self._tables.layouts, self._tables.shapes)

    def _read_ahead(self, base: Checkpoint, until: int | None) -> None:
        """Reads the next cut, if there is one already, while this one is applied."""
        if until is None or base.resolved_ts < until:
            layouts, shapes = list(self._tables.layouts), dict(self._tables.shapes)
            self._ahead.begin(lambda: self._prepare(base, until, 0.0, layouts, shapes))

    def _prepare(
        self,
        base: Checkpoint,
        until: int | None,
        wait: float,
        layouts: Sequence[Layout],
        shapes: TableShapes,
    ) -> Prepared | None:
        for _ in range(TRIES):
            started = time.monotonic()
            cut = self._reader.plan(base, until, wait)
            if cut is None:
                return None
            planned = time.monotonic()
            gathered = self._gather(base, cut, layouts, shapes)
            seconds = {"plan": planned - started, "read": time.monotonic() - planned}
            if gathered.report.unread:
                return None
            if not gathered.report.unknown_ddls:
                return Prepared(base, cut, gathered, seconds)
            unknown = gathered.report.unknown_ddls[0]
        raise Stop(
            f"a DDL of commit_ts {unknown.commit_ts} ({unknown.schema}.{unknown.table}) is in a "
            "partition, but partition 0 of its topic does not have it"
        )

    def _gather(
        self,
        base: Checkpoint,
        cut: Cut,
        layouts: Sequence[Layout],
        shapes: TableShapes,
    ) -> Gathered:
        for tried in range(self._options.retries + 1):
            try:
                return self._reader.read(base, cut, layouts, shapes)
            except Retry as error:
                cause = error
                time.sleep(min(10.0, 0.2 * 2**tried))
        raise Unavailable(f"the cut could not be read: {cause}") from cause

    def _complete(self, prepared: Prepared, until: int | None) -> Prepared | None:
        """Creates the layouts that the reading missed, and reads again, until none is missing. None
        if rows wait for their schema."""
        while prepared.gathered.report.missing:
            for table, deletes_only in prepared.gathered.report.missing.values():
                fresh = self.state.resolved_ts == 0
                self._tables.add(table, deletes_only, fresh)
            started = time.monotonic()
            gathered = self._gather(
                self.state, prepared.cut, self._tables.layouts, self._tables.shapes
            )
            prepared.seconds["read"] += time.monotonic() - started
            if gathered.report.unread:
                return None
            if gathered.report.unknown_ddls:
                again = self._prepare(
                    self.state, until, 0.0, self._tables.layouts, self._tables.shapes
                )
                if again is None:
                    raise Unavailable("the marks that were seen are no longer in the log")
                prepared = again
            else:
                prepared = replace(prepared, gathered=gathered)
        return prepared

    def _apply(
        self, new: Checkpoint, gathered: Gathered, entries: Sequence[LedgerEntry]
    ) -> Applied:
        failpoints.hit("S5")
        seen = self._tables.sightings()
        applied = self._applier.apply(Step(self.state, new, entries, seen), gathered)
        self._tables.note_recorded(seen)
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
            schemas=self._reader.schemas.after(seen.ddl for seen in cut.ddls),
        )

    def _positions(
        self, cut: Cut, restarts: Mapping[tuple[str, int], int]
    ) -> dict[tuple[str, int], Position]:
        """Where each partition goes on after the cut."""
        marks = self._reader.source.top
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

    def _check_stale(self, stale: Sequence[Ddl]) -> None:
        if not stale:
            return
        known = {(e.commit_ts, e.schema, e.table, e.query) for e in self._applier.ledger.entries()}
        for one in stale:
            if (one.commit_ts, one.schema, one.table, one.query) not in known:
                raise Stop(
                    f"a new topic brings a DDL of {one.schema}.{one.table} with commit_ts "
                    f"{one.commit_ts}, below the applied {self.state.resolved_ts}, that was never "
                    "executed here"
                )

    def _refuse(self, cut: Cut, gathered: Gathered, clash: Clash) -> None:
        self._reader.read_again(self.state, cut, gathered.layouts, self._tables.shapes, clash)
        topic_partitions = sorted(cut.ends)
        where = " and ".join(
            "{}[{}] offset {}".format(*topic_partitions[number], offset)
            for number, offset in (clash.first, clash.second)
        )
        layout = gathered.layouts[clash.table]
        raise Stop(
            f"{layout.name}: two different rows for one key at commit_ts {clash.commit_ts}, "
            f"at {where}"
        )
