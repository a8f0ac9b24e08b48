"""Virtual generated columns in PostgreSQL's dialect. They are STORED here, since PostgreSQL has no
others before 18; readers see the same.

Numbers are numeric, which is exact and has no overflow. JSON is text in the target's columns, and a
part of it is the part of that text.
"""

import json
import re
from collections.abc import Mapping, Sequence

from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.sql.expression import Call, Text

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.postgresql.types import column_type
from ticdc_consumer.targets.schema.create import literal
from ticdc_consumer.targets.schema.generated import (
    COMMON,
    ExpressionWriter,
    Template,
    Written,
    bounded,
    infix,
)
from ticdc_consumer.targets.schema.meanings import (
    Meaning,
    as_number,
    is_double,
    of_column,
    text_limit,
)

LONGEST = 4000
"""The longest expression of a virtual column that others read: each of them repeats it."""
_MEMBERS = re.compile(r'\$((?:\.(?:[A-Za-z_][A-Za-z0-9_]*|"[^"\\]+"))+)')
_MEMBER = re.compile(r'\.([A-Za-z_][A-Za-z0-9_]*|"[^"\\]+")')


def _joined(operands: Sequence[Written]) -> str:
    return f"({' || '.join(_as_text(each) for each in operands)})"


def _as_text(of: Written) -> str:
    return f"{of.text}::text" if of.meaning.kind == "number" else of.text


def _divided(function: str) -> Template:
    return lambda operands: f"{function}({operands[0].text}, nullif({operands[1].text}, 0))"


def _unquoted(operands: Sequence[Written]) -> str:
    (part,) = operands
    return f"CASE json_typeof({part.text}) WHEN 'string' THEN {part.text} #>> '{{}}' " + (
        f"ELSE {part.text}::text END"
    )


TEMPLATES: Mapping[str, Template] = {
    **COMMON,
    "DIV": _divided("div"),
    "%": _divided("mod"),
    "<=>": infix("IS NOT DISTINCT FROM"),
    "XOR": infix("<>"),
    "CONCAT": _joined,
    "LENGTH": lambda operands: f"octet_length({operands[0].text})::numeric",
    "CHAR_LENGTH": lambda operands: f"char_length({operands[0].text})::numeric",
    "JSON_UNQUOTE": _unquoted,
}


class PostgreSqlWriter(ExpressionWriter):
    templates = TEMPLATES

    def call(self, call: Call) -> Written:
        if call.name == "JSON_EXTRACT":
            return self._extracted(call)
        return super().call(call)

    def _extracted(self, call: Call) -> Written:
        """Extracts members by name: array positions act differently on arrays of one here."""
        path = call.operands[1] if len(call.operands) == 2 else None
        if not isinstance(path, Text) or not (match := _MEMBERS.fullmatch(path.text)):
            raise Unsupported("a JSON path other than of members ($.a.b)")
        of = self.write(call.operands[0])
        if of.meaning.kind != "json":
            raise Unsupported("it looks for a JSON path in what is no JSON")
        text = of.text
        for member in _MEMBER.findall(match[1]):
            name = json.loads(member) if member.startswith('"') else member
            text += f" -> {literal(name)}"
        return Written(f"({text})", of.meaning)

    def column(self, column: Column, meaning: Meaning) -> Written:
        cast = {"number": "::numeric", "json": "::json"}.get(meaning.kind, "")
        return Written(self.quote(column.name) + cast, meaning)

    def virtual(self, column: Column) -> Written:
        """Inlines its expression: in PostgreSQL a generated column reads no other."""
        text = self.generated(column)
        if len(text) > LONGEST:
            raise Unsupported(f"the expression of {column.name}, which it reads, is too long")
        meaning = of_column(column)
        cast = {"number": "::numeric", "json": "::json"}.get(meaning.kind, "")
        return Written(f"({text}){cast}", meaning)

    def number(self, text: str) -> str:
        return f"{text}::numeric"

    def literal(self, text: str) -> str:
        if "\0" in text:
            raise Unsupported("a NUL character in it")
        return f"{literal(text)}::text"

    def value(self, of: Written) -> Written:
        if of.meaning.kind != "truth":
            return of
        return Written(f"{of.text}::integer::numeric", as_number(of.meaning))

    def stored(self, value: Written, column: Column) -> str:
        type_, meaning = column_type(column), value.meaning
        name = column.type.name
        if meaning.kind == "null":
            return f"NULL::{type_}"
        if meaning.kind == "number" and (name in INTEGERS or name == "decimal"):
            return f"({bounded(value, column)})::{type_}"
        if meaning.kind == "number" and name == "double" and is_double(meaning):
            return f"({value.text})::{type_}"
        if name == meaning.kind == "json":
            return f"({value.text})::text"
        longest = text_limit(meaning, column)
        return _as_text(value) if longest is None else f"left({_as_text(value)}, {longest})"
