"""What an operator might run in place of a DDL that stopped. Only printed, never run."""

import logging

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
    target was in their way; else the statement as sqlglot translates it, with the target's
    names."""
    try:
        return list(translate.work(context, entry).statements)
    except (translate.InTheWay, Shared, Merged):
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
        return [trees[0].sql(dialect=dialect, unsupported_level=ErrorLevel.RAISE)]
    except (SqlglotError, TicdcError, RecursionError):
        return []
    finally:
        logger.disabled = before


def _move(target: Target, table: exp.Table, schema: str, route: Route) -> None:
    routed, name = target.locate(*route(table.db or schema, table.name))
    table.set("this", exp.to_identifier(name, quoted=True))
    table.set("db", exp.to_identifier(routed, quoted=True) if routed is not None else None)
