"""One cut, from checkpoint to commit.

`Reader` plans and reads: it needs the brokers and Spark, never the target, and so may read the
next cut while this one is loaded. `Epochs` brings what was read into the target.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession
from ticdc_encoder.event import Ddl
from ticdc_encoder.filter import TableFilter

from ticdc_consumer import ddl, faults
from ticdc_consumer.checkpoint import Checkpoint, Position, Store
from ticdc_consumer.errors import Retry, Stop, Unavailable
from ticdc_consumer.facts import Shape
from ticdc_consumer.job import Gathered, gather
from ticdc_consumer.ledger import LedgerEntry
from ticdc_consumer.listing import Cluster, Listing
from ticdc_consumer.load import Applied, Counts, NoChange, apply, apply_groups
from ticdc_consumer.options import Options
from ticdc_consumer.plan import Cut, Mark, Place, choose, end_of_cut, spread
from ticdc_consumer.read import ReadJob, wants
from ticdc_consumer.reconcile import Clash
from ticdc_consumer.scout import Scout
from ticdc_consumer.tables import Tables
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.target import Target
from ticdc_consumer.wire import latest_sane

PATIENCE = 30.0
"""Seconds that brokers may take to list all partitions, or to give what they listed."""
SMALL = 5_000
"""Messages up to which one task reads all partitions: a second task costs more than it saves."""
TRIES = 5
"""How often a cut is planned again when readers meet a DDL that the scout had not."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one commit brought. `resolved_ts` is R: the target equals the upstream at every
    commit_ts below it. `tables` counts rows deleted and written by upstream `schema.table`;
    `changes` the facts inside the cut, of which `duplicates` came more than once; `replays` those
    below it. `seconds` are by stage: plan, read, load, ddl."""

    resolved_ts: int
    tables: Mapping[str, Counts]
    messages: int
    bytes: int
    changes: int
    duplicates: int
    replays: int
    ddls: tuple[LedgerEntry, ...]
    seconds: Mapping[str, float]

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


class Reader:
    """Plans cuts and reads them. One thread at a time."""

    def __init__(self, options: Options, spark: SparkSession, cluster: Cluster) -> None:
        self._options = options
        self._spark = spark
        self._cluster = cluster
        self._filter = TableFilter(options.filter, case_sensitive=options.case_sensitive)
        self._rows_per_message = 1.0
        self._bytes_per_message = 0.0
        self.scout = Scout(options)

    def close(self) -> None:
        self.scout.close()

    def plan(self, base: Checkpoint, until: int | None, wait: float) -> Cut | None:
        """The next cut, or None where no mark above the applied R came within `wait` seconds."""
        applied = base.resolved_ts
        faults.hit("S2")
        self._drain(base, wait)
        if not any(mark.resolved_ts > applied for mark in self.scout.marks):
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
        faults.hit("S6")
        return Cut(
            applied, end, proof, starts, listing.ends, listing.topic_ids, joined, tuple(ddls)
        )

    def read(
        self,
        base: Checkpoint,
        cut: Cut,
        layouts: Sequence[Layout],
        shapes: Mapping[tuple[str, str], tuple[int, Shape | None]],
    ) -> Gathered:
        """Reads a cut with the layouts there are; the report tells if some are missing, or if a
        DDL was met that the cut does not hold."""
        places = tuple(sorted(cut.ends))
        weights = [(place, cut.ends[place] - cut.starts[place]) for place in places]
        total = sum(weight for _, weight in weights)
        tasks = 1 if total <= SMALL else max(1, self._spark.sparkContext.defaultParallelism)
        numbers = {place: number for number, place in enumerate(places)}
        busy = [(place, weight) for place, weight in weights if weight > 0] or weights[:1]
        groups = [[numbers[place] for place in group] for group in spread(busy, tasks)]
        known = [seen for seen in self.scout.ddls() if wants(self._filter, seen.ddl)]
        job = ReadJob(
            options=self._options,
            begin=cut.begin,
            end=cut.end,
            latest=latest_sane(self._options),
            places=places,
            starts=cut.starts,
            ends=cut.ends,
            joined=cut.joined,
            proof_time=base.mark_time,
            known_ddls=frozenset(
                (s.ddl.commit_ts, s.ddl.schema, s.ddl.table, s.ddl.query) for s in known
            ),
            layouts=tuple(layouts),
            shapes=dict(shapes),
            most_bytes=self._options.memory_budget // len(groups),
        )
        faults.hit("S3")
        gathered = self._gather(job, groups, total)
        report = gathered.report
        for place in places:
            report.restarts.setdefault(place, cut.starts[place])
        rows = sum(facts + replays for facts, _, replays in report.tables.values())
        if report.messages > 1000:
            self._rows_per_message = max(0.1, rows / report.messages)
            self._bytes_per_message = report.bytes / report.messages
        return gathered

    def read_again(
        self,
        base: Checkpoint,
        cut: Cut,
        layouts: Sequence[Layout],
        shapes: Mapping[tuple[str, str], tuple[int, Shape | None]],
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

    def _starts(
        self, base: Checkpoint, listing: Listing
    ) -> tuple[dict[Place, int], frozenset[Place]]:
        """Where each listed partition is read from, and those that join. Raises `Stop`."""
        starts = {}
        for place, position in base.positions.items():
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
        return starts, frozenset(new)

    def _rows_before(self, mark: Mark, starts: Mapping[Place, int], listing: Listing) -> float:
        """About how many rows lie before a mark: its share of its partition, times the lag."""
        head = (mark.topic, 0)
        lag = max(1, listing.ends[head] - starts[head])
        share = min(1.0, max(0, mark.offset - starts[head]) / lag)
        total = sum(listing.ends[place] - start for place, start in starts.items())
        return total * share * self._rows_per_message


class Epochs:
    """Applies cut after cut; after each, `state` is what the target holds."""

    def __init__(
        self,
        options: Options,
        reader: Reader,
        target: Target,
        store: Store,
        tables: Tables,
        state: Checkpoint,
    ) -> None:
        self._options = options
        self._reader = reader
        self._target = target
        self._store = store
        self._tables = tables
        self._ahead: Future[Prepared | None] | None = None
        self._settled = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ticdc-read")
        self.state = state

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

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
        )
        self._tables.forget()
        self._tables.definitions = self._store.ledger.definitions()
        self._settled = True

    def _next(self, until: int | None, wait: float) -> Epoch | None:
        prepared = self._take(until, wait)
        if prepared is None:
            return None
        prepared = self._complete(prepared, until)
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
            started = time.monotonic()
            self._settled = False
            self.settle()
            prepared.seconds["ddl"] = time.monotonic() - started
        faults.hit("S16")
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
        shapes: Mapping[tuple[str, str], tuple[int, Shape | None]],
    ) -> Prepared | None:
        for _ in range(TRIES):
            started = time.monotonic()
            cut = self._reader.plan(base, until, wait)
            if cut is None:
                return None
            planned = time.monotonic()
            gathered = self._gather(base, cut, layouts, shapes)
            seconds = {"plan": planned - started, "read": time.monotonic() - planned}
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
        shapes: Mapping[tuple[str, str], tuple[int, Shape | None]],
    ) -> Gathered:
        for tried in range(self._options.retries + 1):
            try:
                return self._reader.read(base, cut, layouts, shapes)
            except Retry as error:
                cause = error
                time.sleep(min(10.0, 0.2 * 2**tried))
        raise Unavailable(f"the cut could not be read: {cause}") from cause

    def _complete(self, prepared: Prepared, until: int | None) -> Prepared:
        """Makes the layouts that the reading missed, and reads again, until none is missing."""
        while prepared.gathered.report.missing:
            for table, deletes_only in prepared.gathered.report.missing.values():
                fresh = self.state.resolved_ts == 0
                self._tables.add(table, deletes_only, fresh)
            started = time.monotonic()
            gathered = self._gather(
                self.state, prepared.cut, self._tables.layouts, self._tables.shapes
            )
            prepared.seconds["read"] += time.monotonic() - started
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
        faults.hit("S5")
        common = (self._options, entries, self._tables.route)
        if self._options.apply == "transactions":
            return apply_groups(
                self._target, self._store, self.state, new, gathered.steps(), *common
            )
        change = gathered.change or NoChange()
        return apply(self._target, self._store, self.state, new, change, *common)

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
        return replace(
            self.state,
            resolved_ts=cut.end,
            mark_time=cut.proof.time,
            positions=positions,
            counters=counters,
        )

    def _counts(self, prepared: Prepared) -> tuple[int, int, int]:
        tables = prepared.gathered.report.tables.values()
        across = sum(prepared.gathered.duplicates.values())
        return (
            sum(facts for facts, _, _ in tables),
            sum(duplicates for _, duplicates, _ in tables) + across,
            sum(replays for _, _, replays in tables),
        )

    def _told(self, prepared: Prepared, applied: Applied, entries: Sequence[LedgerEntry]) -> Epoch:
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
