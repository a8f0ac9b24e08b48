import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import strategies as st
from support.canonical_rows import (
    contents,
    created,
    defined,
    from_text,
    laid_out,
    load,
    row_payloads,
)
from support.golden import scenario
from ticdc_consumer.errors import Retry, Stop, Unavailable
from ticdc_consumer.targets.sqlite import bulk, session, types
from ticdc_consumer.targets.sqlite.session import SQLite
from ticdc_encoder.column import BINARIES, Column

USERS = (
    "create table users (id bigint primary key, mail varchar(40), name text, unique mail (mail))"
)
PLAIN = "create table plain (id bigint primary key, name text, b blob)"


@pytest.fixture
def target(sqlite_url: str) -> Iterator[SQLite]:
    opened = SQLite.open(sa.make_url(sqlite_url))
    yield opened
    opened.close()


# --- values --------------------------------------------------------------------------------------


def expected(value: str | bytes | None, column: Column) -> object:
    """A value of the golden states as SQLite returns it."""
    kind = column.type.name
    if value is None or kind in BINARIES:
        return value
    if isinstance(value, bytes):
        value = str(int.from_bytes(value, "big"))
    if kind in ("float", "double"):
        # The golden set has six digits of a FLOAT in e form.
        return pytest.approx(float(value), rel=1e-5)
    return int(value) if types.column_type(column) == "INTEGER" else value


@pytest.mark.parametrize(
    "table", ["alltypes", "single", "notnull", "autor", "tz", "vec", "gens", "zeros"]
)
def test_every_type_survives_at_its_bounds(target: SQLite, table: str) -> None:
    golden = scenario("types")
    create = next(t.create for t in golden.tables if t.table == table and t.create)
    upstream = defined(create, "typedb")
    state = golden.states[-1].tables[f"typedb.{table}"]
    layout = created(target, upstream)
    rows = [dict(zip(state.columns, row, strict=True)) for row in state.rows]
    load(
        target,
        layout,
        [[from_text(row[column.name], column.type) for column in layout.source] for row in rows],
    )
    described = target.describe(None, table)
    assert described is not None
    present = {column.name for column in described.columns}
    stored = [column for column in upstream.columns if column.name in present]
    for got, row in zip(contents(target, layout), rows, strict=True):
        for column, value in zip(stored, got, strict=True):
            assert value == expected(row[column.name], column), column.name


# --- rows ----------------------------------------------------------------------------------------


def some(count: int, text: str = "x") -> list[list[str | bytes | None]]:
    return [[str(i), f'{text}{i}\t\\\n"\0', bytes([i % 256])] for i in range(count)]


def test_rows_are_upserted_and_deleted(target: SQLite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "ROWS_AT_ONCE", 7)
    layout = created(target, defined(PLAIN))
    assert layout.upsert
    load(target, layout, some(50, "old"))
    load(target, layout, some(50, "new"))
    assert contents(target, layout) == [
        (i, f'new{i}\t\\\n"\0', bytes([i % 256])) for i in range(50)
    ]
    assert load(target, layout, deleted=[[str(i)] for i in range(1, 60)])[0] == 49


VALUES = st.tuples(
    st.none() | st.text(st.characters(exclude_categories=["Cs"])), st.none() | st.binary()
)


def test_a_row_in_the_way_stops_with_table_constraint_and_key(target: SQLite) -> None:
    layout = created(target, defined(USERS))
    load(target, layout, [["1", "a@x", "secret"]])
    with pytest.raises(Stop) as stopped:
        load(target, layout, [["5", "b@x", "n"], ["6", "a@x", "hidden"], ["7", "c@x", "n"]])
    assert str(stopped.value) == (
        "shop.users: another row of the target has the same value of the unique key (users.mail) "
        "(row with key id=6)"
    )
    assert len(contents(target, layout)) == 1


def test_a_clash_of_expressions_is_left_to_a_person(target: SQLite) -> None:
    upstream = defined("create table users (id bigint primary key, mail varchar(40), name text)")
    created(target, upstream)
    target.execute("CREATE UNIQUE INDEX lower_mail ON users (lower(mail))")
    layout = laid_out(target, upstream)
    assert not layout.upsert
    load(target, layout, [["1", "a@x", "n"]])
    with pytest.raises(Stop, match=r"\(index 'lower_mail'\) \(row with key id=9\)"):
        load(target, layout, [["9", "A@x", "n"]], on_drift="overwrite")


def test_a_key_that_ignores_case_as_upstreams_does_finds_its_row(target: SQLite) -> None:
    upstream = defined(
        "create table c (k varchar(9) collate utf8mb4_general_ci primary key, n int)"
    )
    target.execute("CREATE TABLE c (k TEXT COLLATE NOCASE PRIMARY KEY, n INTEGER)")
    layout = laid_out(target, upstream)
    load(target, layout, [["abc", "1"]])
    load(target, layout, [["ABC", "2"]], deleted=[["abc"]])
    assert contents(target, layout) == [("ABC", 2)]


def test_a_case_blind_column_does_not_widen_the_delete_of_a_key(
    target: SQLite,
) -> None:
    upstream = defined("create table c (k varchar(9) collate utf8mb4_bin primary key, n int)")
    target.execute("CREATE TABLE c (k TEXT COLLATE NOCASE NOT NULL, n INTEGER)")
    target.execute("CREATE UNIQUE INDEX exact ON c (k COLLATE BINARY)")
    layout = laid_out(target, upstream)
    target.execute("INSERT INTO c VALUES ('abc', 1), ('ABC', 2)")
    assert load(target, layout, deleted=[["abc"]])[0] == 1
    assert contents(target, layout) == [("ABC", 2)]


# --- the catalog ---------------------------------------------------------------------------------


def test_a_table_is_described_with_all_that_can_clash(target: SQLite) -> None:
    for statement in (
        "CREATE TABLE d (id INTEGER PRIMARY KEY, a VARCHAR(3) NOT NULL DEFAULT 'x', "
        "b TEXT COLLATE NOCASE UNIQUE, g AS (id + 1) STORED, v AS (id + 2))",
        "CREATE UNIQUE INDEX part ON d (a) WHERE id > 0",
        "CREATE UNIQUE INDEX expr ON d (lower(a))",
        "CREATE INDEX many ON d (a)",
        "CREATE TRIGGER t AFTER INSERT ON d BEGIN SELECT 1; END",
    ):
        target.execute(statement)
    described = target.describe(None, "d")
    assert described is not None
    keys = {key.name: key for key in described.unique_keys}
    assert keys["PRIMARY KEY"].columns == ("id",) and keys["PRIMARY KEY"].primary
    assert {name for name, key in keys.items() if not key.plain} == {"part", "expr"}
    assert len(keys) == 4
    assert described.triggers == ("t",)
    columns = {column.name: column for column in described.columns}
    assert [name for name, column in columns.items() if column.generated] == ["g", "v"]
    assert not columns["id"].nullable and not columns["a"].nullable and columns["b"].nullable
    assert columns["a"].type == "varchar(3)" and columns["a"].has_default
    assert columns["b"].collation == "NOCASE"
    assert target.describe(None, "none") is None
    target.execute("CREATE VIEW v AS SELECT 1")
    with pytest.raises(Stop, match="v is a view, and not a table"):
        target.describe(None, "v")


APART = ["a", "A", "a ", "á", "a\N{COMBINING ACUTE ACCENT}", "ss", "ß", "ı", "İ", "1", "01", ""]
KEYS = [
    ("k TEXT PRIMARY KEY", "", True),
    ("k NOT NULL PRIMARY KEY", "", True),
    ("k TEXT COLLATE NOCASE NOT NULL", "k COLLATE BINARY", True),
    ("k TEXT COLLATE RTRIM NOT NULL", "k COLLATE BINARY", True),
    ("k TEXT COLLATE NOCASE PRIMARY KEY", "", False),
    ("k TEXT COLLATE RTRIM PRIMARY KEY", "", False),
    ("k TEXT PRIMARY KEY", "k COLLATE NOCASE", False),
    ("k NUMERIC PRIMARY KEY", "", False),
]


@pytest.mark.parametrize(("column", "index", "taken"), KEYS)
def test_keys_that_look_alike_stay_apart_or_are_refused(
    target: SQLite, column: str, index: str, taken: bool
) -> None:
    target.execute(f"CREATE TABLE c ({column})")
    if index:
        target.execute(f"CREATE UNIQUE INDEX u ON c ({index})")
    upstream = defined("create table c (k varchar(9) collate utf8mb4_0900_bin primary key)")
    if not taken:
        with pytest.raises(Stop, match=r"shop\.c\.k: (collation .* treats keys|.*affinity)"):
            laid_out(target, upstream)
        return
    layout = laid_out(target, upstream)
    for _ in range(2):
        load(target, layout, [[key] for key in APART])
    assert load(target, layout, deleted=[["a"]]) == (1, 0)
    assert {row[0] for row in contents(target, layout)} == {*APART} - {"a"}


def test_names_differ_in_case_at_will(target: SQLite) -> None:
    target.execute("CREATE TABLE Orders (ID INTEGER PRIMARY KEY, N INTEGER)")
    layout = laid_out(target, defined("create table orders (id int primary key, n int)"))
    load(target, layout, [["1", "2"]])
    assert contents(target, layout) == [(1, 2)]


def test_a_delete_of_many_keys_does_not_scan_the_table_for_each(target: SQLite) -> None:
    layout = created(target, defined("create table k (a varchar(9), b bigint, primary key (a, b))"))
    connection = target.connection.connection.dbapi_connection
    assert isinstance(connection, sqlite3.Connection)
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    load(target, layout, deleted=[["x", "1"]])
    connection.set_trace_callback(None)
    (delete,) = (statement for statement in statements if statement.startswith("DELETE"))
    ((*_, plan),) = target.execute(f"EXPLAIN QUERY PLAN {delete}").all()
    assert str(plan).startswith("SEARCH k USING")


# --- errors and sessions -------------------------------------------------------------------------


def test_the_lock_of_another_process_passes_and_names_the_file(
    target: SQLite, sqlite_url: str
) -> None:
    layout = created(target, defined(PLAIN))
    target.execute("PRAGMA busy_timeout = 1")
    other = SQLite.open(sa.make_url(sqlite_url))
    with other.transaction():
        other.insert(layout, row_payloads(layout, some(1)), "stop")
        with pytest.raises(Retry, match=r"holds the write lock of .*target\.db"):
            load(target, layout, some(1))
        assert contents(target, layout) == []  # readers go on
    other.close()
    load(target, layout, some(1))


def test_no_session_can_be_ended(target: SQLite) -> None:
    assert target.session_id() == ""
    with pytest.raises(Unavailable, match=r"target\.db, and SQLite cannot end it"):
        target.end_session("")


def test_a_file_that_cannot_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"none/target\.db: unable to open"):
        SQLite.open(sa.make_url(f"sqlite:///{tmp_path}/none/target.db"))
    no_database = tmp_path / "text.db"
    no_database.write_text("x" * 5000)
    with pytest.raises(Unavailable, match=r"text\.db: file is not a database"):
        SQLite.open(sa.make_url(f"sqlite:///{no_database}"))


def test_a_full_disk_leaves_the_file_as_it_was(target: SQLite) -> None:
    layout = created(target, defined(PLAIN))
    target.execute("PRAGMA max_page_count = 10")
    with pytest.raises(
        Unavailable, match=r"target\.db has no room left .*\(database or disk is full\)"
    ):
        load(target, layout, some(5000))
    assert contents(target, layout) == []


def test_an_interrupted_statement_ends_the_run_by_the_interrupt(
    target: SQLite, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = created(target, defined(PLAIN))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), target.transaction():
        target.insert(layout, row_payloads(layout, some(1)), "stop")
        monkeypatch.setattr(target.engine.dialect, "do_execute_no_params", interrupted)
        target.execute("SELECT 1")
    monkeypatch.undo()
    target.reconnect()
    assert contents(target, layout) == []


def test_what_a_constraint_refuses_stops_with_its_name(target: SQLite) -> None:
    target.execute("CREATE TABLE c (id INTEGER PRIMARY KEY, v INTEGER NOT NULL CHECK (v < 5))")
    layout = laid_out(target, defined("create table c (id int primary key, v int)"))
    with pytest.raises(Stop, match=r"shop\.c: NOT NULL constraint failed: c\.v .*id=1"):
        load(target, layout, [["1", None]])
    with pytest.raises(Stop, match=r"shop\.c: CHECK constraint failed: v < 5 .*id=2"):
        load(target, layout, [["2", "7"]])
    target.execute("DROP TABLE c")
    with pytest.raises(Stop, match=r"shop\.c: SQLite refused: no such table: c"):
        load(target, layout, [["2", "7"]])


@pytest.mark.parametrize("clause", ["IGNORE", "REPLACE"])
def test_a_table_that_ignores_or_replaces_clashes_still_stops(target: SQLite, clause: str) -> None:
    target.execute(
        f"CREATE TABLE users (id INTEGER PRIMARY KEY ON CONFLICT {clause}, mail TEXT UNIQUE ON "
        f"CONFLICT {clause}, name TEXT NOT NULL ON CONFLICT {clause} DEFAULT 'nobody')"
    )
    layout = laid_out(target, defined(USERS))
    load(target, layout, [["1", "a@x", "n"]])
    refused: list[tuple[list[str | None], str]] = [
        (["9", "a@x", "n"], r"same value of the unique key \(users\.mail\) .*id=9"),
        (["9", "b@x", None], r"NOT NULL constraint failed: users\.name .*id=9"),
    ]
    for row, words in refused:
        with pytest.raises(Stop, match=words):
            load(target, layout, [row])
    assert contents(target, layout) == [(1, "a@x", "n")]


def test_foreign_keys_are_off_and_readers_see_only_commits(target: SQLite, sqlite_url: str) -> None:
    created(target, defined("create table parent (id int primary key)"))
    target.execute(
        "CREATE TABLE child (id INTEGER PRIMARY KEY REFERENCES parent ON DELETE CASCADE)"
    )
    child = laid_out(target, defined("create table child (id int primary key)"))
    reader = sqlite3.connect(sa.make_url(sqlite_url).database or "")
    with target.transaction():
        target.insert(child, row_payloads(child, [["5"]]), "stop")
        assert reader.execute("SELECT count(*) FROM child").fetchone() == (0,)
    assert reader.execute("SELECT count(*) FROM child").fetchone() == (1,)
    reader.close()


# --- DDL -----------------------------------------------------------------------------------------

HOSTILE = ['a"b', "a'b", "a;b -- c", "a`b", "a%sb", "100%", "Größe 😀", "a\\b", "[x]", ":x ? $1"]


@pytest.mark.parametrize("name", ["a\0b", "", "sqlite_master"])
def test_a_name_that_cannot_be_is_refused(target: SQLite, name: str) -> None:
    with pytest.raises(Stop, match="name"):
        target.quote(None, name)


def test_a_created_table_has_upstreams_keys_defaults_and_indexes(target: SQLite) -> None:
    upstream = defined(
        "create table t (id int, h varchar(50) not null, long_ text, b varbinary(90), "
        "at timestamp default current_timestamp, n decimal(9,2) default '1.50', "
        "s varchar(9) default 'it''s', bits bit(4) default b'101', v int as (id + 1) virtual, "
        "g int as (id + 2) stored, "
        "unique key h (h), unique key pre (long_(3)), unique key bp (b(2)), key plain_ (g), "
        "key on_v (v), key deep (long_))"
    )
    layout = created(target, upstream)
    assert layout.key == ("h",)
    load(target, layout, [["1", "h1", "abcd", b"abc", None, None, None, None, None, "3"]])
    rows = target.execute("SELECT sql FROM sqlite_master WHERE type = 'index'").scalars().all()
    assert sorted(row.partition(' ON "t" ')[2] for row in rows) == [
        '("g")',
        '("h")',
        '("v")',
        '(substr("b", 1, 2))',
        '(substr("long_", 1, 3))',
    ]
    with pytest.raises(Stop, match=r"same value of the unique key \(index 't_pre"):
        load(target, layout, [["2", "h2", "abce", b"x", None, None, None, None, None, "3"]])
    target.execute("INSERT INTO t (id, h) VALUES (5, 'd')")
    (row,) = target.execute("SELECT n, s, bits, at IS NOT NULL FROM t WHERE id = 5").all()
    assert tuple(row) == ("1.50", "it's", 5, 1)


def test_several_open_a_new_file_at_once(tmp_path: Path) -> None:
    for number in range(60):
        url = sa.make_url(f"sqlite:///{tmp_path}/{number}.db")
        with ThreadPoolExecutor(3) as threads:
            for opened in [*threads.map(lambda _: SQLite.open(url), range(3))]:  # noqa: B023
                opened.close()


def test_a_file_that_stays_locked_is_waited_for_and_then_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "held.db"
    monkeypatch.setattr(session, "BUSY_TIMEOUT", 0.1)
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Unavailable, match="another process holds the write lock of"):
            SQLite.open(sa.make_url(f"sqlite:///{file}"))
