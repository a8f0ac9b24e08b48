"""Which table a DDL means, and where that is in the target."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import sqlalchemy as sa
from ticdc_encoder.sql.parser import parse_ddl
from ticdc_encoder.sql.statements import (
    AlterTable,
    CreateTable,
    CreateTableLike,
    CreateView,
    DropTable,
    DropView,
    ExchangePartition,
    RecoverTable,
    RenameTable,
    Statement,
    TruncateTable,
)

from ticdc_consumer.errors import Stop
from ticdc_consumer.source.ddl_filter import renames_from_unknown
from ticdc_consumer.state.known_tables import Definitions, lower
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.schema import OWN_TABLES
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.target import Target

DROPPED_NAME = re.compile(r"ticdc_dropped_[0-9]+_[0-9]+", re.IGNORECASE)
"""The name of a table that was set aside: commit_ts and number of the DDL that dropped it."""
MARKER_NAME = re.compile(r"ticdc_renam(ing|ed)_[0-9a-f]{8}_[0-9]+", re.IGNORECASE)
"""The name of a table that shows how far a RENAME TABLE came: the changefeed's checksum, the
commit_ts."""
BESIDE_NAME = re.compile(r"ticdc_(loading|replaced)_[0-9a-f]{8}_[0-9]+_[0-9]+", re.IGNORECASE)
"""The name of a table that is loaded beside the one in use, or was replaced by it: the changefeed's
checksum, the timestamp at which the load began, a number."""
REFILL_NAME = re.compile(r"ticdc_refill(ing|ed)_[0-9a-f]{8}_[0-9]+_[0-9]+", re.IGNORECASE)
"""The name of a copy that gets the upstream's rows after an ALTER TABLE, or of the table whose
place it took: the changefeed's checksum, the commit_ts and number of the DDL."""
_OWN_NAMES = (DROPPED_NAME, MARKER_NAME, BESIDE_NAME, REFILL_NAME)

Route = Callable[[str, str], TableName]
"""Upstream (schema, table) -> where it is to go; the table is "" for a schema alone."""


@lru_cache(maxsize=1024)
def parsed(query: str, schema: str) -> Statement:
    """A statement, parsed once however many steps need it. Raises `DefinitionError`."""
    return parse_ddl(query, schema)


def statement_of(entry: LedgerEntry, definitions: Definitions) -> Statement:
    """The entry's statement, with the names that TiCDC sends beside it: TiDB's SQL has the user's
    spelling, rows and all else have the table's own. Raises `Stop`, `DefinitionError`."""
    statement = parsed(entry.query, entry.schema)
    if not entry.table:
        return statement
    match statement:
        case CreateTable(table):
            _check_name(entry, table.schema, table.name)
            return CreateTable(replace(table, schema=entry.schema, name=entry.table))
        case CreateTableLike(schema, table, like):
            _check_name(entry, schema, table)
            if not like[0]:
                raise Stop(f"it does not name the database of {like[1]}")
            return CreateTableLike(entry.schema, entry.table, definitions.spelled(like))
        case DropTable(schema, table):
            _check_name(entry, schema, table)
            return DropTable(entry.schema, entry.table)
        case TruncateTable(schema, table):
            _check_name(entry, schema, table)
            return TruncateTable(entry.schema, entry.table)
        case AlterTable(schema, table, actions):
            if any(isinstance(action, ExchangePartition) for action in actions):
                # TiCDC sends it with the name of the table that is exchanged.
                return AlterTable(*definitions.spelled((schema, table)), actions)
            _check_name(entry, schema, table)
            return AlterTable(entry.schema, entry.table, actions)
        case CreateView(schema, view) as created:
            _check_name(entry, schema, view)
            return replace(created, schema=entry.schema, view=entry.table)
        case DropView(schema, view):
            _check_name(entry, schema, view)
            return DropView(entry.schema, entry.table)
        case RecoverTable(dropped, _):
            final = entry.schema, entry.table
            return RecoverTable(dropped or final, final)
        case RenameTable(old, new):
            return _renamed(entry, old, new, definitions)
        case _:
            return statement


def _check_name(entry: LedgerEntry, schema: str, table: str) -> None:
    if lower((schema, table)) != lower((entry.schema, entry.table)):
        raise Stop(f"it was sent for {entry.schema}.{entry.table}, but names {schema}.{table}")


def _renamed(
    entry: LedgerEntry, old: TableName, new: TableName, definitions: Definitions
) -> RenameTable:
    """An old name without its database is in that of the new name, unless only the new one has
    its database beside it."""
    if renames_from_unknown(entry.query):
        raise Stop(f"it does not name the database of {old[1]}")
    final = entry.schema, entry.table
    if lower(new) == lower(final):
        new = final
    return RenameTable(definitions.spelled(old), new)


def in_target(target: Target, route: Route, name: TableName) -> TargetName:
    """Where the table is in the target. Raises `Stop` for the consumer's own tables."""
    schema, table = target.locate(*route(*name))
    if any(pattern.fullmatch(table) for pattern in _OWN_NAMES):
        raise Stop(f"{'.'.join(name)}: the name {table} is the consumer's own")
    if table.lower() in OWN_TABLES and schema in (None, own_schema(target)):
        raise Stop(f"{'.'.join(name)} would go to the consumer's own table {table}")
    return schema, table


def own_schema(target: Target) -> str | None:
    return sa.inspect(target.connection).default_schema_name
