"""TiDB's row checksum: a CRC-32 of a row's values, which TiCDC sends with them.

Source: TiDB `pkg/util/rowcodec`, TiCDC `pkg/sink/codec/common/verify_checksum.go`.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Literal
from zlib import crc32

from ticdc_encoder.column import BINARIES, INTEGERS, TEMPORALS, TEXTS, Column
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.values import decimal_text

OnCorruption = Literal["stop", "warn"]


class ChecksumMismatch(WireError):
    """A row whose values do not match the checksum sent with them."""


def _number(value: Value) -> bytes:
    assert isinstance(value, int)
    return (value & (1 << 64) - 1).to_bytes(8, "little")


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + data


def _float(value: Value) -> bytes:
    # A FLOAT's digits name a float32, which TiDB widens.
    return struct.pack("<d", *struct.unpack("<f", struct.pack("<f", value)))


def _double(value: Value) -> bytes:
    return struct.pack("<d", value)


def _text(value: Value) -> bytes:
    assert isinstance(value, str)
    return _sized(value.encode("utf-8", "surrogateescape"))


def _bytes(value: Value) -> bytes:
    assert isinstance(value, bytes)
    return _sized(value)


def _decimal(value: Value) -> bytes:
    return _sized(decimal_text(value).encode())


def _vector(value: Value) -> bytes:
    assert isinstance(value, str)
    inside = value.strip("[]")
    numbers = [float(number) for number in inside.split(",")] if inside else []
    return struct.pack(f"<I{len(numbers)}f", len(numbers), *numbers)


_BYTES_OF: dict[str, Callable[[Value], bytes]] = {
    **dict.fromkeys(INTEGERS | {"year", "bit", "enum", "set"}, _number),
    **dict.fromkeys(TEXTS | TEMPORALS | {"json"}, _text),
    **dict.fromkeys(BINARIES, _bytes),
    "float": _float,
    "double": _double,
    "decimal": _decimal,
    "vector": _vector,
}


def row_checksum(columns: Iterable[Column], row: Row) -> int:
    """The checksum of the columns in this order, which is that of TiDB's column ids. TIMESTAMP
    values are in UTC. NULL, and a column that is not in the row, are skipped."""
    checksum = 0
    for column in columns:
        value = row.get(column.name)
        if value is not None:
            checksum = crc32(_BYTES_OF[column.type.name](value), checksum)
    return checksum


def fits(table: Table, row: Row | None, checksum: int) -> bool:
    """Returns whether the checksum is the row's. 0 means that the row has none.

    The new architecture sums in the table's order of columns, the old one in that of their ids:
    `table.columns` is in the order in which the protocol sends them.
    """
    if row is None or checksum == 0:
        return True
    try:
        return row_checksum(table.columns, row) == checksum
    except (ValueError, OverflowError, struct.error):
        return False  # a number that its type cannot hold


def verify(
    change: RowChange,
    previous: int,
    current: int,
    on_corruption: OnCorruption,
    *,
    reported: bool = False,
) -> bool:
    """Returns whether the change is corrupted, by the checksums of its row before and after, or
    because TiCDC itself has `reported` it. With "stop", raises `ChecksumMismatch` instead."""
    table = change.table
    corrupted = (
        reported
        or not fits(table, change.before, previous)
        or not fits(table, change.after, current)
    )
    if corrupted and on_corruption == "stop":
        raise ChecksumMismatch(
            f"a row of {table.schema}.{table.name} does not match its checksum "
            f"(commit_ts {change.commit_ts})"
        )
    return corrupted
