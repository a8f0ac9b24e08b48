"""The values of existing rows in a column that a DDL adds, which TiCDC does not send.

Only certain values; anything else raises `Unsupported` with only the reason.
"""

from dataclasses import replace

from ticdc_encoder.column import INTEGERS, TEXTS, Column

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.schema.defaults import Constant, constant, temporal

Initial = Constant


def initial(column: Column, computed: bool) -> Initial:
    """The value of existing rows in an added column; `computed`: its default is an expression.
    Raises `Unsupported` if it is not certain."""
    if computed:
        raise Unsupported(
            f"column {column.name}: its default is an expression, whose values are not sent"
        )
    if column.generated:
        raise Unsupported(f"column {column.name} is generated, and its values are not sent")
    if column.default is None:
        return None if column.nullable else _zero(column)
    if _is_now(column):
        # TiDB 8.4 takes the clock, or @@timestamp, of the session that ran the ALTER, when that
        # began: before the DDL's commit_ts, in the session's time zone.
        raise Unsupported(
            f"column {column.name}: existing rows get the time at which the upstream began the "
            "statement, which is not sent"
        )
    value = _initial_of(column, column.default)
    if value is None and column.type.name == "timestamp":
        raise Unsupported(
            f"column {column.name}: its default is a time in the time zone of the upstream's "
            "session, which is not sent"
        )
    if value is None:
        raise Unsupported(
            f"column {column.name}: the value that its default gives existing rows is not certain"
        )
    return value


def likely_initial(column: Column, computed: bool) -> Initial:
    """Returns the value; if it is not certain, a literal in UTC, else NULL or TiDB's zero. Raises
    `Unsupported` for the current time."""
    if _is_now(column):
        return initial(column, computed)
    try:
        return initial(column, computed)
    except Unsupported:
        if column.type.name == "timestamp" and column.default and not computed:
            in_utc = temporal(column.type, column.default)
            if in_utc is not None:
                return in_utc
        return initial(replace(column, default=None, generated=None), False)


def _is_now(column: Column) -> bool:
    of_clock = (column.default or "").startswith("CURRENT_TIMESTAMP")
    return of_clock and column.type.name in ("datetime", "timestamp")


def _zero(column: Column) -> Initial:
    """The value that TiDB fills in for NOT NULL without a default."""
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
        f"column {column.name}: the value of existing rows in a new {name} NOT NULL is not certain"
    )


def _initial_of(column: Column, default: str) -> Initial:
    """Returns None if not certain: TiDB hides spaces beyond a column's length until the type is
    longer."""
    length = column.type.length
    if column.type.name == "varchar" and length is not None and len(default) > length:
        return None
    return constant(column)
