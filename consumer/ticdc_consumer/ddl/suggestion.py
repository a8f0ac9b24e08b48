"""What an operator might run in place of a DDL that stopped. Only printed, never run."""

import logging

import sqlalchemy as sa
import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.ddl import translate
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.merged_tables import Merged
from ticdc_consumer.ddl.names import Route
from ticdc_consumer.errors import Unsupported
from ticdc_consumer.state.known_tables import Shared
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.target import Target


def suggested(context: DdlContext, entry: LedgerEntry) -> list[str]:
    """The statements that the consumer would run, if those are known and only something in the
    target was in their way; else those that might do it, in the target's types and words. None
    that the target refuses as it is now."""
    try:
        work = translate.work(context, entry)
        refused = any(context.target.execute(query).first() for query, _ in work.refusals)
        return [] if refused else list(work.statements)
    except (translate.InTheWay, Shared, Merged, sa.exc.DBAPIError):
        return []  # the statement would fail for the same reason, or touch what is not its own
    except Unsupported as refusal:
        return list(refusal.instead) or _transpiled(context.target, entry, context.route)
    except TicdcError:
        return _transpiled(context.target, entry, context.route)


def _transpiled(target: Target, entry: LedgerEntry, route: Route) -> list[str]:
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True  # it logs what it cannot read
    try:
        trees = [tree for tree in sqlglot.parse(entry.query, read="mysql") if tree is not None]
        if len(trees) != 1 or trees[0].find(exp.Command) is not None:
            return []
        for table in trees[0].find_all(exp.Table):
            _move(target, table, entry.schema, route)
        for name in trees[0].find_all(exp.Identifier):
            target.quote(None, name.this)  # what cannot be a name is not suggested
        dialect = target.sqlglot_dialect
        text = trees[0].sql(dialect=dialect, unsupported_level=ErrorLevel.RAISE)
        if target.transactional_ddl and not _is_taken(target, trees[0], text):
            return []
        return [text]
    except (SqlglotError, TicdcError, RecursionError):
        return []
    finally:
        logger.disabled = before


class _Undo(Exception):
    """Ends a trial."""


def _is_taken(target: Target, tree: exp.Expr, text: str) -> bool:
    """Whether the target takes the statement, and can read what it creates; by a trial that leaves
    nothing behind. Only of views: they are quickly tried."""
    if not isinstance(tree, exp.Create) or tree.kind != "VIEW":
        return False
    (view, *_) = tree.find_all(exp.Table)
    plain = exp.Table(this=view.this, db=view.args.get("db")).sql(dialect=target.sqlglot_dialect)
    try:
        with target.transaction():
            target.execute(text)
            target.execute(f"SELECT * FROM {plain} LIMIT 0")  # noqa: S608
            raise _Undo
    except _Undo:
        return True
    except (TicdcError, sa.exc.DBAPIError):
        return False


def _move(target: Target, table: exp.Table, schema: str, route: Route) -> None:
    routed, name = target.locate(*route(table.db or schema, table.name))
    table.set("this", exp.to_identifier(name, quoted=True))
    table.set("db", exp.to_identifier(routed, quoted=True) if routed is not None else None)
