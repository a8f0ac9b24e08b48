"""Payloads of `encode` -> COPY, or statements with parameters for a few rows."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import psycopg
import pyarrow as pa
import sqlalchemy as sa
from ticdc_encoder.column import INTEGERS

from ticdc_consumer.targets import kernels
from ticdc_consumer.targets.bulk import OnDrift, StagingBulk
from ticdc_consumer.targets.column_mapping import SKIP
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.postgresql import catalog
from ticdc_consumer.targets.target import Query

ROWS_AT_ONCE = 100_000
COPY_BYTES = 1 << 20
FEW_ROWS = 20
"""The number of rows up to which a statement with parameters costs less than a temporary table."""


class PostgreSqlBulk(StagingBulk):
    """PostgreSQL's bulk path. `replica_allowed`: may switch off triggers and foreign keys."""

    def __init__(self, connection: sa.Connection, query: Query, replica_allowed: bool) -> None:
        self._connection, self._query = connection, query
        self._replica_allowed = replica_allowed
        self._replicas: dict[str, bool] = {}
        self._own_rows: dict[str, str] = {}

    def forget(self, relation: str) -> None:
        """Forgets the table's kind, foreign keys and triggers, so that they are looked up again."""
        self._replicas.pop(relation, None)
        self._own_rows.pop(relation, None)

    def delete(self, layout: Layout, keys: pa.BinaryArray) -> int:
        columns = [layout.columns[position] for position in layout.key_positions()]
        deleted = 0
        with self._foreign_keys_off(layout):
            for part in _parts(keys):
                deleted += self._delete_part(layout, columns, part)
        return deleted

    def _delete_part(self, layout: Layout, columns: Sequence[str], keys: pa.BinaryArray) -> int:
        (first, *more) = layout.key_positions()
        relation = self._only(layout.relation)
        if not more and layout.source[first].type.name in INTEGERS:
            condition = f"{_doubled(columns[0])} = ANY (%s)"
            digits = bytes(kernels.bytes_of(keys)[:-1]).replace(b"\n", b",")
            return self._run(_delete(_doubled(relation), condition), ["{" + digits.decode() + "}"])
        if len(keys) <= FEW_ROWS:
            each = " AND ".join(f"{_doubled(name)} = %s" for name in columns)
            condition = " OR ".join([f"({each})"] * len(keys))
            return self._run(_delete(_doubled(relation), condition), _fields(keys))
        stage = self._stage(layout, columns, keys)
        same = " AND ".join(f"t.{name} = s.{name}" for name in columns)
        deleted = self._run(_delete(f"{relation} t USING {stage} s", same))
        self._clear(stage)
        return deleted

    def existing(self, layout: Layout, keys: pa.BinaryArray) -> int:
        columns = [layout.columns[position] for position in layout.key_positions()]
        relation, count = _doubled(self._only(layout.relation)), 0
        for start in range(0, len(keys), FEW_ROWS):
            part = keys.slice(start, FEW_ROWS)
            each = " AND ".join(f"{_doubled(name)} = %s" for name in columns)
            condition = " OR ".join([f"({each})"] * len(part))
            statement = f"SELECT count(*) FROM {relation} WHERE {condition}"  # noqa: S608
            cursor = self._driver().cursor().execute(statement.encode(), _fields(part))
            count += int((cursor.fetchone() or (0,))[0])
        return count

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

    def shown_inserts(self, layout: Layout, rows: pa.BinaryArray, on_drift: OnDrift) -> list[str]:
        columns = _written(layout)
        into, conflict = _upsert_words(layout, columns)
        if not layout.upsert:
            into, conflict = f"INSERT INTO {layout.relation} ({', '.join(columns)})", ""
        return [
            f"{into} VALUES ({', '.join(map(_literal, row))}) {conflict}".rstrip()
            for row in _lines(rows)
        ]

    def delete_rows(self, layout: Layout, rows: pa.BinaryArray) -> int:
        columns = _written(layout)
        deleted = 0
        with self._foreign_keys_off(layout):
            for part in _parts(rows):
                stage = self._stage(layout, columns, part)
                relation = self._only(layout.relation)
                equal = catalog.equal_rows(relation, stage, columns)
                deleted += self._run(_delete(relation, equal))
                self._clear(stage)
        return deleted

    def stage(self, layout: Layout, stage: str, rows: pa.BinaryArray) -> None:
        columns = _written(layout)
        with self._driver().transaction():
            self._run(
                f"CREATE UNLOGGED TABLE {stage} AS "  # noqa: S608
                f"SELECT {', '.join(columns)} FROM {layout.relation} WITH NO DATA"
            )
            self._copy(stage, columns, rows)

    def trim(self, layout: Layout, stage: str, keys: pa.BinaryArray) -> None:
        staged = replace(layout, relation=stage)
        columns = [layout.columns[position] for position in layout.key_positions()]
        with self._driver().transaction():
            for part in _parts(keys):
                self._delete_part(staged, columns, part)

    def publish(self, layout: Layout, stage: str, on_drift: OnDrift) -> int:
        columns = _written(layout)
        with self._foreign_keys_off(layout):
            if layout.upsert:
                self._upsert_from(layout, columns, stage)
            elif on_drift == "overwrite":
                return self._overwrite_from(layout, columns, stage)
            else:
                self._insert_from(layout, columns, stage)
        return 0

    def insert(self, layout: Layout, rows: pa.BinaryArray, on_drift: OnDrift) -> int:
        columns = _written(layout)
        cleared = 0
        with self._foreign_keys_off(layout):
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
        self._upsert_from(layout, columns, stage)
        self._clear(stage)

    def _upsert_from(self, layout: Layout, columns: Sequence[str], stage: str) -> None:
        into, conflict = _upsert_words(layout, columns)
        self._run(f"{into} SELECT {', '.join(columns)} FROM {stage} {conflict}")  # noqa: S608

    def _overwrite(self, layout: Layout, columns: Sequence[str], rows: pa.BinaryArray) -> int:
        """Deletes rows that hold a unique value of these rows, then inserts them."""
        stage = self._stage(layout, columns, rows)
        cleared = self._overwrite_from(layout, columns, stage)
        self._clear(stage)
        return cleared

    def _overwrite_from(self, layout: Layout, columns: Sequence[str], stage: str) -> int:
        fold = {_bare(layout.columns[position]) for position in layout.key_positions()}
        written = {_bare(name) for name in columns}
        cleared = 0
        for condition in catalog.clashing(self._query, layout.relation, stage, fold, written):
            cleared += self._run(_delete(self._only(layout.relation), condition))
        self._insert_from(layout, columns, stage)
        return cleared

    def _insert_from(self, layout: Layout, columns: Sequence[str], stage: str) -> None:
        names = ", ".join(columns)
        self._run(
            f"INSERT INTO {layout.relation} ({names}) OVERRIDING SYSTEM VALUE "  # noqa: S608
            f"SELECT {names} FROM {stage}"
            # A row that was sent twice is inserted once if a unique key demands it.
            f"{'' if layout.key else ' ON CONFLICT DO NOTHING'}"
        )

    def _stage(self, layout: Layout, columns: Sequence[str], lines: pa.BinaryArray) -> str:
        """Copies the lines to a temporary table whose columns have the target's types."""
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
        """Returns the number of rows. A text parameter takes the type of its position."""
        return self._driver().cursor().execute(statement.encode(), parameters).rowcount

    def _driver(self) -> "psycopg.Connection[Any]":
        return cast("psycopg.Connection[Any]", self._connection.connection.dbapi_connection)

    @contextmanager
    def _foreign_keys_off(self, layout: Layout) -> Iterator[None]:
        """Switches off foreign keys that cannot be deferred, if this user may."""
        if not self._replica_allowed or not self._replica(layout.relation):
            yield
            return
        self._run("SET LOCAL session_replication_role = replica")
        yield
        self._run("SET LOCAL session_replication_role = origin")

    def _only(self, relation: str) -> str:
        if relation not in self._own_rows:
            self._own_rows[relation] = catalog.own_rows(self._query, relation)
        return self._own_rows[relation]

    def _replica(self, relation: str) -> bool:
        if relation not in self._replicas:
            self._replicas[relation] = catalog.strict_without_triggers(self._query, relation)
        return self._replicas[relation]


def _written(layout: Layout) -> list[str]:
    """The columns that rows have values for."""
    written = zip(layout.columns, layout.codecs, strict=True)
    return [name for name, codec in written if codec != SKIP]


def _bare(quoted: str) -> str:
    return quoted[1:-1].replace('""', '"')


def _doubled(sql: str) -> str:
    """Doubles each %, which begins a placeholder in a statement with parameters."""
    return sql.replace("%", "%%")


def _upsert_words(layout: Layout, columns: Sequence[str]) -> tuple[str, str]:
    """The text before and after the rows."""
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
