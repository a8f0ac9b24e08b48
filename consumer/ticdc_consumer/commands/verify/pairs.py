"""The tables of target and upstream that are compared with each other, and how each column is
read."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

from ticdc_encoder.column import TEMPORALS, Column
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table

from ticdc_consumer.commands.verify.fingerprint import KeyOf
from ticdc_consumer.config.merging import Shard
from ticdc_consumer.config.options import Settings
from ticdc_consumer.ddl.merged_tables import shard_column
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.targets import read_back
from ticdc_consumer.targets.column_mapping import SKIP
from ticdc_consumer.targets.comparable import Comparable, DigestWords, Form
from ticdc_consumer.targets.layout import Layout, TargetTable
from ticdc_consumer.targets.mysql_protocol import (
    TIDB_DIGEST,
    CatalogType,
    comparable,
    string_literal,
)
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.tables import quoted, sent
from ticdc_consumer.upstream.tables import relation as upstream_relation

PARTS = 1024
"""Parts of a table, by its rows' keys: the rows of a part are read if its digests differ."""

Range = tuple[int | None, int | None]
"""Keys from the first on and below the second; None where that end is open."""

_LONG = frozenset({"text", "mediumtext", "longtext", "blob", "mediumblob", "longblob", "json"})


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """A column, and how each side reads it."""

    name: str
    upstream: Comparable
    target: Comparable


@dataclass(frozen=True, slots=True)
class OtherTable:
    """A table of another target: its text in FROM and in WHERE, and its words for digests."""

    relation: str
    condition: str
    words: DigestWords | None


@dataclass(frozen=True)
class Pair:
    """A table of the upstream, and the place of its rows in the target. Without a `key` all columns
    identify a row. `left_out` are virtual columns that the target lacks. With `other` the table of
    another target replaces the upstream's. `ranges` of `number_key` limit the rows, unless there
    are none."""

    table: Table
    described: TargetTable
    rules: frozenset[str]
    layout: Layout
    columns: tuple[ComparedColumn, ...]
    key: tuple[str, ...]
    shard: Shard | None = None
    shard_column: str = ""
    """Name in the target's table, quoted."""
    left_out: tuple[str, ...] = ()
    other: OtherTable | None = None
    ranges: tuple[Range, ...] = ()

    @property
    def name(self) -> str:
        return self.layout.name

    @property
    def long(self) -> bool:
        """Returns whether single rows may take megabytes."""
        return any(column.type.name in _LONG for column in self.layout.source)

    @property
    def at_once(self) -> int:
        """Rows of a batch."""
        return 64 if self.long else 4_096

    @cached_property
    def key_of(self) -> KeyOf:
        names = [column.name for column in self.columns]
        if not self.key:
            return lambda row: row
        return itemgetter(*(names.index(name) for name in self.key))

    def upstream_rows(self, parts: Collection[int] | None = None) -> str:
        """The statement for the rows of these parts, or of all; each % in it is doubled."""
        columns = ", ".join(column.upstream.expression for column in self.columns)
        return f"SELECT {columns} {self._from_upstream(parts)}"

    def target_rows(self, parts: Collection[int] | None = None) -> str:
        columns = ", ".join(column.target.expression for column in self.columns)
        return f"SELECT {columns} {self._from_target(parts)}"

    def has_digests(self, target: Target) -> bool:
        """Returns whether both databases print all columns alike."""
        sides = [side for column in self.columns for side in (column.upstream, column.target)]
        words = read_back(target.dialect).DIGEST, self.other is None or self.other.words
        return all(words) and all(side.printed for side in sides)

    def upstream_digests(self) -> str:
        """The statement for each part's number, count of rows and sum of their hashes."""
        columns = [column.upstream for column in self.columns]
        key = [column.upstream for column in self._key_columns]
        source = self._from_upstream()
        return self._upstream_words.digests(columns, key, PARTS, self._by_number, source)

    def target_digests(self) -> str:
        columns = [column.target for column in self.columns]
        key = [column.target for column in self._key_columns]
        source = self._from_target()
        return self._target_words.digests(columns, key, PARTS, self._by_number, source)

    @property
    def _upstream_part(self) -> str:
        key = [column.upstream for column in self._key_columns]
        return self._upstream_words.part(key, PARTS, self._by_number)

    @property
    def _target_part(self) -> str:
        key = [column.target for column in self._key_columns]
        return self._target_words.part(key, PARTS, self._by_number)

    @property
    def _upstream_words(self) -> DigestWords:
        words = TIDB_DIGEST if self.other is None else self.other.words
        assert words is not None
        return words

    @property
    def _target_words(self) -> DigestWords:
        words = read_back(self.layout.dialect).DIGEST
        assert words is not None
        return words

    @property
    def _key_columns(self) -> list[ComparedColumn]:
        return [column for column in self.columns if not self.key or column.name in self.key]

    @property
    def _by_number(self) -> bool:
        first, *others = self._key_columns
        return not others and bool(first.upstream.integer and first.target.integer)

    @property
    def _first_key(self) -> ComparedColumn:
        return next(column for column in self.columns if column.name == self.key[0])

    @property
    def number_key(self) -> str | None:
        """The upstream's name of the key's first column, if both sides hold it as an integer."""
        if not self.key or self.other is not None:
            return None
        first = self._first_key
        return first.upstream.integer if first.target.integer else None

    def _from_upstream(self, parts: Collection[int] | None = None) -> str:
        relation, conditions = upstream_relation(self.table), list[str]()
        if self.other is not None:
            relation = self.other.relation
            conditions += filter(None, [self.other.condition])
        if self.ranges:
            conditions.append(_within(self._first_key.upstream.integer, self.ranges))
        if parts is not None:
            conditions.append(_in_parts(self._upstream_part, parts))
        return f"FROM {relation}{_where(conditions)}"

    @property
    def of_shard(self) -> str:
        """The condition for the rows of this table, where several share the target's."""
        if self.shard is None:
            return ""
        return f"{self.shard_column} = {string_literal(self.shard.name)}"

    def _from_target(self, parts: Collection[int] | None = None) -> str:
        conditions = list(filter(None, [self.of_shard]))
        if self.ranges:
            conditions.append(_within(self._first_key.target.integer, self.ranges))
        if parts is not None:
            conditions.append(_in_parts(self._target_part, parts))
        return f"FROM {self.layout.relation}{_where(conditions)}"


def _where(conditions: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _within(column: str, ranges: Sequence[Range]) -> str:
    parts = list[str]()
    for low, high in ranges:
        ends = [f"{column} >= {low}"] * (low is not None) + [f"{column} < {high}"] * (
            high is not None
        )
        parts.append(" AND ".join(ends) or "TRUE")
    return f"({' OR '.join(parts)})"


def _in_parts(part: str, parts: Collection[int]) -> str:
    return f"{part} IN ({', '.join(map(str, sorted(parts)))})"


def pair(target: Target, options: Settings, where: InTarget, table: Table) -> Pair:
    """Builds the pair of a table. Raises `Stop` for a table that the target lacks, or that could
    not hold the upstream's rows exactly."""
    name = table.schema, table.name
    destination = where.of(name)
    assert destination is not None  # the filter lets it pass
    described = target.describe(*destination)
    if described is None:
        raise NotInTarget(f"the target has no table {target.quote(*destination)}")
    shard = where.shard(name)
    compared = described if shard is None else _without(described, shard)
    # Columns that the target computes itself are compared, too.
    columns = tuple(replace(column, generated=False) for column in compared.columns)
    compared = replace(compared, columns=columns)
    layout = target.layout(table, (), compared, table, options.rules)
    read = [_column(target, compared, layout, n) for n in range(len(layout.source))]
    names = {column.name for column in read if column is not None}
    key = table.handle_key if set(table.handle_key) <= names else ()
    return Pair(
        table=table,
        described=described,
        rules=options.rules,
        layout=replace(layout, key=key),
        columns=tuple(column for column in read if column is not None),
        key=key,
        shard=shard,
        shard_column="" if shard is None else target.quote(None, shard.column),
        left_out=tuple(c.name for c in layout.source if c.name not in names),
    )


class NotInTarget(Stop):
    """The target has no such table."""


def _without(described: TargetTable, shard: Shard) -> TargetTable:
    columns = tuple(column for column in described.columns if column.name != shard.column)
    if len(columns) == len(described.columns):
        raise Stop(f"the target's table has no column {shard.column}, as [tables.merge] says")
    return replace(described, columns=columns)


def _column(
    target: Target, described: TargetTable, layout: Layout, number: int
) -> ComparedColumn | None:
    """A compared column; None for a virtual column that the target lacks."""
    column, codec = layout.source[number], layout.codecs[number]
    if codec == SKIP:
        return None
    name = layout.columns[number]
    by_name = {target.quote(None, each.name): each for each in described.columns}
    comparable_here = read_back(target.dialect).column(by_name[name], codec, name)
    return ComparedColumn(column.name, _upstream(column, comparable_here.form), comparable_here)


def _upstream(column: Column, form: Form) -> Comparable:
    type_ = column.type
    numbers = [n for n in (type_.length, type_.decimals) if n is not None]
    if type_.name in TEMPORALS:
        numbers = [type_.decimals or 0]
    known = CatalogType(type_.name, tuple(numbers), type_.unsigned)
    return comparable(known, form, quoted(column.name), type_.charset)


def repair_layout(pair: Pair, target: Target) -> Layout:
    """The layout for writing the upstream's rows. Raises `Stop` if the target's table has no such
    key."""
    columns, key = sent(pair.table), pair.key
    if pair.shard is not None:
        columns, key = (*columns, shard_column(pair.shard)), (*key, pair.shard.column)
    source = replace(pair.table, columns=columns)
    layout = target.layout(source, key, pair.described, pair.table, pair.rules)
    return layout if pair.shard is None else replace(layout, shard=pair.shard.name)


def reason(error: TicdcError, table: Table) -> str:
    """The reason why a table cannot be compared, without its name."""
    return str(error).removeprefix(f"{table.schema}.{table.name}: ")
