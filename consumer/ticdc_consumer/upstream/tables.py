"""The tables of the upstream, and their definitions there."""

from collections.abc import Iterator
from typing import NamedTuple

from ticdc_encoder.column import Column
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Table
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.sql.words import restored

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.upstream.session import UpstreamSession

_NAMES = (
    "SELECT table_schema, table_name, table_type FROM information_schema.tables "
    "ORDER BY table_schema, table_name"
)


class Defined(NamedTuple):
    """A table, and the CREATE TABLE that TiDB shows for it."""

    table: Table
    statement: str

    @property
    def name(self) -> TableName:
        return self.table.schema, self.table.name


def names(session: UpstreamSession, options: Settings, kind: str = "BASE TABLE") -> list[TableName]:
    """The tables that `[tables] filter` lets pass, as of the session's snapshot; or its views, with
    the kind "VIEW"."""
    passes = TableFilter(options.filter, case_sensitive=options.case_sensitive)
    return [
        (schema, table)
        for schema, table, type_ in map(_texts, session.query(_NAMES))
        if type_ == kind and passes.matches(schema, table)
    ]


def tables(session: UpstreamSession, options: Settings) -> Iterator[Defined]:
    """Yields the tables that `[tables] filter` lets pass, with their definitions as of the
    session's snapshot. Raises `Stop` for a definition that is not understood."""
    for schema, table in names(session, options):
        yield defined(session, schema, table)


def defined(session: UpstreamSession, schema: str, table: str) -> Defined:
    """One table, as of the session's snapshot. Raises `Stop` for a definition that is not
    understood."""
    ((_, create, *_),) = session.query(f"SHOW CREATE TABLE {quoted(schema)}.{quoted(table)}")
    try:
        statement = restored(_text(create))
        return Defined(parse_create_table(statement, schema), statement)
    except DefinitionError as error:
        raise Stop(f"{schema}.{table}: {error}") from error


def sent(table: Table) -> tuple[Column, ...]:
    """The columns whose values TiCDC sends, in the table's order."""
    return tuple(column for column in table.columns if not column.virtual)


def quoted(name: str) -> str:
    """A name in a statement, with % doubled."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def relation(table: Table) -> str:
    """The table's qualified name in a statement."""
    return f"{quoted(table.schema)}.{quoted(table.name)}"


def _texts(record: tuple[str | bytes | None, ...]) -> tuple[str, ...]:
    return tuple(map(_text, record))


def _text(value: str | bytes | None) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
