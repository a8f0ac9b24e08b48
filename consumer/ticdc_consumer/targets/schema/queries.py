"""The queries of views: the types of their expressions, and the SQL that differs between databases.

The SQL here is as MySQL, MariaDB and TiDB read it alike; another database states its differences,
and the expressions that it does not compute as TiDB does.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ticdc_encoder.column import INTEGERS, TEXTS, Column

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.schema.create import literal

Kind = Literal[
    "integer",
    "decimal",
    "double",
    "text",
    "date",
    "datetime",
    "timestamp",
    "string",
    "null",
    "plain",
]
"""`text` compares by its characters, trailing spaces aside; `string` is a literal. `timestamp` is
an instant, whatever time zone the session shows it in."""

PADDED = frozenset({"utf8mb4_bin", "utf8mb3_bin", "utf8_bin", "latin1_bin", "ascii_bin"})
"""The collations of `text`."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression in the target's SQL. A `condition` is not a number there. `scale` is the number
    of digits after the point of a DECIMAL or of a DATETIME's seconds (-1: unknown), `most` the
    greatest magnitude of a number without its point, if the target needs it. `value` is the text of
    a `string`."""

    text: str
    kind: Kind
    condition: bool = False
    scale: int = 0
    most: int | None = None
    value: str = ""


def kind_of(column: Column, collation: str | None) -> Kind:
    """The kind of an upstream column; `collation` is that of the target's own column."""
    type_ = column.type
    if type_.name in INTEGERS:
        return "integer"
    if type_.name in ("decimal", "double", "date", "datetime", "timestamp"):
        return type_.name  # type: ignore[return-value]
    if type_.name in TEXTS and type_.collation in PADDED and collation in PADDED:
        return "text"
    return "plain"


class QueryWords:
    """The SQL of the MySQL family, except for texts."""

    orders_alike = True
    """True if NULL comes first and texts are sorted and grouped as in TiDB."""
    compares_doubles = True
    """True if a DOUBLE compares with exact numbers as in TiDB."""
    computes_joined = True
    """True if a RIGHT JOIN is certain to exist."""
    one_value = True
    """True if a query used as a value is refused if it has several rows."""

    def string(self, text: str) -> str:
        return literal(text)

    def column(
        self, text: str, column: Column, existing: TargetColumn | None, *, collated: bool
    ) -> Typed:
        """Writes a column; `existing` is the target's, if it is unchanged since it was read.
        `collated`: the upstream collation of the column is certain."""
        collation = existing.collation if existing is not None and collated else None
        return Typed(text, kind_of(column, collation), scale=column.type.decimals or 0)

    def value(self, one: Typed) -> Typed:
        """Converts a condition to its number in TiDB."""
        return one

    def condition(self, one: Typed) -> str:
        """Converts a number to its condition in TiDB."""
        return one.text

    def selected(self, one: Typed) -> str:
        """Returns the expression as it is selected."""
        return one.text

    def derived(self, text: str, of: Typed) -> Typed:
        """Returns a column of a nested query."""
        kind: Kind = "plain" if of.kind == "string" else of.kind
        return replace(of, text=text, kind=kind, condition=False, value="")

    def key(self, one: Typed) -> str:
        """Returns an expression that is equal, and sorted, as the given one is in TiDB."""
        return one.text

    def of_group(self, one: Typed) -> Typed:
        """Returns one of the values of a group whose keys are equal."""
        return one

    def beside(self, one: Typed, other: Typed) -> str:
        """Returns the other expression in a form that compares with the key of the first."""
        return other.text

    def compared(self, operator: str, left: Typed, right: Typed) -> str:
        return f"{left.text} {operator} {right.text}"

    def like(self, one: str, pattern: str, *, negated: bool) -> str:
        # In the consumer's session a backslash alone is no escape.
        escape = r" ESCAPE '\'" if "\\" in pattern else ""
        return f"{one} {'NOT LIKE' if negated else 'LIKE'} {self.string(pattern)}{escape}"

    def number(self, text: str) -> Typed:
        return Typed(
            text, "decimal" if "." in text else "integer", scale=len(text.partition(".")[2])
        )

    def computed(self, operator: str, operands: Sequence[Typed]) -> Typed:
        """Computes with two exact numbers."""
        kind: Kind = "decimal" if "decimal" in {one.kind for one in operands} else "integer"
        scales = [one.scale for one in operands]
        scale = sum(scales) if operator == "*" else max(scales)
        return Typed(f" {operator} ".join(one.text for one in operands), kind, scale=scale)

    def call(self, name: str, arguments: Sequence[Typed], kind: Kind) -> Typed:
        scale = max((one.scale for one in arguments), default=0)
        return Typed(f"{name}({', '.join(one.text for one in arguments)})", kind, scale=scale)

    def order(self, one: Typed, *, descending: bool) -> str:
        return one.text + (" DESC" if descending else "")


Written = Callable[[Sequence[Typed]], str]


class PortableWords(QueryWords, ABC):
    """The SQL that PostgreSQL and SQLite share."""

    orders_alike = False
    compares_doubles = False
    functions: Mapping[str, Written] = {}
    """The SQL of each function with the same meaning."""
    same = "="
    """The operator that treats NULL as equal to NULL."""

    @abstractmethod
    def comparable(self, text: str) -> str:
        """Returns a text compared by its bytes, trailing spaces aside."""

    @abstractmethod
    def column_type(self, column: Column) -> str:
        """The type of a column that the consumer creates."""

    def is_own(self, column: Column, existing: TargetColumn | None) -> bool:
        """Returns whether the target's column is like those that the consumer creates: others may
        hold values that are no number or date there."""
        return existing is None or existing.type.lower() == self.column_type(column).lower()

    def column(
        self, text: str, column: Column, existing: TargetColumn | None, *, collated: bool
    ) -> Typed:
        kind = kind_of(column, column.type.collation if collated else None)
        if not self.is_own(column, existing):
            kind = "plain"
        return Typed(text, kind, scale=column.type.decimals or 0)

    def key(self, one: Typed) -> str:
        return self.comparable(one.text) if one.kind == "text" else one.text

    def beside(self, one: Typed, other: Typed) -> str:
        if other.kind == "string" and one.kind == "text":
            return self.string(other.value.rstrip(" "))
        if other.kind == "string":
            return self.moment(one, other.value)
        return self.key(other)

    @abstractmethod
    def moment(self, one: Typed, text: str) -> str:
        """Writes a literal that compares with a DATE or DATETIME."""

    def compared(self, operator: str, left: Typed, right: Typed) -> str:
        operator = self.same if operator == "<=>" else operator
        if left.kind == "string" or right.scale > left.scale:
            return f"{self.beside(right, left)} {operator} {self.key(right)}"
        return f"{self.key(left)} {operator} {self.beside(left, right)}"

    def call(self, name: str, arguments: Sequence[Typed], kind: Kind) -> Typed:
        if name not in self.functions:
            raise Unsupported(f"{name} is not certain to mean the same here")
        scale = max((one.scale for one in arguments), default=0)
        bounds = [one.most for one in arguments if one.kind != "null"]
        most = None if None in bounds else max(filter(None, bounds), default=0)
        return Typed(self.functions[name](arguments), kind, scale=scale, most=most)


def called(name: str) -> Written:
    return lambda arguments: f"{name}({', '.join(one.text for one in arguments)})"


def without_zero(operands: Sequence[Typed]) -> tuple[str, str]:
    """Returns two operands, the second with NULL instead of 0."""
    left, right = operands
    return left.text, f"nullif({right.text}, 0)"


def in_scale(one: Typed, scale: int) -> Typed:
    """Returns a scaled integer with more digits after the point. Raises `Unsupported` for fewer."""
    if scale < one.scale:
        raise Unsupported("it compares numbers with another number of decimals")
    factor = 10 ** (scale - one.scale)
    if factor == 1:
        return one
    most = None if one.most is None else one.most * factor
    return replace(one, text=f"({one.text} * {factor})", scale=scale, most=most)
