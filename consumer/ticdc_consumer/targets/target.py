"""The interface of a database as the consumer uses it: one connection, on the driver."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import sqlalchemy as sa
from ticdc_encoder.column import Column
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.errors import Stop, UnknownCommit, Usage
from ticdc_consumer.targets.blockers import Blocker
from ticdc_consumer.targets.bulk import Bulk, OnDrift, StagingBulk
from ticdc_consumer.targets.column_mapping import TypeRules, fit
from ticdc_consumer.targets.layout import (
    KeyOfTable,
    Layout,
    Reference,
    ReferenceChanges,
    TargetName,
    TargetTable,
)
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.schema.generated import WriterOf
from ticdc_consumer.targets.schema.queries import QueryWords

if TYPE_CHECKING:  # a command without rows need not wait for Arrow
    import pyarrow as pa

T = TypeVar("T")

Query = Callable[..., list[tuple[Any, ...]]]
"""`Target.query`: (statement, *parameters) -> rows."""

_PLAIN = {"no_parameters": True}
"""Without parameters, a `%` in a statement is literal."""

OF_TRANSACTIONS = frozenset(
    {"BEGIN", "START", "COMMIT", "ROLLBACK", "END", "ABORT", "SAVEPOINT", "RELEASE", "PREPARE"}
)
"""The first words of statements that begin or end a transaction or a part of one."""


class Target(ABC):
    """One session of a target database; it lives as long as the consumer that opened it.

    SQLAlchemy's connection is in driver autocommit: `transaction` sends BEGIN and COMMIT itself.
    `translate` turns every error of a database into one of ours before it leaves this class.
    """

    dialect: ClassVar[str]
    """The target's name in `DATABASES`."""
    sqlglot_dialect: ClassVar[str]
    transactional_ddl: ClassVar[bool]
    """True if DDL is part of a transaction; else it commits by itself."""
    create_view: ClassVar[str] = "CREATE VIEW"
    """The first words of a CREATE VIEW for which a reader needs the rights that the query needs."""
    replaces_views: ClassVar[bool] = False
    """True if `create_view` replaces a view of the same name."""
    drop_temporary: ClassVar[str] = "DROP TABLE"
    """The first words of the statement that drops a temporary table."""
    keeps_temporary: ClassVar[bool] = False
    """True if a temporary table survives the rollback of the transaction that created it."""
    savepoints: ClassVar[bool] = True
    """True if a part of a transaction can be rolled back. Else DDL runs in its own transaction,
    after that of its cut."""
    has_staging: ClassVar[bool] = False
    """True if the bulk path is a `StagingBulk`."""
    several_writers: ClassVar[bool] = True
    """True if several sessions can write at the same time."""
    begin_statement: ClassVar[str] = "BEGIN"
    before_ddl: ClassVar[str] = ""
    """A statement that must run between the rows and the DDL of one transaction."""
    back_to_own: ClassVar[str] = ""
    """Statements to run after SQL of others, which may have changed any setting of its session:
    they keep the results of that SQL and make the consumer's tables visible again."""
    unsigned_bigint_is_text: ClassVar[bool] = False
    """True if new columns hold an unsigned BIGINT as text, which compares by its digits."""
    query_words: ClassVar[QueryWords | None] = None
    """The dialect of views' queries, beyond the SQL that every database reads alike."""
    has_zero_dates: ClassVar[bool] = True
    """True if columns of dates hold zero and partial dates."""
    timestamp_zone: ClassVar[str] = ""
    """The suffix of a TIMESTAMP literal in UTC."""

    clock: ClassVar[str] = ""
    """The SQL expression for the seconds since 1970 by the server's clock."""
    alters_as_mysql: ClassVar[bool] = True
    """True if ALTER TABLE and CREATE TABLE accept all that MySQL's do; for the MySQL family."""

    connection: sa.Connection
    _bulk: Bulk | None = None
    asked_at: float | None = None
    """The start of the oldest unanswered request, by `time.monotonic`, in seconds; else None."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.undone = 0
        """Counts events after which a write may be missing from the database: rolled back
        transactions, commits of unknown outcome, new sessions. Cached knowledge of the database is
        valid only while this stays the same."""
        self._open()

    @classmethod
    @abstractmethod
    def open(cls, url: sa.URL) -> "Target":
        """Connects and sets up the session. Raises `Unavailable` without the password in it."""

    def _open(self) -> None:
        self.connection = self._connect()
        self._bulk = None

    @abstractmethod
    def _connect(self) -> sa.Connection:
        """Opens a new session: strict modes, UTC, foreign keys off or deferred, autocommit."""

    @property
    def bulk(self) -> Bulk:
        """The bulk path of this session."""
        if self._bulk is None:
            self._bulk = self._new_bulk()
        return self._bulk

    @abstractmethod
    def _new_bulk(self) -> Bulk:
        """Creates and imports the bulk path of the session that `_connect` opened, when it is first
        needed: a command without rows should not wait for Arrow."""

    def mark_writes(self, source: int) -> None:
        """Marks the writes of this session, and of each after a `reconnect`, as replicated from
        cluster `source`, so that a changefeed in BDR mode does not send them. Raises `Usage` if the
        target cannot."""
        raise Usage(
            "[target] write_source is for a target that is TiDB, and this is "
            f"{self.dialect}: leave it out"
        )

    def reconnect(self) -> None:
        """Drops a broken session and opens another. Session locks are lost with the old one."""
        self.undone += 1
        self.close()
        self._open()

    def close(self) -> None:
        if not self.connection.closed:  # as after a `reconnect` that failed
            self.connection.invalidate()
            self.connection.close()
        self.engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commits all or nothing. Raises `UnknownCommit` if the connection is lost at COMMIT."""
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
    def _asking(self) -> Iterator[None]:
        outer, self.asked_at = self.asked_at, self.asked_at or time.monotonic()
        try:
            yield
        finally:
            self.asked_at = outer

    @contextmanager
    def errors(self, layout: Layout | None = None) -> Iterator[None]:
        """Translates database errors raised inside into ours, naming the layout's table."""
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
        """Executes one statement as the driver takes it, neither changed nor logged."""
        with self._asking():
            return self.connection.exec_driver_sql(statement, parameters, _PLAIN)

    def run_ddl(self, statement: str) -> None:
        """Executes one statement that this target's `create_table` or `alter_table` returned."""
        self.execute(statement).close()

    def query(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Returns all rows of a statement."""
        return [tuple(row) for row in self.execute(statement, parameters).all()]

    def seconds(self) -> float:
        """The server's clock, or this machine's if it has none, in seconds since 1970."""
        if not self.clock:
            return time.time()
        with self.errors():
            return float(self.query(f"SELECT {self.clock}")[0][0])

    def put(self, table: sa.Table, rows: Sequence[tuple[object, ...]]) -> None:
        """Writes rows into one of the consumer's own tables, replacing rows of the same primary
        key, in one statement. Values are as the driver takes them, in the order of the columns."""
        mark = "?" if self.engine.dialect.paramstyle == "qmark" else "%s"
        row = f"({', '.join([mark] * len(table.columns))})"
        into, replacing = self.put_words(table)
        values = ", ".join([row] * len(rows))
        self.execute(f"{into} VALUES {values} {replacing}", tuple(chain(*rows))).close()

    def put_words(self, table: sa.Table) -> tuple[str, str]:
        """Returns the text before and after the rows of `put`."""
        names, keys, others = self._columns_of(table)
        sets = ", ".join(f"{name} = EXCLUDED.{name}" for name in others)
        return (
            f"INSERT INTO {self.quote(None, table.name)} ({', '.join(names)})",
            f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sets}",
        )

    def _columns_of(self, table: sa.Table) -> tuple[list[str], list[str], list[str]]:
        """The quoted names of all columns, of the primary key's, and of the others."""
        quoted = {column.name: self.quote(None, column.name) for column in table.columns}
        keys = [column.name for column in table.primary_key]
        others = [quote for name, quote in quoted.items() if name not in keys]
        return [*quoted.values()], [quoted[name] for name in keys], others

    @abstractmethod
    def translate(self, error: Exception, layout: Layout | None = None) -> Exception:
        """Returns `Retry` (deadlock, serialization, busy, lock wait, lost connection), `Stop` (a
        unique key in the way, a value that does not fit: names table, constraint or column, key),
        `Unavailable` (cannot connect, no privilege), or the error itself if it is not the
        database's."""

    @abstractmethod
    def lost(self, error: Exception) -> bool:
        """Returns whether the error means that the session is gone."""

    # The session's identity, for the fence.

    @abstractmethod
    def session_id(self) -> str:
        """The identity that `end_session` takes on another connection; "" if none can end it."""

    @abstractmethod
    def end_session(self, session_id: str) -> None:
        """Ends another session of this server; returns when it is gone."""

    def has_session(self, session_id: str) -> bool:
        """Returns whether another session of this server exists; True also if that is unknown."""
        return True

    def leaseholder(self, changefeed: str, sessions: Sequence[str]) -> str:
        """The session that holds, or waits for, the right to write for a changefeed: one of
        `sessions` (its consumer's known sessions) that still exists, or one that the database
        shows; "" if none is known."""
        return next((session for session in sessions if self.has_session(session)), "")

    def waiting(self, changefeed: str) -> str:
        """A session of the changefeed that waits for a lock, if the database shows it by session
        names; "" if there is none."""
        return ""

    def alive(self) -> bool:
        """Returns whether the session still answers."""
        try:
            self.execute("SELECT 1").close()
        except sa.exc.SQLAlchemyError:
            return False
        return True

    @abstractmethod
    def overtake(
        self, changefeed: str, patience: float, owner: Callable[[], str], work: Callable[[], T]
    ) -> T:
        """Runs `work`, which begins with the locking read of the checkpoint, in one transaction.

        Ends any session that blocks it for more than `patience` seconds. `owner` reads the stored
        session without waiting, and raises `Fenced` if the blocking consumer is newer.
        """

    def locking_read(self, statement: sa.Select[Any]) -> sa.Select[Any]:
        """Extends the SELECT so that other sessions cannot change its rows before the COMMIT."""
        return statement.with_for_update()

    def one_at_a_time(self) -> None:  # noqa: B027
        """Inside `transaction`: makes other sessions that call this wait for its end. Needed only
        if CREATE TABLE IF NOT EXISTS and INSERT fail when two sessions run them at once."""

    def idle_holder(self, seconds: float) -> str:
        """The session that blocks `one_at_a_time` and whose client has been idle for `seconds`
        inside its transaction, as after a COMMIT that never arrived; "" if the session is busy."""
        return ""

    def limit_lock_waits(self, seconds: float) -> None:  # noqa: B027
        """Makes each DDL of this session fail after a lock wait of `seconds`. Only for targets
        whose DDL commits by itself and would else wait for days."""

    def blockers(self, session_id: str) -> list[Blocker]:
        """The sessions that hold locks which that session waits for; none if it does not wait, or
        if the database does not show it. Raises `Denied` if this user may not see it."""
        return []

    def read_only(self) -> str:
        """The reason why this user cannot write anything, such as `super_read_only is on`; "" if
        there is none, or it is not shown."""
        return ""

    def burdens(self, session_id: str, open_for: float, behind: int) -> list[str]:
        """Reasons why the database cannot clean up after that session: transactions open for more
        than `open_for` seconds, replicas more than `behind` bytes behind."""
        return []

    def may_create_tables(self) -> bool | None:
        """Returns whether this user may create the consumer's tables; None if unknown."""
        return True

    def grant_to_create(self) -> str:
        """The GRANT that `may_create_tables` asks for; "" if it is not known."""
        return ""

    def require_lasting(self, tables: Sequence[TargetName]) -> None:  # noqa: B027
        """Raises `Stop`, with a remedy, if one of these tables exists and would lose what was
        committed or keep what was rolled back. A table without a schema is in the session's own."""

    # The catalog.

    @abstractmethod
    def locate(self, schema: str, table: str) -> tuple[str | None, str]:
        """Returns the name in this target of an upstream table (after routing)."""

    def comparable(self, name: TargetName) -> TargetName:
        """Normalizes a name: the results are equal if and only if the names denote one table."""
        return name

    def named(self, column: sa.ColumnElement[str], tables: Sequence[str]) -> sa.ColumnElement[bool]:
        """The condition that `column`, of one of the consumer's own tables, holds the name of one
        of these tables, or one in another case that denotes the same table here."""
        return column.in_(tables)

    @abstractmethod
    def quote(self, schema: str | None, table: str) -> str:
        """Returns the qualified, quoted name. Raises `Stop` if the target cannot hold it."""

    @abstractmethod
    def describe(self, schema: str | None, table: str) -> TargetTable | None:
        """Reads the table from the catalog; None if it does not exist."""

    def tables_of(self, schema: str | None) -> list[str]:
        """The names of the schema's tables, without views and partitions; empty for a schema that
        does not exist."""
        with self.errors():
            catalog = sa.inspect(self.connection)
            if schema is not None and not catalog.has_schema(schema):
                return []
            return catalog.get_table_names(schema)

    def columns_of_view(self, schema: str | None, view: str) -> tuple[str, ...]:
        """The view's columns; empty if the view cannot be read because its tables are gone."""
        with self.errors():
            catalog = sa.inspect(self.connection)
            try:
                return tuple(column["name"] for column in catalog.get_columns(view, schema))
            except sa.exc.SQLAlchemyError as error:
                if self.lost(error):
                    raise
                return ()

    @abstractmethod
    def references(self, schema: str | None, table: str) -> tuple[Reference, ...]:
        """Reads the table's foreign keys from the catalog."""

    def has_rows(self, schema: str | None, table: str) -> bool:
        with self.errors():
            return bool(self.query(f"SELECT 1 FROM {self.quote(schema, table)} LIMIT 1"))  # noqa: S608

    def in_mysql_words(self, definition: str) -> str:
        """Translates a CREATE TABLE that the server shows to MySQL's syntax."""
        return definition

    @abstractmethod
    def type_rules(self, rules: frozenset[str]) -> TypeRules:
        """The rules for mapping columns, including those that the user switched on."""

    def layout(
        self,
        source: Table,
        key: Sequence[str],
        target: TargetTable,
        definition: Table | None,
        rules: frozenset[str],
        keys_only: bool = False,
    ) -> Layout:
        """Builds the layout by which rows of `source` (columns as they come) go into `target`.

        With `keys_only`, only deletes will come and `source` holds just the key: columns that it
        lacks do not matter. `definition` is the upstream's CREATE TABLE, if the stream had it: it
        has labels and collations. An empty `key` means a table without any key.

        Raises `Stop`, naming table and column, for a source column that the target lacks, a NOT
        NULL target column without default that the source lacks, a type that cannot hold every
        value of the source type, a fold key that is not a NOT NULL unique key of the target, and a
        unique key whose collation is coarser than upstream's.
        """
        relation = self.quote(target.schema, target.name)
        return fit(self.type_rules(rules), relation, source, key, target, definition, keys_only)

    # Writes of rows, see `Bulk`.

    def delete(self, layout: Layout, keys: "pa.BinaryArray") -> int:
        """Deletes the rows of these keys. A key that the target cannot hold has no row."""
        keys = _holdable(keys)
        if not len(keys):
            return 0
        with self.errors(layout), self._asking():
            return self.bulk.delete(layout, keys)

    def existing(self, layout: Layout, keys: "pa.BinaryArray") -> int:
        keys = _holdable(keys)
        if not len(keys):
            return 0
        with self.errors(layout):
            return self.bulk.existing(layout, keys)

    def shown_deletes(self, layout: Layout, keys: "pa.BinaryArray") -> list[str]:
        keys = _holdable(keys)
        return self.bulk.shown_deletes(layout, keys) if len(keys) else []

    def shown_inserts(self, layout: Layout, rows: "pa.BinaryArray", on_drift: OnDrift) -> list[str]:
        _require_holdable(rows)
        return self.bulk.shown_inserts(layout, rows, on_drift)

    def delete_rows(self, layout: Layout, rows: "pa.BinaryArray") -> int:
        with self.errors(layout), self._asking():
            return self.bulk.delete_rows(layout, rows)

    def insert(self, layout: Layout, rows: "pa.BinaryArray", on_drift: OnDrift) -> int:
        _require_holdable(rows)
        with self.errors(layout), self._asking():
            return self.bulk.insert(layout, rows, on_drift)

    # Staging tables, see `StagingBulk`; only where `has_staging`.

    def stage(self, layout: Layout, name: str, rows: "pa.BinaryArray") -> None:
        """Creates a staging table and commits these rows there."""
        with self.errors(layout):
            self._staging().stage(layout, self.quote(None, name), rows)

    def trim(self, layout: Layout, name: str, keys: "pa.BinaryArray") -> int:
        """Deletes a staging table's rows of these keys; returns how many rows remain."""
        stage = self.quote(None, name)
        with self.errors(layout):
            if len(keys):
                self._staging().trim(layout, stage, keys)
            return int(self.query(f"SELECT count(*) FROM {stage}")[0][0])  # noqa: S608

    def publish(self, layout: Layout, name: str, on_drift: OnDrift) -> int:
        """Inserts all rows of a staging table, as `insert` does."""
        with self.errors(layout), self._asking():
            return self._staging().publish(layout, self.quote(None, name), on_drift)

    def staging_tables(self, prefix: str) -> list[str]:
        """The names of staging tables with this prefix."""
        with self.errors():
            names = sa.inspect(self.connection).get_table_names()
        return [name for name in names if name.startswith(prefix)]

    def drop_staging(self, names: Sequence[str]) -> None:
        """Drops staging tables, as far as they exist."""
        for name in names:
            with self.errors():
                self.execute(f"DROP TABLE IF EXISTS {self.quote(None, name)}").close()

    def _staging(self) -> StagingBulk:
        assert isinstance(self.bulk, StagingBulk)
        return self.bulk

    # Facts that DDL needs.

    @abstractmethod
    def column_types(self, table: Table) -> dict[str, str]:
        """The types of the columns that `create_table` creates; if DDL is transactional, as
        `describe` returns them."""

    def temporary_schema(self, schema: str | None) -> str | None:
        """The schema of temporary tables that replace a table of `schema`."""
        return schema

    def copy_to_temporary(self, name: str, columns: str, source: str, where: str) -> list[str]:
        """Copies columns and rows of a table to a temporary one; all names are quoted."""
        return [f"CREATE TEMPORARY TABLE {name} AS SELECT {columns} FROM {source}{where}"]  # noqa: S608

    def is_complete(self, statement: str) -> bool:
        """Returns whether the statement ends here, at a `;` that is not part of it."""
        return True

    def wait_for_ddl(  # noqa: B027
        self, tables: Sequence[TargetName], schemas: Sequence[str] = ()
    ) -> None:
        """Waits until no other session runs a DDL of these tables or views, or in these schemas.
        Only without transactional DDL, which the server continues after its client is gone."""

    def evidence(self, table: TargetName) -> tuple[str, ...]:
        """Queries that give the same results for a table under another name, and other results for
        most other tables. Only for targets without transactional DDL."""
        return ()

    def comparable_text(self, name: str) -> str:
        """The expression that compares a quoted text column of the consumer's own tables by its
        bytes, trailing spaces aside."""
        return name

    def sorts_below_space(self, name: str) -> str | None:
        """The condition that a quoted text column holds characters that sort below the space, if
        `comparable_text` does not compare them like a padded text."""
        return None

    def writer_of(self) -> WriterOf | None:
        """Returns the writer of virtual columns' expressions; None if none is computed here."""
        return None

    # DDL, as text of this dialect.

    @abstractmethod
    def column_type(self, column: Column) -> str:
        """The type of a new column, by the table in docs/reference/types.md. Raises `Stop` for a
        type that this target cannot hold."""

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
        """Drops the table's own foreign keys, if this session would enforce them."""
        return []

    @abstractmethod
    def truncate_table(self, schema: str | None, name: str) -> list[str]: ...

    @abstractmethod
    def alter_table(
        self,
        schema: str | None,
        name: str,
        evolved: Evolved,
        references: ReferenceChanges,
    ) -> Alteration:
        """Builds the statements that alter the table; none, without transactional DDL, if it is
        done already. Raises `Stop` for a change that cannot be done exactly."""

    # A table that is filled next to the one in use and then replaces it. Only targets that can do
    # this have these three.

    def copy_structure(self, table: TargetName, copy: TargetName, key: Sequence[str]) -> list[str]:
        """Creates `copy` with the columns and keys of `table`, among them the quoted `key`; does
        nothing if `copy` exists. Raises `Stop`."""
        raise Stop(f"{self.dialect}: this target cannot load a table next to the one in use")

    def hindrances(self, table: TargetName) -> list[str]:
        """Objects that a replacement table of this name would lack: triggers, views, ...; foreign
        keys, unless `copy_keys` and `return_keys` keep them."""
        return []

    # Only for targets whose DDL commits by itself.

    def keys_of(self, table: TargetName) -> list[KeyOfTable]:
        return []

    def copy_keys(
        self, table: TargetName, copy: TargetName, renamed: Mapping[str, str]
    ) -> list[str]:
        """Gives `copy` the foreign keys of `table`. `renamed` maps the table's column names, in
        lower case, to the copy's where they differ."""
        return []

    def return_keys(
        self, aside: TargetName, table: TargetName, renamed: Mapping[str, str]
    ) -> list[str]:
        """Redirects other tables' foreign keys from `aside` to `table`. `renamed` maps the column
        names of `aside`, in lower case, to the table's where they differ."""
        return []

    def replace_tables(self, moves: Sequence[tuple[TargetName, TargetName]]) -> Iterable[str]:
        """Replaces each table by its copy, the second of a pair. Without transactional DDL, one
        statement does it for all, finished steps are skipped, and each statement runs before the
        next is requested. Raises `Stop`."""
        raise Stop(f"{self.dialect}: this target cannot replace one table by another")

    def has_replaced(self, copy: TargetName) -> bool:
        """Returns whether `replace_tables` has replaced the table by its copy and has more to do.
        Never true for a target with transactional DDL."""
        return False

    @abstractmethod
    def rename_table(self, old: TargetName, new: TargetName, definition: Table | None) -> list[str]:
        """Renames a table; `definition` is the upstream's, if it is known."""


def original(error: BaseException) -> BaseException:
    """Returns the driver's error, without SQLAlchemy's wrapping."""
    if isinstance(error, sa.exc.DBAPIError) and error.orig is not None:
        return error.orig
    return error


def _holdable(keys: "pa.BinaryArray") -> "pa.BinaryArray":
    from ticdc_consumer.targets.not_held import holdable

    return holdable(keys)


def _require_holdable(rows: "pa.BinaryArray") -> None:
    from ticdc_consumer.targets.not_held import require_holdable

    require_holdable(rows)
