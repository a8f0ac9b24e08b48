"""What the consumer asks of a database: one connection, on the driver."""

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
"""Without parameters a `%` in a statement is only that."""

OF_TRANSACTIONS = frozenset(
    {"BEGIN", "START", "COMMIT", "ROLLBACK", "END", "ABORT", "SAVEPOINT", "RELEASE", "PREPARE"}
)
"""How statements begin that begin or end a transaction, or a part of one."""


class Target(ABC):
    """One session of a target database; it lives as long as the consumer that opened it.

    SQLAlchemy's connection is in driver autocommit: `transaction` sends BEGIN and COMMIT itself.
    Every error of a database leaves here as one of ours, by `translate`.
    """

    dialect: ClassVar[str]
    """The name in `DATABASES`."""
    sqlglot_dialect: ClassVar[str]
    transactional_ddl: ClassVar[bool]
    """Whether DDL is part of a transaction, else it commits by itself."""
    create_view: ClassVar[str] = "CREATE VIEW"
    """How the statement begins that creates a view, for which a reader needs the rights that its
    query needs."""
    replaces_views: ClassVar[bool] = False
    """Whether `create_view` replaces a view of the same name."""
    drop_temporary: ClassVar[str] = "DROP TABLE"
    """How the statement begins that drops a temporary table."""
    keeps_temporary: ClassVar[bool] = False
    """Whether a temporary table is still there after the transaction that made it rolled back."""
    savepoints: ClassVar[bool] = True
    """Whether a part of a transaction can be taken back. Else no DDL runs in its cut's transaction,
    but in one of its own after it."""
    has_staging: ClassVar[bool] = False
    """Whether its bulk path is a `StagingBulk`."""
    several_writers: ClassVar[bool] = True
    """Whether sessions can write at the same time."""
    begin_statement: ClassVar[str] = "BEGIN"
    before_ddl: ClassVar[str] = ""
    """A statement that must run between the rows and the DDL of one transaction."""
    back_to_own: ClassVar[str] = ""
    """What follows SQL that is not the consumer's, which may have set anything for its session: it
    keeps what that SQL did, and lets the consumer's tables be found again."""
    unsigned_bigint_is_text: ClassVar[bool] = False
    """Whether new columns hold an unsigned BIGINT as text, which compares by its digits."""
    query_words: ClassVar[QueryWords | None] = None
    """What views' queries are written in, beyond what every database reads alike."""
    has_zero_dates: ClassVar[bool] = True
    """Whether columns of dates hold zero and partial dates."""
    timestamp_zone: ClassVar[str] = ""
    """What the literal of a TIMESTAMP in UTC ends with."""

    clock: ClassVar[str] = ""
    """The expression of the seconds since 1970 by the server's clock."""
    alters_as_mysql: ClassVar[bool] = True
    """Of the MySQL family: whether ALTER TABLE and CREATE TABLE take all that MySQL's take."""

    connection: sa.Connection
    _bulk: Bulk | None = None
    asked_at: float | None = None
    """When what the database has not answered yet was asked of it, by `time.monotonic`."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.undone = 0
        """How often something that was written may not be in the database: transactions that were
        rolled back, commits of unknown outcome, new sessions. What is remembered of the database
        is right only while this stays the same."""
        self._open()

    @classmethod
    @abstractmethod
    def open(cls, url: sa.URL) -> "Target":
        """Connects and sets the session up. Raises `Unavailable` without the password in it."""

    def _open(self) -> None:
        self.connection = self._connect()
        self._bulk = None

    @abstractmethod
    def _connect(self) -> sa.Connection:
        """A new session: strict modes, UTC, foreign keys off or deferred, autocommit."""

    @property
    def bulk(self) -> Bulk:
        """The bulk path of this session."""
        if self._bulk is None:
            self._bulk = self._new_bulk()
        return self._bulk

    @abstractmethod
    def _new_bulk(self) -> Bulk:
        """The bulk path of the session that `_connect` opened. It is made, and imported, when it is
        first needed: a command without rows need not wait for Arrow."""

    def mark_writes(self, source: int) -> None:
        """Has a changefeed in BDR mode know what this session, and each after a `reconnect`, writes
        as replicated from cluster `source`, and not send it. Raises `Usage` where there is no such
        thing."""
        raise Usage(
            "[target] write_source is for a target that is TiDB, and this is "
            f"{self.dialect}: leave it out"
        )

    def reconnect(self) -> None:
        """Leaves a broken session behind and opens another. Session locks are lost with it."""
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
        """All or nothing. Raises `UnknownCommit` if the connection is lost at COMMIT."""
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
        """One statement as the driver takes it; nothing in it is changed or logged."""
        with self._asking():
            return self.connection.exec_driver_sql(statement, parameters, _PLAIN)

    def run_ddl(self, statement: str) -> None:
        """One statement that this target's `create_table` or `alter_table` gave."""
        self.execute(statement).close()

    def query(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        return [tuple(row) for row in self.execute(statement, parameters).all()]

    def seconds(self) -> float:
        """The server's clock, in seconds since 1970; this machine's where it has none."""
        if not self.clock:
            return time.time()
        with self.errors():
            return float(self.query(f"SELECT {self.clock}")[0][0])

    def put(self, table: sa.Table, rows: Sequence[tuple[object, ...]]) -> None:
        """Writes rows into a table of the consumer's own, in place of those with the same primary
        key: one statement. Their values are as the driver takes them, in the order of columns."""
        mark = "?" if self.engine.dialect.paramstyle == "qmark" else "%s"
        row = f"({', '.join([mark] * len(table.columns))})"
        into, replacing = self.put_words(table)
        values = ", ".join([row] * len(rows))
        self.execute(f"{into} VALUES {values} {replacing}", tuple(chain(*rows))).close()

    def put_words(self, table: sa.Table) -> tuple[str, str]:
        """The text before and after the rows of `put`."""
        names, keys, others = self._columns_of(table)
        sets = ", ".join(f"{name} = EXCLUDED.{name}" for name in others)
        return (
            f"INSERT INTO {self.quote(None, table.name)} ({', '.join(names)})",
            f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sets}",
        )

    def _columns_of(self, table: sa.Table) -> tuple[list[str], list[str], list[str]]:
        """The quoted names of all columns, those of the primary key, and those of the others."""
        quoted = {column.name: self.quote(None, column.name) for column in table.columns}
        keys = [column.name for column in table.primary_key]
        others = [quote for name, quote in quoted.items() if name not in keys]
        return [*quoted.values()], [quoted[name] for name in keys], others

    @abstractmethod
    def translate(self, error: Exception, layout: Layout | None = None) -> Exception:
        """`Retry` (deadlock, serialization, busy, lock wait, lost connection), `Stop` (a unique
        key in the way, a value that does not fit: names table, constraint or column, key),
        `Unavailable` (cannot connect, no privilege); the error itself if it is not the
        database's."""

    @abstractmethod
    def lost(self, error: Exception) -> bool:
        """Whether the error means that the session is gone."""

    # The session's identity, for the fence.

    @abstractmethod
    def session_id(self) -> str:
        """What `end_session` on another connection takes to end this one; "" if none can."""

    @abstractmethod
    def end_session(self, session_id: str) -> None:
        """Ends another session of this server, and returns when it is gone."""

    def has_session(self, session_id: str) -> bool:
        """Whether another session of this server is still there; also if that is not known."""
        return True

    def leaseholder(self, changefeed: str, sessions: Sequence[str]) -> str:
        """The session that holds, or waits for, the right to write for a changefeed: one of
        `sessions`, which its consumer had, if it is still there, or one that the database shows;
        "" if none is known."""
        return next((session for session in sessions if self.has_session(session)), "")

    def waiting(self, changefeed: str) -> str:
        """A session of the changefeed's that waits for a lock, where the database shows that by the
        sessions' names; "" if none does."""
        return ""

    def alive(self) -> bool:
        """Whether the session still answers."""
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

        Ends whoever keeps it waiting for longer than `patience` seconds. `owner` reads the stored
        session without waiting, and raises `Fenced` if the one in the way is newer.
        """

    def locking_read(self, statement: sa.Select[Any]) -> sa.Select[Any]:
        """The SELECT, such that other sessions cannot change its rows before this one commits."""
        return statement.with_for_update()

    def one_at_a_time(self) -> None:  # noqa: B027
        """Inside `transaction`: makes other sessions that call this wait for its end. Only where
        CREATE TABLE IF NOT EXISTS and INSERT fail if two sessions run them at once."""

    def idle_holder(self, seconds: float) -> str:
        """The session that keeps `one_at_a_time` waiting and whose client has been idle for so long
        inside its transaction, as after a COMMIT that never arrived; "" for one that is busy."""
        return ""

    def limit_lock_waits(self, seconds: float) -> None:  # noqa: B027
        """Has each DDL of this session fail that waits for a lock for longer. Only where DDL
        commits by itself, and would else wait for days."""

    def blockers(self, session_id: str) -> list[Blocker]:
        """The sessions that hold what that session waits for; none if it does not wait, or that is
        not shown. Raises `Denied` where this user may not see it."""
        return []

    def read_only(self) -> str:
        """What keeps this user from writing anything, such as `super_read_only is on`; "" if
        nothing does, or it is not shown."""
        return ""

    def burdens(self, session_id: str, open_for: float, behind: int) -> list[str]:
        """What keeps the database from cleaning up after that session: transactions that have been
        open for so many seconds, replicas that are so many bytes behind."""
        return []

    def may_create_tables(self) -> bool | None:
        """Whether this user may create the consumer's tables; None if the catalog does not say."""
        return True

    def grant_to_create(self) -> str:
        """The GRANT that `may_create_tables` asks for; "" if it is not known."""
        return ""

    def require_lasting(self, tables: Sequence[TargetName]) -> None:  # noqa: B027
        """Raises `Stop`, with what helps, if one of these tables, as far as they exist, would not
        keep what was committed, or keep what was rolled back; without a schema it is the session's
        own."""

    # The catalog.

    @abstractmethod
    def locate(self, schema: str, table: str) -> tuple[str | None, str]:
        """The name in this target of an upstream (already routed) table."""

    def comparable(self, name: TargetName) -> TargetName:
        """The same for two names if and only if they are one table's here."""
        return name

    def named(self, column: sa.ColumnElement[str], tables: Sequence[str]) -> sa.ColumnElement[bool]:
        """Whether `column`, of a table of the consumer's own, holds the name of one of these
        tables, or, in another case, one that is the same here."""
        return column.in_(tables)

    @abstractmethod
    def quote(self, schema: str | None, table: str) -> str:
        """The qualified, quoted name. Raises `Stop` for a name that the target cannot hold."""

    @abstractmethod
    def describe(self, schema: str | None, table: str) -> TargetTable | None:
        """The table from the catalog, None if there is none."""

    def tables_of(self, schema: str | None) -> list[str]:
        """The names of the schema's tables, without views and partitions; none of a schema that is
        not there."""
        with self.errors():
            catalog = sa.inspect(self.connection)
            if schema is not None and not catalog.has_schema(schema):
                return []
            return catalog.get_table_names(schema)

    def columns_of_view(self, schema: str | None, view: str) -> tuple[str, ...]:
        """None of a view that cannot be read, as its tables are gone."""
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
        """The table's foreign keys, from the catalog."""

    def has_rows(self, schema: str | None, table: str) -> bool:
        with self.errors():
            return bool(self.query(f"SELECT 1 FROM {self.quote(schema, table)} LIMIT 1"))  # noqa: S608

    def in_mysql_words(self, definition: str) -> str:
        """A CREATE TABLE that the server shows, in MySQL's words."""
        return definition

    @abstractmethod
    def type_rules(self, rules: frozenset[str]) -> TypeRules:
        """How columns are mapped, under the rules that the user switched on."""

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
        that it lacks do not matter. `definition` is the upstream's CREATE TABLE, if the stream had
        it: it has labels and collations. An empty `key` is that of a table without any.

        Raises `Stop`, naming table and column, for a source column that the target lacks, a NOT
        NULL target column without default that the source lacks, a type that cannot hold every
        value of the source type, a fold key that is not a NOT NULL unique key of the target, a
        unique key whose collation is coarser than upstream's.
        """
        relation = self.quote(target.schema, target.name)
        return fit(self.type_rules(rules), relation, source, key, target, definition, keys_only)

    # What is done to rows, see `Bulk`.

    def delete(self, layout: Layout, keys: "pa.BinaryArray") -> int:
        """There is no row of a key that the target cannot hold."""
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
        """Deletes a staging table's rows of these keys; returns how many others it has."""
        stage = self.quote(None, name)
        with self.errors(layout):
            if len(keys):
                self._staging().trim(layout, stage, keys)
            return int(self.query(f"SELECT count(*) FROM {stage}")[0][0])  # noqa: S608

    def publish(self, layout: Layout, name: str, on_drift: OnDrift) -> int:
        """`insert` of all rows of a staging table."""
        with self.errors(layout), self._asking():
            return self._staging().publish(layout, self.quote(None, name), on_drift)

    def staging_tables(self, prefix: str) -> list[str]:
        """Those whose names begin so."""
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

    # What DDL needs to know.

    @abstractmethod
    def column_types(self, table: Table) -> dict[str, str]:
        """The types of the columns that `create_table` creates; where DDL is transactional, as
        `describe` returns them."""

    def temporary_schema(self, schema: str | None) -> str | None:
        """The schema of temporary tables that replace one of `schema`."""
        return schema

    def copy_to_temporary(self, name: str, columns: str, source: str, where: str) -> list[str]:
        """A temporary table with these columns and rows of another; all names are quoted."""
        return [f"CREATE TEMPORARY TABLE {name} AS SELECT {columns} FROM {source}{where}"]  # noqa: S608

    def is_complete(self, statement: str) -> bool:
        """Whether the statement ends here, at a `;` that is not part of it."""
        return True

    def wait_for_ddl(  # noqa: B027
        self, tables: Sequence[TargetName], schemas: Sequence[str] = ()
    ) -> None:
        """Returns when no other session runs a DDL of these tables or views, or in these schemas.
        Only where DDL is not transactional: the server goes on with it after its client is gone."""

    def evidence(self, table: TargetName) -> tuple[str, ...]:
        """Queries that have the same results for a table under another name, and others for most
        other tables. Only where DDL is not transactional."""
        return ()

    def comparable_text(self, name: str) -> str:
        """The expression that compares a quoted text column of the consumer's own by its bytes,
        spaces at the end aside."""
        return name

    def sorts_below_space(self, name: str) -> str | None:
        """The condition that a quoted text column holds characters that sort below the space, if
        `comparable_text` does not compare those as a padded text."""
        return None

    def writer_of(self) -> WriterOf | None:
        """Writes the expressions of virtual columns; None if none is computed here."""
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
        """What turns the table as it was before into that after. Where DDL is not transactional,
        nothing if it is done already. Raises `Stop` for what cannot be done exactly."""

    # A table that is filled beside the one in use, and takes its place. Only a target that can has
    # these three.

    def copy_structure(self, table: TargetName, copy: TargetName, key: Sequence[str]) -> list[str]:
        """Creates `copy` with the columns and keys of `table`, of which the quoted `key` is one;
        nothing if it is there. Raises `Stop`."""
        raise Stop(f"{self.dialect}: this target cannot load a table next to the one in use")

    def hindrances(self, table: TargetName) -> list[str]:
        """What another table of this name would not have: triggers, views, ...; foreign keys,
        unless `copy_keys` and `return_keys` keep them."""
        return []

    # Only where DDL commits by itself.

    def keys_of(self, table: TargetName) -> list[KeyOfTable]:
        return []

    def copy_keys(
        self, table: TargetName, copy: TargetName, renamed: Mapping[str, str]
    ) -> list[str]:
        """Gives `copy` the foreign keys of `table`. `renamed` has the names of its columns that
        differ, by the table's in lower case."""
        return []

    def return_keys(
        self, aside: TargetName, table: TargetName, renamed: Mapping[str, str]
    ) -> list[str]:
        """Makes other tables' foreign keys to `aside` those to `table`. `renamed` has the names of
        its columns that differ, by those of `aside` in lower case."""
        return []

    def replace_tables(self, moves: Sequence[tuple[TargetName, TargetName]]) -> Iterable[str]:
        """Puts each copy, the second, in the place of its table. Where DDL is not transactional,
        one statement does it for all, what is done already is left out, and each statement is run
        before the next is asked for. Raises `Stop`."""
        raise Stop(f"{self.dialect}: this target cannot replace one table by another")

    def has_replaced(self, copy: TargetName) -> bool:
        """Returns whether `replace_tables` has put the copy in the place of its table, and has
        more to do. Never where DDL is transactional."""
        return False

    @abstractmethod
    def rename_table(self, old: TargetName, new: TargetName, definition: Table | None) -> list[str]:
        """`definition` is the upstream's, if it is known."""


def original(error: BaseException) -> BaseException:
    """The driver's error, without SQLAlchemy's wrapping."""
    if isinstance(error, sa.exc.DBAPIError) and error.orig is not None:
        return error.orig
    return error


def _holdable(keys: "pa.BinaryArray") -> "pa.BinaryArray":
    from ticdc_consumer.targets.not_held import holdable

    return holdable(keys)


def _require_holdable(rows: "pa.BinaryArray") -> None:
    from ticdc_consumer.targets.not_held import require_holdable

    require_holdable(rows)
