"""Merging of upstream tables into one target table, and the column that tells their rows apart."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ticdc_encoder.filters.table import TableMatcher

from ticdc_consumer.config.routing import matcher_of

MOST_CHARACTERS = 140
"""Length of a shard's name: two names of 64 characters, the dot, and some quotes."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Name that `column` holds in the target's rows of one upstream table."""

    column: str
    name: str


class Merging:
    """Rules `pattern -> column`; the first pattern that matches decides."""

    def __init__(self, merge: Mapping[str, str], case_sensitive: bool = False) -> None:
        """A pattern is a filter rule such as `shop_*.orders`. Raises `ConfigError`."""
        self._rules: list[tuple[TableMatcher, str]] = [
            (matcher_of(pattern, case_sensitive), column) for pattern, column in merge.items()
        ]

    def shard(self, schema: str, table: str) -> Shard | None:
        """The shard; None for a table that has a target table to itself."""
        for matcher, column in self._rules:
            if matcher.matches(schema, table):
                return Shard(column, f"{_part(schema)}.{_part(table)}")
        return None


def table_of(shard: str) -> tuple[str, str] | None:
    """The schema and table of a shard's name; None for any other text."""
    parts = _NAME.fullmatch(shard)
    if parts is None:
        return None
    schema, table = (
        plain if quoted is None else quoted.replace('""', '"')
        for quoted, plain in (parts.groups()[:2], parts.groups()[2:])
    )
    return schema, table


_NAME = re.compile(r"""(?:"((?:[^"]|"")+)"|([^."]+))\.(?:"((?:[^"]|"")+)"|([^."]+))""", re.DOTALL)


def _part(name: str) -> str:
    """Quotes a part that is not plain, so that no two tables have one name."""
    plain = not set(name) & set('."')
    return name if plain else '"' + name.replace('"', '""') + '"'
