"""TiCDC's table filter rules, and the same patterns as a dispatcher's matcher.

Source: TiDB `pkg/util/table-filter`, which TiCDC uses for both.
"""

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ticdc_encoder.errors import ConfigError

SYSTEM_SCHEMAS = frozenset(
    {
        "information_schema",
        "inspection_schema",
        "lightning_task_info",
        "metrics_schema",
        "mysql",
        "performance_schema",
        "sys",
        "tidb_cdc",
        "workload_schema",
    }
)


class TableMatcher:
    """Rules such as `db.table`; the last that matches decides; `!` before one excludes.

    `*` is any run of characters, `?` one, `[a-z]` and `[!a-z]` one of a range; `\\` makes a
    character that is not a letter or digit literal; a part in `"` or backquotes is literal; `/.../`
    is a regular expression that is searched. `@path` reads rules from a file, one per line. Without
    a rule that matches there is no match.
    """

    def __init__(self, patterns: Iterable[str], case_sensitive: bool = False) -> None:
        self._rules = [
            _rule(line, case_sensitive) for pattern in patterns for line in _lines(pattern)
        ][::-1]

    def matches(self, schema: str, table: str) -> bool:
        for rule in self._rules:
            if rule.schema.search(schema) and rule.table.search(table):
                return rule.positive
        return False

    def matches_schema(self, schema: str) -> bool:
        """Whether tables of the schema may match: DDL of the schema itself goes by this."""
        for rule in self._rules:
            if rule.schema.search(schema) and (rule.positive or rule.table.pattern == _ANYTHING):
                return rule.positive
        return False

    def matches_name(self, table: str) -> bool:
        """Whether a table of that name may match, in whatever schema."""
        for rule in self._rules:
            if rule.table.search(table) and (rule.positive or rule.schema.pattern == _ANYTHING):
                return rule.positive
        return False


class ColumnMatcher:
    """Patterns of column names; the last that matches decides; `!` before one excludes. Case does
    not matter. Without a pattern that matches there is no match."""

    def __init__(self, patterns: Iterable[str]) -> None:
        lines = [line for pattern in patterns for line in _lines(pattern)]
        self._rules = [_column_rule(line) for line in lines][::-1]

    def matches(self, column: str) -> bool:
        for pattern, positive in self._rules:
            if pattern.search(column):
                return positive
        return False


class TableFilter(TableMatcher):
    """`[filter] rules` of a changefeed: all tables if there are none, system schemas never."""

    def __init__(self, rules: Iterable[str], case_sensitive: bool = False) -> None:
        super().__init__(tuple(rules) or ("*.*",), case_sensitive)

    def matches(self, schema: str, table: str) -> bool:
        return schema.lower() not in SYSTEM_SCHEMAS and super().matches(schema, table)

    def matches_schema(self, schema: str) -> bool:
        return schema.lower() not in SYSTEM_SCHEMAS and super().matches_schema(schema)


@dataclass(frozen=True, slots=True)
class _TableRule:
    schema: re.Pattern[str]
    table: re.Pattern[str]
    positive: bool


_ANYTHING = r"(?s:\A.*\Z)"
_REGEXP = re.compile(r"/((?:\\.|[^/])+)/")
_QUOTED = re.compile(r'"((?:""|[^"])+)"|`((?:``|[^`])+)`')
_RANGE = re.compile(r"\[([!^]?)((?:\\[^0-9a-zA-Z]|[^\\\]])+)\]")
_SET_OPERATOR = re.compile(r"(?<!\\)[\[&~|]")  # that Python reserves, and Go does not have
_PLAIN = re.compile(r"[0-9A-Za-z$_\u0080-\U0010ffff]")


def imported(patterns: Iterable[str]) -> tuple[str, ...]:
    """The patterns, each `@path` replaced by the rules of that file, so that later changes of the
    file do not count. Raises `ConfigError`."""
    rules = tuple(patterns)
    imported_rules = [
        rule
        for pattern in rules
        for rule in (_lines(pattern) if pattern.startswith("@") else [pattern])
    ]
    # Files without a rule let nothing pass, as before; no patterns would be no filter.
    return tuple(imported_rules) if imported_rules or not rules else ("!*.*",)


def _lines(pattern: str) -> Iterator[str]:
    """The rules of a pattern: itself, or those of the file that it names."""
    pattern = pattern.strip(" \t")
    if not pattern.startswith("@"):
        yield from [pattern] * (pattern[:1] not in ("", "#"))
        return
    try:
        imported = Path(pattern[1:]).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as exc:
        raise ConfigError(f"cannot read the filter file {pattern[1:]!r}") from exc
    for line in (line.strip(" \t") for line in imported):
        if line.startswith("@"):
            raise ConfigError(f"{pattern[1:]!r}: a filter file cannot import another")
        if line and not line.startswith("#"):
            yield line


def _rule(text: str, case_sensitive: bool) -> _TableRule:
    flags = re.NOFLAG if case_sensitive else re.IGNORECASE
    rest = text.removeprefix("!")
    try:
        schema, rest = _pattern(rest)
        if not rest.startswith("."):
            raise ConfigError("no '.' between schema and table")
        table, rest = _pattern(rest[1:])
        if rest:
            raise ConfigError(f"stray {rest!r} after the table")
        return _TableRule(compiled(schema, flags), compiled(table, flags), not text.startswith("!"))
    except ConfigError as exc:
        exc.add_note(f"in the filter rule {text!r}")
        raise


def _column_rule(text: str) -> tuple[re.Pattern[str], bool]:
    try:
        pattern, rest = _pattern(text.removeprefix("!"))
        if rest:
            raise ConfigError(f"stray {rest!r} after the column")
        return compiled(pattern, re.IGNORECASE), not text.startswith("!")
    except ConfigError as exc:
        exc.add_note(f"in the column pattern {text!r}")
        raise


def compiled(pattern: str, flags: re.RegexFlag) -> re.Pattern[str]:
    """The expression. Raises ConfigError for one that Go refuses or reads differently."""
    # Python warns of patterns that later versions may read as others do, such as [[:alpha:]].
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return re.compile(pattern, flags)
        except (re.error, Warning) as exc:
            raise ConfigError(
                f"not a regular expression that Python shares with Go: {exc}"
            ) from exc


def _pattern(text: str) -> tuple[str, str]:
    """The expression of the pattern that `text` begins with, and the rest."""
    if not text:
        raise ConfigError("a pattern is missing")
    if text[0] == "/":
        if match := _REGEXP.match(text):
            return of_go(match[1]), text[match.end() :]
        raise ConfigError("an open regular expression")
    if text[0] in '"`':
        if match := _QUOTED.match(text):
            quote = text[0]
            name = (match[1] or match[2]).replace(quote * 2, quote)
            return rf"\A{re.escape(name)}\Z", text[match.end() :]
        raise ConfigError("an open quote")
    return _wildcards(text)


_PART = re.compile(r"(\\.)|(\[\^?\]?(?:\\.|[^\]\\])*\])|(?:[^\\\[]+|.)", re.DOTALL)
"""An escape, a class, or anything else."""
_OF_PYTHON_ALONE = re.compile(r"\(\?(?:[=!>#(]|<[=!]|P=)|[*+?}]\+|\\[1-9]")
"""Look-arounds and the like, what gives nothing back, references to groups."""
_ASCII = {"w": "0-9A-Za-z_", "d": "0-9", "s": r"\t\n\f\r "}


def of_go(expression: str) -> str:
    """In Python's syntax: Go's classes are of ASCII alone. Raises ConfigError for syntax that Go
    does not have. Source: the syntax page of Go's `regexp`."""
    shared = _PART.sub(lambda part: "." if part[2] or part[1] in _QUOTES else part[0], expression)
    if match := _OF_PYTHON_ALONE.search(shared):
        raise ConfigError(f"Go's regular expressions have no {match[0]!r}")
    return _PART.sub(_part_of_go, expression)


_QUOTES = {rf"\{character}" for character in r"\()*+?}"}


def _part_of_go(part: re.Match[str]) -> str:
    escape, members = part[1], part[2]
    if members:
        if match := re.search(r"(?<!\\)(?:\\\\)*\\[WDS]", members):
            raise ConfigError(f"{match[0][-2:]} within [] is not read here")
        return re.sub(r"\\.", lambda match: _ASCII.get(match[0][1], match[0]), members)
    if escape is None:
        return part[0]
    if escape in (r"\b", r"\B"):
        return f"(?a:{escape})"
    if escape == r"\z":
        return r"\Z"
    known = _ASCII.get(escape[1].lower())
    return escape if known is None else f"[{'^' * escape[1].isupper()}{known}]"


def _wildcards(text: str) -> tuple[str, str]:
    parts, at = [], 0
    while at < len(text) and text[at] != ".":
        character, width = text[at], 1
        if character == "\\":
            escaped = text[at + 1 : at + 2]
            if not escaped or (escaped.isascii() and escaped.isalnum()):
                raise ConfigError(f"{character + escaped!r} escapes nothing")
            parts.append(re.escape(escaped))
            width = 2
        elif character == "*":
            parts.append(".*")
        elif character == "?":
            parts.append(".")
        elif match := _RANGE.match(text, at):
            excluded = {"!": "^", "^": r"\^", "": ""}[match[1]]
            members = _SET_OPERATOR.sub(r"\\\g<0>", match[2])
            parts.append(f"[{excluded}{members}]")
            width = match.end() - at
        elif _PLAIN.match(character):
            parts.append(re.escape(character))
        else:
            raise ConfigError(f"unexpected {character!r}")
        at += width
    return rf"(?s:\A{''.join(parts)}\Z)", text[at:]
