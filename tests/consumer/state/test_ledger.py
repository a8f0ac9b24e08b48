"""The ledger: what memory holds is what the database holds, whatever became of the transactions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from random import Random

import pytest
import sqlalchemy as sa
from support.loading import (
    ACCOUNTS,
    CHANGEFEED,
    IMPATIENT,
    bank,
    crash_at,
    first,
    open_bank,
    opened,
)
from ticdc_consumer.ddl import attempt
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.errors import Fenced, Stop
from ticdc_consumer.state import known_tables
from ticdc_consumer.state.known_tables import Basis, KnownTables
from ticdc_consumer.state.ledger import (
    LONGEST_QUERY,
    DroppedTable,
    Ledger,
    LedgerEntry,
    LedgerInMemory,
    LedgerState,
)
from ticdc_consumer.state.store import Store
from ticdc_consumer.state.stored_ledger import LedgerInDatabase
from ticdc_consumer.targets.target import Target
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import from_json, parse_create_table

BASES: list[Basis] = ["applied", "declared", "checked", "seen", "reflected"]
NAMES = ["t", "T", "u", "child"]
CHILD = "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES t (id))"
PARTITIONED = "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 4"


def everything(ledger: Ledger) -> object:
    """All that a ledger tells."""
    known = ledger.known()
    again = KnownTables.of(known.by_name.items(), known.where, known.destinations)
    for name in known.destinations:
        assert sorted(known.others(name)) == sorted(again.others(name))
    for name in known.by_name:
        assert sorted(known.spellings(name)) == sorted(again.spellings(name))
        assert sorted(known.children(name)) == sorted(again.children(name))
    return (
        ledger.entries(),
        ledger.pending(),
        list(ledger.of_schemas_and_views()),
        {name: (known.basis, known.table) for name, known in known.by_name.items()},
        list(ledger.dropped()),
        known.destinations,
    )


def fresh(target: Target) -> LedgerInDatabase:
    """A ledger of the same session that remembers nothing."""
    return LedgerInDatabase(target, CHANGEFEED, lambda: None, lambda: 0)


# --- random histories ---------------------------------------------------------------------------


class Undone(Exception):
    """Ends a transaction."""


class Play:
    """Random reads and writes, in transactions that end in all ways."""

    def __init__(self, rng: Random, store: Store) -> None:
        self.rng, self.store, self.target = rng, store, store.target
        self.ledger = store.ledger
        self._commit_ts = max([100, *(entry.commit_ts for entry in self.ledger.entries())]) + 100

    def go(self, transactions: int) -> None:
        for _ in range(transactions):
            end = self.rng.choice(["commit", "commit", "undo", "lose", "lose", "fail"])
            with suppress(Undone, TicdcError):
                self._transaction(end)
            if self.target.connection.invalidated or self.rng.random() < 0.1:
                self.store.reconnect()
            self._compare()

    def _transaction(self, end: str) -> None:
        with self._lossy(end), self.target.transaction():
            for _ in range(self.rng.randint(0, 4)):
                if self.rng.random() < 0.3:
                    self._savepoint()
                else:
                    self._write()
                self._compare(0.3)
            if end == "undo":
                raise Undone
            if end == "fail":
                self.target.execute("SELECT 1 FROM nowhere")

    def _savepoint(self) -> None:
        context = DdlContext(self.target, self.ledger, lambda *name: name)
        with suppress(Stop), attempt.savepoint(context):
            for _ in range(self.rng.randint(0, 3)):
                self._write()
                self._compare(0.3)
            if self.rng.random() < 0.5:
                raise Stop("refused")

    def _write(self) -> None:
        entries, dropped = self.ledger.entries(), list(self.ledger.dropped())
        table = self._table()
        match self.rng.randint(0, 8):
            case 0 | 1:
                self._commit_ts += 1
                view = ("DROP VIEW v", "ALTER TABLE t ADD COLUMN a INT")
                queries = [(self.rng.choice(view), n + 1) for n in range(self.rng.randint(0, 2))]
                self.ledger.add(LedgerEntry(self._commit_ts, n, "s", "t", q) for q, n in queries)
            case 2 if entries:
                states: list[LedgerState] = ["pending", "done", "skipped"]
                state = self.rng.choice(states)
                marked = replace(self.rng.choice(entries), state=state, reason=f"as it is {state}")
                self.ledger.mark(marked)
            case 3 | 4:
                self.ledger.define(self._elsewhere(table), self.rng.choice(BASES))
            case 5:
                self.ledger.forget("s", self.rng.choice([*NAMES, None]))
            case 6:
                self._commit_ts += 1
                definition = self.rng.choice([table, None])
                aside = (None, f"aside_{self._commit_ts}")
                self.ledger.add_dropped(
                    DroppedTable(self._commit_ts, 1, "s", "t", *aside, definition, "applied")
                )
            case 7 if dropped:
                self.ledger.remove_dropped(self.rng.choice(dropped))
            case 8:
                other = self._elsewhere(table)
                self.ledger.note(other.schema, other.name)

    def _elsewhere(self, table: Table) -> Table:
        """Of another schema, which a target may drop."""
        return replace(table, schema=self.rng.choice(["s", "s", "S2"]))

    def _table(self) -> Table:
        text = self.rng.choice([CHILD, PARTITIONED, "CREATE TABLE u (a VARCHAR(5) DEFAULT 'é')"])
        table = parse_create_table(text, "s")
        return replace(table, name=self.rng.choice(NAMES))

    def _compare(self, share: float = 1.0) -> None:
        if self.rng.random() < share:
            assert everything(self.ledger) == everything(fresh(self.target))

    @contextmanager
    def _lossy(self, end: str) -> Iterator[None]:
        """With "lose" the session ends at the COMMIT, just before it or just after."""
        if end != "lose":
            yield
            return
        target = self.target
        execute, lost = target.execute, target.lost
        committed = self.rng.random() < 0.5

        def lossy(statement: str, parameters: object = ()) -> object:
            if statement != "COMMIT":
                return execute(statement, parameters)
            if committed:
                execute(statement, parameters)
            target.connection.invalidate()
            raise sa.exc.OperationalError(statement, None, Exception("lost"))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(target, "execute", lossy)
            patch.setattr(target, "lost", lambda _: True)
            yield
        assert (target.execute, target.lost) == (execute, lost)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("DROP  TABLE\n t", "DROP TABLE t"),
        ("x" * LONGEST_QUERY, "x" * LONGEST_QUERY),
        ("x" * (LONGEST_QUERY + 1), "x" * LONGEST_QUERY + "..."),
    ],
    ids=["several lines", "just short enough", "too long"],
)
def test_the_beginning_of_a_statement_is_one_line(query: str, shown: str) -> None:
    assert LedgerEntry(7, 1, "s", "t", query).short_query == shown


@pytest.mark.parametrize("seed", range(15))
def test_memory_holds_what_the_database_holds(target_url: str, seed: int) -> None:
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        first(store)
        Play(Random(seed), store).go(15)


def undone_is_not_counted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LedgerInDatabase, "_now", lambda self: (0, self._generation()))


def savepoints_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def savepoint(context: DdlContext) -> Iterator[None]:
        context.target.execute("SAVEPOINT ticdc_ddl")
        try:
            yield
        except Stop:
            context.target.execute("ROLLBACK TO SAVEPOINT ticdc_ddl")
            raise
        context.target.execute("RELEASE SAVEPOINT ticdc_ddl")

    patch.setattr(attempt, "savepoint", savepoint)


def writes_go_to_the_database_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LedgerInMemory, "put", lambda *_: None)


@pytest.mark.parametrize(
    "without", [undone_is_not_counted, savepoints_are_not_counted, writes_go_to_the_database_alone]
)
def test_each_rule_of_memory_is_needed(
    sqlite_url: str, without: Callable[[pytest.MonkeyPatch], None]
) -> None:
    with opened(sqlite_url) as target, pytest.MonkeyPatch.context() as patch:
        store = Store(target, CHANGEFEED)
        first(store)
        without(patch)
        with pytest.raises(AssertionError):
            for seed in range(50):
                Play(Random(seed), store).go(15)


def test_a_ledger_in_memory_holds_what_one_in_the_database_would(sqlite_url: str) -> None:
    class Both:
        """Writes to two ledgers."""

        def __init__(self, one: Ledger, other: Ledger) -> None:
            self.one, self.other = one, other

        def __getattr__(self, name: str) -> object:
            def call(*arguments: object) -> object:
                copies = [list(a) if isinstance(a, Iterator) else a for a in arguments]
                getattr(self.other, name)(*copies)
                return getattr(self.one, name)(*copies)

            return call

    with opened(sqlite_url) as target:
        store = Store(target, CHANGEFEED)
        copy = LedgerInMemory(CHANGEFEED, where=store.where)
        first(store)
        for seed in range(10):
            play = Play(Random(seed), store)
            play.ledger = Both(store.ledger, copy)  # type: ignore[assignment]
            with target.transaction():
                for _ in range(20):
                    play._write()
            assert everything(copy) == everything(fresh(target))
        other = LedgerInMemory(CHANGEFEED)
        other.copy_from(store.ledger)
        assert everything(other) == everything(copy)


# --- who may remember ---------------------------------------------------------------------------


CREATE = LedgerEntry(199, 1, "bank", "log", "CREATE TABLE log (id INT PRIMARY KEY)")
ALTER = LedgerEntry(199, 1, "bank", "accounts", "ALTER TABLE accounts ADD COLUMN more INT")


def test_what_an_overtaken_consumer_remembers_changes_nothing(target_url: str) -> None:
    with opened(target_url) as target, opened(target_url) as other:
        older = bank(target)
        with target.transaction():
            older.store.ledger.define(ACCOUNTS)
            older.store.ledger.add([replace(ALTER, commit_ts=90)])
        assert [entry.id for entry in older.store.ledger.pending()] == ["90:1"]
        newer = open_bank(other)
        ddl.run_pending(newer.ddl_context, newer.store, retries=1)
        newer.apply(CREATE)
        ddl.run_pending(newer.ddl_context, newer.store, retries=1)
        assert sorted(newer.store.ledger.definitions()) == [("bank", "accounts"), ("bank", "log")]
        done = everything(newer.store.ledger)
        if target.transactional_ddl:
            # It still remembers a pending ALTER TABLE, and may do nothing with it.
            assert [entry.id for entry in older.store.ledger.pending()] == ["90:1"]
        for work in (
            lambda: ddl.run_pending(older.ddl_context, older.store, retries=1),
            lambda: older.apply(replace(CREATE, table="other")),
            lambda: older.store.reconnect(),
        ):
            with pytest.raises(Fenced, match="a newer consumer took over"):
                work()
        assert everything(fresh(other)) == done


def test_the_next_consumer_reads_what_the_last_one_wrote(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        assert here.store.ledger.entries() == []
        here.apply(CREATE)
        ddl.run_pending(here.ddl_context, here.store, retries=1)
        # The same session, another generation: nothing is remembered.
        again = here.store
        assert again.start(IMPATIENT) is not None
        assert [entry.state for entry in again.ledger.entries()] == ["done"]
        assert list(again.ledger.definitions()) == [("bank", "log")]


def test_without_the_fence_every_read_goes_to_the_database(target_url: str) -> None:
    with opened(target_url) as target, opened(target_url) as other:
        here = bank(target)
        looking = Store(other, CHANGEFEED).ledger
        assert looking.entries() == []
        with target.transaction():
            here.store.ledger.add([CREATE])
            here.store.ledger.define(ACCOUNTS)
        assert [entry.id for entry in looking.pending()] == ["199:1"]
        assert list(looking.definitions()) == [("bank", "accounts")]


def test_a_ddl_reads_the_ledger_once_in_a_session(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        reads = []
        for n in range(3):
            entry = replace(
                CREATE, commit_ts=199 + n, table=f"log{n}", query=f"CREATE TABLE log{n} (id INT)"
            )
            with crash_at(target, 0) as ran:
                with target.transaction():
                    here.store.ledger.add([entry])
                ddl.run_pending(here.ddl_context, here.store, retries=1)
            own = ("FROM ticdc_ddl", "FROM ticdc_table", "FROM ticdc_dropped")
            reads.append(sum("SELECT" in text and any(o in text for o in own) for text in ran))
        assert reads == [2, 0, 0]


def test_a_definition_is_parsed_once_when_it_is_asked_for(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def counted(stored: dict[str, str]) -> Table:
        parsed.append(stored["name"])
        return from_json(stored)

    with opened(sqlite_url) as target:
        here = bank(target)
        with target.transaction():
            for name in ("a", "b", "c"):
                here.store.ledger.define(replace(ACCOUNTS, name=name))
        monkeypatch.setattr(known_tables, "from_json", counted)
        ledger = open_bank(target).store.ledger
        assert len(ledger.definitions()) == 3 and parsed == []
        for _ in range(2):
            assert ledger.definitions()["bank", "b"].name == "b"
        with target.transaction():
            ledger.forget("bank", "a")
        assert ledger.definitions()["bank", "b"].name == "b"
        assert parsed == ["b"]


def test_the_tables_of_a_cut_are_recorded_100_by_a_statement(target_url: str) -> None:
    tables = [replace(ACCOUNTS, name=f"t{n}") for n in range(250)]
    names = [("bank", f"n{n}") for n in range(120)] + [("bank", "t7")]
    with opened(target_url) as target:
        ledger = bank(target).store.ledger
        with crash_at(target, 0) as ran, target.transaction():
            ledger.define_all(tables, "seen")
            ledger.note_all(names)
        assert sum("ticdc_table" in text for text in ran) == 3 + 2
        with opened(target_url) as other:
            for known in (ledger.known(), Store(other, CHANGEFEED).ledger.known()):
                assert known.get(("bank", "t7")) is None
                assert {definition.basis for definition in known.by_name.values()} == {"seen"}
                assert len(known.by_name) == 249
                assert known.destinations.keys() == {("bank", t.name) for t in tables} | {*names}


WRITES: list[tuple[str, Callable[[LedgerInMemory], None]]] = [
    ("add", lambda ledger: ledger.add([LedgerEntry(7, 1, "s", "t", "DROP TABLE t")])),
    ("mark", lambda ledger: ledger.mark(LedgerEntry(7, 1, "s", "t", "DROP TABLE t"))),
    ("put", lambda ledger: ledger.put({})),
    ("note_all", lambda ledger: ledger.note_all([("s", "t")])),
    ("forget", lambda ledger: ledger.forget("s", "t")),
]


@pytest.mark.parametrize("write", [each[1] for each in WRITES], ids=[each[0] for each in WRITES])
def test_each_write_is_counted(write: Callable[[LedgerInMemory], None]) -> None:
    ledger = LedgerInMemory(CHANGEFEED)
    write(ledger)
    assert ledger.writes() == 1
