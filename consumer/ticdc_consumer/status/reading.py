"""Where a changefeed is, from its target alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ticdc_encoder.tso import lag

from ticdc_consumer.config.options import Options
from ticdc_consumer.ddl.generated_columns import LeftOutColumn, all_left_out
from ticdc_consumer.state.activity.stored import StoredActivity
from ticdc_consumer.state.activity.stored import read as activity_of
from ticdc_consumer.state.checkpoint import Position
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.loading import LoadNotes, LoadProgress
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.target import Target


@dataclass(frozen=True, slots=True)
class TableStatus:
    """An upstream table, and the table of the target that its rows go to. The rows are those that
    the newest consumer has deleted and written since it started; None if that is not known."""

    name: str
    relation: str
    deleted: int | None = None
    written: int | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The tables hold every commit_ts < `resolved_ts`: what TiDB shows with
    `tidb_snapshot = resolved_ts - 1`. `activity` is what the consumer is at, or was at last.
    While a first load is not finished they hold a part of it, and R is 0: see `loading`."""

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
    tables: Sequence[TableStatus] = ()
    activity: StoredActivity | None = None
    loading: LoadProgress | None = None

    @property
    def tidb_snapshot(self) -> int:
        return self.resolved_ts - 1


def read(target: Target, options: Options) -> Status:
    """Reads without waiting for a consumer that runs. Raises `Stop` before the first start."""
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
        skipped=[entry for entry in entries if entry.state == "skipped"],
        counters=checkpoint.counters,
        at_least_once=options.at_least_once,
        left_out=all_left_out(target, store.ledger),
        tables=_tables(target, store, stored),
        activity=stored,
        loading=LoadNotes(target, options.changefeed).progress(),
    )


def _tables(target: Target, store: Store, stored: StoredActivity | None) -> list[TableStatus]:
    rows = stored.activity.tables if stored else {}
    destinations = store.ledger.known().destinations
    return [
        TableStatus(".".join(name), target.quote(*destination), *rows.get(".".join(name), ()))
        for name, destination in sorted(destinations.items())
        if destination is not None
    ]
