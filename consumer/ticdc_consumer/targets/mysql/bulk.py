"""Payloads of `encode` -> statements, sent as bytes."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pymysql  # type: ignore[import-untyped]
import sqlalchemy as sa
from ticdc_encoder.column import TEXTS

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.bulk import OnDrift, StagingBulk
from ticdc_consumer.targets.column_mapping import SKIP
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.mysql import errors as refusals
from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.mysql.encode import by_bytes, is_text

ROWS = 1_000
BYTES = 1 << 20
"""The limits of a statement, in rows and bytes: more rows gain nothing, larger statements lose."""

_TRUNCATED = 1265
_DEPRECATED = 1287
_MIXED = frozenset({1267, 1270, 1271})
"""Collations that cannot be compared, of two operands, three, or more."""


_LITERAL = re.compile(rb"X?'(?:[^']++|'')*+'|[^,()']++")


def _row(layout: Layout, payload: bytes) -> str:
    """Names a row by its key, for people."""
    written = [i for i, codec in enumerate(layout.codecs) if codec != SKIP]
    literals = dict(zip(written, _LITERAL.findall(payload), strict=False))
    parts = zip(layout.key, layout.key_positions(), strict=True)
    key = ", ".join(f"{name}={_text(literals[n])}" for name, n in parts if n in literals)
    return f"the row of key {key}" if key else "a row"


def _key(layout: Layout, payload: bytes) -> str:
    return f"the key {_text(payload)}"


class MySqlBulk(StagingBulk):
    """The bulk path of the MySQL family. `packet` is the server's max_allowed_packet, in bytes."""

    def __init__(
        self, connection: sa.Connection, packet: int, dialect: Dialect, sql_mode: str
    ) -> None:
        self._connection = connection
        self._packet = packet
        self._dialect = dialect
        self._sql_mode = sql_mode

    def delete(self, layout: Layout, keys: pa.BinaryArray) -> int:
        deleted = 0
        try:
            for text in self._deletes(layout, keys):
                deleted += self._write(layout, text)[0]
        except pymysql.err.MySQLError as error:
            if refusals.number(error) not in _MIXED:
                raise
            for text in self._deletes(layout, self._comparable(layout, keys)):
                deleted += self._write(layout, text)[0]
        return deleted

    def existing(self, layout: Layout, keys: pa.BinaryArray) -> int:
        return self._count(layout, self._comparable(layout, keys))

    def _comparable(self, layout: Layout, keys: pa.BinaryArray) -> pa.BinaryArray:
        """Keeps the keys whose letters are all in the character sets of the key's columns: the
        server cannot compare the others, and no row has them."""
        try:
            self._count(layout, keys)
        except pymysql.err.MySQLError as error:
            if refusals.number(error) not in _MIXED:
                raise
        else:
            return keys
        if len(keys) == 1:
            return keys.slice(0, 0)
        half = len(keys) // 2
        halves = keys.slice(0, half), keys.slice(half)
        return pa.concat_arrays([self._comparable(layout, part) for part in halves])

    def _count(self, layout: Layout, keys: pa.BinaryArray) -> int:
        """Counts the rows of these keys. Raises the server's errors."""
        count = 0
        cursor: Any = self._connection.connection.cursor()
        try:
            for text in self._deletes(layout, keys, "SELECT COUNT(*)"):
                cursor.execute(text)
                count += int(cursor.fetchone()[0])
        finally:
            cursor.close()
        return count

    def shown_deletes(self, layout: Layout, keys: pa.BinaryArray) -> list[str]:
        return [_text(text) for text in self._deletes(layout, keys)]

    def shown_inserts(self, layout: Layout, rows: pa.BinaryArray, on_drift: OnDrift) -> list[str]:
        return [_text(text) for text, _ in self._inserts(layout, rows, on_drift)]

    def _deletes(
        self, layout: Layout, keys: pa.BinaryArray, verb: str = "DELETE"
    ) -> Iterator[bytes]:
        """The statements for all rows of these keys."""
        names = [layout.columns[position] for position in layout.key_positions()]
        single = len(names) == 1 and not layout.exact
        if single and layout.codecs[layout.key_positions()[0]] == "integer":
            # In the primary key's order: a third faster. Doubles are exact enough for long numbers.
            numbers = keys.cast(pa.string()).cast(pa.float64())
            keys = keys.take(pc.sort_indices(numbers))
        if single or (self._dialect.row_keys and not layout.exact):
            where = names[0] if single else f"({', '.join(names)})"
            before, between, after = f"{where} IN (".encode(), b",", b")"
        else:
            before, between, after = b"", b" OR ", b""
        before = f"{verb} FROM {layout.relation} WHERE ".encode() + before
        most = ROWS if single else self._dialect.composite_keys
        for chunk, _ in self._chunks(layout, keys, len(before + after), most, between, _key):
            yield before + chunk + after

    def delete_rows(self, layout: Layout, rows: pa.BinaryArray) -> int:
        """Deletes equal rows by one statement each, which finds them by all of their columns."""
        columns = ", ".join(
            by_bytes(name) if is_text(codec) else name
            for name, codec in zip(layout.columns, layout.codecs, strict=True)
            if codec != SKIP
        )
        before = f"DELETE FROM {layout.relation} WHERE ({columns}) <=> ".encode()  # noqa: S608
        values, counts = pc.value_counts(rows).flatten()
        return sum(
            self._write(layout, before + row + f" LIMIT {count}".encode())[0]
            for (row, _), count in zip(
                self._chunks(layout, values, len(before) + 20, 1), counts.to_pylist(), strict=True
            )
        )

    def stage(self, layout: Layout, stage: str, rows: pa.BinaryArray) -> None:
        columns = _columns(layout)
        self._send(
            f"CREATE TABLE {stage} ENGINE=InnoDB AS "  # noqa: S608
            f"SELECT {columns} FROM {layout.relation} WHERE FALSE".encode()
        )
        self._send(b"START TRANSACTION")
        self.insert(replace(layout, relation=stage, upsert=False), rows, "stop")
        self._send(b"COMMIT")

    def trim(self, layout: Layout, stage: str, keys: pa.BinaryArray) -> None:
        if len(keys) > ROWS:
            names = ", ".join(layout.columns[position] for position in layout.key_positions())
            self._send(f"ALTER TABLE {stage} ADD INDEX ({names})".encode())
        self.delete(replace(layout, relation=stage), keys)

    def publish(self, layout: Layout, stage: str, on_drift: OnDrift) -> int:
        before, after = self._words(layout, on_drift)
        columns = _columns(layout)
        text = f"{before} SELECT {columns} FROM {stage}{after}"  # noqa: S608
        affected = self._write(layout, text.encode())[0]
        if not _replaces(layout, on_drift):
            return 0
        cursor = self._connection.exec_driver_sql(f"SELECT count(*) FROM {stage}")  # noqa: S608
        return affected - int(cursor.scalar() or 0)

    def insert(self, layout: Layout, rows: pa.BinaryArray, on_drift: OnDrift) -> int:
        replaces = _replaces(layout, on_drift)
        replaced = start = 0
        for text, count in self._inserts(layout, rows, on_drift):
            with _naming_large_rows(layout, rows[start : start + count]):
                affected = self._write(layout, text)[0]
            replaced += affected - count if replaces else 0
            start += count
        return replaced

    def _inserts(
        self, layout: Layout, rows: pa.BinaryArray, on_drift: OnDrift
    ) -> Iterator[tuple[bytes, int]]:
        """The statements, and the number of rows of each."""
        words, following = self._words(layout, on_drift)
        before, after = f"{words} VALUES ".encode(), following.encode()
        for chunk, count in self._chunks(layout, rows, len(before) + len(after), ROWS):
            yield before + chunk + after, count

    def _words(self, layout: Layout, on_drift: OnDrift) -> tuple[str, str]:
        """The text before and after the rows."""
        written = [i for i, codec in enumerate(layout.codecs) if codec != SKIP]
        verb = "REPLACE" if _replaces(layout, on_drift) else "INSERT"
        after = _on_duplicate(layout, written) if layout.upsert else ""
        return f"{verb} INTO {layout.relation} ({_columns(layout)})", after

    def _chunks(
        self,
        layout: Layout,
        payloads: pa.BinaryArray,
        overhead: int,
        most: int,
        between: bytes = b",",
        named: Callable[[Layout, bytes], str] = _row,
    ) -> Iterator[tuple[bytes, int]]:
        """Joins payloads into chunks, with their counts. `named` names one that is too large."""
        offsets = np.frombuffer(payloads.buffers()[1], np.int32)[payloads.offset :]
        room = min(BYTES, self._packet - 1) - overhead
        start, count = 0, len(payloads)
        while start < count:
            # Each payload takes its own bytes and a separator.
            ends = offsets[start + 1 : min(start + most, count) + 1] - offsets[start]
            sizes = ends + np.arange(1, len(ends) + 1) * len(between)
            fitting = max(int(np.searchsorted(sizes, room, "right")), 1)
            if int(sizes[0]) + overhead > self._packet - 1:
                raise Stop(
                    f"{layout.name}: {named(layout, payloads[start].as_py())} takes "
                    f"{int(sizes[0]) + overhead} bytes as SQL, and the target's "
                    f"max_allowed_packet is {self._packet}: SET GLOBAL max_allowed_packet there to "
                    "more (at most 1073741824), then start again"
                )
            yield between.join(payloads[start : start + fitting].to_pylist()), fitting
            start += fitting

    def _write(self, layout: Layout, statement: bytes) -> tuple[int, int]:
        try:
            count, warnings = self._send(statement)
        except pymysql.err.MySQLError as error:
            if not _may_be_index_0(layout, error):
                raise
            return self._write_index_0(layout, statement)
        if warnings:
            for code, text in self._warnings():
                if code != _DEPRECATED:  # VALUES() in ON DUPLICATE KEY UPDATE
                    raise _doubtful(layout, code, text)
        return count, warnings

    def _write_index_0(self, layout: Layout, statement: bytes) -> tuple[int, int]:
        """Writes an ENUM's index 0, TiDB's mark of an invalid value, which only lenient mode takes.
        Any other warning of the server is an error all the same."""
        self._send(b"SET SESSION sql_mode = REPLACE(@@sql_mode, 'STRICT_ALL_TABLES', '')")
        try:
            count, warnings = self._send(statement)
            texts = self._warnings() if warnings else []
        finally:
            self._send(f"SET SESSION sql_mode = '{self._sql_mode}'".encode())
        if len(texts) < warnings:
            raise Stop(f"{layout.name}: the target gave more warnings than it lists")
        for code, text in texts:
            if code != _DEPRECATED and not _of_an_enum(layout, code, text):
                raise _doubtful(layout, code, text)
        return count, warnings

    def _send(self, statement: bytes) -> tuple[int, int]:
        """Returns the numbers of affected rows and of warnings."""
        cursor: Any = self._connection.connection.cursor()
        try:
            return int(cursor.execute(statement)), int(cursor.warning_count)
        finally:
            cursor.close()

    def _warnings(self) -> Sequence[tuple[int, str]]:
        cursor: Any = self._connection.connection.cursor()
        try:
            cursor.execute(b"SHOW WARNINGS")
            return [(int(code), str(text)) for _, code, text in cursor.fetchall()]
        finally:
            cursor.close()


@contextmanager
def _naming_large_rows(layout: Layout, rows: pa.BinaryArray) -> Iterator[None]:
    """Names the largest row if the server finds an entry too large, since it does not say which."""
    try:
        yield
    except pymysql.err.MySQLError as error:
        if refusals.number(error) != refusals.ENTRY_TOO_LARGE:
            raise
        largest = max(rows.to_pylist(), key=len)
        raise refusals.too_large(error, layout, _row(layout, largest)) from error


def _replaces(layout: Layout, on_drift: OnDrift) -> bool:
    """Returns whether REPLACE deletes rows that hold a unique value of the new row, by any key,
    also over a prefix or an expression. NULLs never clash. Never for an exact layout: the row
    replaced might be another row of the upstream."""
    return on_drift == "overwrite" and not layout.upsert and not layout.exact


def _columns(layout: Layout) -> str:
    """The columns that rows have values for."""
    written = zip(layout.columns, layout.codecs, strict=True)
    return ", ".join(name for name, codec in written if codec != SKIP)


def _text(statement: bytes) -> str:
    return statement.decode("utf-8", "backslashreplace")


def _on_duplicate(layout: Layout, written: Sequence[int]) -> str:
    """Updates all columns but the key's, and the key's texts: equal keys may differ in spelling."""
    names = [
        layout.columns[i]
        for i in written
        if layout.source[i].name not in layout.key or layout.source[i].type.name in TEXTS
    ]
    updates = [f"{name}=VALUES({name})" for name in names]
    key = layout.columns[layout.key_positions()[0]]
    return f" ON DUPLICATE KEY UPDATE {', '.join(updates) or f'{key}=VALUES({key})'}"


def _doubtful(layout: Layout, code: int, text: str) -> Exception:
    return refusals.translate(pymysql.err.DataError(code, text), layout)


def _may_be_index_0(layout: Layout, error: pymysql.err.MySQLError) -> bool:
    text = str(error.args[1]) if len(error.args) > 1 else ""
    return _of_an_enum(layout, refusals.number(error) or 0, text)


def _of_an_enum(layout: Layout, code: int, text: str) -> bool:
    """Returns whether an ENUM's 0 is meant: the encoder passes no index beyond the labels."""
    name = refusals.column(text)
    enums = {
        layout.columns[i][1:-1].replace("``", "`")
        for i, codec in enumerate(layout.codecs)
        if codec.startswith("enum:")
    }
    return code == _TRUNCATED and name in enums
