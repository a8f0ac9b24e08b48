"""Expressions of views that TiDB, MySQL and MariaDB read alike, each with the kind of its values.

Left out is what they do not, or not surely: other functions, the collations of literals, divisions
(their digits), FLOAT, texts as numbers, times of a session. Only `plain` values of any type may be
selected and counted.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sqlglot import exp
from ticdc_encoder.column import INTEGERS, TEXTS, Column

from ticdc_consumer.ddl.view.query import as_text, refused, require_parts
from ticdc_consumer.targets.mysql.quoting import string_literal

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
"""`text` compares by its characters, spaces at its end aside; `string` is a literal. `timestamp` is
an instant, whatever the time zone in which the session shows it."""

PADDED = frozenset({"utf8mb4_bin", "utf8mb3_bin", "utf8_bin", "latin1_bin", "ascii_bin"})
"""The collations of `text`."""

_EXACT = frozenset({"integer", "decimal"})
_NUMBERS = _EXACT | {"double"}
_SORTED = _NUMBERS | {"text", "date", "datetime", "timestamp"}

_COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_ARITHMETIC: Mapping[type[exp.Expr], tuple[str, frozenset[str]]] = {
    exp.Add: ("+", _EXACT),
    exp.Sub: ("-", _EXACT),
    exp.Mul: ("*", _EXACT),
    exp.IntDiv: ("DIV", frozenset({"integer"})),
    exp.Mod: ("%", frozenset({"integer"})),
}
_PARTS_OF_DATES: Mapping[type[exp.Expr], str] = {
    exp.Year: "YEAR",
    exp.Month: "MONTH",
    exp.Day: "DAYOFMONTH",
    exp.DayOfMonth: "DAYOFMONTH",
}
_EXACT_FUNCTIONS: Mapping[type[exp.Expr], str] = {
    exp.Abs: "ABS",
    exp.Ceil: "CEIL",
    exp.Floor: "FLOOR",
}
_AGGREGATES: Mapping[type[exp.Expr], tuple[str, frozenset[str]]] = {
    exp.Sum: ("SUM", _EXACT),
    exp.Min: ("MIN", _SORTED - {"double"}),
    exp.Max: ("MAX", _SORTED - {"double"}),
}
_OPERANDS = frozenset({"this", "expression", "expressions"})
_PARTS: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Column: frozenset({"this", "table", "db"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Like: _OPERANDS | {"negate"},
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.Concat: frozenset({"expressions", "safe"}),
    exp.Length: frozenset({"this", "binary"}),
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Count: frozenset({"this", "big_int"}),
    **dict.fromkeys((exp.Min, exp.Max, exp.TsOrDsToDate), frozenset({"this"})),
}
"""What is heeded of a node, if it is more or less than its operands."""
_DATE = re.compile(r"[1-9][0-9]{3}-[01][0-9]-[0-3][0-9]")
_DATETIME = re.compile(_DATE.pattern + r"( [0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?)?")


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression in the target's words."""

    text: str
    kind: Kind


class Scope(Protocol):
    """Where an expression stands."""

    def column(self, node: exp.Column) -> Typed:
        """The column that is meant. Raises `Unsupported`."""

    def query(self, tree: exp.Expr, columns: int | None) -> tuple[str, Sequence[Kind]]:
        """A query inside this one, of so many columns, and the kinds of those."""

    def inside_aggregate(self) -> "Scope":
        """Where each row counts, not each group."""


def kind_of(column: Column, collation: str | None) -> Kind:
    """Of a column upstream; `collation` is that of the target's own column."""
    type_ = column.type
    if type_.name in INTEGERS:
        return "integer"
    if type_.name in ("decimal", "double", "date", "datetime", "timestamp"):
        return type_.name  # type: ignore[return-value]
    if type_.name in TEXTS and type_.collation in PADDED and collation in PADDED:
        return "text"
    return "plain"


def typed(scope: Scope, node: exp.Expr) -> Typed:
    """Raises `Unsupported`."""
    require_parts(node, _PARTS.get(type(node), _OPERANDS))
    if isinstance(node, exp.Paren):
        inner = typed(scope, node.this)
        return Typed(f"({inner.text})", inner.kind)
    if isinstance(node, exp.Column):
        return scope.column(node)
    if type(node) in _COMPARISONS:
        if type(node.expression.unnest()) in _COMPARISONS:
            # The parser's order of `a = b < c` is not TiDB's, which takes the first one first.
            raise refused(f"which comparison of {as_text(node)} is the first is not certain")
        left, right = _operands(scope, node)
        if not _comparable(left, right) and not _is_null_safe(node, left, right):
            raise _unlike(left, right)
        return Typed(f"{left.text} {_COMPARISONS[type(node)]} {right.text}", "integer")
    if type(node) in _ARITHMETIC:
        word, allowed = _ARITHMETIC[type(node)]
        operands = [_of(scope, part, allowed) for part in (node.this, node.expression)]
        text = f" {word} ".join(
            _tight(part, one)
            for part, one in zip((node.this, node.expression), operands, strict=True)
        )
        return Typed(text, "decimal" if "decimal" in {one.kind for one in operands} else "integer")
    work = _OTHERS.get(type(node))
    if work is None:
        raise refused(f"{as_text(node)} is not certain to mean the same here")
    return work(scope, node)


def _unlike(left: Typed, right: Typed) -> Exception:
    return refused(
        f"how {left.text} ({left.kind}) compares with {right.text} ({right.kind}) is not certain"
    )


def _of(scope: Scope, node: exp.Expr, kinds: frozenset[str]) -> Typed:
    """An expression of one of these kinds."""
    one = typed(scope, node)
    if one.kind not in kinds:
        raise refused(f"what becomes of {as_text(node)} is not certain, as it is {one.kind}")
    return one


def _tight(node: exp.Expr, one: Typed) -> str:
    """As an operand, whatever stands beside it."""
    whole = isinstance(node, exp.Column | exp.Literal | exp.Paren | exp.Null | exp.Boolean)
    if whole or (isinstance(node, exp.Func) and not isinstance(node, exp.Connector)):
        return one.text
    return f"({one.text})"


def _operands(scope: Scope, node: exp.Expr) -> list[Typed]:
    operands = []
    for part in (node.this, node.expression):
        one = typed(scope, part)
        operands.append(Typed(_tight(part, one), one.kind))
    return operands


def _comparable(left: Typed, right: Typed) -> bool:
    if {left.kind, right.kind} <= _NUMBERS or left.kind == right.kind == "timestamp":
        return True
    for one, other in ((left, right), (right, left)):
        if one.kind == "text" and other.kind in ("text", "string"):
            return True
        if one.kind in ("date", "datetime"):
            shape = _DATE if one.kind == "date" else _DATETIME
            return other.kind in ("date", "datetime") or (
                other.kind == "string" and shape.fullmatch(other.text[1:-1]) is not None
            )
    return False


def _is_null_safe(node: exp.Expr, left: Typed, right: Typed) -> bool:
    return isinstance(node, exp.NullSafeEQ) and right.kind == "null" and left.kind != "string"


def _one_of(branches: Sequence[Typed]) -> Kind:
    """The kind of a value that is one of these. Raises `Unsupported` if it is not certain; several
    decimals are not: MySQL shows all of them with the most digits."""
    values = [branch for branch in branches if branch.kind != "null"]
    kinds = {value.kind for value in values}
    if not kinds:
        return "null"
    if kinds == {"text", "string"}:
        return "text"
    if len(kinds) == 1 and (len(values) == 1 or kinds <= _SORTED - {"decimal"} | {"string"}):
        return "plain" if kinds == {"string"} else values[0].kind
    listed = ", ".join(f"{branch.text} ({branch.kind})" for branch in branches)
    raise refused(f"how a value that is one of {listed} is shown is not certain")


# --- literals and conditions ---------------------------------------------------------------------


def _literal(scope: Scope, node: exp.Expr) -> Typed:
    text = node.name
    if isinstance(node, exp.Literal) and node.is_string:
        if "\0" in text:
            raise refused("there is a NUL character in its query")
        return Typed(string_literal(text), "string")
    if text.isdecimal() and int(text) < 2**63:
        return Typed(text, "integer")
    if re.fullmatch(r"[0-9]{1,20}\.[0-9]{1,20}", text):
        return Typed(text, "decimal")
    raise refused(f"the number {text} is not certain to mean the same here")


def _boolean(scope: Scope, node: exp.Expr) -> Typed:
    return Typed("TRUE" if node.this else "FALSE", "integer")


def _null(scope: Scope, node: exp.Expr) -> Typed:
    return Typed("NULL", "null")


def _negative(scope: Scope, node: exp.Expr) -> Typed:
    one = _of(scope, node.this, _EXACT)
    return Typed(f"-{_tight(node.this, one)}", one.kind)


def _both(scope: Scope, node: exp.Expr) -> Typed:
    word = "AND" if isinstance(node, exp.And) else "OR"
    parts = (node.this, node.expression)
    left, right = (_tight(part, _of(scope, part, _EXACT)) for part in parts)
    return Typed(f"{left} {word} {right}", "integer")


def _not(scope: Scope, node: exp.Expr) -> Typed:
    return Typed(f"NOT {_tight(node.this, _of(scope, node.this, _EXACT))}", "integer")


def _is(scope: Scope, node: exp.Expr) -> Typed:
    one = typed(scope, node.this)
    if isinstance(node.expression, exp.Null):
        return Typed(f"{_tight(node.this, one)} IS NULL", "integer")
    if isinstance(node.expression, exp.Boolean) and one.kind in _EXACT:
        word = "TRUE" if node.expression.this else "FALSE"
        return Typed(f"{_tight(node.this, one)} IS {word}", "integer")
    raise refused(f"{as_text(node)} is not certain to mean the same here")


def _between(scope: Scope, node: exp.Expr) -> Typed:
    parts = (node.this, node.args["low"], node.args["high"])
    one, low, high = (typed(scope, part) for part in parts)
    if node.args.get("symmetric") or not (_comparable(one, low) and _comparable(one, high)):
        raise _unlike(one, low)
    text = f"{_tight(parts[0], one)} BETWEEN {_tight(parts[1], low)} AND {_tight(parts[2], high)}"
    return Typed(text, "integer")


def _in(scope: Scope, node: exp.Expr) -> Typed:
    one = typed(scope, node.this)
    query = node.args.get("query")
    if query is not None:
        text, (kind,) = scope.query(query, 1)
        member = Typed("its query", kind)
        if kind == "string" or not _comparable(one, member):
            raise _unlike(one, member)
        return Typed(f"{_tight(node.this, one)} IN ({text})", "integer")
    members = [typed(scope, member) for member in node.expressions]
    if not members or node.args.get("unnest") or node.args.get("field"):
        raise refused(f"{as_text(node)} is not certain to mean the same here")
    for member in members:
        if not _comparable(one, member):
            raise _unlike(one, member)
    listed = ", ".join(member.text for member in members)
    return Typed(f"{_tight(node.this, one)} IN ({listed})", "integer")


def _exists(scope: Scope, node: exp.Expr) -> Typed:
    text, _ = scope.query(node.this, None)
    return Typed(f"EXISTS ({text})", "integer")


def _value_of_query(scope: Scope, node: exp.Expr) -> Typed:
    text, (kind,) = scope.query(node, 1)
    return Typed(f"({text})", "plain" if kind == "string" else kind)


def _like(scope: Scope, node: exp.Expr) -> Typed:
    one = _of(scope, node.this, frozenset({"text"}))
    pattern = _of(scope, node.expression, frozenset({"string"}))
    word = "NOT LIKE" if node.args.get("negate") else "LIKE"
    # In the consumer's session a backslash is no escape by itself.
    escape = r" ESCAPE '\'" if "\\" in pattern.text else ""
    return Typed(f"{_tight(node.this, one)} {word} {pattern.text}{escape}", "integer")


# --- functions -----------------------------------------------------------------------------------


def _listed(scope: Scope, node: exp.Expr) -> Iterator[Typed]:
    for part in (node.this, *node.expressions):
        yield typed(scope, part)


def _call(word: str, arguments: Sequence[Typed], kind: Kind) -> Typed:
    return Typed(f"{word}({', '.join(one.text for one in arguments)})", kind)


def _coalesce(scope: Scope, node: exp.Expr) -> Typed:
    arguments = list(_listed(scope, node))
    return _call("COALESCE", arguments, _one_of(arguments))


def _nullif(scope: Scope, node: exp.Expr) -> Typed:
    left, right = (typed(scope, part) for part in (node.this, node.expression))
    if left.kind not in ("integer", "text") or not _comparable(left, right):
        raise _unlike(left, right)
    return _call("NULLIF", (left, right), left.kind)


def _case(scope: Scope, node: exp.Expr) -> Typed:
    """CASE and IF."""
    operand = None if isinstance(node, exp.If) or node.this is None else typed(scope, node.this)
    arms = [node] if isinstance(node, exp.If) else node.args["ifs"]
    default = node.args.get("false" if isinstance(node, exp.If) else "default")
    text, results = "CASE", []
    if operand is not None:
        text += f" {operand.text}"
    for arm in arms:
        when = typed(scope, arm.this)
        if operand is not None and not _comparable(operand, when):
            raise _unlike(operand, when)
        if operand is None and when.kind not in _EXACT:
            raise refused(f"whether {when.text} is true is not certain")
        results.append(typed(scope, arm.args["true"]))
        text += f" WHEN {when.text} THEN {results[-1].text}"
    if default is not None:
        results.append(typed(scope, default))
        text += f" ELSE {results[-1].text}"
    return Typed(f"{text} END", _one_of(results))


def _largest(scope: Scope, node: exp.Expr) -> Typed:
    word = "GREATEST" if isinstance(node, exp.Greatest) else "LEAST"
    arguments = [_of(scope, part, _EXACT) for part in (node.this, *node.expressions)]
    return _call(word, arguments, _one_of(arguments))


def _concat(scope: Scope, node: exp.Expr) -> Typed:
    arguments = [typed(scope, part) for part in node.expressions]
    kinds = {one.kind for one in arguments}
    if not kinds <= {"integer", "decimal", "text", "string"}:
        raise refused(f"what {as_text(node)} gives is not certain")
    return _call(
        "CONCAT", arguments, "text" if kinds <= {"text", "string"} and "text" in kinds else "plain"
    )


def _exact_function(scope: Scope, node: exp.Expr) -> Typed:
    if len([value for value in node.args.values() if value]) > 1:
        raise refused(f"{as_text(node)} is not certain to mean the same here")
    word = _EXACT_FUNCTIONS[type(node)]
    one = _of(scope, node.this, _EXACT)
    return _call(word, [one], one.kind)


def _length(scope: Scope, node: exp.Expr) -> Typed:
    if node.args.get("binary"):
        raise refused("LENGTH counts bytes, and all text here is utf8mb4")
    return _call("CHAR_LENGTH", [_of(scope, node.this, frozenset({"text"}))], "integer")


def _part_of_text(scope: Scope, node: exp.Expr) -> Typed:
    text = _of(scope, node.this, frozenset({"text"}))
    if isinstance(node, exp.Substring):
        word, numbers = "SUBSTRING", [node.args.get("start"), node.args.get("length")]
    else:
        word = "LEFT" if isinstance(node, exp.Left) else "RIGHT"
        numbers = [node.expression]
    counts = [number for number in numbers if number is not None]
    if not counts or not all(
        isinstance(number, exp.Literal) and number.name.isdecimal() and int(number.name)
        for number in counts
    ):
        raise refused(f"{as_text(node)} is not certain to mean the same here")
    return _call(word, [text, *(Typed(number.name, "integer") for number in counts)], "text")


def _part_of_date(scope: Scope, node: exp.Expr) -> Typed:
    inner = node.this.this if isinstance(node.this, exp.TsOrDsToDate) else node.this
    one = _of(scope, inner, frozenset({"date", "datetime"}))
    return _call(_PARTS_OF_DATES[type(node)], [one], "integer")


def _date(scope: Scope, node: exp.Expr) -> Typed:
    return _call("DATE", [_of(scope, node.this, frozenset({"date", "datetime"}))], "date")


# --- aggregates ----------------------------------------------------------------------------------


def _distinct(node: exp.Expr) -> tuple[str, exp.Expr]:
    inner = node.this
    if not isinstance(inner, exp.Distinct):
        return "", inner
    if len(inner.expressions) != 1:
        raise refused(f"{as_text(node)} is not certain to mean the same here")
    return "DISTINCT ", inner.expressions[0]


def _count(scope: Scope, node: exp.Expr) -> Typed:
    if isinstance(node.this, exp.Star) and not any(node.this.args.values()):
        return Typed("COUNT(*)", "integer")
    word, inner = _distinct(node)
    one = typed(scope.inside_aggregate(), inner)
    if word and one.kind not in _SORTED:
        raise refused(f"which values of {one.text} are equal is not certain")
    return Typed(f"COUNT({word}{one.text})", "integer")


def _aggregate(scope: Scope, node: exp.Expr) -> Typed:
    name, allowed = _AGGREGATES[type(node)]
    word, inner = _distinct(node)
    one = _of(scope.inside_aggregate(), inner, allowed)
    return Typed(f"{name}({word}{one.text})", "decimal" if name == "SUM" else one.kind)


_OTHERS: Mapping[type[exp.Expr], Callable[[Scope, exp.Expr], Typed]] = {
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Neg: _negative,
    exp.And: _both,
    exp.Or: _both,
    exp.Not: _not,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Exists: _exists,
    exp.Subquery: _value_of_query,
    exp.Like: _like,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Case: _case,
    exp.If: _case,
    exp.Greatest: _largest,
    exp.Least: _largest,
    exp.Concat: _concat,
    **dict.fromkeys(_EXACT_FUNCTIONS, _exact_function),
    exp.Length: _length,
    exp.Left: _part_of_text,
    exp.Right: _part_of_text,
    exp.Substring: _part_of_text,
    **dict.fromkeys(_PARTS_OF_DATES, _part_of_date),
    exp.TsOrDsToDate: _date,
    exp.Count: _count,
    **dict.fromkeys(_AGGREGATES, _aggregate),
}
