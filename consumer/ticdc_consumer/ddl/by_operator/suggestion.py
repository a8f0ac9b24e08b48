"""Statements that an operator might run in place of a stopped DDL. Only printed, never run."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa
import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from ticdc_encoder.errors import DefinitionError, TicdcError

from ticdc_consumer.ddl import translate
from ticdc_consumer.ddl.by_operator.trial import outcome_of, run_and_undone
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.names import Route
from ticdc_consumer.ddl.view.query import OtherSession
from ticdc_consumer.ddl.views import ViewInTheWay
from ticdc_consumer.errors import (
    LeftOut,
    Stop,
    TableNotSent,
    Unsupported,
    UpstreamAway,
    ValuesNotSent,
)
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target

_CLOCK = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Not `tried`: the target may refuse the statements. If `inexact`, they may give rows of the
    DDL's table other values than TiDB has."""

    statements: tuple[str, ...]
    tried: bool
    inexact: bool = False


def suggested(context: DdlContext, entry: LedgerEntry) -> Suggestion | None:
    """Returns statements for a DDL that the consumer does not do by itself, in the target's types
    and words. Returns None if only something in the target is in the way: until it is gone the
    target refuses the same statements, and the consumer runs them then."""
    try:
        translate.work(context, entry)
        return None
    except (LeftOut, ViewInTheWay, TableNotSent):
        return None  # it is not needed, or the view would be wrong, or the rows are unknown
    except (Unsupported, DefinitionError) as refusal:
        if isinstance(refusal.__cause__, DefinitionError):
            return None  # it does not fit its table, here as little as upstream
        suggestion = _suggestion(context, entry, refusal)
    except (TicdcError, sa.exc.DBAPIError):
        return None
    if suggestion is None or (suggestion.inexact and not _repairable(context, entry)):
        return None
    return suggestion


def way_on(context: DdlContext, entry: LedgerEntry, refusal: Stop) -> str:
    """Returns how the consumer can still run the DDL by itself, unless the refusal says that
    already."""
    if isinstance(refusal, ValuesNotSent) and context.snapshot_of is None:
        return "; set [source] upstream, from which these values can be read, and start again"
    if isinstance(refusal, TableNotSent) and not context.load_missing:
        name = f"{entry.schema}.{entry.table}"
        setting = ""
        if context.snapshot_of is not None:
            setting = "; or set [ddl] load_missing = true, by which a run loads such tables itself"
        return f"; load it by: ticdc-consumer load CONFIG --table {name}, then start again{setting}"
    if isinstance(refusal, Unsupported | UpstreamAway) or entry.instead:
        return ""
    if "start again" in str(refusal):
        return ""
    try:
        translate.work(context, entry)
    except (TicdcError, sa.exc.DBAPIError):
        return ""
    return "; correct that in the target, then start again"


def _suggestion(
    context: DdlContext, entry: LedgerEntry, refusal: Unsupported | DefinitionError
) -> Suggestion | None:
    if isinstance(refusal, Unsupported) and refusal.instead:
        return _instead(context, entry, refusal)
    return None if isinstance(refusal, OtherSession) else _transpiled(context, entry)


def _instead(context: DdlContext, entry: LedgerEntry, refusal: Unsupported) -> Suggestion | None:
    """Returns the statements of a refusal, enclosed in statements that preserve views."""
    try:
        statement = context.statement(entry)
        work = translate.with_views(context, statement, Alteration(refusal.instead))
        if not context.target.transactional_ddl:
            return Suggestion(work.statements, tried=False, inexact=refusal.inexact)
        outcome = run_and_undone(context, entry, work.statements)
    except (TicdcError, sa.exc.DBAPIError):
        return None
    if outcome == "refused":
        return None
    return Suggestion(work.statements, outcome == "tried", refusal.inexact)


def _repairable(context: DdlContext, entry: LedgerEntry) -> bool:
    """Returns whether `verify --repair` finds the rows of the DDL's table: by a key."""
    known = context.ledger.known().get((entry.schema, entry.table))
    return known is None or bool(known.table.handle_key)


def _transpiled(context: DdlContext, entry: LedgerEntry) -> Suggestion | None:
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True  # it logs what it cannot read
    target = context.target
    try:
        trees = [tree for tree in sqlglot.parse(entry.query, read="mysql") if tree is not None]
        if len(trees) != 1 or trees[0].find(exp.Command) is not None:
            return None
        if isinstance(trees[0], exp.Alter) and trees[0].find(*_CLOCK) is not None:
            return None  # the target's clock would give other values
        for definer in list(trees[0].find_all(exp.DefinerProperty)):
            definer.pop()  # its possible creators are not certain
        for table in _of_databases(trees[0]):
            _move(target, table, entry.schema, context.route)
        for name in trees[0].find_all(exp.Identifier):
            target.quote(None, name.this)  # an invalid name is not suggested
        dialect = target.sqlglot_dialect
        text = trees[0].sql(dialect=dialect, unsupported_level=ErrorLevel.RAISE)
        outcome = outcome_of(context, entry, trees[0], text)
        if outcome == "refused":
            return None
        # The target's own rules decide the values that an ALTER TABLE gives to rows.
        altered = (entry.schema, entry.table) if isinstance(trees[0], exp.Alter) else None
        inexact = altered is not None and target.has_rows(*context.locate(altered))
        return Suggestion((text,), outcome == "tried", inexact)
    except (SqlglotError, TicdcError, sa.exc.DBAPIError, RecursionError):
        return None
    finally:
        logger.disabled = before


def _of_databases(tree: exp.Expr) -> list[exp.Table]:
    """Returns the tables, without the names that WITH gives to queries. Raises `Unsupported` if a
    name might be either."""
    queries = {query.alias.lower() for query in tree.find_all(exp.CTE)}
    tables = []
    for table in tree.find_all(exp.Table):
        name = table.name.lower()
        if table.db or name not in queries:
            tables.append(table)
        elif any(above.alias.lower() == name for above in _queries_around(table)):
            raise Unsupported(f"{table.name} is a table or a query")
    return tables


def _queries_around(table: exp.Table) -> Iterator[exp.CTE]:
    """Yields the queries of non-RECURSIVE WITHs in which the table is named."""
    above = table.find_ancestor(exp.CTE)
    while above is not None:
        words = above.find_ancestor(exp.With)
        if words is None or not words.args.get("recursive"):
            yield above
        above = above.find_ancestor(exp.CTE)


def _move(target: Target, table: exp.Table, schema: str, route: Route) -> None:
    routed, name = target.locate(*route(table.db or schema, table.name))
    table.set("this", exp.to_identifier(name, quoted=True))
    table.set("db", exp.to_identifier(routed, quoted=True) if routed is not None else None)
