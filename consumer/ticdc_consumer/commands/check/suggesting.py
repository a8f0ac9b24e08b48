"""Suggestions of `check` for a missing table, and its findings about a filter."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace

from ticdc_encoder.column import Column, Index
from ticdc_encoder.counted import counted
from ticdc_encoder.errors import ConfigError, TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.filters.table import TableFilter

from ticdc_consumer.commands.check.finding import Finding, ok, warn
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.suggesting import did_you_mean
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.target import Target

MOST_NAMED = 5
"""Most left-out tables that a finding names."""
_SIZED = frozenset({"char", "varchar", "binary", "varbinary", "decimal", "bit", "vector"})
"""Types that say little without their length."""


def left_out_by_filter(
    options: Settings, rules: TableFilter, tables: Collection[TableName], rows: int
) -> Iterator[Finding]:
    """Yields the tables that the filter leaves out, and its rules that match none."""
    out = sorted(name for name in tables if not rules.matches(*name))
    named = ", ".join(f"{schema}.{table}" for schema, table in out[:MOST_NAMED])
    more = " and others" if len(out) > MOST_NAMED else ""
    if len(out) == len(tables):
        yield warn(
            "filter",
            f"leaves out all of the first messages, {counted(rows, 'row')} of "
            f"{counted(len(tables), 'table')}: {named}{more}",
        )
    elif out:
        yield ok(
            "filter", f"leaves out {len(out):,} of {counted(len(tables), 'table')}: {named}{more}"
        )
    for rule in options.filter:
        if not _matches_any(rule.removeprefix("!"), options.case_sensitive, tables):
            known = {pattern for s, t in tables for pattern in (f"{s}.{t}", f"{s}.*")}
            hint = did_you_mean(rule.removeprefix("!"), sorted(known), cutoff=0.7)
            yield warn("filter", f"{rule} matches none of the tables of the first messages{hint}")


def _matches_any(rule: str, case_sensitive: bool, tables: Collection[TableName]) -> bool:
    try:
        alone = TableFilter([rule], case_sensitive=case_sensitive)
    except ConfigError:  # a comment
        return True
    return any(alone.matches(*name) for name in tables)


def missing_table(
    target: Target, relation: TargetName, definition: Table | None, source: Table
) -> str:
    """The statements that create the table, as far as its CREATE TABLE or its rows tell; else its
    columns, so that an operator can write them."""
    schema, name = relation
    table = definition or _of_rows(source)
    if table is not None:
        with suppress(TicdcError):  # the types are then shown as they came
            create = target.create_table(schema, name, table)
            first = target.create_schema(schema) if schema is not None else []
            return f"; perhaps by: {'; '.join([*first, *create])}"
    columns = ", ".join(map(_column, source.columns))
    key = f", key ({', '.join(source.handle_key)})" if source.handle_key else ""
    return f"; its rows have {columns}{key}"


def _of_rows(source: Table) -> Table | None:
    """The table as its rows show it; None if they do not show enough."""
    sizes = (each.type for each in source.columns if each.type.name in _SIZED)
    labels = (each.type for each in source.columns if each.type.name in ("enum", "set"))
    known = all(type_.length is not None for type_ in sizes) and all(t.elements for t in labels)
    if not (known and source.handle_key):
        return None
    key = source.handle_key
    columns = tuple(replace(each, nullable=each.name not in key) for each in source.columns)
    primary = Index("PRIMARY", key, unique=True, primary=True)
    return Table.define(source.schema, source.name, columns, (primary,))


def _column(column: Column) -> str:
    type_ = column.type
    sizes = [str(size) for size in (type_.length, type_.decimals) if size is not None]
    size = f"({', '.join(sizes)})" if sizes else ""
    return f"{column.name} {type_.name}{size}{' unsigned' if type_.unsigned else ''}"
