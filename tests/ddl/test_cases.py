"""Every statement in `tests/ddl/*.sql`: what it becomes, and what it does to a real table."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa
from support.databases import fresh_database
from support.ddl_cases import CASES, Case, cases
from support.loading import CHANGEFEED, NO_VIEW_LEFT_OUT
from support.server_address import server_address
from ticdc_consumer.ddl import translate
from ticdc_consumer.ddl.begun import note
from ticdc_consumer.ddl.by_operator.suggestion import suggested
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.schema import DEFINITION, LEDGER
from ticdc_consumer.state.store import Store
from ticdc_consumer.state.stored_ledger import LedgerInDatabase
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import TargetTable
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table, parse_ddl
from ticdc_encoder.sql.statements import CreateTable, CreateView, DropView, RenameTable

ALL = [case for file in sorted(CASES.glob("*.sql")) for case in cases(file)]
COMMIT_TS = 1714885505555 << 18
"""2024-05-05 05:05:05.555 UTC."""
OTHERS = ("p", "x", "t2", 't"; DROP TABLE t; --', "fresh")


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "mariadb", "mysql", "tidb"])
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    """One session, and the consumer's own tables, for all cases."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('ddl') / 'target.db'}"
        yield from _opened(url)
    else:
        server = _server(request)
        with fresh_database(server) as url:
            yield from _opened(url)


def _server(request: pytest.FixtureRequest) -> str:
    if request.param == "postgresql":
        server: str = request.getfixturevalue("postgresql_server")
        return server
    return server_address(f"{request.param.upper()}_URL")


def _opened(url: str) -> Iterator[Target]:
    target = open_target(url)
    Store(target, CHANGEFEED).start(1.0)
    for text in target.create_schema(str(target.engine.url.database)):
        target.execute(text).close()
    yield target
    target.close()


class Here:
    """The case's table in the target, and the ledger that knows it."""

    def __init__(self, target: Target, case: Case) -> None:
        self.target, self.case = target, case
        self.schema, self.name = target.locate(*self.route("s", "t"))
        self.table = parse_create_table(case.table, "s")
        self.ledger = LedgerInDatabase(target, CHANGEFEED, lambda: None, lambda: 1)
        with target.transaction():
            for own in (DEFINITION, LEDGER):
                target.connection.execute(sa.delete(own))
        self.run([f"DROP VIEW IF EXISTS {self.relation('v')}"])
        for name in ("t", *OTHERS):
            self.run(target.drop_table(self.schema, name))
        self.others = [parse_create_table(text, "s").name for text, _ in case.others]
        for seq, (text, rows) in enumerate((*case.others, (case.table, case.rows)), 1):
            table = parse_create_table(text, "s")
            name, columns = table.name, [c.name for c in table.columns if not c.virtual]
            sent = ", ".join(target.quote(None, column) for column in columns)
            entry = LedgerEntry(COMMIT_TS - 2, seq, "s", name, text, state="done")
            self.run(list(self.work(entry).statements))
            with target.transaction():
                self.ledger.add([entry])
                keep_definition(self.ledger, entry)
            for row in rows:
                self.run([f"INSERT INTO {self.relation(name)} ({sent}) VALUES ({row})"])  # noqa: S608
        if case.view:
            entry = LedgerEntry(COMMIT_TS - 1, 1, "s", "v", case.view, state="done")
            self.run(list(self.work(entry).statements))
            with target.transaction():
                self.ledger.add([entry])

    def work(self, entry: LedgerEntry) -> Alteration:
        return translate.work(
            DdlContext(self.target, self.ledger, self.route, policy=NO_VIEW_LEFT_OUT), entry
        )

    def route(self, _: str, table: str) -> tuple[str, str]:
        return str(self.target.engine.url.database), table

    def relation(self, name: str) -> str:
        return self.target.quote(self.schema, name)

    def run(self, statements: list[str]) -> None:
        for text in statements:
            self.target.connection.exec_driver_sql(text, None, {"no_parameters": True})

    @property
    def entry(self) -> LedgerEntry:
        """As TiCDC would send it, with the table's names beside it."""
        table = "t"
        try:
            match parse_ddl(self.case.statement, "s"):
                case RenameTable(_, (_, name)):
                    table = name
                case CreateTable(created):
                    table = created.name
                case CreateView(_, name) | DropView(_, name):
                    table = name
                case statement:
                    table = str(getattr(statement, "table", "t"))
        except DefinitionError:
            pass
        return LedgerEntry(COMMIT_TS, 1, "s", table, self.case.statement)

    def rows(self, table: Table, name: str) -> list[tuple[str, ...]]:
        """Those of upstream's columns that the target has, in upstream's order."""
        described = self.target.describe(self.schema, name)
        present = {column.name for column in described.columns} if described else set()
        columns = [column for column in table.columns if column.name in present]
        quoted = ", ".join(
            self.target.quote(None, column.name)
            + ("+0" if column.type.name == "bit" and self.target.dialect == "mysql" else "")
            for column in columns
        )
        query = f"SELECT {quoted} FROM {self.relation(name)}"  # noqa: S608
        result = self.target.connection.exec_driver_sql(query, None, {"no_parameters": True}).all()
        return sorted(tuple(map(_shown, row)) for row in result)


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, (bytes, memoryview)) else str(value)


def named(described: TargetTable | None, as_name: str) -> object:
    """What can be compared of two tables; keys by their columns."""
    assert described is not None
    return (
        {replace(column, has_default=False) for column in described.columns},
        {column.name for column in described.columns if column.has_default},
        {(key.columns, key.primary, key.plain) for key in described.unique_keys},
    )


def written(target: Target, here: Here, statements: tuple[str, ...]) -> list[str]:
    """With the upstream's name of the schema."""
    if here.schema is None:
        return [text.replace("\n", " ") for text in statements]
    mine, upstream = target.quote(None, here.schema), target.quote(None, "s")
    return [text.replace("\n", " ").replace(mine, upstream) for text in statements]


def attempt(here: Here) -> list[str]:
    """Does the case's work and notes it as done; the statements."""
    entry = here.entry
    work = here.work(entry)
    for query, reason in work.refusals:
        result = here.target.connection.exec_driver_sql(query, None, {"no_parameters": True})
        if result.first() is not None:
            raise Stop(reason)
    here.run(list(work.statements))
    with here.target.transaction():
        keep_definition(here.ledger, entry)
    return written(here.target, here, work.statements)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_statement_becomes_the_targets_own(target: Target, case: Case) -> None:
    here = Here(target, case)
    before = here.rows(here.table, "t")
    reason = case.of(case.stops, target.dialect)
    if reason is not None:
        with pytest.raises((Stop, DefinitionError)) as stop:
            attempt(here)
        assert reason in str(stop.value)
        assert here.rows(here.table, "t") == before
        return
    assert attempt(here) == case.statements(target.dialect)
    for (_, name), table in here.ledger.definitions().items():
        here.run(target.create_table(here.schema, "fresh", table))
        fresh, altered = (target.describe(here.schema, of) for of in ("fresh", name))
        assert named(altered, name) == named(fresh, name)
        here.run(target.drop_table(here.schema, "fresh"))
        then = case.of(case.then, target.dialect)
        if name in here.others:
            then = case.then_other or ""
            if case.then_other is None:
                continue
        if then is not None:
            assert [" ".join(row) for row in here.rows(table, name)] == [
                row for row in then.split(" | ") if row
            ]
        else:
            created = case.statement.startswith("CREATE TABLE")
            assert len(here.rows(table, name)) == (0 if created and name != "t" else len(before))


def test_the_suggestion_for_what_tidb_refuses_does_it(tidb_url: str) -> None:
    target, tried = open_target(tidb_url), 0
    Store(target, CHANGEFEED).start(1.0)
    for case in [case for case in ALL if "tidb" in case.stops]:
        here = Here(target, case)
        before = here.rows(here.table, "t")
        try:
            attempt(here)
        except Unsupported as refusal:
            here.run(list(refusal.instead))
            if refusal.instead:
                with target.transaction():
                    keep_definition(here.ledger, here.entry)
                ((_, name), table), *_ = here.ledger.definitions().items()
                here.run(target.create_table(here.schema, "fresh", table))
                fresh, altered = (target.describe(here.schema, of) for of in ("fresh", name))
                assert named(altered, name) == named(fresh, name)
                assert here.rows(table, "t") == before
                tried += 1
    assert tried >= 4
    target.close()


_IN_MYSQL = (
    "a view that compares text",
    "a view of somebody else",
    "an expression as default",
    "a stored column has values that are not sent",
    "VARCHAR becomes CHAR",
    "VARCHAR becomes VARBINARY",
    "DECIMAL of fewer digits",
)
SUGGESTED = {
    "sqlite": ("a view that compares text", "an expression as default", "VARCHAR becomes INT"),
    "postgresql": ("a view that compares text", "an expression as default", "FLOAT becomes DOUBLE"),
    "mysql": _IN_MYSQL,
    "mariadb": _IN_MYSQL,
    "tidb": ("a view that compares text", "VARCHAR becomes CHAR", "DECIMAL of fewer digits"),
}
"""Stops for which there must be a suggestion; others may have one."""


@pytest.mark.parametrize("case", [case for case in ALL if case.stops], ids=str)
def test_what_is_suggested_at_a_stop_runs_in_the_target_as_it_is(
    target: Target, case: Case
) -> None:
    if case.of(case.stops, target.dialect) is None:
        return
    here = Here(target, case)
    suggestion = suggested(DdlContext(target, here.ledger, here.route), here.entry)
    if case.name in SUGGESTED.get(target.dialect, ()):
        assert suggestion is not None
        assert suggestion.tried
    if suggestion is not None:
        here.run(list(suggestion.statements))
    if suggestion is not None and here.entry.query.startswith("CREATE VIEW"):
        here.run([f"SELECT * FROM {here.relation('v')}"])  # noqa: S608


@pytest.mark.parametrize(
    "case", [case for case in ALL if case.statement.startswith("ALTER TABLE")], ids=str
)
def test_what_was_done_and_not_noted_is_not_done_again(target: Target, case: Case) -> None:
    """Where DDL commits by itself: the catalog says how much of it ran."""
    if target.transactional_ddl or case.of(case.stops, target.dialect) is not None:
        return
    here = Here(target, case)
    work, entry = begun(here)
    here.run(list(work.statements))
    after, rows = here.target.describe(here.schema, "t"), all_rows(here)
    here.run(list(here.work(entry).statements))
    assert here.target.describe(here.schema, "t") == after
    if work.rows_only:
        return
    assert all_rows(here) == rows
    for number in range(1, len(work.statements)):
        here = Here(target, case)
        work, entry = begun(here)
        here.run(list(work.statements[:number]))
        here.run(list(here.work(entry).statements))
        assert here.target.describe(here.schema, "t") == after
        assert all_rows(here) == rows


def begun(here: Here) -> tuple[Alteration, LedgerEntry]:
    """The work of the case's DDL, and its entry, which notes that the work begins."""
    context = DdlContext(here.target, here.ledger, here.route)
    with here.target.transaction():
        here.ledger.add([here.entry])
        work = here.work(here.entry)
        note(context, here.entry, work)
    entry = here.ledger.entry(here.entry.order)
    assert entry is not None
    return work, entry


def all_rows(here: Here) -> list[str]:
    if here.target.describe(here.schema, "t") is None:
        return []
    query = f"SELECT * FROM {here.relation('t')}"  # noqa: S608
    return sorted(map(str, here.target.connection.exec_driver_sql(query).all()))
