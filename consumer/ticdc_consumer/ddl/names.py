"""Which table a DDL means, and where that lies in the target."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import sqlalchemy as sa
from ticdc_encoder.event import Table
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
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.schema import OWN_TABLES
from ticdc_consumer.targets.target import Target

KEPT_NAME = re.compile(r"ticdc_dropped_[0-9]+_[0-9]+", re.IGNORECASE)
"""Of a table that is kept: the commit_ts and number of the DDL that dropped it."""
MARKER_NAME = re.compile(r"ticdc_renam(ing|ed)_[0-9a-f]{8}_[0-9]+", re.IGNORECASE)
"""Of a table that says how far a RENAME TABLE came: the changefeed's checksum, the commit_ts."""

Name = tuple[str, str]
Place = tuple[str | None, str]
Route = Callable[[str, str], Name]
"""Upstream (schema, table) -> where it is to land; the table is "" for a schema alone."""
Definitions = Mapping[Name, Table]


def statement_of(entry: LedgerEntry, definitions: Definitions) -> Statement:
    """The entry's statement, with the names as TiCDC gives them beside it: TiDB's SQL has the
    user's spelling, rows and all else have the table's own. Raises `Stop`, `DefinitionError`."""
    statement = parse_ddl(entry.query, entry.schema)
    if not entry.table:
        return statement
    match statement:
        case CreateTable(table):
            _check_name(entry, table.schema, table.name)
            return CreateTable(replace(table, schema=entry.schema, name=entry.table))
        case CreateTableLike(schema, table, like):
            _check_name(entry, schema, table)
            if not like[0]:
                raise Stop(f"it does not say which database {like[1]} is in")
            return CreateTableLike(entry.schema, entry.table, spelled(like, definitions))
        case DropTable(schema, table):
            _check_name(entry, schema, table)
            return DropTable(entry.schema, entry.table)
        case TruncateTable(schema, table):
            _check_name(entry, schema, table)
            return TruncateTable(entry.schema, entry.table)
        case AlterTable(schema, table, actions):
            if any(isinstance(action, ExchangePartition) for action in actions):
                # It is said to be of the table that is exchanged.
                return AlterTable(*spelled((schema, table), definitions), actions)
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
    if (schema.lower(), table.lower()) != (entry.schema.lower(), entry.table.lower()):
        raise Stop(f"it is said to be of {entry.schema}.{entry.table}, but names {schema}.{table}")


def _renamed(entry: LedgerEntry, old: Name, new: Name, definitions: Definitions) -> RenameTable:
    """An old name without its database is in that of the new name, unless only the new one says
    which that is."""
    if renames_from_unknown(entry.query):
        raise Stop(f"it does not say which database {old[1]} is in")
    final = entry.schema, entry.table
    if _lower(new) == _lower(final):
        new = final
    return RenameTable(spelled(old, definitions), new)


def spelled(name: Name, definitions: Definitions) -> Name:
    """As the table's own definition spells it."""
    if name in definitions:
        return name
    same = [known for known in definitions if _lower(known) == _lower(name)]
    return same[0] if len(same) == 1 else name


def _lower(name: Name) -> Name:
    return name[0].lower(), name[1].lower()


def place_of(target: Target, route: Route, schema: str, table: str) -> Place:
    """Where the table lies in the target. Raises `Stop` for the consumer's own tables."""
    there, name = target.locate(*route(schema, table))
    if KEPT_NAME.fullmatch(name) or MARKER_NAME.fullmatch(name):
        raise Stop(f"{schema}.{table}: the name {name} is the consumer's own")
    if name.lower() in OWN_TABLES and there in (None, own_schema(target)):
        raise Stop(f"{schema}.{table} would land in the consumer's own table {name}")
    return there, name


def own_schema(target: Target) -> str | None:
    return sa.inspect(target.connection).default_schema_name
