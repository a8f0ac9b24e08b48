"""One connection to a DuckDB file."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import duckdb
import sqlalchemy as sa
from ticdc_consumer.errors import Retry, Unavailable, Usage
from ticdc_consumer.targets.bulk import Bulk
from ticdc_consumer.targets.column_mapping import TypeRules
from ticdc_consumer.targets.layout import (
    Layout,
    Reference,
    ReferenceChanges,
    TargetColumn,
    TargetName,
    TargetTable,
)
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target, original
from ticdc_consumer.waiting import patiently
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_duckdb import alter, catalog, errors, types
from ticdc_duckdb.bulk import DuckDbBulk
from ticdc_duckdb.create import create_indexes, create_table, shape
from ticdc_duckdb.fence import after_the_file_lock, lock_of
from ticdc_duckdb.quoting import quote_name

T = TypeVar("T")

OPEN_TIMEOUT = 5.0
"""Seconds that an opening waits for another process to close the file."""
TURN_TIMEOUT = 5.0
"""Seconds that a transaction waits for another of this process."""

sa.dialects.registry.register("duckdb.ticdc", "ticdc_duckdb.dialect", "DuckDbDialect")


def open_session(url: sa.URL, to_look: bool = False) -> "DuckDb":
    """With `to_look`, a file that does not exist is not created, but read as the empty one that it
    will be. Raises `Usage` if the URL names no file, and `Unavailable`."""
    if url.database in (None, "", ":memory:"):
        raise Usage("[target] url names no file; write it like duckdb:////data/shop.duckdb")
    file = Path(url.database or "")
    if to_look and not file.exists():
        if not os.access(file.parent, os.W_OK):
            raise Unavailable(f"{file} does not exist, and cannot be created")
        url = url.set(database=":memory:")
    return DuckDb.open(url)


class DuckDb(Target):
    dialect: ClassVar[str] = "duckdb"
    sqlglot_dialect: ClassVar[str] = "duckdb"
    transactional_ddl: ClassVar[bool] = True
    savepoints: ClassVar[bool] = False
    has_zero_dates: ClassVar[bool] = False
    timestamp_zone: ClassVar[str] = "+00"

    _catalog = ""

    @classmethod
    def open(cls, url: sa.URL) -> "DuckDb":
        engine = sa.create_engine(
            url.set(drivername="duckdb+ticdc"),
            isolation_level="AUTOCOMMIT",
            poolclass=sa.NullPool,
            hide_parameters=True,
        )
        return cls(engine)

    def _connect(self) -> sa.Connection:
        def attempt() -> sa.Connection:
            with self.errors():
                return self.engine.connect()

        try:
            connection = patiently(attempt, OPEN_TIMEOUT, Retry)
        except Retry as error:
            raise Unavailable(str(error)) from error
        connection = connection.execution_options(no_parameters=True)
        connection.exec_driver_sql("SET TimeZone = 'UTC'")
        self._catalog = str(connection.exec_driver_sql("SELECT current_database()").scalar())
        return connection

    def _new_bulk(self) -> Bulk:
        return DuckDbBulk(self.connection, self.query)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """The sessions of one process take turns. Raises `Retry` if another keeps its turn."""
        turn = lock_of(str(self.engine.url.database))
        if not turn.acquire(timeout=TURN_TIMEOUT):
            raise Retry(f"another session of this process writes to {self.engine.url.database}")
        try:
            with super().transaction():
                yield
        finally:
            turn.release()

    def _rollback(self) -> None:
        try:
            self.execute("ROLLBACK")
        except sa.exc.DBAPIError as error:
            # A COMMIT that failed has ended it, as has a fatal error.
            if not isinstance(original(error), duckdb.TransactionException):
                self.connection.invalidate()

    def translate(self, error: Exception, layout: Layout | None = None) -> Exception:
        return errors.translate(error, layout, self.engine.url.database)

    def lost(self, error: Exception) -> bool:
        """Never: there is no server to lose."""
        return False

    # The session's identity, for the fence.

    def session_id(self) -> str:
        return ""

    def end_session(self, session_id: str) -> None:
        raise Unavailable(
            f"another process holds {self.engine.url.database}, and DuckDB cannot end it"
        )

    def overtake(
        self, changefeed: str, patience: float, owner: Callable[[], str], work: Callable[[], T]
    ) -> T:
        return after_the_file_lock(self, patience, work)

    def locking_read(self, statement: sa.Select[Any]) -> sa.Select[Any]:
        return statement  # a transaction has the file for itself

    # The catalog.

    def locate(self, schema: str, table: str) -> tuple[str | None, str]:
        return schema, table

    def comparable(self, name: TargetName) -> TargetName:
        schema, table = name
        return None if schema is None else _lower(schema), _lower(table)

    def named(self, column: sa.ColumnElement[str], tables: Sequence[str]) -> sa.ColumnElement[bool]:
        return sa.func.lower(column).in_([_lower(table) for table in tables])

    def quote(self, schema: str | None, table: str) -> str:
        """With the database: a schema may have the file's name."""
        name = quote_name(table)
        if schema is None:
            return name
        return f"{quote_name(self._catalog)}.{quote_name(schema)}.{name}"

    def describe(self, schema: str | None, table: str) -> TargetTable | None:
        with self.errors():
            return catalog.describe(self.query, schema, table)

    def references(self, schema: str | None, table: str) -> tuple[Reference, ...]:
        """None: the consumer creates none here, and refuses tables that have any."""
        return ()

    def type_rules(self, rules: frozenset[str]) -> TypeRules:
        def codec(type_: ColumnType, existing: TargetColumn, in_key: bool) -> str:
            return types.codec(type_, existing, in_key, rules)

        return TypeRules(self.dialect, quote_name, codec, types.merges)

    # What DDL needs to know.

    def column_types(self, table: Table) -> dict[str, str]:
        return {name: column.type.lower() for name, column in shape(table).columns.items()}

    def comparable_text(self, name: str) -> str:
        return f"rtrim({name}, ' ')"

    def sorts_below_space(self, name: str) -> str | None:
        return f"regexp_matches({name}, '[\\x01-\\x1f]')"

    # DDL.

    def column_type(self, column: Column) -> str:
        return types.column_type(column)

    def create_schema(self, schema: str) -> list[str]:
        return [
            f"CREATE SCHEMA IF NOT EXISTS {quote_name(self._catalog)}.{quote_name(schema)}",
        ]

    def create_table(
        self,
        schema: str | None,
        name: str,
        table: Table,
        references: Sequence[Reference] = (),
    ) -> list[str]:
        relation = self.quote(schema, name)
        return [create_table(relation, table), *create_indexes(relation, name, table)]

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
        work = alter.DuckDbAlteration(self, schema, name, evolved, references)
        return work.alteration()

    def rename_table(self, old: TargetName, new: TargetName, definition: Table | None) -> list[str]:
        return alter.rename_table(self, old, new, definition)


def _lower(name: str) -> str:
    """Letter by letter."""
    return name.replace("İ", "i").replace("Σ", "σ").lower()
