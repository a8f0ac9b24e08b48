"""Loads a quarantined table at R, because its log is gone or unreadable."""

import logging
from contextlib import closing

import pyarrow as pa

from ticdc_consumer import failpoints
from ticdc_consumer.commands.load.creating import LoadTables
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.loading import TableState
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import encoders
from ticdc_consumer.upstream.origin import FromUpstream
from ticdc_consumer.upstream.session import reading, upstream_url
from ticdc_consumer.upstream.snapshot import CATCH_UP, advising, require_kept
from ticdc_consumer.upstream.tables import Defined, defined, names

logger = logging.getLogger(__name__)


def load_set_aside(options: Settings, store: Store, state: Checkpoint, waiting: SetAside) -> int:
    """Replaces the rows of a table by the upstream's as of R - 1, and ends its quarantine, in one
    transaction; returns the number of rows. Creates a table that the target lacks. The caller must
    hold the lease: R stays.

    Raises `Stop`, before anything is done, for a table that cannot be loaded exactly, or that the
    upstream no longer has as of R - 1.
    """
    if pending := store.ledger.pending():
        raise Stop(f"DDL {pending[0].id} is pending: finish it first")
    origin = FromUpstream(upstream_url(options))
    with origin.keeping(state.resolved_ts - 1), advising(CATCH_UP):
        return _OneTable(options, store, state, waiting, origin).load()


class _OneTable:
    def __init__(
        self,
        options: Settings,
        store: Store,
        state: Checkpoint,
        waiting: SetAside,
        origin: FromUpstream,
    ) -> None:
        self._options, self._store, self._state = options, store, state
        self._waiting, self._origin = waiting, origin
        self._snapshot_ts = state.resolved_ts - 1
        self._defined = self._of_upstream()
        self._chunks = origin.cut(self._snapshot_ts, self._defined.table, options.load_chunk)

    def _of_upstream(self) -> Defined:
        with reading(self._origin.url) as session:
            require_kept(session, self._snapshot_ts)
        with reading(self._origin.url, self._snapshot_ts) as session:
            if self._waiting.name not in names(session, self._options):
                raise Stop(f"{'.'.join(self._waiting.name)}: the upstream has no such table at R")
            return defined(session, *self._waiting.name)

    def load(self) -> int:
        tables = self._tables()
        table_state = tables.states(replace_rows=True)[self._waiting.name]
        rows = 0

        def attempt() -> None:
            nonlocal rows
            target = self._store.target
            if not target.transactional_ddl:
                self._create(tables, table_state)
            with target.transaction():
                self._store.lock(self._state)
                if target.transactional_ddl:
                    self._create(tables, table_state)
                self._note(tables, table_state)
                rows = self._replace(tables)
                self._store.quarantine.remove(self._waiting)
                failpoints.hit("release-commit")
            failpoints.hit("released")

        def happened() -> bool:
            self._store.reconnect()
            return self._store.quarantine.get(self._waiting.name) is None

        until_known(self._store, self._options.retries, attempt, happened)
        self._warn_of_keys(tables)
        return rows

    def _warn_of_keys(self, tables: LoadTables) -> None:
        """Warns of unique keys that the target lacks: DDL that waited with the rows were not
        run."""
        name = self._waiting.name
        described = self._store.target.describe(*tables.context.locate(name))
        assert described is not None  # it was loaded
        existing = {frozenset(map(str.lower, key.columns)) for key in described.unique_keys}
        missing = [
            f"{index.name} ({', '.join(index.columns)})"
            for index in self._defined.table.indexes
            if index.unique
            and index.columns
            and not any(key <= frozenset(map(str.lower, index.columns)) for key in existing)
        ]
        if missing:
            logger.warning(
                "%s: the target's table lacks unique keys that the upstream's has: %s: create them",
                ".".join(name),
                "; ".join(missing),
                extra={"event": "keys_missing", "table": ".".join(name), "keys": missing},
            )

    def _tables(self) -> LoadTables:
        layouts = TableLayouts(self._options, self._store.target)
        layouts.learn(self._store.ledger)
        context = DdlContext.of(
            self._options, self._store.target, self._store.ledger, layouts.route
        )
        return LoadTables(self._options, context, layouts, {self._waiting.name: self._defined})

    def _create(self, tables: LoadTables, table_state: TableState) -> None:
        target, located = self._store.target, tables.context.locate(self._waiting.name)
        if table_state == "create" and target.describe(*located) is None:
            for text in target.create_table(*located, self._defined.table):
                target.execute(text).close()

    def _note(self, tables: LoadTables, table_state: TableState) -> None:
        """Stores the table's definition as of R - 1, in place of the one before the DDL that
        waited."""
        ledger = self._store.ledger
        if table_state != "create":
            ledger.define(self._defined.table, "declared")
            return
        entry = tables.entry(self._snapshot_ts, self._waiting.name)
        if ledger.entry(entry.order) is None:
            ledger.add([entry])
        keep_definition(ledger, entry)

    def _replace(self, tables: LoadTables) -> int:
        target, rows = self._store.target, 0
        table, layout = tables.layouts_of_rows()[self._waiting.name]
        encode_rows, _ = encoders(layout.dialect)
        with target.errors(layout), closing(self._origin.reader()) as reader:
            target.execute(f"DELETE FROM {layout.relation}").close()  # noqa: S608
            for stored, _ in self._chunks:
                for arrays in reader.batches(table, stored, self._snapshot_ts):
                    payloads = encode_rows(layout, arrays).cast(pa.binary())
                    target.insert(layout, payloads, "stop")
                    rows += len(payloads)
        return rows
