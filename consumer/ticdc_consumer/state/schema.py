"""The consumer's own tables in the target, in the URL's default database or schema."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql


class Unsigned64(sa.TypeDecorator[int]):
    """TiDB's timestamps need all 64 bits: an int here, and no less in any database."""

    impl = sa.Numeric(20, 0)
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        return dialect.type_descriptor(_UNSIGNED_64.get(dialect.name, self.impl_instance))

    def process_bind_param(self, value: int | None, dialect: sa.Dialect) -> Any:
        return str(value) if dialect.name == "sqlite" and value is not None else value

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> int | None:
        return None if value is None else int(value)


_UNSIGNED_64: dict[str, sa.types.TypeEngine[Any]] = {
    "sqlite": sa.Text(),
    "mysql": mysql.BIGINT(unsigned=True),
    "mariadb": mysql.BIGINT(unsigned=True),
}

_LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")

METADATA = sa.MetaData()

# MySQL's default collations call 'A' and 'a' equal, and MyISAM rolls nothing back.
_EXACT: dict[str, Any] = {
    f"{dialect}_{name}": value
    for dialect in ("mysql", "mariadb")
    for name, value in (("engine", "InnoDB"), ("charset", "utf8mb4"), ("collate", "utf8mb4_bin"))
}

CHECKPOINT = sa.Table(
    "ticdc_checkpoint",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Column("resolved_ts", Unsigned64, nullable=False),
    sa.Column("mark_time", sa.BigInteger, nullable=False),
    sa.Column("owner", sa.String(128), nullable=False),
    sa.Column("scope", sa.String(64), nullable=False),
    sa.Column("scope_text", _LONG_TEXT, nullable=False),
    sa.Column("counters", _LONG_TEXT, nullable=False),
    **_EXACT,
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
    **_EXACT,
)

LEDGER = sa.Table(
    "ticdc_ddl",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("commit_ts", Unsigned64, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("schema", sa.String(128), nullable=False),
    sa.Column("table", sa.String(128), nullable=False),
    sa.Column("query", _LONG_TEXT, nullable=False),
    sa.Column("kind", sa.Integer, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("reason", _LONG_TEXT, nullable=False),
    sa.Column("instead", _LONG_TEXT, nullable=False),
    **_EXACT,
)

DEFINITION = sa.Table(
    "ticdc_table",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("schema", sa.String(128), primary_key=True),
    sa.Column("table", sa.String(128), primary_key=True),
    sa.Column("definition", _LONG_TEXT, nullable=False),
    sa.Column("basis", sa.String(16), nullable=False),
    **_EXACT,
)

SCHEMA = sa.Table(
    "ticdc_schema",
    METADATA,
    sa.Column("changefeed", sa.String(128), primary_key=True),
    sa.Column("schema", sa.String(128), primary_key=True),
    sa.Column("table", sa.String(128), primary_key=True),
    sa.Column("version", Unsigned64, primary_key=True, autoincrement=False),
    sa.Column("definition", _LONG_TEXT, nullable=False),
    **_EXACT,
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
    sa.Column("definition", _LONG_TEXT),
    sa.Column("basis", sa.String(16), nullable=False),
    **_EXACT,
)

OWN_TABLES = frozenset(METADATA.tables)
