"""One session of PostgreSQL."""

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, TypeVar, cast

import psycopg
import pyarrow as pa
import sqlalchemy as sa
from ticdc_encoder.column import INTEGERS, Column, ColumnType
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.errors import Unavailable
from ticdc_consumer.targets import kernels
from ticdc_consumer.targets.column_mapping import SKIP, fit
from ticdc_consumer.targets.layout import (
    Layout,
    Reference,
    ReferenceChanges,
    TargetColumn,
    TargetName,
    TargetTable,
)
from ticdc_consumer.targets.postgresql import alter, catalog, errors, types
from ticdc_consumer.targets.postgresql.create import WORDS, add_reference
from ticdc_consumer.targets.postgresql.fence import past_the_row_lock
from ticdc_consumer.targets.postgresql.quoting import quote_name
from ticdc_consumer.targets.schema.alter import Alteration
from ticdc_consumer.targets.schema.create import create_table, shape
from ticdc_consumer.targets.target import Target

T = TypeVar("T")

LOCK_TIMEOUT = "10s"
ROWS_AT_ONCE = 100_000
COPY_BYTES = 1 << 20
FEW_ROWS = 20
"""Up to so many, one statement with parameters costs less than a temporary table."""
GONE_WITHIN = 30.0

_SESSION = f"""
SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres';
SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET row_security = off;
SET lock_timeout = '{LOCK_TIMEOUT}'; SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 0
"""


def open_session(url: sa.URL, to_look: bool = False) -> "PostgreSQL":
    """Raises `Unavailable`."""
    return PostgreSQL.open(url)


class PostgreSQL(Target):
    dialect: ClassVar[str] = "postgresql"
    sqlglot_dialect: ClassVar[str] = "postgres"
    transactional_ddl: ClassVar[bool] = True
    has_zero_dates: ClassVar[bool] = False
    timestamp_zone: ClassVar[str] = "+00"
    # No table is altered whose deferred checks are still to come.
    before_ddl: ClassVar[str] = "SET CONSTRAINTS ALL IMMEDIATE"
    begin_statement: ClassVar[str] = (
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET CONSTRAINTS ALL DEFERRED"
    )

    def __init__(self, engine: sa.Engine) -> None:
        self._replica_allowed = False
        self._replicas: dict[str, bool] = {}
        super().__init__(engine)

    @classmethod
    def open(cls, url: sa.URL) -> "PostgreSQL":
        engine = sa.create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="AUTOCOMMIT",
            poolclass=sa.NullPool,
            hide_parameters=True,
            # A statement prepared before a DDL would keep the types from before it.
            connect_args={"connect_timeout": 10, "prepare_threshold": None},
        )
        return cls(engine)

    def _connect(self) -> sa.Connection:
        url = self.engine.url
        try:
            # Without it a % in a name would be a placeholder, and several statements no one.
            connection = self.engine.connect().execution_options(no_parameters=True)
            connection.exec_driver_sql(_SESSION)
        except sa.exc.DBAPIError as error:
            reason = str(error.orig).splitlines()[0]
            raise Unavailable(
                "cannot connect to PostgreSQL at "
                f"{url.host}:{url.port or 5432}/{url.database or ''}: "
                f"{reason}"
            ) from error
        self._replica_allowed = _may_be_replica(connection)
        return connection

    def translate(self, error: Exception, layout: Layout | None = None) -> Exception:
        if isinstance(error, sa.exc.DBAPIError) and isinstance(error.orig, Exception):
            error = error.orig
        if not isinstance(error, psycopg.Error):
            return error
        return errors.translate(error, layout.name if layout else None)

    def lost(self, error: Exception) -> bool:
        if isinstance(error, sa.exc.DBAPIError) and isinstance(error.orig, Exception):
            error = error.orig
        return isinstance(error, psycopg.Error) and errors.lost(error)

    def session_id(self) -> str:
        """The process id alone may be another session's by then."""
        with self.errors():
            started = self.execute(
                "SELECT pid || '@' || extract(epoch FROM backend_start) FROM pg_stat_activity "
                "WHERE pid = pg_backend_pid()"
            ).scalar()
        return str(started)

    def end_session(self, session_id: str) -> None:
        pid, _, started = session_id.partition("@")
        deadline = time.monotonic() + GONE_WITHIN
        with self.errors():
            while self._is_there(pid, started):
                self.execute("SELECT pg_terminate_backend(%s::int)", (pid,))
                if time.monotonic() > deadline:
                    raise Unavailable(f"PostgreSQL's session {pid} does not end")
                time.sleep(0.02)

    def _is_there(self, pid: str, started: str) -> bool:
        # Inside a transaction the view would stay as it was first seen.
        self.execute("SELECT pg_stat_clear_snapshot()")
        found = self._rows(
            "SELECT extract(epoch FROM backend_start)::text FROM pg_stat_activity "
            "WHERE pid = %s::int",
            pid,
        )
        if found and found[0][0] is None:
            raise Unavailable(
                f"a privilege is missing: pg_read_all_stats, to see whose session {pid} is"
            )
        return bool(found) and found[0][0] == started

    def overtake(
        self, changefeed: str, patience: float, owner: Callable[[], str], work: Callable[[], T]
    ) -> T:
        return past_the_row_lock(self, changefeed, patience, owner, work)

    def one_at_a_time(self) -> None:
        self.execute("SELECT pg_advisory_xact_lock(hashtext('ticdc_checkpoint'))")

    def may_create_tables(self) -> bool | None:
        query = "SELECT has_schema_privilege(current_schema(), 'CREATE')"
        return bool(self.execute(query).scalar())

    # What is there.

    def locate(self, schema: str, table: str) -> tuple[str | None, str]:
        return schema, table

    def quote(self, schema: str | None, table: str) -> str:
        name = quote_name(table)
        return name if schema is None else f"{quote_name(schema)}.{name}"

    def describe(self, schema: str | None, table: str) -> TargetTable | None:
        self._replicas.pop(self.quote(schema, table), None)
        with self.errors():
            return catalog.describe(self._rows, schema, table, self._replica_allowed)

    def references(self, schema: str | None, table: str) -> tuple[Reference, ...]:
        with self.errors():
            return catalog.references(self._rows, schema, table)

    def has_rows(self, schema: str | None, table: str) -> bool:
        statement = f"SELECT EXISTS (SELECT 1 FROM {self.quote(schema, table)})"  # noqa: S608
        with self.errors():
            return bool(self.execute(statement).scalar())

    def _rows(self, statement: str, *parameters: Any) -> list[Any]:
        return [tuple(row) for row in self.execute(statement, parameters).all()]

    def layout(
        self,
        source: Table,
        key: Sequence[str],
        target: TargetTable,
        definition: Table | None,
        rules: frozenset[str],
        keys_only: bool = False,
    ) -> Layout:
        def codec(type_: ColumnType, there: TargetColumn, in_key: bool) -> str:
            return types.codec(type_, there, in_key, rules)

        return fit(
            dialect=self.dialect,
            relation=self.quote(target.schema, target.name),
            quote=quote_name,
            codec=codec,
            merges=types.merges,
            source=source,
            key=key,
            target=target,
            definition=definition,
            keys_only=keys_only,
        )

    # What is done to it.

    def delete(self, layout: Layout, keys: pa.BinaryArray) -> int:
        columns = [layout.columns[position] for position in layout.key_positions()]
        deleted = 0
        with self.errors(layout), self._foreign_keys_off(layout):
            for part in _parts(keys):
                deleted += self._delete_part(layout, columns, part)
        return deleted

    def _delete_part(self, layout: Layout, columns: Sequence[str], keys: pa.BinaryArray) -> int:
        (first, *more) = layout.key_positions()
        if not more and layout.source[first].type.name in INTEGERS:
            condition = f"{_doubled(columns[0])} = ANY (%s)"
            digits = bytes(kernels.bytes_of(keys)[:-1]).replace(b"\n", b",")
            return self._run(
                _delete(_doubled(layout.relation), condition), ["{" + digits.decode() + "}"]
            )
        if len(keys) <= FEW_ROWS:
            each = " AND ".join(f"{_doubled(name)} = %s" for name in columns)
            condition = " OR ".join([f"({each})"] * len(keys))
            return self._run(_delete(_doubled(layout.relation), condition), _fields(keys))
        stage = self._stage(layout, columns, keys)
        same = " AND ".join(f"t.{name} = s.{name}" for name in columns)
        deleted = self._run(_delete(f"{layout.relation} t USING {stage} s", same))
        self._clear(stage)
        return deleted

    def existing(self, layout: Layout, keys: pa.BinaryArray) -> int:
        columns = [layout.columns[position] for position in layout.key_positions()]
        found = 0
        with self.errors(layout):
            for start in range(0, len(keys), FEW_ROWS):
                part = keys.slice(start, FEW_ROWS)
                each = " AND ".join(f"{_doubled(name)} = %s" for name in columns)
                condition = " OR ".join([f"({each})"] * len(part))
                statement = f"SELECT count(*) FROM {_doubled(layout.relation)} WHERE {condition}"  # noqa: S608
                cursor = self._driver().cursor().execute(statement.encode(), _fields(part))
                found += int((cursor.fetchone() or (0,))[0])
        return found

    def shown_deletes(self, layout: Layout, keys: pa.BinaryArray) -> list[str]:
        columns = [layout.columns[position] for position in layout.key_positions()]
        return [
            _delete(
                layout.relation,
                " AND ".join(
                    f"{name} = {_literal(value)}" for name, value in zip(columns, key, strict=True)
                ),
            )
            for key in _lines(keys)
        ]

    def shown_inserts(
        self, layout: Layout, rows: pa.BinaryArray, on_drift: Literal["stop", "overwrite"]
    ) -> list[str]:
        written = zip(layout.columns, layout.codecs, strict=True)
        columns = [name for name, codec in written if codec != SKIP]
        into, conflict = _upsert_words(layout, columns)
        if not layout.upsert:
            into, conflict = f"INSERT INTO {layout.relation} ({', '.join(columns)})", ""
        return [
            f"{into} VALUES ({', '.join(map(_literal, row))}) {conflict}".rstrip()
            for row in _lines(rows)
        ]

    def delete_rows(self, layout: Layout, rows: pa.BinaryArray) -> int:
        written = zip(layout.columns, layout.codecs, strict=True)
        columns = [name for name, codec in written if codec != SKIP]
        deleted = 0
        with self.errors(layout), self._foreign_keys_off(layout):
            for part in _parts(rows):
                stage = self._stage(layout, columns, part)
                equal = catalog.equal_rows(layout.relation, stage, columns)
                deleted += self._run(_delete(layout.relation, equal))
                self._clear(stage)
        return deleted

    def insert(
        self, layout: Layout, rows: pa.BinaryArray, on_drift: Literal["stop", "overwrite"]
    ) -> int:
        written = zip(layout.columns, layout.codecs, strict=True)
        columns = [name for name, codec in written if codec != SKIP]
        cleared = 0
        with self.errors(layout), self._foreign_keys_off(layout):
            for part in _parts(rows):
                if layout.upsert:
                    self._upsert(layout, columns, part)
                elif on_drift == "stop":
                    self._copy(layout.relation, columns, part)
                else:
                    cleared += self._overwrite(layout, columns, part)
        return cleared

    def _upsert(self, layout: Layout, columns: Sequence[str], rows: pa.BinaryArray) -> None:
        into, conflict = _upsert_words(layout, columns)
        if len(rows) <= FEW_ROWS:
            each = f"({', '.join(['%s'] * len(columns))})"
            values = ", ".join([each] * len(rows))
            statement = f"{_doubled(into)} VALUES {values} {_doubled(conflict)}"
            self._run(statement, _fields(rows))
            return
        stage = self._stage(layout, columns, rows)
        statement = f"{into} SELECT {', '.join(columns)} FROM {stage} {conflict}"  # noqa: S608
        self._run(statement)
        self._clear(stage)

    def _overwrite(self, layout: Layout, columns: Sequence[str], rows: pa.BinaryArray) -> int:
        """Deletes what holds a unique value of these rows, then inserts them."""
        stage = self._stage(layout, columns, rows)
        fold = {_bare(layout.columns[position]) for position in layout.key_positions()}
        written = {_bare(name) for name in columns}
        cleared = 0
        for condition in catalog.clashing(self._rows, layout.relation, fold, written):
            cleared += self._run(_delete(layout.relation, condition.replace("{stage}", stage)))
        names = ", ".join(columns)
        self._run(
            f"INSERT INTO {layout.relation} ({names}) OVERRIDING SYSTEM VALUE "  # noqa: S608
            f"SELECT {names} FROM {stage}"
            # Of a row that was sent twice, one is enough where a unique key wants it so.
            f"{'' if layout.key else ' ON CONFLICT DO NOTHING'}"
        )
        self._clear(stage)
        return cleared

    def _stage(self, layout: Layout, columns: Sequence[str], lines: pa.BinaryArray) -> str:
        """The lines in a temporary table whose columns have the types of the target's."""
        names = ", ".join(columns)
        digest = hashlib.sha256(f"{layout.relation} {names}".encode()).hexdigest()[:16]
        stage = f"pg_temp.ticdc_{digest}"
        self._run(
            f"CREATE TEMPORARY TABLE IF NOT EXISTS {stage} ON COMMIT DROP AS "  # noqa: S608
            f"SELECT {names} FROM {layout.relation} WITH NO DATA"
        )
        self._copy(stage, columns, lines)
        return stage

    def _clear(self, stage: str) -> None:
        self._run(f"TRUNCATE {stage}")

    def _copy(self, relation: str, columns: Sequence[str], lines: pa.BinaryArray) -> None:
        block = kernels.bytes_of(lines)
        statement = f"COPY {relation} ({', '.join(columns)}) FROM STDIN"
        with self._driver().cursor().copy(statement.encode()) as copy:
            for start in range(0, len(block), COPY_BYTES):
                copy.write(block[start : start + COPY_BYTES])

    def _run(self, statement: str, parameters: Sequence[str | None] | None = None) -> int:
        """The number of rows. Text parameters take the type that their place asks for."""
        return self._driver().cursor().execute(statement.encode(), parameters).rowcount

    def _driver(self) -> "psycopg.Connection[Any]":
        return cast("psycopg.Connection[Any]", self.connection.connection.dbapi_connection)

    @contextmanager
    def _foreign_keys_off(self, layout: Layout) -> Iterator[None]:
        """Where they cannot wait for the end of the transaction, and may be switched off."""
        if not self._replica_allowed or not self._replica(layout.relation):
            yield
            return
        self._run("SET LOCAL session_replication_role = replica")
        yield
        self._run("SET LOCAL session_replication_role = origin")

    def _replica(self, relation: str) -> bool:
        if relation not in self._replicas:
            self._replicas[relation] = catalog.strict_without_triggers(self._rows, relation)
        return self._replicas[relation]

    # What DDL needs to know.

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
        """Foreign keys to it go first, as in TiDB without foreign_key_checks."""
        with self.errors():
            referring = catalog.referring(self._rows, schema, name)
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
            referring = catalog.referring(self._rows, schema, name)
        # PostgreSQL truncates no table that others refer to.
        kind = "DELETE FROM" if referring else "TRUNCATE TABLE"
        return [f"{kind} {self.quote(schema, name)}"]

    def alter_table(
        self,
        schema: str | None,
        name: str,
        evolved: Evolved,
        commit_ts: int,
        references: ReferenceChanges,
    ) -> Alteration:
        return alter.alter_table(self, schema, name, evolved, commit_ts, references)

    def rename_table(self, old: TargetName, new: TargetName, definition: Table | None) -> list[str]:
        return alter.rename_table(self, old, new, definition)


def _bare(quoted: str) -> str:
    return quoted[1:-1].replace('""', '"')


def _doubled(sql: str) -> str:
    """In a statement with parameters, % begins a placeholder."""
    return sql.replace("%", "%%")


def _upsert_words(layout: Layout, columns: Sequence[str]) -> tuple[str, str]:
    """What stands before and after the rows."""
    keys = [layout.columns[position] for position in layout.key_positions()]
    sets = ", ".join(f"{name} = EXCLUDED.{name}" for name in columns if name not in keys)
    action = f"DO UPDATE SET {sets}" if sets else "DO NOTHING"
    into = f"INSERT INTO {layout.relation} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE"
    return into, f"ON CONFLICT ({', '.join(keys)}) {action}"


def _lines(payloads: pa.BinaryArray) -> Iterator[list[str | None]]:
    for number in range(len(payloads)):
        yield _fields(payloads.slice(number, 1))


def _literal(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


def _delete(from_: str, where: str) -> str:
    return f"DELETE FROM {from_} WHERE {where}"  # noqa: S608


_ESCAPED = re.compile(r"\\(.)")
_UNESCAPED = {"t": "\t", "n": "\n", "r": "\r"}


def _fields(lines: pa.BinaryArray) -> list[str | None]:
    """The fields of COPY lines, as parameters."""
    return [
        None if field == "\\N" else _ESCAPED.sub(lambda m: _UNESCAPED.get(m[1], m[1]), field)
        for line in lines.to_pylist()
        for field in line.decode()[:-1].split("\t")
    ]


def _parts(payloads: pa.BinaryArray) -> Iterator[pa.BinaryArray]:
    for start in range(0, len(payloads), ROWS_AT_ONCE):
        yield payloads.slice(start, ROWS_AT_ONCE)


def _may_be_replica(connection: sa.Connection) -> bool:
    """Whether this user may switch triggers and foreign keys off for a session."""
    try:
        connection.exec_driver_sql("SET session_replication_role = replica")
    except sa.exc.DBAPIError:
        return False
    connection.exec_driver_sql("SET session_replication_role = origin")
    return True
