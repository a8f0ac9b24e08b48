"""MariaDB's binlog, as a changefeed takes it: transactions and DDL, in order."""

import time
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from pymysqlreplication import BinLogStreamReader  # type: ignore[import-untyped]
from pymysqlreplication.event import QueryEvent, XidEvent  # type: ignore[import-untyped]
from pymysqlreplication.row_event import (  # type: ignore[import-untyped]
    DeleteRowsEvent,
    UpdateRowsEvent,
    WriteRowsEvent,
)
from ticdc_encoder import Ddl, Row, RowChange, Table, Transaction, Value
from ticdc_encoder.column import Column
from ticdc_encoder.sql.evolution import apply
from ticdc_encoder.sql.parser import CreateTable, DropTable, parse_ddl
from ticdc_encoder.sql.statements import AlterTable, CreateSchema, DropSchema, TruncateTable


class Binlog:
    """What commits in one database after `position`, the binlog's file and offset."""

    def __init__(self, server: sa.URL, database: str, position: tuple[str, int]) -> None:
        self._server, self._database = server, database
        self._tables: dict[str, Table] = {}
        self._commit_ts = 0
        self.position = position

    def next_ts(self) -> int:
        """A timestamp as TiDB's: milliseconds, and a counter of 18 bits. Each is greater."""
        self._commit_ts = max(self._commit_ts + 1, time.time_ns() // 1_000_000 << 18)
        return self._commit_ts

    def read(self) -> Iterator[Transaction | Ddl]:
        """What there is by now; called again, what came since."""
        stream = BinLogStreamReader(
            {
                "host": self._server.host,
                "port": self._server.port or 3306,
                "user": self._server.username,
                "passwd": self._server.password or "",
            },
            server_id=4_000_000,  # a replica's, which no other may have
            resume_stream=True,
            log_file=self.position[0],
            log_pos=self.position[1],
            only_events=[QueryEvent, XidEvent, WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent],
            enable_logging=False,
        )
        rows: list[tuple[Table, Row | None, Row | None]] = []
        try:
            for event in stream:
                match event:
                    case XidEvent():
                        if rows:
                            yield self._transaction(rows)
                        rows = []
                    case QueryEvent():
                        if event.schema.decode() == self._database and event.query != "COMMIT":
                            yield self._ddl(event.query)
                    case _:
                        if event.schema == self._database:
                            rows += self._changes(event)
                        continue
                # Here, and not at the rows, since a transaction may be read in part.
                self.position = stream.log_file, event.packet.log_pos
        finally:
            stream.close()

    def _transaction(self, rows: list[tuple[Table, Row | None, Row | None]]) -> Transaction:
        commit_ts = self.next_ts()
        changes = tuple(RowChange(table, commit_ts, before, after) for table, before, after in rows)
        return Transaction(commit_ts, changes)

    def _changes(self, event: Any) -> Iterator[tuple[Table, Row | None, Row | None]]:
        table = self._tables[event.table]
        for found in event.rows:
            match event:
                case WriteRowsEvent():
                    yield table, None, row(table, found["values"])
                case DeleteRowsEvent():
                    yield table, row(table, found["values"]), None
                case _:
                    before, after = found["before_values"], found["after_values"]
                    yield table, row(table, before), row(table, after)

    def _ddl(self, query: str) -> Ddl:
        """As TiCDC tells it, with the table that it makes; the changefeed wants to know that."""
        statement = parse_ddl(query, self._database)
        name = ""
        definition: Table | None = None
        match statement:
            case CreateSchema() | DropSchema():
                self._tables.clear()
            case CreateTable(table):
                name, definition = table.name, table
                self._tables[name] = table
            case AlterTable(_, name, _):
                definition = self._tables[name] = apply(statement, self._tables[name])
            case DropTable(_, name):
                del self._tables[name]
            case TruncateTable(_, name):
                pass
            case _:
                raise SystemExit(f"more than a sample knows: {query}")
        return Ddl(self._database, name, query, self.next_ts(), definition=definition)


def row(table: Table, values: Mapping[str, Any]) -> Row:
    """With MariaDB's metadata in the binlog (`binlog_row_metadata=FULL`) columns have names."""
    return {column.name: value(column, values[column.name]) for column in table.columns}


def value(column: Column, found: Any) -> Value:
    """A binlog's value as an `Event`'s: temporal ones as text, an ENUM as its number."""
    match found:
        case str() if column.type.name == "enum":
            return column.type.elements.index(found) + 1
        case datetime():
            digits = column.type.decimals or 0
            text = f"{found:%Y-%m-%d %H:%M:%S}"
            return text + f".{found.microsecond:06}"[: digits + 1] if digits else text
        case date():
            return f"{found:%Y-%m-%d}"
        case timedelta() | set() | dict() | list():
            raise SystemExit(f"{column.name}: a {column.type.name} is more than a sample knows")
        case _:
            return found  # type: ignore[no-any-return]
