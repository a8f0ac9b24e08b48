"""Checks of the upstream's tables, by TiDB's definitions, for what would stop a load or a run."""

from collections.abc import Iterator

import sqlalchemy as sa
from ticdc_encoder.counted import counted
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.commands.check.context import Premises
from ticdc_consumer.commands.check.finding import Finding, fail, ok
from ticdc_consumer.commands.load.creating import LoadTables
from ticdc_consumer.commands.load.zero_dates import require_dates
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.errors import Stop, problems_of
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.ledger import LedgerInMemory
from ticdc_consumer.state.loading import LoadNotes
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.session import UpstreamSession, reading
from ticdc_consumer.upstream.tables import Defined, defined, names


def of_upstream(premises: Premises, url: str) -> Iterator[Finding]:
    """Checks that `[source] upstream` answers, and, before anything is applied or loaded, each of
    its tables: keys, their lengths, types, zero dates."""
    with reading(url) as session:
        ((version,),) = session.query("SELECT VERSION()")
        at = sa.make_url(url).render_as_string()
        yield ok("upstream", f"reached at {at}: {_text(version)}")
        if premises.target is not None and not _begun(premises, premises.target):
            yield from _tables(premises, premises.target, session)


def _begun(premises: Premises, opened: Target) -> bool:
    state, options = premises.checkpoint, premises.options
    if state is None:
        return options.from_ts is not None
    return bool(state.resolved_ts) or bool(LoadNotes(opened, options.changefeed).progress())


def _tables(premises: Premises, opened: Target, session: UpstreamSession) -> Iterator[Finding]:
    options = premises.options
    of_upstream: dict[TableName, Defined] = {}
    for name in names(session, options):
        try:
            of_upstream[name] = defined(session, *name)
        except Stop as error:
            yield _failed(name, error)
    layouts = TableLayouts(options, opened)
    where = InTarget.by(options, opened)
    ledger = LedgerInMemory(options.changefeed, where=where)
    if premises.checkpoint is not None:
        ledger.copy_from(Store(opened, options.changefeed, where=where).ledger)
    layouts.learn(ledger)
    context = DdlContext.of(options, opened, ledger, layouts.route)
    load = LoadTables(options, context, layouts, of_upstream)
    created, good = 0, 0
    for name, each in of_upstream.items():
        try:
            state = load.fitting(each)
            existing = opened.describe(*context.locate(name))
            require_dates(session, each, opened, existing, options.rules)
            good += 1
            created += state == "create"
        except TicdcError as error:
            yield from (_failed(name, problem) for problem in problems_of(error))
    yield ok("upstream", f"{counted(good, 'table')} can be loaded, of which load creates {created}")


def _failed(name: TableName, problem: object) -> Finding:
    label = ".".join(name)
    return fail(f"table {label}", str(problem).removeprefix(f"{label}: "))


def _text(value: str | bytes | None) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
