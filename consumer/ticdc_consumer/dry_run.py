"""What the next cuts would do, without doing it: nothing is taken over, nothing is written."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.statements import AlterTable, RenameTable

from ticdc_consumer.ddl import renames
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.ddl.names import Name, Place, statement_of
from ticdc_consumer.ddl.policy import Policy
from ticdc_consumer.epoch import Epochs
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.load import Applied
from ticdc_consumer.reconcile.net_change import NetChange, NoChange
from ticdc_consumer.spark.jobs import Gathered
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.ledger import Basis, KeptTable, Ledger, LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.schema.alter import Alteration
from ticdc_consumer.targets.target import Target

logger = logging.getLogger(__name__)

SHOWN = 100
"""Rows of a cut whose statements are shown."""
MOST_KEYS = 2_000_000
"""Keys of earlier cuts that are remembered: a plan that knows more ends."""


@dataclass(frozen=True, slots=True)
class PlannedRows:
    """Of one table, compared with what the target holds now and the cuts before; `compared` is
    False where rows have no key, or are too many for memory: `inserted` are then all written."""

    inserted: int
    updated: int
    deleted: int
    compared: bool = True

    @property
    def total(self) -> int:
        return self.inserted + self.updated + self.deleted


@dataclass(frozen=True, slots=True)
class PlannedDdl:
    """`statements` are the target's words. `note` says why there are none, and why it would stop
    or be skipped."""

    entry: LedgerEntry
    statements: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class PlannedCut:
    """What would be applied from `begin` to `resolved_ts`. `left_out` are tables, as patterns,
    whose rows wait for a DDL before them and so are not counted; `statements` what is sent for the
    rows, where it was asked for and they are few."""

    begin: int
    resolved_ts: int
    tables: Mapping[str, PlannedRows]
    ddls: tuple[PlannedDdl, ...] = ()
    left_out: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(rows.total for rows in self.tables.values())


class Draft(Ledger):
    """The ledger as it would be; it is written nowhere."""

    def __init__(self, ledger: Ledger | None, changefeed: str, keep_dropped: float) -> None:
        # Without a session: what is not here cannot write.
        self.changefeed = changefeed
        self.keep_dropped = keep_dropped
        self._lying = list(ledger.kept()) if ledger else []
        self._known = dict(ledger.known()) if ledger else {}
        self._entries = list(ledger.entries()) if ledger else []

    def entries(self) -> list[LedgerEntry]:
        return list(self._entries)

    def add(self, entries: Iterable[LedgerEntry]) -> None:
        self._entries += entries

    def mark(self, entry: LedgerEntry) -> None:
        self._entries = [entry if e.place == entry.place else e for e in self._entries]

    def known(self) -> dict[Name, tuple[Table, Basis]]:
        return dict(self._known)

    def define(self, table: Table, basis: Basis = "made") -> None:
        self._known[table.schema, table.name] = (table, basis)

    def kept(self) -> list[KeptTable]:
        return list(self._lying)

    def keep(self, kept: KeptTable) -> None:
        self._lying.append(kept)

    def release(self, kept: KeptTable) -> None:
        self._lying.remove(kept)

    def forget(self, schema: str, table: str | None = None) -> None:
        gone = [n for n in self._known if n[0] == schema and table in (None, n[1])]
        for name in gone:
            del self._known[name]


class DraftStore(Store):
    """A store with a draft of its ledger, which takes no fence."""

    def __init__(self, target: Target, changefeed: str, draft: Draft) -> None:
        super().__init__(target, changefeed)
        self.ledger = draft

    def recover(self) -> None:
        self.target.reconnect()


@dataclass
class Notes:
    """What a dry run found out about the cut that is under way."""

    tables: dict[str, PlannedRows] = field(default_factory=dict)
    ddls: list[PlannedDdl] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    stop: Stop | None = None


class DryRun(Epochs):
    """Goes through cuts as `Epochs` does, and counts where that loads and runs."""

    sql = False

    def plan(self, until: int) -> tuple[PlannedCut | None, Stop | None]:
        """The next cut, and what would end the run after it. Raises what would end it before."""
        self._notes = Notes()
        begin, left_out = self.state.resolved_ts, self._reader.leave_out
        if self._known_keys() > MOST_KEYS:
            logger.warning("the plan ends at R %d: it has compared %d rows", begin, MOST_KEYS)
            return None, None
        epoch = self.next(until, 0.0)
        if epoch is None:
            return None, None
        notes = self._notes
        cut = PlannedCut(
            begin,
            epoch.resolved_ts,
            notes.tables,
            tuple(notes.ddls),
            left_out,
            tuple(notes.statements),
        )
        return cut, notes.stop

    def pending(self) -> tuple[tuple[PlannedDdl, ...], Stop | None]:
        """What was left pending, which comes first."""
        self._notes = Notes()
        self.settle()
        return tuple(self._notes.ddls), self._notes.stop

    def settle(self) -> None:
        if self._settled:
            return
        ledger = self._store.ledger
        for group in renames.together(self._target, ledger):
            if self._notes.stop is None:
                self._plan_ddl(ledger, group)
        self._tables.learn(ledger)
        self._settled = True

    def _read_ahead(self, base: Checkpoint, until: int | None) -> None:
        """What comes next may depend on what this cut has."""

    def _load(self, new: Checkpoint, gathered: Gathered, entries: Sequence[LedgerEntry]) -> Applied:
        change = gathered.change or NoChange()
        if gathered.facts is not None:
            self._compare(gathered)
        else:
            self._sum_up(change)
        if self.sql and sum(rows.total for rows in self._notes.tables.values()) <= SHOWN:
            for number, keys in change.deletes():
                self._notes.statements += self._target.shown_deletes(change.layouts[number], keys)
            for number, rows in change.rows():
                layout = change.layouts[number]
                self._notes.statements += self._target.shown_inserts(
                    layout, rows, self._options.on_drift
                )
        self._store.ledger.add(entries)
        return Applied()

    # --- rows ---------------------------------------------------------------------------------

    def _compare(self, gathered: Gathered) -> None:
        facts = gathered.facts
        assert facts is not None
        for number in pc.unique(facts["table"]).to_pylist():
            mine = facts.filter(pc.equal(facts["table"], number))
            layout = gathered.layouts[number]
            present = mine.filter(mine["present"])["key"].combine_chunks()
            absent = mine.filter(pc.invert(mine["present"]))["key"].combine_chunks()
            if layout.key:
                updated, deleted = self._there(layout, present), self._there(layout, absent)
                rows = PlannedRows(len(present) - updated, updated, deleted)
                self._remember(layout, present, absent)
            else:
                rows = PlannedRows(len(present), 0, len(absent), compared=False)
            self._notes.tables[layout.name] = rows

    def _sum_up(self, change: NetChange) -> None:
        counts: dict[int, list[int]] = {}
        for number, keys in change.deletes():
            counts.setdefault(number, [0, 0])[0] += len(keys)
        for number, rows in change.rows():
            counts.setdefault(number, [0, 0])[1] += len(rows)
        for number, (deleted, written) in counts.items():
            layout = change.layouts[number]
            deleted -= written if layout.replaces else 0
            self._notes.tables[layout.name] = PlannedRows(written, 0, deleted, compared=False)

    @property
    def _overlay(self) -> dict[str, dict[bytes, bool]]:
        found: dict[str, dict[bytes, bool]] = self.__dict__.setdefault("_keys", {})
        return found

    def _known_keys(self) -> int:
        return sum(map(len, self._overlay.values()))

    def _remember(self, layout: Layout, present: pa.Array, absent: pa.Array) -> None:
        known = self._overlay.setdefault(layout.relation, {})
        known |= dict.fromkeys(present.to_pylist(), True)
        known |= dict.fromkeys(absent.to_pylist(), False)

    def _there(self, layout: Layout, keys: pa.Array) -> int:
        """How many of the keys would be there: by earlier cuts of the plan, else in the target."""
        known = self._overlay.get(layout.relation, {})
        told = [known.get(key) for key in keys.to_pylist()] if known else [None] * len(keys)
        rest = keys.filter(pa.array([one is None for one in told], pa.bool_()))
        return sum(one is True for one in told) + (
            self._target.existing(layout, rest) if len(rest) else 0
        )

    # --- DDL ----------------------------------------------------------------------------------

    def _plan_ddl(self, ledger: Ledger, group: Sequence[LedgerEntry]) -> None:
        entry = group[0]
        try:
            planned, aside = self._translated(ledger, group)
        except (Unsupported, DefinitionError) as refusal:
            if not Policy.of(self._options).skips(entry):
                self._stop(entry, str(refusal))
                return
            self._notes.ddls.append(PlannedDdl(entry, note=f"would be skipped: {refusal}"))
            keep_definition(ledger, entry, "told")
            ledger.mark(replace(entry, state="skipped", reason=str(refusal)))
        except Stop as refusal:
            self._stop(entry, str(refusal))
        else:
            note = f"by the statement of {entry.place}"
            self._notes.ddls += [planned, *(PlannedDdl(each, note=note) for each in group[1:])]
            for each in group:
                keep_definition(ledger, each, set_aside=aside)
                ledger.mark(replace(each, state="done"))

    def _stop(self, entry: LedgerEntry, reason: str) -> None:
        self._notes.ddls.append(PlannedDdl(entry, note=f"would stop: {reason}"))
        name = f"{entry.schema}.{entry.table}"
        self._notes.stop = Stop(f"DDL {entry.place} of {name} stops: {reason}")

    def _translated(
        self, ledger: Ledger, group: Sequence[LedgerEntry]
    ) -> tuple[PlannedDdl, Place | None]:
        """The DDL in the target's words, and where it sets its table aside."""
        entry = group[0]
        patterns = {pattern for each in group for pattern in _touched(each, ledger)}
        if patterns & set(self._reader.leave_out):
            note = "its SQL depends on the DDL before it, and is known when that is done"
            return PlannedDdl(entry, note=note), None
        target, route, rules = self._target, self._tables.route, self._options.rules
        with ddl.refusals(target):
            if len(group) > 1:
                work = Alteration(renames.statements(target, ledger, group, route) or ())
            else:
                work = ddl.work_of(target, ledger, entry, route, rules)
        if work.statements:
            self._reader.leave_out = (*self._reader.leave_out, *sorted(patterns))
        return PlannedDdl(entry, work.statements), work.set_aside


def _touched(entry: LedgerEntry, ledger: Ledger) -> set[str]:
    """The tables that a DDL changes, as patterns."""
    names = {(entry.schema, entry.table)}
    match statement_of(entry, ledger.definitions()):
        case RenameTable(old, new):
            names |= {old, new}
        case AlterTable(schema, table):
            names.add((schema, table))  # that of EXCHANGE PARTITION is not beside it
        case _:
            pass
    return {
        f"{_quoted(schema)}.{_quoted(table) if table else '*'}" for schema, table in names if schema
    }


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
