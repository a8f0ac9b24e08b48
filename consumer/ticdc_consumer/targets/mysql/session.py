"""A session of a MySQL, MariaDB or TiDB server."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import ClassVar, TypeVar

import pymysql  # type: ignore[import-untyped]
import sqlalchemy as sa
from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved
from ticdc_encoder.sql.words import restored

from ticdc_consumer.errors import Away, Unavailable, Usage, UserRefused
from ticdc_consumer.targets.blockers import Blocker
from ticdc_consumer.targets.bulk import Bulk
from ticdc_consumer.targets.column_mapping import TypeRules
from ticdc_consumer.targets.layout import (
    KeyOfTable,
    Layout,
    Reference,
    ReferenceChanges,
    TargetName,
    TargetTable,
)
from ticdc_consumer.targets.mysql import (
    alter,
    beside,
    catalog,
    generated,
    proxy,
    types,
    under_way,
)
from ticdc_consumer.targets.mysql import blockers as waits
from ticdc_consumer.targets.mysql import create as new_tables
from ticdc_consumer.targets.mysql import errors as refusals
from ticdc_consumer.targets.mysql.collations import ignores_letters, merges, new_collation
from ticdc_consumer.targets.mysql.dialects import MARIADB, MYSQL, TIDB, Dialect, dialect_of
from ticdc_consumer.targets.mysql.encode import is_text
from ticdc_consumer.targets.mysql.fence import find_session, holder_of, take_session_lock
from ticdc_consumer.targets.mysql.names_case import NamesCase, NamesFold
from ticdc_consumer.targets.mysql.privileges import Account
from ticdc_consumer.targets.mysql.queries import MySqlWords
from ticdc_consumer.targets.mysql.quoting import is_wide, quote_name, string_literal
from ticdc_consumer.targets.rules import SAME_COLLATIONS
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.schema.generated import WriterOf
from ticdc_consumer.targets.schema.queries import QueryWords
from ticdc_consumer.targets.target import Target, original
from ticdc_consumer.waiting import until

T = TypeVar("T")

SQL_MODE = ",".join(
    (
        "STRICT_ALL_TABLES",
        "NO_BACKSLASH_ESCAPES",  # a quote is the only thing to escape
        "ALLOW_INVALID_DATES",  # TiDB holds zero and partial dates, and 31 February
        "NO_AUTO_VALUE_ON_ZERO",  # 0 in an AUTO_INCREMENT column is a 0
        "ERROR_FOR_DIVISION_BY_ZERO",
        "NO_ENGINE_SUBSTITUTION",
    )
)

_SETTINGS = (
    "SET SESSION time_zone = '+00:00', foreign_key_checks = 0, unique_checks = 1, "
    "sql_safe_updates = 0, sql_notes = 1, max_error_count = 65535, wait_timeout = 2147483, "
    "sql_select_limit = 18446744073709551615",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION TRANSACTION READ WRITE",
)
"""wait_timeout (24 days, the most that all platforms take): an idle session keeps its lock."""

NEUTRAL = {
    "allow_auto_random_explicit_insert": ("ON", "1"),
    "completion_type": ("NO_CHAIN", "0"),  # a COMMIT ends a transaction and does nothing else
    "idle_readonly_transaction_timeout": ("0", "0"),
    "idle_transaction_timeout": ("0", "0"),
    "idle_write_transaction_timeout": ("0", "0"),
    "lc_messages": ("en_US", "'en_US'"),  # `errors` reads the column and the key in a message
    "max_execution_time": ("0", "0"),
    "max_statement_time": ("0.000000", "0"),
    "sql_big_selects": ("ON", "1"),
    "system_versioning_asof": ("DEFAULT", "DEFAULT"),  # otherwise reads would be of the past
    "tidb_idle_transaction_timeout": ("0", "0"),
}
"""Variable -> the required value as the server shows it, and as SQL. Not every server has each; it
is set only if the server's own default differs."""

_OURS = frozenset({"charset", "use_unicode", "autocommit", "sql_mode", "init_command", "conv"})
_PATIENCE = 120.0
"""Seconds that the rollback of a killed session may take."""


def engine_of(url: sa.URL) -> sa.Engine:
    """Creates an engine for the URL; the URL's character sets and modes are ignored."""
    query = {name: value for name, value in url.query.items() if name not in _OURS}
    url = url.set(drivername="mysql+pymysql", query=query)
    return sa.create_engine(
        url.update_query_dict({"charset": "utf8mb4"}),
        # Set by the driver before SQLAlchemy checks how strings are to be escaped.
        connect_args={"sql_mode": SQL_MODE},
        isolation_level="AUTOCOMMIT",
        poolclass=sa.NullPool,
        hide_parameters=True,
    )


def connect(engine: sa.Engine, setting: str = "[target] url") -> sa.Connection:
    """Opens a session of the server that `setting` leads to. Raises `Unavailable`, and `Usage` if a
    proxy does not give it a session of its own."""
    try:
        connection = engine.connect()
        try:
            proxy.require_own_session(connection, engine.connect, setting)
        except BaseException:
            connection.close()
            raise
        return connection
    except (sa.exc.DBAPIError, pymysql.err.MySQLError, RuntimeError) as error:
        # A RuntimeError names the package that an authentication method needs.
        driver = original(error)
        reason = driver.args[-1] if driver.args else type(driver).__name__
        url = engine.url
        where = f"{url.host or 'localhost'}:{url.port or 3306}"
        kind = Away if refusals.is_away(error) else UserRefused
        raise kind(f"cannot connect to {where}: {reason}") from None


_CREATE_PRIVILEGES = """
SELECT count(*) FROM (
  SELECT grantee, privilege_type FROM information_schema.user_privileges
  UNION ALL
  SELECT grantee, privilege_type FROM information_schema.schema_privileges
  WHERE DATABASE() LIKE table_schema
) AS granted
WHERE privilege_type = 'CREATE'
AND grantee = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')
"""


def open_session(url: sa.URL, to_look: bool = False) -> "MySql":
    """Opens a session of the target that the server's version tells. Raises `Usage` if the URL
    names no database, and `Unavailable`."""
    if not url.database:
        scheme = url.get_backend_name()
        raise Usage(
            f"[target] url names no database; write it like {scheme}+pymysql://user@host/db"
        )
    engine = engine_of(url)
    with connect(engine) as connection:
        version = str(connection.exec_driver_sql("SELECT VERSION()").scalar())
    engine.dispose()
    return TARGETS[dialect_of(version).name](engine)


class MySql(Target):
    """MySQL 8, and the behaviour that all three share."""

    dialect: ClassVar[str] = MYSQL.name
    sqlglot_dialect: ClassVar[str] = "mysql"
    transactional_ddl: ClassVar[bool] = False
    create_view: ClassVar[str] = "CREATE OR REPLACE SQL SECURITY INVOKER VIEW"
    replaces_views: ClassVar[bool] = True
    drop_temporary: ClassVar[str] = "DROP TEMPORARY TABLE"
    keeps_temporary: ClassVar[bool] = True
    has_staging: ClassVar[bool] = True
    query_words: ClassVar[QueryWords] = MySqlWords()
    begin_statement: ClassVar[str] = "START TRANSACTION"
    back_to_own: ClassVar[str] = "COMMIT"  # as after SET autocommit = 0
    clock: ClassVar[str] = "UNIX_TIMESTAMP(NOW(6))"
    differences: ClassVar[Dialect] = MYSQL
    _account: Account | None = None
    _names: NamesFold

    @classmethod
    def open(cls, url: sa.URL) -> "MySql":
        return cls(engine_of(url))

    def _connect(self) -> sa.Connection:
        connection = connect(self.engine)
        self.connection = connection  # for `execute`
        try:
            with self.errors():
                for statement in (*_SETTINGS, *self._own_settings()):
                    self.execute(statement)
                self._neutralize()
                settings = self.query(
                    "SELECT @@max_allowed_packet, @@lower_case_table_names, CURRENT_USER()"
                )
        except BaseException:
            connection.close()
            raise
        packet, case, user = settings[0]
        database = self.engine.url.database or ""
        self._account = Account(user, database, self.differences.name == MARIADB.name)
        self._packet = int(packet)
        self._names = NamesFold(NamesCase(int(case)), self._lower)
        return connection

    def _neutralize(self) -> None:
        names = ", ".join(f"'{name}'" for name in NEUTRAL)
        query = f"SHOW SESSION VARIABLES WHERE variable_name IN ({names})"
        for name, present in self.query(query):
            neutral, text = NEUTRAL[name]
            if present not in (neutral, ""):  # TiDB lists some by name only
                self.execute(f"SET SESSION {name} = {text}").close()

    def _own_settings(self) -> tuple[str, ...]:
        """The statements that begin a session of this kind of server."""
        return self.differences.settings

    def _new_bulk(self) -> Bulk:
        from ticdc_consumer.targets.mysql.bulk import MySqlBulk

        return MySqlBulk(self.connection, self._packet, self.differences, SQL_MODE)

    def put_words(self, table: sa.Table) -> tuple[str, str]:
        into, _ = super().put_words(table)
        _, _, others = self._columns_of(table)
        sets = ", ".join(f"{name} = VALUES({name})" for name in others)
        return into, f"ON DUPLICATE KEY UPDATE {sets}"

    def translate(self, error: Exception, layout: Layout | None = None) -> Exception:
        return refusals.translate(error, layout, self._account)

    def lost(self, error: Exception) -> bool:
        return refusals.lost(error)

    # The session's identity, for the fence.

    def session_id(self) -> str:
        with self.errors():
            return str(self.query("SELECT CONNECTION_ID()")[0][0])

    def end_session(self, session_id: str) -> None:
        running = self._find(session_id)
        if running is None:
            return
        number = running[0]
        with self.errors():
            try:
                self.execute(f"KILL {number}")
            except sa.exc.DBAPIError as error:
                if refusals.number(error) != _NO_SUCH_SESSION:
                    raise
        if not until(lambda: self._find(session_id) is None, _PATIENCE, pause=0.05):
            raise Unavailable(
                f"session {number} of the target was killed and is still rolling back"
            )

    def has_session(self, session_id: str) -> bool:
        return self._find(session_id) is not None

    def leaseholder(self, changefeed: str, sessions: Sequence[str]) -> str:
        holder = holder_of(self, self.differences, changefeed)
        # A number alone may belong to another session by now.
        ours = [] if self.differences.names_lock_holder else sessions
        return holder or super().leaseholder(changefeed, ours)

    def _find(self, session_id: str) -> tuple[int, str] | None:
        return find_session(self, self.differences, session_id)

    def limit_lock_waits(self, seconds: float) -> None:
        # For metadata locks, which a reader's open transaction holds; the default is a year.
        self.execute(f"SET SESSION lock_wait_timeout = {max(1, round(seconds))}").close()

    def overtake(
        self, changefeed: str, patience: float, owner: Callable[[], str], work: Callable[[], T]
    ) -> T:
        take_session_lock(self, self.differences, changefeed, patience, owner)
        with self.transaction():
            return work()

    def blockers(self, session_id: str) -> list[Blocker]:
        with self.errors():
            return list(waits.blockers(self.query, self.differences, session_id))

    def read_only(self) -> str:
        with self.errors():
            return waits.read_only(self.query, self.differences)

    def may_create_tables(self) -> bool | None:
        # These catalogs do not have roles and wildcards.
        return True if self.execute(_CREATE_PRIVILEGES).scalar() else None

    def grant_to_create(self) -> str:
        return "" if self._account is None else self._account.grant_own_tables()

    def require_lasting(self, tables: Sequence[TargetName]) -> None:
        # Other tables are checked before they are written: without a write an engine loses nothing.
        own = [name for schema, name in tables if schema is None]
        if own:
            with self.errors():
                catalog.require_lasting(self.query, self.differences, own)

    # The catalog.

    def locate(self, schema: str, table: str) -> tuple[str | None, str]:
        return schema, table

    def comparable(self, name: TargetName) -> TargetName:
        schema, table = name
        comparable = self._names.comparable
        return None if schema is None else comparable(schema), comparable(table)

    def named(self, column: sa.ColumnElement[str], tables: Sequence[str]) -> sa.ColumnElement[bool]:
        if self._names.exact:
            return column.in_(tables)
        # In a column of utf8mb4_bin letters are as in names; in a literal they may not be.
        return sa.func.lower(column).in_([self._names.lower(table) for table in tables])

    def _lower(self, letters: str) -> str:
        with self.errors():
            return str(self.query(f"SELECT {self.differences.lower_name}", letters)[0][0])

    def quote(self, schema: str | None, table: str) -> str:
        name = self._quote(table)
        return name if schema is None else f"{self._quote(schema)}.{name}"

    def _quote(self, name: str) -> str:
        return quote_name(name, self.differences.wide_names)

    def describe(self, schema: str | None, table: str) -> TargetTable | None:
        if self._cannot_hold(schema, table):
            return None
        with self.errors():
            database = schema or self.query("SELECT DATABASE()")[0][0]
            database, table = self._names.in_catalog(database), self._names.in_catalog(table)
            described = catalog.describe(
                self.query, self.differences, database, table, not self._names.exact
            )
            if described is not None and not described.columns:
                # The catalog shows columns only to users who may read or write them.
                self.execute(f"SELECT 1 FROM {self.quote(database, table)} LIMIT 0").close()  # noqa: S608
            return described

    def columns_of_view(self, schema: str | None, view: str) -> tuple[str, ...]:
        with self.errors():
            database = schema or self.query("SELECT DATABASE()")[0][0]
            return catalog.columns_of_view(
                self.query, *map(self._names.in_catalog, (database, view))
            )

    def references(self, schema: str | None, table: str) -> tuple[Reference, ...]:
        if self._cannot_hold(schema, table):
            return ()
        with self.errors():
            database = schema or self.query("SELECT DATABASE()")[0][0]
            return catalog.references(self.query, database, table)

    def _cannot_hold(self, *names: str | None) -> bool:
        """Returns whether the catalog refuses to search for one of these names."""
        return not self.differences.wide_names and any(map(is_wide, filter(None, names)))

    def type_rules(self, rules: frozenset[str]) -> TypeRules:
        return TypeRules(
            self.dialect,
            self._quote,
            lambda type_, existing, _: types.codec(type_, existing, self.differences, rules),
            lambda collation, type_: merges(collation, type_, self.differences),
            lambda type_: new_collation(type_, self.differences),
            trusting=SAME_COLLATIONS in rules,
        )

    def layout(
        self,
        source: Table,
        key: Sequence[str],
        target: TargetTable,
        definition: Table | None,
        rules: frozenset[str],
        keys_only: bool = False,
    ) -> Layout:
        layout = super().layout(source, key, target, definition, rules, keys_only)
        widest = self.differences.widest_values_bit
        wide = any(c.type.name == "bit" and (c.type.length or 64) > widest for c in source.columns)
        if ignoring := self._ignoring(target):
            trusting = SAME_COLLATIONS in rules
            layout = (
                replace(layout, exact=True, upsert=False)
                if trusting
                else replace(layout, codecs=_wary(layout, ignoring))
            )
        # Without an upsert, present keys are deleted and inserted.
        return replace(layout, upsert=False) if wide else layout

    def _ignoring(self, target: TargetTable) -> set[str]:
        """The quoted columns of unique keys that ignore letters."""
        in_keys = {name for key in target.unique_keys for name in key.columns}
        return {
            self._quote(column.name)
            for column in target.columns
            if column.name in in_keys and ignores_letters(column.collation, self.differences)
        }

    # Facts that DDL needs.

    def column_types(self, table: Table) -> dict[str, str]:
        columns = new_tables.shape(self.differences, table).columns
        return {
            name: column.type.partition(" character set ")[0].lower()
            for name, column in columns.items()
        }

    def evidence(self, table: TargetName) -> tuple[str, ...]:
        schema, name = (self._names.in_catalog(part or "") for part in table)
        of_it = f"table_schema = {string_literal(schema)} AND table_name = {string_literal(name)}"
        return (
            "SELECT column_name, column_type, is_nullable, column_default, collation_name, extra "  # noqa: S608
            f"FROM information_schema.columns WHERE {of_it} ORDER BY ordinal_position",
            f"SELECT index_name, non_unique, {self.differences.index_column}, sub_part "  # noqa: S608
            f"FROM information_schema.statistics WHERE {of_it} ORDER BY index_name, seq_in_index",
            f"SELECT count(*) FROM (SELECT 1 FROM {self.quote(*table)} LIMIT 1000) AS some",  # noqa: S608
        )

    def wait_for_ddl(self, tables: Sequence[TargetName], schemas: Sequence[str] = ()) -> None:
        under_way.wait_for_others(self, self.differences, tables, schemas)

    # DDL.

    def writer_of(self) -> WriterOf | None:
        return generated.writer_of(self.differences)

    def column_type(self, column: Column) -> str:
        return types.column_type(column, self.differences)

    def create_schema(self, schema: str) -> list[str]:
        return [
            f"CREATE DATABASE IF NOT EXISTS {self._quote(schema)} "
            "DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        ]

    def create_table(
        self,
        schema: str | None,
        name: str,
        table: Table,
        references: Sequence[Reference] = (),
    ) -> list[str]:
        relation = self.quote(schema, name)
        return [
            new_tables.create_table(self.differences, relation, table),
            *(new_tables.add_reference(self, schema, name, each) for each in references),
        ]

    def drop_table(self, schema: str | None, name: str) -> list[str]:
        return [f"DROP TABLE IF EXISTS {self.quote(schema, name)}"]

    def truncate_table(self, schema: str | None, name: str) -> list[str]:
        return [f"TRUNCATE TABLE {self.quote(schema, name)}"]

    def alter_table(
        self,
        schema: str | None,
        name: str,
        evolved: Evolved,
        references: ReferenceChanges,
    ) -> Alteration:
        work = alter.MySqlAlteration(self.differences, self, schema, name, evolved, references)
        return work.alteration()

    def copy_structure(self, table: TargetName, copy: TargetName, key: Sequence[str]) -> list[str]:
        return beside.copy_structure(self, table, copy)

    def hindrances(self, table: TargetName) -> list[str]:
        return beside.hindrances(self, table)

    def keys_of(self, table: TargetName) -> list[KeyOfTable]:
        return beside.keys_of(self, table)

    def copy_keys(
        self, table: TargetName, copy: TargetName, renamed: Mapping[str, str]
    ) -> list[str]:
        return beside.copy_keys(self, table, copy, renamed)

    def return_keys(
        self, aside: TargetName, table: TargetName, renamed: Mapping[str, str]
    ) -> list[str]:
        return beside.return_keys(self, aside, table, renamed)

    def replace_tables(self, moves: Sequence[tuple[TargetName, TargetName]]) -> Iterator[str]:
        return beside.replace_tables(self, moves)

    def has_replaced(self, copy: TargetName) -> bool:
        return beside.has_replaced(self, copy)

    def rename_table(self, old: TargetName, new: TargetName, definition: Table | None) -> list[str]:
        return alter.rename_table(self, old, new, definition)


_NO_SUCH_SESSION = 1094


class MariaDb(MySql):
    dialect = MARIADB.name
    differences = MARIADB


class TiDb(MySql):
    dialect = TIDB.name
    differences = TIDB
    has_staging = False  # TiDB has no CREATE TABLE ... SELECT
    alters_as_mysql = False
    _write_source: int | None = None

    def in_mysql_words(self, definition: str) -> str:
        return restored(definition)

    def mark_writes(self, source: int) -> None:
        with self.errors():
            if not self.query("SHOW VARIABLES LIKE 'tidb_cdc_write_source'"):
                raise Usage(
                    "[target] write_source: this TiDB has no tidb_cdc_write_source; releases "
                    "before 6.5.0 do not"
                )
            self._write_source = source
            self.execute(self._own_settings()[-1]).close()

    def _own_settings(self) -> tuple[str, ...]:
        if self._write_source is None:
            return self.differences.settings
        mark = f"SET SESSION tidb_cdc_write_source = {self._write_source}"
        return (*self.differences.settings, mark)

    def session_id(self) -> str:
        # The client tells a session from another that gets its number after a restart of TiDB.
        query = "SELECT id, host FROM information_schema.processlist WHERE id = CONNECTION_ID()"
        with self.errors():
            number, client = self.query(query)[0]
        return f"{number} {client}"

    def copy_to_temporary(self, name: str, columns: str, source: str, where: str) -> list[str]:
        """Copies by INSERT: TiDB has no CREATE TABLE ... SELECT. It keeps temporary tables in
        memory, 64 MB each by default, at most 128 GB."""
        return [
            "SET SESSION tidb_tmp_table_max_size = 137438953472",
            f"CREATE TEMPORARY TABLE {name} LIKE {source}",
            f"INSERT INTO {name} ({columns}) SELECT {columns} FROM {source}{where}",  # noqa: S608
        ]


def _wary(layout: Layout, ignoring: Set[str]) -> tuple[str, ...]:
    """The codecs; those of `ignoring` columns reject the letters that the columns ignore."""
    return tuple(
        codec.replace("text", types.WARY_TEXT, 1) if name in ignoring and is_text(codec) else codec
        for name, codec in zip(layout.columns, layout.codecs, strict=True)
    )


TARGETS: dict[str, type[MySql]] = {target.dialect: target for target in (MySql, MariaDb, TiDb)}
