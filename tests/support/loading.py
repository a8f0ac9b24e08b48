"""Targets opened, and net changes of one small table written by hand."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
import sqlalchemy as sa
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply.counts import Applied
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.cut.apply.transaction import apply
from ticdc_consumer.cut.reconcile.net_change import NetChange, StagedRows
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.policy import Policy
from ticdc_consumer.errors import Fenced, Unavailable
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.schema import METADATA
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.targets import encoders, open_target
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.target import Target
from ticdc_encoder.column import Column, ColumnType, Index
from ticdc_encoder.event import Table

if TYPE_CHECKING:
    import pytest  # who runs this file as a process does without

CHANGEFEED = "shop-feed"
IMPATIENT = 0.2
ACCOUNTS = Table.define(
    "bank",
    "accounts",
    (
        Column("id", ColumnType("int"), nullable=False),
        Column("owner", ColumnType("varchar", length=20)),
    ),
    (Index("PRIMARY", ("id",), unique=True, primary=True, lengths=(None,)),),
)

NO_VIEW_LEFT_OUT = Policy(kinds={"VIEW": "stop"})

Row = tuple[int, str]


class Crash(Exception):
    """Stands for whatever ends a process; nothing handles it."""


@contextmanager
def opened(url: str) -> Iterator[Target]:
    """A session of the target, closed at the end."""
    target = open_target(url)
    try:
        if target.dialect == "sqlite":
            target.execute("PRAGMA busy_timeout = 50").close()
        yield target
    finally:
        target.close()


def options(url: str, **changed: object) -> Settings:
    values = {
        "changefeed": CHANGEFEED,
        "protocol": "canal-json",
        "topics": ("shop",),
        "kafka": {},
        "target_url": url,
        "retries": 3,
    }
    return Settings(**{**values, **changed})  # type: ignore[arg-type]


def route(target: Target) -> "Here":
    """Upstream schemas land in the database that the test owns."""
    return Here(str(target.engine.url.database))


@dataclass(frozen=True)
class Here:
    """A route into the test's own database; PostgreSQL's has the schema `public`, SQLite's none."""

    database: str

    def __call__(self, schema: str, table: str) -> tuple[str, str]:
        return self.database, table


def place(target: Target, table: str = "accounts") -> tuple[str | None, str]:
    return target.locate(*route(target)("bank", table))


def create_accounts(target: Target) -> Layout:
    """The accounts table, and how its rows get there."""
    schema = target.create_schema(route(target)("bank", "")[0])
    for text in [*schema, *target.create_table(*place(target), ACCOUNTS)]:
        target.connection.exec_driver_sql(text, None, {"no_parameters": True})
    return layout_of_accounts(target)


def layout_of_accounts(target: Target) -> Layout:
    described = target.describe(*place(target))
    assert described is not None
    return target.layout(ACCOUNTS, ("id",), described, None, frozenset())


def accounts(target: Target) -> list[Row]:
    """What the table holds, by id."""
    relation = target.quote(*place(target))
    rows = target.execute(f"SELECT id, owner FROM {relation} ORDER BY id").all()  # noqa: S608
    return [(key, owner) for key, owner in map(tuple, rows)]


@dataclass(frozen=True)
class Change:
    """The net change of one table: ids that are absent, rows that are there, each a chunk."""

    layouts: Sequence[Layout]
    absent: Sequence[int] = ()
    present: Sequence[Row] = ()
    staged: Sequence[StagedRows] = ()

    def deletes(self) -> Iterator[tuple[int, pa.BinaryArray]]:
        _, encode_keys = encoders(self.layouts[0].dialect)
        for key in self.absent:
            yield 0, encode_keys(self.layouts[0], [pa.array([str(key)])])

    def rows(self) -> Iterator[tuple[int, pa.BinaryArray]]:
        encode_rows, _ = encoders(self.layouts[0].dialect)
        for key, owner in self.present:
            yield 0, encode_rows(self.layouts[0], [pa.array([str(key)]), pa.array([owner])])


def first(store: Store, resolved_ts: int = 100, **positions: int) -> Checkpoint:
    """Starts `store` as a new changefeed at `resolved_ts`, with restart offsets by topic."""
    assert store.start(IMPATIENT) is None
    mine = options("", changefeed=store.changefeed)
    checkpoint = Checkpoint.first(mine, resolved_ts, at(shop=0) | at(**positions))
    store.begin_first(checkpoint)
    return checkpoint


def at(**offsets: int) -> dict[tuple[str, int], Position]:
    """Positions of partition 0 of topics."""
    return {(topic, 0): Position(topic, "", 0, offset) for topic, offset in offsets.items()}


@contextmanager
def crash_at(target: Target, statement: int) -> Iterator[list[str]]:
    """Raises `Crash` before the statement of that number (from 1); yields those that ran."""
    ran: list[str] = []

    def watch(_connection: object, _cursor: object, text: str, *_: object) -> None:
        if len(ran) + 1 == statement:
            ran.append("")
            raise Crash(text)
        ran.append(text)

    sa.event.listen(target.engine, "before_cursor_execute", watch)
    try:
        yield ran
    finally:
        sa.event.remove(target.engine, "before_cursor_execute", watch)


def kill_session(url: str, session: str) -> None:
    """Ends another session, as an administrator does."""
    with opened(url) as admin:
        admin.end_session(session)


BEFORE = [(1, "ann"), (2, "bob"), (3, "cid")]
AFTER = [(1, "ann"), (2, "bea"), (4, "dan")]


@dataclass
class Bank:
    """A target that holds BEFORE at R = 100, and the cut that makes it AFTER at R = 200. No view is
    left out, unless `policy` says so."""

    target: Target
    store: Store
    old: Checkpoint
    policy: Policy = NO_VIEW_LEFT_OUT
    monitor: Monitor = field(default_factory=Monitor)

    @property
    def layout(self) -> Layout:
        return layout_of_accounts(self.target)

    @property
    def options(self) -> Settings:
        return options(self.target.engine.url.render_as_string(hide_password=False))

    @property
    def new(self) -> Checkpoint:
        return replace(self.old, resolved_ts=200, positions=at(shop=50), counters={"rows": 3})

    @property
    def change(self) -> Change:
        return Change([self.layout], absent=(3, 4), present=((2, "bea"), (4, "dan")))

    def apply(self, *ddl: LedgerEntry, change: NetChange | None = None) -> Applied:
        step = Step(self.old, self.new, ddl)
        return apply(self.ddl_context, self.store, step, change or self.change, self.options)

    @property
    def ddl_context(self) -> DdlContext:
        return DdlContext(self.target, self.store.ledger, route(self.target), policy=self.policy)


def bank(target: Target) -> Bank:
    """A new bank in an empty database."""
    layout = create_accounts(target)
    store = Store(target, CHANGEFEED)
    first(store)
    with target.transaction():
        for _, rows in Change([layout], present=BEFORE).rows():
            target.insert(layout, rows, "stop")
    return open_bank(target)


def is_tidb(url: str) -> bool:
    """Whose DDL takes so long that tests of every moment make do with some of them."""
    with opened(url) as target:
        return target.dialect == "tidb"


def crashes(url: str) -> Iterator[tuple[Bank, Callable[[Callable[[], object]], bool]]]:
    """A new bank for each statement of some work, and what crashes the work there: it says whether
    the work came so far, and leaves a dead session. Ends after work that needed fewer. On TiDB it
    is each third statement."""
    for statement in count(1, 3 if is_tidb(url) else 1):
        with opened(url) as target:
            _empty(target)
            here = bank(target)

            def crashed(work: Callable[[], object]) -> bool:
                with crash_at(here.target, statement) as ran, suppress(Crash):  # noqa: B023
                    work()
                reached.append("" in ran)  # noqa: B023
                if not here.target.connection.closed:  # noqa: B023
                    here.target.connection.invalidate()  # noqa: B023
                return reached[-1]  # noqa: B023

            reached: list[bool] = []
            yield here, crashed
            if not reached[0]:
                assert statement > 5
                return


def _empty(target: Target) -> None:
    for own in METADATA.tables if Store(target, CHANGEFEED).read() else ():
        target.execute(f"DELETE FROM {own}").close()  # noqa: S608
    for table in ("accounts", "log"):
        for text in target.drop_table(*place(target, table)):
            target.connection.exec_driver_sql(text, None, {"no_parameters": True})


def open_bank(target: Target) -> Bank:
    """Takes a bank over that is there already."""
    monitor = Monitor(CHANGEFEED)
    store = Store(target, CHANGEFEED, monitor=monitor)
    old = store.start(IMPATIENT)
    assert old is not None
    return Bank(target, store, old, monitor=monitor)


def stands_at(url: str) -> tuple[list[tuple[int, str]], Checkpoint | None]:
    """What another session sees."""
    with opened(url) as reader:
        return accounts(reader), Store(reader, CHANGEFEED).read()


def lose_the_next_commit(
    patch: "pytest.MonkeyPatch", target: Target, url: str, committed: bool
) -> list[str]:
    """The session ends at the next COMMIT, which is then done or not; the list has it."""
    execute, session, lost = target.execute, target.session_id(), list[str]()

    def lossy(statement: str, parameters: object = ()) -> object:
        if statement != "COMMIT" or lost:
            return execute(statement, parameters)
        lost.append(statement)
        if committed:
            execute(statement, parameters)
        kill_session(url, session)
        return execute("SELECT 1" if committed else statement)

    patch.setattr(target, "execute", lossy)
    return lost


def main() -> None:
    """Applies the cut to the bank of that URL, in a process that may be killed."""
    with opened(sys.argv[1]) as target:
        try:
            open_bank(target).apply()
        except (Unavailable, Fenced) as error:
            print(error, file=sys.stderr)
            sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
