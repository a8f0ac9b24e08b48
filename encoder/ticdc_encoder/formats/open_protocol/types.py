"""Open Protocol's columns: type codes, flags, and values as JSON, in both directions."""

import binascii
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from typing import Any

from ticdc_encoder.column import BINARIES, INTEGERS, TEMPORALS, TEXTS, ColumnType
from ticdc_encoder.event import Table, Value
from ticdc_encoder.formats.json_text import StringWriter, json_float
from ticdc_encoder.values import (
    decimal_text,
    decimal_value,
    double,
    integer,
    quote,
    single,
    text,
    unquote,
)

BINARY, HANDLE_KEY, GENERATED, PRIMARY_KEY, UNIQUE_KEY, MULTIPLE_KEY, NULLABLE, UNSIGNED = (
    1 << bit for bit in range(8)
)

TYPE_CODES: dict[str, int] = {
    "tinyint": 1,
    "smallint": 2,
    "int": 3,
    "float": 4,
    "double": 5,
    "timestamp": 7,
    "bigint": 8,
    "mediumint": 9,
    "date": 10,
    "time": 11,
    "datetime": 12,
    "year": 13,
    "varchar": 15,
    "varbinary": 15,
    "bit": 16,
    "vector": 225,
    "json": 245,
    "decimal": 246,
    "enum": 247,
    "set": 248,
    "tinytext": 249,
    "tinyblob": 249,
    "mediumtext": 250,
    "mediumblob": 250,
    "longtext": 251,
    "longblob": 251,
    "text": 252,
    "blob": 252,
    "char": 254,
    "binary": 254,
}
_OTHER_CODES = {14: "date", 253: "varchar"}
_TEXT_NAMES = {code: name for name, code in TYPE_CODES.items() if name not in BINARIES}
_TEXT_NAMES |= _OTHER_CODES
_BINARY_NAMES = {code: name for name, code in TYPE_CODES.items() if name in BINARIES}
_BINARY_NAMES[253] = "varbinary"

_NUMBERS = INTEGERS | {"float", "double", "decimal"}
_LARGE = {name for name in TEXTS | BINARIES if TYPE_CODES[name] in range(249, 253)}


def column_type(code: int, flags: int) -> ColumnType | None:
    """The type that `t` and `f` name; None for a code that TiCDC does not send. A number
    whose flags are 0, as TiCDC sends from a stale cache, is taken for signed."""
    names = _BINARY_NAMES if flags & BINARY and code in _BINARY_NAMES else _TEXT_NAMES
    name = names.get(code)
    if name is None:
        return None
    return ColumnType(name, unsigned=name in _NUMBERS and flags & UNSIGNED > 0)


def column_flags(table: Table, *, new_architecture: bool) -> dict[str, int]:
    """`f` of every column, from the table's indexes, or its handle key if it has none."""
    flags = {column.name: 0 for column in table.columns}
    generated = {column.name for column in table.columns if column.generated}
    for column in table.columns:
        name = column.type.name
        flags[column.name] = (
            BINARY * (name not in TEXTS | {"enum", "set"})
            | HANDLE_KEY * (column.name in table.handle_key)
            | GENERATED * (column.name in generated)
            | PRIMARY_KEY * (not table.indexes and column.name in table.handle_key)
            | NULLABLE * column.nullable
            | UNSIGNED * (column.type.unsigned or column.type.zerofill or name in ("bit", "year"))
        )
    for index in table.indexes:
        several = len(index.columns) + index.expression > 1
        for name in index.columns:
            # The new architecture forgets the indexes of generated columns.
            if name not in flags or (name in generated and new_architecture):
                continue
            flags[name] |= PRIMARY_KEY * index.primary
            flags[name] |= UNIQUE_KEY * (index.unique and not index.primary)
            flags[name] |= MULTIPLE_KEY * (several or not (index.unique or index.primary))
    return flags


# Reading: JSON value -> Value. NULL is the caller's.


def _number(value: Any) -> float:
    if value.__class__ is int:
        value = float(value)
    return double(value)


def _base64(value: Any) -> bytes:
    try:
        return binascii.a2b_base64(text(value), strict_mode=True)
    except ValueError as error:
        raise ValueError("not base64") from error


READERS: dict[str, Callable[[Any], Value]] = {
    **dict.fromkeys(INTEGERS | {"year", "bit", "enum", "set"}, integer),
    **dict.fromkeys(("float", "double"), _number),
    "decimal": decimal_value,
    **dict.fromkeys({"char", "varchar", "json", "vector"} | TEMPORALS, text),
    **dict.fromkeys(("binary", "varbinary"), lambda value: unquote(text(value))),
    **dict.fromkeys(
        _LARGE & TEXTS, lambda value: _base64(value).decode("utf-8", "surrogateescape")
    ),
    **dict.fromkeys(_LARGE & BINARIES, _base64),
}
"""Type name -> the function from its JSON to the value."""


# Writing: Value -> JSON text.


def _bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError("not bytes")
    return value


def _large_text(value: Value) -> bytes:
    return text(value).encode("utf-8", "surrogateescape")


def writers(string: StringWriter, *, new_architecture: bool) -> dict[str, Callable[[Value], str]]:
    """Type name -> the function that writes its values; `string` escapes strings."""
    number = partial(json_float, new_architecture=new_architecture)
    return {
        **dict.fromkeys(
            INTEGERS | {"year", "bit", "enum", "set"}, lambda value: str(integer(value))
        ),
        "float": lambda value: number(single(value)),
        "double": lambda value: number(double(value)),
        "decimal": lambda value: f'"{decimal_text(value)}"',
        **dict.fromkeys(
            {"char", "varchar", "json", "vector"} | TEMPORALS, lambda value: string(text(value))
        ),
        **dict.fromkeys(("binary", "varbinary"), lambda value: string(quote(_bytes(value)))),
        **dict.fromkeys(
            _LARGE & TEXTS, lambda value: f'"{b64encode(_large_text(value)).decode()}"'
        ),
        **dict.fromkeys(_LARGE & BINARIES, lambda value: f'"{b64encode(_bytes(value)).decode()}"'),
    }
