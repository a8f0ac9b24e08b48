"""TiCDC's table filter rules, and the same patterns as a dispatcher's matcher.

Source: TiDB `pkg/util/table-filter`, which TiCDC uses for both.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ticdc_encoder.errors import ConfigError
from ticdc_encoder.filters.go_regexp import GoRegexp, literal

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
            if rule.schema.found_in(schema) and rule.table.found_in(table):
                return rule.positive
        return False

    def matches_schema(self, schema: str) -> bool:
        """Returns whether tables of the schema may match: this decides DDL of the schema itself."""
        for rule in self._rules:
            if rule.schema.found_in(schema) and (rule.positive or rule.table.pattern == _ANYTHING):
                return rule.positive
        return False

    def matches_name(self, table: str) -> bool:
        """Returns whether a table of that name may match, in any schema."""
        for rule in self._rules:
            if rule.table.found_in(table) and (rule.positive or rule.schema.pattern == _ANYTHING):
                return rule.positive
        return False


class ColumnMatcher:
    """Patterns of column names, in any case; the last that matches decides; `!` before one
    excludes. Without a pattern that matches there is no match."""

    def __init__(self, patterns: Iterable[str]) -> None:
        lines = [line for pattern in patterns for line in _lines(pattern)]
        self._rules = [_column_rule(line) for line in lines][::-1]

    def matches(self, column: str) -> bool:
        for pattern, positive in self._rules:
            if pattern.found_in(column):
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
    schema: GoRegexp
    table: GoRegexp
    positive: bool


_ANYTHING = r"(?s:\A.*\z)"
# What Go's /((?:\\.|[^/])+)/ finds, in linear time: the first slash that is not escaped ends it; if
# there is none, the last that is.
_REGEXP = re.compile(r"/((?:\\.|[^/\\]|\\(?=\n))++)/|/((?s:.*)\\)/")
_QUOTED = re.compile(r'"((?:""|[^"])+)"|`((?:``|[^`])+)`')
_RANGE = re.compile(r"\[([!^]?)((?:\\[^0-9a-zA-Z]|[^\\\]])+)\]")
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


@lru_cache(maxsize=1024)  # each task of each cut has a filter
def _rule(text: str, case_sensitive: bool) -> _TableRule:
    rest = text.removeprefix("!")
    try:
        schema, rest = _pattern(rest)
        if not rest.startswith("."):
            raise ConfigError("no '.' between schema and table")
        table, rest = _pattern(rest[1:])
        if rest:
            raise ConfigError(f"stray {rest!r} after the table")
        schemas, tables = (GoRegexp(each, case_sensitive) for each in (schema, table))
        return _TableRule(schemas, tables, not text.startswith("!"))
    except ConfigError as exc:
        exc.add_note(f"in the filter rule {text!r}")
        raise


def _column_rule(text: str) -> tuple[GoRegexp, bool]:
    try:
        pattern, rest = _pattern(text.removeprefix("!"))
        if rest:
            raise ConfigError(f"stray {rest!r} after the column")
        return GoRegexp(pattern, case_sensitive=False), not text.startswith("!")
    except ConfigError as exc:
        exc.add_note(f"in the column pattern {text!r}")
        raise


def _pattern(text: str) -> tuple[str, str]:
    """The expression of the pattern that `text` begins with, and the rest."""
    if not text:
        raise ConfigError("a pattern is missing")
    if text[0] == "/":
        if match := _REGEXP.match(text):
            return match[1] or match[2], text[match.end() :]
        raise ConfigError("an open regular expression")
    if text[0] in '"`':
        if match := _QUOTED.match(text):
            quote = text[0]
            name = (match[1] or match[2]).replace(quote * 2, quote)
            return rf"\A{literal(name)}\z", text[match.end() :]
        raise ConfigError("an open quote")
    return _wildcards(text)


def _wildcards(text: str) -> tuple[str, str]:
    parts, at = [], 0
    while at < len(text) and text[at] != ".":
        character, width = text[at], 1
        if character == "\\":
            escaped = text[at + 1 : at + 2]
            if not escaped or (escaped.isascii() and escaped.isalnum()):
                raise ConfigError(f"{character + escaped!r} escapes nothing")
            parts.append(literal(escaped))
            width = 2
        elif character == "*":
            parts.append(".*")
        elif character == "?":
            parts.append(".")
        elif match := _RANGE.match(text, at):
            excluded = {"!": "^", "^": r"\^", "": ""}[match[1]]
            parts.append(f"[{excluded}{match[2]}]")
            width = match.end() - at
        elif _PLAIN.match(character):
            parts.append(literal(character))
        else:
            raise ConfigError(f"unexpected {character!r}")
        at += width
    return rf"(?s:\A{''.join(parts)}\z)", text[at:]
