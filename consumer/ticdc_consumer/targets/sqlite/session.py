"""A connection to a SQLite file."""

import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

import sqlalchemy as sa
from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.errors import Retry, Unavailable, Unsupported, Usage
from ticdc_consumer.targets.bulk import Bulk
from ticdc_consumer.targets.column_mapping import TypeRules
from ticdc_consumer.targets.layout import (
    Layout,
    Reference,
    ReferenceChanges,
    TargetName,
    TargetTable,
)
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.schema.create import create_table, shape
from ticdc_consumer.targets.schema.functions import create_functions
from ticdc_consumer.targets.schema.generated import WriterOf
from ticdc_consumer.targets.schema.queries import QueryWords
from ticdc_consumer.targets.sqlite import alter, beside, catalog, errors, types
from ticdc_consumer.targets.sqlite.create import WORDS, reference_text
from ticdc_consumer.targets.sqlite.fence import after_the_file_lock
from ticdc_consumer.targets.sqlite.queries import SqliteWords
from ticdc_consumer.targets.sqlite.quoting import quote_name
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import patiently

T = TypeVar("T")

BUSY_TIMEOUT = 5.0
"""Seconds that a statement waits for the lock of another process."""


def open_session(url: sa.URL, to_look: bool = False) -> "SQLite":
    """Opens a session of the file. With `to_look`, a missing file is not created but read as the
    empty file that it will be. Raises `Usage` if the URL names no file, and `Unavailable`."""
    if url.database in (None, "", ":memory:"):
        raise Usage("[target] url names no file; write it like sqlite:////data/shop.db")
    return SQLite.open(_empty(url) if to_look else url)


def _empty(url: sa.URL) -> sa.URL:
    """Replaces a file that does not exist by SQLite's own memory. Raises `Unavailable` if it could
    not be created."""
    file = Path(url.database or "")
    if url.query or file.exists():
        return url
    if not os.access(file.parent, os.W_OK):
        raise Unavailable(f"{file} does not exist, and cannot be created")
    return url.set(database=":memory:")


class SQLite(Target):
    dialect: ClassVar[str] = "sqlite"
    sqlglot_dialect: ClassVar[str] = "sqlite"
    transactional_ddl: ClassVar[bool] = True
    several_writers: ClassVar[bool] = False
    unsigned_bigint_is_text: ClassVar[bool] = True
    query_words: ClassVar[QueryWords] = SqliteWords()
    clock: ClassVar[str] = "(julianday('now') - 2440587.5) * 86400.0"
    # The write lock first: a transaction that reads before it writes cannot wait for it.
    begin_statement: ClassVar[str] = "BEGIN IMMEDIATE"

    @classmethod
    def open(cls, url: sa.URL) -> "SQLite":
        engine = sa.create_engine(
            url.set(drivername="sqlite+pysqlite"),
            isolation_level="AUTOCOMMIT",
            poolclass=sa.NullPool,
            hide_parameters=True,
            # The loader's thread is not the one that connected.
            connect_args={"timeout": BUSY_TIMEOUT, "check_same_thread": False},
        )
        return cls(engine)

    def _connect(self) -> sa.Connection:
        try:
            with self.errors():
                connection = self.engine.connect()
                connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
                driver = connection.connection.dbapi_connection
                if isinstance(driver, sqlite3.Connection):
                    create_functions(driver)
            patiently(lambda: self._write_ahead(connection), BUSY_TIMEOUT, Retry, pause=0.01)
        except Retry as error:
            raise Unavailable(str(error)) from error
        return connection.execution_options(no_parameters=True)

    def _write_ahead(self, connection: sa.Connection) -> None:
        """Switches to WAL. Raises `Retry`: SQLite does not wait if several switch at once."""
        with self.errors():
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")

    def _new_bulk(self) -> Bulk:
        from ticdc_consumer.targets.sqlite.bulk import SqliteBulk

        return SqliteBulk(self.connection, self.query)

    def _rollback(self) -> None:
        if self.connection.invalidated:
            return  # by an interrupted statement
        # Some errors, a full disk among them, have ended the transaction already.
        driver = self.connection.connection.dbapi_connection
        if isinstance(driver, sqlite3.Connection) and driver.in_transaction:
            super()._rollback()

    def translate(self, error: Exception, layout: Layout | None = None) -> Exception:
        return errors.translate(error, layout, self.engine.url.database)

    def lost(self, error: Exception) -> bool:
        """Never true: there is no server to lose."""
        return False

    # The session's identity, for the fence.

    def session_id(self) -> str:
        return ""

    def end_session(self, session_id: str) -> None:
        raise Unavailable(
            f"another process holds the write lock of {self.engine.url.database}, and SQLite "
            "cannot end it"
        )

    def overtake(
        self, changefeed: str, patience: float, owner: Callable[[], str], work: Callable[[], T]
    ) -> T:
        return after_the_file_lock(self, patience, work)

    # The catalog.

    def locate(self, schema: str, table: str) -> tuple[str | None, str]:
        return None, table

    def comparable(self, name: TargetName) -> TargetName:
        return name[0], _lower(name[1])

    def named(self, column: sa.ColumnElement[str], tables: Sequence[str]) -> sa.ColumnElement[bool]:
        return sa.func.lower(column).in_([_lower(table) for table in tables])

    def quote(self, schema: str | None, table: str) -> str:
        if table.lower().startswith("sqlite_"):
            raise Unsupported(f"the table name {table!r} is reserved by SQLite")
        name = quote_name(table)
        return name if schema is None else f"{quote_name(schema)}.{name}"

    def describe(self, schema: str | None, table: str) -> TargetTable | None:
        with self.errors():
            return catalog.describe(self.query, schema, table)

    def references(self, schema: str | None, table: str) -> tuple[Reference, ...]:
        with self.errors():
            return catalog.references(self.query, table)

    def type_rules(self, rules: frozenset[str]) -> TypeRules:
        return TypeRules(self.dialect, quote_name, types.codec, types.merges, lambda _: "BINARY")

    # Facts that DDL needs.

    def column_types(self, table: Table) -> dict[str, str]:
        columns = shape(table, WORDS).columns
        return {name: column.type.lower() for name, column in columns.items()}

    def temporary_schema(self, schema: str | None) -> str | None:
        return "temp"

    def is_complete(self, statement: str) -> bool:
        # The body of a trigger has several.
        return sqlite3.complete_statement(statement)

    def comparable_text(self, name: str) -> str:
        return f"rtrim({name}, ' ')"

    def sorts_below_space(self, name: str) -> str | None:
        return f"{name} GLOB '*[' || char(1) || '-' || char(31) || ']*'"

    # DDL.

    def writer_of(self) -> WriterOf | None:
        return WORDS.writer_of

    def column_type(self, column: Column) -> str:
        return types.column_type(column)

    def create_schema(self, schema: str) -> list[str]:
        """Returns nothing: one file has one schema."""
        return []

    def create_table(
        self,
        schema: str | None,
        name: str,
        table: Table,
        references: Sequence[Reference] = (),
    ) -> list[str]:
        lines = [reference_text(each) for each in references]
        return create_table(self.quote(schema, name), name, table, WORDS, lines)

    def drop_table(self, schema: str | None, name: str) -> list[str]:
        return [f"DROP TABLE IF EXISTS {self.quote(schema, name)}"]

    def truncate_table(self, schema: str | None, name: str) -> list[str]:
        return [f"DELETE FROM {self.quote(schema, name)}"]  # noqa: S608

    def alter_table(
        self,
        schema: str | None,
        name: str,
        evolved: Evolved,
        references: ReferenceChanges,
    ) -> Alteration:
        work = alter.SqliteAlteration(self, schema, name, evolved, references)
        return work.alteration()

    def copy_structure(self, table: TargetName, copy: TargetName, key: Sequence[str]) -> list[str]:
        return beside.copy_structure(self, table, copy, key)

    def hindrances(self, table: TargetName) -> list[str]:
        return beside.hindrances(self, table)

    def replace_tables(self, moves: Sequence[tuple[TargetName, TargetName]]) -> list[str]:
        return beside.replace_tables(self, moves)

    def rename_table(self, old: TargetName, new: TargetName, definition: Table | None) -> list[str]:
        return alter.rename_table(self, old, new, definition)


def _lower(name: str) -> str:
    """Lowers a name as SQLite does, which knows the case of ASCII letters only."""
    return name.encode().lower().decode()
