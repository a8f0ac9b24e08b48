"""Virtual generated columns in SQLite's dialect, where they are VIRTUAL, too.

SQLite's integers have 63 bits and a sign; beyond them it continues with floats, so only values
within them are computed. A DECIMAL and an unsigned BIGINT are texts in the target's columns. JSON
is not taken apart: SQLite writes the objects in it without TiDB's spaces.
"""

from collections.abc import Mapping, Sequence

from ticdc_encoder.column import INTEGERS, Column

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.schema.create import literal
from ticdc_consumer.targets.schema.generated import (
    COMMON,
    ExpressionWriter,
    Template,
    Written,
    infix,
)
from ticdc_consumer.targets.schema.meanings import Meaning, beyond, bounds, is_double, text_limit
from ticdc_consumer.targets.sqlite.types import column_type

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1


def _joined(operands: Sequence[Written]) -> str:
    return f"({' || '.join(_as_text(each) for each in operands)})"


def _as_text(of: Written) -> str:
    return f"CAST({of.text} AS TEXT)" if of.meaning.kind == "number" else of.text


def _first(operands: Sequence[Written]) -> str:
    # SQLite's takes two or more.
    texts = [each.text for each in operands]
    return texts[0] if len(texts) == 1 else f"coalesce({', '.join(texts)})"


TEMPLATES: Mapping[str, Template] = {
    **COMMON,
    "DIV": infix("/"),  # by zero it is NULL
    "%": infix("%"),
    "<=>": infix("IS"),
    "XOR": infix("<>"),
    "COALESCE": _first,
    "CONCAT": _joined,
    "LENGTH": lambda operands: f"length(CAST({operands[0].text} AS BLOB))",
}


class SqliteWriter(ExpressionWriter):
    templates = TEMPLATES

    def checked(self, written: Written) -> Written:
        meaning = written.meaning
        if meaning.kind == "number":
            if meaning.scale:
                raise Unsupported("a DECIMAL in it, which is text here")
            if meaning.low < _LEAST or meaning.high > _GREATEST:
                raise Unsupported("a number in it may exceed SQLite's 64 bits")
        return written

    def number(self, text: str) -> str:
        if "." in text or int(text) > _GREATEST:
            raise Unsupported("a number in it that is not one of SQLite's integers")
        return text

    def column(self, column: Column, meaning: Meaning) -> Written:
        if meaning.kind == "number" and column_type(column) != "INTEGER":
            meaning = Meaning("other")
        return Written(self.quote(column.name), meaning)

    def literal(self, text: str) -> str:
        if "\0" in text:
            raise Unsupported("a NUL character in it")
        return literal(text)

    def stored(self, value: Written, column: Column) -> str:
        meaning, name = value.meaning, column.type.name
        if meaning.kind == "null":
            return "NULL"
        if meaning.kind in ("number", "truth"):
            if name in INTEGERS and column_type(column) == "INTEGER":
                return _within(value, column)
            if name == "double" and is_double(meaning):
                return f"CAST({value.text} AS REAL)"
        if text_limit(meaning, column) is not None:
            raise Unsupported("it may be longer than its column is")
        return _as_text(value)


def _within(value: Written, column: Column) -> str:
    """Limits a value to the column's bounds, beyond which TiDB takes values only outside of strict
    mode."""
    beyond_low, beyond_high = beyond(value.meaning, column)
    low, high = bounds(column)
    text = f"min({value.text}, {high})" if beyond_high else value.text
    return f"max({text}, {low})" if beyond_low else text
