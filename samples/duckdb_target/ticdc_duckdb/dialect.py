"""As much of a SQLAlchemy dialect as the consumer uses: its tables' SQL, and looks at the catalog.

DuckDB's own cursors are connections of their own, outside of the transaction; `Cursor` is not.
"""

from collections.abc import Sequence
from typing import Any

import duckdb
import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect

_CHANGES = ("INSERT", "UPDATE", "DELETE")


class Cursor:
    """Fetches at once: a connection has one result, which its next statement ends."""

    arraysize = 1

    def __init__(self, driver: duckdb.DuckDBPyConnection) -> None:
        self._driver = driver
        self.description: Any = None
        self.rowcount = -1
        self._rows: list[tuple[Any, ...]] = []

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> "Cursor":
        self._driver.execute(statement, list(parameters) or None)
        self.description, self.rowcount, self._rows = self._driver.description, -1, []
        if self.description:
            self._rows = self._driver.fetchall()
            if statement.lstrip()[:6].upper() in _CHANGES:
                self.description, self.rowcount, self._rows = None, self._rows[0][0], []
        return self

    def executemany(self, statement: str, parameters: Sequence[Sequence[Any]]) -> "Cursor":
        counts = [self.execute(statement, each).rowcount for each in parameters]
        self.rowcount = sum(counts)
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._rows.pop(0) if self._rows else None

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        first, self._rows = self._rows[:size], self._rows[size:]
        return first

    def fetchall(self) -> list[tuple[Any, ...]]:
        rows, self._rows = self._rows, []
        return rows

    def close(self) -> None:
        self._rows = []


class Connection:
    def __init__(self, driver: duckdb.DuckDBPyConnection) -> None:
        self.driver = driver

    def cursor(self) -> Cursor:
        return Cursor(self.driver)

    def commit(self) -> None:
        """Nothing: `Target.transaction` sends BEGIN and COMMIT itself."""

    rollback = commit

    def close(self) -> None:
        self.driver.close()


class DuckDbDialect(DefaultDialect):
    name = "duckdb"
    driver = "ticdc"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_decimal = True
    supports_native_boolean = True
    supports_default_values = True
    default_schema_name = "main"

    @classmethod
    def import_dbapi(cls) -> Any:
        return duckdb

    def create_connect_args(self, url: sa.URL) -> Any:
        return [url.database or ":memory:"], dict(url.query)

    def connect(self, *arguments: Any, **_options: Any) -> Any:
        return Connection(duckdb.connect(*arguments))

    def initialize(self, connection: sa.Connection) -> None:
        """Nothing is asked of the server."""

    def get_isolation_level_values(self, dbapi_connection: Any) -> Any:
        return ["AUTOCOMMIT"]

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """It is always this one."""

    def reset_isolation_level(self, dbapi_connection: Any) -> None:
        """It is always this one."""

    # What an inspector asks.

    def _ask(self, connection: sa.Connection, query: str, *parameters: Any) -> list[Any]:
        return list(connection.exec_driver_sql(query, parameters).all())

    def get_schema_names(self, connection: sa.Connection, **_: Any) -> list[str]:
        rows = self._ask(
            connection,
            "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database()",
        )
        return [name for (name,) in rows]

    def get_table_names(
        self, connection: sa.Connection, schema: str | None = None, **_: Any
    ) -> list[str]:
        rows = self._ask(
            connection,
            "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() "
            "AND schema_name = ?",
            schema or self.default_schema_name,
        )
        return [name for (name,) in rows]

    def get_view_names(
        self, connection: sa.Connection, schema: str | None = None, **_: Any
    ) -> list[str]:
        rows = self._ask(
            connection,
            "SELECT view_name FROM duckdb_views() WHERE database_name = current_database() "
            "AND schema_name = ? AND NOT internal",
            schema or self.default_schema_name,
        )
        return [name for (name,) in rows]

    def has_table(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> bool:
        return table_name.lower() in map(str.lower, self.get_table_names(connection, schema))

    def get_columns(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> Any:
        rows = self._ask(
            connection,
            "SELECT column_name, is_nullable, column_default FROM duckdb_columns() "
            "WHERE database_name = current_database() AND schema_name = ? AND table_name = ? "
            "ORDER BY column_index",
            schema or self.default_schema_name,
            table_name,
        )
        return [
            {"name": name, "type": sa.types.NullType(), "nullable": nullable, "default": default}
            for name, nullable, default in rows
        ]

    def get_indexes(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> Any:
        """Those over expressions, which are all that the consumer creates."""
        rows = self._ask(
            connection,
            "SELECT index_name, is_unique FROM duckdb_indexes() "
            "WHERE database_name = current_database() AND schema_name = ? AND table_name = ?",
            schema or self.default_schema_name,
            table_name,
        )
        return [{"name": name, "unique": unique, "column_names": [None]} for name, unique in rows]
