"""Translates one DDL to the target's words, by its kind."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from ticdc_encoder.event import Table
from ticdc_encoder.sql.statements import (
    AlterSchema,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    CreateView,
    DropSchema,
    DropTable,
    DropView,
    Other,
    RecoverTable,
    RenameTable,
    Statement,
    TruncateTable,
)

from ticdc_consumer.ddl import (
    dropped_tables,
    merged_tables,
    views,
)
from ticdc_consumer.ddl.begun import require_own
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import definitions_after
from ticdc_consumer.ddl.kinds import kind_of, like_definition, names_of
from ticdc_consumer.ddl.known_views import known
from ticdc_consumer.ddl.names import own_schema, parsed
from ticdc_consumer.ddl.shared import databases
from ticdc_consumer.ddl.shared.tables import refuse_shared
from ticdc_consumer.ddl.table.alter import alter
from ticdc_consumer.ddl.table.create import create
from ticdc_consumer.errors import LeftOut, Stop, Unsupported
from ticdc_consumer.state.known_tables import Definitions
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import (
    TableName,
    TargetName,
)
from ticdc_consumer.targets.schema.alteration import Alteration


def work(context: DdlContext, entry: LedgerEntry) -> Alteration:
    """Returns the work left for an entry. Raises `Stop` if it cannot be done exactly, or another
    client has done some of it."""
    statement = context.statement(entry)
    refuse_shared(context, statement)
    databases.refuse_shared(context, entry, statement)
    alteration = merged_tables.work(context, statement)
    if alteration is None:
        alteration = TRANSLATIONS[type(statement)](context, entry, statement)
    require_own(context.target, entry, alteration)
    return with_views(context, statement, alteration)


def creation(context: DdlContext, table: Table) -> Alteration:
    """Returns the creation of a table that no CREATE TABLE brought. Raises `Stop`."""
    statement = CreateTable(table)
    refuse_shared(context, statement)
    return with_views(context, statement, create(context, table))


def with_views(context: DdlContext, statement: Statement, alteration: Alteration) -> Alteration:
    """Adds statements that preserve the views of the tables that it changes. Raises `Stop`."""
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
    """Returns the tables whose views would be in the way of the work."""
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
    return create(context, statement.table)


def _create_like(context: DdlContext, _: LedgerEntry, statement: CreateTableLike) -> Alteration:
    definitions, like = context.definitions, statement.like
    if like not in definitions:
        raise Unsupported(f"the definition of {'.'.join(like)} did not come through the stream")
    table = like_definition(definitions[like], statement.schema, statement.table)
    return create(context, table)


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
    """Drops the schema's views and tables that came through the stream, and the schema itself
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
    """Handles a rename that ran before a crash and was not noted, or that another client did."""
    target = context.target
    old, new = target.quote(*before), target.quote(*after)
    as_after = (
        f"{old} is to become {new}, but only the latter exists; undo that by RENAME TABLE {new} "
        f"TO {old}, and start again; if it is not the table to be renamed, repair its rows "
        "afterwards by verify --repair"
    )
    return Alteration(as_after=as_after, evidence=target.evidence(after))


def _alter_table(context: DdlContext, _: LedgerEntry, statement: AlterTable) -> Alteration:
    return alter(context, statement)


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
    """Does ALTER DATABASE: its tables keep their character sets."""
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
    AlterTable: _alter_table,
    RenameTable: _rename,
    RecoverTable: _recover,
    CreateView: _create_view,
    DropView: views.drop,
    Other: _refuse_other,
}
"""The translation of each kind of statement. Each raises `Stop` for what it cannot do."""
