"""Copies of tables that are loaded next to the tables in use, then replace them (`load --table`).

The holder of the lease, a running consumer or else the command, tends them; the loader only loads
rows. While a table is in `copies`, each cut that changes it also changes the copy, and no DDL of
the table is run. So the copy holds, at every commit, only rows of the upstream at R, and all those
of the loaded chunks, each as of R - 1 with R held. Once all chunks are loaded, copy and upstream
are equal at R, at every commit: after any commit the copy may replace the table.
"""

import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl
from ticdc_encoder.sql.parser import parse_create_table

from ticdc_consumer import failpoints
from ticdc_consumer.ddl.attempt import refusals
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.table.alter import gives_first_key
from ticdc_consumer.ddl.touched import touched
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.known_tables import NOTHING_KNOWN, KnownTables, lower
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.loading import LoadNotes, TableLoad, TableState
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import TableName, TargetName

LOOK = 1.0
"""Seconds between two checks whether a table is to be loaded."""


def copy_name(changefeed: str, table: TargetName, snapshot_ts: int, number: int) -> TargetName:
    """Returns the name of the copy that is filled next to a table."""
    checksum = f"{zlib.crc32(changefeed.encode()):08x}"
    return table[0], f"ticdc_loading_{checksum}_{snapshot_ts}_{number}"


class Beside:
    """The copies loaded next to the tables in use, for the holder of the lease. `copies` are their
    quoted names, by upstream table."""

    def __init__(self, context: DdlContext, store: Store, retries: int) -> None:
        self._context, self._store, self._retries = context, store, retries
        self._target = context.target
        self._notes = LoadNotes(store.target, store.changefeed)
        self._known: KnownTables = NOTHING_KNOWN
        self._next_look = 0.0
        self.under_way: frozenset[TableName] = frozenset()
        """The copies that cuts write to: none of the tables' DDL is run, and none is
        quarantined."""
        self.copies: Mapping[TableName, str] = {}
        self.filled: Mapping[TableName, TargetName] = {}
        """The only destinations of some upstream tables' rows: the target had no such tables."""

    def tend(self, *, at_once: bool = False) -> None:
        """Notes and does, between two cuts, the requested loads. Checks once a second, unless
        `at_once`. Raises `Stop` for a copy that cannot replace the table."""
        if at_once or time.monotonic() >= self._next_look:
            until_known(self._store, self._retries, self._tend, happened=lambda: False)
            self._next_look = time.monotonic() + LOOK

    def holds(self, ddl: Ddl) -> bool:
        """Returns whether a DDL has to wait until a table is loaded. Asks no database."""
        if not self.under_way:
            return False
        entry = LedgerEntry(ddl.commit_ts, 1, ddl.schema, ddl.table, ddl.query, ddl.kind)
        return _concerns(self._known, [entry], self.under_way)

    def _tend(self) -> None:
        """Takes the next steps; each shows in the notes or in the catalog, so it is not
        repeated."""
        with self._target.errors():
            self._do_what_is_asked()
        self._known = self._context.ledger.known()
        loads = self._in("rows")
        self.copies = {
            load.name: self._target.quote(*_copy(load)) for load in loads if not load.alone
        }
        self.filled = {load.name: _copy(load) for load in loads if load.alone}
        self.under_way = frozenset(load.name for load in loads)

    def _do_what_is_asked(self) -> None:
        if asked := self._in("asked"):
            self._begin(asked)
        if given_up := self._in("given up"):
            # What has taken the other's place cannot be given up any more: it is finished.
            replaced = [load for load in given_up if self._target.has_replaced(_copy(load))]
            if rest := [load for load in given_up if load not in replaced]:
                self._drop(rest)
            if replaced:
                self._replace(replaced)
        if whole := self._in("whole"):
            self._replace(whole)

    def _in(self, state: TableState) -> list[TableLoad]:
        return [load for load in self._notes.beside() if load.state == state]

    def _begin(self, loads: Iterable[TableLoad]) -> None:
        """Makes cuts write to the copies from now on. A copy is useless if it was begun before a
        DDL of its table, or if the table is quarantined: cuts do not write to it."""
        ledger = self._context.ledger
        set_aside = {table.name for table in self._store.quarantine.tables()}
        with self._target.transaction():
            self._store.check_generation()
            for load in loads:
                since = [each for each in ledger.entries() if each.commit_ts > load.snapshot_ts]
                late = bool(since) and _concerns(ledger.known(), since, [load.name])
                vain = late or load.name in set_aside
                self._notes.reached(load.name, "given up" if vain else "rows")
                if load.alone and not vain and load.name not in ledger.known().by_name:
                    self._end_pending(load)
                    table = parse_create_table(load.statement, load.name[0])
                    ledger.define(table, "applied" if load.created else "declared")
        failpoints.hit("copies-joined")

    def _end_pending(self, load: TableLoad) -> None:
        """Marks as done the ALTER TABLE that waits because TiCDC left the table out until then: the
        load is as of a later time."""
        context = self._context
        for entry in context.ledger.pending():
            waits = False
            with suppress(TicdcError):
                waits = gives_first_key(context, context.statement(entry), load.name)
            if waits and entry.commit_ts <= load.snapshot_ts:
                reason = f"the table was loaded as of {load.snapshot_ts}"
                context.ledger.mark(replace(entry, state="done", reason=reason))

    def _drop(self, loads: Iterable[TableLoad]) -> None:
        target = self._target
        texts = [text for load in loads for text in target.drop_table(*_copy(load))]
        self._do(texts, loads)

    def _replace(self, loads: Sequence[TableLoad]) -> None:
        target = self._target
        tables = {load.name: self._context.locate(load.name) for load in loads}
        moves = [(tables[load.name], _copy(load)) for load in loads]
        if not target.transactional_ddl:
            target.wait_for_ddl([name for move in moves for name in move])
        new = [load for load in loads if load.created]
        old = [load for load in loads if not load.created]
        for load in old:
            require_replaceable(self._context, load.name, tables[load.name])
        try:
            with refusals(target):
                texts = [text for load in new for text in self._rename(load, tables[load.name])]
                moves = [(tables[load.name], _copy(load)) for load in old]
                self._do(chain(texts, target.replace_tables(moves) if old else ()), loads)
        except Stop as refusal:
            names = [".".join(load.name) for load in loads]
            command = "".join(f" --table {name}" for name in names)
            if any(target.has_replaced(_copy(load)) for load in old):
                raise Stop(
                    f"{', '.join(names)}: loaded, and has replaced the table in use, but a foreign "
                    f"key of another table cannot be turned to it (each start tries): {refusal}"
                ) from refusal
            text = f"{', '.join(names)}: loaded next to the table in use, but cannot replace it"
            if any(load.alone for load in loads):
                raise Stop(
                    f"{text}: {refusal}; then finish it by: ticdc-consumer load CONFIG{command}"
                ) from refusal
            raise Stop(
                f"{text}: {refusal}; or give the load up by: ticdc-consumer load CONFIG{command} "
                "--give-up"
            ) from refusal

    def _rename(self, load: TableLoad, table: TargetName) -> list[str]:
        """Renames a table that replaces no other to its name, unless it has it."""
        target, copy = self._target, _copy(load)
        if target.describe(*copy) is None:
            return []
        if target.describe(*table) is not None:
            raise Stop(f"there is a table {target.quote(*table)} now: drop it")
        definition = self._context.definitions.get(load.name)
        return target.rename_table(copy, table, definition)

    def _do(self, texts: Iterable[str], loads: Iterable[TableLoad]) -> None:
        """Runs the statements, and ends the loads."""
        target = self._target
        if not target.transactional_ddl:
            for text in texts:
                with target.transaction():
                    self._store.check_generation()
                self._execute([text])
        with target.transaction():
            self._store.check_generation()
            if target.transactional_ddl:
                self._execute(texts)
            for load in loads:
                self._notes.remove(load.name)
            failpoints.hit("copies-swap-commit")
        failpoints.hit("copies-swapped")

    def _execute(self, texts: Iterable[str]) -> None:
        for text in texts:
            failpoints.hit("copies-swap")
            self._target.execute(text).close()
            failpoints.hit("copies-swap-ran")


def require_replaceable(context: DdlContext, name: TableName, table: TargetName) -> None:
    """Raises `Stop` if the table has properties that its replacement would lack."""
    if hindrances := context.target.hindrances(table):
        raise Stop(
            f"{'.'.join(name)}: {context.target.quote(*table)} has {', '.join(hindrances)}, "
            "which the table that replaces it would not have: drop it, load, and create it again"
        )


def _copy(load: TableLoad) -> TargetName:
    assert load.beside is not None
    return load.beside


def _concerns(
    known: KnownTables, entries: Sequence[LedgerEntry], names: Iterable[TableName]
) -> bool:
    """Returns whether one of these DDL may concern one of these tables."""
    tables = touched(entries, known, known)
    return tables is None or not tables.isdisjoint(map(lower, names))
