"""Attempts one DDL, in the transaction of its cut or by itself, and handles refusals.

A statement that commits by itself is noted as begun, run, then marked done. A crash may leave it
begun, and then it is run again, so each first checks whether its work is done already.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

import sqlalchemy as sa
from ticdc_encoder.errors import DefinitionError, TicdcError

from ticdc_consumer import failpoints
from ticdc_consumer.ddl import begun, known_views, renames, translate, views
from ticdc_consumer.ddl.by_operator.manual import refuse_begun
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.ddl.from_upstream import left_out, refill
from ticdc_consumer.ddl.kinds import kind_of, names_of
from ticdc_consumer.ddl.shared import databases
from ticdc_consumer.ddl.table.alter import before_alter
from ticdc_consumer.errors import (
    Fenced,
    KeyTaken,
    Retry,
    Stop,
    TableNotSent,
    UnknownCommit,
    Unsupported,
    ValuesNotSent,
)
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target

logger = logging.getLogger(__name__)


def attempt_in_cut(context: DdlContext, entry: LedgerEntry) -> LedgerEntry | None:
    """Runs an entry inside the transaction of its cut, or skips it. Returns the entry to write, or
    None if it has to wait: then nothing of it is left behind."""
    try:
        with savepoint(context):
            work = _run(context, entry)
            finished = _finished(context, entry)
            _note(context.ledger, entry, work)
    except Stop as refusal:
        passes = context.policy.passes(entry, refusal)
        return _skipped(context, entry, str(refusal)) if passes else None
    return finished


def attempt(context: DdlContext, entry: LedgerEntry) -> None:
    """Marks the entry done, or skipped; its effects are in the same transaction if they can be
    rolled back, and before it elsewhere."""
    target, ledger = context.target, context.ledger
    entry = ledger.entry(entry.order) or entry  # an earlier attempt may have begun it
    refuse_begun(entry)
    try:
        work = Alteration()
        if not target.transactional_ddl:
            _wait_for_others(context, entry)
            with refusals(target):
                work = _run_alone(context, entry)
            failpoints.hit("ddl-mark-done")
        with target.transaction():
            ledger.mark(_finished(context, entry))
            if target.transactional_ddl or work.rows_only:
                with refusals(target):
                    work = _run(context, entry)
            _note(ledger, entry, work)
            failpoints.hit("ddl-commit")
        failpoints.hit("ddl-committed")
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


def attempt_renames(context: DdlContext, group: Sequence[LedgerEntry]) -> None:
    """Marks the entries done, after their one statement."""
    target, ledger = context.target, context.ledger
    with refusals(target):
        renames.run(context, group)
    failpoints.hit("ddl-mark-done")
    with target.transaction():
        for entry in group:
            ledger.mark(replace(entry, state="done"))
            keep_definition(ledger, entry)
        failpoints.hit("ddl-commit")
    failpoints.hit("ddl-committed")


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
    """Returns the entry to write once its work is done, before the definitions change."""
    reason = databases.reason(context.ledger, entry)
    return replace(entry, state="done", reason=reason, begun="")


def _begin(context: DdlContext, entry: LedgerEntry) -> Alteration:
    """Returns the work left of a DDL that commits by itself. Before its first statement, the ledger
    notes the table's old state and that the work begins."""
    if entry.begun:
        return work_of(context, entry)
    with context.target.transaction():
        context.ledger.check()
        _define_before(context, entry)
        work = work_of(context, entry)
        if work.statements and not work.rows_only:
            begun.note(context, entry, work)
    failpoints.hit("ddl-begun")
    return work


def _define_before(context: DdlContext, entry: LedgerEntry) -> None:
    before = before_alter(context, entry)
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
    """Returns the entry to write, in the writing transaction. Later rows fit the table as it is
    upstream now, whatever the target has."""
    if context.target.transactional_ddl:
        reason += _drop_outdated(context, entry)
    keep_definition(context.ledger, entry, "declared")
    return replace(entry, state="skipped", reason=reason, begun="")


def _drop_outdated(context: DdlContext, entry: LedgerEntry) -> str:
    """Drops the view that a left-out one was to replace. Returns an addition to the reason if the
    target refuses."""
    work = Alteration(views.outdated(context, entry))
    if not work.statements:
        return ""
    transactional = context.target.transactional_ddl and context.target.savepoints
    try:
        with savepoint(context) if transactional else refusals(context.target):
            _execute(context.target, work)
    except Stop as refusal:
        return f"; the view that it replaces is still there: {refusal}"
    return ""


def _note(ledger: Ledger, entry: LedgerEntry, work: Alteration) -> None:
    """Writes an entry's results in its transaction: the definitions, and the views missing after
    it."""
    keep_definition(ledger, entry, set_aside=work.set_aside, created=work.created)
    for view in known_views.note_left_out(ledger, work):
        fields = {"commit_ts": view.commit_ts, "number": view.seq, "reason": view.reason}
        fields["table"] = f"{view.schema}.{view.table}"
        logger.warning(
            "%s", known_views.warning_of(view), extra={"event": "view_left_out", **fields}
        )


# --- one statement ---------------------------------------------------------------------------


def work_of(context: DdlContext, entry: LedgerEntry) -> Alteration:
    """Returns the work left of an entry. Raises `Stop` if it cannot be done."""
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
    """Does the part of an entry's work that commits by itself; returns all of it."""
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
        failpoints.hit("ddl-statement")
        target.run_ddl(text)
        failpoints.hit("ddl-statement-ran")


# --- refusals --------------------------------------------------------------------------------


@contextmanager
def refusals(target: Target) -> Iterator[None]:
    """Converts everything that the consumer or the target cannot do to `Stop`; passing errors stay
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
def savepoint(context: DdlContext) -> Iterator[None]:
    """Undoes the block on a refusal, and keeps the transaction usable."""
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
