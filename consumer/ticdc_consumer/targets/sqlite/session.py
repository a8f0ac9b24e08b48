"""One connection to a SQLite file."""

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from operator import length_hint
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, cast

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.errors import Retry, Stop, Unavailable, Unsupported, Usage
from ticdc_consumer.targets.column_mapping import SKIP, fit
from ticdc_consumer.targets.layout import (
    Layout,
    Reference,
    ReferenceChanges,
    TargetColumn,
    TargetName,
    TargetTable,
    UniqueKey,
)
from ticdc_consumer.targets.schema.alter import Alteration
from ticdc_consumer.targets.schema.create import create_table, shape
from ticdc_consumer.targets.sqlite import alter, types
from ticdc_consumer.targets.sqlite.create import WORDS, reference_text
from ticdc_consumer.targets.sqlite.fence import after_the_file_lock
from ticdc_consumer.targets.sqlite.quoting import quote_name
from ticdc_consumer.targets.target import Target

T = TypeVar("T")

BUSY_TIMEOUT = 5.0
"""Seconds that a statement waits for the lock of another process."""
ROWS_AT_ONCE = 20_000
"""Rows that are Python objects at one time."""

_PASSING = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_FILE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_NOMEM,
}


def open_session(url: sa.URL, to_look: bool = False) -> "SQLite":
    """A session of the file. With `to_look`, a file that does not exist is not created, but read
    as the empty one that it will be. Raises `Usage` if the URL names no file, and `Unavailable`."""
    if url.database in (None, "", ":memory:"):
        raise Usage("[target] url names no file; write it like sqlite:////data/shop.db")
    return SQLite.open(_empty(url) if to_look else url)


def _empty(url: sa.URL) -> sa.URL:
    """SQLite's own memory instead of a file that does not exist. Raises `Unavailable` if it could
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
    unsigned_bigint_is_text: ClassVar[bool] = True
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
            connection = self.engine.connect()
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
            self._write_ahead(connection)
        except sa.exc.DBAPIError as error:
            translated = self.translate(error)
            if isinstance(translated, Retry):
                translated = Unavailable(str(translated))
            raise translated from error
        return connection.execution_options(no_parameters=True)

    def _write_ahead(self, connection: sa.Connection) -> None:
        """SQLite itself does not wait where several switch a new file at once."""
        deadline = time.monotonic() + BUSY_TIMEOUT
        while True:
            try:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                return
            except sa.exc.DBAPIError as error:
                busy = isinstance(self.translate(error), Retry)
                if not busy or time.monotonic() >= deadline:
                    raise
            time.sleep(0.01)

    def _rollback(self) -> None:
        # Some errors, a full disk among them, have ended the transaction already.
        if self._driver().in_transaction:
            super()._rollback()

    def translate(self, error: Exception, layout: Layout | None = None) -> Exception:
        if isinstance(error, sa.exc.DBAPIError) and isinstance(error.orig, Exception):
            error = error.orig
        place = f"{layout.name}: " if layout else ""
        if isinstance(error, OverflowError):
            return Stop(f"{place}an integer beyond SQLite's 64 bits")
        if not isinstance(error, sqlite3.Error):
            return error
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        file = self.engine.url.database
        if code & 0xFF in _PASSING:
            return Retry(f"another process holds the write lock of {file}")
        if code & 0xFF in _FILE:
            return Unavailable(f"{file}: {error}")
        # What SQLite says names tables and columns, never a value.
        return Stop(f"{place}SQLite refused: {error}")

    def lost(self, error: Exception) -> bool:
        """Never: there is no server to lose."""
        return False

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

    # What is there.

    def locate(self, schema: str, table: str) -> tuple[str | None, str]:
        return None, table

    def quote(self, schema: str | None, table: str) -> str:
        if table.lower().startswith("sqlite_"):
            raise Unsupported(f"the table name {table!r} is reserved by SQLite")
        name = quote_name(table)
        return name if schema is None else f"{quote_name(schema)}.{name}"

    def describe(self, schema: str | None, table: str) -> TargetTable | None:
        with self.errors():
            columns = self._rows("SELECT * FROM pragma_table_xinfo(?)", table)
            kind = self._rows(
                "SELECT type FROM sqlite_master WHERE name = ? COLLATE NOCASE "
                "AND type IN ('table', 'view')",
                table,
            )
            if not columns or not kind:
                return None
            if kind[0][0] == "view":
                raise Stop(f"{table} is a view")
            keys, collations = self._unique_keys(table, columns)
            triggers = self._rows(
                "SELECT name FROM sqlite_master WHERE type = 'trigger' "
                "AND tbl_name = ? COLLATE NOCASE ORDER BY name",
                table,
            )
        return TargetTable(
            schema=schema,
            name=table,
            columns=tuple(
                TargetColumn(
                    name=name,
                    type=type_.lower(),
                    # What SQLite lets into a primary key as NULL, no upstream has.
                    nullable=not (not_null or in_key),
                    has_default=default is not None,
                    generated=hidden in (2, 3),
                    collation=collations.get(name),
                )
                for _, name, type_, not_null, default, in_key, hidden in columns
                if hidden != 1
            ),
            unique_keys=keys,
            triggers=tuple(name for (name,) in triggers),
        )

    def _unique_keys(
        self, table: str, columns: Sequence[Sequence[Any]]
    ) -> tuple[tuple[UniqueKey, ...], dict[str, str]]:
        """The unique keys, and the coarsest collation that any of them gives a column."""
        keys, collations = [], dict[str, str]()
        for _, index, unique, origin, partial in self._rows(
            "SELECT * FROM pragma_index_list(?)", table
        ):
            if not unique:
                continue
            parts = [
                (name, collation)
                for _, _, name, _, collation, in_key in self._rows(
                    "SELECT * FROM pragma_index_xinfo(?)", index
                )
                if in_key
            ]
            for name, collation in parts:
                if name is not None and collations.get(name, "BINARY") == "BINARY":
                    collations[name] = collation
            names = tuple(name for name, _ in parts if name is not None)
            plain = len(names) == len(parts) and not partial
            keys.append(UniqueKey(index, names, origin == "pk", plain))
        numbered = sorted((column[5], column[1]) for column in columns if column[5])
        if numbered and not any(key.primary for key in keys):
            # The rowid, which has no index of its own.
            keys.append(UniqueKey("PRIMARY KEY", tuple(name for _, name in numbered), True))
        return tuple(keys), collations

    def _rows(self, statement: str, *parameters: str) -> list[Any]:
        return [tuple(row) for row in self.execute(statement, parameters).all()]

    def references(self, schema: str | None, table: str) -> tuple[Reference, ...]:
        keys: dict[tuple[int, str], list[tuple[str, str]]] = {}
        with self.errors():
            for number, _, parent, column, to, *_ in self._rows(
                "SELECT * FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq", table
            ):
                keys.setdefault((number, parent), []).append((column, to or ""))
        return tuple(
            Reference(
                "", tuple(c for c, _ in pairs), None, parent, tuple(to for _, to in pairs if to)
            )
            for (_, parent), pairs in keys.items()
        )

    def has_rows(self, schema: str | None, table: str) -> bool:
        statement = f"SELECT EXISTS (SELECT 1 FROM {self.quote(schema, table)})"  # noqa: S608
        with self.errors():
            return bool(self.execute(statement).scalar())

    def layout(
        self,
        source: Table,
        key: Sequence[str],
        target: TargetTable,
        definition: Table | None,
        rules: frozenset[str],
        keys_only: bool = False,
    ) -> Layout:
        return fit(
            dialect=self.dialect,
            relation=self.quote(target.schema, target.name),
            quote=quote_name,
            codec=types.codec,
            merges=types.merges,
            source=source,
            key=key,
            target=target,
            definition=definition,
            keys_only=keys_only,
        )

    # What is done to it.

    def delete(self, layout: Layout, keys: pa.BinaryArray) -> int:
        positions = layout.key_positions()
        condition = " AND ".join(_equals(layout, position) for position in positions)
        statement = f"DELETE FROM {layout.relation} WHERE {condition}"  # noqa: S608
        deleted = 0
        with self.errors(layout):
            for batch in _batches(keys, [layout.codecs[position] for position in positions]):
                deleted += self._driver().executemany(statement, batch).rowcount
        return deleted

    def existing(self, layout: Layout, keys: pa.BinaryArray) -> int:
        positions = layout.key_positions()
        condition = " AND ".join(_equals(layout, position) for position in positions)
        statement = f"SELECT count(*) FROM {layout.relation} WHERE {condition}"  # noqa: S608
        found = 0
        with self.errors(layout):
            for batch in _batches(keys, [layout.codecs[position] for position in positions]):
                found += sum(self._driver().execute(statement, row).fetchone()[0] for row in batch)
        return found

    def shown_deletes(self, layout: Layout, keys: pa.BinaryArray) -> list[str]:
        positions = layout.key_positions()
        condition = " AND ".join(_equals(layout, position) for position in positions)
        statement = f"DELETE FROM {layout.relation} WHERE {condition}"  # noqa: S608
        return _shown(statement, _batches(keys, [layout.codecs[p] for p in positions]))

    def shown_inserts(
        self, layout: Layout, rows: pa.BinaryArray, on_drift: Literal["stop", "overwrite"]
    ) -> list[str]:
        taken = [i for i, codec in enumerate(layout.codecs) if codec != SKIP]
        batches = _batches(rows, [layout.codecs[position] for position in taken])
        return _shown(_insert(layout, taken), batches)

    def delete_rows(self, layout: Layout, rows: pa.BinaryArray) -> int:
        taken = [i for i, codec in enumerate(layout.codecs) if codec != SKIP]
        codecs = [layout.codecs[position] for position in taken]
        same = " AND ".join(f"{layout.columns[i]} IS ?{_collate(layout.codecs[i])}" for i in taken)
        rowid = _rowid(layout)
        statement = (
            f"DELETE FROM {layout.relation} WHERE {rowid} IN "  # noqa: S608
            f"(SELECT {rowid} FROM {layout.relation} WHERE {same} LIMIT ?)"
        )
        values, counts = pc.value_counts(rows).flatten()
        deleted = 0
        with self.errors(layout):
            wanted = iter(counts.to_pylist())
            for batch in _batches(values, codecs):
                limited = ([*row, next(wanted)] for row in batch)
                deleted += self._driver().executemany(statement, limited).rowcount
        return deleted

    def insert(
        self, layout: Layout, rows: pa.BinaryArray, on_drift: Literal["stop", "overwrite"]
    ) -> int:
        taken = [i for i, codec in enumerate(layout.codecs) if codec != SKIP]
        clashing = self._clashing(layout, taken) if on_drift == "overwrite" else []
        statement = _insert(layout, taken)
        if on_drift == "overwrite" and not layout.key:
            # Of a row that was sent twice, one is enough where a unique key wants it so.
            statement += " ON CONFLICT DO NOTHING"
        cleared = 0
        with self.errors(layout):
            for batch in _batches(rows, [layout.codecs[position] for position in taken]):
                for clear, places in clashing:
                    values = ([row[place] for place in places] for row in batch)
                    cleared += self._driver().executemany(clear, values).rowcount
                self._insert(layout, statement, batch, taken)
        return cleared

    def _insert(
        self, layout: Layout, statement: str, batch: list[list[Any]], taken: Sequence[int]
    ) -> None:
        rows = iter(batch)
        try:
            self._driver().executemany(statement, rows)
        except sqlite3.IntegrityError as error:
            row = batch[len(batch) - length_hint(rows) - 1]
            key = ", ".join(
                f"{layout.source[position].name}={row[taken.index(position)]!r}"
                for position in layout.key_positions()
            )
            where = f" (row with key {key})" if key else ""
            raise Stop(f"{layout.name}: {error}{where}") from error

    def _clashing(self, layout: Layout, taken: Sequence[int]) -> list[tuple[str, list[int]]]:
        """(DELETE, the places of its values in a row) for every unique key besides the fold key.

        Keys over expressions or a part of the rows are left to the INSERT, which stops there."""
        if layout.upsert:
            return []
        names = {layout.columns[position]: place for place, position in enumerate(taken)}
        fold = {layout.columns[position] for position in layout.key_positions()}
        table = layout.relation[1:-1].replace('""', '"')
        columns = self._rows("SELECT * FROM pragma_table_xinfo(?)", table)
        found = []
        for key in self._unique_keys(table, columns)[0]:
            quoted = [quote_name(name) for name in key.columns]
            folded = bool(fold) and fold <= set(quoted)
            if key.plain and not folded and set(quoted) <= names.keys():
                places = [names[name] for name in quoted]
                condition = " AND ".join(_equals(layout, taken[place]) for place in places)
                statement = f"DELETE FROM {layout.relation} WHERE {condition}"  # noqa: S608
                found.append((statement, places))
        return found

    def _driver(self) -> sqlite3.Connection:
        return cast("sqlite3.Connection", self.connection.connection.dbapi_connection)

    # What DDL needs to know.

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

    def column_type(self, column: Column) -> str:
        return types.column_type(column)

    def create_schema(self, schema: str) -> list[str]:
        """Nothing: one file has one schema."""
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
        commit_ts: int,
        references: ReferenceChanges,
    ) -> Alteration:
        return alter.alter_table(self, schema, name, evolved, commit_ts, references)

    def rename_table(self, old: TargetName, new: TargetName, definition: Table | None) -> list[str]:
        return alter.rename_table(self, old, new, definition)


def _rowid(layout: Layout) -> str:
    """What SQLite's own number of a row is called here: a column of that name would hide it."""
    columns = {column.lower() for column in layout.columns}
    for name in ("_rowid_", "rowid", "oid"):
        if quote_name(name) not in columns:
            return name
    raise Stop(f"{layout.name}: columns of its hide the row numbers that SQLite tells rows by")


def _equals(layout: Layout, position: int) -> str:
    """A column that was declared NOCASE compares so, whatever collation its unique key has."""
    codec = layout.codecs[position]
    return f"{layout.columns[position]} = ?{'' if codec == types.TEXT_NOCASE else _collate(codec)}"


def _collate(codec: str) -> str:
    return "" if codec in ("integer", "number", "blob") else " COLLATE BINARY"


def _insert(layout: Layout, taken: Sequence[int]) -> str:
    columns = [layout.columns[position] for position in taken]
    statement = (
        f"INSERT OR ABORT INTO {layout.relation} ({', '.join(columns)}) "  # noqa: S608
        f"VALUES ({', '.join('?' * len(columns))})"
    )
    if not layout.upsert:
        return statement
    keys = [layout.columns[position] for position in layout.key_positions()]
    sets = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in keys)
    action = f"DO UPDATE SET {sets}" if sets else "DO NOTHING"
    return f"{statement} ON CONFLICT ({', '.join(keys)}) {action}"


def _shown(statement: str, batches: Iterator[list[list[Any]]]) -> list[str]:
    """The statement for each row, with its values in it."""
    pieces = _PARAMETER.split(statement)
    return [
        "".join(
            piece + (_shown_value(row[number]) if number < len(row) else "")
            for number, piece in enumerate(pieces)
        )
        for batch in batches
        for row in batch
    ]


_PARAMETER = re.compile(r"""\?(?=(?:[^"]*"[^"]*")*[^"]*$)""")
"""Outside of quoted names."""


def _shown_value(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"X'{value.hex()}'"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case _:
            return str(value)


def _batches(payloads: pa.BinaryArray, codecs: Sequence[str]) -> Iterator[list[list[Any]]]:
    """The payloads as rows to bind."""
    binary = [place for place, codec in enumerate(codecs) if codec == "blob"]
    for start in range(0, len(payloads), ROWS_AT_ONCE):
        part = payloads.slice(start, ROWS_AT_ONCE)
        whole = pa.ListArray.from_arrays(pa.array([0, len(part)], pa.int32()), part)
        joined = pc.binary_join(whole, b",")[0].as_buffer()
        rows: list[list[Any]] = orjson.loads(b"[" + memoryview(joined) + b"]")
        for place in binary:
            for row in rows:
                if row[place] is not None:
                    row[place] = bytes.fromhex(row[place])
        yield rows
