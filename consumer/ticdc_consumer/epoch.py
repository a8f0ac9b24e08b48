"""One cut, from checkpoint to commit: `Epochs` brings what `cuts.Reader` read into the target."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field, replace

from ticdc_encoder.event import Ddl

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Options
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.dropped_tables import purge
from ticdc_consumer.ddl.policy import Policy
from ticdc_consumer.errors import Retry, Stop, Unavailable
from ticdc_consumer.layouts import TableLayouts
from ticdc_consumer.load import Applied, Counts, apply, apply_groups
from ticdc_consumer.plan import Cut
from ticdc_consumer.protocols.shape import TableShapes
from ticdc_consumer.reader import Reader
from ticdc_consumer.reconcile.chunks import Clash
from ticdc_consumer.reconcile.net_change import NoChange
from ticdc_consumer.spark.jobs import Gathered
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.ledger import KeptTable, LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.target import Target

TRIES = 5
"""How often a cut is planned again when readers meet a DDL that the scout had not."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one commit brought. `resolved_ts` is R: the target equals the upstream at every
    commit_ts below it. `tables` counts rows deleted and written by upstream `schema.table`;
    `changes` the facts inside the cut, of which `duplicates` came more than once; `replays` those
    below it. `corrupted` counts the rows that were taken although their checksums say otherwise,
    `corrupted_rows` tells the first of them.
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

    @property
    def rows(self) -> int:
        """Rows deleted and written."""
        return sum(counts.deleted + counts.upserted for counts in self.tables.values())


@dataclass(slots=True)
class Prepared:
    """A cut that was read, and the state that it was read for."""

    base: Checkpoint
    cut: Cut
    gathered: Gathered
    seconds: dict[str, float] = field(default_factory=dict)


class Epochs:
    """Applies cut after cut; after each, `state` is what the target holds."""

    def __init__(
        self,
        options: Options,
        reader: Reader,
        target: Target,
        store: Store,
        tables: TableLayouts,
        state: Checkpoint,
    ) -> None:
        self._options = options
        self._reader = reader
        self._target = target
        self._store = store
        self._tables = tables
        self._ahead: Future[Prepared | None] | None = None
        self._settled = False
        self._kept: list[KeptTable] = []
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ticdc-read")
        self.state = state

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def rest(self) -> None:
        """Waits until nothing is read ahead any more: what reads has one user at a time."""
        if self._ahead is not None:
            wait_for([self._ahead])

    def next(self, until: int | None, wait: float) -> Epoch | None:
        """Applies the next cut, None where none came within `wait` seconds.

        Raises `Stop`, `Unavailable` and `Fenced`; the target then stands at `state`.
        """
        for tried in range(self._options.retries + 1):
            try:
                if tried:
                    self._store.recover()
                self.settle()
                return self._next(until, wait)
            except Retry as error:
                cause = error
                time.sleep(min(10.0, 0.1 * 2**tried))
        raise Unavailable(f"the target does not answer: {cause}") from cause

    def settle(self) -> None:
        """Runs what a cut, or a crash, left pending. No cut is read past a DDL before it is done.

        Raises `Stop` where a person must do it.
        """
        if self._settled:
            return
        ddl.run_pending(
            self._target,
            self._store,
            self._tables.route,
            self._options.rules,
            self._options.retries,
            Policy.of(self._options),
        )
        self._tables.learn(self._store.ledger)
        self._kept = self._store.ledger.kept()
        self._settled = True

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
        if not entries and gathered.spilled is None:
            self._read_ahead(new, until)
        started = time.monotonic()
        try:
            applied = self._load(new, gathered, entries)
        finally:
            gathered.release()
        prepared.seconds["load"] = time.monotonic() - started
        self.state = new
        if entries:
            self._reader.schemas.keep(new.schemas)
            started = time.monotonic()
            self._settled = False
            self.settle()
            prepared.seconds["ddl"] = time.monotonic() - started
        elif purge(self._target, self._store.ledger, self._kept, new.resolved_ts):
            self._kept = self._store.ledger.kept()
        failpoints.hit("S16")
        return self._told(prepared, applied, entries)

    def _take(self, until: int | None, wait: float) -> Prepared | None:
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            prepared = ahead.result()
            if prepared is not None:
                fits = until is None or prepared.cut.end <= until
                if fits and prepared.base.resolved_ts == self.state.resolved_ts:
                    return replace(prepared, base=self.state)
                prepared.gathered.release()
        return self._prepare(self.state, until, wait, self._tables.layouts, self._tables.shapes)

    def _read_ahead(self, base: Checkpoint, until: int | None) -> None:
        """Reads the next cut, if there is one already, while this one is loaded."""
        if until is None or base.resolved_ts < until:
            layouts, shapes = list(self._tables.layouts), dict(self._tables.shapes)
            self._ahead = self._pool.submit(self._prepare, base, until, 0.0, layouts, shapes)

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
        """Makes the layouts that the reading missed, and reads again, until none is missing. None
        where rows wait for their schema."""
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
                    raise Unavailable("the marks that were seen are gone")
                prepared = again
            else:
                prepared = replace(prepared, gathered=gathered)
        return prepared

    def _load(self, new: Checkpoint, gathered: Gathered, entries: Sequence[LedgerEntry]) -> Applied:
        failpoints.hit("S5")
        seen = self._tables.sightings()
        common = (self._options, entries, self._tables.route, seen)
        if self._options.apply == "transactions":
            steps = gathered.steps()
            applied = apply_groups(self._target, self._store, self.state, new, steps, *common)
        else:
            change = gathered.change or NoChange()
            applied = apply(self._target, self._store, self.state, new, change, *common)
        self._tables.note_recorded(seen)
        return applied

    def _advanced(self, prepared: Prepared) -> Checkpoint:
        cut, report = prepared.cut, prepared.gathered.report
        marks = self._reader.scout.top
        positions = {}
        for place, restart in report.restarts.items():
            topic, number = place
            mark = marks.get(topic) if number == 0 else None
            before = self.state.positions.get(place)
            positions[place] = Position(
                topic,
                cut.topic_ids[topic] or (before.topic_id if before else ""),
                number,
                restart,
                mark.offset if mark else None,
                mark.crc if mark else None,
            )
        changes, duplicates, replays = self._counts(prepared)
        counters = dict(self.state.counters)
        for name, more in (
            ("cuts", 1),
            ("changes", changes),
            ("duplicates", duplicates),
            ("replays", replays),
            ("messages", report.messages),
        ):
            counters[name] = counters.get(name, 0) + more
        if report.corrupted:
            counters["corrupted"] = counters.get("corrupted", 0) + report.corrupted
        return replace(
            self.state,
            resolved_ts=cut.end,
            mark_time=cut.proof.time,
            positions=positions,
            counters=counters,
            schemas=self._reader.schemas.after(seen.ddl for seen in cut.ddls),
        )

    def _counts(self, prepared: Prepared) -> tuple[int, int, int]:
        tables = prepared.gathered.report.tables.values()
        across = sum(prepared.gathered.duplicates.values())
        return (
            sum(counts.facts for counts in tables),
            sum(counts.duplicates for counts in tables) + across,
            sum(counts.replays for counts in tables),
        )

    def _told(self, prepared: Prepared, applied: Applied, entries: Sequence[LedgerEntry]) -> Epoch:
        if entries:
            mine = {entry.place for entry in entries}
            entries = [e for e in self._store.ledger.entries() if e.place in mine]
        changes, duplicates, replays = self._counts(prepared)
        report = prepared.gathered.report
        return Epoch(
            prepared.cut.end,
            applied.tables,
            report.messages,
            report.bytes,
            changes,
            duplicates,
            replays,
            tuple(entries),
            prepared.seconds,
            report.corrupted,
            tuple(report.corrupted_rows),
        )

    def _check_stale(self, stale: Sequence[Ddl]) -> None:
        if not stale:
            return
        known = {(e.commit_ts, e.schema, e.table, e.query) for e in self._store.ledger.entries()}
        for one in stale:
            if (one.commit_ts, one.schema, one.table, one.query) not in known:
                raise Stop(
                    f"a new topic brings a DDL of {one.schema}.{one.table} with commit_ts "
                    f"{one.commit_ts}, below the applied {self.state.resolved_ts}, that was never "
                    "executed here"
                )

    def _refuse(self, cut: Cut, gathered: Gathered, clash: Clash) -> None:
        self._reader.read_again(self.state, cut, gathered.layouts, self._tables.shapes, clash)
        places = sorted(cut.ends)
        where = " and ".join(
            f"{places[number][0]}[{places[number][1]}] offset {offset}"
            for number, offset in (clash.first, clash.second)
        )
        layout = gathered.layouts[clash.table]
        raise Stop(
            f"{layout.name}: two different rows for one key at commit_ts {clash.commit_ts}, "
            f"at {where}"
        )
