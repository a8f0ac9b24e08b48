"""Views that read the same in the target, and their preservation when tables change.

TiDB's views name their tables, and use whatever table has the name. So do those of MySQL and
MariaDB. In PostgreSQL and SQLite a view is in the way of changes to its table: it is dropped
before, and recreated afterwards if its query still has its table and columns. A view that an
operator created instead is never dropped so: only they know how to create it again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import sqlalchemy as sa
from sqlglot import exp
from ticdc_encoder.sql.statements import (
    AlterTable,
    CreateView,
    DropView,
    ModifyColumn,
    RenameColumn,
    RenameTable,
    Statement,
)

from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import definitions_at
from ticdc_consumer.ddl.known_views import (
    KnownView,
    Order,
    created_upstream,
    is_create,
    known,
    left_out,
)
from ticdc_consumer.ddl.view import portable, selects
from ticdc_consumer.ddl.view.query import (
    Missing,
    OtherSession,
    ViewQuery,
    refused,
    tables_of,
    tree_of,
)
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.state.known_tables import Definitions, lower
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target


def create(context: DdlContext, view: CreateView) -> Alteration:
    """Raises `Unsupported` for a query that may mean something else in the target."""
    try:
        return _created(context, view)
    except OtherSession as unknown:
        unknown.instead = _perhaps(context, view, unknown.likely)
        raise


def _perhaps(context: DdlContext, view: CreateView, schema: str | None) -> tuple[str, ...]:
    """Returns the statements that create the view of this database's tables."""
    if schema is None:
        return ()
    try:
        return _created(context, replace(view, session_schema=schema)).statements
    except Stop:
        return ()


def _created(context: DdlContext, view: CreateView) -> Alteration:
    target, name = context.target, context.locate((view.schema, view.view))
    definitions = context.definitions
    tree = _tree(context, view, definitions)
    for table in tables_of(tree) & created_upstream(context.ledger).keys():
        raise refused(f"{'.'.join(table)} is a view itself")
    query = _translated(context, view, tree, definitions, definitions)
    existing = _columns(target, name)
    if existing is not None and not view.or_replace:
        as_after = f"there is a view {target.quote(*name)} already"
        if target.transactional_ddl or existing != query.columns:
            raise Stop(as_after)
        # Repeating this does no harm: it replaces the view.
        undo = f"; undo that by DROP VIEW {target.quote(*name)}, and start again"
        return Alteration((_text(target, name, query),), as_after=as_after + undo)
    return Alteration((*_dropped(target, name, existing), _text(target, name, query)))


def drop(context: DdlContext, entry: LedgerEntry, view: DropView) -> Alteration:
    """Returns no work for a view that was left out: what has its name is not upstream's."""
    name = view.schema, view.view
    if name in left_out(context.ledger, entry.order):
        return Alteration()
    relation = context.target.quote(*context.locate(name))
    return Alteration((f"DROP VIEW IF EXISTS {relation}",))


def outdated(context: DdlContext, entry: LedgerEntry) -> tuple[str, ...]:
    """Returns statements to drop the view that a left-out CREATE OR REPLACE VIEW was to replace: it
    would continue to show outdated data."""
    name = entry.schema, entry.table
    if not is_create(entry) or name not in known(context.ledger):
        return ()
    relation = context.locate(name)
    if _columns(context.target, relation) is None:
        return ()
    return (f"DROP VIEW IF EXISTS {context.target.quote(*relation)}",)


class ViewInTheWay(Unsupported):
    """A view would differ from upstream's after the DDL, whatever SQL does it."""


@dataclass(frozen=True, slots=True)
class Around:
    """The work on views before and after a statement, and the views left out from then on: the
    (commit_ts, seq) of their CREATE VIEW, and why."""

    before: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    left_out: list[tuple[Order, str]] = field(default_factory=list)


def around(
    context: DdlContext, statement: Statement, changed: set[TableName], after: Definitions
) -> Around:
    """Returns the work on views for a statement that changes their possible tables; `after` are all
    definitions then. Raises `Unsupported` if a view that must not be left out could not be created
    again, or an operator's would show something else than upstream's."""
    result = Around()
    target = context.target
    for view_name, known_view, tree, created in _of_tables(context, set(map(lower, changed))):
        name = context.locate(view_name)
        existing = _columns(target, name)
        own = tree is not None and not known_view.by_operator
        now = _now(context, known_view, tree, created) if own and tree is not None else None
        if target.transactional_ddl:
            if existing is not None and (now is None or now.columns != existing):
                _refuse_to_follow(target, name, statement)
                continue  # it is an operator's; if it is in the way, the target says so
            if now is not None:
                result.before.append(f"DROP VIEW IF EXISTS {target.quote(*name)}")
        if not own or tree is None:
            continue
        try:
            query = _translated(context, known_view.view, tree, after, created)
        except Missing:
            continue  # as in TiDB it is useless until such a table and columns exist again
        except Unsupported as refusal:
            if context.policy.leaves_out(known_view.entry):
                _leave_out(context, result, name, known_view.entry, refusal)
            elif now is not None and (existing is not None or target.transactional_ddl):
                raise _in_the_way(target, name, refusal) from refusal
        else:
            if target.transactional_ddl:
                result.again.append(_text(target, name, query))
    return result


def _leave_out(
    context: DdlContext, work: Around, name: TargetName, entry: LedgerEntry, refusal: Unsupported
) -> None:
    """Leaves out a view that may differ from upstream's after the statement."""
    if not context.target.transactional_ddl:
        work.before.append(f"DROP VIEW IF EXISTS {context.target.quote(*name)}")
    work.left_out.append((entry.order, f"since a change of its table: {refusal}"))


def _in_the_way(target: Target, name: TargetName, refusal: Unsupported) -> ViewInTheWay:
    view = target.quote(*name)
    if target.transactional_ddl:
        return ViewInTheWay(
            f"the view {view} is in the way, and could not be created again after it: {refusal}"
        )
    return ViewInTheWay(
        f"the view {view} may differ from the upstream's after this DDL: drop it first ({refusal})"
    )


def _of_tables(
    context: DdlContext, tables: set[TableName]
) -> Iterator[tuple[TableName, KnownView, exp.Query | None, Definitions]]:
    """Yields each known view whose query names one of these tables, in lower case, with the query
    and the definitions at the time of its CREATE VIEW. The query is None if it is not read: then an
    operator created the view, and it may use any table whose name it has."""
    for name, known_view in known(context.ledger).items():
        words = known_view.view.select.lower()
        if not any(re.search(rf"(?<!\w){re.escape(table)}(?!\w)", words) for _, table in tables):
            continue
        created = definitions_at(context.ledger, known_view.entry.order)
        try:
            tree = _tree(context, known_view.view, created)
        except Unsupported:
            yield name, known_view, None, created
            continue
        if tables.intersection(map(lower, tables_of(tree))):
            yield name, known_view, tree, created


def _now(
    context: DdlContext, known_view: KnownView, tree: exp.Query, created: Definitions
) -> ViewQuery | None:
    """Returns the query of a view that the consumer could create now."""
    try:
        return _translated(context, known_view.view, tree, context.definitions, created)
    except Unsupported:
        return None


def _refuse_to_follow(target: Target, name: TargetName, statement: Statement) -> None:
    """Raises `Unsupported` for a rename, which a view of the target would follow."""
    renames = isinstance(statement, RenameTable) or (
        isinstance(statement, AlterTable)
        and any(
            isinstance(action, RenameColumn)
            or (isinstance(action, ModifyColumn) and action.name != action.column.name)
            for action in statement.actions
        )
    )
    if renames:
        raise ViewInTheWay(
            f"the view {target.quote(*name)}, which an operator created, would follow what is "
            "renamed, and upstream's does not: drop it, and create it again afterwards"
        )


# --- one view -----------------------------------------------------------------------------------


def _tree(context: DdlContext, view: CreateView, created: Definitions) -> exp.Query:
    others = [*context.ledger.known().destinations, *created_upstream(context.ledger)]
    return tree_of(view, created, others)


def _translated(
    context: DdlContext,
    view: CreateView,
    tree: exp.Query,
    definitions: Definitions,
    created: Definitions,
) -> ViewQuery:
    if view.other_definer:
        raise refused("it has a definer")
    if context.target.transactional_ddl:
        try:
            return portable.translated(context, view, tree, definitions, created)
        except Unsupported as refusal:
            if isinstance(refusal, Missing) or context.target.query_words is None:
                raise
    return selects.translated(context, view, tree, definitions, created)


def _text(target: Target, name: TargetName, query: ViewQuery) -> str:
    columns = ", ".join(target.quote(None, column) for column in query.columns)
    return f"{target.create_view} {target.quote(*name)} ({columns}) AS {query.text}"


def _dropped(target: Target, name: TargetName, existing: tuple[str, ...] | None) -> list[str]:
    if existing is None or target.replaces_views:
        return []
    return [f"DROP VIEW {target.quote(*name)}"]


def _columns(target: Target, view: TargetName) -> tuple[str, ...] | None:
    """Returns the columns of a view, none if it cannot be read as its tables are gone; None if
    there is no such view."""
    schema, name = view
    with target.errors():
        catalog = sa.inspect(target.connection)
        if schema is not None and schema not in catalog.get_schema_names():
            return None
        if name not in catalog.get_view_names(schema):
            return None
    return target.columns_of_view(schema, name)
