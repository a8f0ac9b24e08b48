"""Values as Avro holds them, per column type, in both directions. NULL is the caller's."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Row, Table, Value
from ticdc_encoder.formats.avro.binary import float32, float64, long, sized, unscaled
from ticdc_encoder.formats.avro.schema import Modes, avro_type, bit_width
from ticdc_encoder.formats.elements import enum_reader, member, members, set_reader
from ticdc_encoder.values import decimal_text, decimal_value, double, integer, single, text

Write = Callable[[Value], bytes]


def from_avro(type_: ColumnType, avro: str) -> Callable[[Any], Value] | None:
    """A function from Avro's value to the column's; None if they are the same."""
    match type_.name, avro:
        case "bigint", "long" if type_.unsigned:
            return lambda number: number + (1 << 64) if number < 0 else number
        case "bigint", "string":
            return _unsigned
        case "float", _:
            return single
        case "double", _:
            return double
        case "decimal", "string":
            return decimal_value
        case "bit", _:
            return _bits
        case "enum", _:
            return enum_reader(type_.elements)
        case "set", _:
            return set_reader(type_.elements)
    return None


def _unsigned(digits: str) -> int:
    if not digits.isdecimal() or str(int(digits)) != digits:
        raise ValueError("not the digits of an integer")
    return integer(int(digits))


def _bits(raw: bytes) -> int:
    if not 0 < len(raw) <= 8:
        raise ValueError("not 1 to 8 bytes")
    return int.from_bytes(raw, "big")


def to_avro(
    type_: ColumnType, modes: Modes, local: Callable[[str], str], *, new_architecture: bool
) -> Write:
    """A function that writes the column's values; `local` gives TIMESTAMP in the server's time."""
    match type_.name, avro_type(type_, modes):
        case "bigint", "long" if type_.unsigned:
            return lambda value: long(_wrapped(integer(value)))
        case "bigint", "string":
            return lambda value: _string(str(integer(value)))
        case "float", _:
            return lambda value: float32(single(value))
        case "double", _:
            return lambda value: float64(double(value))
        case "decimal", "bytes":
            return _decimal_writer(type_.decimals or 0)
        case "decimal", _:
            return lambda value: _string(decimal_text(value))
        case "bit", _:
            return _bit_writer(type_, whole=new_architecture)
        case "enum", _:
            return _enum_writer(type_.elements)
        case "set", _:
            return _set_writer(type_.elements)
        case "timestamp", _:
            return lambda value: _string(local(text(value)))
        case _, "bytes":
            return _bytes
        case _, "string":
            return lambda value: _string(text(value))
    return lambda value: long(integer(value))


def _wrapped(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _string(characters: str) -> bytes:
    return sized(characters.encode("utf-8", "surrogateescape"))


def _bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError("not bytes")
    return sized(value)


def _decimal_writer(decimals: int) -> Write:
    def write(value: Value) -> bytes:
        if not isinstance(value, Decimal) or not value.is_finite():
            raise TypeError("not a decimal number")
        sign, digits, exponent = value.as_tuple()
        shift = decimals + int(exponent)
        number = int("".join(map(str, digits)))
        if shift < 0 and number % 10**-shift:
            raise ValueError(f"more than {decimals} decimals")
        number = number * 10**shift if shift >= 0 else number // 10**-shift
        return unscaled(-number if sign else number)

    return write


def _bit_writer(type_: ColumnType, *, whole: bool) -> Write:
    """Writer of a BIT. `whole`: with all bytes of the type, leading zeros too."""
    width = bit_width(type_)

    def write(value: Value) -> bytes:
        number = integer(value)
        if not 0 <= number < 1 << 8 * width:
            raise ValueError(f"not a number of {width} bytes")
        size = width if whole else max(1, (number.bit_length() + 7) // 8)
        return sized(number.to_bytes(size, "big"))

    return write


def _enum_writer(elements: tuple[str, ...]) -> Write:
    return lambda value: _string(member(elements, value))


def _set_writer(elements: tuple[str, ...]) -> Write:
    return lambda value: _string(members(elements, value))


def refused(table: Table, columns: Iterable[tuple[Column, Write]], row: Row) -> DefinitionError:
    """The error for the first column whose value cannot be written."""
    for column, write in columns:
        where = f"column `{column.name}` of {table.schema}.{table.name}, {column.type.name}"
        if column.name not in row:
            return DefinitionError(f"{where}: not in the row")
        try:
            if row[column.name] is not None or not column.nullable:
                write(row[column.name])
        except (TypeError, ValueError) as error:
            return DefinitionError(f"{where}: {error}")
    raise AssertionError("every column can be written")
