"""Refuses DDL on a table of the target that gets another upstream table's rows, or another
changefeed's."""

from collections.abc import Iterator

from ticdc_encoder.sql.statements import Statement

from ticdc_consumer.ddl import known_views
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.kinds import names_of
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
    for view in names_of(statement).views:
        _refuse_shared_view(context, known, view)


def _touched(
    context: DdlContext, known: KnownTables, statement: Statement
) -> Iterator[tuple[TableName, tuple[TableName, ...]]]:
    """Yields each table or view, with those that leave its name."""
    names = names_of(statement)
    for name in names.relations:
        yield name, tuple(other for other in names.tables if other != name)
    for name in names.exchanged:
        yield context.definitions.spelled(name), ()
    if names.schema is not None and names.contents:
        for name in known.of_schema(names.schema):
            yield name, ()


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
