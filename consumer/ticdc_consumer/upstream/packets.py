"""Converts a result of the MySQL protocol to columns of bytes, without a Python object per value.

PyMySQL has sent the statement and read the definitions of its columns. Then a row is a packet:
three bytes of length, one that counts the packets, and the values, each after its own length. A
loop goes from row to row; numpy finds a column's values in all rows at once, and Arrow copies them.
"""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import pymysql  # type: ignore[import-untyped]
from pymysql.constants import CR  # type: ignore[import-untyped]

from ticdc_consumer.errors import Stop

HEADER = 4
LARGEST = 0xFFFFFF
"""Bytes of a full packet, which the next one continues."""
READ = 1 << 18
"""Most bytes of one read from the socket."""
BATCH = 1 << 20
"""Bytes after which a batch ends, regardless of its rows."""

_INSIDE = ("_rfile", "_result", "_next_seq_id", "_force_close")
"""Undocumented attributes of PyMySQL's connections; releases 1.1.0 to 1.2.4 have them."""
_NULL = 0xFB
_WIDER = ((0xFC, 2), (0xFD, 3), (0xFE, 8))
"""The first byte of a longer length, and the number of bytes that follow."""
_END, _ERROR = 0xFE, 0xFF
"""The first byte of packets other than rows."""

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]
Booleans = np.ndarray[tuple[int], np.dtype[np.bool_]]
Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]
Pairs = np.ndarray[tuple[int, int], np.dtype[np.int64]]


class RowPackets:
    """The rows of the statement that a PyMySQL connection has sent, unbuffered. Raises PyMySQL's
    errors, and `Stop` for a release that works differently. Closes the connection if the rows are
    not read to the end."""

    def __init__(self, driver: Any) -> None:
        if missing := [name for name in _INSIDE if not hasattr(driver, name)]:
            raise Stop(
                f"PyMySQL {version('pymysql')} has no {', '.join(missing)}, by which rows are "
                "read: install an earlier release of it, such as 1.1.0"
            )
        self._driver = driver
        self._columns = int(driver._result.field_count)
        self._sequence = int(driver._next_seq_id)
        self._data = bytearray()

    def batches(self, rows: int) -> Iterator[list[pa.Array]]:
        """Yields an array of bytes for each column, of at most `rows` rows."""
        result = self._driver._result
        result.unbuffered_active, result.connection = False, None  # PyMySQL reads nothing of it
        is_read = False
        try:
            while not is_read:
                starts, position = self._whole_rows(rows)
                if starts:
                    yield self._take(starts, position)
                if len(starts) < rows and position < BATCH:  # something else follows
                    is_large, packet = self._packet()
                    if is_large:
                        ends = _numbers([len(packet)])
                        yield columns_of(packet, _numbers([0]), ends, self._columns)
                    else:
                        is_read = self._is_end(packet)
        finally:
            if not is_read:
                self._driver._force_close()

    def _whole_rows(self, most: int) -> tuple[list[int], int]:
        """The starts of the next rows in the data, and the end of the last one."""
        data, starts, position = self._data, list[int](), 0
        while len(starts) < most and position < BATCH:
            while len(data) <= position + HEADER:
                self._receive()
            size = data[position] | data[position + 1] << 8 | data[position + 2] << 16
            if size == LARGEST or data[position + HEADER] >= _END:
                break
            following = position + HEADER + size
            while len(data) < following:
                self._receive()
            starts.append(position)
            position = following
        return starts, position

    def _take(self, starts: list[int], end: int) -> list[pa.Array]:
        data = bytes(self._data[:end])
        del self._data[:end]
        at = _numbers(starts)
        self._follow(np.frombuffer(data, np.uint8)[at + HEADER - 1])
        return columns_of(data, at + HEADER, np.append(at[1:], end), self._columns)

    def _packet(self) -> tuple[bool, bytes]:
        """The next packet, joined from its continuations; and whether there are any."""
        parts = list[bytes]()
        while True:
            header = self._bytes(HEADER)
            self._follow(np.frombuffer(header, np.uint8)[HEADER - 1 :])
            size = int.from_bytes(header[: HEADER - 1], "little")
            parts.append(self._bytes(size))
            if size < LARGEST:
                return len(parts) > 1, b"".join(parts)

    def _is_end(self, packet: bytes) -> bool:
        if packet[:1] == bytes([_ERROR]):
            pymysql.err.raise_mysql_exception(packet)
        if packet[:1] != bytes([_END]) or len(packet) > 8:
            raise _malformed("a packet is neither a row nor the end")
        return True

    def _follow(self, numbers: Bytes) -> None:
        """Raises an error unless the packets' numbers are consecutive."""
        expected = (self._sequence + np.arange(len(numbers))) & 0xFF
        if not np.array_equal(numbers, expected):
            raise _malformed("packets are out of order")
        self._sequence = (self._sequence + len(numbers)) & 0xFF

    def _bytes(self, count: int) -> bytes:
        while len(self._data) < count:
            self._receive()
        first = bytes(self._data[:count])
        del self._data[:count]
        return first

    def _receive(self) -> None:
        try:
            received = self._driver._rfile.read1(READ)
        except OSError as error:
            raise pymysql.err.OperationalError(CR.CR_SERVER_LOST, str(error)) from None
        if not received:
            raise pymysql.err.OperationalError(CR.CR_SERVER_LOST, "the server closed it")
        self._data += received


def columns_of(data: bytes, starts: Numbers, ends: Numbers, columns: int) -> list[pa.Array]:
    """The values of each column; row n is `data[starts[n]:ends[n]]`."""
    of_data, count = np.frombuffer(data, np.uint8), len(starts)
    # The chosen values are every other one of an array over all data; other columns lie between.
    every_other = np.arange(0, 2 * count, 2, dtype=np.int64)
    chosen = pa.Int64Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(every_other)])
    arrays, at = list[pa.Array](), starts
    for _ in range(columns):
        ranges, nulls = _values(of_data, at, ends)
        at = ranges[:, 1]
        buffers = [_validity(nulls), ranges.astype(np.int32), data]
        values = pa.BinaryArray.from_buffers(
            pa.binary(),
            2 * count - 1,
            [each if each is None else pa.py_buffer(each) for each in buffers],
        )
        arrays.append(values.take(chosen))
    if not np.array_equal(at, ends):
        raise _malformed("a row has more values than columns")
    return arrays


def _values(data: Bytes, at: Numbers, ends: Numbers) -> tuple[Pairs, Booleans]:
    """The begins and ends of the values whose lengths are at `at`; and which are NULL."""
    if (at >= ends).any():
        raise _malformed("a row has fewer values than columns")
    first = data[at]
    begins, sizes, nulls = at + 1, first.astype(np.int64), first == _NULL
    if first.max() >= _NULL:
        sizes[nulls] = 0
        for mark, width in _WIDER:
            wide = np.flatnonzero(first == mark)
            begins[wide] += width
            if (begins[wide] > ends[wide]).any():
                raise _malformed("a length is cut off")
            digits = [data[at[wide] + 1 + n].astype(np.int64) << 8 * n for n in range(width)]
            sizes[wide] = sum(digits)
    if (first == _ERROR).any() or (sizes < 0).any() or (sizes > ends - begins).any():
        raise _malformed("a value is longer than its row")
    return np.stack((begins, begins + sizes), axis=1), nulls


def _validity(nulls: Booleans) -> Bytes | None:
    """Arrow's validity bits for every other value; None if none is NULL."""
    if not nulls.any():
        return None
    valid = np.ones(2 * len(nulls), np.bool_)
    valid[::2] = ~nulls
    return np.packbits(valid, bitorder="little")


def _malformed(what: str) -> Exception:
    error: Exception = pymysql.err.InternalError(CR.CR_MALFORMED_PACKET, what)
    return error


def _numbers(values: list[int]) -> Numbers:
    return np.array(values, np.int64)
