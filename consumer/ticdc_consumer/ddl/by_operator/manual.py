"""Pending DDL that an operator does: elsewhere (`--ddl-done`), or by their SQL (`--ddl-run`)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import sqlalchemy as sa
from sqlglot import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from ticdc_consumer.ddl.by_operator.looked import require_done
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import forget_gone, keep_definition
from ticdc_consumer.ddl.known_views import left_out
from ticdc_consumer.errors import Retry, Stop, UnknownCommit, Usage
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.target import OF_TRANSACTIONS, Target

BY_OPERATOR = "an operator did it"
"""The reason of an entry whose work was done elsewhere."""


def done_by_operator(context: DdlContext, entry_id: str) -> LedgerEntry:
    """Marks a DDL that an operator has run, for `--ddl-done TS[:SEQ]`: a pending one, or the CREATE
    VIEW of a view that is left out. Raises `Usage` unless `entry_id` names exactly one, and `Stop`
    if the target does not look as after it."""
    ledger = context.ledger
    entry = _open(ledger, entry_id, "--ddl-done")
    require_done(context, entry, f"--ddl-done {entry.id}")
    done = replace(entry, state="done", reason=BY_OPERATOR)
    with context.target.transaction():
        ledger.mark(done)
        keep_definition(ledger, entry, "declared")
        forget_gone(context.target, ledger, entry)
    return done


def run_by_operator(
    context: DdlContext, store: Store, entry_id: str, sql: str, retries: int = 1
) -> LedgerEntry:
    """Runs an operator's SQL, for `--ddl-run TS[:SEQ] FILE`, in place of a pending DDL or of a
    left-out view's CREATE VIEW, and marks it done with that SQL.

    Where DDL is transactional that is one transaction. Elsewhere the ledger first notes that it is
    begun: after a crash the DDL waits for an operator again, and a view is left out as before.
    Raises `Usage` for SQL that cannot be run at all, and `Stop` if the target refuses it, or does
    not look as after the DDL then.
    """
    target = context.target
    entry = _open(store.ledger, entry_id, "--ddl-run")
    looks = partial(require_done, context, entry, f"--ddl-run {entry.id}, after its SQL")
    texts = statements(target, sql)
    begun = replace(entry, instead=sql)
    done = replace(begun, state="done", reason="")
    if target.transactional_ddl:

        def attempt() -> None:
            with target.transaction():
                run_in_place(target, store.ledger, done, texts, looks)

        until_known(store, retries, attempt, lambda: is_done(store, entry))
        store.reconnect()
    else:
        with target.transaction():
            store.ledger.mark(begun)
        _run(target, texts)
        store.reconnect()  # ends the SQL's session settings, as by USE
        looks()
        with target.transaction():
            store.ledger.mark(done)
            keep_definition(store.ledger, entry, "declared")
            forget_gone(target, store.ledger, entry)
    return done


def run_in_place(
    target: Target,
    ledger: Ledger,
    done: LedgerEntry,
    texts: Sequence[str],
    looks: Callable[[], None] = lambda: None,
) -> None:
    """Runs these statements in place of a DDL, and marks it done, inside a transaction of a target
    whose DDL is part of it; `looks` checks their result. Raises `Stop` if the target refuses one.
    """
    ledger.mark(done)
    _run(target, texts)
    looks()
    keep_definition(ledger, done, "declared")
    forget_gone(target, ledger, done)


def is_done(store: Store, entry: LedgerEntry) -> bool:
    """Returns whether the entry has changed, by a new session. Raises `Fenced`, `Retry`."""
    store.reconnect()
    stored = store.ledger.entry(entry.order)
    return stored is None or stored.state != entry.state


def refuse_begun(entry: LedgerEntry) -> None:
    """Raises `Stop` for a DDL whose operator's SQL was cut off: how much of it ran is unknown."""
    if entry.instead:
        raise Stop(
            "the SQL that an operator ran instead was interrupted or refused, and part of it may "
            "be done; finish it in the target, or run it again by --ddl-run"
        )


def statements(target: Target, sql: str) -> list[str]:
    """Returns the statements of a file, each ended by `;`. Raises `Usage` for none, for those that
    begin or end transactions, and for unbalanced quotes."""
    dialect = Dialect.get_or_raise(target.sqlglot_dialect)
    try:
        tokens = dialect.tokenize(sql)
    except TokenError:
        raise Usage("--ddl-run: unbalanced quotes in the SQL") from None
    texts: list[str] = []
    start, first = 0, ""
    ends = [*((t.start, t) for t in tokens), (len(sql), None)]
    for at, token in ends:
        if token is not None and token.token_type is not TokenType.SEMICOLON:
            first = first or token.text.upper()
            continue
        text = sql[start:at].strip()
        if token and not target.is_complete(text + ";"):
            continue  # the body of a trigger
        if first.split(" ")[0] in OF_TRANSACTIONS:
            raise Usage(
                f"--ddl-run: {first} must not be in the SQL: the consumer controls the transaction"
            )
        if first:
            texts.append(text)
        start, first = at + 1, ""
    if not texts:
        raise Usage("--ddl-run: there is no statement in the SQL")
    return texts


def _run(target: Target, texts: Sequence[str]) -> None:
    for number, text in enumerate(texts, 1):
        with _refused(target, f"statement {number} of {len(texts)}"):
            target.execute(text).close()
    if target.back_to_own:
        with _refused(target, "the end of it"):
            target.execute(target.back_to_own).close()


@contextmanager
def _refused(target: Target, what: str) -> Iterator[None]:
    try:
        with target.errors():
            yield
    except (Retry, UnknownCommit) as error:
        if target.transactional_ddl:
            raise
        raise Stop(f"--ddl-run: {what} may have run or not: {error}") from error
    except Stop as error:
        raise Stop(f"--ddl-run: the target refused {what}: {error}") from error
    except sa.exc.DBAPIError as error:
        raise Stop(f"--ddl-run: the target refused {what}: {error.orig}") from error


def parsed_id(entry_id: str, option: str) -> tuple[int, int | None]:
    """Returns TS, and SEQ if it is given. Raises `Usage` unless the text is the id of a DDL."""
    commit_ts, colon, seq = entry_id.partition(":")
    if not commit_ts.isdecimal() or (colon and not seq.isdecimal()):
        raise Usage(f"{option} takes TS or TS:SEQ, two numbers; not {entry_id!r}")
    return int(commit_ts), int(seq) if seq else None


def _open(ledger: Ledger, entry_id: str, option: str) -> LedgerEntry:
    """Returns the DDL that is pending, or whose view is left out."""
    commit_ts, seq = parsed_id(entry_id, option)
    pending, lacking = ledger.pending(), list(left_out(ledger).values())
    both = [*pending, *lacking]
    meant = [e for e in both if e.commit_ts == commit_ts and seq in (None, e.seq)]
    if len(meant) != 1:
        waiting = ", ".join(entry.id for entry in pending) or "none"
        number = "more than one" if meant else "no"
        of_views = ", ".join(entry.id for entry in lacking)
        also = f"; of views that are left out: {of_views}" if lacking else ""
        raise Usage(f"{option} {entry_id} names {number} pending DDL; pending are: {waiting}{also}")
    return meant[0]
