"""Values in a comparable form: equal values give equal texts in any two databases.

A target declares by a `Form` the part of a value that its column holds; the upstream's value takes
the same form. If the SQL of both sides already gives that text, nothing is converted here.
"""

import datetime
import json
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from ticdc_encoder.values import single

Form = Literal[
    "text",  # TiDB's text of the value
    "label",  # the labels of an ENUM or SET
    "number",  # digits, without trailing zeros of the fraction; ENUM's index, SET's mask
    "single",  # a float32 as the double that equals it
    "double",  # a double; a FLOAT as the one nearest to its shortest decimal
    "moment",  # a date or time, without trailing zeros of the fraction
    "moment_or_null",  # the same; NULL for dates that no calendar has
    "bytes",  # hexadecimal digits, lower case
    "json",  # a JSON value, whatever the order of keys and the notation of numbers
    "vector",  # float32 values
]

Convert = Callable[[Any], str | None]
"""A non-NULL value from the database's driver -> its comparable text."""


@dataclass(frozen=True, slots=True)
class Comparable:
    """The way to read a column. `expression` is SQL; its result is comparable after `convert`, or
    as it is. `printed`: the expression alone gives texts from which a database may compute a
    digest; unequal values never share a text, though equal values may have two. `integer` is the
    column itself if it holds only integers."""

    expression: str
    form: Form
    convert: Convert | None = None
    printed: bool = True
    integer: str = ""


@dataclass(frozen=True, slots=True)
class DigestWords:
    """The SQL of a database that computes a row's hash. The template `digits` gives 15 hexadecimal
    digits of a text; `number` turns these into a number of 60 bits; both give the same in every
    database. `sized` puts a text's length before it, so that no two rows are written alike; NULL
    becomes an empty text. `joined` puts commas between texts that are not NULL. With `apart` the
    digits are computed before the numbers, in a separate SELECT."""

    digits: str
    number: str
    sized: str
    joined: Callable[[Sequence[str]], str]
    apart: bool = False

    def digests(
        self,
        columns: Iterable[Comparable],
        key: Sequence[Comparable],
        parts: int,
        by_number: bool,
        source: str,
    ) -> str:
        """Builds the statement that returns each part's number, count of rows and sum of their
        hashes. `source` is the FROM clause with all that follows."""
        row = self._digits(columns)
        if not self.apart:
            part = self.part(key, parts, by_number)
            return f"SELECT {part}, COUNT(*), SUM({self.number.format(row)}) {source} GROUP BY 1"
        printed = key[0].integer if by_number else self._digits(key)
        number = "part" if by_number else self.number.format("part")
        # Without the UNION the optimizer would merge both SELECTs.
        return (
            f"SELECT MOD({number}, {parts}), COUNT(digits), SUM({self.number.format('digits')}) "  # noqa: S608
            f"FROM (SELECT {printed} AS part, {row} AS digits {source} "
            "UNION ALL SELECT NULL, NULL FROM DUAL) AS printed GROUP BY 1 HAVING COUNT(digits) > 0"
        )

    def part(self, key: Sequence[Comparable], parts: int, by_number: bool) -> str:
        """Builds the expression for the number of a row's part, below `parts` and above -`parts`:
        from the key's only column if `by_number` (an integer), else from the hash of the key."""
        number = key[0].integer if by_number else self.number.format(self._digits(key))
        return f"MOD({number}, {parts})"

    def _digits(self, columns: Iterable[Comparable]) -> str:
        parts = [
            self.sized.format(column.expression)
            if column.form in ("text", "label")
            else f"COALESCE({column.expression}, 'N')"
            for column in columns
        ]
        return self.digits.format(self.joined(parts))


def number(digits: str) -> str:
    """Normalizes a number: `1.50` and `1.5` are equal, as are -0 and 0."""
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return "0" if digits == "-0" else digits


def double(text: str) -> str:
    return repr(float(text) + 0.0)


def shortest_single(text: str) -> str:
    """Converts a float32, given as a double, to the double nearest to its shortest decimal."""
    return repr(single(float(text)) + 0.0)


def moment(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def moment_or_null(text: str) -> str | None:
    try:
        datetime.date.fromisoformat(text[:10])
    except ValueError:
        return None
    return moment(text)


def json_value(text: str) -> str:
    """Normalizes JSON; a text that is not JSON stays as it is."""
    try:
        value = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    except ValueError:
        return text
    return _written(value)


def _written(value: Any) -> str:
    match value:
        case dict():
            members = sorted((json.dumps(name), _written(each)) for name, each in value.items())
            return f"{{{','.join(f'{name}:{text}' for name, text in members)}}}"
        case list():
            return f"[{','.join(map(_written, value))}]"
        case Decimal():
            return _digits(value)
        case _:
            return json.dumps(value)


def _digits(value: Decimal) -> str:
    """All digits, without any limit of precision."""
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    if not short:
        return "0"
    return f"{'-' * sign}{short}e{int(exponent) + len(text) - len(short)}"


_BRACKETS = re.compile(r"[\[{](.*)[\]}]", re.S)


def vector(text: str) -> str:
    """The bits of each value, in hexadecimal, from `[1,2]` or `{1,2}`."""
    match = _BRACKETS.fullmatch(text.strip())
    values = [float(value) for value in match[1].split(",")] if match and match[1].strip() else []
    return struct.pack(f">{len(values)}f", *(value + 0.0 for value in values)).hex()


CONVERTED: dict[Form, Convert] = {
    "number": number,
    "double": double,
    "single": double,
    "moment": moment,
    "moment_or_null": moment_or_null,
    "json": json_value,
    "vector": vector,
}
"""The conversions of printed values; the other forms stay as the database prints them."""
