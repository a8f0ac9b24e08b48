"""Debezium's values as JSON, per column type, in both directions. NULL is the caller's.

Source: TiCDC `pkg/sink/codec/debezium/codec.go`, after the MySQL connector of Debezium 2.4.
"""

import binascii
import calendar
from base64 import b64encode
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from math import isfinite
from typing import Any

from ticdc_encoder.column import INTEGERS, ColumnType
from ticdc_encoder.event import Value
from ticdc_encoder.formats.elements import enum_reader, member, members, set_reader
from ticdc_encoder.formats.json_text import json_float, jsoniter
from ticdc_encoder.values import double, integer, single, text

Reader = Callable[[Any], Value]

ZERO_TIMESTAMP = "1970-01-01T00:00:00Z"
"""The zero TIMESTAMP: no other can be so early."""

_EPOCH = date(1970, 1, 1).toordinal()
_DAY = 24 * 60 * 60


# Writing.


def writer(type_: ColumnType, *, nullable: bool) -> Callable[[Value], str]:
    """A function that writes a column's values. Invalid dates such as `2024-00-10` become null, or
    the epoch if the column is NOT NULL."""
    none = "null" if nullable else "0"
    match type_.name:
        case "bigint" if type_.unsigned:
            return lambda value: str(_signed(integer(value)))
        case "float":
            return lambda value: json_float(single(value), new_architecture=True)
        case "double":
            return lambda value: json_float(double(value), new_architecture=True)
        case "decimal":
            return _decimal_json
        case "bit":
            return _bit_writer(type_.length or 1)
        case "enum":
            return lambda value: jsoniter(member(type_.elements, value) if value else "")
        case "set":
            return lambda value: jsoniter(members(type_.elements, value))
        case "date":
            return lambda value: _or_none(_days(text(value)), none)
        case "datetime":
            scale = 10**6 if (type_.decimals or 0) > 3 else 10**3
            return lambda value: _or_none(_since_epoch(text(value), scale), none)
        case "timestamp":
            return lambda value: jsoniter(_zoned(text(value)))
        case "time":
            return lambda value: str(_microseconds(text(value)))
    if type_.name in INTEGERS or type_.name == "year":
        return lambda value: str(integer(value))
    if type_.binary:
        return _base64_json
    return lambda value: jsoniter(text(value))


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _decimal_json(value: Value) -> str:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise TypeError("not a decimal number")
    return json_float(float(value), new_architecture=True)


def _bit_writer(length: int) -> Callable[[Value], str]:
    if length == 1:
        return lambda value: boolean(integer(value) != 0)
    size = (length + 7) // 8
    return lambda value: f'"{b64encode(integer(value).to_bytes(8, "little")[:size]).decode()}"'


def _base64_json(value: Value) -> str:
    if not isinstance(value, bytes):
        raise TypeError("not bytes")
    return f'"{b64encode(value).decode()}"'


def _or_none(number: int | None, none: str) -> str:
    return none if number is None else str(number)


def boolean(value: bool) -> str:
    return "true" if value else "false"


def full_year(year: float) -> float:
    """The full year: Debezium puts a year of two digits into this century, or the last."""
    return year + (2000 if year < 70 else 1900 if year < 100 else 0)


def _days(day: str) -> int | None:
    """Days since the epoch, None for an invalid date. Two-digit years become four."""
    parts = day.split("-")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        raise ValueError("not a date")
    year, month, number = int(full_year(int(parts[0]))), int(parts[1]), int(parts[2])
    if not 1 <= month <= 12 or not 1 <= number <= calendar.monthrange(year, month)[1]:
        return None
    return date(year, month, number).toordinal() - _EPOCH


def _since_epoch(moment: str, scale: int) -> int | None:
    """Milliseconds or microseconds since the epoch, as if in UTC."""
    day, _, clock = moment.partition(" ")
    days = _days(day)
    return None if days is None else days * _DAY * scale + _microseconds(clock) * scale // 10**6


def _microseconds(clock: str) -> int:
    """`[-]HH:MM:SS[.f]` as microseconds."""
    clock, point, fraction = clock.partition(".")
    parts = clock.removeprefix("-").split(":")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        raise ValueError("not a time")
    if point and not (fraction.isdecimal() and len(fraction) <= 6):
        raise ValueError("not a time")
    hours, minutes, seconds = map(int, parts)
    whole = (hours * 60 + minutes) * 60 + seconds
    total = whole * 10**6 + int(fraction.ljust(6, "0"))
    return -total if clock.startswith("-") else total


def _zoned(moment: str) -> str:
    if moment.startswith("0000"):
        return ZERO_TIMESTAMP
    return moment.replace(" ", "T") + "Z"


# Reading.


def reader(type_: ColumnType, *, micro: bool) -> Reader:
    match type_.name:
        case "bigint" if type_.unsigned:
            return lambda value: integer(value) + (1 << 64) if value < 0 else integer(value)
        case "float" | "double":
            return _number
        case "decimal":
            return _decimal
        case "bit":
            return _bit if type_.length == 1 else _bits
        case "enum":
            return _enum_reader(type_.elements)
        case "set":
            return _set_reader(type_.elements)
        case "date":
            return lambda value: date.fromordinal(integer(value) + _EPOCH).isoformat()
        case "datetime":
            return _moment_micro if micro else _moment_milli
        case "timestamp":
            return _stamp
        case "time":
            return _clock
    if type_.name in INTEGERS or type_.name == "year":
        return integer
    if type_.binary:
        return _base64
    return text


def _number(value: Any) -> float:
    if value.__class__ is float and isfinite(value):
        return value
    return double(float(value) if value.__class__ is int else value)


def _decimal(value: Any) -> Decimal:
    """The shortest decimal that names the double, as which it was sent: digits may be lost."""
    return Decimal(value) if value.__class__ is int else Decimal(repr(double(value)))


def _bit(value: Any) -> int:
    if value.__class__ is not bool:
        raise TypeError("not a boolean")
    return int(value)


def _base64(value: Any) -> bytes:
    try:
        return binascii.a2b_base64(text(value), strict_mode=True)
    except ValueError as error:
        raise ValueError("not base64") from error


def _bits(value: Any) -> int:
    return integer(int.from_bytes(_base64(value), "little"))


def _enum_reader(elements: tuple[str, ...]) -> Reader:
    """A reader of members: '' is the member of that name if any, else the invalid value."""
    number = enum_reader(elements)
    return lambda value: 0 if value == "" and "" not in elements else number(text(value))


def _set_reader(elements: tuple[str, ...]) -> Reader:
    mask = set_reader(elements)
    return lambda value: mask(text(value))


def _clock_text(micros: int) -> str:
    seconds, fraction = divmod(micros, 10**6)
    minutes, second = divmod(seconds, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"
    return f"{clock}.{fraction:06}" if fraction else clock


def _clock(value: Any) -> str:
    micros = integer(value)
    return "-" * (micros < 0) + _clock_text(abs(micros))


def _moment_micro(value: Any) -> str:
    """A DATETIME(4) to (6). Its number of digits is not sent: six, or none if all are 0."""
    days, micros = divmod(integer(value), _DAY * 10**6)
    return f"{date.fromordinal(days + _EPOCH).isoformat()} {_clock_text(micros)}"


def _moment_milli(value: Any) -> str:
    moment = _moment_micro(integer(value) * 1000)
    return moment[:-3] if "." in moment else moment


def _stamp(value: Any) -> str:
    moment = text(value)
    if moment == ZERO_TIMESTAMP:
        return "0000-00-00 00:00:00"
    day, letter, clock = moment.partition("T")
    if not letter or not clock.endswith("Z") or _days(day) is None:
        raise ValueError("not a moment in UTC")
    clock = clock.removesuffix("Z")
    _microseconds(clock)
    return f"{day} {clock}"
