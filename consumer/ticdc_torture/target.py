"""EDGE: the target, as an observer reads it: all tables in one state of the database."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table

from ticdc_torture.history import State, TableState, sorted_rows

TRIES = 50
PAUSE = 0.1

SNAPSHOTS = {
    "sqlite": ("BEGIN",),
    "postgresql": ("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",),
    "mysql": (
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    ),
}
SNAPSHOTS["mariadb"] = SNAPSHOTS["mysql"]


@dataclass(frozen=True)
class Look:
    """One state of the target. `resolved_ts` is the R of this state, if the consumer tells it;
    `reached` is an R that it told before, which the state must not be behind."""

    tables: State
    resolved_ts: int | None = None
    reached: int = 0


@dataclass(frozen=True)
class ResolvedTs:
    """Source of a consumer's R: the target, by a query, or a file."""

    query: str | None = None
    file: Path | None = None
    inclusive: bool = False
    """True if R covers the transaction of commit_ts R itself."""

    def end(self, value: object) -> int:
        """The ts below which all is applied."""
        return int(str(value)) + self.inclusive

    def of_file(self) -> int:
        """R of the file; 0 while it is missing or empty."""
        if self.file is None or not self.file.exists():
            return 0
        text = self.file.read_text().strip()
        return self.end(text) if text else 0


class ObservedTarget:
    """A session of its own, which writes nothing once the tables exist."""

    def __init__(
        self, url: str, schema: str, names: Sequence[str], resolved_ts: ResolvedTs
    ) -> None:
        """`names` are all tables that there may ever be. Raises ConfigError for a database that
        has no snapshots that are known here."""
        try:
            # A query that is cached keeps the names of the columns that its table had then.
            self._engine = sa.create_engine(
                url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool, query_cache_size=0
            )
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ImportError) as error:
            raise ConfigError(f"--target: {error}") from error
        self._dialect = self._engine.dialect.name
        if self._dialect not in SNAPSHOTS:
            raise ConfigError(f"--target: {self._dialect} is not one of {', '.join(SNAPSHOTS)}")
        self._schema = None if self._dialect == "sqlite" else schema
        self._names, self._r = names, resolved_ts

    def create(self, definitions: dict[str, str], keyed: bool) -> None:
        """The schema, and the tables of these CREATE TABLEs; without `keyed` they have no keys.
        Raises ConfigError if one of them exists."""
        quote = self._engine.dialect.identifier_preparer.quote
        with self._engine.connect() as connection:
            if self._schema:
                connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {quote(self._schema)}")
            existing = sa.inspect(connection).get_table_names(self._schema)
            if rest := sorted({*existing} & {*self._names}):
                raise ConfigError(f"--target has tables already: {', '.join(rest)}; drop them")
            for name, sql in definitions.items():
                table = _table_of(name, parse_create_table(sql, ""), self._schema, keyed)
                table.create(connection)

    def look(self) -> Look:
        """One state of the database. Retried while a DDL of the consumer is in the way."""
        for last in range(TRIES):
            reached = self._r.of_file()
            try:
                with self._engine.connect() as connection:
                    look = self._state(connection, reached)
                if look is not None:
                    return look
            except sa.exc.DBAPIError:
                if last == TRIES - 1:
                    raise
            time.sleep(PAUSE)
        raise ConfigError("--target: its tables change all the time")

    def _state(self, connection: sa.Connection, reached: int) -> Look | None:
        """One look; None if a table was created or dropped meanwhile."""
        existing = self._existing(connection)
        self._begin(connection)
        if self._dialect == "postgresql":
            self._lock(connection, existing)
        if self._existing(connection) != existing:
            return None
        tables = tuple(self._contents(connection, name) for name in existing)
        look = Look(tables, self._resolved_ts(connection), reached)
        connection.exec_driver_sql("ROLLBACK")
        return look

    def _existing(self, connection: sa.Connection) -> list[str]:
        names = sa.inspect(connection).get_table_names(self._schema)
        return sorted({*names} & {*self._names})

    def _contents(self, connection: sa.Connection, name: str) -> TableState:
        table = sa.table(name, schema=self._schema)
        result = connection.execute(sa.select(sa.text("*")).select_from(table))
        columns = tuple(result.keys())
        order = sorted(range(len(columns)), key=columns.__getitem__)
        rows = sorted_rows([row[n] for n in order] for row in result)
        return name, tuple(columns[n] for n in order), rows

    def _begin(self, connection: sa.Connection) -> None:
        for statement in SNAPSHOTS[self._dialect]:
            connection.exec_driver_sql(statement)

    def _lock(self, connection: sa.Connection, names: Sequence[str]) -> None:
        """Locks the tables first: PostgreSQL's TRUNCATE and ALTER show in older snapshots, too."""
        format_table = connection.dialect.identifier_preparer.format_table
        for name in names:
            table = format_table(sa.Table(name, sa.MetaData(), schema=self._schema))
            connection.exec_driver_sql(f"LOCK TABLE {table} IN ACCESS SHARE MODE")

    def _resolved_ts(self, connection: sa.Connection) -> int | None:
        if self._r.query is None:
            return None
        try:
            value = connection.exec_driver_sql(self._r.query).scalar()
        except (sa.exc.ProgrammingError, sa.exc.OperationalError):
            return None  # the consumer's own table does not exist yet
        return None if value is None else self._r.end(value)

    def close(self) -> None:
        """Ends its session."""
        self._engine.dispose()


def _table_of(name: str, definition: Table, schema: str | None, keyed: bool) -> sa.Table:
    columns = [
        sa.Column(
            column.name,
            sa.String(20) if column.type.name == "varchar" else sa.Integer(),
            nullable=column.nullable,
            autoincrement=False,
        )
        for column in definition.columns
    ]
    keys = [
        (sa.PrimaryKeyConstraint if index.primary else sa.UniqueConstraint)(*index.columns)
        for index in definition.indexes
        if keyed
    ]
    return sa.Table(name, sa.MetaData(), *columns, *keys, schema=schema)
