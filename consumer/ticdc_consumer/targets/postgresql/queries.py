"""Queries of views in PostgreSQL's dialect. Computed numbers are numeric, which is exact and has no
overflow."""

from collections.abc import Mapping, Sequence

from ticdc_encoder.column import TEXTS, Column

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.postgresql.types import column_type
from ticdc_consumer.targets.schema.create import literal
from ticdc_consumer.targets.schema.queries import (
    PortableWords,
    Typed,
    Written,
    called,
    without_zero,
)


def _joined(arguments: Sequence[Typed]) -> str:
    return f"({' || '.join(f'{one.text}::text' for one in arguments)})"


def _part(name: str) -> str:
    return f"EXTRACT({name} FROM {{}})::integer"


_FUNCTIONS: Mapping[str, Written] = {
    "COALESCE": called("COALESCE"),
    "NULLIF": lambda of: f"NULLIF({of[0].text}, {of[1].text})",
    "CONCAT": _joined,
    "LEFT": called("left"),
    "RIGHT": called("right"),
    "SUBSTRING": called("substr"),
    "CHAR_LENGTH": called("char_length"),
    "ABS": called("abs"),
    "CEIL": lambda of: f"ceil({of[0].text}::numeric)",
    "FLOOR": lambda of: f"floor({of[0].text}::numeric)",
    "YEAR": lambda of: _part("YEAR").format(of[0].text),
    "MONTH": lambda of: _part("MONTH").format(of[0].text),
    "DAYOFMONTH": lambda of: _part("DAY").format(of[0].text),
    "DATE": lambda of: f"({of[0].text})::date",
}


class PostgreSqlWords(PortableWords):
    same = "IS NOT DISTINCT FROM"
    functions = _FUNCTIONS

    def comparable(self, text: str) -> str:
        return f"rtrim({text}, ' ') COLLATE \"C\""

    def column_type(self, column: Column) -> str:
        return column_type(column)

    def is_own(self, column: Column, existing: TargetColumn | None) -> bool:
        if existing is not None and column.type.name in TEXTS:
            return existing.type == "text" or existing.type.startswith("character varying")
        return super().is_own(column, existing)

    def value(self, one: Typed) -> Typed:
        return Typed(f"({one.text})::integer", one.kind) if one.condition else one

    def condition(self, one: Typed) -> str:
        return one.text if one.condition else f"({one.text} <> 0)"

    def of_group(self, one: Typed) -> Typed:
        return Typed(f'MIN({one.text} COLLATE "C")', "text") if one.kind == "text" else one

    def moment(self, one: Typed, text: str) -> str:
        return (
            f"{'DATE' if one.kind == 'date' and len(text) == 10 else 'TIMESTAMP'} {literal(text)}"
        )

    def like(self, one: str, pattern: str, *, negated: bool) -> str:
        if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
            raise Unsupported("a LIKE whose pattern ends with a backslash")
        word = "NOT LIKE" if negated else "LIKE"
        return f"{one} COLLATE \"C\" {word} {self.string(pattern)} ESCAPE '\\'"

    def computed(self, operator: str, operands: Sequence[Typed]) -> Typed:
        exact = [Typed(f"{one.text}::numeric", one.kind) for one in operands]
        if operator in ("DIV", "%"):
            left, right = without_zero(exact)
            return Typed(f"{'div' if operator == 'DIV' else 'mod'}({left}, {right})", "integer")
        return super().computed(operator, exact)

    def order(self, one: Typed, *, descending: bool) -> str:
        return f"{self.key(one)} {'DESC NULLS LAST' if descending else 'NULLS FIRST'}"
