"""Finds the tables whose layouts a DDL may have changed."""

from collections.abc import Iterable, Iterator

from ticdc_encoder.sql.statements import AlterTable, Statement

from ticdc_consumer.ddl.kinds import action_kind, kind_of, names_of
from ticdc_consumer.ddl.names import understood
from ticdc_consumer.state.known_tables import KnownTables, lower
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import TableName


def touched(
    entries: Iterable[LedgerEntry], before: KnownTables, after: KnownTables
) -> set[TableName] | None:
    """Returns the tables of these DDL, in lower case, with those merged with them, those that their
    foreign keys name, and those whose foreign keys name them; None if it may be any table.

    A layout holds the catalog's description of its table in the target and of the foreign keys at
    either of its ends; nothing else in the target affects it.
    """
    names: set[TableName] = set()
    for entry in entries:
        own = None if entry.instead else _named(entry)
        if own is None:
            return None
        names |= own
    linked = (_linked(known, names) for known in (before, after))
    return {lower(name) for name in names.union(*linked)}


def _named(entry: LedgerEntry) -> set[TableName] | None:
    """Returns the names in the entry; None if there may be more."""
    statement = understood(entry.query, entry.schema)
    named = None if statement is None else of_statement(statement)
    if named is None or any(not schema for schema, _ in named):
        return None
    if entry.table:
        named.append((entry.schema, entry.table))
    return set(named)


def keys_alone(entry: LedgerEntry) -> bool:
    """Returns whether a DDL only adds, drops or renames indexes: the rows and columns of its table
    are the same before and after."""
    statement = understood(entry.query, entry.schema)
    return (
        not entry.instead
        and isinstance(statement, AlterTable)
        and all(action_kind(action).keys for action in statement.actions)
    )


def of_statement(statement: Statement) -> list[TableName] | None:
    """Returns the tables that a statement changes or that its foreign keys name; None if it may be
    any."""
    names = names_of(statement)
    if kind_of(statement).any_layout or not names.complete:
        return None
    return [*names.restored, *names.tables, *names.exchanged, *names.parents]


def _linked(known: KnownTables, names: Iterable[TableName]) -> Iterator[TableName]:
    for name in names:
        yield from known.children(name)
        yield from known.sharing(name)
        for spelled in known.spellings(name):
            yield from known.by_name[spelled].parents()
