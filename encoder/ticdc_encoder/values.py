"""Values and their text, per type family, in both directions.

The text form is TiDB's, as the text protocols carry it: see `Value` for what Python holds.
"""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from math import isfinite
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ticdc_encoder.column import BINARIES, INTEGERS, TEMPORALS, TEXTS, ColumnType
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import Value

Canonical = str | bytes | None

_LEAST, _GREATEST = -(1 << 63), (1 << 64) - 1
_is_decimal = re.compile(r"-?[0-9]++(?:\.[0-9]++)?").fullmatch
is_float = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:e[+-]?[0-9]++)?").fullmatch


@dataclass(frozen=True, slots=True)
class Family:
    """Types whose values look alike. Both functions raise TypeError or ValueError for a value
    that the family cannot hold; NULL is the caller's."""

    to_text: Callable[[Value], str]
    from_text: Callable[[str], Value]
    canonical: Callable[[Value], Canonical]


def integer(value: Value) -> int:
    """The value, if it is an integer of at most 64 bits."""
    if value.__class__ is int and _LEAST <= value <= _GREATEST:
        return value
    raise ValueError("not an integer of at most 64 bits")


def text(value: Value) -> str:
    """The value, if it is text."""
    if value.__class__ is str:
        return value
    raise TypeError("not text")


def _integer_text(value: Value) -> str:
    return str(integer(value))


def integer_value(digits: str) -> int:
    try:
        number = int(text(digits))
    except ValueError:
        # Python's message would contain the value.
        raise ValueError("not the digits of an integer") from None
    if str(number) != digits:
        raise ValueError("not the digits of an integer")
    if _LEAST <= number <= _GREATEST:
        return number
    raise ValueError("not an integer of at most 64 bits")


def decimal_text(value: Value) -> str:
    """All digits of the scale, never an exponent."""
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    raise TypeError("not a decimal number")


def decimal_value(digits: str) -> Decimal:
    if digits.__class__ is not str:
        raise TypeError("not text")
    try:
        number = Decimal(digits)
    except ArithmeticError:
        raise ValueError("not a decimal number") from None
    if str(number) == digits and number.is_finite() and "E" not in digits:
        return number  # true of most, and quicker than checking each digit
    if _is_decimal(digits) is None:
        raise ValueError("not a decimal number")
    return number


def double(value: Value) -> float:
    """The value, if it is a finite float."""
    if value.__class__ is float and isfinite(value):
        return value
    raise TypeError("not a finite float")


def single(value: Value) -> float:
    """The double nearest to the shortest decimal that names the same float32 as the value."""
    try:
        bits = struct.pack("<f", double(value))
    except OverflowError as error:
        raise ValueError("not a float32") from error
    rounded: float = struct.unpack("<f", bits)[0]
    for precision in range(1, 9):
        shorter = float(f"{rounded:.{precision}g}")
        if abs(shorter) <= 3.4028235e38 and struct.pack("<f", shorter) == bits:
            return shorter
    return float(f"{rounded:.9g}")


def fixed(value: float) -> str:
    """The shortest decimal that names this double, without an exponent: Go's format `f`, -1."""
    shortest = repr(value)
    if "e" in shortest:
        return format(Decimal(shortest), "f")
    return shortest.removesuffix(".0")


def float_value(digits: str) -> float:
    if digits.__class__ is not str:
        raise TypeError("not text")
    if is_float(digits) is None:
        raise ValueError("not a number")
    number = float(digits)
    return number if isfinite(number) else double(number)


def _latin_1(value: Value) -> str:
    if not isinstance(value, bytes):
        raise TypeError("not bytes")
    return value.decode("latin-1")


def _latin_1_bytes(characters: str) -> bytes:
    try:
        return text(characters).encode("latin-1")
    except UnicodeEncodeError as error:
        raise ValueError("bytes with a character above U+00FF") from error


def _repr(value: Value) -> str | None:
    return None if value is None else repr(value)


def _str(value: Value) -> str | None:
    return None if value is None else str(value)


def _format(value: Value) -> str | None:
    return None if value is None else format(value, "f")


def _unchanged(value: Value) -> Canonical:
    return value  # type: ignore[return-value]


_INTEGER = Family(_integer_text, integer_value, _str)
_EXACT = Family(decimal_text, decimal_value, _format)
_SINGLE = Family(lambda value: fixed(single(value)), float_value, _repr)
_DOUBLE = Family(lambda value: fixed(double(value)), float_value, _repr)
_BYTES = Family(_latin_1, _latin_1_bytes, _unchanged)
_TEXT = Family(text, text, _unchanged)

FAMILIES: dict[str, Family] = {
    **dict.fromkeys(INTEGERS | {"year", "bit", "enum", "set"}, _INTEGER),
    "decimal": _EXACT,
    "float": _SINGLE,
    "double": _DOUBLE,
    **dict.fromkeys(BINARIES, _BYTES),
    **dict.fromkeys(TEXTS | TEMPORALS | {"json", "vector"}, _TEXT),
}
"""Type name -> the form of its values. BINARY and BLOB values are text as ISO-8859-1."""


def canonicaliser(type: ColumnType) -> Callable[[Value], Canonical]:
    """The function that brings a column's values to canonical form: integers, YEAR, BIT, ENUM and
    SET as digits, DECIMAL with its scale, FLOAT and DOUBLE as the shortest decimal, bytes and
    every other text as they are. It trusts that the values are the type's, as decoded ones are."""
    return FAMILIES[type.name].canonical


def canonical(value: Value, type: ColumnType) -> Canonical:
    """One value in canonical form."""
    return canonicaliser(type)(value)


def server_time(time_zone: str) -> Callable[[str], str]:
    """A function from TIMESTAMP text in UTC to that of a TiCDC server in this zone. The zero
    timestamp is the same everywhere. Raises ConfigError for an unknown zone."""
    if time_zone == "UTC":
        return str
    zone = _zone(time_zone)

    def local(timestamp: str) -> str:
        if timestamp.startswith("0000-00-00"):
            return timestamp
        seconds, point, fraction = timestamp.partition(".")
        local_time = datetime.fromisoformat(seconds).replace(tzinfo=UTC).astimezone(zone)
        return local_time.replace(tzinfo=None).isoformat(" ") + point + fraction

    return local


def utc_time(time_zone: str) -> Callable[[str], str]:
    """A function from TIMESTAMP text of a TiCDC server in this zone to UTC, the inverse of
    `server_time`. It raises ValueError for a time that the zone has twice or never."""
    if time_zone == "UTC":
        return str
    zone = _zone(time_zone)

    def utc(timestamp: str) -> str:
        if timestamp.startswith("0000-00-00"):
            return timestamp
        seconds, point, fraction = timestamp.partition(".")
        return utc_moment(datetime.fromisoformat(seconds), zone).isoformat(" ") + point + fraction

    return utc


def utc_moment(local: datetime, zone: ZoneInfo) -> datetime:
    """A zone's local time in UTC; both without tzinfo. Raises ValueError for a time that the zone
    has twice or never."""
    moment = local.replace(tzinfo=zone).astimezone(UTC)
    again = local.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if moment != again or moment.astimezone(zone).replace(tzinfo=None) != local:
        raise ValueError(f"a time that occurs twice or never in {zone.key} (run TiCDC in UTC)")
    return moment.replace(tzinfo=None)


def _zone(time_zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(time_zone)
    except (ValueError, OSError, ZoneInfoNotFoundError) as error:
        raise ConfigError(f"unknown time zone {time_zone!r}") from error


_QUOTED = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}
_UNQUOTED = {escape[1]: character for character, escape in _QUOTED.items()}
_ESCAPE = re.compile(r'\\(?:([abfnrtv\\"])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|)')


def _quote_character(character: str) -> str:
    if short := _QUOTED.get(character):
        return short
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, see surrogateescape
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote(raw: bytes) -> str:
    """Go's strconv.Quote without the two quotes. Which characters are printable depends on Python's
    Unicode tables; every reader accepts both forms."""
    characters = raw.decode("utf-8", "surrogateescape")
    if characters.isprintable() and "\\" not in characters and '"' not in characters:
        return characters
    return "".join(map(_quote_character, characters))


def _unquote_escape(match: re.Match[str]) -> str:
    short, byte, *code = match.groups()
    if short:
        return _UNQUOTED[short]
    if byte:
        number = int(byte, 16)
        return chr(number) if number < 0x80 else chr(0xDC00 + number)
    digits = code[0] or code[1]
    if not digits:
        raise ValueError("an escape that Go does not write")
    number = int(digits, 16)
    if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        raise ValueError("an escape that is not a character")
    return chr(number)


def unquote(quoted: str) -> bytes:
    """The inverse of `quote`. Raises ValueError for an escape that it does not write."""
    characters = _ESCAPE.sub(_unquote_escape, quoted) if "\\" in quoted else quoted
    return characters.encode("utf-8", "surrogateescape")
