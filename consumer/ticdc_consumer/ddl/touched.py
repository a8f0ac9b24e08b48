"""Which tables' layouts a DDL may have changed."""

from collections.abc import Iterable, Iterator

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.sql.statements import (
    AddForeignKey,
    AddIndex,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    CreateView,
    DropIndex,
    DropTable,
    DropView,
    ExchangePartition,
    RecoverTable,
    RenameIndex,
    RenameTable,
    Statement,
    TruncateTable,
)

from ticdc_consumer.ddl.names import parsed
from ticdc_consumer.state.known_tables import KnownTables, lower
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import TableName


def touched(
    entries: Iterable[LedgerEntry], before: KnownTables, after: KnownTables
) -> set[TableName] | None:
    """The tables of these DDL, in lower case, with those that are merged with them, those that
    their foreign keys name, and those whose foreign keys name them; None if it may be any table.

    A layout holds what the catalog says of its table in the target and of the foreign keys at
    either of its ends; nothing else in the target bears on it.
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
    """What the entry names; None if it is not sure to be all."""
    try:
        statement = parsed(entry.query, entry.schema)
    except TicdcError:
        return None
    named = of_statement(statement)
    if named is None or any(not schema for schema, _ in named):
        return None
    if entry.table:
        named.append((entry.schema, entry.table))
    return set(named)


def keys_alone(entry: LedgerEntry) -> bool:
    """Whether a DDL adds, drops or renames indexes, and does nothing else: the rows and columns of
    its table are the same before and after."""
    try:
        statement = parsed(entry.query, entry.schema)
    except TicdcError:
        return False
    return (
        not entry.instead
        and isinstance(statement, AlterTable)
        and all(
            isinstance(action, AddIndex | DropIndex | RenameIndex) for action in statement.actions
        )
    )


def of_statement(statement: Statement) -> list[TableName] | None:
    """The tables that a statement changes or that its foreign keys name; None if it may be any."""
    match statement:
        case CreateTable(table):
            return [(table.schema, table.name), *(key.parent for key in table.foreign_keys)]
        case CreateTableLike(schema, name) | DropTable(schema, name) | TruncateTable(schema, name):
            return [(schema, name)]
        case RenameTable(old, new):
            return [old, new]
        case RecoverTable((_, _) as dropped, (_, _) as new):
            return [dropped, new]
        case AlterTable(schema, name, actions):
            others = [a.table for a in actions if isinstance(a, ExchangePartition)]
            parents = [a.key.parent for a in actions if isinstance(a, AddForeignKey)]
            return [(schema, name), *others, *parents]
        case CreateSchema() | CreateView() | DropView():
            return []
        case _:
            return None


def _linked(known: KnownTables, names: Iterable[TableName]) -> Iterator[TableName]:
    for name in names:
        yield from known.children(name)
        yield from known.sharing(name)
        for spelled in known.spellings(name):
            yield from known.by_name[spelled].parents()
