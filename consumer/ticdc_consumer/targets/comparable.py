"""Values in a form in which two databases can be compared: equal values give equal texts.

A target says by a `Form` what its column holds of a value; the upstream's value is brought to the
same form. Where the SQL of both sides gives that text already, nothing is converted here.
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
    "text",  # what TiDB shows of the value
    "label",  # the labels of an ENUM or SET
    "number",  # digits, without zeros behind the point; ENUM's index, SET's mask
    "single",  # a float32 as the double that it is
    "double",  # a double; a FLOAT as the one nearest to its shortest decimal
    "moment",  # a date or time, without zeros behind the point
    "moment_or_null",  # the same, where what no calendar has is NULL
    "bytes",  # hexadecimal digits, lower case
    "json",  # a JSON value, whatever the order of keys and the notation of numbers
    "vector",  # float32 values
]

Convert = Callable[[Any], str | None]
"""A value as the database's driver has it, not NULL -> its comparable text."""


@dataclass(frozen=True, slots=True)
class Comparable:
    """How a column is read. `expression` is SQL; what it gives is comparable once `convert` was
    applied, or as it is. `printed`: the expression alone gives texts by which a database may
    compute a digest: unequal values never share one, though equal ones may have two. `integer` is
    the column itself, where it holds nothing but integers."""

    expression: str
    form: Form
    convert: Convert | None = None
    printed: bool = True
    integer: str = ""


@dataclass(frozen=True, slots=True)
class DigestWords:
    """How the SQL of a database computes the number that stands for a row. Of the templates,
    `digits` makes 15 hexadecimal digits of a text, `number` a number of 60 bits of those, both the
    same in every database, and `sized` puts its length before a text, so that no two rows are
    written alike; of NULL it makes an empty text. `joined` puts commas between texts that are not
    NULL. With `apart` the digits are computed before the numbers, in a SELECT of their
    own."""

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
        """The statement for the number, the count of rows and the sum of their hashes, of each
        part. `source` is FROM, and what follows it."""
        row = self._digits(columns)
        if not self.apart:
            part = self.part(key, parts, by_number)
            return f"SELECT {part}, COUNT(*), SUM({self.number.format(row)}) {source} GROUP BY 1"
        printed = key[0].integer if by_number else self._digits(key)
        number = "part" if by_number else self.number.format("part")
        # Without the UNION the optimizer would put both SELECTs into one.
        return (
            f"SELECT MOD({number}, {parts}), COUNT(digits), SUM({self.number.format('digits')}) "  # noqa: S608
            f"FROM (SELECT {printed} AS part, {row} AS digits {source} "
            "UNION ALL SELECT NULL, NULL FROM DUAL) AS printed GROUP BY 1 HAVING COUNT(digits) > 0"
        )

    def part(self, key: Sequence[Comparable], parts: int, by_number: bool) -> str:
        """The number below `parts`, or above -`parts`, of the part that a row belongs to: by its
        key's only column, an integer, or by the hash of its key."""
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
    """`1.50` and `1.5` are one number, as are -0 and 0."""
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return "0" if digits == "-0" else digits


def double(text: str) -> str:
    return repr(float(text) + 0.0)


def shortest_single(text: str) -> str:
    """A float32, given as a double, as the double nearest to its shortest decimal."""
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
    """Text that is not JSON stays as it is."""
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
    """All digits, which no precision limits."""
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    if not short:
        return "0"
    return f"{'-' * sign}{short}e{int(exponent) + len(text) - len(short)}"


_BRACKETS = re.compile(r"[\[{](.*)[\]}]", re.S)


def vector(text: str) -> str:
    """The bits of each value, which both `[1,2]` and `{1,2}` show."""
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
"""The conversions of what a database prints; the other forms are as it prints them."""
