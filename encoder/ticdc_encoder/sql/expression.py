"""The expression of a generated column, read by MySQL's precedence of operators.

What depends on sql_mode (`||`, `!`) is refused, and so is any syntax that is not listed here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.sql.words import SqlWords


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column of the same table."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """Digits, perhaps with a point: an integer or a DECIMAL."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Null:
    pass


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function by its name in upper case, `NEG` the sign, `CASE` with operands
    condition, value, condition, value, ..., value; `to` is the type of a `CAST`."""

    name: str
    operands: tuple["Expression", ...]
    to: str = ""


UTF8 = ("_UTF8MB4", "_UTF8", "_ASCII")
"""Introducers of a text that is the same in UTF-8."""

Expression = ColumnName | Number | Text | Null | Call

_COMPARISONS = ("<=>", ">=", "<=", "<>", "!=", "=", "<", ">")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?|\.[0-9]+")
_DEEPEST = 50
_CASTS = ("SIGNED", "UNSIGNED", "CHAR", "DECIMAL", "DATE", "DATETIME", "JSON")
_RESERVED = ("BINARY", "COLLATE", "INTERVAL", "EXISTS", "SELECT", "ROW", "DEFAULT", "CASE", "NOT")


def parse_expression(text: str) -> Expression:
    """Parses an expression. Raises `DefinitionError` for unknown syntax."""
    reader = _Reader(SqlWords(text))
    expression = reader.whole()
    if not reader.words.done():
        raise DefinitionError(f"unexpected {reader.words.upcoming()}")
    return expression


def names(expression: Expression) -> Iterator[str]:
    """The columns that it reads."""
    match expression:
        case ColumnName(name):
            yield name
        case Call(_, operands):
            for operand in operands:
                yield from names(operand)


class _Reader:
    def __init__(self, words: SqlWords) -> None:
        self.words = words
        self._depth = 0

    def whole(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise DefinitionError("an expression of too many parentheses")
        left = self._either()
        while self.words.take("OR"):
            left = Call("OR", (left, self._either()))
        self._depth -= 1
        return left

    def _either(self) -> Expression:
        left = self._both()
        while self.words.take("XOR"):
            left = Call("XOR", (left, self._both()))
        return left

    def _both(self) -> Expression:
        left = self._negation()
        while self.words.take("AND") or self.words.take("&&"):
            left = Call("AND", (left, self._negation()))
        return left

    def _negation(self) -> Expression:
        nots = 0
        while self.words.take("NOT"):
            nots += 1
        expression = self._comparison()
        for _ in range(nots):
            expression = Call("NOT", (expression,))
        return expression

    def _comparison(self) -> Expression:
        left = self._sum()
        while True:
            if operator := next((each for each in _COMPARISONS if self.words.take(each)), None):
                left = Call("<>" if operator == "!=" else operator, (left, self._sum()))
            elif self.words.take("IS"):
                negated = self.words.take("NOT")
                self.words.expect("NULL")
                left = Call("IS NULL", (left,))
                left = Call("NOT", (left,)) if negated else left
            elif self.words.take("IN", "("):
                left = Call("IN", (left, *self._list()))
            elif self.words.take("NOT", "IN", "("):
                left = Call("NOT", (Call("IN", (left, *self._list())),))
            else:
                return left

    def _sum(self) -> Expression:
        left = self._product()
        while True:
            for operator in "+", "-":
                if self.words.take(operator):
                    left = Call(operator, (left, self._product()))
                    break
            else:
                return left

    def _product(self) -> Expression:
        left = self._signed()
        while True:
            for operator, name in ("*", "*"), ("/", "/"), ("%", "%"), ("MOD", "%"), ("DIV", "DIV"):
                if self.words.take(operator):
                    left = Call(name, (left, self._signed()))
                    break
            else:
                return left

    def _signed(self) -> Expression:
        minus = 0
        while (negative := self.words.take("-")) or self.words.take("+"):
            minus += negative
        expression = self._arrow()
        for _ in range(minus):
            expression = Call("NEG", (expression,))
        return expression

    def _arrow(self) -> Expression:
        """A column, perhaps with `->` or `->>` and a path."""
        expression = self._simple()
        if isinstance(expression, ColumnName):
            if self.words.take("->>"):
                extracted = Call("JSON_EXTRACT", (expression, Text(self._string())))
                return Call("JSON_UNQUOTE", (extracted,))
            if self.words.take("->"):
                return Call("JSON_EXTRACT", (expression, Text(self._string())))
        return expression

    def _simple(self) -> Expression:
        words = self.words
        if words.take("("):
            expression = self.whole()
            words.expect(")")
            return expression
        match words.kind():
            case "number":
                text = words.next()
                if not _NUMBER.fullmatch(text):
                    raise DefinitionError(f"the number {text[:40]!r} is not understood")
                return Number(text)
            case "string":
                return Text(self._string())
            case "name":
                return self._column(words.next())
            case "word":
                return self._word()
        raise DefinitionError(f"unexpected {words.upcoming()}")

    def _word(self) -> Expression:
        words = self.words
        if words.at_introducer():
            return Text(self._string())
        for word, expression in ("NULL", Null()), ("TRUE", Number("1")), ("FALSE", Number("0")):
            if words.take(word):
                return expression
        if words.take("CASE"):
            return self._case()
        if words.take("CAST", "("):
            operand = self.whole()
            words.expect("AS")
            return Call("CAST", (operand,), self._type())
        name = words.next("word")
        if name.upper() in _RESERVED or name.startswith("_"):
            raise DefinitionError(f"{name[:40]} is not understood")
        if words.take("("):
            operands = () if words.take(")") else self._list()
            return Call("%" if name.upper() == "MOD" else name.upper(), operands)
        return self._column(name)

    def _column(self, name: str) -> Expression:
        if self.words.at("(") or self.words.at("."):
            raise DefinitionError(f"unexpected {self.words.upcoming()} after {name[:40]!r}")
        return ColumnName(name)

    def _list(self) -> tuple[Expression, ...]:
        """The operands, and the parenthesis behind them."""
        operands = [self.whole()]
        while self.words.take(","):
            operands.append(self.whole())
        self.words.expect(")")
        return tuple(operands)

    def _case(self) -> Expression:
        words, operands = self.words, list[Expression]()
        while words.take("WHEN"):
            operands.append(self.whole())
            words.expect("THEN")
            operands.append(self.whole())
        if not operands:
            raise DefinitionError("CASE of a value is not understood")
        operands.append(self.whole() if words.take("ELSE") else Null())
        words.expect("END")
        return Call("CASE", tuple(operands))

    def _type(self) -> str:
        """The type of a CAST, and the parenthesis behind it."""
        words = self.words
        name = next((each for each in _CASTS if words.take(each)), None)
        if name is None:
            raise DefinitionError(f"a cast to {words.upcoming()} is not understood")
        _ = name in ("SIGNED", "UNSIGNED") and words.take("INTEGER")
        numbers = []
        if words.take("("):
            numbers.append(words.integer())
            if words.take(","):
                numbers.append(words.integer())
            words.expect(")")
        words.expect(")")
        return name + (f"({','.join(map(str, numbers))})" if numbers else "")

    def _string(self) -> str:
        words = self.words
        if words.at_introducer() and not any(map(words.at, UTF8)):
            raise DefinitionError(f"a string of {words.upcoming()} is not understood")
        return words.string()
