"""The changefeeds of a target: the list of all, and the end of one, which the target then
forgets."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ticdc_encoder.errors import visible
from ticdc_encoder.tso import duration, lag, with_time

from ticdc_consumer.config.options import Settings
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.loading import LoadNotes
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity.stored import StoredActivity, read_all
from ticdc_consumer.status.text import consumer_json, described
from ticdc_consumer.targets.target import Target


@dataclass(frozen=True, slots=True)
class ChangefeedStatus:
    """One of a target's changefeeds. `pending` counts its waiting DDL, `set_aside` its quarantined
    tables."""

    changefeed: str
    resolved_ts: int
    lag_seconds: float
    pending: int
    activity: StoredActivity | None
    set_aside: int = 0


def list_all(target: Target) -> list[ChangefeedStatus]:
    """All changefeeds that the `ticdc_*` tables of this URL know."""
    activities = read_all(target)
    names = Store(target, "").changefeeds()
    return [_status(target, name, activities.get(name)) for name in names]


def _status(target: Target, name: str, stored: StoredActivity | None) -> ChangefeedStatus:
    store = Store(target, name)
    checkpoint = store.read()
    if checkpoint is None:
        raise store.unknown()
    pending = len(store.ledger.pending())
    resolved_ts = checkpoint.resolved_ts
    aside = len(store.quarantine.tables())
    return ChangefeedStatus(name, resolved_ts, lag(resolved_ts), pending, stored, aside)


_ANEW = "start again by: ticdc-consumer load CONFIG --replace"


@dataclass(frozen=True, slots=True)
class Ended:
    """A changefeed that the target has forgotten. `dropped_tables` are those that were dropped
    upstream and are kept, `tables` those that it filled, both quoted. All tables equal the upstream
    as of `snapshot_ts`, before the DDL `pending` if it is not empty; None if they are not all of
    one timestamp, because a table was quarantined or being loaded, or a DDL was begun."""

    changefeed: str
    resolved_ts: int
    dropped_tables: tuple[str, ...]
    tables: tuple[str, ...] = ()
    snapshot_ts: int | None = None
    pending: str = ""

    def __str__(self) -> str:
        if not self.resolved_ts:
            return f"changefeed {self.changefeed} is ended; {self._without_r()}"
        left = (
            f"; dropped tables that were kept are left: {', '.join(self.dropped_tables)}"
            if self.dropped_tables
            else ""
        )
        filled = f"; it filled {', '.join(self.tables)}" if self.tables else ""
        return (
            f"changefeed {self.changefeed} is ended; its tables stay as they are, at R = "
            f"{with_time(self.resolved_ts)}{left}{filled}{self._way_on()}"
        )

    def _way_on(self) -> str:
        if self.snapshot_ts is None:
            return f"; not all of its tables were at this R: {_ANEW}"
        again = f", which reads the pending DDL {self.pending} again" if self.pending else ""
        return (
            "; continue with these tables by: ticdc-consumer run CONFIG --from-ts "
            f"{self.snapshot_ts}{again}, or {_ANEW}"
        )

    def _without_r(self) -> str:
        """Message without R. Only a load fills tables before there is an R."""
        if not self.tables:
            return "it had no R yet, and had filled no table"
        return (
            f"its first load was not complete, so there is no R at which {', '.join(self.tables)} "
            f"equal the upstream's: {_ANEW}"
        )

    def to_json(self) -> dict[str, object]:
        """JSON for programs."""
        return {
            "changefeed": self.changefeed,
            "resolved_ts": str(self.resolved_ts),
            "dropped_tables": list(self.dropped_tables),
            "tables": list(self.tables),
        }


def end(target: Target, options: Settings) -> Ended:
    """Ends the changefeed, and returns what is left of it. Drops tables that were being loaded next
    to those in use. Raises `Stop` if there is no such changefeed."""
    store = Store(target, options.changefeed)
    state = store.start(options.takeover_after)  # from here on no consumer changes anything
    if state is None:
        raise store.unknown()
    dropped_tables = [
        target.quote(of.target_schema, of.target_table) for of in store.ledger.dropped()
    ]
    destinations = {each for each in store.ledger.known().destinations.values() if each}
    tables = [
        target.quote(*each)
        for each in sorted(destinations, key=str)
        if target.describe(*each) is not None
    ]
    notes = LoadNotes(target, options.changefeed)
    copies = [load.beside for load in notes.beside()] if notes.progress() else []
    pending = store.ledger.pending()
    snapshot_ts = _snapshot_ts(state.resolved_ts, store.ledger.entries())
    if copies or store.quarantine.tables():
        snapshot_ts = None
    if store.end(options.takeover_after) is None:
        raise store.unknown()
    for copy in filter(None, copies):
        with target.transaction():
            for text in target.drop_table(*copy):
                target.execute(text).close()
    return Ended(
        options.changefeed,
        state.resolved_ts,
        tuple(dropped_tables),
        tuple(tables),
        snapshot_ts,
        pending[0].id if pending else "",
    )


def _snapshot_ts(resolved_ts: int, ledger: Sequence[LedgerEntry]) -> int | None:
    """The timestamp of which tables at R are a snapshot: R - 1, or before the waiting DDL, whose
    commit_ts no row has. None if another DDL of that commit_ts is already done, or begun."""
    first = next((entry for entry in ledger if entry.state == "pending"), None)
    if first is None:
        return resolved_ts - 1
    same = [entry for entry in ledger if entry.commit_ts == first.commit_ts]
    whole = all(each.state == "pending" and not (each.begun or each.instead) for each in same)
    return first.commit_ts - 1 if whole else None


def list_to_text(changefeeds: Sequence[ChangefeedStatus]) -> str:
    """One line for each changefeed, for people."""
    return "\n".join(visible(_changefeed(each)) for each in changefeeds)


def _changefeed(each: ChangefeedStatus) -> str:
    pending = f", {each.pending} DDL pending" if each.pending else ""
    pending += f", quarantined tables: {each.set_aside}" if each.set_aside else ""
    consumer = (
        described(each.activity) if each.activity else ("it is not known whether one is running")
    )
    reached = f"R {with_time(each.resolved_ts)}, lag {duration(each.lag_seconds)}"
    if not each.resolved_ts:
        reached = "nothing is applied yet"
    return f"{each.changefeed}: {reached}{pending}; {consumer}"


def list_to_json(changefeeds: Sequence[ChangefeedStatus]) -> str:
    """JSON array for programs."""
    return json.dumps(
        [
            {
                "changefeed": each.changefeed,
                "resolved_ts": str(each.resolved_ts),
                "lag_seconds": round(each.lag_seconds, 3),
                "pending_ddl": each.pending,
                "quarantined": each.set_aside,
                "consumer": consumer_json(each.activity),
            }
            for each in changefeeds
        ],
        indent=2,
        ensure_ascii=False,
    )
