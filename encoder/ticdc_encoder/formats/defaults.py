"""A column's DEFAULT as TiDB stores it, and sends it in a table's schema."""

import re

from ticdc_encoder.column import Column, ColumnType

_BITS = re.compile(r"b'([01]*)'")
_HEX = re.compile(r"x'([0-9a-fA-F]*)'")
_NOW = re.compile(r"CURRENT_TIMESTAMP(?:\([0-6]\))?", re.IGNORECASE)


def stored_default(column: Column) -> int | str | None:
    """A BIT's default as a number, every other as its text; that of the current timestamp without
    its digits. Bytes that are not UTF-8 are in the text by surrogateescape."""
    written = column.default
    if written is None:
        # TiDB gives a YEAR that is NOT NULL a default of its own.
        return None if column.nullable or column.type.name != "year" else "0000"
    if match := _BITS.fullmatch(written):
        number = int(match[1] or "0", 2)
        return number if column.type.name == "bit" else _characters(_bytes(number))
    if match := _HEX.fullmatch(written):
        raw = bytes.fromhex(match[1])
        return int.from_bytes(raw, "big") if column.type.name == "bit" else _characters(raw)
    if column.type.name == "bit":
        return int(written) if written.isdecimal() else int.from_bytes(written.encode(), "big")
    if column.type.name in ("datetime", "timestamp") and _NOW.fullmatch(written):
        return "CURRENT_TIMESTAMP"
    return written


def written_default(type: ColumnType, stored: int | str) -> str:
    """The DEFAULT clause's value as TiDB shows it, the inverse of `stored_default`."""
    if isinstance(stored, int):
        return f"b'{stored:b}'"
    if type.name == "bit":  # Simple's Avro form has the raw bytes
        return f"b'{int.from_bytes(stored.encode('utf-8', 'surrogateescape'), 'big'):b}'"
    if type.name in ("datetime", "timestamp") and stored == "CURRENT_TIMESTAMP" and type.decimals:
        return f"CURRENT_TIMESTAMP({type.decimals})"
    return stored


def _bytes(number: int) -> bytes:
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")


def _characters(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
