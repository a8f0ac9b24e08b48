"""CREATE TABLE, and the foreign keys that wait for the table."""

from collections.abc import Iterable, Sequence

from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.config.merging import Shard
from ticdc_consumer.ddl import generated_columns, merged_tables
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.foreign_keys import references, waiting
from ticdc_consumer.errors import InTheWay
from ticdc_consumer.targets.layout import (
    Reference,
    ReferenceChanges,
    TargetTable,
)
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target


def create(context: DdlContext, table: Table) -> Alteration:
    target, definitions = context.target, context.definitions
    shard = context.shard((table.schema, table.name))
    if shard is not None:
        return _create_merged(context, table, shard)
    schema, name = context.locate((table.schema, table.name))
    existing = target.describe(schema, name)
    keys = references(merged_tables.without_parents(context, table), definitions, context.locate)
    statements: list[str] = []
    if existing is None:
        statements += target.create_table(schema, name, table, keys)
    else:
        _check_equal(target, table, existing, context.rules)
        if target.has_rows(existing.schema, existing.name):
            raise InTheWay(f"{_label(existing)} exists and has rows")
        statements += _referring(context, table, keys)
    return Alteration((*statements, *keys_of_children(context, table)))


def _create_merged(context: DdlContext, table: Table, shard: Shard) -> Alteration:
    """Creates the table with the first of its shards."""
    target, merged = context.target, merged_tables.with_shard(table, shard)
    name = table.schema, table.name
    relation = context.locate(name)
    existing = target.describe(*relation)
    if existing is None:
        return Alteration(tuple(target.create_table(*relation, merged)))
    _check_equal(target, merged, existing, context.rules)
    rows = merged_tables.of_shard(target, relation, shard)
    if target.execute(f"SELECT 1 FROM {rows} LIMIT 1").first() is not None:  # noqa: S608
        raise InTheWay(f"{_label(existing)} has rows whose {shard.column} is {shard.name}")
    return Alteration()


def keys_of_children(context: DdlContext, table: Table) -> list[str]:
    """Adds their foreign keys to the table in the tables created before it."""
    children = waiting(table, context.definitions, context.locate)
    return [text for child, keys in children for text in _referring(context, child, keys)]


def _referring(context: DdlContext, table: Table, keys: Sequence[Reference]) -> tuple[str, ...]:
    """Adds to an existing table the foreign keys that it lacks."""
    target = context.target
    name = context.locate((table.schema, table.name))
    described = target.describe(*name)
    if described is None:
        return ()
    existing = target.references(*name)
    present = {reference.key for reference in existing}
    missing = tuple(reference for reference in keys if reference.key not in present)
    if not missing:
        return ()
    unchanged = Evolved(table, table, {column.name: column.name for column in table.columns})
    unchanged = generated_columns.as_it_is(target, unchanged, described, certain=True)
    added = ReferenceChanges(existing, (), missing)
    return target.alter_table(*name, unchanged, added).statements


def _check_equal(
    target: Target, table: Table, existing: TargetTable, rules: frozenset[str]
) -> None:
    """Raises `Stop` unless `existing` equals the result of a CREATE of `table`: with these columns,
    a key that identifies its rows, and no other unique keys."""
    name = _label(existing)
    defined = {column.name.lower() for column in table.columns}
    present = {column.name.lower() for column in existing.columns}
    virtual = {column.name.lower() for column in table.columns if column.generated == "virtual"}
    if defined - virtual != present - virtual:
        differing = ", ".join(sorted(defined ^ present))
        raise InTheWay(f"{name} exists with other columns: they differ in {differing}")
    unique = {
        _set(index.columns)
        for index in table.indexes
        if index.unique and not (index.expression or index.partial)
    }
    for key in existing.unique_keys:
        if key.plain and _set(key.columns) not in unique:
            raise InTheWay(f"{name} exists with another unique key, {key.name}")
    if table.handle_key:
        target.layout(table, table.handle_key, existing, table, rules)


def _label(table: TargetTable) -> str:
    return f"{table.schema}.{table.name}" if table.schema else table.name


def _set(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)
