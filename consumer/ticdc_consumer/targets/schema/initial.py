"""What existing rows hold in a column that a DDL adds: TiCDC sends no change of them.

Only what is known for certain; anything else raises `Unsupported` with the reason alone.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
from ticdc_encoder.column import INTEGERS, TEXTS, Column
from ticdc_encoder.tso import physical

from ticdc_consumer.errors import Unsupported

Initial = None | int | str | bytes
"""int: integers, YEAR and BIT; bytes: BINARY and BLOB; str: everything else in TiDB's text form,
ENUM and SET as labels, TIMESTAMP in UTC."""

_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
_DECIMAL = re.compile(r"[+-]?\d+(\.\d+)?")
_BITS = re.compile(r"b'([01]+)'")
_HEX_OR_BITS = re.compile(r"[xXbB]'[0-9a-fA-F]*'")
_NOW = re.compile(r"CURRENT_TIMESTAMP(?:\(([0-6])\))?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATETIME = re.compile(r"(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?)?")
_TIME = re.compile(r"(-?\d{2,3}:\d\d:\d\d)(?:\.(\d{1,6}))?")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def initial(column: Column, computed: bool, commit_ts: int) -> Initial:
    """The value of existing rows in a column added at `commit_ts`; `computed`: its default
    is an expression. The current timestamp is that of the DDL, in UTC."""
    if computed:
        raise Unsupported(
            f"column {column.name}: its default is an expression, whose values are not sent"
        )
    if column.generated:
        raise Unsupported(f"column {column.name} is generated, and its values are not sent")
    if column.default is None:
        return None if column.nullable else _zero(column)
    value = _initial_of(column, column.default, commit_ts)
    if value is None:
        raise Unsupported(
            f"column {column.name}: what its default gives existing rows is not certain"
        )
    return value


def now(commit_ts: int, digits: int) -> str:
    """The time of the DDL in UTC, cut to so many digits after the second."""
    moment = _EPOCH + timedelta(milliseconds=physical(commit_ts))
    fraction = f"{moment.microsecond:06}"[:digits]
    return f"{moment:%Y-%m-%d %H:%M:%S}" + (f".{fraction}" if digits else "")


def _zero(column: Column) -> Initial:
    """What TiDB fills in for NOT NULL without a default."""
    type_ = column.type
    name, digits = type_.name, type_.decimals or 0
    fraction = "." + "0" * digits if digits else ""
    if name in INTEGERS or name in ("year", "bit"):
        return 0
    if name == "decimal":
        return "0" + fraction
    if name in ("float", "double"):
        return "0"
    if name in TEXTS or name == "set":
        return ""
    if name == "binary":
        return bytes(type_.length or 1)
    if type_.binary:
        return b""
    if name == "enum":
        return type_.elements[0]
    if name == "date":
        return "0000-00-00"
    if name in ("datetime", "timestamp"):
        return f"0000-00-00 00:00:00{fraction}"
    if name == "time":
        return f"00:00:00{fraction}"
    raise Unsupported(
        f"column {column.name}: what rows hold in a new {name} NOT NULL is not certain"
    )


def _initial_of(column: Column, default: str, commit_ts: int) -> Initial:
    """None if it is not certain."""
    type_ = column.type
    name, digits = type_.name, type_.decimals or 0
    if name in INTEGERS:
        return int(default) if _INTEGER.fullmatch(default) else None
    if name == "year":
        return int(default) if re.fullmatch(r"\d{4}", default) else None
    if name == "bit":
        bits = _BITS.fullmatch(default)
        return int(bits[1], 2) if bits else int(default) if default.isdecimal() else None
    if name == "decimal":
        return _decimal(default, digits)
    if name in ("float", "double"):
        return _float(default, name, type_.decimals)
    if name in ("date", "datetime", "timestamp", "time"):
        return _temporal(name, default, digits, commit_ts)
    if _HEX_OR_BITS.fullmatch(default):
        return None
    if name in TEXTS:
        return default.rstrip(" ") if name == "char" else default
    if type_.binary:
        value = default.encode()
        return value.ljust(type_.length or 1, b"\0") if name == "binary" else value
    if name == "enum":
        return default if default in type_.elements else None
    if name == "set":
        chosen = default.split(",") if default else []
        if not set(chosen) <= set(type_.elements):
            return None
        return ",".join(element for element in type_.elements if element in chosen)
    return None


def _decimal(default: str, digits: int) -> str | None:
    if not _DECIMAL.fullmatch(default) or len(default.partition(".")[2]) > digits:
        return None
    return f"{Decimal(default):.{digits}f}"


def _float(default: str, name: str, decimals: int | None) -> str | None:
    if not _NUMBER.fullmatch(default) or decimals is not None:
        return None
    value = float(default)
    return str(np.float32(value)) if name == "float" else repr(value)


def _temporal(name: str, default: str, digits: int, commit_ts: int) -> str | None:
    if name in ("datetime", "timestamp") and (match := _NOW.fullmatch(default)):
        return now(commit_ts, digits) if int(match[1] or 0) == digits else None
    if name == "date":
        return default if _DATE.fullmatch(default) else None
    pattern = _TIME if name == "time" else _DATETIME
    if not (match := pattern.fullmatch(default)):
        return None
    if name == "time":
        whole, fraction = match[1], match[2] or ""
    else:
        whole, fraction = f"{match[1]} {match[2] or '00:00:00'}", match[3] or ""
    if len(fraction) > digits:
        return None
    text = whole + ("." + fraction.ljust(digits, "0") if digits else "")
    # A TIMESTAMP is meant in the time zone of the session that wrote it, which is not sent.
    return None if name == "timestamp" and not text.startswith("0000-00-00") else text
