"""No DDL touches a table of the target that another upstream table's rows go to, or another
changefeed's."""

from collections.abc import Iterator

from ticdc_encoder.sql.statements import (
    AlterTable,
    CreateTable,
    CreateTableLike,
    CreateView,
    DropSchema,
    DropTable,
    DropView,
    ExchangePartition,
    RecoverTable,
    RenameTable,
    Statement,
    TruncateTable,
)

from ticdc_consumer.ddl import known_views
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.state.known_tables import KnownTables, Shared, lower
from ticdc_consumer.targets.layout import TableName


def refuse_shared(context: DdlContext, statement: Statement) -> None:
    """Raises `Shared` if a table or view that the statement touches shares its place in the target
    with another one."""
    known = context.ledger.known()
    touched = list(_touched(context, known, statement))
    for name, leaving in touched:
        known.require_alone(name, context.target.quote, leaving)
    context.others.require_none_has(name for name, _ in touched)
    if isinstance(statement, CreateView | DropView):
        _refuse_shared_view(context, known, (statement.schema, statement.view))


def _touched(
    context: DdlContext, known: KnownTables, statement: Statement
) -> Iterator[tuple[TableName, tuple[TableName, ...]]]:
    """Each table, with those that leave its name."""
    match statement:
        case CreateTable(table):
            yield (table.schema, table.name), ()
        case RenameTable(old, new):
            yield old, (new,)
            yield new, (old,)
        case RecoverTable(_, (_, _) as new):
            yield new, ()
        case CreateTableLike(schema, name) | DropTable(schema, name) | TruncateTable(schema, name):
            yield (schema, name), ()
        case AlterTable(schema, name, actions):
            yield (schema, name), ()
            for action in actions:
                if isinstance(action, ExchangePartition):
                    yield context.definitions.spelled(action.table), ()
        case CreateView(schema, name) | DropView(schema, name):
            yield (schema, name), ()
        case DropSchema(schema):
            for of_it in known.of_schema(schema):
                yield of_it, ()


def _refuse_shared_view(context: DdlContext, known: KnownTables, name: TableName) -> None:
    destination = known.where.of(name)
    if destination is None:
        return
    mine = known.where.comparable(destination)
    for other in known_views.known(context.ledger):
        theirs = known.where.of(other)
        if theirs is None or lower(other) == lower(name):
            continue
        if known.where.comparable(theirs) == mine:
            raise Shared.by(name, other, context.target.quote(*destination))
