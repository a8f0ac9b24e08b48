"""DDL at its place: what runs, what waits for an operator, and in which transaction.

Transactional DDL runs in the transaction of its cut. Elsewhere each statement commits by itself:
the cut's transaction leaves it `pending`, it is noted as begun, run, then marked done. Whatever a
crash leaves begun is run again, so each statement first looks whether its work is done already.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import groupby, permutations

import sqlalchemy as sa
from ticdc_encoder.errors import DefinitionError, TicdcError
from ticdc_encoder.event import Ddl
from ticdc_encoder.sql.statements import RenameTable

from ticdc_consumer import failpoints
from ticdc_consumer.ddl import begun, known_views, renames, translate, views
from ticdc_consumer.ddl.by_operator.manual import is_done, refuse_begun
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.ddl.from_upstream import left_out, refill
from ticdc_consumer.ddl.kinds import kind_of, names_of
from ticdc_consumer.ddl.names import understood
from ticdc_consumer.ddl.shared import databases
from ticdc_consumer.ddl.suggestion import suggested, way_on
from ticdc_consumer.errors import (
    Denied,
    Fenced,
    KeyTaken,
    Retry,
    Stop,
    TableNotSent,
    UnknownCommit,
    Unsupported,
    UpstreamAway,
    ValuesNotSent,
    WaitingDdl,
)
from ticdc_consumer.source.marks import SeenDdl
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target

logger = logging.getLogger(__name__)


def entries(seen: Iterable[SeenDdl]) -> list[LedgerEntry]:
    """The ledger's entries for the DDL of a cut, one per identity, in the order of (commit_ts,
    topic, offset of the first copy). Raises `Stop` for what no ledger could hold."""
    ordered = sorted(seen, key=lambda one: one.ddl.commit_ts)
    groups = groupby(ordered, key=lambda one: one.ddl.commit_ts)
    return [entry for _, group in groups for entry in _entries_of_one_ts(group)]


def _entries_of_one_ts(seen: Iterable[SeenDdl]) -> list[LedgerEntry]:
    first: dict[tuple[str, str, str], SeenDdl] = {}
    for one in sorted(seen, key=lambda one: (one.topic, one.offset)):
        if "\0" in one.ddl.query:
            one = replace(one, ddl=_with_escaped_nul(one.ddl))
        if "\0" in one.ddl.schema + one.ddl.table + one.ddl.query:
            raise Stop(f"{one.topic}[0] offset {one.offset}: a DDL with a NUL character in it")
        first.setdefault((one.ddl.schema, one.ddl.table, one.ddl.query), one)
    ordered = _renames_in_order(list(first.values()))
    return [
        LedgerEntry(
            one.ddl.commit_ts, seq, one.ddl.schema, one.ddl.table, one.ddl.query, one.ddl.kind
        )
        for seq, one in enumerate(ordered, 1)
    ]


def _with_escaped_nul(ddl: Ddl) -> Ddl:
    """Its query with `\\0` for each NUL character, as in a default of BINARY, if it means the same:
    no ledger in PostgreSQL holds the character."""
    # Behind a character set's name, `escaped` takes a single backslash for one of the text.
    query = _INTRODUCED.sub(lambda text: text[1].replace("\0", r"\0"), ddl.query)
    same = understood(query, ddl.schema)
    return (
        ddl
        if same is None or same != understood(ddl.query, ddl.schema)
        else replace(ddl, query=query)
    )


_INTRODUCED = re.compile(r"\b_[A-Z0-9]+('(?:[^'\0]|'')*+\0(?:[^']|'')*+')")


def _renames_in_order(seen: list[SeenDdl]) -> list[SeenDdl]:
    """Renames of one statement such that each table ends under the name that TiCDC sends with its
    rename, which is its name after all of them. As they came, if no order does or none is sure."""
    if not 1 < len(seen) <= MOST_RENAMES:
        return seen
    renames: list[tuple[SeenDdl, TableName, TableName]] = []
    for one in seen:
        statement = understood(one.ddl.query, one.ddl.schema)
        if not isinstance(statement, RenameTable):
            return seen
        renames.append((one, statement.old, statement.new))
    for order in permutations(renames):
        if _ends_as_sent(order):
            return [one for one, _, _ in order]
    return seen


MOST_RENAMES = 7
"""How many renames of one statement are put in order; more stay as they came."""


def _ends_as_sent(order: Sequence[tuple[SeenDdl, TableName, TableName]]) -> bool:
    now: dict[
        TableName, TableName
    ] = {}  # a name -> what the table of that name was called at first
    left: set[TableName] = set()
    tables = []
    for _, old, new in order:
        if new in now or (old in left and old not in now):
            return False
        table = now.pop(old, old)
        left.add(old)
        now[new] = table
        tables.append(table)
    final = {table: name for name, table in now.items()}
    return all(
        final[table] == (one.ddl.schema, one.ddl.table)
        for table, (one, _, _) in zip(tables, order, strict=True)
    )


def run_in_cut(context: DdlContext, entries: Sequence[LedgerEntry]) -> None:
    """What the cut's own transaction does for its DDL: run or skip them, or leave them pending.

    The first that cannot be run leaves nothing behind; it is pending, with all that follow it.
    Raises `Unshared` if these have other commit_ts: no cut goes past a DDL that is pending.
    """
    target, ledger = context.target, context.ledger
    done: list[LedgerEntry] = []
    if target.transactional_ddl and target.savepoints and entries:
        if target.before_ddl:
            target.execute(target.before_ddl)
        for entry in entries:
            try:
                with _savepoint(context):
                    work = _run(context, entry)
                    finished = _finished(context, entry)
                    keep_definition(ledger, entry, set_aside=work.set_aside, created=work.created)
                    _note_views(ledger, work)
            except Stop as refusal:
                if not context.policy.passes(entry, refusal):
                    break
                done.append(_skipped(context, entry, str(refusal)))
            else:
                done.append(finished)
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
    """Runs what the ledger holds, in order, until nothing is pending: before any later cut, and at
    every start. Raises `Stop`, with the command that goes on, if an operator must do it."""
    clean_up = partial(_clean_up, context)
    until_known(store, retries, clean_up, happened=lambda: False)
    for group in renames.groups(context):
        entry = group[0]
        attempt = partial(_attempt, context, entry)
        if len(group) > 1:
            attempt = partial(_rename_together, context, group)
        try:
            with store.monitor.at("running DDL", f"{entry.id}: {entry.short_query}"):
                until_known(store, retries, attempt, happened=partial(is_done, store, entry))
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
    """Last, since it may be long."""
    return f"; its statement: {entry.query.strip()}"


def _clean_up(context: DdlContext) -> None:
    renames.drop_markers(context)
    refill.drop_left(context)


def _waiting(context: DdlContext, entry: LedgerEntry, refusal: Stop, way: str) -> WaitingDdl:
    """With what might do it; nothing needs to, once the upstream answers."""
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


def _attempt(context: DdlContext, entry: LedgerEntry) -> None:
    """Marks the entry done, or skipped; its effects are in the same transaction if they can be
    rolled back, and before it elsewhere."""
    target, ledger = context.target, context.ledger
    entry = ledger.entry(entry.order) or entry  # an attempt before this one may have begun it
    refuse_begun(entry)
    try:
        work = Alteration()
        if not target.transactional_ddl:
            _wait_for_others(context, entry)
            with refusals(target):
                work = _run_alone(context, entry)
            failpoints.hit("D3")
        with target.transaction():
            ledger.mark(_finished(context, entry))
            if target.transactional_ddl or work.rows_only:
                with refusals(target):
                    work = _run(context, entry)
            keep_definition(ledger, entry, set_aside=work.set_aside, created=work.created)
            _note_views(ledger, work)
            failpoints.hit("D4")
        failpoints.hit("D5")
    except Stop as refusal:
        if context.policy.passes(entry, refusal):
            _skip(context, entry, str(refusal))
            return
        if not isinstance(refusal, KeyTaken):
            raise
        raise KeyTaken(
            f"{refusal}, although they are unique upstream: repair the rows by: ticdc-consumer "
            f"verify CONFIG --repair --table {entry.schema}.{entry.table}, then start again"
        ) from refusal


def _rename_together(context: DdlContext, group: Sequence[LedgerEntry]) -> None:
    """Marks the entries done, after their one statement."""
    target, ledger = context.target, context.ledger
    with refusals(target):
        renames.run(context, group)
    failpoints.hit("D3")
    with target.transaction():
        for entry in group:
            ledger.mark(replace(entry, state="done"))
            keep_definition(ledger, entry)
        failpoints.hit("D4")
    failpoints.hit("D5")


def _wait_for_others(context: DdlContext, entry: LedgerEntry) -> None:
    with refusals(context.target):
        statement = context.statement(entry)
    target = context.target
    kind, names = kind_of(statement), names_of(statement)
    if names.schema is None:
        target.wait_for_ddl([context.locate(name) for name in names.relations])
    elif kind.creates or kind.drops:
        schema, _ = target.locate(context.route(names.schema, "")[0], "")
        target.wait_for_ddl([], [schema] if schema else [])


def _finished(context: DdlContext, entry: LedgerEntry) -> LedgerEntry:
    """The entry as it is to be written once its work is done; before what is known changes."""
    reason = databases.reason(context.ledger, entry)
    return replace(entry, state="done", reason=reason, begun="")


def _begin(context: DdlContext, entry: LedgerEntry) -> Alteration:
    """What is left of the work of a DDL that commits by itself. The ledger holds, before the first
    of its statements, how the table was, and that they begin."""
    if entry.begun:
        return work_of(context, entry)
    with context.target.transaction():
        context.ledger.check()
        _define_before(context, entry)
        work = work_of(context, entry)
        if work.statements and not work.rows_only:
            begun.note(context, entry, work)
    failpoints.hit("D0")
    return work


def _define_before(context: DdlContext, entry: LedgerEntry) -> None:
    before = translate.before_alter(context, entry)
    if before is not None:
        context.ledger.define(*before)


def _run_begun(context: DdlContext, entry: LedgerEntry, work: Alteration) -> None:
    """Raises `Stop` for what the target refused: if that was its first statement, nothing of it is
    begun."""
    try:
        with refusals(context.target):
            _execute(context.target, work)
    except Stop:
        with suppress(Stop):
            as_before = replace(entry, begun="")
            if work_of(context, as_before).statements == work.statements:
                begun.take_back(context, entry)
        raise


def _skip(context: DdlContext, entry: LedgerEntry, reason: str) -> None:
    """Marks an entry skipped."""
    if not context.target.transactional_ddl:
        with context.target.transaction():
            context.ledger.check()
        reason += _drop_outdated(context, entry)
    with context.target.transaction():
        context.ledger.mark(_skipped(context, entry, reason))


def _skipped(context: DdlContext, entry: LedgerEntry, reason: str) -> LedgerEntry:
    """The entry as it is to be written; inside the transaction that does. Later rows are of the
    table as it is upstream now, whatever the target has."""
    if context.target.transactional_ddl:
        reason += _drop_outdated(context, entry)
    keep_definition(context.ledger, entry, "declared")
    return replace(entry, state="skipped", reason=reason, begun="")


def _drop_outdated(context: DdlContext, entry: LedgerEntry) -> str:
    """Drops the view that one which is left out was to replace; what to add to the reason if the
    target refuses that."""
    work = Alteration(views.outdated(context, entry))
    if not work.statements:
        return ""
    transactional = context.target.transactional_ddl and context.target.savepoints
    try:
        with _savepoint(context) if transactional else refusals(context.target):
            _execute(context.target, work)
    except Stop as refusal:
        return f"; the view that it replaces is still there: {refusal}"
    return ""


def _note_views(ledger: Ledger, work: Alteration) -> None:
    """Writes which views are not there after it, in its transaction."""
    for view in known_views.note_left_out(ledger, work):
        fields = {"commit_ts": view.commit_ts, "number": view.seq, "reason": view.reason}
        fields["table"] = f"{view.schema}.{view.table}"
        logger.warning(
            "%s", known_views.warning_of(view), extra={"event": "view_left_out", **fields}
        )


# --- one statement ---------------------------------------------------------------------------


def work_of(context: DdlContext, entry: LedgerEntry) -> Alteration:
    """What is left of an entry's work. Raises `Stop` if it cannot be done."""
    target = context.target
    work = translate.work(context, entry)
    for query, reason in work.refusals:
        if target.execute(query).first() is not None:
            raise (Unsupported if work.rows_only else ValuesNotSent)(reason)
    return work


def _run(context: DdlContext, entry: LedgerEntry) -> Alteration:
    """Does an entry's work inside a transaction; returns it."""
    try:
        work = work_of(context, entry)
    except TableNotSent as refusal:
        return left_out.in_transaction(context, entry, refusal)
    except ValuesNotSent as refusal:
        if context.snapshot_of is None:
            raise
        try:
            return refill.in_transaction(context, entry)
        except Stop as reason:
            raise refill.not_read(refusal, reason) from reason
    _execute(context.target, work)
    return work


def _run_alone(context: DdlContext, entry: LedgerEntry) -> Alteration:
    """Does what commits by itself of an entry's work; returns all of it."""
    if refill.ran(context, entry):
        return left_out.finished(context, entry)
    try:
        work = _begin(context, entry)
    except TableNotSent as refusal:
        return left_out.by_copy(context, entry, refusal)
    except ValuesNotSent as refusal:
        if context.snapshot_of is None:
            raise
        with context.target.transaction():
            context.ledger.check()
            _define_before(context, entry)
        try:
            refill.by_copy(context, entry)
        except Stop as reason:
            raise refill.not_read(refusal, reason) from reason
        return Alteration()
    if not work.rows_only:
        _run_begun(context, entry, work)
    return work


def _execute(target: Target, work: Alteration) -> None:
    for text in work.statements:
        failpoints.hit("D1")
        target.run_ddl(text)
        failpoints.hit("D2")


# --- refusals --------------------------------------------------------------------------------


@contextmanager
def refusals(target: Target) -> Iterator[None]:
    """Turns whatever the consumer or the target cannot do into `Stop`; what may pass stays
    `Retry`."""
    try:
        with target.errors():
            yield
    except (Stop, Retry, UnknownCommit, Fenced):
        raise
    except DefinitionError as error:
        raise Unsupported(str(error)) from error
    except TicdcError as error:
        raise Stop(str(error)) from error
    except sa.exc.DBAPIError as error:
        raise Stop(f"the target refused it: {error.orig}") from error


@contextmanager
def _savepoint(context: DdlContext) -> Iterator[None]:
    """A refusal leaves nothing of the block behind, and the transaction good."""
    target, ledger = context.target, context.ledger
    writes = ledger.writes()
    target.execute("SAVEPOINT ticdc_ddl")
    try:
        with refusals(target):
            yield
    except Stop:
        target.execute("ROLLBACK TO SAVEPOINT ticdc_ddl")
        if ledger.writes() != writes:
            target.undone += 1
        raise
    target.execute("RELEASE SAVEPOINT ticdc_ddl")
