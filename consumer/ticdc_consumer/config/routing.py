"""Upstream names -> names in the target."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ticdc_encoder.errors import ConfigError
from ticdc_encoder.filters.table import TableMatcher

_PART = r'(?:"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|([^."`]+))'
_TEMPLATE = re.compile(rf"{_PART}\.{_PART}")
_PLACEHOLDER = re.compile(r"\{[^}]*\}?|\}")


class Name(NamedTuple):
    schema: str
    table: str


class Routes:
    """Rules `pattern -> template`. The first pattern that matches decides, as in TiCDC's own
    dispatchers; a name that no pattern matches stays as it is."""

    def __init__(self, route: Mapping[str, str], case_sensitive: bool = False) -> None:
        """A pattern is a filter rule such as `shop.*`. A template is a name such as
        `archive.{schema}_{table}`; a part of it that has a dot is quoted. Raises `ConfigError`."""
        self._rules = [
            (matcher_of(pattern, case_sensitive), _template(pattern, template))
            for pattern, template in route.items()
        ]

    def __call__(self, schema: str, table: str) -> Name:
        """The table's name in the target. For a schema alone `table` is ""."""
        for matcher, template in self._rules:
            if matcher.matches(schema, table):
                return Name(*(_filled(part, schema, table) for part in template))
        return Name(schema, table)


def _filled(part: str, schema: str, table: str) -> str:
    values = {"{schema}": schema, "{table}": table}
    return _PLACEHOLDER.sub(lambda match: values[match[0]], part)


def matcher_of(pattern: str, case_sensitive: bool) -> TableMatcher:
    """The matcher. Raises `ConfigError` if the text is not a pattern of names."""
    if pattern.lstrip().startswith(("!", "@", "#")):
        raise ConfigError(f"{pattern!r} is not a pattern of names, such as shop.*")
    return TableMatcher((pattern,), case_sensitive=case_sensitive)


def _template(pattern: str, template: str) -> Name:
    match = _TEMPLATE.fullmatch(template)
    if match is None:
        raise ConfigError(
            f"{pattern!r}: {template!r} is not schema.table, such as archive.{{table}}"
        )
    parts = [
        (quoted or "").replace('""', '"') or (backquoted or "").replace("``", "`") or plain
        for quoted, backquoted, plain in (match.groups()[:3], match.groups()[3:])
    ]
    for part in parts:
        for placeholder in _PLACEHOLDER.findall(part):
            if placeholder not in ("{schema}", "{table}"):
                raise ConfigError(
                    f"{pattern!r}: {placeholder!r} is neither {{schema}} nor {{table}}"
                )
    return Name(*parts)
