"""MySQL's comparison of two values of an expression: its type and its collation."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ticdc_encoder.collation import is_binary, weight
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import Row

Kind = Literal["number", "float", "text", "bytes", "datetime", "time", "enum", "null"]


@dataclass(frozen=True, slots=True)
class Term:
    """A part of an expression. `value` gives int, Decimal, float, str, bytes, an ENUM's number, or
    None; `elements` are an ENUM's, and `literal` is the text of a constant."""

    kind: Kind
    value: Callable[[Row], Any]
    collation: str | None = None
    elements: tuple[str, ...] = ()
    literal: str | None = None


def through(value: Callable[[Row], Any], change: Callable[[Any], Any]) -> Callable[[Row], Any]:
    """`change` applied to the value; NULL stays NULL."""

    def changed(row: Row) -> Any:
        operand = value(row)
        return None if operand is None else change(operand)

    return changed


_Values = tuple[Callable[[Row], Any], Callable[[Row], Any]]


def comparable(first: Term, second: Term, *, ordered: bool) -> _Values:
    """The values of both in the type that MySQL compares them in."""
    kinds = {first.kind, second.kind}
    if "null" in kinds or kinds == {"number"} or kinds in ({"datetime"}, {"time"}, {"bytes"}):
        return first.value, second.value
    if kinds <= {"number", "float"}:
        return through(first.value, float), through(second.value, float)
    if kinds == {"text"}:
        return _collated(first, second, ordered)
    if kinds <= {"text", "number", "float"}:
        return _as_float(first), _as_float(second)
    if kinds <= {"text", "bytes"}:
        return through(first.value, utf_8_bytes), through(second.value, utf_8_bytes)
    if kinds == {"text", "datetime"} or kinds == {"text", "time"}:
        return _temporal(first, kinds), _temporal(second, kinds)
    if kinds == {"enum", "number"}:
        return first.value, second.value
    if kinds <= {"enum", "text"} and not ordered:
        return _collated(_as_text(first), _as_text(second), ordered)
    raise ConfigError(f"{first.kind} and {second.kind} are not compared")


def _collated(first: Term, second: Term, ordered: bool) -> _Values:
    names = {term.collation for term in (first, second) if term.collation is not None}
    if len(names) > 1:
        raise ConfigError(f"texts of {' and '.join(sorted(names))} are not compared")
    collation = names.pop() if names else "utf8mb4_bin"
    if ordered and not is_binary(collation):
        raise ConfigError(f"the order of {collation} is not known here")
    return (
        through(first.value, lambda value: weight(value, collation)),
        through(second.value, lambda value: weight(value, collation)),
    )


def _as_float(term: Term) -> Callable[[Row], Any]:
    return through(term.value, leading_number if term.kind == "text" else float)


_LEADING = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")


def leading_number(text: str) -> float:
    match = _LEADING.match(text)
    return float(match[1]) if match else 0.0


def utf_8_bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")


def _as_text(term: Term) -> Term:
    if term.kind == "text":
        return term
    names = ("", *term.elements)
    return Term("text", through(term.value, lambda number: names[number]), term.collation)


def _temporal(term: Term, kinds: set[Kind]) -> Callable[[Row], Any]:
    if term.kind != "text":
        return term.value
    if term.literal is None:
        raise ConfigError("a time is compared with a time or a constant")
    try:
        constant = datetime(term.literal) if "datetime" in kinds else duration(term.literal)
    except ValueError as error:
        raise ConfigError(f"{term.literal!r} is not a time") from error
    return lambda row: constant


_DATETIME = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?"
)
_DURATION = re.compile(r"(-?)(\d{1,3}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?")


def datetime(text: str) -> tuple[int, ...]:
    """Year to microsecond, as numbers."""
    match = _DATETIME.fullmatch(text)
    if match is None:
        raise ValueError("not a date or time")
    return *(int(part or 0) for part in match.groups()[:6]), _micros(match[7])


def duration(text: str) -> int:
    """Microseconds of a duration."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("not a time")
    seconds = (int(match[2]) * 60 + int(match[3])) * 60 + int(match[4] or 0)
    return (-1 if match[1] else 1) * (seconds * 1_000_000 + _micros(match[5]))


def _micros(digits: str | None) -> int:
    return int((digits or "").ljust(6, "0"))
