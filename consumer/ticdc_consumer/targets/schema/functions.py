"""SQL functions that every SQLite session gets, for exact results that its own SQL lacks."""

import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal

FLOAT32 = "ticdc_float32"
"""The float32 nearest to a number, as a double."""
DECIMAL = "ticdc_decimal"
"""A decimal as text with so many digits after the point."""
COMPARED = "ticdc_compared"
"""-1, 0 or 1 if one decimal is less than, equal to or greater than another."""
DOUBLE = "ticdc_double"
"""The double nearest to a decimal."""
SINGLE = "ticdc_single"
"""The shortest decimal of the float32 nearest to the double of a decimal."""
ROUNDED = "ticdc_rounded"
"""A date with time, or a time, with so many digits of the second; NULL if that is unknown."""

_EXACT = Context(prec=200)


def create_functions(connection: sqlite3.Connection) -> None:
    for name, (arity, function) in _FUNCTIONS.items():
        connection.create_function(name, arity, function, deterministic=True)


def _float32(value: float | None) -> float | None:
    import numpy as np  # slow, and no other function needs it

    return None if value is None else float(np.float32(value))


def _decimal(text: str | None, digits: int) -> str | None:
    if text is None:
        return None
    number = Decimal(text).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, context=_EXACT)
    return f"{number if number else abs(number):f}"


def _compared(one: str | None, other: str) -> int | None:
    return None if one is None else int(_EXACT.compare(Decimal(one), Decimal(other)))


def _double(text: str | None) -> float | None:
    return None if text is None else float(text)


def _single(text: str | None) -> float | None:
    import numpy as np

    return None if text is None else float(str(np.float32(float(text))))


def _rounded(text: str | None, digits: int) -> str | None:
    if text is None:
        return None
    whole, fraction = _parted(text)
    unit = 10 ** (6 - digits)
    tail = 1 + digits if digits else 0
    if " " in whole:
        return _rounded_moment(whole, (fraction + unit // 2) // unit * unit, 19 + tail, fraction)
    hours, minutes, seconds = (abs(int(part)) for part in whole.split(":"))
    total = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction
    total = (-total if whole[0] == "-" else total) + unit // 2
    rounded = total // unit * unit
    seconds, fraction = divmod(abs(rounded), 1_000_000)
    time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    sign = "-" if rounded < 0 else ""
    return sign + time[: len(time) - 7 + tail]


def _rounded_moment(whole: str, rounded: int, length: int, fraction: int) -> str | None:
    if not fraction:
        return f"{whole}.000000"[:length]
    try:
        moment = datetime.fromisoformat(whole) + timedelta(microseconds=rounded)
    except (ValueError, OverflowError):  # a date in no calendar
        return None
    return moment.isoformat(" ", "microseconds")[:length]


def _parted(text: str) -> tuple[str, int]:
    """The text up to the second, and the microseconds."""
    whole, _, fraction = text.partition(".")
    return whole, int(f"{fraction:0<6}")


_FUNCTIONS: dict[str, tuple[int, Callable[..., str | float | None]]] = {
    FLOAT32: (1, _float32),
    DECIMAL: (2, _decimal),
    COMPARED: (2, _compared),
    DOUBLE: (1, _double),
    SINGLE: (1, _single),
    ROUNDED: (2, _rounded),
}
