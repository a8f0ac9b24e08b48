"""The meaning of a TiDB expression: its kind, and the bounds of its values.

Numbers are exact: integers and DECIMALs, whose bounds hold for all values of the columns. Raises
`Unsupported`, with only the reason, if the result would depend on a collation, a setting or a
conversion.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ticdc_encoder.column import INTEGERS, TEXTS, Column

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.schema.conversions import CAPACITIES

Kind = Literal["number", "text", "json", "date", "datetime", "truth", "null", "other"]

_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_UTF8 = frozenset({"utf8mb4", "utf8", "ascii"})
_MOST_DIGITS, _MOST_DECIMALS = 65, 30
"""The limits of a DECIMAL: beyond them, TiDB rounds."""
LONGEST_JSON = (1 << 30) - 1
"""The limit of a text from JSON: a row of TiDB is shorter than a packet, 1 GB at most."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The kind and bounds of a value. A number is `low` to `high`, divided by ten to the power of
    `scale`; a text has at most `length` characters. "truth" is a number that is 0 or 1; "other" is
    a value that is only tested for NULL."""

    kind: Kind
    low: int = 0
    high: int = 0
    scale: int = 0
    unsigned: bool = False
    length: int = 0

    def scaled(self, scale: int) -> tuple[int, int]:
        """Returns the bounds in another, larger scale."""
        factor = 10 ** (scale - self.scale)
        return self.low * factor, self.high * factor


NULL, TRUTH, JSON = Meaning("null"), Meaning("truth"), Meaning("json")
_BIT = Meaning("number", 0, 1)


def of_column(column: Column) -> Meaning:
    type_ = column.type
    name = type_.name
    if type_.zerofill:
        return Meaning("other")
    if name in INTEGERS or name == "decimal":
        low, high = bounds(column)
        return Meaning("number", low, high, type_.decimals or 0, type_.unsigned)
    if name in TEXTS and type_.charset in _UTF8:
        return Meaning("text", length=_longest(column))
    if name in ("json", "date", "datetime"):
        return Meaning("json" if name == "json" else "date" if name == "date" else "datetime")
    return Meaning("other")


def bounds(column: Column) -> tuple[int, int]:
    """The least and greatest number of an integer or DECIMAL column, without the point."""
    type_ = column.type
    if type_.name == "decimal":
        high = 10 ** (10 if type_.length is None else type_.length) - 1
        return 0 if type_.unsigned else -high, high
    bits = _BITS[type_.name]
    if type_.unsigned:
        return 0, (1 << bits) - 1
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _longest(column: Column) -> int:
    """The greatest length of a text column, in characters."""
    return CAPACITIES.get(column.type.name, column.type.length or 1)


def of_number(text: str) -> Meaning:
    whole, _, decimals = text.partition(".")
    value = int(whole + decimals or "0")
    return _checked(Meaning("number", value, value, len(decimals)))


def as_number(meaning: Meaning) -> Meaning:
    return _BIT if meaning.kind == "truth" else meaning


def merged(meanings: Sequence[Meaning]) -> Meaning:
    """The meaning of one of several values, as IF and COALESCE return it."""
    some = [as_number(each) for each in meanings if each.kind != "null"]
    kinds = {each.kind for each in some}
    if not some:
        return NULL
    if kinds == {"text"}:
        return Meaning("text", length=max(each.length for each in some))
    if kinds != {"number"}:
        raise Unsupported("it returns one of values of different types")
    scale = max(each.scale for each in some)
    lows, highs = zip(*(each.scaled(scale) for each in some), strict=True)
    unsigned = any(each.unsigned for each in some)
    if unsigned and min(lows) < 0:
        raise Unsupported("it returns one of an unsigned and a signed number")
    return _checked(Meaning("number", min(lows), max(highs), scale, unsigned))


def _checked(meaning: Meaning) -> Meaning:
    digits = max(len(str(abs(meaning.low))), len(str(abs(meaning.high))))
    if meaning.scale > _MOST_DECIMALS or digits > _MOST_DIGITS:
        raise Unsupported("a number in it may have more digits than a DECIMAL")
    return meaning


def _numbers(operands: Sequence[Meaning], whole: bool = False) -> list[Meaning]:
    numbers = [as_number(each) for each in operands]
    if any(each.kind != "number" or (whole and each.scale) for each in numbers):
        raise Unsupported(f"it computes with what is no {'integer' if whole else 'exact number'}")
    return numbers


def _sum(left: Meaning, right: Meaning) -> Meaning:
    left, right = _numbers((left, right))
    scale = max(left.scale, right.scale)
    (low, high), (low_, high_) = left.scaled(scale), right.scaled(scale)
    unsigned = left.unsigned or right.unsigned
    return _checked(Meaning("number", low + low_, high + high_, scale, unsigned))


def _difference(left: Meaning, right: Meaning) -> Meaning:
    left, right = _numbers((left, right))
    if left.unsigned or right.unsigned:
        raise Unsupported("what it subtracts from, or with, is unsigned, which sql_mode decides on")
    return _sum(left, replace(right, low=-right.high, high=-right.low))


def _product(left: Meaning, right: Meaning) -> Meaning:
    left, right = _numbers((left, right))
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    unsigned = left.unsigned or right.unsigned
    scale = left.scale + right.scale
    return _checked(Meaning("number", min(corners), max(corners), scale, unsigned))


def _whole_division(left: Meaning, right: Meaning) -> Meaning:
    left, right = _numbers((left, right), whole=True)
    negative = left.low < 0 or right.low < 0
    if negative and (left.unsigned or right.unsigned):
        raise Unsupported("it divides an unsigned and a signed number")
    most = max(abs(left.low), abs(left.high))
    return Meaning("number", -most if negative else 0, most, 0, left.unsigned or right.unsigned)


def _remainder(left: Meaning, right: Meaning) -> Meaning:
    divided = _whole_division(left, right)
    return replace(divided, low=min(as_number(left).low, 0), high=max(as_number(left).high, 0))


def _negative(of: Meaning) -> Meaning:
    (of,) = _numbers((of,))
    if of.unsigned:
        raise Unsupported("it negates what is unsigned")
    return replace(of, low=-of.high, high=-of.low)


def _compared(*operands: Meaning) -> Meaning:
    if any(as_number(each).kind not in ("number", "null") for each in operands):
        raise Unsupported("it compares what is no exact number")
    return TRUTH


def _logic(*operands: Meaning) -> Meaning:
    if any(each.kind != "truth" for each in operands):
        raise Unsupported("it takes something else than a comparison for a condition")
    return TRUTH


def _if(condition: Meaning, *values: Meaning) -> Meaning:
    _logic(condition)
    return merged(values)


def _case(*operands: Meaning) -> Meaning:
    _logic(*operands[:-1:2])
    return merged((*operands[1::2], operands[-1]))


def _concatenated(*operands: Meaning) -> Meaning:
    length = 0
    for each in operands:
        if each.kind == "text":
            length += each.length
        elif each.kind == "number" and not each.scale:
            length += max(len(str(each.low)), len(str(each.high)))
        else:
            raise Unsupported("it joins what is neither text in UTF-8 nor an integer")
    return Meaning("text", length=length)


def _bytes(of: Meaning) -> Meaning:
    return Meaning("number", 0, _a_text(of).length * 4)


def _characters(of: Meaning) -> Meaning:
    return Meaning("number", 0, _a_text(of).length)


def _a_text(of: Meaning) -> Meaning:
    if of.kind != "text":
        raise Unsupported("it measures what is no text in UTF-8")
    return of


def _extracted(of: Meaning, _: Meaning) -> Meaning:
    if of.kind != "json":
        raise Unsupported("it looks for a JSON path in what is no JSON")
    return JSON


def _unquoted(of: Meaning) -> Meaning:
    if of.kind != "json":
        raise Unsupported("it unquotes what is no JSON")
    return Meaning("text", length=LONGEST_JSON)


MEANINGS: Mapping[str, tuple[int | None, Callable[..., Meaning]]] = {
    "+": (2, _sum),
    "-": (2, _difference),
    "*": (2, _product),
    "DIV": (2, _whole_division),
    "%": (2, _remainder),
    "NEG": (1, _negative),
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "<=>"), (2, _compared)),
    "IN": (None, _compared),
    **dict.fromkeys(("AND", "OR", "XOR"), (2, _logic)),
    "NOT": (1, _logic),
    "IS NULL": (1, lambda _: TRUTH),
    "IF": (3, _if),
    "CASE": (None, _case),
    "IFNULL": (2, lambda *values: merged(values)),
    "COALESCE": (None, lambda *values: merged(values)),
    "CONCAT": (None, _concatenated),
    "LENGTH": (1, _bytes),
    "CHAR_LENGTH": (1, _characters),
    "JSON_EXTRACT": (2, _extracted),
    "JSON_UNQUOTE": (1, _unquoted),
}
"""The number of operands (None: one or more) and the result of each operator and function."""


def meaning_of(name: str, operands: Sequence[Meaning]) -> Meaning:
    number, rule = MEANINGS[name]
    if len(operands) != number if number is not None else not operands:
        raise Unsupported(f"{name} has another number of operands")
    return rule(*operands)


# --- what a column takes of it --------------------------------------------------------------------


def beyond(meaning: Meaning, column: Column) -> tuple[bool, bool]:
    """Returns whether a number may lie below, and above, an integer or DECIMAL column's range."""
    decimals = column.type.decimals or 0
    low, high = bounds(column)
    scale = max(meaning.scale, decimals)
    least, greatest = meaning.scaled(scale)
    factor: int = 10 ** (scale - decimals)
    return least < low * factor, greatest > high * factor


def is_double(meaning: Meaning) -> bool:
    """Returns whether a double holds every value."""
    return not meaning.scale and max(abs(meaning.low), abs(meaning.high)) <= 1 << 53


def text_limit(meaning: Meaning, column: Column) -> int | None:
    """The number of characters to which a text column cuts the text; None if it never does. Raises
    `Unsupported` for a column or a value of another kind."""
    name = column.type.name
    if meaning.kind not in ("text", "number") or meaning.scale or name not in TEXTS:
        raise Unsupported(f"what TiDB converts its value to ({name}) is not computed")
    if name == "char" or column.type.charset != "utf8mb4":
        raise Unsupported("its text is not one of VARCHAR or TEXT in utf8mb4")
    longest = meaning.length or max(len(str(meaning.low)), len(str(meaning.high)))
    limit = _longest(column)
    if name == "varchar":
        return limit if longest > limit else None
    if longest * 4 > limit:
        raise Unsupported(f"it may be longer than a {name} is")
    return None
