"""Queries of views in SQLite's dialect.

A DECIMAL is text in the target's columns; it is computed as an integer in units of its last digit,
and converted back to text. SQLite's integers have 63 bits and a sign; beyond them it continues with
floats, so only values within them are computed. SQLite itself refuses a SUM beyond them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ticdc_encoder.column import Column

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.schema.meanings import bounds
from ticdc_consumer.targets.schema.queries import PortableWords, Typed, Written, called, in_scale
from ticdc_consumer.targets.sqlite.types import column_type

_GREATEST = (1 << 63) - 1
_LONGEST = 18
"""The number of a DECIMAL's digits that an integer holds."""
_SECONDS = re.compile(r"(.{10})(?: (.{8})(?:\.(\d+))?)?")


def _joined(arguments: Sequence[Typed]) -> str:
    return f"({' || '.join(_as_text(one) for one in arguments)})"


def _as_text(one: Typed) -> str:
    if one.kind in ("text", "string"):
        return one.text
    return f"CAST({_with_point(one)} AS TEXT)"


def _with_point(one: Typed) -> str:
    """A DECIMAL's digits, with the decimal point."""
    if one.kind != "decimal" or not one.scale:
        return one.text
    factor, text = 10**one.scale, one.text
    sign = f"CASE WHEN {text} < 0 THEN '-' ELSE '' END"
    digits = f"printf('%d.%0{one.scale}d', abs({text}) / {factor}, abs({text}) % {factor})"
    return f"CASE WHEN {text} IS NOT NULL THEN {sign} || {digits} END"


def _scaled(text: str, scale: int) -> str:
    """The integer, in units of the last digit, of a DECIMAL's text."""
    point = f"instr({text}, '.')"
    missing = f"{scale} - CASE {point} WHEN 0 THEN 0 ELSE length({text}) - {point} END"
    zeros = f"substr('{'0' * scale}', 1, {missing})" if scale else "''"
    return f"CAST(replace({text}, '.', '') || {zeros} AS INTEGER)"


def _digits(start: int, length: int) -> str:
    return f"CAST(substr({{}}, {start}, {length}) AS INTEGER)"


_FUNCTIONS: Mapping[str, Written] = {
    "COALESCE": called("coalesce"),
    "NULLIF": lambda of: f"nullif({of[0].text}, {of[1].text})",
    "CONCAT": _joined,
    "ABS": called("abs"),
    "YEAR": lambda of: _digits(1, 4).format(of[0].text),
    "MONTH": lambda of: _digits(6, 2).format(of[0].text),
    "DAYOFMONTH": lambda of: _digits(9, 2).format(of[0].text),
    "DATE": lambda of: f"substr({of[0].text}, 1, 10)",
}


class SqliteWords(PortableWords):
    same = "IS"
    computes_joined = False
    one_value = False
    functions = _FUNCTIONS

    def comparable(self, text: str) -> str:
        return f"rtrim({text}, ' ')"

    def column_type(self, column: Column) -> str:
        return column_type(column)

    def column(
        self, text: str, column: Column, existing: TargetColumn | None, *, collated: bool
    ) -> Typed:
        one = super().column(text, column, existing, collated=collated)
        if one.kind in ("integer", "decimal"):
            low, high = bounds(column)
            one = replace(one, most=max(-low, high))
        if one.kind == "integer" and column_type(column) != "INTEGER":
            return Typed(text, "plain")
        if one.kind == "decimal":
            if one.most is None or len(str(one.most)) > _LONGEST:
                return Typed(text, "plain")
            return replace(one, text=_scaled(text, one.scale))
        return one

    def derived(self, text: str, of: Typed) -> Typed:
        one = super().derived(text, of)
        return replace(one, text=_scaled(text, of.scale)) if of.kind == "decimal" else one

    def selected(self, one: Typed) -> str:
        return _with_point(one)

    def of_group(self, one: Typed) -> Typed:
        return Typed(f"MIN({one.text} COLLATE BINARY)", "text") if one.kind == "text" else one

    def beside(self, one: Typed, other: Typed) -> str:
        if {one.kind, other.kind} <= {"integer", "decimal"}:
            return self._within(in_scale(other, one.scale)).text
        if one.kind == "datetime" and other.kind in ("date", "datetime"):
            return other.text + self._rest(one.scale, other)
        if one.kind == "date" and other.kind == "datetime":
            raise Unsupported("it compares a DATE with a DATETIME")
        return super().beside(one, other)

    def compared(self, operator: str, left: Typed, right: Typed) -> str:
        if (left.kind, right.kind) == ("date", "datetime"):
            day = left.text + self._rest(right.scale, left)
            return f"{day} {self.same if operator == '<=>' else operator} {right.text}"
        return super().compared(operator, left, right)

    def _rest(self, scale: int, other: Typed) -> str:
        """The suffix that a text of fewer digits lacks."""
        if other.kind == "date":
            return " || ' 00:00:00" + (f".{'0' * scale}'" if scale else "'")
        if other.scale > scale:
            raise Unsupported("it compares seconds with another number of decimals")
        if other.scale == scale:
            return ""
        zeros = "0" * (scale - other.scale)
        return f" || '{'' if other.scale else '.'}{zeros}'"

    def moment(self, one: Typed, text: str) -> str:
        match = _SECONDS.fullmatch(text)
        assert match is not None  # `expressions` takes no other literal
        if one.kind == "date":
            if match[2]:
                raise Unsupported("it compares a DATE with a literal of a time")
            return self.string(text)
        digits = match[3] or ""
        if len(digits) > one.scale:
            raise Unsupported("it compares seconds with another number of decimals")
        fraction = f".{digits:0<{one.scale}}" if one.scale else ""
        return self.string(f"{match[1]} {match[2] or '00:00:00'}{fraction}")

    def like(self, one: str, pattern: str, *, negated: bool) -> str:
        """Searches for one text at the start, or anywhere: instr checks all characters, NUL too."""
        plain = pattern.strip("%")
        if not plain or any(character in plain for character in "%_\\"):
            raise Unsupported("a LIKE of more than 'text', 'text%' or '%text%'")
        first = f"instr({one}, {self.string(plain)})"
        match pattern.startswith("%"), pattern.endswith("%"):
            case False, True:
                return f"{first} {'<>' if negated else '='} 1"
            case True, True:
                return f"{first} {'=' if negated else '>'} 0"
            case False, False:
                return f"{one} COLLATE BINARY {'<>' if negated else '='} {self.string(plain)}"
            case _:
                raise Unsupported("a LIKE of more than 'text', 'text%' or '%text%'")

    def number(self, text: str) -> Typed:
        whole, point, decimals = text.partition(".")
        digits = str(int(whole + decimals))
        kind = super().number(text).kind
        return self._within(
            Typed(digits, kind, scale=len(decimals) if point else 0, most=int(digits))
        )

    def computed(self, operator: str, operands: Sequence[Typed]) -> Typed:
        left, right = operands
        scale = max(left.scale, right.scale)
        if operator in ("+", "-"):
            left, right = in_scale(left, scale), in_scale(right, scale)
        if left.most is None or right.most is None:
            raise Unsupported("a number in it may exceed SQLite's 64 bits")
        if operator == "*":
            scale, most = left.scale + right.scale, left.most * right.most
        else:
            most = left.most + right.most
        word = "/" if operator == "DIV" else operator  # by zero it is NULL
        kind = super().computed(operator, operands).kind
        return self._within(Typed(f"{left.text} {word} {right.text}", kind, scale=scale, most=most))

    def _within(self, one: Typed) -> Typed:
        if (one.most is None and one.scale) or (one.most or 0) > _GREATEST:
            raise Unsupported("a number in it may exceed SQLite's 64 bits")
        return one

    def order(self, one: Typed, *, descending: bool) -> str:
        return self.key(one) + (" DESC" if descending else "")
