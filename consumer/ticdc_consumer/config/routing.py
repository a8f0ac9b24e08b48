"""Upstream names -> the names they have in the target."""

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
    """`pattern -> template`, the first pattern that matches wins, as TiCDC's own dispatchers do;
    a name that none matches stays as it is."""

    def __init__(self, route: Mapping[str, str], case_sensitive: bool = False) -> None:
        """Patterns are filter rules, as `shop.*`; templates as `archive.{schema}_{table}`, in
        which a part that holds a dot is quoted. Raises `ConfigError`."""
        self._rules = [
            (_matcher(pattern, case_sensitive), _template(pattern, template))
            for pattern, template in route.items()
        ]

    def __call__(self, schema: str, table: str) -> Name:
        """Where the upstream's table goes. For a schema alone `table` is ""."""
        for matcher, template in self._rules:
            if matcher.matches(schema, table):
                return Name(*(_filled(part, schema, table) for part in template))
        return Name(schema, table)


def _filled(part: str, schema: str, table: str) -> str:
    values = {"{schema}": schema, "{table}": table}
    return _PLACEHOLDER.sub(lambda found: values[found[0]], part)


def _matcher(pattern: str, case_sensitive: bool) -> TableMatcher:
    if pattern.lstrip().startswith(("!", "@", "#")):
        raise ConfigError(f"{pattern!r} is no pattern of names, as shop.*")
    return TableMatcher((pattern,), case_sensitive=case_sensitive)


def _template(pattern: str, template: str) -> Name:
    found = _TEMPLATE.fullmatch(template)
    if found is None:
        raise ConfigError(f"{pattern!r}: {template!r} is not schema.table, as archive.{{table}}")
    parts = [
        (quoted or "").replace('""', '"') or (backquoted or "").replace("``", "`") or plain
        for quoted, backquoted, plain in (found.groups()[:3], found.groups()[3:])
    ]
    for part in parts:
        for placeholder in _PLACEHOLDER.findall(part):
            if placeholder not in ("{schema}", "{table}"):
                raise ConfigError(
                    f"{pattern!r}: {placeholder!r} is neither {{schema}} nor {{table}}"
                )
    return Name(*parts)
