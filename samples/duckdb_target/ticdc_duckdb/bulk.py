"""Payloads of `encode` -> Arrow tables of text that DuckDB reads in place, and casts.

An upsert is a DELETE and an INSERT: within a transaction DuckDB checks unique keys against the rows
that are left. Its ON CONFLICT DO UPDATE is not used: see the README.
"""

from collections.abc import Iterator, Sequence
from typing import cast

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.bulk import Bulk, OnDrift
from ticdc_consumer.targets.column_mapping import SKIP
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.schema.create import literal
from ticdc_consumer.targets.target import Query

from ticdc_duckdb import catalog
from ticdc_duckdb.dialect import Connection
from ticdc_duckdb.quoting import quote_name

STAGE = "temp.ticdc_stage"
"""The name under which DuckDB reads an Arrow table."""
_TEXT = ("varchar", "")
"""The types that need no cast; labels have none."""
ROWS_AT_ONCE = 50_000
"""Rows that are Python objects at one time."""


class DuckDbBulk(Bulk):
    def __init__(self, connection: sa.Connection, query: Query) -> None:
        self._connection, self._query = connection, query

    def delete(self, layout: Layout, keys: pa.BinaryArray) -> int:
        positions = layout.key_positions()
        condition = _equal(layout, positions, range(len(positions)))
        deleted = 0
        for columns in _batches(keys, len(positions)):
            deleted += self._run(_delete(layout, condition), columns)
        return deleted

    def existing(self, layout: Layout, keys: pa.BinaryArray) -> int:
        positions = layout.key_positions()
        condition = _equal(layout, positions, range(len(positions)))
        statement = f"SELECT count(*) FROM {layout.relation} AS t, {STAGE} AS s WHERE {condition}"  # noqa: S608
        return sum(self._run(statement, columns) for columns in _batches(keys, len(positions)))

    def shown_deletes(self, layout: Layout, keys: pa.BinaryArray) -> list[str]:
        return _shown_deletes(layout, layout.key_positions(), keys)

    def shown_inserts(self, layout: Layout, rows: pa.BinaryArray, on_drift: OnDrift) -> list[str]:
        written = _written(layout)
        names = ", ".join(layout.columns[position] for position in written)
        texts = []
        for row in map(orjson.loads, rows.to_pylist()):
            values = ", ".join(_value(layout, p, v) for p, v in zip(written, row, strict=True))
            if layout.upsert:
                key = [row[written.index(position)] for position in layout.key_positions()]
                texts += _shown_deletes(layout, layout.key_positions(), _payloads([key]))
            texts.append(f"INSERT INTO {layout.relation} ({names}) VALUES ({values})")  # noqa: S608
        return texts

    def delete_rows(self, layout: Layout, rows: pa.BinaryArray) -> int:
        if '"rowid"' in map(str.lower, layout.columns):
            raise Stop(
                f"{layout.name}: its column rowid hides the row numbers by which DuckDB "
                "distinguishes equal rows"
            )
        written = _written(layout)
        same = " AND ".join(
            f"t.{layout.columns[position]} IS NOT DISTINCT FROM {_cast(layout, position, number)}"
            for number, position in enumerate(written)
        )
        numbered = (
            f"SELECT t.rowid AS r, s.copies AS n, "  # noqa: S608
            f"row_number() OVER (PARTITION BY s.number) AS i "
            f"FROM {layout.relation} AS t JOIN {STAGE} AS s ON {same}"
        )
        statement = (
            f"DELETE FROM {layout.relation} WHERE rowid IN "  # noqa: S608
            f"(SELECT r FROM ({numbered}) WHERE i <= n)"
        )
        values, counts = pc.value_counts(rows).flatten()
        deleted, start = 0, 0
        for columns in _batches(values, len(written)):
            count = columns.num_rows
            columns = columns.append_column("copies", counts.slice(start, count))
            columns = columns.append_column("number", pa.array(range(count), pa.int64()))
            deleted += self._run(statement, columns)
            start += count
        return deleted

    def insert(self, layout: Layout, rows: pa.BinaryArray, on_drift: OnDrift) -> int:
        written = _written(layout)
        overwrites = on_drift == "overwrite"
        names = ", ".join(layout.columns[position] for position in written)
        values = ", ".join(_cast(layout, position, n) for n, position in enumerate(written))
        statement = f"INSERT INTO {layout.relation} ({names}) SELECT {values} FROM {STAGE} AS s"  # noqa: S608
        if overwrites and not layout.key:
            # A row that was sent twice is inserted once if a unique key demands it.
            statement += " ON CONFLICT DO NOTHING"
        clashing = self._clashing(layout, written) if overwrites else []
        cleared = 0
        for columns in _batches(rows, len(written)):
            for condition in clashing:
                cleared += self._run(_delete(layout, condition), columns)
            if layout.upsert:
                keys = layout.key_positions()
                condition = _equal(layout, keys, [written.index(each) for each in keys])
                self._run(_delete(layout, condition), columns)
            self._run(statement, columns)
        return cleared

    def _clashing(self, layout: Layout, written: Sequence[int]) -> list[str]:
        """The condition of each unique key besides the fold key. Keys over expressions are left to
        the INSERT, which stops there."""
        if layout.upsert:
            return []
        numbers = {layout.columns[position]: n for n, position in enumerate(written)}
        fold = {layout.columns[position] for position in layout.key_positions()}
        conditions = []
        for key in catalog.unique_keys(self._query, layout.relation):
            quoted = [quote_name(name) for name in key.columns]
            folded = bool(fold) and fold <= set(quoted)
            if key.plain and not folded and set(quoted) <= numbers.keys():
                places = [numbers[name] for name in quoted]
                conditions.append(_equal(layout, [written[n] for n in places], places))
        return conditions

    def _run(self, statement: str, columns: pa.Table) -> int:
        """The number that the statement gives."""
        driver = cast("Connection", self._connection.connection.dbapi_connection).driver
        name = STAGE.rpartition(".")[2]
        driver.register(name, columns)  # in place of what a failed statement left there
        ((count,),) = driver.execute(statement).fetchall()
        driver.unregister(name)
        return int(count)


def _written(layout: Layout) -> list[int]:
    return [i for i, codec in enumerate(layout.codecs) if codec != SKIP]


def _batches(payloads: pa.BinaryArray, width: int) -> Iterator[pa.Table]:
    """The payloads as columns c0, c1, ... of text."""
    for start in range(0, len(payloads), ROWS_AT_ONCE):
        part = payloads.slice(start, ROWS_AT_ONCE)
        whole = pa.ListArray.from_arrays(pa.array([0, len(part)], pa.int32()), part)
        joined = pc.binary_join(whole, b",")[0].as_buffer()
        rows = orjson.loads(b"[" + memoryview(joined) + b"]")
        columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(width)]
        yield pa.table(columns, names=[f"c{i}" for i in range(width)])


def _payloads(rows: Sequence[Sequence[str | None]]) -> pa.BinaryArray:
    return pa.array([orjson.dumps(row) for row in rows], pa.binary())


def _cast(layout: Layout, position: int, number: int) -> str:
    """The staged text as a value of the column's type."""
    codec, _, type_ = layout.codecs[position].partition(":")
    if codec == "blob":
        return f"unhex(s.c{number})"
    return f"s.c{number}" if type_ in _TEXT else f"CAST(s.c{number} AS {type_})"


def _equal(layout: Layout, positions: Sequence[int], numbers: Sequence[int]) -> str:
    return " AND ".join(
        f"t.{layout.columns[position]} = {_cast(layout, position, number)}"
        for position, number in zip(positions, numbers, strict=True)
    )


def _delete(layout: Layout, condition: str) -> str:
    return f"DELETE FROM {layout.relation} AS t USING {STAGE} AS s WHERE {condition}"  # noqa: S608


def _shown_deletes(layout: Layout, positions: Sequence[int], keys: pa.BinaryArray) -> list[str]:
    return [
        f"DELETE FROM {layout.relation} WHERE "  # noqa: S608
        + " AND ".join(
            f"{layout.columns[position]} = {_value(layout, position, value)}"
            for position, value in zip(positions, row, strict=True)
        )
        for row in map(orjson.loads, keys.to_pylist())
    ]


def _value(layout: Layout, position: int, value: str | None) -> str:
    if value is None:
        return "NULL"
    codec, _, type_ = layout.codecs[position].partition(":")
    if codec == "blob":
        return f"unhex('{value}')"
    return literal(value) if type_ in _TEXT else f"CAST({literal(value)} AS {type_})"
