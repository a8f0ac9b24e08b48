"""The consumer's own tables in the target, in the URL's default database or schema.

Their layout has a version, `STATE_VERSION`, stored in `ticdc_state`: a table of its own with one
row, not a column of `ticdc_checkpoint`. The version covers the tables, which all changefeeds of
the target share; it must be readable before the first checkpoint exists, and by a release that
does not know the layout of the other tables. So `ticdc_state` itself never changes.

To change the layout: change the tables below, and append a `Migration`. `upgrade.py` applies it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

if TYPE_CHECKING:
    from types import ModuleType


class Unsigned64(sa.TypeDecorator[int]):
    """An int that keeps all 64 bits of TiDB's timestamps in any database."""

    impl = sa.Numeric(20, 0)
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        if dialect.name in _OF_MYSQL:
            return dialect.type_descriptor(_mysql().BIGINT(unsigned=True))
        return dialect.type_descriptor(
            sa.Text() if dialect.name == "sqlite" else self.impl_instance
        )

    def process_bind_param(self, value: int | None, dialect: sa.Dialect) -> Any:
        return str(value) if dialect.name == "sqlite" and value is not None else value

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> int | None:
        return None if value is None else int(value)


class LongText(sa.TypeDecorator[str]):
    """Text of any length."""

    impl = sa.Text()
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        text: sa.types.TypeEngine[Any] = self.impl_instance
        if dialect.name in _OF_MYSQL:
            text = _mysql().LONGTEXT()
        return text


_OF_MYSQL = ("mysql", "mariadb")


def _mysql() -> "ModuleType":
    """SQLAlchemy's MySQL dialect: its import is slow, and no other target needs it."""
    from sqlalchemy.dialects import mysql

    return mysql


METADATA = sa.MetaData()

CHECKPOINT = sa.Table(
    "ticdc_checkpoint",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Column("resolved_ts", Unsigned64, nullable=False),
    sa.Column("mark_time", sa.BigInteger, nullable=False),
    sa.Column("owner", sa.String(128), nullable=False),
    sa.Column("scope", sa.String(64), nullable=False),
    sa.Column("scope_text", LongText, nullable=False),
    sa.Column("counters", LongText, nullable=False),
)

OFFSET = sa.Table(
    "ticdc_offset",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("topic", sa.String(249), primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("topic_id", sa.String(64), nullable=False),
    sa.Column("restart_offset", sa.BigInteger, nullable=False),
    sa.Column("mark_offset", sa.BigInteger),
    sa.Column("mark_crc", sa.BigInteger),
)

LEDGER = sa.Table(
    "ticdc_ddl",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("commit_ts", Unsigned64, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("schema", sa.String(128), nullable=False),
    sa.Column("table", sa.String(128), nullable=False),
    sa.Column("query", LongText, nullable=False),
    sa.Column("kind", sa.Integer, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("reason", LongText, nullable=False),
    sa.Column("instead", LongText, nullable=False),
    sa.Column("begun", sa.String(64), nullable=False, server_default=""),
)

DEFINITION = sa.Table(
    "ticdc_table",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("schema", sa.String(128), primary_key=True),
    sa.Column("table", sa.String(128), primary_key=True),
    sa.Column("definition", LongText, nullable=False),
    sa.Column("basis", sa.String(16), nullable=False),
    sa.Column("target_schema", sa.String(128)),
    sa.Column("target_table", sa.String(128)),
)

SCHEMA = sa.Table(
    "ticdc_schema",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("schema", sa.String(128), primary_key=True),
    sa.Column("table", sa.String(128), primary_key=True),
    sa.Column("version", Unsigned64, primary_key=True, autoincrement=False),
    sa.Column("definition", LongText, nullable=False),
)

KEPT = sa.Table(
    "ticdc_dropped",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("commit_ts", Unsigned64, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("schema", sa.String(128), nullable=False),
    sa.Column("table", sa.String(128), nullable=False),
    sa.Column("target_schema", sa.String(128)),
    sa.Column("target_table", sa.String(128), nullable=False),
    sa.Column("definition", LongText),
    sa.Column("basis", sa.String(16), nullable=False),
)

ACTIVITY = sa.Table(
    "ticdc_activity",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Column("written_at", sa.BigInteger, nullable=False),
    sa.Column("activity", LongText, nullable=False),
)
"""Activity of a changefeed's consumer, as JSON (`activity/`), and the time of writing: milliseconds
since 1970 by the target's clock. No cut reads or writes it."""

LOAD = sa.Table(
    "ticdc_load",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("schema", sa.String(128), primary_key=True),
    sa.Column("table", sa.String(128), primary_key=True),
    sa.Column("chunk", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("snapshot_ts", Unsigned64, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("row_count", sa.BigInteger, nullable=False),
    sa.Column("detail", LongText, nullable=False),
)
"""An unfinished load (`loading.py`): chunk 0 is the table itself, the others are its rows."""

REPAIR = sa.Table(
    "ticdc_repair",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("found_ts", Unsigned64, nullable=False),
    sa.Column("resolved_ts", Unsigned64, nullable=False),
    sa.Column("row_count", sa.BigInteger, nullable=False),
    sa.Column("reason", LongText, nullable=False),
    sa.Column("detail", LongText, nullable=False),
)
"""Keys whose rows `verify` found to differ at `found_ts`, and the R at which they were repaired
(`repairs.py`)."""

QUARANTINE = sa.Table(
    "ticdc_quarantine",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("schema", sa.String(128), primary_key=True),
    sa.Column("table", sa.String(128), primary_key=True),
    sa.Column("resolved_ts", Unsigned64, nullable=False),
    sa.Column("mark_time", sa.BigInteger, nullable=False),
    sa.Column("positions", LongText, nullable=False),
    sa.Column("since", sa.BigInteger, nullable=False),
    sa.Column("waiting", sa.BigInteger, nullable=False),
    sa.Column("cause", LongText, nullable=False),
)
"""A quarantined table (`quarantine.py`): its R, and the positions from which its log is needed."""

VERSION_0 = (CHECKPOINT, OFFSET, LEDGER, DEFINITION, SCHEMA, KEPT)
"""The tables of the releases before `ticdc_state`."""

STATE = sa.Table(
    "ticdc_state",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("migrating_to", sa.Integer, nullable=False),
    sa.Column("least_release", sa.String(32), nullable=False),
)
"""One row, with id 1. `migrating_to` exceeds `version` during a migration where DDL commits by
itself. `least_release` is the first release that knows `migrating_to`."""

OWN_TABLES = frozenset(METADATA.tables)

# MySQL's default collations treat 'A' and 'a' as equal, and MyISAM rolls nothing back.
_EXACT = {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin"}


def creation(table: sa.Table, dialect: str) -> sa.schema.CreateTable:
    """The statement that creates one of the tables above unless it exists."""
    if dialect in _OF_MYSQL:
        # In the table's definition, these arguments would make every process import the dialect.
        table.dialect_kwargs.update({f"{dialect}_{name}": v for name, v in _EXACT.items()})
    return sa.schema.CreateTable(table, if_not_exists=True)


Step = Callable[[sa.Connection], None]


@dataclass(frozen=True, slots=True)
class Migration:
    """A migration from the version before to the next. `release` is the first that knows the next.

    Missing tables are created before the first step, from their definitions above. A step must be
    idempotent: an interrupted start or that CREATE TABLE may have done its work already.
    """

    release: str
    steps: tuple[Step, ...] = ()


def add_column(column: sa.Column[Any]) -> Step:
    """The step that adds a column to a table above. NOT NULL needs a `server_default`."""

    def step(connection: sa.Connection) -> None:
        table = column.table
        existing = sa.inspect(connection).get_columns(table.name)
        if column.name not in {each["name"] for each in existing}:
            clause = sa.schema.CreateColumn(column).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {clause}")

    return step


def rename_values(column: sa.Column[Any], names: Mapping[str, str]) -> Step:
    """The step that renames a column's values. No new value may be an old one, too."""

    def step(connection: sa.Connection) -> None:
        for before, after in names.items():
            update = sa.update(column.table).where(column == before)
            connection.execute(update.values({column.name: after}))

    return step


BASES = {"made": "applied", "told": "declared", "found": "reflected"}
"""Old name of each basis, used up to version 1, and its new name (`known_tables.Basis`)."""

MIGRATIONS = (
    Migration("0.1.0"),  # from the tables before `ticdc_state`, whose layout stays
    # A table's destination is stored when its row is written; until then the routes give it.
    Migration(
        "0.1.0",
        (
            add_column(DEFINITION.c.target_schema),
            add_column(DEFINITION.c.target_table),
            rename_values(DEFINITION.c.basis, BASES),
            rename_values(KEPT.c.basis, BASES),
        ),
    ),
    Migration("0.1.0"),  # ticdc_activity is created
    Migration("0.1.0"),  # ticdc_load is created
    Migration("0.1.0"),  # ticdc_repair is created
    Migration("0.1.0"),  # ticdc_quarantine is created
    # A DDL that an older release has begun counts as not begun: at worst it waits for an operator.
    Migration("0.1.0", (add_column(LEDGER.c.begun),)),
)
"""The steps in order; the first leads from version 0 to 1. A released migration never changes."""

STATE_VERSION = len(MIGRATIONS)

OLDEST_READABLE = 0
"""The oldest version that `plan`, `status` and `check`, which never migrate, can read. A migration
on which this release's queries depend raises it to its own version."""
