"""Virtual generated columns in the MySQL family: unchanged if the expression reads the same.

`FUNCTIONS` lists the functions that do, each tested against a real TiDB
(`tests/ddl/test_generated.py`). It excludes results that depend on a collation, a time zone or
sql_mode and, outside TiDB, functions that MySQL and MariaDB compute differently: LOWER and UPPER
(of letters beyond ASCII), JSON (its text is a LONGTEXT there), casts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.sql.expression import Call

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.mysql.quoting import quote_name, string_literal
from ticdc_consumer.targets.schema.generated import (
    COMMON,
    ExpressionWriter,
    Template,
    WriterOf,
    Written,
    bounded,
    called,
    infix,
)
from ticdc_consumer.targets.schema.meanings import (
    LONGEST_JSON,
    Kind,
    Meaning,
    is_double,
    text_limit,
)

_TIDB = frozenset({"tidb"})
_ALL = frozenset({"mysql", "mariadb", "tidb"})


def _divided(operator: str) -> Template:
    # The consumer's session would refuse a row whose division by zero is NULL upstream, and TiDB
    # has no NULLIF here.
    def divided(operands: Sequence[Written]) -> str:
        left, right = (each.text for each in operands)
        return f"({left} {operator} CASE WHEN {right} = 0 THEN NULL ELSE {right} END)"

    return divided


TEMPLATES: Mapping[str, Template] = {
    **COMMON,
    "DIV": _divided("DIV"),
    "%": _divided("%"),
    "<=>": infix("<=>"),
    "XOR": infix("XOR"),
    "CONCAT": called("CONCAT"),
    "LENGTH": called("LENGTH"),
    "CHAR_LENGTH": called("CHAR_LENGTH"),
}
"""Operators and functions that PostgreSQL's and SQLite's translators share."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function: the kinds of its operands (the last one applies to all that follow), the meaning
    of its result, and the servers where it holds."""

    operands: tuple[frozenset[Kind], ...]
    result: Callable[[Sequence[Meaning]], Meaning]
    where: frozenset[str] = _ALL


def _kinds(*kinds: Kind) -> frozenset[Kind]:
    return frozenset(kinds)


_NUMBER, _TEXT, _JSON = _kinds("number"), _kinds("text"), _kinds("json")
_DATE, _MOMENT = _kinds("date", "datetime"), _kinds("datetime")


def _number(low: int, high: int, scale: int = 0) -> Callable[[Sequence[Meaning]], Meaning]:
    return lambda _: Meaning("number", low, high, scale)


def _text(length: int) -> Callable[[Sequence[Meaning]], Meaning]:
    return lambda _: Meaning("text", length=length)


def _same(operands: Sequence[Meaning]) -> Meaning:
    return operands[0]


def _magnitude(operands: Sequence[Meaning]) -> Meaning:
    (of,) = operands
    high = max(abs(of.low), abs(of.high))
    return Meaning("number", 0, high, of.scale, of.unsigned)


def _separated(operands: Sequence[Meaning]) -> Meaning:
    between = operands[0].length * max(len(operands) - 2, 0)
    return Meaning("text", length=between + sum(each.length for each in operands[1:]))


def _longer(operands: Sequence[Meaning]) -> Meaning:
    return Meaning("text", length=operands[0].length * 3)  # as SS for ß


def _rounded(operands: Sequence[Meaning]) -> Meaning:
    of = operands[0]
    if len(operands) > 1:
        raise Unsupported("it rounds to digits behind the point")
    factor = 10**of.scale
    return Meaning("number", of.low // factor - 1, of.high // factor + 1, 0, of.unsigned)


def _result(kind: Kind) -> Callable[[Sequence[Meaning]], Meaning]:
    return lambda _: Meaning(kind, length=LONGEST_JSON)


FUNCTIONS: Mapping[str, Function] = {
    "ABS": Function((_NUMBER,), _magnitude),
    "SIGN": Function((_NUMBER,), _number(-1, 1)),
    "LEFT": Function((_TEXT, _NUMBER), _same),
    "RIGHT": Function((_TEXT, _NUMBER), _same),
    "REVERSE": Function((_TEXT,), _same),
    "CONCAT_WS": Function((_TEXT, _TEXT), _separated),
    "MD5": Function((_TEXT,), _text(32)),
    "SHA1": Function((_TEXT,), _text(40)),
    "CRC32": Function((_TEXT,), _number(0, (1 << 32) - 1)),
    "HEX": Function((_TEXT,), lambda of: Meaning("text", length=of[0].length * 8)),
    "YEAR": Function((_DATE,), _number(0, 9999)),
    "MONTH": Function((_DATE,), _number(0, 12)),
    "QUARTER": Function((_DATE,), _number(0, 4)),
    "DAY": Function((_DATE,), _number(0, 31)),
    "DAYOFMONTH": Function((_DATE,), _number(0, 31)),
    "HOUR": Function((_MOMENT,), _number(0, 23)),
    "MINUTE": Function((_MOMENT,), _number(0, 59)),
    "SECOND": Function((_MOMENT,), _number(0, 59)),
    "DATE": Function((_DATE,), lambda _: Meaning("date")),
    # Only in TiDB.
    "LOWER": Function((_TEXT,), _longer, _TIDB),
    "UPPER": Function((_TEXT,), _longer, _TIDB),
    "SUBSTRING": Function((_TEXT, _NUMBER), _same, _TIDB),
    "SUBSTR": Function((_TEXT, _NUMBER), _same, _TIDB),
    "TRIM": Function((_TEXT,), _same, _TIDB),
    "LTRIM": Function((_TEXT,), _same, _TIDB),
    "RTRIM": Function((_TEXT,), _same, _TIDB),
    "SHA2": Function((_TEXT, _NUMBER), _text(128), _TIDB),
    "FLOOR": Function((_NUMBER,), _rounded, _TIDB),
    "CEIL": Function((_NUMBER,), _rounded, _TIDB),
    "CEILING": Function((_NUMBER,), _rounded, _TIDB),
    "ROUND": Function((_NUMBER,), _rounded, _TIDB),
    "JSON_EXTRACT": Function((_JSON, _TEXT), _result("json"), _TIDB),
    "JSON_UNQUOTE": Function((_JSON,), _result("text"), _TIDB),
    "JSON_LENGTH": Function((_JSON, _TEXT), _number(0, 1 << 32), _TIDB),
    "JSON_TYPE": Function((_JSON,), _text(20), _TIDB),
}
"""The functions that MySQL, MariaDB and TiDB have beyond `TEMPLATES`."""


class MySqlWriter(ExpressionWriter):
    templates = TEMPLATES

    def __init__(
        self, dialect: Dialect, columns: Mapping[str, Column], quote: Callable[[str], str]
    ) -> None:
        super().__init__(columns, quote)
        self._dialect = dialect

    def call(self, call: Call) -> Written:
        function = FUNCTIONS.get(call.name)
        if function is None or self._dialect.name not in function.where:
            return super().call(call)
        operands = [self.write(each) for each in call.operands]
        if not operands:
            raise Unsupported(f"{call.name} without operands")
        for at, operand in enumerate(operands):
            allowed = function.operands[min(at, len(function.operands) - 1)]
            if operand.meaning.kind not in allowed:
                raise Unsupported(f"{call.name} of another type than is certain here")
        meaning = function.result([each.meaning for each in operands])
        texts = ", ".join(each.text for each in operands)
        return Written(f"{call.name}({texts})", meaning)

    def column(self, column: Column, meaning: Meaning) -> Written:
        return Written(self.quote(column.name), meaning)

    def literal(self, text: str) -> str:
        if "\0" in text:
            raise Unsupported("a NUL character in it")
        if "'" in text or "\\" in text:
            # MySQL writes a backslash before either, and reads it again under the current sql_mode.
            return f"CONVERT(x'{text.encode().hex()}' USING utf8mb4)"
        return string_literal(text)

    def stored(self, value: Written, column: Column) -> str:
        """The value as the server converts it, without conversions that would raise warnings in the
        consumer's session."""
        meaning, name = value.meaning, column.type.name
        decimals = column.type.decimals or 0
        if meaning.kind == "null" or meaning.kind == name == "date":
            return value.text
        if meaning.kind in ("number", "truth"):
            if meaning.kind == "truth" or name in INTEGERS or name == "decimal":
                text = bounded(value, column)
                return f"ROUND({text}, {decimals})" if meaning.scale > decimals else text
            if name == "double" and is_double(meaning):
                return value.text
        if meaning.kind == name == "json" and self._dialect.name == "tidb":
            return value.text
        longest = text_limit(meaning, column)
        return value.text if longest is None else f"LEFT({value.text}, {longest})"


def writer_of(dialect: Dialect) -> WriterOf:
    return lambda columns: MySqlWriter(
        dialect, columns, lambda name: quote_name(name, dialect.wide_names)
    )
