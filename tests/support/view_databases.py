"""A real TiDB and a target with the same tables, and what a view shows in each."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import sqlalchemy as sa
from ticdc_consumer.config.merging import Merging
from ticdc_consumer.config.routing import Routes
from ticdc_consumer.ddl import translate
from ticdc_consumer.ddl.by_operator.suggestion import suggested
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.state.stored_ledger import LedgerInDatabase
from ticdc_consumer.targets.target import Target
from ticdc_encoder.filters.table import TableFilter

from support.loading import CHANGEFEED


@dataclass(frozen=True)
class Tables:
    """The columns and the rows of each, by `one.name` or `two.name`: the databases are called
    otherwise. `sent` are the columns that rows are of, where others are virtual."""

    columns: Mapping[str, str]
    rows: Mapping[str, str]
    sent: Mapping[str, str] = field(default_factory=dict)

    def insert(self, name: str, relation: str) -> str:
        return f"INSERT INTO {relation}{self.sent.get(name, '')} VALUES {self.rows[name]}"  # noqa: S608


class Upstream:
    """A real TiDB with the tables, and what each case's view shows there."""

    def __init__(self, connection: sa.Connection, database: str, tables: Tables) -> None:
        self._connection = connection
        self.names = {"one": database, "two": f"{database}_2"}
        self._seen: dict[str, tuple[str, list[str]]] = {}
        self._restored: dict[str, str] = {}
        self._run(f"CREATE DATABASE {self.names['two']}")
        self._run("SET time_zone = '+00:00'")
        self._run("SET sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')")  # as in the targets
        for name, columns in tables.columns.items():
            self._run(self.named(f"CREATE TABLE {name} ({columns}) DEFAULT CHARSET=utf8mb4"))
            self._run(self.named(tables.insert(name, name)))
        self._run("SET sql_mode = DEFAULT")

    def named(self, text: str) -> str:
        for name, database in self.names.items():
            text = text.replace(f"`{name}`.", f"`{database}`.").replace(
                f" {name}.", f" {database}."
            )
        return text

    def _run(self, text: str) -> sa.CursorResult[tuple[object, ...]]:
        return self._connection.exec_driver_sql(text, None, {"no_parameters": True})

    def shows(self, case: str) -> tuple[str, list[str]]:
        """The view's database, and its columns and rows."""
        if case not in self._seen:
            view = self.names["two" if " two.v " in case else "one"]
            self._run(f"USE {self.names['one']}")
            create = case if "OR REPLACE" in case else case.replace(" ", " OR REPLACE ", 1)
            self._run(self.named(create))
            self._seen[case] = view, rows(self._run(f"SELECT * FROM {view}.v"))  # noqa: S608
        return self._seen[case]

    def tells(self, case: str) -> tuple[str, list[str], str]:
        """The same, and the view in TiDB's own words, in which TiCDC sends it, too."""
        view, shown = self.shows(case)
        if case not in self._restored:
            (_, text, *_) = tuple(self._run(f"SHOW CREATE VIEW {view}.v").one())
            own = str(text).replace("DEFINER=`root`@`%`", "DEFINER = CURRENT_USER")
            self._restored[case] = own
        return view, shown, self._restored[case]

    @contextmanager
    def another(self, query: str) -> Iterator[None]:
        """With the view `i`."""
        self._run(f"USE {self.names['one']}")
        self._run(query)
        yield
        self._run("DROP VIEW i")


def rows(result: sa.CursorResult[tuple[object, ...]]) -> list[str]:
    columns = tuple(result.keys())
    return [str(columns), *sorted(str(tuple(map(_plain, row))) for row in result.all())]


def _plain(value: object) -> str:
    """A value as each database's driver gives it; times in UTC, with all digits."""
    if isinstance(value, datetime):
        value = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return value.isoformat(" ", "microseconds")
    text = str(value)
    if match := _TIME.fullmatch(text):
        return f"{match[1]}.{match[2] or '':0<6}"
    return text


_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d+))?")


class Downstream:
    """A target with the tables, whose schemas have other names than upstream."""

    def __init__(self, target: Target, names: Mapping[str, str], tables: Tables) -> None:
        self.target, self._schemas = target, names
        Store(target, CHANGEFEED).start(1.0)
        mine = str(target.engine.url.database)
        one, two = (f'"{schema}"' for schema in (mine, f"{mine}_2"))
        # SQLite has one schema.
        moved = {
            f"{names['one']}.*": f"{one}.{{table}}",
            f"{names['two']}.kinds": f"{two}.kinds_of_two",
            f"{names['two']}.*": f"{two}.{{table}}",
        }
        where = InTarget(target, Routes(moved), TableFilter(("*.*",)), Merging({}))
        self._ledger = LedgerInDatabase(target, CHANGEFEED, lambda: None, lambda: 1, where=where)
        self._context = DdlContext(target, self._ledger, where.routes)
        for schema in (mine, f"{mine}_2"):
            self._run(*target.create_schema(schema))
        for seq, (name, columns) in enumerate(tables.columns.items(), 1):
            schema, _, table = name.partition(".")
            created = f"CREATE TABLE {table} ({columns}) DEFAULT CHARSET=utf8mb4"
            entry = LedgerEntry(7, seq, names[schema], table, created, state="done")
            self._run(*translate.work(self._context, entry).statements)
            with target.transaction():
                self._ledger.add([entry])
                keep_definition(self._ledger, entry)
            relation = self._place(names[schema], table)
            self._run(tables.insert(name, relation))

    def _place(self, schema: str, table: str) -> str:
        return self.target.quote(*self._context.locate((schema, table)))

    def _run(self, *statements: str) -> None:
        for text in statements:
            self.target.connection.exec_driver_sql(text, None, {"no_parameters": True}).close()

    def shows(self, query: str, schema: str) -> list[str]:
        """The columns and rows of the view. Raises `Unsupported`."""
        entry = LedgerEntry(8, 1, schema, "v", query)
        work = translate.work(self._context, entry)
        self._run(*work.statements)
        view = self._place(schema, "v")
        shown = rows(self.target.execute(f"SELECT * FROM {view}"))  # noqa: S608
        self._run(f"DROP VIEW {view}")
        return shown

    def suggests(self, query: str) -> list[str]:
        """What the view shows that is suggested; nothing if there is no suggestion."""
        schema = self._schemas["two" if "_2.v " in query else "one"]
        suggestion = suggested(self._context, LedgerEntry(8, 1, schema, "v", query))
        if suggestion is None:
            return []
        assert suggestion.tried or not self.target.transactional_ddl
        self._run(*suggestion.statements)
        view = self._place(schema, "v")
        shown = rows(self.target.execute(f"SELECT * FROM {view}"))  # noqa: S608
        self._run(f"DROP VIEW {view}")
        return shown

    @contextmanager
    def another(self, query: str, schema: str) -> Iterator[None]:
        """With the view `i`, which came through the stream."""
        entry = LedgerEntry(7, 99, schema, "i", query, state="done")
        self._run(*translate.work(self._context, entry).statements)
        with self.target.transaction():
            self._ledger.add([entry])
        yield
        drop = LedgerEntry(7, 100, schema, "i", "DROP VIEW i", state="done")
        self._run(*translate.work(self._context, drop).statements)
        with self.target.transaction():
            self._ledger.add([drop])
