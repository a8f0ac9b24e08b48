"""DDL at its place: runs it or lets it wait for an operator, each in its transaction.

Transactional DDL runs in the transaction of its cut. Elsewhere each statement commits by itself:
the cut's transaction leaves it `pending`, and it runs before the next cut (`attempt`).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ticdc_consumer.ddl import renames
from ticdc_consumer.ddl.attempt import attempt, attempt_in_cut, attempt_renames
from ticdc_consumer.ddl.by_operator.manual import is_done
from ticdc_consumer.ddl.by_operator.suggestion import suggested, way_on
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.from_upstream import refill
from ticdc_consumer.errors import Denied, Stop, UpstreamAway, WaitingDdl
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store


def run_in_cut(context: DdlContext, entries: Sequence[LedgerEntry]) -> None:
    """Runs or skips DDL in the cut's own transaction, or leaves them pending.

    The first that cannot be run leaves nothing behind; it is pending, with all that follow it.
    Raises `Unshared` if these have other commit_ts: no cut goes past a DDL that is pending.
    """
    target, ledger = context.target, context.ledger
    done: list[LedgerEntry] = []
    if target.transactional_ddl and target.savepoints and entries:
        if target.before_ddl:
            target.execute(target.before_ddl)
        for entry in entries:
            attempted = attempt_in_cut(context, entry)
            if attempted is None:
                break
            done.append(attempted)
    waiting = entries[len(done) :]
    if waiting and entries[0].commit_ts != entries[-1].commit_ts:
        raise Unshared(sum(entry.commit_ts < waiting[0].commit_ts for entry in entries))
    ledger.add([*done, *waiting])


class Unshared(Exception):
    """Not all DDL that share a cut can be run: only the first `number` of them, if any."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_pending(context: DdlContext, store: Store, retries: int) -> None:
    """Runs the ledger's DDL, in order, until nothing is pending: before any later cut, and at every
    start. Raises `Stop`, with the command to continue, if an operator must do it."""
    clean_up = partial(_clean_up, context)
    until_known(store, retries, clean_up, happened=lambda: False)
    for group in renames.groups(context):
        entry = group[0]
        run = partial(attempt, context, entry)
        if len(group) > 1:
            run = partial(attempt_renames, context, group)
        try:
            with store.monitor.at("running DDL", f"{entry.id}: {entry.short_query}"):
                until_known(store, retries, run, happened=partial(is_done, store, entry))
        except Denied as refusal:
            waiting = WaitingDdl(entry.id, str(refusal), statement=entry.query.strip())
            store.monitor.waits_for_operator([waiting])
            denied = Denied(f"{_named(entry)} waits: {refusal}{_statement(entry)}")
            raise _about_ddl(denied, entry, waiting) from refusal
        except Stop as refusal:
            way = way_on(context, entry, refusal)
            waiting = _waiting(context, entry, refusal, way)
            store.monitor.waits_for_operator([waiting])
            error = Stop(
                f"{_named(entry)} waits for an operator: {waiting.reason}; "
                f"{'or else ' if way else ''}{_perhaps(waiting)}run your own SQL in its place by "
                f"--ddl-run {entry.id} FILE; or make its change in the target, then continue "
                f"with: ticdc-consumer run CONFIG --ddl-done {entry.id}{_statement(entry)}"
            )
            raise _about_ddl(error, entry, waiting) from refusal
        if not context.target.transactional_ddl:
            until_known(store, retries, clean_up, happened=lambda: False)
    store.monitor.waits_for_operator(())


def _about_ddl(error: Stop, entry: LedgerEntry, waiting: WaitingDdl) -> Stop:
    error.ddl, error.commit_ts = waiting, entry.commit_ts
    error.table = (entry.schema, entry.table) if entry.table else None
    return error


def _named(entry: LedgerEntry) -> str:
    position = f"in {entry.schema or '-'}, commit_ts {entry.commit_ts}, number {entry.seq}"
    return f"a DDL ({position})"


def _statement(entry: LedgerEntry) -> str:
    """Returns the statement, last since it may be long."""
    return f"; its statement: {entry.query.strip()}"


def _clean_up(context: DdlContext) -> None:
    renames.drop_markers(context)
    refill.drop_left(context)


def _waiting(context: DdlContext, entry: LedgerEntry, refusal: Stop, way: str) -> WaitingDdl:
    """Returns the waiting DDL with statements that might do it; none are needed once the upstream
    answers."""
    waiting = WaitingDdl(entry.id, f"{refusal}{way}", statement=entry.query.strip())
    suggestion = None if isinstance(refusal, UpstreamAway) else suggested(context, entry)
    if suggestion is None:
        return waiting
    inexact = f"{entry.schema}.{entry.table}" if suggestion.inexact else ""
    return replace(
        waiting, suggestion=suggestion.statements, tried=suggestion.tried, inexact=inexact
    )


def _perhaps(waiting: WaitingDdl) -> str:
    if not waiting.suggestion:
        return ""
    caveats = "".join(f" ({caveat})" for caveat in waiting.caveats("CONFIG"))
    return f"perhaps by: {'; '.join(waiting.suggestion)}{caveats}; "
