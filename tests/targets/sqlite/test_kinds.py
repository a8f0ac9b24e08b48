"""What a table of the target may be beside an ordinary one: written exactly, or refused by name."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from support.canonical_rows import contents, defined, laid_out, load
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.sqlite.catalog import REFUSED
from ticdc_consumer.targets.sqlite.session import SQLite

T = defined("create table t (id bigint primary key, v varchar(9), b varbinary(9), f double)")
COLUMNS = "id INTEGER PRIMARY KEY, v TEXT, b BLOB, f REAL"


@pytest.fixture
def target(sqlite_url: str) -> Iterator[SQLite]:
    opened = SQLite.open(sa.make_url(sqlite_url))
    yield opened
    opened.close()


REFUSALS = {
    "view": ("CREATE VIEW t AS SELECT 1 AS id", "t is a view, and not a table"),
    "virtual table": (
        "CREATE VIRTUAL TABLE t USING fts5 (v)",
        "t is a virtual table, whose module decides what rows it has; create an ordinary table",
    ),
    "temporary view": ("CREATE TEMPORARY VIEW t AS SELECT 1 AS id", "t is a view, and not a table"),
    "temporary table": (
        f"CREATE TEMPORARY TABLE t ({COLUMNS})",
        "t is a temporary table, which ends with its session",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_written_like_a_table_is_refused_by_name(target: SQLite, kind: str) -> None:
    statement, message = REFUSALS[kind]
    target.execute(statement)
    with pytest.raises(Stop) as stop:
        target.describe(None, "t")
    assert str(stop.value) == message


def test_a_temporary_table_that_hides_one_of_the_file_is_refused(target: SQLite) -> None:
    target.execute(f"CREATE TABLE t ({COLUMNS})")
    target.execute(f"CREATE TEMPORARY TABLE T ({COLUMNS})")
    with pytest.raises(Stop, match="t is a temporary table"):
        target.describe(None, "t")


WRITTEN = {
    "an ordinary table": f"CREATE TABLE t ({COLUMNS})",
    "a table without rowid": f"CREATE TABLE t ({COLUMNS}) WITHOUT ROWID",
    "a strict table": f"CREATE TABLE t ({COLUMNS}) STRICT",
    "both": f"CREATE TABLE t ({COLUMNS}) STRICT, WITHOUT ROWID",
    "another unique key": f"CREATE TABLE t ({COLUMNS}, UNIQUE (v, id))",
    "keys that would ignore a row": "CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT IGNORE, "
    "v TEXT UNIQUE ON CONFLICT IGNORE, b BLOB NOT NULL ON CONFLICT REPLACE DEFAULT X'00', f REAL)",
}


@pytest.mark.parametrize("create", WRITTEN.values(), ids=WRITTEN)
def test_what_is_written_like_a_table_holds_exactly_the_rows(target: SQLite, create: str) -> None:
    target.execute(create)
    layout = laid_out(target, T)
    load(target, layout, [("1", "a", b"\0", "0.5"), ("2", "b", b"\xff", "1e300")])
    load(target, layout, [("2", "c", b"", "-0.25")], deleted=[("1",)])
    assert contents(target, layout) == [(2, "c", b"", -0.25)]


def test_a_key_that_would_ignore_a_row_stops_instead(target: SQLite) -> None:
    target.execute(WRITTEN["keys that would ignore a row"])
    layout = laid_out(target, T)
    load(target, layout, [("1", "a", b"\0", "0.5")])
    with pytest.raises(Stop, match=r"the same value of the unique key \(t\.v\)"):
        load(target, layout, [("2", "a", b"\0", "0.5")])


def test_a_strict_table_refuses_what_its_column_cannot_hold(target: SQLite) -> None:
    target.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, b BLOB, f INTEGER) STRICT")
    with pytest.raises(Stop, match=r"shop\.t"):
        load(target, laid_out(target, T), [("1", "a", b"\0", "0.5")])
