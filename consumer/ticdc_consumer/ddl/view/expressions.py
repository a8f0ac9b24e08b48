"""Expressions of views that TiDB, MySQL and MariaDB read alike, each with the kind of its values.

Expressions that they may read differently are left out: other functions, the collations of
literals, divisions (their digits), FLOAT, texts as numbers, times of a session. Only `plain` values
of any type may be selected and counted.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from sqlglot import exp

from ticdc_consumer.ddl.view.query import as_text, refused, require_parts
from ticdc_consumer.targets.schema.queries import Kind, QueryWords, Typed

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
_MOST_ROWS = 1 << 47
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
"""The parts of a node that are read, if they are more or less than its operands."""
_DATE = re.compile(r"[1-9][0-9]{3}-[01][0-9]-[0-3][0-9]")
_DATETIME = re.compile(_DATE.pattern + r"( [0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?)?")


class Scope(Protocol):
    """The place of an expression."""

    @property
    def words(self) -> QueryWords:
        """The target's words."""

    def column(self, node: exp.Column) -> Typed:
        """Returns the column that is meant. Raises `Unsupported`."""

    def query(self, tree: exp.Expr, columns: int | None) -> tuple[str, Sequence[Kind]]:
        """Returns a query inside this one, of so many columns, and the kinds of those."""

    def inside_aggregate(self) -> "Scope":
        """Returns the scope in which each row counts, not each group."""


def typed(scope: Scope, node: exp.Expr) -> Typed:
    """Returns an expression as a value. Raises `Unsupported`."""
    return scope.words.value(_read(scope, node))


def condition(scope: Scope, node: exp.Expr) -> str:
    """Returns an expression as a condition. Raises `Unsupported`."""
    return scope.words.condition(_truth_of(scope, node))


def _tight_condition(scope: Scope, node: exp.Expr) -> str:
    one = _truth_of(scope, node)
    return scope.words.condition(replace(one, text=_tight(node, one)))


def _truth_of(scope: Scope, node: exp.Expr) -> Typed:
    one = _read(scope, node)
    if one.kind not in _EXACT:
        raise refused(f"it is not certain whether {one.text} is true")
    return one


def _read(scope: Scope, node: exp.Expr) -> Typed:
    require_parts(node, _PARTS.get(type(node), _OPERANDS))
    if isinstance(node, exp.Paren):
        inner = _read(scope, node.this)
        return replace(inner, text=f"({inner.text})")
    if isinstance(node, exp.Column):
        return scope.column(node)
    if type(node) in _COMPARISONS:
        if type(node.expression.unnest()) in _COMPARISONS:
            # The parser orders `a = b < c` unlike TiDB, which evaluates the first one first.
            raise refused(f"it is not certain which comparison of {as_text(node)} comes first")
        left, right = _operands(scope, node)
        if not _comparable(scope, left, right) and not _is_null_safe(node, left, right):
            raise _unlike(left, right)
        return _truth(scope.words.compared(_COMPARISONS[type(node)], left, right))
    if type(node) in _ARITHMETIC:
        word, allowed = _ARITHMETIC[type(node)]
        operands = []
        for part in (node.this, node.expression):
            one = _of(scope, part, allowed)
            operands.append(replace(one, text=_tight(part, one)))
        return scope.words.computed(word, operands)
    work = _OTHERS.get(type(node))
    if work is None:
        raise refused(f"{as_text(node)} is not certain to mean the same here")
    return work(scope, node)


def _truth(text: str) -> Typed:
    return Typed(text, "integer", condition=True, most=1)


def _unlike(left: Typed, right: Typed) -> Exception:
    return refused(
        f"it is not certain how {left.text} ({left.kind}) compares with {right.text} ({right.kind})"
    )


def _of(scope: Scope, node: exp.Expr, kinds: frozenset[str]) -> Typed:
    """Returns an expression of one of these kinds."""
    one = typed(scope, node)
    if one.kind not in kinds:
        raise refused(f"the result of {as_text(node)} is not certain, because it is {one.kind}")
    return one


def _tight(node: exp.Expr, one: Typed) -> str:
    """Returns an operand that is safe next to any operator."""
    whole = isinstance(node, exp.Column | exp.Literal | exp.Paren | exp.Null | exp.Boolean)
    if whole or (isinstance(node, exp.Func) and not isinstance(node, exp.Connector)):
        return one.text
    return f"({one.text})"


def _operands(scope: Scope, node: exp.Expr) -> list[Typed]:
    operands = []
    for part in (node.this, node.expression):
        one = typed(scope, part)
        operands.append(replace(one, text=_tight(part, one)))
    return operands


def _comparable(scope: Scope, left: Typed, right: Typed) -> bool:
    kinds = {left.kind, right.kind}
    if "double" in kinds and len(kinds) > 1 and not scope.words.compares_doubles:
        return False
    if kinds <= _NUMBERS or left.kind == right.kind == "timestamp":
        return True
    for one, other in ((left, right), (right, left)):
        if one.kind == "text" and other.kind in ("text", "string"):
            return True
        if one.kind in ("date", "datetime"):
            shape = _DATE if one.kind == "date" else _DATETIME
            return other.kind in ("date", "datetime") or (
                other.kind == "string" and shape.fullmatch(other.value) is not None
            )
    return False


def _is_null_safe(node: exp.Expr, left: Typed, right: Typed) -> bool:
    return isinstance(node, exp.NullSafeEQ) and right.kind == "null" and left.kind != "string"


def _one_of(branches: Sequence[Typed]) -> Kind:
    """Returns the kind of a value that is one of these. Raises `Unsupported` if it is not certain;
    several decimals are not: MySQL shows all of them with the most digits."""
    values = [branch for branch in branches if branch.kind != "null"]
    kinds = {value.kind for value in values}
    if not kinds:
        return "null"
    if kinds == {"text", "string"}:
        return "text"
    if kinds == {"integer", "decimal"} and not any(value.scale for value in values):
        return "decimal"  # such as a SUM of integers, or 0
    if len(kinds) == 1 and (len(values) == 1 or kinds <= _SORTED - {"decimal"} | {"string"}):
        return "plain" if kinds == {"string"} else values[0].kind
    listed = ", ".join(f"{branch.text} ({branch.kind})" for branch in branches)
    raise refused(f"it is not certain how a value that is one of {listed} is shown")


def _like_one(text: str, branches: Sequence[Typed]) -> Typed:
    """Returns a value that is one of these. Raises `Unsupported`."""
    values = [branch for branch in branches if branch.kind != "null"]
    known = [value.most for value in values if value.most is not None]
    most = max(known) if len(known) == len(values) and known else None
    scales = {value.scale for value in values}
    kind = _one_of(branches)
    if kind == "datetime" and len(scales) > 1:
        raise refused("seconds with another number of decimals may be shown otherwise")
    return Typed(text, kind, scale=max(scales, default=0), most=most)


# --- literals and conditions ---------------------------------------------------------------------


def _literal(scope: Scope, node: exp.Expr) -> Typed:
    text = node.name
    if isinstance(node, exp.Literal) and node.is_string:
        if "\0" in text:
            raise refused("there is a NUL character in its query")
        return Typed(scope.words.string(text), "string", value=text)
    if text.isdecimal() and int(text) < 2**63:
        return scope.words.number(text)
    if re.fullmatch(r"[0-9]{1,20}\.[0-9]{1,20}", text):
        return scope.words.number(text)
    raise refused(f"the number {text} is not certain to mean the same here")


def _boolean(scope: Scope, node: exp.Expr) -> Typed:
    return _truth("TRUE" if node.this else "FALSE")


def _null(scope: Scope, node: exp.Expr) -> Typed:
    return Typed("NULL", "null")


def _negative(scope: Scope, node: exp.Expr) -> Typed:
    one = _of(scope, node.this, _EXACT)
    return replace(one, text=f"-{_tight(node.this, one)}")


def _both(scope: Scope, node: exp.Expr) -> Typed:
    word = "AND" if isinstance(node, exp.And) else "OR"
    left, right = (_tight_condition(scope, part) for part in (node.this, node.expression))
    return _truth(f"{left} {word} {right}")


def _not(scope: Scope, node: exp.Expr) -> Typed:
    return _truth(f"NOT {_tight_condition(scope, node.this)}")


def _is(scope: Scope, node: exp.Expr) -> Typed:
    if isinstance(node.expression, exp.Null):
        return _truth(f"{_tight(node.this, typed(scope, node.this))} IS NULL")
    if isinstance(node.expression, exp.Boolean):
        word = "TRUE" if node.expression.this else "FALSE"
        return _truth(f"{_tight_condition(scope, node.this)} IS {word}")
    raise refused(f"{as_text(node)} is not certain to mean the same here")


def _between(scope: Scope, node: exp.Expr) -> Typed:
    parts = (node.this, node.args["low"], node.args["high"])
    one, low, high = (replace(t, text=_tight(p, t)) for p in parts for t in [typed(scope, p)])
    symmetric = node.args.get("symmetric")
    if symmetric or not (_comparable(scope, one, low) and _comparable(scope, one, high)):
        raise _unlike(one, low)
    least, most = scope.words.beside(one, low), scope.words.beside(one, high)
    return _truth(f"{scope.words.key(one)} BETWEEN {least} AND {most}")


def _in(scope: Scope, node: exp.Expr) -> Typed:
    one = typed(scope, node.this)
    query = node.args.get("query")
    if query is not None:
        text, (kind,) = scope.query(query, 1)
        member = Typed("its query", kind)
        alike = scope.words.orders_alike or (one.kind == kind and kind in ("integer", "date"))
        if kind == "string" or not alike or not _comparable(scope, one, member):
            raise _unlike(one, member)
        return _truth(f"{_tight(node.this, one)} IN ({text})")
    members = [typed(scope, member) for member in node.expressions]
    if not members or node.args.get("unnest") or node.args.get("field"):
        raise refused(f"{as_text(node)} is not certain to mean the same here")
    for member in members:
        if not _comparable(scope, one, member):
            raise _unlike(one, member)
    one = replace(one, text=_tight(node.this, one))
    listed = ", ".join(scope.words.beside(one, member) for member in members)
    return _truth(f"{scope.words.key(one)} IN ({listed})")


def _exists(scope: Scope, node: exp.Expr) -> Typed:
    text, _ = scope.query(node.this, None)
    return _truth(f"EXISTS ({text})")


def _value_of_query(scope: Scope, node: exp.Expr) -> Typed:
    if not scope.words.one_value:
        raise refused("a query that is a value may have several rows")
    text, (kind,) = scope.query(node, 1)
    return Typed(f"({text})", "plain" if kind == "string" else kind, scale=-1)


def _like(scope: Scope, node: exp.Expr) -> Typed:
    one = _of(scope, node.this, frozenset({"text"}))
    pattern = _of(scope, node.expression, frozenset({"string"})).value
    negated = bool(node.args.get("negate"))
    return _truth(scope.words.like(_tight(node.this, one), pattern, negated=negated))


# --- functions -----------------------------------------------------------------------------------


def _listed(scope: Scope, node: exp.Expr) -> Iterator[Typed]:
    for part in (node.this, *node.expressions):
        yield typed(scope, part)


def _coalesce(scope: Scope, node: exp.Expr) -> Typed:
    arguments = list(_listed(scope, node))
    return scope.words.call("COALESCE", arguments, _one_of(arguments))


def _nullif(scope: Scope, node: exp.Expr) -> Typed:
    left, right = (typed(scope, part) for part in (node.this, node.expression))
    if left.kind not in ("integer", "text") or not _comparable(scope, left, right):
        raise _unlike(left, right)
    if left.kind == "text" and not scope.words.orders_alike:
        equal = scope.words.compared("=", left, right)
        return Typed(f"CASE WHEN {equal} THEN NULL ELSE {left.text} END", "text")
    return scope.words.call("NULLIF", (left, right), left.kind)


def _case(scope: Scope, node: exp.Expr) -> Typed:
    """Reads CASE and IF."""
    operand = None if isinstance(node, exp.If) or node.this is None else typed(scope, node.this)
    arms = [node] if isinstance(node, exp.If) else node.args["ifs"]
    default = node.args.get("false" if isinstance(node, exp.If) else "default")
    text, results = "CASE", []
    if operand is not None:
        text += f" {scope.words.key(operand)}"
    for arm in arms:
        if operand is None:
            when = condition(scope, arm.this)
        else:
            value = typed(scope, arm.this)
            if not _comparable(scope, operand, value):
                raise _unlike(operand, value)
            when = scope.words.beside(operand, value)
        results.append(typed(scope, arm.args["true"]))
        text += f" WHEN {when} THEN {results[-1].text}"
    if default is not None:
        results.append(typed(scope, default))
        text += f" ELSE {results[-1].text}"
    return _like_one(f"{text} END", results)


def _largest(scope: Scope, node: exp.Expr) -> Typed:
    word = "GREATEST" if isinstance(node, exp.Greatest) else "LEAST"
    arguments = [_of(scope, part, _EXACT) for part in (node.this, *node.expressions)]
    return scope.words.call(word, arguments, _one_of(arguments))


def _concat(scope: Scope, node: exp.Expr) -> Typed:
    arguments = [typed(scope, part) for part in node.expressions]
    kinds = {one.kind for one in arguments}
    if not kinds <= {"integer", "decimal", "text", "string"}:
        raise refused(f"the result of {as_text(node)} is not certain")
    return scope.words.call(
        "CONCAT", arguments, "text" if kinds <= {"text", "string"} and "text" in kinds else "plain"
    )


def _exact_function(scope: Scope, node: exp.Expr) -> Typed:
    if len([value for value in node.args.values() if value]) > 1:
        raise refused(f"{as_text(node)} is not certain to mean the same here")
    word = _EXACT_FUNCTIONS[type(node)]
    one = _of(scope, node.this, _EXACT)
    return scope.words.call(word, [one], one.kind)


def _length(scope: Scope, node: exp.Expr) -> Typed:
    if node.args.get("binary"):
        raise refused("LENGTH counts bytes, and all text here is utf8mb4")
    return scope.words.call("CHAR_LENGTH", [_of(scope, node.this, frozenset({"text"}))], "integer")


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
    arguments = [text, *(Typed(number.name, "integer") for number in counts)]
    return scope.words.call(word, arguments, "text")


def _part_of_date(scope: Scope, node: exp.Expr) -> Typed:
    inner = node.this.this if isinstance(node.this, exp.TsOrDsToDate) else node.this
    one = _of(scope, inner, frozenset({"date", "datetime"}))
    return replace(
        scope.words.call(_PARTS_OF_DATES[type(node)], [one], "integer"), scale=0, most=9999
    )


def _date(scope: Scope, node: exp.Expr) -> Typed:
    arguments = [_of(scope, node.this, frozenset({"date", "datetime"}))]
    return replace(scope.words.call("DATE", arguments, "date"), scale=0)


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
        return Typed("COUNT(*)", "integer", most=_MOST_ROWS)
    word, inner = _distinct(node)
    one = typed(scope.inside_aggregate(), inner)
    if word and one.kind not in _SORTED:
        raise refused(f"it is not certain which values of {one.text} are equal")
    text = scope.words.key(one) if word else one.text
    return Typed(f"COUNT({word}{text})", "integer", most=_MOST_ROWS)


def _aggregate(scope: Scope, node: exp.Expr) -> Typed:
    name, allowed = _AGGREGATES[type(node)]
    word, inner = _distinct(node)
    one = _of(scope.inside_aggregate(), inner, allowed)
    if one.kind == "text" and not scope.words.orders_alike:
        raise refused(f"it is not certain which text is the {name}")
    text = f"{name}({word}{one.text})"
    return Typed(text, "decimal", scale=one.scale) if name == "SUM" else replace(one, text=text)


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
