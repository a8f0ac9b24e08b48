"""A pending DDL that a person does: outside (`--ddl-done`), or by SQL of theirs (`--ddl-run`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import sqlalchemy as sa
from sqlglot import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.errors import Retry, Stop, UnknownCommit, Usage
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.target import Target

_TRANSACTIONS = frozenset(
    {"BEGIN", "START", "COMMIT", "ROLLBACK", "END", "ABORT", "SAVEPOINT", "RELEASE", "PREPARE"}
)


def done_by_person(target: Target, ledger: Ledger, place: str) -> LedgerEntry:
    """`--ddl-done TS[:SEQ]`: marks a pending DDL that a person has run. Raises `Usage` unless
    `place` names exactly one."""
    entry = _pending(ledger, place, "--ddl-done")
    done = replace(entry, state="done")
    with target.transaction():
        ledger.mark(done)
        keep_definition(ledger, entry, "told")
    return done


def run_by_person(
    target: Target, store: Store, place: str, sql: str, retries: int = 1
) -> LedgerEntry:
    """`--ddl-run TS[:SEQ] FILE`: runs a person's SQL in place of a pending DDL, and marks it done
    with the text of that SQL.

    Where DDL is transactional that is one transaction. Elsewhere the ledger says first what is
    begun: after a crash the DDL waits for a person again. Raises `Usage` for what cannot be run at
    all, and `Stop` where the target refuses it.
    """
    entry = _pending(store.ledger, place, "--ddl-run")
    texts = statements(target, sql)
    begun = replace(entry, instead=sql)
    done = replace(begun, state="done")
    if target.transactional_ddl:

        def attempt() -> None:
            with target.transaction():
                store.ledger.mark(done)
                _run(target, texts)
                keep_definition(store.ledger, entry, "told")

        def happened() -> bool:
            store.reconnect()
            return entry.place not in {other.place for other in store.ledger.pending()}

        until_known(store, retries, attempt, happened)
    else:
        with target.transaction():
            store.ledger.mark(begun)
        _run(target, texts)
        with target.transaction():
            store.ledger.mark(done)
            keep_definition(store.ledger, entry, "told")
    return done


def refuse_begun(entry: LedgerEntry) -> None:
    """Raises `Stop` for a DDL whose SQL by a person was cut off: nobody knows how far it came."""
    if entry.instead:
        raise Stop(
            "the SQL that a person had run in its place was cut off or refused, and some of it may "
            "be done; bring the target to where it should be, by --ddl-run again where that helps"
        )


def statements(target: Target, sql: str) -> list[str]:
    """The statements of a file, each ended by `;`. Raises `Usage` for none, for those that begin or
    end transactions, and for unbalanced quotes."""
    dialect = Dialect.get_or_raise(target.sqlglot_dialect)
    try:
        tokens = dialect.tokenize(sql)
    except TokenError:
        raise Usage("--ddl-run: unbalanced quotes in the SQL") from None
    found: list[str] = []
    start, first = 0, ""
    ends = [*((t.start, t) for t in tokens), (len(sql), None)]
    for at, token in ends:
        if token is not None and token.token_type is not TokenType.SEMICOLON:
            first = first or token.text.upper()
            continue
        text = sql[start:at].strip()
        if token and not target.is_complete(text + ";"):
            continue  # the body of a trigger
        if first.split(" ")[0] in _TRANSACTIONS:
            raise Usage(f"--ddl-run: {first} has no place in the SQL: its transaction is ours")
        if first:
            found.append(text)
        start, first = at + 1, ""
    if not found:
        raise Usage("--ddl-run: there is no statement in the SQL")
    return found


def _run(target: Target, texts: list[str]) -> None:
    for number, text in enumerate(texts, 1):
        with _refused(target, f"statement {number} of {len(texts)}"):
            target.execute(text).close()


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


def _pending(ledger: Ledger, place: str, option: str) -> LedgerEntry:
    commit_ts, _, seq = place.partition(":")
    if not commit_ts.isdecimal() or (":" in place and not seq.isdecimal()):
        raise Usage(f"{option} takes TS or TS:SEQ, two numbers; not {place!r}")
    pending = ledger.pending()
    meant = [
        entry
        for entry in pending
        if entry.commit_ts == int(commit_ts) and (not seq or entry.seq == int(seq))
    ]
    if len(meant) != 1:
        waiting = ", ".join(entry.place for entry in pending) or "none"
        found = "more than one" if meant else "no"
        raise Usage(f"{option} {place} names {found} pending DDL; pending are: {waiting}")
    return meant[0]
