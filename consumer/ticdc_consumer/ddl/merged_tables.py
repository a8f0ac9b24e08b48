"""DDL of tables that `[tables.merge]` joins: each touches only the rows of its own shard.

The target's table has the shard's column in every key. It is created with the first shard, and
stays when the last is dropped. Only an operator may change the table of all shards.
"""

from dataclasses import replace

from ticdc_encoder.column import Column, ColumnType, Index
from ticdc_encoder.event import Table
from ticdc_encoder.sql.statements import AlterTable, Statement

from ticdc_consumer.config.merging import MOST_CHARACTERS, Shard, table_of
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.kinds import action_kind, kind_of, names_of
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.state.destinations import Destinations
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.schema.create import literal
from ticdc_consumer.targets.target import Target


class Merged(Stop):
    """A DDL of one shard would touch all of them."""


def shard_column(shard: Shard) -> Column:
    """Returns the column that the target's table has in addition to the upstream's."""
    type_ = ColumnType(
        "varchar", length=MOST_CHARACTERS, charset="utf8mb4", collation="utf8mb4_bin"
    )
    return Column(shard.column, type_, nullable=False)


def with_shard(table: Table, shard: Shard) -> Table:
    """Returns the target's table: the shard's column is the last one, and the last of every unique
    key. Foreign keys are left out. Raises `Unsupported`."""
    name = f"{table.schema}.{table.name}"
    if shard.column.lower() in {column.name.lower() for column in table.columns}:
        raise Unsupported(f"{name} has a column {shard.column} upstream: name another one in merge")
    if not table.handle_key:
        raise Unsupported(f"{name} has no key, so its rows cannot be told from other shards'")
    column = shard_column(shard)
    return replace(
        table,
        columns=(*table.columns, column),
        indexes=tuple(_with(index, column.name, name) for index in table.indexes),
        handle_key=(*table.handle_key, column.name),
        foreign_keys=(),
    )


def _with(index: Index, column: str, name: str) -> Index:
    if not index.unique:
        return index
    if index.expression or index.partial:
        raise Unsupported(f"unique index {index.name} of {name} is not over columns alone")
    lengths = index.lengths or (None,) * len(index.columns)
    return replace(index, columns=(*index.columns, column), lengths=(*lengths, None))


def _delete_shard(context: DdlContext, name: TableName, shard: Shard) -> Alteration:
    """Does DROP TABLE and TRUNCATE TABLE: deletes the rows of this shard."""
    described = context.target.describe(*context.locate(name))
    if described is None:
        return Alteration()
    column = shard_column(shard)
    existing = {each.name: each for each in described.columns}.get(column.name)
    merges = context.target.type_rules(context.rules).merges
    if existing is None or (existing.collation and merges(existing.collation, column.type)):
        raise Merged(
            f"{'.'.join(name)}: the target's table has no column {column.name} that names the "
            "upstream table of each row and compares names exactly"
        )
    rows = of_shard(context.target, context.locate(name), shard)
    return Alteration((f"DELETE FROM {rows}",), rows_only=True)  # noqa: S608


def of_shard(target: Target, located: TargetName, shard: Shard) -> str:
    """Returns the table and the condition of the shard's rows, for a statement."""
    column = target.quote(None, shard.column)
    return f"{target.quote(*located)} WHERE {column} = {literal(shard.name)}"


def require_named_rows(
    target: Target, located: TargetName, shard: Shard, where: Destinations
) -> None:
    """Raises `Stop` if a row of the target's table, not written by this changefeed, belongs to no
    upstream table: no change would ever reach it."""
    relation, column = target.quote(*located), target.quote(None, shard.column)
    names = target.execute(f"SELECT DISTINCT {column} FROM {relation}")  # noqa: S608
    for name in sorted(str(each) for (each,) in names):
        table = table_of(name)
        if table is not None and where.shard(table) == Shard(shard.column, name):
            destination = where.of(table)
            if destination is None or where.comparable(destination) == where.comparable(located):
                continue
        mine, theirs = literal(shard.name), literal(name)
        update = f"UPDATE {relation} SET {column} = {mine} WHERE {column} = {theirs}"  # noqa: S608
        raise Stop(
            f"rows of {relation} have {theirs} in {shard.column}, which is not the name of a "
            "table that [tables.merge] merges there: give them the name of their upstream "
            f"table, for example by: {update}; then start again"
        )


def without_parents(context: DdlContext, table: Table) -> Table:
    """Returns the table without foreign keys to merged tables, in which no key belongs to one shard
    only."""
    keys = tuple(key for key in table.foreign_keys if context.shard(key.parent) is None)
    return replace(table, foreign_keys=keys)


def refuse_merged(context: DdlContext, statement: Statement) -> None:
    """Raises `Merged` for a statement that would change the table of all shards, or rename one."""
    for name in _tables(context, statement):
        shard = context.shard(name)
        if shard is not None:
            raise Merged(
                f"{'.'.join(name)} is merged with other tables by [tables.merge]: this would touch "
                f"the rows of all of them, or change what {shard.column} holds; do it by hand, to "
                "the table or to the rows that it is meant for"
            )


def _tables(context: DdlContext, statement: Statement) -> tuple[TableName, ...]:
    kind, names = kind_of(statement), names_of(statement)
    if kind.creates or kind.empties:
        return ()  # it concerns only the rows of its own shard
    if names.schema is not None and names.contents:
        return tuple(context.ledger.known().of_schema(names.schema))
    if isinstance(statement, AlterTable) and not any(
        action_kind(action).effect for action in statement.actions
    ):
        return ()
    return *names.tables, *map(context.definitions.spelled, names.exchanged)


def work(context: DdlContext, statement: Statement) -> Alteration | None:
    """Returns the work of DROP and TRUNCATE of a merged table; None for other statements. Raises
    `Merged`."""
    refuse_merged(context, statement)
    if not kind_of(statement).empties:
        return None
    (name,) = names_of(statement).tables
    shard = context.shard(name)
    return None if shard is None else _delete_shard(context, name, shard)
