"""The value of a DEFAULT's literal, by TiDB's rules.

Learned from a real TiDB: `tests/ddl/added_columns.tsv` has each rule with its result.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal

from ticdc_encoder.column import INTEGERS, TEXTS, Column, ColumnType

Constant = None | int | str | bytes
"""int: integers, YEAR and BIT; bytes: BINARY and BLOB; str: everything else in TiDB's text form,
ENUM and SET as labels, TIMESTAMP in UTC."""

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_BITS = re.compile(r"b'([01]*)'")
_HEX = re.compile(r"x'((?:[0-9a-fA-F]{2})*)'")
_DATETIME = re.compile(
    r"(\d\d|\d{4})([-/.])(\d{1,2})\2(\d{1,2})"
    r"(?:[ T]+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?)?)?"
)
_PACKED = re.compile(r"(\d\d|\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)(?:\.(\d+))?)?")
_TIME = re.compile(
    r"(-?)(?:(?:(\d{1,2}) )?(\d{1,3}):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?|(\d{1,2}) (\d{1,2}))"
)
_PACKED_TIME = re.compile(r"(-?)(\d{1,7})(?:\.(\d+))?")

_EXACT = Context(prec=200)
_LONGEST_FLOAT = 15
"""The number of arbitrary digits that a double holds."""


def constant(column: Column) -> Constant:
    """Returns the value; None if there is no DEFAULT, or its value is not certain."""
    default, type_ = column.default, column.type
    if default is None:
        return None
    if type_.name in ("date", "datetime", "time"):
        return temporal(type_, default)
    if type_.name == "timestamp":
        # It is in the time zone of the session that wrote it, which is not sent.
        return temporal(type_, default) if default.strip(" 0-:.") == "" else None
    for names, read in _READERS:
        if type_.name in names:
            return read(default, type_)
    return _bytes(default, type_) if type_.binary else None


def _number(text: str) -> Decimal | None:
    """Parses a number. With an exponent, only if a double holds it: TiDB reads it as one."""
    text = text.strip(" ")
    if not _NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    exact = "e" not in text.lower() or len(number.as_tuple().digits) <= _LONGEST_FLOAT
    return number if exact else None


def _rounded(number: Decimal, digits: int) -> Decimal:
    """Rounds halves away from zero; there is no negative zero."""
    result = number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, context=_EXACT)
    return result if result else abs(result)


def _integer(default: str, _: ColumnType) -> int | None:
    number = _number(default)
    if number is None:
        return None
    whole = number == number.to_integral_value(context=_EXACT)
    # As a number it is a double, whose halves TiDB rounds to even; as a text it is not.
    return None if "e" in default.lower() and not whole else int(_rounded(number, 0))


def _decimal(default: str, type_: ColumnType) -> str | None:
    number = _number(default)
    return None if number is None else f"{_rounded(number, type_.decimals or 0):f}"


def _float(default: str, type_: ColumnType) -> str | None:
    text = default.strip(" ")
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    if type_.decimals is not None:
        shift = 10**type_.decimals
        value = round(value * shift) / shift
    value += 0.0  # no negative zero
    if type_.name != "float":
        return repr(value)
    import numpy as np  # slow, and no other default needs it

    return str(np.float32(value))


def _year(default: str, _: ColumnType) -> int | None:
    """Parses a year: `'0000'` is the year 0; other numbers below 100 are in 1970 to 2069."""
    number = _number(default)
    if number is None or "." in default or "e" in default.lower():
        return None
    year = int(number)
    if len(default.strip(" ")) == 4 or year >= 100:
        return year
    return year + (2000 if year < 70 else 1900)


def _bit(default: str, _: ColumnType) -> int | None:
    if bits := _BITS.fullmatch(default):
        return int(bits[1] or "0", 2)
    return int(default) if default.isdecimal() else None


def _text(default: str, type_: ColumnType) -> str:
    if type_.name == "char":
        return default.rstrip(" ")
    extra = len(default) - (type_.length or len(default))
    return default[: type_.length] if extra > 0 and default.endswith(" " * extra) else default


def _bytes(default: str, type_: ColumnType) -> bytes | None:
    """The bytes of a literal. TiDB keeps them in JSON, where a byte that is not UTF-8 becomes
    U+FFFD. None if too long then: TiDB cuts what it shows, and shows the rest once the type is
    longer."""
    written = _HEX.fullmatch(default)
    raw = bytes.fromhex(written[1]) if written else default.encode("utf-8", "surrogateescape")
    if type_.name == "binary":
        raw = raw.ljust(type_.length or 1, b"\0")
    stored = re.sub("[\udc80-\udcff]", "\ufffd", raw.decode("utf-8", "surrogateescape")).encode()
    return stored if len(stored) <= (type_.length or len(stored)) else None


def _label(default: str, type_: ColumnType) -> str | None:
    label = default.rstrip(" ")
    return label if label in type_.elements else None


def _labels(default: str, type_: ColumnType) -> str | None:
    chosen = default.split(",") if default else []
    if not set(chosen) <= set(type_.elements):
        return None
    return ",".join(label for label in type_.elements if label in chosen)


_READERS: tuple[tuple[frozenset[str], Callable[[str, ColumnType], Constant]], ...] = (
    (INTEGERS, _integer),
    (frozenset({"decimal"}), _decimal),
    (frozenset({"float", "double"}), _float),
    (frozenset({"year"}), _year),
    (frozenset({"bit"}), _bit),
    (TEXTS, _text),
    (frozenset({"enum"}), _label),
    (frozenset({"set"}), _labels),
)


# --- dates and times ----------------------------------------------------------------------------


def temporal(type_: ColumnType, text: str) -> str | None:
    """The date or time of a literal in a column of this type; None if it is not certain."""
    digits = type_.decimals or 0
    if type_.name == "time":
        return _time(text.strip(" "), digits)
    moment = _moment(text.strip(" "), 0 if type_.name == "date" else digits)
    return moment if moment is None or type_.name != "date" else moment[:10]


def _moment(text: str, digits: int) -> str | None:
    if text == "0":
        return "0000-00-00 00:00:00" + _fraction(0, digits)
    if match := _DATETIME.fullmatch(text):
        year, _, *rest, fraction = match.groups()
    elif match := _PACKED.fullmatch(text):
        year, *rest, fraction = match.groups()
    else:
        return None
    if len(year) == 2:
        year = f"{'19' if int(year) >= 70 else '20'}{year}"
    month, day, hour, minute, second = (int(part or 0) for part in rest)
    units, carried = _units(fraction, digits)
    if month > 12 or day > 31 or hour > 23 or minute > 59 or second > 59:
        return None
    whole = f"{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
    if carried:
        try:
            whole = str(datetime.fromisoformat(whole) + timedelta(seconds=1))
        except (ValueError, OverflowError):
            return None
    return whole + _fraction(units, digits)


def _time(text: str, digits: int) -> str | None:
    if match := _TIME.fullmatch(text):
        sign, days, hour, minute, second, fraction, day, alone = match.groups()
        days, hour = days or day, hour or alone
    elif match := _PACKED_TIME.fullmatch(text):
        sign, days, fraction = match[1], None, match[3]
        hour, minute, second = match[2][:-4], match[2][-4:-2], match[2][-2:]
    else:
        return None
    if int(minute or 0) > 59 or int(second or 0) > 59:
        return None
    units, carried = _units(fraction, digits)
    seconds = int(days or 0) * 86400 + int(hour or 0) * 3600
    seconds += int(minute or 0) * 60 + int(second or 0) + carried
    if seconds > _LONGEST_TIME:
        return None
    minutes, rest = divmod(seconds, 60)
    sign = sign if seconds or units else ""
    return f"{sign}{minutes // 60:02}:{minutes % 60:02}:{rest:02}" + _fraction(units, digits)


_LONGEST_TIME = 838 * 3600 + 59 * 60 + 59


def _units(fraction: str | None, digits: int) -> tuple[int, bool]:
    """A fraction of a second rounded to so many digits, and whether it makes a second more."""
    units = int(_rounded(Decimal(f"0.{fraction or 0}").scaleb(digits, _EXACT), 0))
    return (0, True) if units == 10**digits else (units, False)


def _fraction(units: int, digits: int) -> str:
    return f".{units:0{digits}}" if digits else ""
