"""The upstream -> single large rows as they were at a commit_ts (`large_rows.py`). Whole tables are
read by the package `ticdc_consumer.upstream`.

Rows are read by `tidb_snapshot`, as TiCDC's own consumers do: in most releases of TiDB AS OF
TIMESTAMP is exact only to the millisecond, within which there may be another transaction.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from ticdc_encoder.column import TEMPORALS, Column
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Row, Table, Value
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.sql.words import restored
from ticdc_encoder.values import single

from ticdc_consumer.errors import LOAD_ANEW, Retry, Stop, Unavailable
from ticdc_consumer.targets import mysql_protocol
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.mysql_protocol import connect, engine_of

SNAPSHOT = "SET @@tidb_snapshot = %(commit_ts)s"
"""Lets every statement of the session read what was committed at or before this timestamp."""

BATCH = 32
"""Keys per statement: their rows are large."""

_REMOVED = frozenset({8055, 9006})
"""TiDB's errors for a snapshot whose rows are already removed."""

_AS_NUMBER = frozenset({"bit", "enum", "set"})
_AS_TEXT = TEMPORALS | {"vector"}


def select(table: Table, key: Sequence[str], count: int) -> str:
    """Returns the statement for the rows of `count` keys; its parameters are their columns, key by
    key."""
    columns = ", ".join(_selected(column) for column in _sent(table))
    one = ", ".join(["%s"] * len(key))
    names = ", ".join(_quoted(name) for name in key)
    if len(key) > 1:
        one, names = f"({one})", f"({names})"
    keys = ", ".join([one] * count)
    source = f"{_quoted(table.schema)}.{_quoted(table.name)}"
    return f"SELECT {columns} FROM {source} WHERE {names} IN ({keys})"  # noqa: S608


def _sent(table: Table) -> list[Column]:
    """Leaves out virtual columns, which TiCDC does not send."""
    return [column for column in table.columns if column.generated != "virtual"]


def _selected(column: Column) -> str:
    name, type_ = _quoted(column.name), column.type.name
    if type_ in _AS_NUMBER:
        return f"CAST({name} AS UNSIGNED)"
    if type_ in _AS_TEXT:
        return f"CAST({name} AS CHAR)"
    # Without this, a FLOAT is sent with six digits.
    return f"{name} + 0E0" if type_ == "float" else name


def _quoted(name: str) -> str:
    """Quotes a name for a statement with parameters."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def _value(column: Column, value: Any) -> Value:
    if value is None:
        return None
    type_ = column.type
    if type_.name == "float":
        return single(float(value))
    if type_.binary:
        data = value.encode() if isinstance(value, str) else bytes(value)
        return data.ljust(type_.length or 0, b"\0") if type_.name == "binary" else data
    return value  # type: ignore[no-any-return]


class Snapshots:
    """One read-only session of the upstream. Raises `Unavailable` if it cannot be reached, `Retry`
    if the connection is lost, `Stop` for what it refuses; never shows the URL."""

    def __init__(self, url: str) -> None:
        self._engine = engine_of(sa.make_url(url))
        self._connection: sa.Connection | None = None
        self._tables: dict[TableName, Table] = {}

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def connect(self) -> sa.Connection:
        if self._connection is None:
            connection = self._connection = connect(self._engine, "[source] upstream")
            connection.exec_driver_sql("SET SESSION time_zone = '+00:00'")
        return self._connection

    def rows(
        self, schema: str, name: str, commit_ts: int, keys: Sequence[Row]
    ) -> Iterator[tuple[Table, list[Row]]]:
        """Yields the rows of these keys as of `commit_ts`, with their table, a statement at a time;
        TIMESTAMP in UTC. A key without a row yields none. Raises what the class raises."""
        connection = self.connect()
        try:
            connection.exec_driver_sql(SNAPSHOT, {"commit_ts": commit_ts})
            table = self._table(connection, schema, name)
            columns = _sent(table)
            for first in range(0, len(keys), BATCH):
                some = keys[first : first + BATCH]
                statement = select(table, tuple(some[0]), len(some))
                parameters = tuple(value for key in some for value in key.values())
                result = connection.exec_driver_sql(statement, parameters)
                yield (
                    table,
                    [
                        {c.name: _value(c, value) for c, value in zip(columns, row, strict=True)}
                        for row in result
                    ],
                )
        except sa.exc.DBAPIError as error:
            raise _translated(error, f"{schema}.{name}", commit_ts) from None

    def _table(self, connection: sa.Connection, schema: str, name: str) -> Table:
        """Returns the table as of its first requested snapshot: no cut passes its DDL."""
        if (schema, name) not in self._tables:
            definition = connection.exec_driver_sql(
                f"SHOW CREATE TABLE {_quoted(schema)}.{_quoted(name)}", ()
            ).one()
            self._tables[schema, name] = parse_create_table(restored(definition[1]), schema)
        return self._tables[schema, name]


def _translated(error: sa.exc.DBAPIError, table: str, commit_ts: int) -> TicdcError:
    code = mysql_protocol.number(error)
    if code in _REMOVED:
        return Stop(
            f"{table}: the upstream has removed the rows of commit_ts {commit_ts} (error "
            f"{code}), so that a large row cannot be completed: raise tidb_gc_life_time there, "
            f"and {LOAD_ANEW}; to avoid this, let the changefeed use claim-check"
        )
    if mysql_protocol.lost(error):
        return Retry("the connection to the upstream was lost")
    refused = mysql_protocol.translate(error)
    kind = Unavailable if isinstance(refused, Unavailable) else Stop
    reason = str(refused).removeprefix("the target refuses: ")
    return kind(f"{table}: the upstream refuses: {reason}")
