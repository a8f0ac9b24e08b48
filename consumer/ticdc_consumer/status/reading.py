"""The status of a changefeed, read from its target only."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.tso import lag

from ticdc_consumer.config.options import Settings
from ticdc_consumer.ddl import known_views
from ticdc_consumer.ddl.generated_columns import LeftOutColumn, all_left_out
from ticdc_consumer.source.facts import SourceFacts
from ticdc_consumer.state.checkpoint import WHOLE, Position
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.loading import LoadNotes, LoadProgress
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.repairs import RepairState
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity.activity import Activity
from ticdc_consumer.status.activity.recorder import blockers_of
from ticdc_consumer.status.activity.stored import StoredActivity
from ticdc_consumer.status.activity.stored import read as activity_of
from ticdc_consumer.status.causes import thresholds
from ticdc_consumer.status.causes.situation import Diagnosis, Situation, TargetFacts
from ticdc_consumer.status.causes.table import explain
from ticdc_consumer.targets.blockers import Blocker
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.target import Target

LOOKED_AT = 20
"""Tables whose keys are checked: those to which most rows went."""


@dataclass(frozen=True, slots=True)
class TableStatus:
    """An upstream table, and its table of the target. The rows are those that the newest consumer
    has deleted and written since it started; None if unknown."""

    name: str
    relation: str
    deleted: int | None = None
    written: int | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The status: the tables hold every commit_ts < `resolved_ts`, as TiDB shows with
    `tidb_snapshot = resolved_ts - 1`. `activity` is the consumer's present or last one, `target`
    what else the target shows. During an unfinished first load (`loading`) the tables hold part of
    it, and R is 0. Tables that are `set_aside` have their own R. `views_left_out` are the CREATE
    VIEWs of upstream's views that the target lacks. `repair` is the last request of `verify
    --repair`."""

    changefeed: str
    resolved_ts: int
    lag_seconds: float
    generation: int
    positions: Sequence[Position]
    pending: Sequence[LedgerEntry]
    skipped: Sequence[LedgerEntry]
    counters: Mapping[str, int]
    at_least_once: Sequence[str]
    left_out: Sequence[LeftOutColumn] = ()
    views_left_out: Sequence[LedgerEntry] = ()
    tables: Sequence[TableStatus] = ()
    activity: StoredActivity | None = None
    loading: LoadProgress | None = None
    set_aside: Sequence[SetAside] = ()
    repair: RepairState | None = None
    target: TargetFacts = field(default_factory=TargetFacts)

    def situation(
        self,
        config: str = "CONFIG",
        source: SourceFacts | None = None,
        source_error: TicdcError | None = None,
    ) -> Situation:
        """The situation, with what the source shows, if it was asked. `config` is the settings
        file."""
        stored = self.activity
        return Situation(
            now=time.time(),
            resolved_ts=self.resolved_ts,
            activity=stored.activity if stored else None,
            running=stored is not None and stored.running,
            silent=stored.silent if stored else None,
            age=stored.age if stored else 0.0,
            ahead=stored.ahead if stored else 0.0,
            pending=self.pending,
            restarts={(p.topic, p.partition): p.restart_offset for p in self.positions},
            topic_ids={p.topic: p.topic_id for p in self.positions if p.topic_id},
            has_tables=bool(self.tables),
            target=self.target,
            source=source,
            source_error=source_error,
            config=config,
            loading=self.loading,
            set_aside=self.set_aside,
        )

    @property
    def why(self) -> Diagnosis:
        """The explanation of the state, as far as the target shows it."""
        return explain(self.situation())

    @property
    def tidb_snapshot(self) -> int:
        return self.resolved_ts - 1


def read(target: Target, options: Settings) -> Status:
    """Reads the status without waiting for a running consumer. Raises `Stop` before the first
    start."""
    store = Store(target, options.changefeed, where=InTarget.by(options, target))
    checkpoint = store.read()
    if checkpoint is None:
        raise store.unknown()
    entries = store.ledger.entries()
    stored = activity_of(target, options.changefeed)
    return Status(
        changefeed=options.changefeed,
        resolved_ts=checkpoint.resolved_ts,
        lag_seconds=lag(checkpoint.resolved_ts),
        generation=checkpoint.generation,
        positions=[checkpoint.positions[name] for name in sorted(checkpoint.positions)],
        pending=[entry for entry in entries if entry.state == "pending"],
        skipped=[e for e in entries if e.state == "skipped" and not known_views.is_create(e)],
        counters={n: c for n, c in checkpoint.counters.items() if n != WHOLE},
        at_least_once=options.at_least_once,
        left_out=all_left_out(target, store.ledger),
        views_left_out=list(known_views.left_out(store.ledger).values()),
        tables=_tables(target, store, stored),
        activity=stored,
        loading=LoadNotes(target, options.changefeed).progress(),
        set_aside=store.quarantine.tables(),
        repair=store.repairs.last(),
        target=_facts(target, store, stored),
    )


def _facts(target: Target, store: Store, stored: StoredActivity | None) -> TargetFacts:
    """Facts of the target, without those that this user may not see."""
    read_only = ""
    with suppress(TicdcError):
        read_only = target.read_only()
    if read_only or stored is None or not stored.alive:
        return TargetFacts(read_only=read_only)
    session = stored.silent.session if stored.silent else stored.activity.session
    blockers = blockers_of(target, session) if session else ()
    if stored.silent is not None:
        blockers = blockers or _blockers_of_writer(target, stored.activity)
        return TargetFacts(blockers)
    burdens: list[str] = []
    with suppress(TicdcError):
        open_for, behind = thresholds.OPEN_TRANSACTION, thresholds.KEPT_WAL
        burdens = target.burdens(session, open_for, behind)
    without_key: tuple[str, ...] = ()
    if lag(stored.activity.resolved_ts) >= thresholds.LAG and not blockers:
        destinations = store.ledger.known().destinations
        busiest = sorted(destinations, key=lambda name: -_rows(stored, name))[:LOOKED_AT]
        with suppress(TicdcError):
            names = (destinations[name] for name in busiest)
            without_key = tuple(_without_key(target, filter(None, names)))
    return TargetFacts(blockers, tuple(burdens), without_key)


def _blockers_of_writer(target: Target, activity: Activity) -> tuple[Blocker, ...]:
    """Sessions that block the one that cannot write its consumer's activity."""
    blockers = blockers_of(target, activity.writer) if activity.writer else ()
    with suppress(TicdcError):
        if not blockers and (waiting := target.waiting(activity.changefeed)):
            blockers = blockers_of(target, waiting)
    return blockers


def _rows(stored: StoredActivity, name: tuple[str, str]) -> int:
    return sum(stored.activity.tables.get(".".join(name), (0, 0)))


def _without_key(target: Target, names: Iterable[TargetName]) -> Iterator[str]:
    for name in names:
        described = target.describe(*name)
        if described is not None and not any(key.identifies for key in described.unique_keys):
            yield target.quote(*name)


def _tables(target: Target, store: Store, stored: StoredActivity | None) -> list[TableStatus]:
    rows = stored.activity.tables if stored else {}
    destinations = store.ledger.known().destinations
    return [
        TableStatus(".".join(name), target.quote(*destination), *rows.get(".".join(name), ()))
        for name, destination in sorted(destinations.items())
        if destination is not None
    ]
