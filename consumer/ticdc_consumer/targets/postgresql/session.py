"""A session of PostgreSQL."""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, TypeVar, cast

import psycopg
import sqlalchemy as sa
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.errors import Away, Denied, Unavailable, UserRefused
from ticdc_consumer.targets import session_name
from ticdc_consumer.targets.blockers import Blocker
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
from ticdc_consumer.targets.postgresql import alter, beside, catalog, errors, pooler, types
from ticdc_consumer.targets.postgresql import blockers as waits
from ticdc_consumer.targets.postgresql.create import WAITS, WORDS, add_reference
from ticdc_consumer.targets.postgresql.fence import IDLE_HOLDER, past_the_row_lock
from ticdc_consumer.targets.postgresql.queries import PostgreSqlWords
from ticdc_consumer.targets.postgresql.quoting import quote_name
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.schema.create import create_table, shape
from ticdc_consumer.targets.schema.generated import WriterOf
from ticdc_consumer.targets.schema.queries import QueryWords
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import until

logger = logging.getLogger(__name__)

T = TypeVar("T")

LOCK_TIMEOUT = "10s"
GONE_WITHIN = 30.0
"""Seconds that a terminated session may take to end."""

_SESSION = f"""
SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres';
SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET row_security = off;
SET lock_timeout = '{LOCK_TIMEOUT}'; SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 0; SET extra_float_digits = 1;
SET default_transaction_isolation = 'read committed'; SET quote_all_identifiers = off
"""
"""Fewer digits could make two numbers look equal. `default_transaction_read_only` stays unchanged:
an administrator keeps clients from writing by it."""

_NEWER_SETTINGS = """
SELECT set_config(name, '0', false) FROM pg_settings
WHERE name IN ('jit', 'idle_session_timeout', 'transaction_timeout')
"""
"""Settings of PostgreSQL 11, 14 and 17. Compiled expressions save a cut nothing: they take a tenth
of its CPU, and each comparison of a part of a table up to two seconds."""


def open_session(url: sa.URL, to_look: bool = False) -> "PostgreSQL":
    """Opens a session. Raises `Unavailable`."""
    return PostgreSQL.open(url)


class PostgreSQL(Target):
    dialect: ClassVar[str] = "postgresql"
    sqlglot_dialect: ClassVar[str] = "postgres"
    transactional_ddl: ClassVar[bool] = True
    has_staging: ClassVar[bool] = True
    has_zero_dates: ClassVar[bool] = False
    query_words: ClassVar[QueryWords] = PostgreSqlWords()
    timestamp_zone: ClassVar[str] = "+00"
    clock: ClassVar[str] = "extract(epoch FROM clock_timestamp())"
    # PostgreSQL alters no table with pending deferred checks.
    before_ddl: ClassVar[str] = "SET CONSTRAINTS ALL IMMEDIATE"
    back_to_own: ClassVar[str] = "RESET SESSION AUTHORIZATION; RESET ROLE; RESET search_path"
    begin_statement: ClassVar[str] = (
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET CONSTRAINTS ALL DEFERRED"
    )

    _replica_allowed = False
    _user = ""
    _encoding = ""

    @classmethod
    def open(cls, url: sa.URL) -> "PostgreSQL":
        engine = sa.create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="AUTOCOMMIT",
            poolclass=sa.NullPool,
            hide_parameters=True,
            # A statement prepared before a DDL would keep the old types.
            connect_args={"connect_timeout": 10, "prepare_threshold": None},
        )
        return cls(engine)

    def _connect(self) -> sa.Connection:
        try:
            connection = self._begin()
        except Away:
            raise
        except Unavailable:
            # The server may have been starting when it refused, and ready when that was checked.
            connection = self._begin()
        self._replica_allowed = _may_be_replica(connection)
        asked = "SELECT current_user, current_setting('server_encoding')"
        self._user, self._encoding = map(str, connection.exec_driver_sql(asked).one())
        return connection

    def _begin(self) -> sa.Connection:
        try:
            # Without it a % in a name would be a placeholder, and several statements be refused.
            connection = self.engine.connect().execution_options(no_parameters=True)
            pooler.require_own_session(connection, self.engine.connect)
            connection.exec_driver_sql(_SESSION)
            connection.exec_driver_sql(_NEWER_SETTINGS).close()
        except sa.exc.DBAPIError as error:
            url, reason = self.engine.url, str(error.orig).splitlines()[0]
            where = f"{url.host}:{url.port or 5432}" if url.host else "its local socket"
            raise (UserRefused if errors.refuses(error) else Away)(
                f"cannot connect to PostgreSQL at {where}/{url.database or ''}: {reason}"
            ) from error
        return connection

    def _new_bulk(self) -> Bulk:
        from ticdc_consumer.targets.postgresql.bulk import PostgreSqlBulk

        return PostgreSqlBulk(self.connection, self.query, self._replica_allowed)

    def run_ddl(self, statement: str) -> None:
        """Runs a DDL. A foreign key that rows violate, as an upstream without foreign_key_checks
        allows, is NOT VALID, or left out if PostgreSQL refuses that. The log says which."""
        if not statement.endswith(WAITS):
            return super().run_ddl(statement)
        try:
            with self._block():
                self.execute(statement).close()
        except sa.exc.DBAPIError as error:
            if not errors.is_without_parent(error):
                raise
            self._run_unchecked(statement, error)

    def _run_unchecked(self, statement: str, violation: Exception) -> None:
        try:
            with self._block():
                self.execute(f"{statement} NOT VALID").close()
        except sa.exc.DBAPIError as error:
            if not errors.takes_no_unchecked_key(error):
                raise
            outcome = "left out"
        else:
            outcome = "NOT VALID"
        key = errors.violated_key(violation)
        logger.warning("%s is %s: rows of the upstream violate it", key, outcome)

    def _block(self) -> AbstractContextManager[object]:
        """A transaction, or a part of one that can fail separately."""
        driver = self.connection.connection.dbapi_connection
        return cast("psycopg.Connection[Any]", driver).transaction()

    def put(self, table: sa.Table, rows: Sequence[tuple[object, ...]]) -> None:
        into, replacing = self.put_words(table)
        # One parameter per column: the driver checks the type of each.
        types = [column.type.compile(self.engine.dialect) for column in table.columns]
        arrays = ", ".join(f"%s::{type_}[]" for type_ in types)
        columns = tuple([list(column) for column in zip(*rows, strict=True)])
        statement = f"{into} SELECT * FROM unnest({arrays}) {replacing}"  # noqa: S608
        self.execute(statement, columns).close()

    def translate(self, error: Exception, layout: Layout | None = None) -> Exception:
        return errors.translate(error, layout, self._user)

    def lost(self, error: Exception) -> bool:
        return errors.lost(error)

    def session_id(self) -> str:
        """Adds the start time: the process id alone may be another session's by then."""
        with self.errors():
            started = self.execute(
                "SELECT pid || '@' || extract(epoch FROM backend_start) FROM pg_stat_activity "
                "WHERE pid = pg_backend_pid()"
            ).scalar()
        return str(started)

    def end_session(self, session_id: str) -> None:
        pid, _, started = session_id.partition("@")

        def has_ended() -> bool:
            if not self._exists(pid, started):
                return True
            self.execute("SELECT pg_terminate_backend(%s::int)", (pid,))
            return False

        with self.errors():
            if not until(has_ended, GONE_WITHIN, pause=0.02):
                raise Unavailable(f"PostgreSQL's session {pid} does not end")

    def has_session(self, session_id: str) -> bool:
        pid, _, started = session_id.partition("@")
        with self.errors():
            return self._exists(pid, started)

    def leaseholder(self, changefeed: str, sessions: Sequence[str]) -> str:
        return super().leaseholder(changefeed, sessions) or self.waiting(changefeed)

    def waiting(self, changefeed: str) -> str:
        with self.errors():
            rows = self.query(waits.WAITING, session_name(changefeed))
        return str(rows[0][0]) if rows else ""

    def _exists(self, pid: str, started: str) -> bool:
        # Inside a transaction the view would stay as it was first seen.
        self.execute("SELECT pg_stat_clear_snapshot()")
        rows = self.query(
            "SELECT extract(epoch FROM backend_start)::text FROM pg_stat_activity "
            "WHERE pid = %s::int",
            pid,
        )
        if rows and rows[0][0] is None:
            raise Denied(
                f"a privilege is missing, to see whose session {pid} is; "
                f"run GRANT pg_read_all_stats TO {quote_name(self._user)}, then start again"
            )
        return bool(rows) and rows[0][0] == started

    def overtake(
        self, changefeed: str, patience: float, owner: Callable[[], str], work: Callable[[], T]
    ) -> T:
        return past_the_row_lock(self, changefeed, patience, owner, work)

    def one_at_a_time(self) -> None:
        self.execute("SELECT pg_advisory_xact_lock(hashtext('ticdc_checkpoint'))")

    def idle_holder(self, seconds: float) -> str:
        return str(self.execute(IDLE_HOLDER, (f"{seconds} seconds",)).scalar() or "")

    def blockers(self, session_id: str) -> list[Blocker]:
        with self.errors():
            return list(waits.blockers(self.query, session_id))

    def read_only(self) -> str:
        with self.errors():
            return waits.read_only(self.query)

    def burdens(self, session_id: str, open_for: float, behind: int) -> list[str]:
        with self.errors():
            return list(waits.burdens(self.query, session_id, open_for, behind))

    def may_create_tables(self) -> bool | None:
        query = "SELECT has_schema_privilege(current_schema(), 'CREATE')"
        return bool(self.execute(query).scalar())

    def grant_to_create(self) -> str:
        schema = self.execute("SELECT current_schema()").scalar()
        if schema is None:  # no schema of the search path exists
            return ""
        return f"GRANT USAGE, CREATE ON SCHEMA {quote_name(schema)} TO {quote_name(self._user)}"

    def require_lasting(self, tables: Sequence[TargetName]) -> None:
        with self.errors():
            catalog.require_lasting(self.query, tables)

    # The catalog.

    def locate(self, schema: str, table: str) -> tuple[str | None, str]:
        return schema, table

    def quote(self, schema: str | None, table: str) -> str:
        name = quote_name(table)
        return name if schema is None else f"{quote_name(schema)}.{name}"

    def describe(self, schema: str | None, table: str) -> TargetTable | None:
        if self._bulk is not None:
            self._bulk.forget(self.quote(schema, table))
        with self.errors():
            return catalog.describe(self.query, schema, table, self._replica_allowed)

    def tables_of(self, schema: str | None) -> list[str]:
        with self.errors():
            return catalog.tables_of(self.query, schema)

    def references(self, schema: str | None, table: str) -> tuple[Reference, ...]:
        with self.errors():
            return catalog.references(self.query, schema, table)

    def type_rules(self, rules: frozenset[str]) -> TypeRules:
        def codec(type_: ColumnType, existing: TargetColumn, in_key: bool) -> str:
            return types.codec(type_, existing, in_key, rules, self._encoding)

        return TypeRules(self.dialect, quote_name, codec, types.merges, lambda _: '"C"')

    # Facts that DDL needs.

    def column_types(self, table: Table) -> dict[str, str]:
        columns = shape(table, WORDS).columns
        return {
            name: column.type.partition(" COLLATE ")[0].lower() for name, column in columns.items()
        }

    def temporary_schema(self, schema: str | None) -> str | None:
        return "pg_temp"

    def comparable_text(self, name: str) -> str:
        return f"rtrim({name}, ' ') COLLATE \"C\""

    def sorts_below_space(self, name: str) -> str | None:
        return f"{name} ~ '[\\x01-\\x1f]'"

    # DDL.

    def writer_of(self) -> WriterOf | None:
        return WORDS.writer_of

    def column_type(self, column: Column) -> str:
        return types.column_type(column)

    def create_schema(self, schema: str) -> list[str]:
        return [f"CREATE SCHEMA IF NOT EXISTS {quote_name(schema)}"]

    def create_table(
        self,
        schema: str | None,
        name: str,
        table: Table,
        references: Sequence[Reference] = (),
    ) -> list[str]:
        return [
            *create_table(self.quote(schema, name), name, table, WORDS),
            *(add_reference(self, schema, name, each) for each in references),
        ]

    def drop_table(self, schema: str | None, name: str) -> list[str]:
        """Drops foreign keys to the table first, as in TiDB without foreign_key_checks."""
        with self.errors():
            referring = catalog.referring(self.query, schema, name)
        return [
            *(
                f"ALTER TABLE IF EXISTS {self.quote(*child)} "
                f"DROP CONSTRAINT IF EXISTS {quote_name(key)}"
                for *child, key in referring
            ),
            f"DROP TABLE IF EXISTS {self.quote(schema, name)}",
        ]

    def drop_references(self, schema: str | None, name: str) -> list[str]:
        relation = self.quote(schema, name)
        return [
            f"ALTER TABLE {relation} DROP CONSTRAINT {quote_name(each.name)}"
            for each in self.references(schema, name)
        ]

    def truncate_table(self, schema: str | None, name: str) -> list[str]:
        with self.errors():
            referring = catalog.referring(self.query, schema, name)
        # PostgreSQL truncates no table that others refer to.
        kind = "DELETE FROM" if referring else "TRUNCATE TABLE"
        return [f"{kind} {self.quote(schema, name)}"]

    def alter_table(
        self,
        schema: str | None,
        name: str,
        evolved: Evolved,
        references: ReferenceChanges,
    ) -> Alteration:
        work = alter.PostgreSqlAlteration(self, schema, name, evolved, references)
        return work.alteration()

    def copy_structure(self, table: TargetName, copy: TargetName, key: Sequence[str]) -> list[str]:
        return beside.copy_structure(self, table, copy)

    def hindrances(self, table: TargetName) -> list[str]:
        return beside.hindrances(self, table)

    def replace_tables(self, moves: Sequence[tuple[TargetName, TargetName]]) -> list[str]:
        return beside.replace_tables(self, moves)

    def rename_table(self, old: TargetName, new: TargetName, definition: Table | None) -> list[str]:
        return alter.rename_table(self, old, new, definition)


def _may_be_replica(connection: sa.Connection) -> bool:
    """Returns whether this user may switch off triggers and foreign keys for a session."""
    try:
        connection.exec_driver_sql("SET session_replication_role = replica")
    except sa.exc.DBAPIError:
        return False
    connection.exec_driver_sql("SET session_replication_role = origin")
    return True
