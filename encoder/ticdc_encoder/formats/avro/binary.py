"""Avro's binary encoding: data are read by fastavro, and written here.

fastavro is imported when Avro is read, not with the formats.
"""

import json
import struct
from collections.abc import Callable
from io import BytesIO
from typing import Any

from ticdc_encoder.errors import ConfigError, WireError
from ticdc_encoder.formats.json_text import Members

Read = Callable[[bytes, int], Members]
"""Reads the record of a message, from a position to its end."""

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
_SHORT = [bytes([(n << 1) ^ (n >> 7)]) for n in (*range(64), *range(-64, 0))]


def long(number: int) -> bytes:
    """An `int` or `long`."""
    if -64 <= number < 64:
        return _SHORT[number]
    if not _LEAST <= number <= _GREATEST:
        raise ValueError("not an integer of 64 bits")
    rest = (number << 1) ^ (number >> 63)
    written = bytearray()
    while rest > 0x7F:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    written.append(rest)
    return bytes(written)


def sized(data: bytes) -> bytes:
    """A `bytes` or `string`."""
    return long(len(data)) + data


FLOAT32 = struct.Struct("<f")
float32: Callable[[float], bytes] = FLOAT32.pack
float64: Callable[[float], bytes] = struct.Struct("<d").pack


def unscaled(number: int) -> bytes:
    """A decimal's `bytes`: two's complement, as short as possible."""
    bits = (~number if number < 0 else number).bit_length()
    return sized(number.to_bytes(bits // 8 + 1, "big", signed=True))


def schema_of(text: str) -> Members:
    """A registered schema, which must be a record's."""
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WireError("the schema is not JSON") from error
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(fields, list) or schema.get("type") != "record":
        raise WireError("the schema is not that of a record")
    return schema  # type: ignore[no-any-return]


def reader(schema: Members, what: str) -> Read:
    """A function that reads the data of a schema. Text that is not UTF-8 is decoded by
    surrogateescape. Raises ConfigError without fastavro, WireError if Avro has no such schema."""
    try:
        from fastavro import parse_schema, schemaless_reader
    except ImportError as error:
        raise ConfigError("Avro needs `pip install ticdc-consumer[avro]`") from error
    try:
        parsed = parse_schema(schema)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise WireError(f"the schema of the {what} is not a valid Avro schema") from error

    def read(data: bytes, start: int) -> Members:
        stream = BytesIO(data)
        stream.seek(start)
        try:
            record: Any = schemaless_reader(
                stream, parsed, None, handle_unicode_errors="surrogateescape"
            )
        except (
            EOFError,
            ArithmeticError,
            LookupError,
            ValueError,
            TypeError,
            MemoryError,
        ) as error:
            early = isinstance(error, EOFError) or stream.tell() == len(data)
            reason = "ends early" if early else "is not of its schema"
            raise WireError(f"the {what} {reason}") from error
        if stream.tell() != len(data):
            raise WireError(f"the {what} has bytes after its record")
        return record  # type: ignore[no-any-return]

    return read
