"""What the consumer asks of a database: one connection, on the driver."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import pyarrow as pa
import sqlalchemy as sa
from ticdc_encoder.column import Column
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table

from ticdc_consumer.errors import UnknownCommit
from ticdc_consumer.targets.layout import Layout, Reference, TargetTable


class Target(ABC):
    """One session of a target database; it lives as long as the consumer that opened it.

    SQLAlchemy's connection is in driver autocommit: `transaction` says BEGIN and COMMIT itself.
    Everything that a database raises leaves here as one of ours, by `translate`.
    """

    dialect: ClassVar[str]
    transactional_ddl: ClassVar[bool]
    begin_statement: ClassVar[str] = "BEGIN"

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.connection: sa.Connection = self._connect()
        self.undone = 0
        """How often something that was written may not be in the database: transactions that were
        rolled back, commits of unknown outcome, new sessions. What is remembered of the database
        is right only while this stays the same."""

    @classmethod
    @abstractmethod
    def open(cls, url: sa.URL) -> "Target":
        """Connects and sets the session up. Raises `Unavailable` without the password in it."""

    @abstractmethod
    def _connect(self) -> sa.Connection:
        """A new session: strict modes, UTC, foreign keys off or deferred, autocommit."""

    def reconnect(self) -> None:
        """Leaves a broken session behind and opens another. Session locks are gone with it."""
        self.undone += 1
        self.close()
        self.connection = self._connect()

    def close(self) -> None:
        self.connection.invalidate()
        self.connection.close()
        self.engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. Raises `UnknownCommit` where the connection is lost at COMMIT."""
        with self.errors():
            self.execute(self.begin_statement)
        try:
            with self.errors():
                yield
        except BaseException:
            self.undone += 1
            self._rollback()
            raise
        try:
            self.execute("COMMIT")
        except BaseException as error:
            self.undone += 1
            if not isinstance(error, Exception):
                raise
            translated = self.translate(error)
            if self.lost(error):
                raise UnknownCommit("the connection to the target was lost at COMMIT") from error
            self._rollback()
            raise translated from error

    def _rollback(self) -> None:
        if self.connection.invalidated:
            return  # the session is gone, and its transaction with it
        try:
            self.execute("ROLLBACK")
        except Exception as error:
            if self.translate(error) is error:
                raise
            self.connection.invalidate()

    @contextmanager
    def errors(self, layout: Layout | None = None) -> Iterator[None]:
        """Turns what the database raises inside into our errors, naming the layout's table."""
        try:
            yield
        except TicdcError:
            raise
        except Exception as error:
            translated = self.translate(error, layout)
            if translated is error:
                raise
            raise translated from error

    def execute(self, statement: str, parameters: Any = ()) -> sa.CursorResult[Any]:
        """One statement as the driver takes it; nothing in it is touched or logged."""
        return self.connection.exec_driver_sql(statement, parameters)

    @abstractmethod
    def translate(self, error: Exception, layout: Layout | None = None) -> Exception:
        """`Retry` (deadlock, serialization, busy, lock wait, lost connection), `Stop` (a unique
        key in the way, a value that does not fit: names table, constraint or column, key),
        `Unavailable` (cannot connect, no privilege); the error itself where it is none of the
        database's."""

    @abstractmethod
    def lost(self, error: Exception) -> bool:
        """Whether the error means that the session is gone."""

    # The session's identity, for the fence.

    @abstractmethod
    def session_id(self) -> str:
        """What `end_session` on another connection takes to end this one; "" where none can."""

    @abstractmethod
    def end_session(self, session_id: str) -> None:
        """Ends another session of this server, and returns when it is gone."""

    # What is there.

    @abstractmethod
    def locate(self, schema: str, table: str) -> tuple[str | None, str]:
        """Where an upstream (already routed) name lies in this target: (schema, table)."""

    @abstractmethod
    def quote(self, schema: str | None, table: str) -> str:
        """The qualified, quoted name. Raises `Stop` for a name that the target cannot hold."""

    @abstractmethod
    def describe(self, schema: str | None, table: str) -> TargetTable | None:
        """The table from the catalog, None where there is none."""

    @abstractmethod
    def references(self, schema: str | None, table: str) -> tuple[Reference, ...]:
        """The table's foreign keys, from the catalog."""

    @abstractmethod
    def has_rows(self, schema: str | None, table: str) -> bool: ...

    @abstractmethod
    def layout(
        self,
        source: Table,
        key: Sequence[str],
        target: TargetTable,
        definition: Table | None,
        rules: frozenset[str],
        keys_only: bool = False,
    ) -> Layout:
        """How rows of `source` (columns as they come) go into `target`.

        With `keys_only` nothing but deletes is to come, and `source` holds just the key: columns
        that it lacks are no matter. `definition` is the upstream's CREATE TABLE where the stream
        had it: it tells labels and collations. An empty `key` is that of a table without any.

        Raises `Stop`, naming table and column, for a source column that the target lacks, a NOT
        NULL target column without default that the source lacks, a type that cannot hold every
        value of the source type, a fold key that is no NOT NULL unique key of the target, a unique
        key whose collation is coarser than upstream's.
        """

    # What is done to it. Each call is inside `transaction`.

    @abstractmethod
    def delete(self, layout: Layout, keys: pa.BinaryArray) -> int:
        """Deletes the rows of these keys (payloads of `encode_keys`); says how many there were."""

    @abstractmethod
    def existing(self, layout: Layout, keys: pa.BinaryArray) -> int:
        """How many rows of these keys there are; outside `transaction`, too."""

    @abstractmethod
    def shown_deletes(self, layout: Layout, keys: pa.BinaryArray) -> list[str]:
        """What `delete` sends, for people: values stand where it sends parameters."""

    @abstractmethod
    def shown_inserts(
        self, layout: Layout, rows: pa.BinaryArray, on_drift: Literal["stop", "overwrite"]
    ) -> list[str]:
        """What `insert` sends, for people; PostgreSQL's COPY as INSERT."""

    @abstractmethod
    def delete_rows(self, layout: Layout, rows: pa.BinaryArray) -> int:
        """Deletes, for each of these rows (payloads of `encode_rows`, of a layout without a key),
        one row that is equal to it, NULLs included; says how many there were."""

    @abstractmethod
    def insert(
        self, layout: Layout, rows: pa.BinaryArray, on_drift: Literal["stop", "overwrite"]
    ) -> int:
        """Upserts (`layout.upsert`) or plainly inserts rows (payloads of `encode_rows`).

        With `on_drift` "overwrite", rows outside that hold a unique value of these are deleted
        first; returns how many were. With "stop" a clash raises `Stop`."""

    # DDL, as text of this dialect.

    @abstractmethod
    def column_type(self, column: Column) -> str:
        """The type of a new column, by the table in `docs/types.md`. Raises `Stop` for a type
        that this target cannot hold."""

    @abstractmethod
    def create_schema(self, schema: str) -> list[str]: ...

    @abstractmethod
    def create_table(
        self,
        schema: str | None,
        name: str,
        table: Table,
        references: Sequence[Reference] = (),
    ) -> list[str]: ...

    @abstractmethod
    def drop_table(self, schema: str | None, name: str) -> list[str]: ...

    def drop_references(self, schema: str | None, name: str) -> list[str]:
        """Drops the table's own foreign keys, where this session would heed them."""
        return []

    @abstractmethod
    def truncate_table(self, schema: str | None, name: str) -> list[str]: ...
