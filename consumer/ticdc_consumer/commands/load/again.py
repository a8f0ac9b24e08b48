"""Loads one table again while the changefeed continues: next to the one in use, which it then
replaces. `ddl.beside` has the half that the lease's holder does, and the proof."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial

import sqlalchemy as sa
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.sql.statements import RecoverTable

from ticdc_consumer import failpoints
from ticdc_consumer.commands.load.copying import Copier, CopyJob, locked_ts
from ticdc_consumer.commands.load.creating import defined_of, naming, rows_of
from ticdc_consumer.commands.load.growing import ConsumerOf, Growth
from ticdc_consumer.commands.load.planning import planned
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.ddl.beside import Beside, copy_name, require_replaceable
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.kinds import kind_of, names_of
from ticdc_consumer.ddl.names import understood
from ticdc_consumer.errors import Fenced, Retry, Stop, Unavailable, UnknownCommit, Usage
from ticdc_consumer.protocols import protocol_of
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.known_tables import lower
from ticdc_consumer.state.loading import LoadNotes, LoadProgress, TableLoad, TableState
from ticdc_consumer.state.scope import filter_before
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity import stored
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import Layout, TableName, TargetName
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.origin import FromUpstream
from ticdc_consumer.upstream.session import UpstreamSession, reading, upstream_url
from ticdc_consumer.upstream.snapshot import CATCH_UP, advising, pinned, require_kept
from ticdc_consumer.upstream.tables import Defined, defined, names
from ticdc_consumer.waiting import backing_off, retried, sleep

PAUSE = 0.15
"""Seconds between two chunks: cuts, which wait for the same lock, run in between."""
LOOK = 0.1
"""Seconds between two checks whether the lease's holder has done its part."""
FIRST_WORD = 3.0
"""Seconds that a consumer which has taken over gets to write its first activity."""
TRIES = 5
"""Most starts of a load that DDL interrupts."""

Report = Callable[[LoadProgress], None]


def load_again(
    options: Settings,
    tables: Sequence[str],
    consumer: ConsumerOf,
    *,
    report: Report = lambda progress: None,
    stopped: Callable[[], bool] = lambda: False,
) -> int | None:
    """Loads these tables, each as `schema.table`, next to those in use, and returns R when they
    have replaced them; None if `stopped` ended it before. Continues an interrupted load.

    If `[tables] filter` takes more tables than before, the new ones are loaded; a `consumer`
    applies the changes before them. Raises `Stop`, before anything is done, for a table that cannot
    be loaded so.
    """
    with _opened(options, tables, consumer, report, stopped) as again:
        return again.load()


def give_up(options: Settings, tables: Sequence[str]) -> None:
    """Ends the load of these tables; those in use stay unchanged."""
    with _opened(options, tables) as again:
        again.give_up()


@contextmanager
def _opened(
    options: Settings,
    tables: Sequence[str],
    consumer: ConsumerOf | None = None,
    report: Report = lambda progress: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator["_Again"]:
    opening = open_target(
        options.target_url, write_source=options.write_source, changefeed=options.changefeed
    )
    command = "".join(f" --table {table}" for table in tables)
    with closing(opening) as target:
        try:
            with target.errors():
                yield _Again(options, target, tables, consumer, report, stopped)
        except (Retry, UnknownCommit) as error:
            raise Unavailable(
                f"{error}; continue with: ticdc-consumer load CONFIG{command}"
            ) from error


def _upstream_url(options: Settings) -> str:
    if options.upstream_url is None and options.dump_url is not None:
        raise Usage(
            "load --table reads the TiDB itself, as of the current R: set [source] upstream as "
            "well as dump, which holds one timestamp only"
        )
    return upstream_url(options)


class _Again:
    def __init__(
        self,
        options: Settings,
        target: Target,
        tables: Sequence[str],
        consumer: ConsumerOf | None,
        report: Report,
        stopped: Callable[[], bool],
    ) -> None:
        """`consumer` is needed only to load."""
        self._options, self._target = options, target
        self._labels = sorted(set(tables))
        self._store = Store(
            target,
            options.changefeed,
            options.ddl_keep_dropped,
            InTarget.by(options, target),
        )
        self._notes = LoadNotes(target, options.changefeed)
        self._url = _upstream_url(options)
        self._origin = FromUpstream(self._url)
        self._holder = _Holder(options, self._context(), self._store)
        self._consumer, self._report, self._stopped = consumer, report, stopped
        self._grew = False

    def load(self) -> int | None:
        if not self._grown():
            return None
        state = self._require_applied()
        if self._grew and not self._notes.beside():
            return state.resolved_ts
        with pinned(self._url, state.resolved_ts - 1), advising(CATCH_UP):
            for _ in range(TRIES):
                if not self._begun():
                    self._begin()
                self._create()
                if not self._wait_while("asked", "given up"):
                    return None
                if self._begun():
                    return self._fill()
        raise Stop(f"{', '.join(self._labels)}: its DDL come in close succession; try again")

    def _grown(self) -> bool:
        """Puts the changefeed under a filter that takes more tables than before. Returns False if
        `stopped`."""
        state = self._store.read()
        before = filter_before(state.scope_text, self._options) if state is not None else None
        if state is None or not state.resolved_ts or before is None:
            return True
        assert self._consumer is not None  # of every load
        growth = Growth(self._options, self._store, self._url, before, self._labels, self._consumer)
        with self._holder.letting_go():
            self._grew = growth.grow(self._stopped)
        if loads := self._notes.beside():
            self._labels = sorted(".".join(load.name) for load in loads)
        return self._grew

    def give_up(self) -> None:
        self._require_applied()
        if new := [".".join(load.name) for load in self._notes.beside() if load.alone]:
            command = "".join(f" --table {label}" for label in new)
            raise Stop(
                f"{', '.join(new)}: the target has no other table for its rows, so that this load "
                f"cannot be given up; finish it by: ticdc-consumer load CONFIG{command}"
            )
        if not self._begun():
            raise Stop(f"{', '.join(self._labels)}: it is not being loaded")
        self._try(partial(self._reach, "given up"))
        self._wait_while("given up")

    def _wait_while(self, *states: TableState) -> bool:
        """Waits until the lease's holder has done its part with tables of these states. Returns
        False if `stopped`."""
        while any(load.state in states for load in self._notes.beside()):
            if self._stopped():
                return False
            self._holder.wait()
        return True

    def _require_applied(self) -> Checkpoint:
        state = self._store.read()
        if state is None or not state.resolved_ts:
            raise Stop(
                f"changefeed {self._options.changefeed} has applied nothing yet: load all of its "
                "tables by: ticdc-consumer load CONFIG"
            )
        state.check_scope(self._options)
        return state

    def _context(self) -> DdlContext:
        layouts = TableLayouts(self._options, self._target)
        return DdlContext.of(self._options, self._target, self._store.ledger, layouts.route)

    def _try(self, attempt: Callable[[], None]) -> None:
        """Retries `attempt`; finished work shows, and is not repeated."""

        def reconnect() -> None:
            with suppress(TicdcError):
                self._target.reconnect()

        pauses = backing_off(self._options.retries)
        retried(attempt, pauses, on=(Retry, UnknownCommit), recover=reconnect)

    # --- the beginning -------------------------------------------------------------------------

    def _begun(self) -> bool:
        """Returns whether a load of these tables has begun. Raises `Stop` if one of other tables
        has."""
        loads = sorted(".".join(load.name) for load in self._notes.beside())
        if loads and loads != self._labels:
            again = " ".join(f"--table {name}" for name in loads)
            raise Stop(
                f"{', '.join(loads)}: a load is not finished: continue it first: ticdc-consumer "
                f"load CONFIG {again}; or give it up: the same with --give-up"
            )
        return bool(loads)

    def _begin(self) -> None:
        """Checks for everything that forbids the load, and writes its plan."""
        resolved_ts = self._require_applied().resolved_ts
        with reading(self._url) as session:
            require_kept(session, resolved_ts - 1)
        with reading(self._url, resolved_ts - 1) as session:
            definitions = {each.name: each for each in self._defined(session)}
        for each in definitions.values():
            self._require_loadable(each)
        states: dict[TableName, TableState] = dict.fromkeys(definitions, "create")
        cut = partial(self._origin.cut, resolved_ts - 1)
        plan = planned(cut, self._options.load_chunk, definitions, states)
        loads = [self._beside(load, resolved_ts - 1, n) for n, load in enumerate(plan, 1)]

        def begin() -> None:
            with self._target.transaction():
                locked_ts(self._store)
                if not self._notes.beside():
                    self._notes.begin(resolved_ts - 1, loads)

        self._try(begin)
        failpoints.hit("reload-begun")

    def _defined(self, session: UpstreamSession) -> Iterator[Defined]:
        upstream = {".".join(name): name for name in names(session, self._options)}
        for label in self._labels:
            if label not in upstream:
                raise Stop(
                    f"{label}: the upstream has no such table at R, or [tables] filter does not "
                    "match it"
                )
            yield defined(session, *upstream[label])

    def _require_loadable(self, each: Defined) -> None:
        label, context = ".".join(each.name), self._holder.context
        if self._store.quarantine.get(each.name) is not None:
            raise Stop(
                f"{label}: it is quarantined: load and release it by: ticdc-consumer release "
                f"CONFIG {label} --load"
            )
        if context.shard(each.name) is not None:
            raise Stop(f"{label}: tables that [tables.merge] merges are not filled by a load")
        if not each.table.handle_key:
            raise Stop(
                f"{label}: it has no key, so changes that come during the load could not be told "
                "from its rows"
            )
        located = context.locate(each.name)
        if self._target.describe(*located) is None:
            self._require_not_awaited(each.name)
            self._require_creatable(each, located)
        else:
            self._layout(each)
            require_replaceable(context, each.name, located)

    def _require_not_awaited(self, name: TableName) -> None:
        """Raises `Stop` if a pending DDL creates the table: rows after that DDL would be in the
        copy, and not in the table that it creates."""
        known = set(map(lower, self._store.ledger.known().destinations))
        for entry in self._store.ledger.pending():
            statement = understood(entry.query, entry.schema)
            if statement is None:
                continue
            others = set(map(lower, names_of(statement).tables))
            if lower(name) not in others:
                continue
            others.remove(lower(name))
            makes = kind_of(statement).creates or isinstance(statement, RecoverTable)
            if makes or others & known:
                raise Stop(
                    f"{'.'.join(name)}: a DDL that makes this table waits: {entry.id}, "
                    f"{entry.short_query}; start the consumer, which runs it, then load the table"
                )

    def _require_creatable(self, each: Defined, located: TargetName) -> None:
        """Raises `Stop` if the table cannot be created."""
        label, (schema, _) = ".".join(each.name), located
        if each.table.foreign_keys:
            raise Stop(
                f"{label}: it has foreign keys, and such a table cannot be loaded while its "
                "changes are applied"
            )
        if schema not in {None, *sa.inspect(self._target.connection).get_schema_names()}:
            raise Stop(f"{label}: the target has no schema {schema}: create it, then load")
        protocol_of(self._options).exactness.require_exact(rows_of(each.table), self._options.rules)
        with naming(each):
            self._target.create_table(*located, each.table)

    def _layout(self, each: Defined, beside: TargetName | None = None) -> Layout:
        """The layout of the rows of the table in use, or if there is none, of the one that is
        filled."""
        layouts = TableLayouts(self._options, self._target)
        layouts.learn(self._store.ledger)
        layouts.fill({each.name: beside} if beside else {})
        protocol_of(self._options).exactness.require_exact(rows_of(each.table), self._options.rules)
        layouts.add(rows_of(each.table), deletes_only=False)
        number, _ = layouts.shapes[each.name]
        return layouts.layouts[number]

    def _beside(self, load: TableLoad, snapshot_ts: int, number: int) -> TableLoad:
        located = self._holder.context.locate(load.name)
        beside = copy_name(self._options.changefeed, located, snapshot_ts, number)
        created = self._target.describe(*located) is None
        known = load.name in self._store.ledger.known().destinations
        strange = not created and not known and self._require_applied().empty_at is not None
        return replace(load, created=created, beside=beside, strange=strange)

    def _create(self) -> None:
        """Creates the copies, and asks for the stream to write to them."""
        for load in self._notes.beside():
            if load.state == "create":
                self._try(partial(self._create_one, load))
                failpoints.hit("reload-created")

    def _creation(self, load: TableLoad) -> Sequence[str]:
        """The statements that create the table to be filled."""
        target, each, copy = self._target, defined_of(load), load.beside
        assert copy is not None
        if load.created:
            return [*target.drop_table(*copy), *target.create_table(*copy, each.table)]
        layout = self._layout(each)
        key = [layout.columns[position] for position in layout.key_positions()]
        return target.copy_structure(self._holder.context.locate(load.name), copy, key)

    def _create_one(self, load: TableLoad) -> None:
        target = self._target
        assert load.beside is not None
        if not target.transactional_ddl:
            self._execute(self._creation(load))
        try:
            with target.transaction():
                locked_ts(self._store)
                if self._notes.state(load.name) == "create":
                    if target.transactional_ddl:
                        self._execute(self._creation(load))
                    self._notes.reached(load.name, "asked")
        except Stop:
            if not target.transactional_ddl:
                self._execute(target.drop_table(*load.beside))
            raise

    def _execute(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._target.execute(text).close()

    # --- the rows ------------------------------------------------------------------------------

    def _fill(self) -> int | None:
        """Loads the chunks, and has the tables replace those in use."""
        pending = self._notes.pending()
        next_report = 0.0
        with closing(Copier(self._job())) as copier:
            for name, number in pending:
                if self._stopped():
                    return None
                copier.copy(name, number)
                if time.monotonic() >= next_report:
                    self._look()
                    next_report = time.monotonic() + 1.0
                sleep(PAUSE)
        self._look()
        self._try(partial(self._reach, "whole"))
        failpoints.hit("reload-filled")
        if not self._wait_while("whole"):
            return None
        if self._notes.beside():
            raise Stop(f"{', '.join(self._labels)}: another client gave the load up")
        return self._require_applied().resolved_ts

    def _job(self) -> CopyJob:
        options, loads = self._options, self._notes.beside()
        if not loads:
            raise Stop(
                f"{', '.join(self._labels)}: another client finished this load, or gave it up; "
                "start the command again to load once more"
            )
        tables = {}
        for load in loads:
            assert load.beside is not None
            each, relation = defined_of(load), self._target.quote(*load.beside)
            of_rows = self._layout(each, load.beside if load.created else None)
            layout = replace(of_rows, relation=relation, upsert=False)
            tables[load.name] = each.table, layout
        return CopyJob(
            options.changefeed,
            loads[0].snapshot_ts,
            tables,
            options.retries,
            options.write_source,
            self._origin,
            options.target_url,
            beside=True,
        )

    def _look(self) -> None:
        if (progress := self._notes.progress()) is not None:
            self._report(progress)

    def _reach(self, state: TableState) -> None:
        """Asks the lease's holder to do the rest."""
        with self._target.transaction():
            locked_ts(self._store)
            for load in self._notes.beside():
                self._notes.reached(load.name, state)


class _Holder:
    """The holder of the lease: a running consumer, or else this command."""

    def __init__(self, options: Settings, context: DdlContext, store: Store) -> None:
        self.context = context
        self._options, self._store = options, store
        self._own = 0
        """The newest generation that this command took."""
        self._other, self._since = 0, 0.0

    def wait(self) -> None:
        """Gives a running consumer some time; does its part if none runs."""
        target = self._store.target
        consumer = stored.read(target, self._options.changefeed)
        if (consumer is not None and consumer.running) or self._other_begins(consumer):
            sleep(LOOK)
            return
        try:
            with self.letting_go():
                self._store.start(self._options.takeover_after)
                with self._store.lease.explaining():
                    Beside(self.context, self._store, self._options.retries).tend(at_once=True)
        except Fenced:
            sleep(LOOK)  # a consumer began meanwhile, which does it

    def _other_begins(self, last: stored.StoredActivity | None) -> bool:
        """Returns whether another consumer took over too recently to have written yet."""
        state = self._store.read()
        known = max(self._own, last.activity.generation if last is not None else 0)
        if state is None or state.generation <= known:
            return False
        if state.generation != self._other:
            self._other, self._since = state.generation, time.monotonic()
        return time.monotonic() - self._since < FIRST_WORD

    @contextmanager
    def letting_go(self) -> Iterator[None]:
        """Releases lease and session at the end: a new consumer does not wait for them."""
        try:
            yield
        finally:
            self._own = max(self._own, self._store.lease.generation)
            self._store.lease.let_go()
            with suppress(TicdcError):
                self._store.target.reconnect()
