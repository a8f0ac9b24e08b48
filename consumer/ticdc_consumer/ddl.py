"""DDL at its place: what runs, what waits for a person, and in which transaction.

Where DDL is transactional it runs in the transaction of its cut. Elsewhere each statement commits
by itself: the cut's transaction leaves it `pending`, it is run, then marked done. Whatever a crash
leaves pending is run again, so each statement first looks whether its work is done already.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import sqlalchemy as sa
from ticdc_encoder.definition import (
    CreateSchema,
    CreateTable,
    DropSchema,
    DropTable,
    Other,
    Statement,
    TruncateTable,
    parse_ddl,
)
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table

from ticdc_consumer import faults
from ticdc_consumer.checkpoint import Store
from ticdc_consumer.checkpoint_tables import OWN_TABLES
from ticdc_consumer.errors import Fenced, Retry, Stop, UnknownCommit, Usage
from ticdc_consumer.ledger import Ledger, LedgerEntry
from ticdc_consumer.plan import SeenDdl
from ticdc_consumer.retry import until_known
from ticdc_consumer.targets.layout import TargetTable
from ticdc_consumer.targets.target import Target

Route = Callable[[str, str], tuple[str, str]]
"""Upstream (schema, table) -> where it is to land; the table is "" for a schema alone."""

BEFORE_DDL = {"postgresql": "SET CONSTRAINTS ALL IMMEDIATE"}
"""Between rows and DDL: PostgreSQL alters no table whose deferred checks are still to come."""


def entries(seen: Iterable[SeenDdl]) -> list[LedgerEntry]:
    """The ledger's entries for the DDL of one commit_ts, one per identity, in the order of
    (topic, offset of the first copy). Raises `Stop` for what no ledger could hold."""
    first: dict[tuple[str, str, str], SeenDdl] = {}
    for one in sorted(seen, key=lambda one: (one.topic, one.offset)):
        if "\0" in one.ddl.schema + one.ddl.table + one.ddl.query:
            raise Stop(f"{one.topic}[0] offset {one.offset}: a DDL with a NUL character in it")
        first.setdefault((one.ddl.schema, one.ddl.table, one.ddl.query), one)
    return [
        LedgerEntry(
            one.ddl.commit_ts, seq, one.ddl.schema, one.ddl.table, one.ddl.query, one.ddl.kind
        )
        for seq, one in enumerate(first.values(), 1)
    ]


def run_in_cut(
    target: Target,
    ledger: Ledger,
    entries: Sequence[LedgerEntry],
    route: Route,
    rules: frozenset[str],
) -> None:
    """What the cut's own transaction does for its DDL: run them, or leave them pending.

    The first that cannot be run leaves nothing behind; it is pending, with all that follow it.
    """
    done: list[LedgerEntry] = []
    if target.transactional_ddl and entries:
        if before := BEFORE_DDL.get(target.dialect):
            target.execute(before)
        for entry in entries:
            try:
                with _savepoint(target):
                    _run(target, entry, route, rules)
                    _keep_definition(ledger, entry)
            except Stop:
                break
            done.append(replace(entry, state="done"))
    ledger.add([*done, *entries[len(done) :]])


def run_pending(
    target: Target, store: Store, route: Route, rules: frozenset[str], retries: int
) -> None:
    """Runs what the ledger holds, in order, until nothing is pending: before any later cut, and at
    every start. Raises `Stop`, with the command that goes on, where a person must do it."""
    for entry in store.ledger.pending():
        attempt = partial(_attempt, target, store.ledger, entry, route, rules)
        try:
            until_known(store, retries, attempt, happened=partial(_is_done, store, entry))
        except Stop as refusal:
            raise Stop(
                f"{entry.query.strip()} (in {entry.schema or '-'}, commit_ts {entry.commit_ts}, "
                f"number {entry.seq}) waits for a person: {refusal}; once its work is done in the "
                f"target, go on with: ticdc-consumer run CONFIG --ddl-done {entry.place}"
            ) from refusal


def _attempt(
    target: Target, ledger: Ledger, entry: LedgerEntry, route: Route, rules: frozenset[str]
) -> None:
    if not target.transactional_ddl:
        with _refusals(target):
            _run(target, entry, route, rules)
        faults.hit("S11")
    with target.transaction():
        ledger.mark_done(entry)
        if target.transactional_ddl:
            with _refusals(target):
                _run(target, entry, route, rules)
        _keep_definition(ledger, entry)


def _is_done(store: Store, entry: LedgerEntry) -> bool:
    store.reconnect()
    return entry.place not in {other.place for other in store.ledger.pending()}


def done_by_person(target: Target, ledger: Ledger, place: str) -> LedgerEntry:
    """`--ddl-done TS[:SEQ]`: marks a pending DDL that a person has run. Raises `Usage` unless
    `place` names exactly one."""
    commit_ts, _, seq = place.partition(":")
    if not commit_ts.isdecimal() or (":" in place and not seq.isdecimal()):
        raise Usage(f"--ddl-done takes TS or TS:SEQ, two numbers; not {place!r}")
    pending = ledger.pending()
    meant = [
        entry
        for entry in pending
        if entry.commit_ts == int(commit_ts) and (not seq or entry.seq == int(seq))
    ]
    if len(meant) != 1:
        waiting = ", ".join(entry.place for entry in pending) or "none"
        found = "more than one" if meant else "no"
        raise Usage(f"--ddl-done {place} names {found} pending DDL; pending are: {waiting}")
    (entry,) = meant
    with target.transaction():
        ledger.mark_done(entry)
        _keep_definition(ledger, entry)
    return entry


# --- one statement ---------------------------------------------------------------------------


def _run(target: Target, entry: LedgerEntry, route: Route, rules: frozenset[str]) -> None:
    """Does an entry's work, if it is not done yet. Raises `Stop` where it cannot."""
    for text in _texts(target, entry, route, rules):
        # DDL has no parameters: a `%` in a comment is only that.
        target.connection.exec_driver_sql(text, None, {"no_parameters": True})


def _texts(target: Target, entry: LedgerEntry, route: Route, rules: frozenset[str]) -> list[str]:
    """The target's words for what is still to be done."""
    match _statement(entry):
        case CreateSchema(source):
            return target.create_schema(route(source, "")[0])
        case CreateTable(table):
            schema, name = _place(target, route, table.schema, table.name)
            existing = target.describe(schema, name)
            if existing is None:
                return target.create_table(schema, name, table)
            _check_equal(target, table, existing, rules)
            return []
        case DropTable(source, table):
            place = _place(target, route, source, table)
            return target.drop_table(*place) if target.describe(*place) else []
        case TruncateTable(source, table):
            return target.truncate_table(*_place(target, route, source, table))
        case DropSchema():
            raise Stop("a whole schema is never dropped by the consumer")
        case Other(_, what):
            raise Stop(f"{what.upper()} is not translated")
        case other:
            raise Stop(f"{type(other).__name__} is not translated")


def _statement(entry: LedgerEntry) -> Statement:
    """The entry's statement, with the names as TiCDC gives them beside it: TiDB's SQL has the
    user's spelling, rows and all else have the table's own."""
    statement = parse_ddl(entry.query, entry.schema)
    if not entry.table:
        return statement
    match statement:
        case CreateTable(table):
            _check_name(entry, table.schema, table.name)
            return CreateTable(replace(table, schema=entry.schema, name=entry.table))
        case DropTable(schema, table):
            _check_name(entry, schema, table)
            return DropTable(entry.schema, entry.table)
        case TruncateTable(schema, table):
            _check_name(entry, schema, table)
            return TruncateTable(entry.schema, entry.table)
        case _:
            return statement


def _check_name(entry: LedgerEntry, schema: str, table: str) -> None:
    if (schema.lower(), table.lower()) != (entry.schema.lower(), entry.table.lower()):
        raise Stop(f"it is said to be of {entry.schema}.{entry.table}, but names {schema}.{table}")


def _place(target: Target, route: Route, schema: str, table: str) -> tuple[str | None, str]:
    """Where the table lies in the target. Raises `Stop` for the consumer's own tables."""
    there, name = target.locate(*route(schema, table))
    own_schema = sa.inspect(target.connection).default_schema_name
    if name.lower() in OWN_TABLES and there in (None, own_schema):
        raise Stop(f"{schema}.{table} would land in the consumer's own table {name}")
    return there, name


def _check_equal(
    target: Target, table: Table, existing: TargetTable, rules: frozenset[str]
) -> None:
    """Raises `Stop` unless `existing` is what a CREATE of `table` would give: empty, with these
    columns, a key that identifies its rows, and no other unique keys than these."""
    name = f"{existing.schema}.{existing.name}" if existing.schema else existing.name
    wanted = {column.name.lower() for column in table.columns}
    found = {column.name.lower() for column in existing.columns}
    if wanted != found:
        differing = ", ".join(sorted(wanted ^ found))
        raise Stop(f"{name} exists with other columns: they differ in {differing}")
    unique = {_set(index.columns) for index in table.indexes if index.unique}
    for key in existing.unique_keys:
        if key.plain and _set(key.columns) not in unique:
            raise Stop(f"{name} exists with another unique key, {key.name}")
    if table.handle_key:
        target.layout(table, table.handle_key, existing, table, rules)
    if target.has_rows(existing.schema, existing.name):
        raise Stop(f"{name} exists and has rows")


def _set(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


def _keep_definition(ledger: Ledger, entry: LedgerEntry) -> None:
    """Brings the kept definitions up to a DDL that is done, by whomever: what it may have changed
    is forgotten, unless the statement itself says how it is now."""
    try:
        statement = _statement(entry)
    except TicdcError:
        statement = Other(entry.query, "")
    match statement:
        case CreateTable(table):
            ledger.define(table)
        case DropTable(schema, table):
            ledger.forget(schema, table)
        case DropSchema(schema):
            ledger.forget(schema)
        case TruncateTable() | CreateSchema():
            pass
        case _:
            ledger.forget(entry.schema, entry.table)


# --- refusals --------------------------------------------------------------------------------


@contextmanager
def _refusals(target: Target) -> Iterator[None]:
    """Whatever the consumer or the target cannot do, as `Stop`; passing troubles stay `Retry`."""
    try:
        with target.errors():
            yield
    except (Stop, Retry, UnknownCommit, Fenced):
        raise
    except TicdcError as error:
        raise Stop(str(error)) from error
    except sa.exc.DBAPIError as error:
        raise Stop(f"the target refused it: {error.orig}") from error


@contextmanager
def _savepoint(target: Target) -> Iterator[None]:
    """A refusal leaves nothing of the block behind, and the transaction good."""
    target.execute("SAVEPOINT ticdc_ddl")
    try:
        with _refusals(target):
            yield
    except Stop:
        target.execute("ROLLBACK TO SAVEPOINT ticdc_ddl")
        raise
    target.execute("RELEASE SAVEPOINT ticdc_ddl")
