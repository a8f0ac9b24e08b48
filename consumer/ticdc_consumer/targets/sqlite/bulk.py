"""Payloads of `encode` -> rows to bind, and their statements."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from operator import length_hint
from typing import Any, cast

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from ticdc_consumer.errors import ALTER_IT, KeyTaken, Stop, taken_text
from ticdc_consumer.targets.bulk import Bulk, OnDrift
from ticdc_consumer.targets.column_mapping import SKIP
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.sqlite import catalog, types
from ticdc_consumer.targets.sqlite.errors import taken_key
from ticdc_consumer.targets.sqlite.quoting import quote_name
from ticdc_consumer.targets.target import Query

ROWS_AT_ONCE = 20_000
"""The number of rows that are Python objects at one time."""


class SqliteBulk(Bulk):
    def __init__(self, connection: sa.Connection, query: Query) -> None:
        self._connection, self._query = connection, query

    def delete(self, layout: Layout, keys: pa.BinaryArray) -> int:
        positions = layout.key_positions()
        condition = " AND ".join(_equals(layout, position) for position in positions)
        statement = f"DELETE FROM {layout.relation} WHERE {condition}"  # noqa: S608
        deleted = 0
        for batch in _batches(keys, [layout.codecs[position] for position in positions]):
            deleted += self._driver().executemany(statement, batch).rowcount
        return deleted

    def existing(self, layout: Layout, keys: pa.BinaryArray) -> int:
        positions = layout.key_positions()
        condition = " AND ".join(_equals(layout, position) for position in positions)
        statement = f"SELECT count(*) FROM {layout.relation} WHERE {condition}"  # noqa: S608
        count = 0
        for batch in _batches(keys, [layout.codecs[position] for position in positions]):
            count += sum(self._driver().execute(statement, row).fetchone()[0] for row in batch)
        return count

    def shown_deletes(self, layout: Layout, keys: pa.BinaryArray) -> list[str]:
        positions = layout.key_positions()
        condition = " AND ".join(_equals(layout, position) for position in positions)
        statement = f"DELETE FROM {layout.relation} WHERE {condition}"  # noqa: S608
        return _with_values(statement, _batches(keys, [layout.codecs[p] for p in positions]))

    def shown_inserts(self, layout: Layout, rows: pa.BinaryArray, on_drift: OnDrift) -> list[str]:
        written = [i for i, codec in enumerate(layout.codecs) if codec != SKIP]
        batches = _batches(rows, [layout.codecs[position] for position in written])
        return _with_values(_insert(layout, written), batches)

    def delete_rows(self, layout: Layout, rows: pa.BinaryArray) -> int:
        written = [i for i, codec in enumerate(layout.codecs) if codec != SKIP]
        codecs = [layout.codecs[position] for position in written]
        same = " AND ".join(
            f"{layout.columns[i]} IS ?{_collate(layout.codecs[i])}" for i in written
        )
        rowid = _rowid(layout)
        statement = (
            f"DELETE FROM {layout.relation} WHERE {rowid} IN "  # noqa: S608
            f"(SELECT {rowid} FROM {layout.relation} WHERE {same} LIMIT ?)"
        )
        values, counts = pc.value_counts(rows).flatten()
        deleted = 0
        limits = iter(counts.to_pylist())
        for batch in _batches(values, codecs):
            limited = ([*row, next(limits)] for row in batch)
            deleted += self._driver().executemany(statement, limited).rowcount
        return deleted

    def insert(self, layout: Layout, rows: pa.BinaryArray, on_drift: OnDrift) -> int:
        written = [i for i, codec in enumerate(layout.codecs) if codec != SKIP]
        clashing = self._clashing(layout, written) if on_drift == "overwrite" else []
        statement = _insert(layout, written)
        if on_drift == "overwrite" and not layout.key:
            # A row that was sent twice is inserted once if a unique key demands it.
            statement += " ON CONFLICT DO NOTHING"
        cleared = 0
        for batch in _batches(rows, [layout.codecs[position] for position in written]):
            for clear, indexes in clashing:
                values = ([row[index] for index in indexes] for row in batch)
                cleared += self._driver().executemany(clear, values).rowcount
            self._insert(layout, statement, batch, written)
        return cleared

    def _insert(
        self, layout: Layout, statement: str, batch: list[list[Any]], written: Sequence[int]
    ) -> None:
        rows = iter(batch)
        try:
            self._driver().executemany(statement, rows)
        except sqlite3.IntegrityError as error:
            row = batch[len(batch) - length_hint(rows) - 1]
            key = ", ".join(
                f"{layout.source[position].name}={row[written.index(position)]!r}"
                for position in layout.key_positions()
            )
            where = f" (row with key {key})" if key else ""
            if clashing := taken_key(error):
                text = taken_text(clashing, is_new=False)
                raise KeyTaken(f"{layout.name}: {text}{where}") from error
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            way = f"; {ALTER_IT}" if code == sqlite3.SQLITE_CONSTRAINT_NOTNULL else ""
            raise Stop(f"{layout.name}: {error}{where}{way}") from error

    def _clashing(self, layout: Layout, written: Sequence[int]) -> list[tuple[str, list[int]]]:
        """(DELETE, the indexes of its values in a row) for every unique key besides the fold key.
        Keys over expressions or a part of the rows are left to the INSERT, which stops there."""
        if layout.upsert:
            return []
        names = {layout.columns[position]: index for index, position in enumerate(written)}
        fold = {layout.columns[position] for position in layout.key_positions()}
        table = layout.relation[1:-1].replace('""', '"')
        clashing = []
        for key in catalog.unique_keys(self._query, table):
            quoted = [quote_name(name) for name in key.columns]
            folded = bool(fold) and fold <= set(quoted)
            if key.plain and not folded and set(quoted) <= names.keys():
                indexes = [names[name] for name in quoted]
                condition = " AND ".join(_equals(layout, written[index]) for index in indexes)
                statement = f"DELETE FROM {layout.relation} WHERE {condition}"  # noqa: S608
                clashing.append((statement, indexes))
        return clashing

    def _driver(self) -> sqlite3.Connection:
        return cast("sqlite3.Connection", self._connection.connection.dbapi_connection)


def _rowid(layout: Layout) -> str:
    """The name of SQLite's own row number that no column hides."""
    columns = {column.lower() for column in layout.columns}
    for name in ("_rowid_", "rowid", "oid"):
        if quote_name(name) not in columns:
            return name
    raise Stop(
        f"{layout.name}: its columns hide the row numbers by which SQLite distinguishes equal rows"
    )


def _equals(layout: Layout, position: int) -> str:
    """Compares a column; one declared NOCASE compares so, whatever collation its unique key has."""
    codec = layout.codecs[position]
    return f"{layout.columns[position]} = ?{'' if codec == types.TEXT_NOCASE else _collate(codec)}"


def _collate(codec: str) -> str:
    return "" if codec in ("integer", "number", "blob") else " COLLATE BINARY"


def _insert(layout: Layout, written: Sequence[int]) -> str:
    columns = [layout.columns[position] for position in written]
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


def _with_values(statement: str, batches: Iterator[list[list[Any]]]) -> list[str]:
    """The statement for each row, with its values in it."""
    pieces = _PARAMETER.split(statement)
    return [
        "".join(
            piece + (_literal(row[number]) if number < len(row) else "")
            for number, piece in enumerate(pieces)
        )
        for batch in batches
        for row in batch
    ]


_PARAMETER = re.compile(r"""\?(?=(?:[^"]*"[^"]*")*[^"]*$)""")
"""Parameters outside of quoted names."""


def _literal(value: Any) -> str:
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
    binary = [index for index, codec in enumerate(codecs) if codec == "blob"]
    for start in range(0, len(payloads), ROWS_AT_ONCE):
        part = payloads.slice(start, ROWS_AT_ONCE)
        whole = pa.ListArray.from_arrays(pa.array([0, len(part)], pa.int32()), part)
        joined = pc.binary_join(whole, b",")[0].as_buffer()
        rows: list[list[Any]] = orjson.loads(b"[" + memoryview(joined) + b"]")
        for index in binary:
            for row in rows:
                if row[index] is not None:
                    row[index] = bytes.fromhex(row[index])
        yield rows
