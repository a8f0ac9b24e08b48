"""What existing rows hold in a column that a DDL adds: TiCDC sends no change of them.

Only what is known for certain; anything else raises `Unsupported` with the reason alone.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ticdc_encoder.column import INTEGERS, TEXTS, Column
from ticdc_encoder.tso import physical

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.schema.defaults import Constant, constant

Initial = Constant

_NOW = re.compile(r"CURRENT_TIMESTAMP(?:\(([0-6])\))?")

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


def likely_initial(column: Column, computed: bool, commit_ts: int) -> Initial:
    """Where it is not certain, NULL, or TiDB's zero."""
    try:
        return initial(column, computed, commit_ts)
    except Unsupported:
        return initial(replace(column, default=None, generated=None), False, commit_ts)


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
    if name == "json":
        return "null"
    if name == "vector" and type_.length is None:
        return "[]"
    raise Unsupported(
        f"column {column.name}: what rows hold in a new {name} NOT NULL is not certain"
    )


def _initial_of(column: Column, default: str, commit_ts: int) -> Initial:
    """None if it is not certain: of spaces beyond its length, TiDB shows none until the type is
    longer."""
    digits, length = column.type.decimals or 0, column.type.length
    if column.type.name == "varchar" and length is not None and len(default) > length:
        return None
    if column.type.name in ("datetime", "timestamp") and (match := _NOW.fullmatch(default)):
        return now(commit_ts, digits) if int(match[1] or 0) == digits else None
    return constant(column)
