"""SQL conditions over a row, as the event filters of a changefeed have them.

sqlglot reads them; a part of MySQL's expressions is evaluated here, by the types of the table's
columns as TiDB compares them: `=` `<=>` `<>` `<` `<=` `>` `>=`, BETWEEN, IN, LIKE, IS, AND, OR,
XOR, NOT, `+` `-` `*` `%`, LOWER, UPPER, LENGTH, CHAR_LENGTH, COALESCE and IFNULL. Everything else
is refused, and so is what depends on the order of a collation that is not binary.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from struct import pack, unpack
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ticdc_encoder.collation import folded, is_binary
from ticdc_encoder.column import INTEGERS, TEXTS, Column
from ticdc_encoder.errors import ConfigError, DefinitionError
from ticdc_encoder.event import Row, Table
from ticdc_encoder.filters.comparison import (
    Term,
    comparable,
    datetime,
    duration,
    leading_number,
    through,
    utf_8_bytes,
)
from ticdc_encoder.filters.go_regexp import GoRegexp, literal
from ticdc_encoder.values import server_time

Condition = Callable[[Row], bool]


def condition(text: str, table: Table, time_zone: str = "UTC") -> Condition:
    """A test for rows of the table for which the expression is 1, as TiCDC asks: NULL and other
    numbers do not count. TIMESTAMP is in `time_zone`. Raises ConfigError for text that is not SQL,
    for unknown columns, and for expressions that are not evaluated here."""
    try:
        term = _Compiler(table, time_zone).term(parsed(text))
    except ConfigError as error:
        error.add_note(f"in the expression {text!r}")
        raise

    def holds(row: Row) -> bool:
        value = term.value(row)
        return term.kind == "number" and isinstance(value, int) and value == 1

    return holds


def parsed(text: str) -> exp.Expression:
    """The expression's tree. Raises ConfigError for text that is not SQL."""
    try:
        tree: Any = sqlglot.parse_one(text, read="mysql")
    except (SqlglotError, ValueError, RecursionError) as error:
        raise ConfigError(f"not an SQL expression: {text!r}") from error
    expression: exp.Expression = tree
    return expression


_COMPARISONS: dict[type[exp.Expression], Callable[[Any, Any], bool]] = {
    exp.EQ: eq,
    exp.NEQ: ne,
    exp.LT: lt,
    exp.LTE: le,
    exp.GT: gt,
    exp.GTE: ge,
}
_ARITHMETIC: dict[type[exp.Expression], Callable[[Any, Any], Any]] = {
    exp.Add: add,
    exp.Sub: sub,
    exp.Mul: mul,
    exp.Mod: lambda a, b: None if b == 0 else (abs(a) % abs(b)) * (-1 if a < 0 else 1),
}
_NULL = Term("null", lambda row: None)


class _Compiler:
    def __init__(self, table: Table, time_zone: str) -> None:
        self._table = table
        self._columns = {column.name.lower(): column for column in table.columns}
        self._local = server_time(time_zone)

    def term(self, node: exp.Expression) -> Term:
        kind = type(node)
        if kind in _COMPARISONS:
            return self._compared(node.this, node.expression, _COMPARISONS[kind])
        if kind in _ARITHMETIC:
            return self._arithmetic(node, _ARITHMETIC[kind])
        match node:
            case exp.Paren():
                return self.term(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Null():
                return _NULL
            case exp.Boolean():
                return _constant(int(node.this))
            case exp.Literal():
                return _literal(node)
            case exp.Neg(this=exp.Literal(is_string=False)):
                number = _literal(node.this).value({})
                return _constant(-number)
            case exp.NullSafeEQ():
                return self._null_safe(node)
            case exp.And() | exp.Or() | exp.Xor():
                return self._logical(node)
            case exp.Not():
                return _number(_negated(self._truth(node.this)))
            case exp.Is():
                return self._is(node)
            case exp.In() if node.expressions:
                return self._in(node.this, node.expressions)
            case exp.Between():
                low = self._compared(node.this, node.args["low"], ge)
                high = self._compared(node.this, node.args["high"], le)
                return _number(_and(low.value, high.value))
            case exp.Like():
                return self._like(node)
            case exp.Coalesce():
                return self._coalesce([node.this, *node.expressions])
            case exp.Lower() | exp.Upper() | exp.Length():
                return self._of_text(node)
        raise ConfigError(f"{kind.__name__.upper()} is not evaluated")

    def _column(self, node: exp.Column) -> Term:
        table, column = self._table, self._columns.get(node.name.lower())
        if column is None or (node.table and node.table.lower() != table.name.lower()):
            raise ConfigError(f"{table.schema}.{table.name} has no column {node.name}")
        if column.generated == "virtual":
            raise ConfigError(f"column {column.name} is virtual: its values are not known here")
        name = column.name

        def value(row: Row) -> Any:
            try:
                return row[name]
            except KeyError:
                raise DefinitionError(
                    f"a row of {table.schema}.{table.name} without `{name}`, which is filtered by"
                ) from None

        return self._typed(column, value)

    def _typed(self, column: Column, value: Callable[[Row], Any]) -> Term:
        type_ = column.type
        if type_.name in INTEGERS or type_.name in ("decimal", "year", "bit"):
            return Term("number", value)
        if type_.name == "float":
            return Term("float", through(value, _single))
        if type_.name == "double":
            return Term("float", value)
        if type_.name in TEXTS:
            return Term("text", value, type_.collation or self._table.collation)
        if type_.binary:
            return Term("bytes", value)
        if type_.name == "enum" and type_.elements:
            return Term("enum", value, type_.collation, type_.elements)
        if type_.name == "timestamp":
            return Term("datetime", through(value, lambda v: datetime(self._local(v))))
        if type_.name in ("date", "datetime"):
            return Term("datetime", through(value, datetime))
        if type_.name == "time":
            return Term("time", through(value, duration))
        raise ConfigError(f"column {column.name} is {type_.name}, which is not evaluated")

    # Comparing.

    def _compared(
        self, left: exp.Expression, right: exp.Expression, test: Callable[[Any, Any], bool]
    ) -> Term:
        first, second = comparable(self.term(left), self.term(right), ordered=test not in (eq, ne))

        def compared(row: Row) -> int | None:
            a, b = first(row), second(row)
            return None if a is None or b is None else int(test(a, b))

        return _number(compared)

    def _null_safe(self, node: exp.Expression) -> Term:
        first, second = comparable(self.term(node.this), self.term(node.expression), ordered=False)
        return _number(lambda row: int(first(row) == second(row)))

    def _in(self, node: exp.Expression, options: Sequence[exp.Expression]) -> Term:
        result = self._compared(node, options[0], eq).value
        for option in options[1:]:
            result = _or(result, self._compared(node, option, eq).value)
        return _number(result)

    def _like(self, node: exp.Like) -> Term:
        subject, pattern = self.term(node.this), self.term(node.expression)
        if subject.kind != "text" or pattern.literal is None:
            raise ConfigError("LIKE is evaluated for a text column and a constant alone")
        sought = pattern.literal if is_binary(subject.collation) else _runes(pattern.literal)
        parts = re.findall(r"\\.|[^\\]|\\$", sought, re.DOTALL)
        expression = "".join(_LIKE.get(part) or literal(part[-1]) for part in parts)
        matches = GoRegexp(rf"(?s:\A{expression}\z)").found_in
        seen = _runes if not is_binary(subject.collation) else str
        value = through(subject.value, lambda text: int(matches(seen(text))))
        return _number(_negated(value) if node.args.get("negate") else value)

    def _is(self, node: exp.Expression) -> Term:
        if isinstance(node.expression, exp.Null):
            value = self.term(node.this).value
            return _number(lambda row: int(value(row) is None))
        if not isinstance(node.expression, exp.Boolean):
            raise ConfigError("IS is evaluated for NULL, TRUE and FALSE alone")
        truth, expected = self._truth(node.this), int(node.expression.this)
        return _number(lambda row: int(truth(row) == expected))

    # Truth.

    def _truth(self, node: exp.Expression) -> Callable[[Row], int | None]:
        term = self.term(node)
        if term.kind in ("number", "float", "enum"):
            return through(term.value, lambda value: int(value != 0))
        if term.kind == "text":
            return through(term.value, lambda value: int(leading_number(value) != 0))
        if term.kind == "null":
            return lambda row: None
        raise ConfigError(f"a {term.kind} is not a condition")

    def _logical(self, node: exp.Expression) -> Term:
        first, second = self._truth(node.this), self._truth(node.expression)
        if isinstance(node, exp.And):
            return _number(_and(first, second))
        if isinstance(node, exp.Or):
            return _number(_or(first, second))

        def either(row: Row) -> int | None:
            a, b = first(row), second(row)
            return None if a is None or b is None else int(a != b)

        return _number(either)

    # Values.

    def _arithmetic(self, node: exp.Expression, operation: Callable[[Any, Any], Any]) -> Term:
        terms = self.term(node.this), self.term(node.expression)
        if not all(term.kind in ("number", "float", "null") for term in terms):
            raise ConfigError("arithmetic is evaluated for numbers alone")
        inexact = "float" in (terms[0].kind, terms[1].kind)

        def value(row: Row) -> Any:
            a, b = terms[0].value(row), terms[1].value(row)
            if a is None or b is None:
                return None
            if isinstance(a, Decimal) or isinstance(b, Decimal) or inexact:
                a, b = (float(a), float(b)) if inexact else (Decimal(a), Decimal(b))
            with localcontext(prec=65):
                return operation(a, b)

        return Term("float" if inexact else "number", value)

    def _coalesce(self, nodes: Sequence[exp.Expression]) -> Term:
        terms = [term for node in nodes if (term := self.term(node)).kind != "null"]
        if not terms or len({(term.kind, term.collation) for term in terms}) > 1:
            raise ConfigError("COALESCE is evaluated for values of one type alone")
        values = [term.value for term in terms]

        def value(row: Row) -> Any:
            return next((v for each in values if (v := each(row)) is not None), None)

        return Term(terms[0].kind, value, terms[0].collation)

    def _of_text(self, node: exp.Expression) -> Term:
        term = self.term(node.this)
        if term.kind != "text" and not (term.kind == "bytes" and isinstance(node, exp.Length)):
            raise ConfigError(f"{type(node).__name__.upper()} is evaluated for texts alone")
        if isinstance(node, exp.Length):
            in_bytes = node.args.get("binary")
            return _number(
                through(term.value, lambda v: len(utf_8_bytes(v)) if in_bytes else len(v))
            )
        change = str.lower if isinstance(node, exp.Lower) else str.upper
        return Term("text", through(term.value, change), term.collation)


def _runes(text: str) -> str:
    """Each character without case and marks, as LIKE compares them one by one."""
    return "".join([folded(character)[:1] or character for character in text])


_LIKE = {"%": ".*", "_": "."}


def _single(value: float) -> float:
    """The double equal to the FLOAT, from the one nearest to its shortest decimal."""
    single: float = unpack("f", pack("f", value))[0]
    return single


def _number(value: Callable[[Row], Any]) -> Term:
    return Term("number", value)


def _constant(value: float | Decimal) -> Term:
    return Term("float" if isinstance(value, float) else "number", lambda row: value)


def _literal(node: exp.Literal) -> Term:
    text: str = node.this
    if node.is_string:
        return Term("text", lambda row: text, literal=text)
    try:
        if "e" in text.lower():
            return _constant(float(text))
        return _constant(int(text) if text.isdecimal() else Decimal(text))
    except (ValueError, ArithmeticError) as error:
        raise ConfigError(f"not an SQL expression: {text[:40]!r} is not a number") from error


def _negated(value: Callable[[Row], int | None]) -> Callable[[Row], int | None]:
    return through(value, lambda truth: 1 - truth)


def _and(
    first: Callable[[Row], int | None], second: Callable[[Row], int | None]
) -> Callable[[Row], int | None]:
    def both(row: Row) -> int | None:
        truths = first(row), second(row)
        return 0 if 0 in truths else None if None in truths else 1

    return both


def _or(
    first: Callable[[Row], int | None], second: Callable[[Row], int | None]
) -> Callable[[Row], int | None]:
    def either(row: Row) -> int | None:
        truths = first(row), second(row)
        return 1 if 1 in truths else None if None in truths else 0

    return either
