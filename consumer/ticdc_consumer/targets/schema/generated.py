"""Virtual generated columns: the ones that a target computes, and their expressions.

Their values are not sent. An expression is rewritten from its meaning, and only if the target
computes the same for all values of its columns; any other column is left out, with a reason.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ticdc_encoder.column import Column
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved
from ticdc_encoder.sql.expression import (
    Call,
    ColumnName,
    Expression,
    Null,
    Number,
    Text,
    names,
    parse_expression,
)

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.schema.meanings import (
    MEANINGS,
    NULL,
    Meaning,
    beyond,
    bounds,
    meaning_of,
    of_column,
    of_number,
)


@dataclass(frozen=True, slots=True)
class Written:
    """An expression in the target's SQL."""

    text: str
    meaning: Meaning


Template = Callable[[Sequence[Written]], str]


def infix(operator: str) -> Template:
    return lambda operands: f"({operands[0].text} {operator} {operands[1].text})"


def called(name: str) -> Template:
    return lambda operands: f"{name}({', '.join(each.text for each in operands)})"


def among(operands: Sequence[Written]) -> str:
    first, *others = operands
    return f"({first.text} IN ({', '.join(each.text for each in others)}))"


def chosen(operands: Sequence[Written]) -> str:
    """Writes CASE, and IF, which is a CASE of one condition."""
    *pairs, otherwise = operands
    branches = " ".join(
        f"WHEN {condition.text} THEN {value.text}"
        for condition, value in zip(pairs[::2], pairs[1::2], strict=True)
    )
    return f"CASE {branches} ELSE {otherwise.text} END"


COMMON: Mapping[str, Template] = {
    **{each: infix(each) for each in ("+", "-", "*", "=", "<>", "<", "<=", ">", ">=")},
    **{each: infix(each) for each in ("AND", "OR")},
    "NEG": lambda operands: f"(- {operands[0].text})",
    "NOT": lambda operands: f"(NOT {operands[0].text})",
    "IS NULL": lambda operands: f"({operands[0].text} IS NULL)",
    "IN": among,
    "IF": chosen,
    "CASE": chosen,
    "IFNULL": called("coalesce"),
    "COALESCE": called("coalesce"),
}
"""Operators and functions that PostgreSQL, SQLite and the MySQL family write alike."""


def conditions(name: str, operands: int) -> frozenset[int]:
    """The positions of the operands that are conditions."""
    if name in ("AND", "OR", "XOR", "NOT"):
        return frozenset(range(operands))
    if name == "IF":
        return frozenset({0})
    return frozenset(range(0, operands - 1, 2)) if name == "CASE" else frozenset()


class ExpressionWriter(ABC):
    """A writer of expressions over the columns of one table, in one target's SQL."""

    templates: Mapping[str, Template]
    """The operators and functions that mean the same in the target."""

    def __init__(self, columns: Mapping[str, Column], quote: Callable[[str], str]) -> None:
        self.columns = {name.lower(): column for name, column in columns.items()}
        self.quote = quote

    def generated(self, column: Column) -> str:
        """Returns the expression of a virtual column. Raises `Unsupported`."""
        try:
            expression = parse_expression(column.expression or "")
        except DefinitionError as error:
            raise Unsupported(f"its expression is not read: {error}") from None
        if column.type.zerofill:
            raise Unsupported("it is ZEROFILL")
        return self.stored(self.value(self.write(expression)), column)

    def write(self, expression: Expression) -> Written:
        match expression:
            case ColumnName(name):
                return self._column(name)
            case Number(text):
                return Written(self.number(text), of_number(text))
            case Text(text):
                return Written(self.literal(text), Meaning("text", length=len(text)))
            case Null():
                return Written("NULL", NULL)
            case Call():
                return self.call(expression)

    def call(self, call: Call) -> Written:
        template = self.templates.get(call.name)
        if template is None or call.name not in MEANINGS:
            raise Unsupported(f"{call.name} does not mean the same here for certain")
        operands = [self.write(each) for each in call.operands]
        meaning = meaning_of(call.name, [each.meaning for each in operands])
        logical = conditions(call.name, len(operands))
        operands = [each if at in logical else self.value(each) for at, each in enumerate(operands)]
        return self.checked(Written(template(operands), meaning))

    def _column(self, name: str) -> Written:
        column = self.columns.get(name.lower())
        if column is None:
            raise Unsupported(f"column {name} is not here")
        if column.virtual:
            return self.virtual(column)
        return self.column(column, of_column(column))

    def virtual(self, column: Column) -> Written:
        """Writes another virtual column, which the target has."""
        return self.column(column, of_column(column))

    def checked(self, written: Written) -> Written:
        """Raises `Unsupported` for a value that the target does not compute exactly."""
        return written

    def value(self, of: Written) -> Written:
        """Converts a truth to a number; returns anything else unchanged."""
        return of

    def number(self, text: str) -> str:
        return text

    @abstractmethod
    def column(self, column: Column, meaning: Meaning) -> Written: ...

    @abstractmethod
    def literal(self, text: str) -> str: ...

    @abstractmethod
    def stored(self, value: Written, column: Column) -> str:
        """Converts the value to the column's type, as TiDB does. Raises `Unsupported`."""


def bounded(value: Written, column: Column) -> str:
    """Limits a number to the bounds of its column. TiDB accepts a number beyond them only outside
    of strict mode, and shows it like this."""
    decimals = column.type.decimals or 0
    below, above = beyond(value.meaning, column)
    low, high = (_with_point(bound, decimals) for bound in bounds(column))
    text = value.text
    branches = f" WHEN {text} < {low} THEN {low}" if below else ""
    branches += f" WHEN {text} > {high} THEN {high}" if above else ""
    return f"CASE{branches} ELSE {text} END" if branches else text


def _with_point(number: int, decimals: int) -> str:
    digits = f"{abs(number):0{decimals + 1}}"
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}" if decimals else sign + digits


WriterOf = Callable[[Mapping[str, Column]], ExpressionWriter]


@dataclass(frozen=True, slots=True)
class VirtualColumns:
    """`expressions` in the target's SQL and the reasons for `left_out`, both by column."""

    expressions: Mapping[str, str]
    left_out: Mapping[str, str]


def virtual_columns(table: Table, writer_of: WriterOf | None) -> VirtualColumns:
    """Sorts out a table's virtual columns; without a writer, none is computed."""
    expressions: dict[str, str] = {}
    left_out: dict[str, str] = {}
    known = {column.name: column for column in table.columns if not column.virtual}
    for column in table.columns:
        if not column.virtual:
            continue
        try:
            if writer_of is None:
                raise Unsupported("this target computes none")
            expressions[column.name] = writer_of(known).generated(column)
            known[column.name] = column
        except Unsupported as reason:
            left_out[column.name] = str(reason)
    return VirtualColumns(expressions, left_out)


def reads(column: Column) -> set[str]:
    """The columns, in lower case, that a generated column reads; empty if its expression cannot be
    parsed."""
    try:
        return {name.lower() for name in names(parse_expression(column.expression or ""))}
    except DefinitionError:
        return set()


def without(table: Table, left: Iterable[str]) -> Table:
    """Returns the table without these columns and the indexes over them."""
    leaving = set(left)
    if not leaving:
        return table
    return replace(
        table,
        columns=tuple(column for column in table.columns if column.name not in leaving),
        indexes=tuple(index for index in table.indexes if not leaving.intersection(index.columns)),
    )


def computed(evolved: Evolved, writer_of: WriterOf | None) -> Evolved:
    """Reduces an ALTER TABLE to the table that the target has: every remaining virtual column is
    one that the target computes. A new column that it does not compute is left out, and so, from
    now on, is one that it no longer computes; an unchanged one is no part of the result."""
    before, after, sources = evolved.before, evolved.after, evolved.sources
    old = {column.name: column for column in before.columns}
    was, now = virtual_columns(before, writer_of), virtual_columns(after, writer_of)
    untouched, anew = set[str](), set[str]()
    left = set(now.left_out) - sources.keys()
    for column in after.columns:
        source = old.get(sources.get(column.name, ""))
        if not column.virtual or source is None or not source.virtual:
            continue
        if source.name in was.expressions and column.name in now.expressions:
            continue
        if source == column and not _touched(column, evolved):
            untouched.add(column.name)
        elif column.name in now.expressions:
            anew.add(column.name)
        else:
            left.add(column.name)
    # A column that is only dropped may be treated as plain.
    plain = set(was.left_out) - untouched
    columns = tuple(
        replace(column, generated=None, expression=None) if column.name in plain else column
        for column in before.columns
    )
    leaving = untouched | anew | left
    return replace(
        evolved,
        before=without(replace(before, columns=columns), untouched),
        after=without(after, left | untouched),
        sources={name: source for name, source in sources.items() if name not in leaving},
        moved=evolved.moved - left - untouched,
    )


def reads_all(column: Column, table: Table) -> set[str]:
    """The columns, in lower case, that a generated column reads directly or through other virtual
    columns."""
    virtual = {each.name.lower(): each for each in table.columns if each.virtual}
    names_read, more = set[str](), reads(column)
    while more:
        names_read |= more
        more = {name for each in more & virtual.keys() for name in reads(virtual[each])}
        more -= names_read
    return names_read


def _touched(column: Column, evolved: Evolved) -> bool:
    """Returns whether a column that it reads changes its type or its expression."""
    before, after = (
        {each.name.lower(): (each.type, each.expression) for each in table.columns}
        for table in (evolved.before, evolved.after)
    )
    return any(
        name not in after or before.get(name) != after[name]
        for name in reads_all(column, evolved.after)
    )
