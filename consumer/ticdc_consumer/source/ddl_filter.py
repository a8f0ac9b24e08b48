"""Selects the DDL that concern tables which the filter lets pass."""

import re
from collections.abc import Iterator
from functools import lru_cache

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.sql.parser import parse_ddl
from ticdc_encoder.sql.statements import AlterTable, ExchangePartition, RenameTable

_OF_TWO_TABLES = re.compile(r"\b(RENAME|EXCHANGE)\b", re.IGNORECASE)


def renames_from_unknown(query: str) -> bool:
    """Returns whether a RENAME TABLE names only the new name's database. The old name's is that of
    the user's session: TiCDC's old architecture sends the text as it was written."""
    statement = parse_ddl(query, "")
    return isinstance(statement, RenameTable) and not statement.old[0] and bool(statement.new[0])


def wants(tables: TableFilter, ddl: Ddl) -> bool:
    """Returns whether a DDL concerns a table, or a schema, that the filter lets pass. TiCDC reports
    RENAME TABLE under the new name and EXCHANGE PARTITION under the other table: the SQL names
    both. If the SQL does not name the database that a table is renamed from, it may be any."""
    if not ddl.table:
        return tables.matches_schema(ddl.schema)
    return tables.matches(ddl.schema, ddl.table) or any(
        tables.matches(schema, table) if schema else tables.matches_name(table)
        for schema, table in _named(ddl.query, ddl.schema)
    )


@lru_cache(maxsize=1024)
def _named(query: str, schema: str) -> tuple[tuple[str, str], ...]:
    return tuple(_names(query, schema))


def _names(query: str, schema: str) -> Iterator[tuple[str, str]]:
    """Yields the tables' names, with "" for a database that is not named."""
    if _OF_TWO_TABLES.search(query) is None:
        return
    try:
        statement = parse_ddl(query, schema)
        unknown = renames_from_unknown(query)
    except TicdcError:
        return
    match statement:
        case RenameTable((_, table), new) if unknown:
            yield from (("", table), new)
        case RenameTable(old, new):
            yield from (old, new)
        case AlterTable(schema_of_table, name, actions):
            for action in actions:
                if isinstance(action, ExchangePartition):
                    yield from ((schema_of_table, name), action.table)
