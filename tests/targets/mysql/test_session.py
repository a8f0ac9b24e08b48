"""MySQL, MariaDB and TiDB as targets, on real servers."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from support.canonical_rows import (
    Canonical,
    contents,
    created,
    defined,
    laid_out,
    load,
    row_payloads,
)
from ticdc_consumer.errors import ALTER_IT, Denied, KeyTaken, Retry, Stop, Unavailable
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import Layout, UniqueKey
from ticdc_consumer.targets.mysql.bulk import MySqlBulk
from ticdc_consumer.targets.mysql.quoting import string_literal
from ticdc_consumer.targets.mysql.session import SQL_MODE, MySql, open_session
from ticdc_consumer.targets.rules import SAME_COLLATIONS

SERVERS = ["mysql", "mariadb", "tidb"]
WITH_ENGINES = WITH_TRIGGERS = pytest.mark.parametrize("url", ["mysql", "mariadb"], indirect=True)
"""TiDB takes any ENGINE for its own, which is transactional, and has no triggers: see
`test_tidb.py`."""


@pytest.fixture(params=SERVERS)
def url(request: pytest.FixtureRequest) -> sa.URL:
    return sa.make_url(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def target(url: sa.URL) -> Iterator[MySql]:
    session = open_session(url)
    yield session
    session.close()


@pytest.fixture
def other(url: sa.URL) -> Iterator[MySql]:
    """A second session of the same database."""
    session = open_session(url)
    yield session
    session.close()


def scalar(target: MySql, statement: str) -> object:
    return target.execute(statement).scalar()


# --- the session -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mysql+pymysql", "mariadb+pymysql"])
@pytest.mark.parametrize("server", SERVERS)
def test_the_server_not_the_url_tells_the_dialect(
    request: pytest.FixtureRequest, server: str, name: str
) -> None:
    url = sa.make_url(request.getfixturevalue(f"{server}_url")).set(drivername=name)
    session = open_session(url)
    assert session.dialect == server
    session.close()


def test_modes_and_character_sets_of_the_url_do_not_count(url: sa.URL) -> None:
    session = open_session(url.update_query_dict({"charset": "latin1", "sql_mode": "ANSI"}))
    assert scalar(session, "SELECT @@character_set_client") == "utf8mb4"
    assert "NO_BACKSLASH_ESCAPES" in str(scalar(session, "SELECT @@sql_mode"))
    assert "ANSI" not in str(scalar(session, "SELECT @@sql_mode"))
    session.close()


SETTINGS = [
    ("@@time_zone", "+00:00"),
    ("@@foreign_key_checks", 0),
    ("@@unique_checks", 1),
    ("@@autocommit", 1),
]


@pytest.mark.parametrize(("variable", "value"), SETTINGS)
def test_a_session_is_set_up_and_so_is_the_next(
    target: MySql, variable: str, value: object
) -> None:
    assert scalar(target, f"SELECT {variable}") == value
    target.reconnect()
    assert scalar(target, f"SELECT {variable}") == value


_ALL = {
    "foreign_key_checks": "1",
    "sql_select_limit": "1",
    "time_zone": "'-11:00'",
    "wait_timeout": "1",
}
_MYSQL = {
    **_ALL,
    "completion_type": "'CHAIN'",
    "sql_auto_is_null": "1",
    "sql_big_selects": "0",
    "TRANSACTION ISOLATION LEVEL SERIALIZABLE": "",
    "TRANSACTION READ ONLY": "",
}
DEFAULTS = {
    "tidb": {**_ALL, "max_execution_time": "100"},
    "mysql": {**_MYSQL, "max_execution_time": "100"},
    "mariadb": {
        **_MYSQL,
        "idle_transaction_timeout": "1",
        "lc_messages": "'de_DE'",
        "max_statement_time": "0.1",
    },
}
"""Servers may begin their sessions so."""


def test_what_a_server_has_as_its_defaults_changes_nothing(url: sa.URL) -> None:
    version = str(versions(url))
    kind = next((kind for kind in ("mariadb", "tidb") if kind in version.lower()), "mysql")

    def begin(driver: Any, _: object) -> None:
        with driver.cursor() as cursor:
            for name, value in DEFAULTS[kind].items():
                cursor.execute(f"SET SESSION {name}" + (f" = {value}" if value else ""))

    sa.event.listen(sa.Engine, "connect", begin)
    try:
        target = open_session(url)
    finally:
        sa.event.remove(sa.Engine, "connect", begin)
    number = target.session_id()
    create = "create table d (id bigint primary key, c char(3), mail varchar(40), unique (mail))"
    layout = created(target, defined(create))
    load(target, layout, [["1", "a", "x"], ["2", "b\\", "y'"]])
    with target.transaction():
        target.execute("SELECT SLEEP(1.2)").close()
        time.sleep(1.2)
    time.sleep(1.2)
    assert target.session_id() == number
    assert contents(target, layout) == [(1, "a", "x"), (2, "b\\", "y'")]
    with pytest.raises(Stop, match="has the same value of the unique key"):
        load(target, layout, [["3", "c", "x"]])
    with pytest.raises(Stop, match=r"shop\.d\.mail: a value that is too long"):
        load(target, layout, [["4", "d", "x" * 41]])
    target.close()


def versions(url: sa.URL) -> object:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return connection.exec_driver_sql("SELECT VERSION()").scalar()


def test_a_percent_sign_and_parameters_both_work(target: MySql) -> None:
    assert scalar(target, "SELECT '100%s'") == "100%s"
    assert target.execute("SELECT %s", ("a'\\b",)).scalar() == "a'\\b"


def test_an_unreachable_server_is_named_without_the_password(url: sa.URL) -> None:
    nowhere = url.set(host="127.0.0.1", port=1, username="app", password="s3cret")
    with pytest.raises(Unavailable, match=r"cannot connect to 127\.0\.0\.1:1") as error:
        open_session(nowhere)
    assert "s3cret" not in str(error.value)


def test_a_wrong_password_is_unavailable_and_not_shown(url: sa.URL) -> None:
    with pytest.raises(Unavailable, match="Access denied") as error:
        open_session(url.set(username="nobody", password="s3cret"))
    assert "s3cret" not in str(error.value)


# --- sessions that are in the way --------------------------------------------------------------


def test_a_deadlock_is_tried_again(target: MySql, other: MySql) -> None:
    layout = created(target, defined("CREATE TABLE t (id INT PRIMARY KEY, v INT)"))
    load(target, layout, [["1", "0"], ["2", "0"]])
    outcomes: list[str] = []
    both_hold_one = threading.Barrier(2)

    def update(session: MySql, first: str, second: str) -> None:
        try:
            with session.transaction():
                session.insert(layout, row_payloads(layout, [[first, "1"]]), "stop")
                both_hold_one.wait(60)
                session.insert(layout, row_payloads(layout, [[second, "1"]]), "stop")
        except Retry as error:
            outcomes.append(str(error))
        else:
            outcomes.append("done")

    rival = threading.Thread(target=update, args=(other, "2", "1"))
    rival.start()
    update(target, "1", "2")
    rival.join()
    assert sorted(outcomes) == ["done", "shop.t: deadlock (error 1213)"]


def test_a_lock_that_is_not_freed_is_tried_again(target: MySql, other: MySql) -> None:
    layout = created(target, defined("CREATE TABLE t (id INT PRIMARY KEY)"))
    other.execute("SET SESSION innodb_lock_wait_timeout = 1")
    with target.transaction():
        target.insert(layout, row_payloads(layout, [["1"]]), "stop")
        with pytest.raises(Retry, match=r"shop\.t: waited too long"), other.transaction():
            other.insert(layout, row_payloads(layout, [["1"]]), "stop")


# --- what is there -----------------------------------------------------------------------------


def test_a_users_table_is_described(target: MySql) -> None:
    target.execute(
        "CREATE TABLE t (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, n INT, "
        "`It's``` VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL DEFAULT 'DEFAULT_GENERATED', "
        "e ENUM('a','it''s','X,y') NOT NULL, d DECIMAL(10,2), "
        "g INT AS (n + 1) STORED, w INT AS (n + 2) VIRTUAL, "
        "UNIQUE KEY some (d), UNIQUE KEY beginning (`It's```(3), d)) CHARSET utf8mb4"
    )
    has_triggers = target.dialect != "tidb"
    if has_triggers:
        target.execute("CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.d = 1")
    table = target.describe(target.engine.url.database, "t")
    assert table is not None
    assert [c.name for c in table.columns] == ["id", "n", "It's`", "e", "d", "g", "w"]
    assert [c.generated for c in table.columns] == [False] * 5 + [True] * 2
    columns = {column.name: column for column in table.columns}
    nullable = [column.name for column in table.columns if column.nullable]
    assert nullable == ["n", "d", "g", "w"]
    assert columns["id"].has_default and columns["It's`"].has_default
    assert not columns["e"].has_default
    assert columns["It's`"].collation == "utf8mb4_general_ci"
    assert columns["e"].elements == ("a", "it's", "X,y")
    assert columns["e"].type == "enum('a','it''s','x,y')"
    assert columns["d"].type == "decimal(10,2)"
    assert set(table.unique_keys) == {
        UniqueKey("PRIMARY", ("id",), primary=True),
        UniqueKey("some", ("d",), primary=False),
        UniqueKey("beginning", ("It's`", "d"), primary=False, plain=False, prefixes=True),
    }
    assert table.triggers == (("tr",) if has_triggers else ())


def test_labels_are_as_they_are_whatever_the_catalog_escapes(target: MySql) -> None:
    labels: tuple[str, ...] = (r"C:\new", "it's\\", "a,b", "\nx", "\t\\\\")
    quoted = ",".join(string_literal(label) for label in labels)
    target.execute(f"CREATE TABLE t (id INT PRIMARY KEY, e ENUM({quoted}))")
    table = target.describe(target.engine.url.database, "t")
    assert table is not None
    if target.dialect == "tidb":  # its catalog shows a line break as two characters
        labels = tuple(label.replace("\n", "\\n") for label in labels)
    assert table.columns[1].elements == labels


def test_no_table_is_none(target: MySql) -> None:
    assert target.describe(target.engine.url.database, "t") is None
    assert target.describe("no such schema", "t") is None


def test_names_of_tables_have_a_case_where_the_server_says_so(target: MySql) -> None:
    target.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    has_case = int(str(scalar(target, "SELECT @@lower_case_table_names"))) == 0
    assert has_case == (target.dialect != "tidb")  # where it is always 2
    assert (target.describe(None, "T") is None) == has_case


@WITH_ENGINES
@pytest.mark.parametrize("engine", ["MyISAM", "MEMORY"])
def test_an_engine_without_transactions_is_refused(target: MySql, engine: str) -> None:
    target.execute(f"CREATE TABLE t (id INT PRIMARY KEY) ENGINE={engine}")
    with pytest.raises(Stop, match=rf"\.t: the target's engine {engine} has no transactions"):
        target.describe(None, "t")


@WITH_ENGINES
def test_own_tables_without_transactions_are_refused(target: MySql) -> None:
    store = Store(target, "shop")
    assert store.start(1.0) is None
    target.execute("ALTER TABLE ticdc_ddl ENGINE=MyISAM")
    for use in (store.read, lambda: store.start(1.0)):
        with pytest.raises(Stop, match=r"\.ticdc_ddl: the target's engine MyISAM has no trans"):
            use()


def test_a_view_is_refused(target: MySql) -> None:
    target.execute("CREATE VIEW v AS SELECT 1 AS id")
    with pytest.raises(Stop, match=r"\.v in the target is not a table but a view"):
        target.describe(None, "v")


# --- rows --------------------------------------------------------------------------------------


def test_rows_are_upserted_and_deleted_by_their_key(target: MySql) -> None:
    layout = created(target, defined("CREATE TABLE t (id BIGINT PRIMARY KEY, v VARCHAR(9))"))
    assert layout.upsert
    load(target, layout, [["1", "a"], ["2", "b"], ["-3", None]])
    load(target, layout, [["1", "A"], ["4", "it's"]])
    assert load(target, layout, deleted=[["2"], ["99"]]) == (1, 0)
    assert contents(target, layout) == [(-3, None), (1, "A"), (4, "it's")]


# Beside those of the contract: (type, key as it is written, the same key as it is looked for,
# another key).
KEY_VALUES: list[tuple[str, Canonical, Canonical, Canonical]] = [
    ("DECIMAL(9,3)", "1.500", "1.5", "1.501"),
    ("TIME(3)", "00:00:01.400", "00:00:01.4", "00:00:01.401"),
    ("DATETIME(6)", "2024-01-01 00:00:00.500000", "2024-01-01 00:00:00.5", "2024-01-01 00:00:00"),
    ("DATETIME", "2024-00-10 00:00:00", "2024-00-10 00:00:00", "2024-00-11 00:00:00"),
    ("TIMESTAMP(3)", "2024-01-01 00:00:00.500", "2024-01-01 00:00:00.5", "2024-01-01 00:00:00"),
    ("DATE", "0000-00-00", "0000-00-00", "2023-02-31"),
    ("YEAR", "0", "0", "2000"),
    ("BIT(64)", "18446744073709551615", "18446744073709551615", "1"),
    ("ENUM('b','2','a')", "3", "3", "2"),
    ("SET('x','y')", "3", "3", "2"),
]


@pytest.mark.parametrize("position", ["only", "first", "last"])
@pytest.mark.parametrize(("type_", "value", "again", "another"), KEY_VALUES)
def test_a_key_of_any_type_is_found(
    target: MySql,
    type_: str,
    value: Canonical,
    again: Canonical,
    another: Canonical,
    position: str,
) -> None:
    columns = {"only": "k", "first": "k, n", "last": "n, k"}[position]
    table = defined(f"CREATE TABLE t (k {type_}, n INT, PRIMARY KEY ({columns}))")
    layout = created(target, table)
    load(target, layout, [[value, "1"], [another, "2"]])
    key = {"only": [again], "first": [again, "1"], "last": ["1", again]}[position]
    absent = {"only": [another], "first": [another, "7"], "last": ["7", another]}[position]
    if position == "only":
        absent = key
    assert load(target, layout, deleted=[key, absent]) == (1, 0)
    assert scalar(target, "SELECT n FROM t") == 2


def test_a_key_changes_only_its_case_where_case_is_ignored(target: MySql) -> None:
    table = defined("CREATE TABLE t (k VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY, v INT)")
    layout = created(target, table)
    load(target, layout, [["a", "1"]])
    load(target, layout, [["A", "2"]], deleted=[["a"]])
    assert contents(target, layout) == [("A", 2)]
    load(target, layout, [["a", "2"]])
    assert contents(target, layout) == [("a", 2)]


def test_0_is_a_value_of_an_auto_increment_column(target: MySql) -> None:
    target.execute("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB")
    layout = laid_out(target, defined("CREATE TABLE t (id INT PRIMARY KEY)"))
    load(target, layout, [["0"]])
    assert contents(target, layout) == [(0,)]


USERS = "CREATE TABLE u (id INT PRIMARY KEY, email VARCHAR(40) UNIQUE, phone INT UNIQUE)"


def test_a_row_that_drifted_stops_the_run_and_is_named(target: MySql) -> None:
    layout = created(target, defined(USERS))
    target.execute("INSERT INTO u VALUES (9, 'a''b for key ''x', 5)")
    with pytest.raises(
        Stop, match=r"^shop\.u: another row .* has the same value of the unique key "
    ) as stop:
        load(target, layout, [["1", "a'b for key 'x", None]])
    assert "a'b" not in str(stop.value)
    assert str(stop.value).endswith("email")
    assert contents(target, layout) == [(9, "a'b for key 'x", 5)]


def test_rows_that_drifted_are_cleared_and_counted(target: MySql) -> None:
    layout = created(target, defined(USERS))
    target.execute("INSERT INTO u VALUES (7, 'a', 5), (8, 'b', 6), (9, NULL, NULL)")
    rows: list[list[Canonical]] = [["1", "a", "6"], ["2", None, None], ["3", "c", "1"]]
    assert load(target, layout, rows, on_drift="overwrite") == (0, 2)
    assert contents(target, layout) == [
        (1, "a", 6),
        (2, None, None),
        (3, "c", 1),
        (9, None, None),
    ]


def test_unique_beginnings_are_cleared_like_whole_values(target: MySql) -> None:
    layout = created(
        target, defined("CREATE TABLE p (id INT PRIMARY KEY, s VARCHAR(9), UNIQUE KEY k (s(2)))")
    )
    target.execute("INSERT INTO p VALUES (9, 'abX')")
    with pytest.raises(Stop, match=r"unique key (p\.)?k$"):
        load(target, layout, [["1", "abY"]])
    assert load(target, layout, [["1", "abY"]], on_drift="overwrite") == (0, 1)
    assert contents(target, layout) == [(1, "abY")]


def test_foreign_keys_are_upstreams_business(target: MySql) -> None:
    target.execute("CREATE TABLE p (id INT PRIMARY KEY)")
    target.execute(
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, "
        "FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)"
    )
    child = laid_out(target, defined("CREATE TABLE c (id INT PRIMARY KEY, p INT)"))
    parent = laid_out(target, defined("CREATE TABLE p (id INT PRIMARY KEY)"))
    load(target, child, [["1", "1"]])
    load(target, parent, [["1"]])
    load(target, parent, deleted=[["1"]])
    assert contents(target, child) == [(1, 1)]


# --- values that do not fit --------------------------------------------------------------------

# (the user's type, upstream's type as the wire tells it, value, what is said)
MISFITS = [
    ("varchar(3)", "varchar(3)", "abcd", "a value that is too long (error 1406)"),
    (
        "varchar(3)",
        "varchar(3)",
        "abc  ",
        "a value that the column cannot hold exactly (error 1265)",
    ),
    ("int", "int", "2147483648", "a value out of the column's range (error 1264)"),
    ("int unsigned", "int unsigned", "-1", "a value out of the column's range (error 1264)"),
    ("int not null", "int", None, "NULL in a column that is NOT NULL (error 1048)"),
    ("date", "date", "2023-02-32", "a value that is not of the column's type (error 1292)"),
    (
        "timestamp(6) null",
        "timestamp(6)",
        "2039-01-01 00:00:00",
        "a value that is not of the column's type (error 1292)",
    ),
    ("bit(4)", "bit(4)", "16", "a value that is too long (error 1406)"),
    ("set('a')", "set('a')", "2", "a value that the column cannot hold exactly (error 1265)"),
    ("year", "year", "1900", "a value out of the column's range (error 1264)"),
    (
        "timestamp not null",
        "timestamp",
        None,
        "NULL, which the target's column cannot hold exactly",
    ),
]


@pytest.mark.parametrize(("type_", "source", "value", "reason"), MISFITS)
def test_a_value_that_does_not_fit_is_named_by_table_and_column(
    target: MySql, type_: str, source: str, value: Canonical, reason: str
) -> None:
    target.execute(f"CREATE TABLE t (id INT PRIMARY KEY, c {type_}) CHARSET utf8mb4")
    target.execute("ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    layout = laid_out(target, defined(f"CREATE TABLE t (id INT PRIMARY KEY, c {source})"))
    with pytest.raises(Stop) as stop:
        load(target, layout, [["1", value]])
    way = f"; {ALTER_IT}" if "(error" in reason else ""
    assert str(stop.value) == f"shop.t.c: {reason}{way}"
    assert contents(target, layout) == []


def test_the_column_of_an_error_has_any_name(target: MySql) -> None:
    create = "CREATE TABLE t (id INT PRIMARY KEY, `for column ``x`` at row 1` VARCHAR(1))"
    layout = created(target, defined(create))
    with pytest.raises(Stop, match=r"too long \(error 1406\)") as stop:
        load(target, layout, [["1", "for column 'secret'"]])
    assert "secret" not in str(stop.value)


def test_a_rounding_column_is_refused_before_anything_is_written(target: MySql) -> None:
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, c DATETIME)")
    with pytest.raises(Stop, match=r"shop\.t\.c: datetime\(6\) does not fit into datetime"):
        laid_out(target, defined("CREATE TABLE t (id INT PRIMARY KEY, c DATETIME(6))"))


@WITH_TRIGGERS
def test_a_trigger_that_refuses_is_told_without_values(target: MySql) -> None:
    layout = created(target, defined("CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(20))"))
    target.execute(
        "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW "
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no ''secret'' here'"
    )
    with pytest.raises(Stop) as stop:
        load(target, layout, [["1", "x"]])
    assert str(stop.value) == "shop.t: the target refuses: no ... (error 1644)"


def test_a_row_larger_than_a_packet_is_refused_by_name(target: MySql) -> None:
    layout = created(target, defined("CREATE TABLE t (id INT PRIMARY KEY, c TEXT)"))
    bulk = MySqlBulk(target.connection, 2000, target.differences, SQL_MODE)
    rows = [["1", "x" * 900], ["2", "y" * 900], ["3", "z" * 900]]
    assert bulk.insert(layout, row_payloads(layout, rows), "stop") == 0
    assert len(contents(target, layout)) == 3
    refusal = (
        r"^shop\.t: the row of key id=4 takes 20\d\d bytes as SQL, and the target's "
        r"max_allowed_packet is 2000: SET GLOBAL max_allowed_packet there to more "
    )
    with pytest.raises(Stop, match=refusal):
        bulk.insert(layout, row_payloads(layout, [["4", "x" * 2000]]), "stop")


def test_a_privilege_that_is_missing_is_named(target: MySql, url: sa.URL) -> None:
    layout = created(target, defined("CREATE TABLE t (id INT PRIMARY KEY)"))
    name = f"u_{url.database}"
    target.execute(f"CREATE USER '{name}'@'%' IDENTIFIED BY 's3cret'")
    try:
        if target.dialect == "mysql":
            target.execute(
                f"ALTER USER '{name}'@'%' IDENTIFIED WITH mysql_native_password BY 's3cret'"
            )
        target.execute(f"GRANT SELECT ON `{url.database}`.* TO '{name}'@'%'")
        reader = open_session(url.set(username=name, password="s3cret"))
        with (
            pytest.raises(Denied, match=r"command denied.*; run GRANT") as error,
            reader.transaction(),
        ):
            reader.insert(layout, row_payloads(layout, [["1"]]), "stop")
        assert "s3cret" not in str(error.value)
        reader.close()
    finally:
        target.execute(f"DROP USER '{name}'@'%'")


# --- ENUM's index 0 ----------------------------------------------------------------------------


def test_the_invalid_index_of_an_enum_is_kept(target: MySql) -> None:
    create = "CREATE TABLE t (id INT PRIMARY KEY, `e``` ENUM('1','0','') NOT NULL, f ENUM('a'))"
    layout = created(target, defined(create))
    load(target, layout, [["1", "0", "1"], ["2", "3", "0"], ["3", "2", None], ["4", "1", None]])
    indexes = target.execute("SELECT `e```+0, f+0 FROM t ORDER BY id").fetchall()
    assert [tuple(row) for row in indexes] == [(0, 1), (3, 0), (2, None), (1, None)]
    assert "STRICT_ALL_TABLES" in str(scalar(target, "SELECT @@sql_mode"))


def test_nothing_else_slips_in_beside_an_invalid_index(target: MySql) -> None:
    create = "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a'), v VARCHAR(2))"
    layout = created(target, defined(create))
    with pytest.raises(Stop, match=r"shop\.t\.v: "):
        load(target, layout, [["1", "0", "ok"], ["2", "1", "too long"]])
    assert contents(target, layout) == []
    assert "STRICT_ALL_TABLES" in str(scalar(target, "SELECT @@sql_mode"))


# --- new tables --------------------------------------------------------------------------------


HOSTILE = ["a`b", "'; DROP TABLE t; -- ", '"q"', "per%s%", "back\\slash", "表", "sp ace", "x" * 64]


def test_keys_of_a_new_table_are_upstreams(target: MySql) -> None:
    table = defined(
        "CREATE TABLE t (a INT, b VARCHAR(99) NOT NULL, c TEXT, g INT AS (a + 1) STORED, "
        "w INT AS (a * 2) VIRTUAL, UNIQUE KEY u (b), UNIQUE KEY p (c(4)), KEY n (a, g), "
        "UNIQUE KEY v (w), KEY x ((a + 1)), KEY huge (b, c(999)))"
    )
    layout = created(target, table)
    described = target.describe(None, "t")
    assert described is not None
    assert [column.name for column in described.columns] == ["a", "b", "c", "g", "w"]
    assert [column.name for column in described.columns if column.generated] == ["w"]
    assert set(described.unique_keys) == {
        UniqueKey("u", ("b",), primary=False),
        UniqueKey("p", ("c",), primary=False, plain=False, prefixes=True),
        UniqueKey("v", ("w",), primary=False),
    }
    names = target.execute("SHOW INDEX FROM t").mappings().all()
    assert {row["Key_name"] for row in names} == {"u", "p", "n", "v"}
    assert layout.codecs == ("integer", "text", "text", "integer", "skip")


def test_defaults_say_the_same_or_nothing(target: MySql) -> None:
    created(
        target,
        defined(
            "CREATE TABLE t (id INT PRIMARY KEY, i INT NOT NULL DEFAULT 42, "
            "s VARCHAR(30) DEFAULT 'def''ault \\\\ %s', d DECIMAL(8,3) DEFAULT 12.345, "
            "t DATETIME(6) DEFAULT '2020-02-02 02:02:02.123456', b BIT(4) DEFAULT b'1010', "
            "e ENUM('p','q') DEFAULT 'q', z DATE DEFAULT '0000-00-00', "
            "x VARCHAR(9) DEFAULT x'6162', ts TIMESTAMP NULL DEFAULT '2020-02-02 02:02:02', "
            "n VARCHAR(9) DEFAULT NULL, y YEAR DEFAULT 2024)"
        ),
    )
    target.execute("INSERT INTO t (id) VALUES (1)")
    row = target.execute("SELECT i, s, d, CAST(t AS CHAR), b+0, e, x, ts, n, y FROM t").one()
    assert [str(value) for value in row] == [
        "42",
        "def'ault \\ %s",
        "12.345",
        "2020-02-02 02:02:02.123456",
        "10",
        "q",
        "ab",
        "None",
        "None",
        "2024",
    ]


def test_a_row_longer_than_mysql_allows_is_laid_out_as_text(target: MySql) -> None:
    table = defined(
        "CREATE TABLE t (id VARCHAR(700) PRIMARY KEY, a VARCHAR(16383), b VARCHAR(16000), "
        "c VARBINARY(60000), d VARCHAR(9))"
    )
    layout = created(target, table)
    described = target.describe(None, "t")
    assert described is not None
    assert [column.type for column in described.columns] == [
        "varchar(700)",
        "text",
        "text",
        "varbinary(60000)",
        "varchar(9)",
    ]
    values: list[Canonical] = ["k", "😀" * 16383, "x" * 16000, b"\xff" * 60000, "d"]
    load(target, layout, [values])
    assert [tuple(values)] == contents(target, layout)


@pytest.mark.parametrize("url", ["mysql", "mariadb"], indirect=True)
def test_a_key_too_long_for_mysql_is_told(target: MySql) -> None:
    table = defined("CREATE TABLE t (id VARCHAR(3000) CHARSET latin1 PRIMARY KEY)")
    with pytest.raises(Stop, match=r"key PRIMARY \(id\) takes 12000 bytes"):
        created(target, table)


# --- layouts -----------------------------------------------------------------------------------


def test_a_coarser_collation_of_a_unique_key_is_refused(target: MySql) -> None:
    target.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9) UNIQUE) "
        "CHARSET utf8mb4 COLLATE utf8mb4_general_ci"
    )
    upstream = "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9){})"
    with pytest.raises(Stop, match=r"shop\.t\.s: collation utf8mb4_general_ci of the unique key s"):
        laid_out(target, defined(upstream.format("")))
    laid_out(target, defined(upstream.format(" COLLATE utf8mb4_general_ci")))
    laid_out(target, defined(upstream.format("")), rules=frozenset({"same-collations"}))


COARSE = "CREATE TABLE t (k VARCHAR(9) COLLATE utf8mb4_general_ci, n INT, v INT, PRIMARY KEY ({}))"
TRUSTED = frozenset({SAME_COLLATIONS})


@pytest.mark.parametrize("key", ["k", "k, n", "n, k"])
@pytest.mark.parametrize("on_drift", ["stop", "overwrite"])
def test_a_row_under_a_trusted_collation_replaces_no_other(
    target: MySql, key: str, on_drift: str
) -> None:
    target.execute(COARSE.format(key))
    upstream = defined(COARSE.format(key).replace("general_ci", "bin"))
    layout = laid_out(target, upstream, rules=TRUSTED)
    load(target, layout, [["a", "1", "1"], ["b", "1", "2"]])
    load(target, layout, [["a", "1", "3"]])  # it is found by its own bytes
    load(target, layout, [], [[{"k": "A", "n": "1"}[column] for column in layout.key]])
    assert contents(target, layout) == [("a", 1, 3), ("b", 1, 2)]
    with pytest.raises(KeyTaken, match=r"shop\.t: "):
        load(target, layout, [["A", "1", "4"]], on_drift=on_drift)
    assert contents(target, layout) == [("a", 1, 3), ("b", 1, 2)]


def test_a_new_table_holds_apart_what_upstream_does(target: MySql) -> None:
    for number, collation in enumerate(
        ("utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_0900_ai_ci")
    ):
        table = defined(
            f"CREATE TABLE t{number} (k VARCHAR(9) COLLATE {collation} PRIMARY KEY, v INT)"
        )
        layout = created(target, table)
        apart = ["a", "b", "é" if collation == "utf8mb4_bin" else "z"]
        load(target, layout, [[key, "1"] for key in apart])
        assert len(contents(target, layout)) == 3


ALIKE = {
    "utf8mb4_bin": ["a", "A", "á", "ss", "ß", "a\N{SOFT HYPHEN}", "a\N{IDEOGRAPHIC SPACE}", " a"],
    "utf8mb4_general_ci": ["a", "a\N{SOFT HYPHEN}", "a\N{IDEOGRAPHIC SPACE}", "ss", "æ", "ae"],
    "utf8mb4_unicode_ci": ["a", "a\N{NO-BREAK SPACE}", "\N{IDEOGRAPHIC SPACE}", ""],
    "utf8mb4_0900_ai_ci": ["a", "a ", "a  "],
}
"""What each collation of TiDB holds apart, and another one may not."""


@pytest.mark.parametrize("collation", ALIKE)
def test_keys_that_look_alike_stay_apart(target: MySql, collation: str) -> None:
    create = f"CREATE TABLE t (k VARCHAR(9) COLLATE {collation} PRIMARY KEY)"
    layout = created(target, defined(create))
    for _ in range(2):
        load(target, layout, [[key] for key in ALIKE[collation]])
    assert {row[0] for row in contents(target, layout)} == set(ALIKE[collation])


IGNORED = ["葛\N{VARIATION SELECTOR-17}", "a\N{TAG LATIN SMALL LETTER A}", "\U0002f800"]


@pytest.mark.parametrize("url", ["mysql"], indirect=True)
@pytest.mark.parametrize("text", IGNORED)
def test_a_letter_that_mysql_ignores_and_tidb_does_not_stops(target: MySql, text: str) -> None:
    collation = "COLLATE utf8mb4_0900_ai_ci"
    create = (
        f"CREATE TABLE t (id INT PRIMARY KEY, k VARCHAR(9) {collation}, v VARCHAR(9) {collation}"
    )
    layout = created(target, defined(f"{create}, UNIQUE (k))"))
    load(target, layout, [["1", "葛", text]])
    with pytest.raises(Stop, match=r"shop\.t\.k: a unique key with a variation selector"):
        load(target, layout, [["2", text, "x"]])
    trusting = laid_out(
        target, defined(f"{create}, UNIQUE (k))"), rules=frozenset({SAME_COLLATIONS})
    )
    load(target, trusting, [["3", f"b{text}", "x"]])
    assert [row[0] for row in contents(target, layout)] == [1, 3]


def test_a_generated_column_of_the_target_is_left_to_it(target: MySql) -> None:
    create = "CREATE TABLE t (id INT PRIMARY KEY, g INT AS (id * 2) STORED)"
    target.execute(create)
    layout: Layout = laid_out(target, defined(create))
    assert layout.codecs == ("integer", "skip")
    load(target, layout, [["4", "8"]])
    load(target, layout, [["4", "8"]])
    assert contents(target, layout) == [(4, 8)]
