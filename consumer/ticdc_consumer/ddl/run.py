"""DDL at its place: what runs, what waits for a person, and in which transaction.

Where DDL is transactional it runs in the transaction of its cut. Elsewhere each statement commits
by itself: the cut's transaction leaves it `pending`, it is run, then marked done. Whatever a crash
leaves pending is run again, so each statement first looks whether its work is done already.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import permutations

import sqlalchemy as sa
from ticdc_encoder.errors import DefinitionError, TicdcError
from ticdc_encoder.sql.parser import parse_ddl
from ticdc_encoder.sql.statements import (
    AlterTable,
    DropTable,
    RenameTable,
    Statement,
    TruncateTable,
)

from ticdc_consumer import failpoints
from ticdc_consumer.ddl import renames, translate
from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.ddl.manual import refuse_begun
from ticdc_consumer.ddl.names import Name, Route, place_of, statement_of
from ticdc_consumer.ddl.policy import Policy
from ticdc_consumer.ddl.suggestion import suggested
from ticdc_consumer.errors import Fenced, Retry, Stop, UnknownCommit, Unsupported
from ticdc_consumer.plan import SeenDdl
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.schema.alter import Alteration
from ticdc_consumer.targets.target import Target

STOP = Policy()


def entries(seen: Iterable[SeenDdl]) -> list[LedgerEntry]:
    """The ledger's entries for the DDL of one commit_ts, one per identity, in the order of
    (topic, offset of the first copy). Raises `Stop` for what no ledger could hold."""
    first: dict[tuple[str, str, str], SeenDdl] = {}
    for one in sorted(seen, key=lambda one: (one.topic, one.offset)):
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


def _renames_in_order(seen: list[SeenDdl]) -> list[SeenDdl]:
    """Renames of one statement such that each table ends under the name that TiCDC says beside its
    rename, which is that after all of them. As they came, where no order does or none is sure."""
    if not 1 < len(seen) <= MOST_RENAMES:
        return seen
    found: list[tuple[SeenDdl, Name, Name]] = []
    for one in seen:
        try:
            statement = parse_ddl(one.ddl.query, one.ddl.schema)
        except TicdcError:
            return seen
        if not isinstance(statement, RenameTable):
            return seen
        found.append((one, statement.old, statement.new))
    for order in permutations(found):
        if _ends_as_said(order):
            return [one for one, _, _ in order]
    return seen


MOST_RENAMES = 7
"""Of one statement that are put in order; more are taken as they came."""


def _ends_as_said(order: Sequence[tuple[SeenDdl, Name, Name]]) -> bool:
    now: dict[Name, Name] = {}  # a name -> what the table of that name was called at first
    left: set[Name] = set()
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


def run_in_cut(
    target: Target,
    ledger: Ledger,
    entries: Sequence[LedgerEntry],
    route: Route,
    rules: frozenset[str],
    policy: Policy = STOP,
) -> None:
    """What the cut's own transaction does for its DDL: run or skip them, or leave them pending.

    The first that cannot be run leaves nothing behind; it is pending, with all that follow it.
    """
    done: list[LedgerEntry] = []
    if target.transactional_ddl and entries:
        if target.before_ddl:
            target.execute(target.before_ddl)
        for entry in entries:
            try:
                with _savepoint(target):
                    work = work_of(target, ledger, entry, route, rules)
                    _execute(target, work)
                    keep_definition(ledger, entry, set_aside=work.set_aside)
            except Unsupported as refusal:
                if not policy.skips(entry):
                    break
                done.append(_skipped(ledger, entry, refusal))
            except Stop:
                break
            else:
                done.append(replace(entry, state="done"))
    ledger.add([*done, *entries[len(done) :]])


def run_pending(
    target: Target,
    store: Store,
    route: Route,
    rules: frozenset[str],
    retries: int,
    policy: Policy = STOP,
) -> None:
    """Runs what the ledger holds, in order, until nothing is pending: before any later cut, and at
    every start. Raises `Stop`, with the command that goes on, where a person must do it."""
    tidy = partial(renames.tidy, target, store.ledger)
    until_known(store, retries, tidy, happened=lambda: False)
    for group in renames.together(target, store.ledger):
        entry = group[0]
        attempt = partial(_attempt, target, store.ledger, entry, route, rules, policy)
        if len(group) > 1:
            attempt = partial(_rename_together, target, store.ledger, group, route)
        try:
            until_known(store, retries, attempt, happened=partial(_is_done, store, entry))
        except Stop as refusal:
            raise Stop(
                f"{entry.query.strip()} (in {entry.schema or '-'}, commit_ts {entry.commit_ts}, "
                f"number {entry.seq}) waits for a person: {refusal}; "
                f"{_perhaps(target, entry, route, rules, store.ledger)}run SQL of yours in its "
                f"place by --ddl-run {entry.place} FILE; or once its work is done in the target, "
                f"go on with: ticdc-consumer run CONFIG --ddl-done {entry.place}"
            ) from refusal
        if len(group) > 1:
            until_known(store, retries, tidy, happened=lambda: False)


def _perhaps(
    target: Target, entry: LedgerEntry, route: Route, rules: frozenset[str], ledger: Ledger
) -> str:
    sql = suggested(target, entry, route, rules, ledger)
    return f"perhaps by: {'; '.join(sql)}; " if sql else ""


def _attempt(
    target: Target,
    ledger: Ledger,
    entry: LedgerEntry,
    route: Route,
    rules: frozenset[str],
    policy: Policy,
) -> None:
    """Marks the entry done, or skipped; its effects are in the same transaction where they can be
    rolled back, and before it elsewhere."""
    refuse_begun(entry)
    try:
        work = Alteration()
        if not target.transactional_ddl:
            _wait_for_others(target, ledger, entry, route)
            with refusals(target):
                _keep_before(target, ledger, entry, route)
                work = work_of(target, ledger, entry, route, rules)
                if not work.rows_only:
                    _execute(target, work)
            failpoints.hit("D3")
        with target.transaction():
            ledger.mark(replace(entry, state="done"))
            if target.transactional_ddl or work.rows_only:
                with refusals(target):
                    work = work_of(target, ledger, entry, route, rules)
                    _execute(target, work)
            keep_definition(ledger, entry, set_aside=work.set_aside)
            failpoints.hit("D4")
        failpoints.hit("D5")
    except Unsupported as refusal:
        if not policy.skips(entry):
            raise
        with target.transaction():
            ledger.mark(_skipped(ledger, entry, refusal))


def _rename_together(
    target: Target, ledger: Ledger, group: Sequence[LedgerEntry], route: Route
) -> None:
    """Marks the entries done, after their one statement."""
    with refusals(target):
        renames.run(target, ledger, group, route)
    failpoints.hit("D3")
    with target.transaction():
        for entry in group:
            ledger.mark(replace(entry, state="done"))
            keep_definition(ledger, entry)
        failpoints.hit("D4")
    failpoints.hit("D5")


def _wait_for_others(target: Target, ledger: Ledger, entry: LedgerEntry, route: Route) -> None:
    with refusals(target):
        statement = statement_of(entry, ledger.definitions())
    target.wait_for_ddl([place_of(target, route, *name) for name in _tables(statement)])


def _tables(statement: Statement) -> list[Name]:
    match statement:
        case RenameTable(old, new):
            return [old, new]
        case AlterTable() | DropTable() | TruncateTable():
            return [(statement.schema, statement.table)]
        case _:
            return []


def _keep_before(target: Target, ledger: Ledger, entry: LedgerEntry, route: Route) -> None:
    found = translate.before_alter(target, route, entry, ledger)
    if found is not None:
        with target.transaction():
            ledger.check()
            ledger.define(*found)


def _skipped(ledger: Ledger, entry: LedgerEntry, refusal: Unsupported) -> LedgerEntry:
    """The entry as it is to be written; inside the transaction that does. Later rows are of the
    table as it is upstream now, whatever the target has."""
    keep_definition(ledger, entry, "told")
    return replace(entry, state="skipped", reason=str(refusal))


def _is_done(store: Store, entry: LedgerEntry) -> bool:
    store.reconnect()
    return entry.place not in {other.place for other in store.ledger.pending()}


# --- one statement ---------------------------------------------------------------------------


def work_of(
    target: Target, ledger: Ledger, entry: LedgerEntry, route: Route, rules: frozenset[str]
) -> Alteration:
    """What is left of an entry's work. Raises `Stop` where it cannot be done."""
    work = translate.work(target, entry, route, rules, ledger)
    for query, reason in work.refusals:
        if target.execute(query).first() is not None:
            raise Unsupported(reason)
    return work


def _execute(target: Target, work: Alteration) -> None:
    for text in work.statements:
        failpoints.hit("D1")
        target.execute(text)
        failpoints.hit("D2")


# --- refusals --------------------------------------------------------------------------------


@contextmanager
def refusals(target: Target) -> Iterator[None]:
    """Whatever the consumer or the target cannot do, as `Stop`; passing troubles stay `Retry`."""
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
def _savepoint(target: Target) -> Iterator[None]:
    """A refusal leaves nothing of the block behind, and the transaction good."""
    target.execute("SAVEPOINT ticdc_ddl")
    try:
        with refusals(target):
            yield
    except Stop:
        target.execute("ROLLBACK TO SAVEPOINT ticdc_ddl")
        raise
    target.execute("RELEASE SAVEPOINT ticdc_ddl")
