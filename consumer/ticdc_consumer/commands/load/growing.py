"""Widens a filter: the new tables are loaded, and the others simply continue.

Until now the changefeed left out the new tables' rows, and its positions are behind some of them.
So it is brought to R = now + 1 under the old filter, with cuts that keep the new tables' changes at
and above R after the positions. `now` is taken after older consumers were fenced off: everything
they skipped was committed before. From there on the new tables are treated as others that are
loaded next to those in use, except that there are none in use.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from ticdc_consumer import failpoints
from ticdc_consumer.commands.load.creating import LoadTables
from ticdc_consumer.commands.load.planning import planned
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.ddl.beside import copy_name
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.errors import Fenced, Stop
from ticdc_consumer.state.loading import LoadNotes, TableLoad, TableState
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.scope import scope_hash, scope_text
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.upstream.origin import FromUpstream
from ticdc_consumer.upstream.session import UpstreamSession, reading
from ticdc_consumer.upstream.snapshot import current_ts
from ticdc_consumer.upstream.tables import Defined, defined, names


class Applies(Protocol):
    """The part of a `Consumer` that is used here."""

    @property
    def store(self) -> Store: ...

    @property
    def resolved_ts(self) -> int: ...

    def epochs(self, until: int) -> Iterator[object]: ...


class ConsumerOf(Protocol):
    """The part of the class `Consumer` that is used here."""

    def __call__(
        self, options: Settings, *, joining: tuple[str, ...], also_stops: Callable[[], bool]
    ) -> AbstractContextManager[Applies]: ...


@dataclass(frozen=True, slots=True)
class Growth:
    """A change from the filter `before` to that of the options; `labels` are the tables to be
    loaded. `consumer` creates the one that applies changes under the old filter."""

    options: Settings
    store: Store
    url: str
    before: tuple[str, ...]
    labels: Sequence[str]
    consumer: ConsumerOf

    def grow(self, stopped: Callable[[], bool]) -> bool:
        """Puts the changefeed under the wider filter, and begins the load of its new tables, if any
        exist. Returns False if `stopped`.

        Raises `Stop`, before anything is done, if a new table is not among those to be loaded, or
        cannot be loaded, or if the filter takes less than before.
        """
        before = replace(self.options, filter=self.before)
        joining = self.options.filter
        with self.consumer(before, joining=joining, also_stops=stopped) as consumer:
            with reading(self.url) as session:
                now = current_ts(session)
            with reading(self.url, now) as session:
                tables = self._tables(session)
            for _ in consumer.epochs(now + 1):
                pass
            if consumer.resolved_ts != now + 1:
                return False
            generation = consumer.store.lease.generation
        failpoints.hit("growth-at-r")
        state = self.store.start(self.options.takeover_after)
        if state is None or state.generation != generation + 1:
            raise Fenced(
                f"changefeed {self.options.changefeed}: another consumer began meanwhile; repeat it"
            )
        with self.store.lease.explaining():
            self._begin(now, tables)
        failpoints.hit("growth-begun")
        return True

    # --- which tables --------------------------------------------------------------------------

    def _tables(self, session: UpstreamSession) -> dict[TableName, Defined]:
        """The existing tables that only the wider filter takes."""
        narrow = replace(self.options, filter=self.before)
        earlier = set(names(session, narrow))
        known = {n for n, to in self.store.ledger.known().destinations.items() if to is not None}
        wide = set(names(session, self.options))
        if less := (earlier - wide) or self._unknown_now(narrow):
            raise Stop(
                f"[tables] filter no longer matches {_joined(less)}: a filter may be widened, but "
                "not narrowed"
            )
        new = {".".join(name): name for name in wide - earlier - known}
        if missing := sorted(set(new) - set(self.labels)):
            command = "".join(f" --table {label}" for label in sorted(new))
            raise Stop(
                f"[tables] filter also matches {', '.join(missing)}, which must be loaded with the "
                f"others: ticdc-consumer load CONFIG{command}"
            )
        if wrong := {label for label in self.labels if label not in new} & {
            ".".join(name) for name in wide
        }:
            raise Stop(
                f"{', '.join(sorted(wrong))}: [tables] filter matched it before; first load the "
                "tables that the filter newly matches, then this one again"
            )
        tables = {name: defined(session, *name) for name in sorted(new.values())}
        for each in tables.values():
            self._require_new(each)
        self._load_tables(tables).states(replace_rows=False)
        return tables

    def _unknown_now(self, narrow: Settings) -> set[TableName]:
        """The tables that rows went to, but that the filter no longer takes."""
        before = Store(self.store.target, narrow.changefeed).ledger.known().destinations
        now = self.store.ledger.known().where
        return {name for name in before if now.of(name) is None}

    def _require_new(self, each: Defined) -> None:
        label, table = ".".join(each.name), each.table
        if not table.handle_key:
            raise Stop(
                f"{label}: it has no key, and such a table cannot be loaded while its changes "
                "are applied"
            )
        if table.foreign_keys:
            raise Stop(
                f"{label}: it has foreign keys, and such a table cannot be loaded while its "
                "changes are applied"
            )
        located = self._context().locate(each.name)
        if self.store.target.describe(*located) is not None:
            raise Stop(
                f"{label}: the target has a table {self.store.target.quote(*located)} already: "
                "drop it, or give it another name"
            )

    # --- the transaction that begins it --------------------------------------------------------

    def _begin(self, now: int, tables: dict[TableName, Defined]) -> None:
        of_target, context = self._load_tables(tables), self._context()
        loads = self._loads(now, tables, context)
        target, notes = self.store.target, LoadNotes(self.store.target, self.options.changefeed)
        until_known(
            self.store,
            self.options.retries,
            partial(of_target.create_schemas, now),
            happened=lambda: False,
        )

        def begin() -> None:
            creation = [text for load in loads for text in self._creation(load, tables[load.name])]
            if not target.transactional_ddl:
                _execute(self.store, creation)
            with target.transaction():
                self.store.check_generation()
                if target.transactional_ddl:
                    _execute(self.store, creation)
                scope = {"scope": scope_hash(self.options), "scope_text": scope_text(self.options)}
                self.store.lease.update(**scope)
                if loads and not notes.beside():
                    notes.begin(now, loads)
                for load in loads:
                    entry = of_target.entry(now, load.name)
                    if context.ledger.entry(entry.order) is None:
                        context.ledger.add([entry])
                        keep_definition(context.ledger, entry)
                failpoints.hit("growth-commit")

        until_known(self.store, self.options.retries, begin, happened=lambda: False)

    def _loads(
        self, now: int, tables: dict[TableName, Defined], context: DdlContext
    ) -> list[TableLoad]:
        cut = partial(FromUpstream(self.url).cut, now)
        states: dict[TableName, TableState] = dict.fromkeys(tables, "asked")
        plan = planned(cut, self.options.load_chunk, tables, states)
        return [
            replace(
                load,
                created=True,
                # The name is the same each time, so that the next attempt removes what a crash
                # leaves.
                beside=copy_name(self.options.changefeed, context.locate(load.name), 0, number),
            )
            for number, load in enumerate(plan, 1)
        ]

    def _creation(self, load: TableLoad, each: Defined) -> list[str]:
        target, copy = self.store.target, load.beside
        assert copy is not None
        return [*target.drop_table(*copy), *target.create_table(*copy, each.table)]

    def _context(self) -> DdlContext:
        layouts = TableLayouts(self.options, self.store.target)
        return DdlContext.of(self.options, self.store.target, self.store.ledger, layouts.route)

    def _load_tables(self, tables: dict[TableName, Defined]) -> LoadTables:
        layouts = TableLayouts(self.options, self.store.target)
        layouts.learn(self.store.ledger)
        return LoadTables(self.options, self._context(), layouts, tables)


def _joined(tables: Iterable[TableName]) -> str:
    return ", ".join(sorted(map(".".join, tables)))


def _execute(store: Store, texts: Iterable[str]) -> None:
    with store.target.errors():
        for text in texts:
            store.target.execute(text).close()
