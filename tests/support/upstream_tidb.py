"""A schema of the real TiDB as the upstream, and a table of it with a column of every type."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

TYPES: list[tuple[str, str, str | bytes]] = [
    ("tinyint(1)", "1", "1"),
    ("tinyint", "-128", "-128"),
    ("tinyint unsigned", "255", "255"),
    ("smallint unsigned", "65535", "65535"),
    ("mediumint", "-8388608", "-8388608"),
    ("int", "-2147483648", "-2147483648"),
    ("int(8) unsigned zerofill", "42", "42"),
    ("bigint", "-9223372036854775808", "-9223372036854775808"),
    ("bigint unsigned", "18446744073709551615", "18446744073709551615"),
    ("bit(1)", "1", "1"),
    ("bit(10)", "1023", "1023"),
    ("bit(64)", "18446744073709551615", "18446744073709551615"),
    ("year", "2024", "2024"),
    ("year", "'0000'", "0"),
    ("float", "0.1", "0.1"),
    ("float", "16777217", "1.6777216e+07"),
    ("float(10,2)", "12.25", "12.25"),
    ("double", "0.30000000000000004", "0.30000000000000004"),
    ("double", "-1e-300", "-1e-300"),
    ("decimal(10,2)", "-0.5", "-0.50"),
    ("decimal(65,30)", "9" * 35 + "." + "9" * 30, "9" * 35 + "." + "9" * 30),
    ("decimal(6,3) unsigned", "1", "1.000"),
    ("decimal(6,2) zerofill", "1.25", "1.25"),
    ("double zerofill", "1.5", "1.5"),
    ("date", "'2024-02-29'", "2024-02-29"),
    ("datetime", "'9999-12-31 23:59:59'", "9999-12-31 23:59:59"),
    ("datetime(6)", "'1000-01-01 00:00:00.000001'", "1000-01-01 00:00:00.000001"),
    ("timestamp", "'2024-06-01 10:20:30'", "2024-06-01 10:20:30"),
    ("timestamp(3)", "'1970-01-01 00:00:01.125'", "1970-01-01 00:00:01.125"),
    ("time", "'-838:59:59'", "-838:59:59"),
    ("time(6)", "'838:59:58.999999'", "838:59:58.999999"),
    ("char(10)", "'it''s'", "it's"),
    ("varchar(255)", r"'tab\t, line\n, \\, \", 100%, \r'", 'tab\t, line\n, \\, ", 100%, \r'),
    ("varchar(20) character set latin1", "'abc'", "abc"),
    ("tinytext character set gbk", "'中文'", "中文"),
    ("tinytext", "''", ""),
    ("text", "'é😀 '", "é😀 "),
    ("longtext", "repeat('x', 70000)", "x" * 70000),
    ("binary(8)", "'ab'", b"ab" + b"\0" * 6),
    ("varbinary(300)", "x'00ff27095c'", b"\x00\xff'\t\\"),
    ("blob", "x''", b""),
    ("longblob", "x'e4b8'", b"\xe4\xb8"),
    ("enum('a','it''s')", "'it''s'", "2"),
    ("set('x','y')", "'x,y'", "3"),
    ("json", """'{"b": [1, "ü", null], "a": 1.50}'""", '{"a": 1.5, "b": [1, "ü", null]}'),
    ("int as (1 + 1) stored", "default", "2"),
    ("int as (2 + 2) virtual", "default", ""),
]
"""Type, the value as SQL, and as it is in canonical form; the last is a virtual column."""

ODD_DATES: list[tuple[str, str, str]] = [
    ("date", "'0000-00-00'", "0000-00-00"),
    ("date", "'2024-00-10'", "2024-00-10"),
    ("datetime(6)", "'0000-00-00'", "0000-00-00 00:00:00.000000"),
    ("timestamp", "'0000-00-00'", "0000-00-00 00:00:00"),
]
"""The same, of values that PostgreSQL does not have."""

SENT = [f"c{number}" for number in range(len(TYPES) - 1)]

_DDL = ("ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE")
_SCHEMA_CHANGED = 8028
_TRIES = 10


class Upstream:
    """A session that writes into a schema of the real TiDB."""

    def __init__(self, connection: sa.Connection, url: str) -> None:
        self._connection = connection
        self.url = url
        self.schema = str(sa.make_url(url).database)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Statements, each committed by itself; the rows of the last."""
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            result = self._patiently(statement)
            rows = [tuple(row) for row in result] if result.returns_rows else []
        return rows

    def _patiently(self, statement: str) -> sa.CursorResult[Any]:
        """A DDL again where other tests' DDL came between (error 8028): nothing of it was done."""
        is_ddl = statement.split(maxsplit=1)[0].upper() in _DDL
        for left in reversed(range(_TRIES)):
            try:
                return self._connection.exec_driver_sql(statement)
            except sa.exc.OperationalError as error:
                of_others = getattr(error.orig, "args", (0,))[0] == _SCHEMA_CHANGED
                if not (left and is_ddl and of_others):
                    raise
        raise AssertionError("the last try returns or raises")

    def ts(self) -> int:
        """A timestamp after what was committed before."""
        ((now,),) = self.execute("BEGIN", "SELECT @@tidb_current_ts")
        self.execute("COMMIT")
        return int(now)

    def ddl(self, statement: str) -> int:
        """Runs a DDL of one table here; the timestamp that TiCDC gives it."""
        self.execute(statement)
        ((job,),) = self.execute(
            "SELECT job_meta FROM mysql.tidb_ddl_history WHERE db_name = DATABASE() "
            "ORDER BY job_id DESC LIMIT 1"
        )
        return int(json.loads(job)["binlog"]["FinishedTS"])

    def create_typed(
        self, types: list[tuple[str, str, str | bytes]] | list[tuple[str, str, str]] = TYPES
    ) -> None:
        """The table `typed`: row 1 has a value of each type, row 2 has none."""
        columns = ", ".join(f"c{number} {sql}" for number, (sql, _, _) in enumerate(types))
        values = ", ".join(value for _, value, _ in types)
        nulls = ", ".join("NULL" if value != "default" else value for _, value, _ in types)
        self.execute(
            f"CREATE TABLE typed (id int PRIMARY KEY, {columns})",
            f"INSERT INTO typed VALUES (1, {values}), (2, {nulls})",  # noqa: S608
        )


@contextmanager
def upstream(url: str) -> Iterator[Upstream]:
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        plain = connection.execution_options(no_parameters=True)
        plain.exec_driver_sql("SET time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES'")
        yield Upstream(plain, url)
