"""What an operator might run in place of a DDL that stopped. Only printed, never run."""

import logging
from collections.abc import Iterator

import sqlalchemy as sa
import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from ticdc_encoder.errors import DefinitionError, TicdcError

from ticdc_consumer.ddl import translate
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.merged_tables import Merged
from ticdc_consumer.ddl.names import Route
from ticdc_consumer.ddl.trial import is_taken
from ticdc_consumer.ddl.view.query import OtherSession
from ticdc_consumer.errors import InTheWay, LeftOut, Unsupported
from ticdc_consumer.state.known_tables import Shared
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.target import Target

_CLOCK = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime)


def suggested(context: DdlContext, entry: LedgerEntry) -> list[str]:
    """The statements that the consumer would run, if those are known and only something in the
    target was in their way; else those that might do it, in the target's types and words. None
    that the target refuses as it is now."""
    try:
        work = translate.work(context, entry)
        refused = any(context.target.execute(query).first() for query, _ in work.refusals)
        return [] if refused else list(work.statements)
    except (InTheWay, Shared, Merged, LeftOut, sa.exc.DBAPIError):
        return []  # it would fail for the same reason, touch what is not its own, or is not needed
    except OtherSession as refusal:
        return list(refusal.instead)
    except Unsupported as refusal:
        return list(refusal.instead) or _transpiled(context.target, entry, context.route)
    except TicdcError as error:
        if isinstance(error.__cause__, DefinitionError):
            return []  # it does not fit its table, here as little as upstream
        return _transpiled(context.target, entry, context.route)


def _transpiled(target: Target, entry: LedgerEntry, route: Route) -> list[str]:
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True  # it logs what it cannot read
    try:
        trees = [tree for tree in sqlglot.parse(entry.query, read="mysql") if tree is not None]
        if len(trees) != 1 or trees[0].find(exp.Command) is not None:
            return []
        if isinstance(trees[0], exp.Alter) and trees[0].find(*_CLOCK) is not None:
            return []  # the target's clock would give other values
        for definer in list(trees[0].find_all(exp.DefinerProperty)):
            definer.pop()  # who may create it is not certain
        for table in _of_databases(trees[0]):
            _move(target, table, entry.schema, route)
        for name in trees[0].find_all(exp.Identifier):
            target.quote(None, name.this)  # what cannot be a name is not suggested
        dialect = target.sqlglot_dialect
        text = trees[0].sql(dialect=dialect, unsupported_level=ErrorLevel.RAISE)
        return [text] if is_taken(target, trees[0], text) else []
    except (SqlglotError, TicdcError, RecursionError):
        return []
    finally:
        logger.disabled = before


def _of_databases(tree: exp.Expr) -> list[exp.Table]:
    """The tables, without the names that WITH gives to queries. Raises `Unsupported` if it is not
    certain which of both a name is."""
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
    """The queries of a WITH that is not RECURSIVE, in which the table is named."""
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
