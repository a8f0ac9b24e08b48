"""One DDL in the target's words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved
from ticdc_encoder.sql.statements import (
    Action,
    AddColumn,
    AddIndex,
    AlterSchema,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    CreateView,
    DropSchema,
    DropTable,
    DropView,
    EmptyPartitions,
    ExchangePartition,
    ModifyColumn,
    Other,
    OtherAction,
    RecoverTable,
    RenameTable,
    Statement,
    TruncateTable,
)

from ticdc_consumer.config.merging import Shard
from ticdc_consumer.ddl import (
    dropped_tables,
    generated_columns,
    merged_tables,
    reflection,
    views,
)
from ticdc_consumer.ddl.begun import require_own
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import definitions_after
from ticdc_consumer.ddl.foreign_keys import changes, references, waiting
from ticdc_consumer.ddl.kinds import action_kind, kind_of, like_definition, names_of
from ticdc_consumer.ddl.known_views import known
from ticdc_consumer.ddl.names import own_schema, parsed
from ticdc_consumer.ddl.partition import actions as partitions
from ticdc_consumer.ddl.shared import databases
from ticdc_consumer.ddl.shared.tables import refuse_shared
from ticdc_consumer.errors import InTheWay, LeftOut, Stop, TableNotSent, Unsupported
from ticdc_consumer.state.known_tables import Basis, Definitions
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import (
    Reference,
    ReferenceChanges,
    TableName,
    TargetName,
    TargetTable,
)
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target


def work(context: DdlContext, entry: LedgerEntry) -> Alteration:
    """What is still to be done for an entry. Raises `Stop` for what cannot be done exactly, and
    for what another client has done."""
    statement = context.statement(entry)
    refuse_shared(context, statement)
    databases.refuse_shared(context, entry, statement)
    alteration = merged_tables.work(context, statement)
    if alteration is None:
        alteration = TRANSLATIONS[type(statement)](context, entry, statement)
    require_own(context.target, entry, alteration)
    return with_views(context, statement, alteration)


def creation(context: DdlContext, table: Table) -> Alteration:
    """What creates a table that no CREATE TABLE brought. Raises `Stop`."""
    statement = CreateTable(table)
    refuse_shared(context, statement)
    return with_views(context, statement, _create(context, table))


def with_views(context: DdlContext, statement: Statement, alteration: Alteration) -> Alteration:
    """The same with what preserves the views of the tables that it changes. Raises `Stop`."""
    definitions = context.definitions
    changed = _tables_changed(statement, definitions, alteration)
    if not changed:
        return alteration
    after = definitions_after(statement, definitions, context.ledger)
    around = views.around(context, statement, changed, after)
    return replace(
        alteration,
        statements=(*around.before, *alteration.statements, *around.again),
        views_left_out=tuple(around.left_out),
    )


def _tables_changed(
    statement: Statement, definitions: Definitions, alteration: Alteration
) -> set[TableName]:
    """The tables whose views would be in the way of what is done."""
    if not (alteration.statements or alteration.as_after) or alteration.rows_only:
        return set()
    kind, names = kind_of(statement), names_of(statement)
    if names.schema is not None:
        return set(definitions.of_schema(names.schema)) if names.contents else set()
    if kind.empties and not kind.drops and alteration.set_aside is None:
        return set()  # the table stays, and is emptied
    return set(names.tables)


# --- schemas and tables -------------------------------------------------------------------------


def _create_table(context: DdlContext, _: LedgerEntry, statement: CreateTable) -> Alteration:
    return _create(context, statement.table)


def _create_like(context: DdlContext, _: LedgerEntry, statement: CreateTableLike) -> Alteration:
    definitions, like = context.definitions, statement.like
    if like not in definitions:
        raise Unsupported(f"the definition of {'.'.join(like)} did not come through the stream")
    table = like_definition(definitions[like], statement.schema, statement.table)
    return _create(context, table)


def _create(context: DdlContext, table: Table) -> Alteration:
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
    """Adds to the tables that were created before it their foreign keys to the table."""
    children = waiting(table, context.definitions, context.locate)
    return [text for child, keys in children for text in _referring(context, child, keys)]


def _referring(context: DdlContext, table: Table, keys: Sequence[Reference]) -> tuple[str, ...]:
    """Adds to an existing table those foreign keys that it lacks."""
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
    """Raises `Stop` unless `existing` is what a CREATE of `table` would give: with these columns,
    a key that identifies its rows, and no other unique keys than these."""
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


def _check_created(context: DdlContext, schema: str) -> None:
    """Raises `Stop` unless all tables of the schema came through the stream."""
    for entry in context.ledger.of_schemas_and_views():
        of_it = entry.state == "done" and entry.schema == schema and not entry.table
        if of_it and isinstance(parsed(entry.query, entry.schema), CreateSchema):
            return
    raise Unsupported(
        f"{schema} was not created through the stream, so its contents are not certain"
    )


def _create_schema(context: DdlContext, _: LedgerEntry, statement: CreateSchema) -> Alteration:
    return Alteration(tuple(context.target.create_schema(context.route(statement.schema, "")[0])))


def _drop_schema(context: DdlContext, entry: LedgerEntry, statement: DropSchema) -> Alteration:
    """The views and tables of the schema that came through the stream, and the schema itself
    unless it is the consumer's own. Raises `Stop` if it holds anything else."""
    source = statement.schema
    _check_created(context, source)
    target = context.target
    names = [context.locate(name) for name in context.definitions.of_schema(source)]
    names += [
        (dropped.target_schema, dropped.target_table)
        for dropped in context.ledger.dropped()
        if dropped.schema == source
    ]
    of_schema = [
        context.locate(name) for name in known(context.ledger, entry.order) if name[0] == source
    ]
    statements = [f"DROP VIEW IF EXISTS {target.quote(*view)}" for view in of_schema]
    statements += [
        text
        for name in names
        if target.describe(*name) is not None
        for text in target.drop_table(*name)
    ]
    schema = target.locate(context.route(source, "")[0], "")[0]
    if schema is None or schema == own_schema(target):
        return Alteration(tuple(statements))
    catalog = sa.inspect(target.connection)
    if schema not in catalog.get_schema_names():
        return Alteration(tuple(statements))
    existing = {*catalog.get_table_names(schema), *catalog.get_view_names(schema)}
    others = existing - {table for of, table in (*names, *of_schema) if of == schema}
    if others:
        raise Stop(
            f"{target.quote(None, schema)} holds objects that did not come through the stream as "
            f"{source}'s: {', '.join(sorted(others))}"
        )
    kind = "SCHEMA" if target.transactional_ddl else "DATABASE"
    return Alteration((*statements, f"DROP {kind} {target.quote(None, schema)}"))


def _rename(context: DdlContext, _: LedgerEntry, statement: RenameTable) -> Alteration:
    target, definitions = context.target, context.definitions
    before, after = context.locate(statement.old), context.locate(statement.new)
    if before == after:
        return Alteration()
    exist = target.describe(*before) is not None, target.describe(*after) is not None
    if exist == (False, True) and not target.transactional_ddl:
        return _renamed(context, before, after)
    if exist != (True, False):
        state = "neither exists" if not exist[0] else "both exist"
        if exist == (False, True):
            state = "only the latter exists"
        raise Stop(f"{target.quote(*before)} is to become {target.quote(*after)}, but {state}")
    texts = target.rename_table(before, after, definitions.get(statement.old))
    return Alteration(tuple(texts), evidence=target.evidence(before))


def _renamed(context: DdlContext, before: TargetName, after: TargetName) -> Alteration:
    """It ran, and a crash came before it was noted; or another client renamed it."""
    target = context.target
    old, new = target.quote(*before), target.quote(*after)
    as_after = (
        f"{old} is to become {new}, but only the latter exists; undo that by RENAME TABLE {new} "
        f"TO {old}, and start again; if it is not the table to be renamed, repair its rows "
        "afterwards by verify --repair"
    )
    return Alteration(as_after=as_after, evidence=target.evidence(after))


def _alter(context: DdlContext, _: LedgerEntry, altered: AlterTable) -> Alteration:
    target = context.target
    for action in altered.actions:
        match action:
            case OtherAction(what):
                raise Unsupported(f"ALTER TABLE ... {what} is not translated")
    if not any(action_kind(action).work for action in altered.actions):
        return Alteration()
    table = context.locate((altered.schema, altered.table))
    if _partitions(altered):
        if target.describe(*table) is None:
            raise Stop(f"there is no table {target.quote(*table)}")
        return _change_partitions(context, altered)
    evolved, references = evolution(context, altered)
    return target.alter_table(*table, evolved, references)


def evolution(context: DdlContext, altered: AlterTable) -> tuple[Evolved, ReferenceChanges]:
    """The table before and after an ALTER TABLE, as far as the target has it. Raises `Stop`."""
    target, name = context.target, (altered.schema, altered.table)
    table = context.locate(name)
    _require_sent(context, altered)
    known = context.ledger.known().get(name)
    evolved = reflection.evolved(target, table, altered, known)
    existing = target.describe(*table)
    if existing is None:
        raise Stop(f"there is no table {target.quote(*table)}")
    certain = known is not None and known.basis in ("applied", "checked")
    evolved = generated_columns.as_it_is(target, evolved, existing, certain)
    return evolved, changes(target, evolved, context.definitions, context.locate)


def _require_sent(context: DdlContext, altered: AlterTable) -> None:
    """Raises `TableNotSent` for a table that was left out until now."""
    name = altered.schema, altered.table
    if gives_first_key(context, altered, name):
        raise TableNotSent(
            f"{'.'.join(name)}: there is no table {context.target.quote(*context.locate(name))}: "
            "TiCDC leaves out a table that has neither a primary key nor a NOT NULL unique key; "
            "the rows that it had when this statement gave it one are not in the topic"
        )


def gives_first_key(context: DdlContext, statement: Statement, name: TableName) -> bool:
    """Whether it may give a key to this table, which then was left out until now: nothing of it
    came before, and it is not in the target."""
    return (
        isinstance(statement, AlterTable)
        and (statement.schema, statement.table) == name
        and name not in context.ledger.known().destinations
        and any(map(_may_give_key, statement.actions))
        and context.target.describe(*context.locate(name)) is None
    )


def _may_give_key(action: Action) -> bool:
    match action:
        case AddIndex(index):
            return index.unique
        case AddColumn(column, keys) | ModifyColumn(_, column, keys):
            return bool(keys) or not column.nullable
        case _:
            return False


def _partitions(altered: AlterTable) -> bool:
    return any(action_kind(action).partitions for action in altered.actions)


def _change_partitions(context: DdlContext, altered: AlterTable) -> Alteration:
    target, definitions = context.target, context.definitions
    name = altered.schema, altered.table
    if name not in definitions:
        raise Unsupported(
            f"the definition of {'.'.join(name)} did not come through the stream, so it is "
            "not certain which rows are in which partition"
        )
    table = context.locate(name)
    match altered.actions:
        case (EmptyPartitions(names),):
            return partitions.empty(target, table, definitions[name], names)
        case (ExchangePartition(partition, other),):
            with_table = context.locate(definitions.spelled(other))
            return partitions.exchange(target, table, definitions[name], partition, with_table)
        case _:
            raise Unsupported("TRUNCATE, DROP and EXCHANGE PARTITION beside other actions")


def before_alter(context: DdlContext, entry: LedgerEntry) -> tuple[Table, Basis] | None:
    """What must be stored before an ALTER TABLE that commits by itself, of a table that the
    consumer did not create: after a crash the catalog no longer shows how it was. Raises
    `Stop`."""
    statement = context.statement(entry)
    if not isinstance(statement, AlterTable) or not _alters(statement):
        return None
    name = statement.schema, statement.table
    refuse_shared(context, statement)
    merged_tables.refuse_merged(context, statement)
    _require_sent(context, statement)
    known = context.ledger.known().get(name)
    if known is not None and known.basis not in ("declared", "seen"):
        return None
    evolved = reflection.evolved(context.target, context.locate(name), statement, known)
    return evolved.before, "reflected" if known is None or known.basis == "seen" else "checked"


def _alters(statement: AlterTable) -> bool:
    """Whether it can be done, and does anything to the table itself."""
    actions = statement.actions
    return (
        not any(isinstance(action, OtherAction) for action in actions)
        and not _partitions(statement)
        and any(action_kind(action).work for action in actions)
    )


# --- the translation of each kind ----------------------------------------------------------------


def _drop(context: DdlContext, entry: LedgerEntry, statement: DropTable) -> Alteration:
    return dropped_tables.drop(context, entry, (statement.schema, statement.table))


def _truncate(context: DdlContext, entry: LedgerEntry, statement: TruncateTable) -> Alteration:
    return dropped_tables.truncate(context, entry, (statement.schema, statement.table))


def _recover(context: DdlContext, _: LedgerEntry, statement: RecoverTable) -> Alteration:
    if statement.dropped is None or statement.table is None:
        raise Unsupported("it does not name the table to restore")
    return dropped_tables.recover(context, statement.dropped, statement.table)


def _keep_schema(*_: object) -> Alteration:
    """ALTER DATABASE: its tables keep their character sets."""
    return Alteration()


def _create_view(context: DdlContext, _: LedgerEntry, statement: CreateView) -> Alteration:
    return views.create(context, statement)


def _refuse_other(_: DdlContext, __: LedgerEntry, statement: Other) -> Alteration:
    if statement.what.upper().endswith(" SEQUENCE"):
        raise LeftOut("the target has no sequences: rows carry the generated values")
    raise Unsupported(f"{statement.what.upper()} is not translated")


TRANSLATIONS: Mapping[type[Statement], Callable[[DdlContext, LedgerEntry, Any], Alteration]] = {
    CreateSchema: _create_schema,
    AlterSchema: _keep_schema,
    DropSchema: _drop_schema,
    CreateTable: _create_table,
    CreateTableLike: _create_like,
    DropTable: _drop,
    TruncateTable: _truncate,
    AlterTable: _alter,
    RenameTable: _rename,
    RecoverTable: _recover,
    CreateView: _create_view,
    DropView: views.drop,
    Other: _refuse_other,
}
"""What each kind of statement becomes in the target. Each raises `Stop` for what it cannot do."""
