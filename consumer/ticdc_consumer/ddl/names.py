"""The table that a DDL means, its definition, and its place in the target.

TiCDC sends a CREATE TABLE as it was written. A table that names no character set has its
database's, which only the earlier CREATE DATABASE and ALTER DATABASE show.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import sqlalchemy as sa
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.sql.parser import parse_ddl
from ticdc_encoder.sql.statements import (
    AlterSchema,
    Charset,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    DropSchema,
    RecoverTable,
    RenameTable,
    Statement,
)

from ticdc_consumer.ddl.kinds import kind_of
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.source.ddl_filter import renames_from_unknown
from ticdc_consumer.state.known_tables import Definitions, lower
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.state.schema import OWN_TABLES
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.target import Target

DROPPED_NAME = re.compile(r"ticdc_dropped_[0-9]+_[0-9]+", re.IGNORECASE)
"""The name of a kept table: commit_ts and number of the DDL that dropped it."""
MARKER_NAME = re.compile(r"ticdc_renam(ing|ed)_[0-9a-f]{8}_[0-9]+", re.IGNORECASE)
"""The name of a table that shows how far a RENAME TABLE came: the changefeed's checksum, the
commit_ts."""
BESIDE_NAME = re.compile(r"ticdc_(loading|replaced)_[0-9a-f]{8}_[0-9]+_[0-9]+", re.IGNORECASE)
"""The name of a table that is loaded next to the one in use, or was replaced by it: the
changefeed's checksum, the timestamp at which the load began, a number."""
REFILL_NAME = re.compile(r"ticdc_refill(ing|ed|mark)_[0-9a-f]{8}_[0-9]+_[0-9]+", re.IGNORECASE)
"""The name of a copy that gets the upstream's rows after an ALTER TABLE, and of the table that it
replaced, or of a marker if there was none: the changefeed's checksum, the commit_ts and number of
the DDL."""
_OWN_NAMES = (DROPPED_NAME, MARKER_NAME, BESIDE_NAME, REFILL_NAME)

Route = Callable[[str, str], TableName]
"""Maps upstream (schema, table) to its destination; the table is "" for a schema only."""


@lru_cache(maxsize=1024)
def parsed(query: str, schema: str, charset: Charset | None = None) -> Statement:
    """Parses a statement, only once for all steps; `charset` is its database's. Raises
    `DefinitionError`."""
    return parse_ddl(query, schema, charset)


def understood(query: str, schema: str) -> Statement | None:
    """Returns a statement without its database's character set, or None if it is not understood."""
    try:
        return parsed(query, schema)
    except TicdcError:
        return None


def statement_of(
    entry: LedgerEntry, definitions: Definitions, charset: Charset | None
) -> Statement:
    """Returns the entry's statement, with the names that TiCDC sends next to it: TiDB's SQL has the
    user's spelling, rows and everything else have the table's own. `charset` is its database's.
    Raises `Stop`, `DefinitionError`."""
    statement = parsed(entry.query, entry.schema, charset)
    if not entry.table:
        return statement
    name, kind = (entry.schema, entry.table), kind_of(statement)
    match statement:
        case RecoverTable(dropped, _):
            return RecoverTable(dropped or name, name)
        case RenameTable(old, new):
            return _renamed(entry, old, new, definitions)
    own, exchanged = kind.names(statement).relations, kind.names(statement).exchanged
    if kind.under is None:
        return statement
    if exchanged:
        # TiCDC sends it with the name of the exchanged table.
        return kind.under(statement, definitions.spelled(own[0]))
    _check_name(entry, *own[0])
    if isinstance(statement, CreateTableLike):
        if not statement.like[0]:
            raise Stop(f"it does not name the database of {statement.like[1]}")
        statement = replace(statement, like=definitions.spelled(statement.like))
    return kind.under(statement, name)


def _check_name(entry: LedgerEntry, schema: str, table: str) -> None:
    if lower((schema, table)) != lower((entry.schema, entry.table)):
        raise Stop(f"it was sent for {entry.schema}.{entry.table}, but names {schema}.{table}")


def _renamed(
    entry: LedgerEntry, old: TableName, new: TableName, definitions: Definitions
) -> RenameTable:
    """Returns the rename. An old name without its database is in that of the new name, unless only
    the new one has its database next to it."""
    if renames_from_unknown(entry.query):
        raise Stop(f"it does not name the database of {old[1]}")
    final = entry.schema, entry.table
    if lower(new) == lower(final):
        new = final
    return RenameTable(definitions.spelled(old), new)


def in_target(target: Target, route: Route, name: TableName) -> TargetName:
    """Returns the table's place in the target. Raises `Stop` for the consumer's own tables."""
    schema, table = target.locate(*route(*name))
    if any(pattern.fullmatch(table) for pattern in _OWN_NAMES):
        raise Stop(f"{'.'.join(name)}: the name {table} is the consumer's own")
    if table.lower() in OWN_TABLES and schema in (None, own_schema(target)):
        raise Stop(f"{'.'.join(name)} would go to the consumer's own table {table}")
    return schema, table


def own_schema(target: Target) -> str | None:
    return sa.inspect(target.connection).default_schema_name


# --- the character set of a new table ------------------------------------------------------------

_OF_TIDB = Charset("utf8mb4", "utf8mb4_bin")
"""The character set of a database whose CREATE DATABASE names none."""


def statement_in_database(
    entry: LedgerEntry, definitions: Definitions, ledger: Ledger
) -> Statement:
    """Returns the statement like `statement_of`; a new table has the character set that its
    database had then. Raises `Unsupported` if several upstream databases of that name had different
    ones."""
    return statement_of(entry, definitions, _charset(entry, ledger))


def _charset(entry: LedgerEntry, ledger: Ledger) -> Charset | None:
    """Returns None if the table names a character set itself, or its database is unknown."""
    if not entry.table:
        return None
    statement = parsed(entry.query, entry.schema)
    if not isinstance(statement, CreateTable) or statement.table.charset is not None:
        return None
    charsets = _of_database(ledger, entry.schema, entry.order)
    if len(charsets) > 1:
        names = ", ".join(sorted(charset.collation for charset in charsets))
        raise Unsupported(
            f"several upstream databases are routed to {entry.schema}, their default collations "
            f"differ ({names}), and the statement names none; the types of the table are those "
            "that SHOW CREATE TABLE shows upstream"
        )
    return next(iter(charsets), None)


def _of_database(ledger: Ledger, schema: str, before: tuple[int, int]) -> set[Charset]:
    """Returns the character sets of the databases of that name before the DDL with that (commit_ts,
    seq). Pending DDL count: upstream, they are done."""
    number, charsets = 0, set[Charset]()
    for entry in ledger.of_schemas_and_views():
        if entry.order >= before:
            break
        match None if entry.table else understood(entry.query, entry.schema):
            case CreateSchema(name, charset=charset) if _same(name, schema):
                number += 1
                charsets.add(charset or _OF_TIDB)
            case AlterSchema(name, Charset() as charset) if _same(name, schema):
                charsets = {charset} if number < 2 else charsets | {charset}
            case DropSchema(name) if _same(name, schema):
                number = max(0, number - 1)
                charsets = charsets if number else set()
    return charsets


def _same(name: str, schema: str) -> bool:
    return lower((name, "")) == lower((schema, ""))
