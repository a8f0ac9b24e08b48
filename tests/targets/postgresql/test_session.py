import json
import time
from collections.abc import Iterator
from contextlib import nullcontext

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
from ticdc_consumer.errors import Denied, Retry, Stop, Unavailable
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import Reference
from ticdc_consumer.targets.postgresql.bulk import FEW_ROWS
from ticdc_consumer.targets.postgresql.create import add_reference
from ticdc_consumer.targets.postgresql.session import PostgreSQL
from ticdc_consumer.targets.rules import ZERO_DATE_AS_NULL
from ticdc_encoder.column import BINARIES

USERS = (
    "create table users (id bigint primary key, mail varchar(40), name text, unique mail (mail))"
)
PLAIN = "create table plain (id bigint primary key, name text, b blob)"


@pytest.fixture
def target(postgresql_url: str) -> Iterator[PostgreSQL]:
    opened = PostgreSQL.open(sa.make_url(postgresql_url))
    yield opened
    opened.close()


@pytest.fixture
def other(postgresql_url: str) -> Iterator[PostgreSQL]:
    opened = PostgreSQL.open(sa.make_url(postgresql_url))
    yield opened
    opened.close()


# --- values --------------------------------------------------------------------------------------


MOMENT = "to_char({c}, 'YYYY-MM-DD HH24:MI:SS.US')"
SHOWN = {
    "datetime": MOMENT,
    "timestamp": MOMENT,
    "date": "to_char({c}, 'YYYY-MM-DD')",
    # Days and months of an interval would be shown beside its hours.
    "time": "{c}::text",
    "vector": "array_to_json({c})::text",
} | dict.fromkeys(BINARIES, "{c}")


def expected(value: str | bytes | None, kind: str) -> object:
    """A value of the golden states, as `SHOWN` or else a cast to text reads it back."""
    if value is None or kind in BINARIES:
        return value
    if isinstance(value, bytes):
        return str(int.from_bytes(value, "big"))
    whole, _, fraction = value.partition(".")
    match kind:
        case "datetime" | "timestamp":
            return f"{whole}.{fraction:0<6}"
        case "time":
            fraction = fraction.rstrip("0")
            return f"{whole}.{fraction}" if fraction else whole
        case "year":
            return str(int(value))
        case "float" | "double":
            # The golden set has six digits of a FLOAT in e form.
            return pytest.approx(float(value), rel=1e-5)
        case "vector":
            return pytest.approx(json.loads(value), rel=1e-6)
        case _:
            return value


@pytest.mark.parametrize("table", ["alltypes", "single", "notnull", "autor", "tz", "vec", "gens"])
def test_every_type_survives_at_its_bounds(target: PostgreSQL, table: str) -> None:
    golden = scenario("types")
    create = next(t.create for t in golden.tables if t.table == table and t.create)
    upstream = defined(create, "typedb")
    state = golden.states[-1].tables[f"typedb.{table}"]
    layout = created(target, upstream)
    kinds = {column.name: column.type for column in upstream.columns}
    rows = [dict(zip(state.columns, row, strict=True)) for row in state.rows]
    load(
        target,
        layout,
        [[from_text(row[column.name], column.type) for column in layout.source] for row in rows],
    )
    described = target.describe(None, upstream.name)
    assert described is not None
    present = {column.name for column in described.columns}
    stored = [column.name for column in upstream.columns if column.name in present]
    columns = [SHOWN.get(kinds[name].name, "{c}::text").format(c=f'"{name}"') for name in stored]
    statement = f"SELECT {', '.join(columns)} FROM {layout.relation} t ORDER BY t.id"  # noqa: S608
    read = target.execute(statement).all()
    for got, row in zip(read, rows, strict=True):
        for name, value in zip(stored, got, strict=True):
            kind = kinds[name].name
            if value is not None and kind in ("float", "double", "vector"):
                value = json.loads(value)
            assert value == expected(row[name], kind), name


def test_zero_and_partial_dates_are_refused_or_null_by_rule(target: PostgreSQL) -> None:
    upstream = defined("create table z (id int primary key, d date, n datetime not null)")
    layout = created(target, upstream)
    moment = "2024-01-01 00:00:00"
    with pytest.raises(Stop, match=r"shop\.z\.d: a date that PostgreSQL does not have .*id='2'"):
        load(target, layout, [["1", "2024-01-01", moment], ["2", "2024-00-10", moment]])
    by_rule = laid_out(target, upstream, rules=frozenset({ZERO_DATE_AS_NULL}))
    load(target, by_rule, [["2", "2024-00-10", moment]])
    assert contents(target, by_rule)[0][1] is None
    with pytest.raises(Stop, match=r"shop\.z\.n: a date"):
        load(target, by_rule, [["3", None, "0000-00-00 00:00:00"]])


# --- rows ----------------------------------------------------------------------------------------


def some(count: int, text: str = "x") -> list[list[str | bytes | None]]:
    return [[str(i), f"{text}{i}\t\\\n", bytes([i % 256])] for i in range(count)]


@pytest.mark.parametrize("count", [1, FEW_ROWS, FEW_ROWS + 1, 500])
def test_rows_are_upserted_and_deleted_in_any_number(target: PostgreSQL, count: int) -> None:
    layout = created(target, defined(PLAIN))
    assert layout.upsert
    load(target, layout, some(count, "old"))
    load(target, layout, some(count, "new"))
    assert contents(target, layout) == [
        (i, f"new{i}\t\\\n", bytes([i % 256])) for i in range(count)
    ]
    deleted, _ = load(target, layout, deleted=[[str(i)] for i in range(1, count + 5)])
    assert deleted == count - 1
    assert [row[0] for row in contents(target, layout)] == [0]


CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
VALUES = st.tuples(st.none() | st.text(CHARACTERS), st.none() | st.binary())


def test_a_row_in_the_way_stops_with_table_and_unique_key(target: PostgreSQL) -> None:
    layout = created(target, defined(USERS))
    load(target, layout, [["1", "a@x", "secret"]])
    with pytest.raises(Stop) as stopped:
        load(target, layout, [["2", "a@x", "hidden"]])
    assert str(stopped.value) == (
        "shop.users: another row of the target has the same value of the unique key "
        "users_mail_f65acdea"
    )
    assert "hidden" not in str(stopped.value)
    assert len(contents(target, layout)) == 1


@pytest.mark.parametrize(
    ("index", "rows", "cleared"),
    [
        ("(mail)", [["9", "a@x", "n"]], 1),
        ("(mail)", [["9", None, "n"]], 0),
        ("(lower(mail))", [["9", "A@X", "n"]], 1),
        ("(mail) WHERE name <> 'free'", [["9", "a@x", "n"]], 1),
        ("(mail) WHERE name <> 'free'", [["9", "a@x", "free"]], 0),
        ("(left(name, 2), mail)", [["9", "a@x", "n1x"], ["8", "b@x", "n2y"]], 2),
    ],
)
def test_rows_in_the_way_are_cleared_and_counted(
    target: PostgreSQL, index: str, rows: list[list[str | bytes | None]], cleared: int
) -> None:
    upstream = defined("create table users (id bigint primary key, mail varchar(40), name text)")
    created(target, upstream)
    target.execute(f"CREATE UNIQUE INDEX drift ON users {index}")
    layout = laid_out(target, upstream)
    assert not layout.upsert
    load(target, layout, [["1", "a@x", "n1"], ["2", "b@x", "n2"], ["3", None, "n3"]])
    assert load(target, layout, rows, on_drift="overwrite")[1] == cleared
    assert len(contents(target, layout)) == 3 + len(rows) - cleared


def test_identities_and_generated_columns_are_respected(target: PostgreSQL) -> None:
    upstream = defined("create table ids (id bigint primary key, n int, g int as (n * 2) stored)")
    target.execute(
        "CREATE TABLE ids (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        "n integer GENERATED ALWAYS AS IDENTITY, "
        "g integer GENERATED ALWAYS AS (n * 2) STORED, d text NOT NULL DEFAULT 'd')"
    )
    described = target.describe(None, "ids")
    assert described is not None
    assert [column.identity_always for column in described.columns] == [True, True, False, False]
    layout = laid_out(target, upstream)
    assert not layout.upsert
    load(target, layout, [["7", "5", "0"]])
    load(target, layout, [["7", "6", "0"]], on_drift="overwrite")
    assert contents(target, layout) == [(7, 6, 12, "d")]
    target.execute("ALTER TABLE ids ALTER n DROP IDENTITY")
    layout = laid_out(target, upstream)
    assert layout.upsert
    load(target, layout, [["7", "8", "0"]])
    load(target, layout, [[str(i), "8", "0"] for i in range(7, 40)])
    assert contents(target, layout)[0] == (7, 8, 16, "d")


# --- the catalog ---------------------------------------------------------------------------------


def test_a_table_is_described_with_all_that_can_clash(target: PostgreSQL) -> None:
    for statement in (
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE d (id int PRIMARY KEY, m mood DEFAULT 'ok', n text COLLATE \"C\", "
        "v varchar(3), UNIQUE (v) DEFERRABLE)",
        "CREATE UNIQUE INDEX part ON d (v) WHERE id > 0",
        "CREATE UNIQUE INDEX expr ON d (lower(v), id) INCLUDE (n)",
        "CREATE INDEX many ON d (m)",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER rows AFTER INSERT ON d FOR EACH ROW EXECUTE FUNCTION f()",
        "CREATE TRIGGER off AFTER INSERT ON d FOR EACH ROW EXECUTE FUNCTION f()",
        "ALTER TABLE d DISABLE TRIGGER off",
        "CREATE TRIGGER whole AFTER INSERT ON d FOR EACH STATEMENT EXECUTE FUNCTION f()",
    ):
        target.execute(statement)
    described = target.describe("public", "d")
    assert described is not None
    keys = {key.name: key for key in described.unique_keys}
    assert keys["d_pkey"].primary and keys["d_pkey"].columns == ("id",)
    assert keys["d_v_key"].deferrable
    assert {name for name, key in keys.items() if not key.plain} == {"part", "expr"}
    assert "many" not in keys
    assert described.triggers == ("rows",)
    columns = {column.name: column for column in described.columns}
    assert columns["m"].elements == ("sad", "ok") and columns["m"].has_default
    assert columns["v"].type == "character varying(3)"
    assert columns["n"].collation == "C"
    assert columns["v"].collation == "default"
    assert target.describe("public", "none") is None
    target.execute("CREATE VIEW v AS SELECT 1")
    with pytest.raises(Stop, match="v is a view, and not an ordinary"):
        target.describe(None, "v")


FORGETFUL = [
    (
        ["CREATE UNLOGGED TABLE t (id int PRIMARY KEY)"],
        "t is UNLOGGED: a crash of the server empties it, and R would stay; "
        "ALTER TABLE t SET LOGGED helps",
    ),
    (
        [
            "CREATE TABLE t (id int PRIMARY KEY) PARTITION BY RANGE (id)",
            "CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (9)",
            'CREATE UNLOGGED TABLE "High ones" PARTITION OF t FOR VALUES FROM (9) TO (99)',
        ],
        '"High ones" is UNLOGGED: a crash of the server empties it, and R would stay; '
        'ALTER TABLE "High ones" SET LOGGED helps',
    ),
    (
        [
            "CREATE TABLE t (id int PRIMARY KEY) PARTITION BY RANGE (id)",
            "CREATE TABLE c PARTITION OF t FOR VALUES FROM (0) TO (9) PARTITION BY RANGE (id)",
            "CREATE UNLOGGED TABLE grandchild PARTITION OF c FOR VALUES FROM (0) TO (9)",
        ],
        "grandchild is UNLOGGED: a crash of the server empties it, and R would stay; "
        "ALTER TABLE grandchild SET LOGGED helps",
    ),
    (
        ["CREATE TEMPORARY TABLE t (id int PRIMARY KEY)"],
        "t is a temporary table, which ends with its session",
    ),
    (
        [
            "CREATE FOREIGN DATA WRAPPER elsewhere",
            "CREATE SERVER far FOREIGN DATA WRAPPER elsewhere",
            "CREATE TABLE t (id int) PARTITION BY RANGE (id)",
            "CREATE FOREIGN TABLE remote PARTITION OF t FOR VALUES FROM (0) TO (9) SERVER far",
        ],
        "remote is a foreign table, whose rows are not part of a transaction here",
    ),
]


@pytest.mark.parametrize(("statements", "message"), FORGETFUL)
def test_a_table_that_may_lose_what_was_committed_is_refused(
    target: PostgreSQL, statements: list[str], message: str
) -> None:
    for statement in statements:
        target.execute(statement)
    schema = "public"
    if "TEMPORARY" in statements[0]:
        schema = str(target.execute("SELECT pg_my_temp_schema()::regnamespace::text").scalar())
    with pytest.raises(Stop) as stop:
        target.describe(schema, "t")
    assert str(stop.value) == message


def test_the_suggested_statement_makes_a_table_acceptable(target: PostgreSQL) -> None:
    target.execute('CREATE UNLOGGED TABLE "a b" (id int PRIMARY KEY)')
    with pytest.raises(Stop, match="UNLOGGED") as stop:
        target.describe(None, "a b")
    target.execute(str(stop.value).partition("; ")[2].removesuffix(" helps"))
    assert target.describe(None, "a b") is not None


def test_a_partitioned_table_has_no_rows_to_lose(target: PostgreSQL) -> None:
    target.execute("CREATE TABLE t (id int PRIMARY KEY) PARTITION BY RANGE (id)")
    target.execute("CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (9)")
    assert target.describe(None, "t") is not None


def test_own_tables_that_may_lose_what_was_committed_are_refused(target: PostgreSQL) -> None:
    store = Store(target, "shop")
    assert store.start(1.0) is None
    target.execute("ALTER TABLE ticdc_offset SET UNLOGGED")
    for use in (store.read, lambda: store.start(1.0)):
        with pytest.raises(Stop, match=r"ticdc_offset is UNLOGGED.* SET LOGGED helps"):
            use()
    target.execute("ALTER TABLE ticdc_offset SET LOGGED")
    assert store.start(1.0) is None


# --- foreign keys --------------------------------------------------------------------------------

PARENT = defined("create table parent (id int primary key, u int, unique key u (u))")
CHILD = defined("create table child (id int primary key, p int)")


def family(target: PostgreSQL, how: str) -> None:
    created(target, PARENT)
    created(target, CHILD)
    target.execute(f"ALTER TABLE child ADD CONSTRAINT fk FOREIGN KEY (p) REFERENCES parent {how}")


def children_first(target: PostgreSQL) -> None:
    """Deletes the parent and inserts it again, with another child, in the other order."""
    parent, child = laid_out(target, PARENT), laid_out(target, CHILD)
    with target.transaction():
        target.insert(child, row_payloads(child, [["1", "1"]]), "stop")
        target.insert(parent, row_payloads(parent, [["1", "5"]]), "stop")
    load(target, parent, [["1", "6"]])
    assert contents(target, child) == [(1, 1)]
    assert contents(target, parent) == [(1, 6)]


@pytest.mark.parametrize("how", ["DEFERRABLE", "", "ON DELETE CASCADE", "ON DELETE RESTRICT"])
def test_foreign_keys_wait_or_are_switched_off(target: PostgreSQL, how: str) -> None:
    family(target, how)
    described = target.describe(None, "parent")
    assert described is not None and described.strict_foreign_keys == ()
    children_first(target)


def test_a_deferred_foreign_key_is_checked_at_commit(target: PostgreSQL) -> None:
    family(target, "DEFERRABLE")
    child = laid_out(target, CHILD)
    with pytest.raises(Stop, match=r'child: .*foreign key constraint "fk".*Key \(p\)=\(9\)'):
        load(target, child, [["1", "9"]])
    assert contents(target, child) == []


@pytest.mark.parametrize(
    ("child", "kept"),
    [
        ("child (id int PRIMARY KEY, p int)", "NOT VALID"),
        ("child (id int PRIMARY KEY, p int) PARTITION BY RANGE (id)", "left out"),
    ],
)
@pytest.mark.parametrize("within", [True, False])
def test_a_violated_foreign_key_is_not_valid_or_left_out(
    target: PostgreSQL, child: str, kept: str, within: bool, caplog: pytest.LogCaptureFixture
) -> None:
    if kept == "left out" and target.query("SHOW server_version_num")[0][0] >= "180000":
        kept = "NOT VALID"
    created(target, PARENT)
    target.execute(f"CREATE TABLE {child}")
    if "PARTITION" in child:
        target.execute("CREATE TABLE part PARTITION OF child FOR VALUES FROM (0) TO (9)")
    target.execute("INSERT INTO child VALUES (1, 9)")
    added = Reference("fk", ("p",), None, "parent", ("id",))
    with target.transaction() if within else nullcontext():
        target.run_ddl(add_reference(target, None, "child", added))
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.endswith(f" is {kept}: rows of the upstream violate it")
    assert len(target.references(None, "child")) == (kept == "NOT VALID")


def test_rows_that_violate_a_not_valid_key_are_rewritten(
    target: PostgreSQL,
) -> None:
    family(target, "DEFERRABLE INITIALLY DEFERRED NOT VALID")
    target.execute("SET session_replication_role = replica")
    target.execute("INSERT INTO child VALUES (1, 9)")
    target.execute("SET session_replication_role = origin")
    target.execute("DELETE FROM child")
    child = laid_out(target, CHILD)
    load(target, child, [["1", "9"]])
    assert contents(target, child) == [(1, 9)]


@pytest.mark.parametrize(
    ("how", "help_"),
    [
        ("", 'ALTER TABLE child ALTER CONSTRAINT "fk" DEFERRABLE'),
        (
            "ON DELETE CASCADE DEFERRABLE",
            'ALTER TABLE child DROP CONSTRAINT "fk", ADD CONSTRAINT "fk" '
            "FOREIGN KEY (p) REFERENCES parent(id) DEFERRABLE",
        ),
        (
            "ON UPDATE SET NULL",
            'ALTER TABLE child DROP CONSTRAINT "fk", ADD CONSTRAINT "fk" '
            "FOREIGN KEY (p) REFERENCES parent(id) DEFERRABLE",
        ),
    ],
)
def test_a_foreign_key_that_cannot_wait_names_the_helping_alter(
    target: PostgreSQL, how: str, help_: str
) -> None:
    family(target, how)
    # A trigger must fire, so this session may not switch the table's triggers off.
    target.execute(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
    )
    for table in ("parent", "child"):
        target.execute(f"CREATE TRIGGER t AFTER INSERT ON {table} EXECUTE FUNCTION f()")
        described = target.describe(None, table)
        assert described is not None and described.strict_foreign_keys == (("fk", help_),)
    target.execute(help_)
    children_first(target)


def test_a_user_who_may_not_disable_foreign_keys_is_told_of_them(
    target: PostgreSQL, postgresql_url: str
) -> None:
    family(target, "")
    role = f"r{target.engine.url.database}"
    target.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'hush'")
    try:
        url = sa.make_url(postgresql_url).set(username=role, password="hush")
        limited = PostgreSQL.open(url)
        described = limited.describe("public", "child")
        assert described is not None
        assert [name for name, _ in described.strict_foreign_keys] == ["fk"]
        layout = limited.layout(CHILD, ("id",), described, None, frozenset())
        with pytest.raises(Denied, match=r"missing: permission denied for .*child; run (.*), th"):
            load(limited, layout, [["1", None]])
        with pytest.raises(Denied, match="run GRANT pg_read_all_stats"):
            limited.end_session(target.session_id())
        limited.close()
    finally:
        target.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


# --- errors and sessions -------------------------------------------------------------------------


def test_an_unreachable_server_is_named_without_its_password(postgresql_url: str) -> None:
    url = sa.make_url(postgresql_url).set(host="127.0.0.1", port=1, password="hush")
    with pytest.raises(Unavailable, match=r"cannot connect to PostgreSQL at 127\.0\.0\.1:1/") as no:
        PostgreSQL.open(url)
    assert "hush" not in str(no.value)
    with pytest.raises(Unavailable, match="does not exist"):
        PostgreSQL.open(sa.make_url(postgresql_url).set(database="no such"))


def test_a_lock_that_another_holds_is_a_passing_refusal(
    target: PostgreSQL, other: PostgreSQL
) -> None:
    layout = created(target, defined(PLAIN))
    load(target, layout, some(1))
    target.execute("SET lock_timeout = '50ms'")
    with other.transaction():
        other.execute("LOCK TABLE plain")
        with pytest.raises(Retry):
            load(target, layout, some(1))
    load(target, layout, some(1))


@pytest.mark.parametrize(
    ("column", "constraint", "message"),
    [
        ("v integer NOT NULL", "", r"shop\.c\.v: null value in column"),
        ("v integer", "CHECK (v < 5)", r'shop\.c: .*check constraint "c_v_check"'),
        ("v integer", ", EXCLUDE (v WITH =)", r"shop\.c: .*Key \(v\)=\(7\) conflicts with"),
    ],
)
def test_a_row_that_a_constraint_refuses_stops_with_its_name(
    target: PostgreSQL, column: str, constraint: str, message: str
) -> None:
    target.execute(f"CREATE TABLE c (id integer PRIMARY KEY, {column} {constraint})")
    layout = laid_out(target, defined("create table c (id int primary key, v int)"))
    null = "NOT NULL" in column
    with pytest.raises(Stop, match=message):
        load(target, layout, [[str(i), None if null else "7"] for i in range(30)])


def test_a_value_that_does_not_fit_is_hidden_its_column_named(
    target: PostgreSQL,
) -> None:
    target.execute("CREATE TABLE w (id integer PRIMARY KEY, v bit(3), u integer UNIQUE)")
    upstream = defined("create table w (id int primary key, v bit(3), u set('a','b'))")
    layout = laid_out(target, upstream)
    with pytest.raises(
        Stop, match=r"shop\.w\.u: PostgreSQL refuses .*NumericValueOutOfRange"
    ) as no:
        load(target, layout, [["1", "1", "99999999999"]])
    assert "99999999999" not in str(no.value)


def test_a_table_that_went_away_stops_by_name(target: PostgreSQL) -> None:
    layout = created(target, defined(PLAIN))
    target.execute("DROP TABLE plain")
    with pytest.raises(Stop, match=r'shop\.plain: relation "plain" does not exist'):
        load(target, layout, some(1))


# --- DDL -----------------------------------------------------------------------------------------

HOSTILE = ['a"b', "a'b", "a;b -- c", "a`b", "a%sb", "100%", "Größe 😀", "a\\b", "ab{}", ":x $1"]


@pytest.mark.parametrize("name", ["a\0b", "é" * 32, ""])
def test_a_name_that_cannot_be_is_refused(target: PostgreSQL, name: str) -> None:
    with pytest.raises(Stop, match="the name"):
        target.quote("public", name)


def test_a_created_table_has_upstreams_keys_defaults_and_indexes(target: PostgreSQL) -> None:
    upstream = defined(
        "create table t (id int, h varchar(50) not null, long_ text, b varbinary(90), "
        "at timestamp(3) default current_timestamp(3), n decimal(9,2) default '1.50', "
        "s varchar(9) default 'it''s', bits bit(4) default b'101', v int as (id + 1) virtual, "
        "g int as (id + 2) stored, "
        "unique key h (h), unique key pre (long_(3)), unique key bp (b(2)), key plain_ (g), "
        "key on_v (v), key deep (long_))"
    )
    layout = created(target, upstream)
    assert layout.key == ("h",)
    load(target, layout, [["1", "h1", "abcd", b"abc", None, None, None, None, None, "3"]])
    rows = target.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 't'").scalars().all()
    parts = sorted(row.partition(" USING btree ")[2] for row in rows)
    assert parts == [
        "(SUBSTRING(b FROM 1 FOR 2))",
        "(SUBSTRING(long_ FROM 1 FOR 3))",
        "(g)",
        "(h)",
        "(v)",
    ]
    with pytest.raises(Stop, match="the same value of the unique key t_pre_"):
        load(target, layout, [["2", "h2", "abce", b"x", None, None, None, None, None, "3"]])
    target.execute("INSERT INTO t (id, h) VALUES (5, 'd')")
    (row,) = target.execute("SELECT n, s, bits, at IS NOT NULL FROM t WHERE id = 5").all()
    assert [str(value) for value in row] == ["1.50", "it's", "5", "True"]
    columns = target.describe(None, "t")
    assert columns is not None
    assert {c.name: c.collation for c in columns.columns if c.collation} == {
        "h": "C",
        "long_": "C",
        "s": "default",
    }


DEFAULTS = (
    "bytea_output = 'escape'",
    "client_encoding = 'LATIN1'",
    "datestyle = 'German, DMY'",
    "default_transaction_isolation = 'serializable'",
    "extra_float_digits = -15",
    "idle_in_transaction_session_timeout = '100ms'",
    "idle_session_timeout = '100ms'",
    "intervalstyle = 'sql_standard'",
    "jit = on",
    "quote_all_identifiers = on",
    "search_path = elsewhere, public",
    "standard_conforming_strings = off",
    "statement_timeout = '100ms'",
    "timezone = 'America/Caracas'",
)


def test_a_read_only_database_is_read_and_not_written(
    postgresql_url: str,
) -> None:
    parsed = sa.make_url(postgresql_url)
    before = PostgreSQL.open(parsed)
    layout = created(before, defined(PLAIN))
    before.execute(f'ALTER DATABASE "{parsed.database}" SET default_transaction_read_only = on')
    before.close()
    target = PostgreSQL.open(parsed)
    assert not target.has_rows(None, "plain")
    with pytest.raises(Unavailable, match="default_transaction_read_only is on for this user, dat"):
        load(target, layout, [("1", "a", b"")])
    with pytest.raises(Unavailable, match="default_transaction_read_only is on"):
        Store(target, "shop").start(1.0)
    target.close()


def test_what_a_database_has_as_its_defaults_changes_nothing(postgresql_url: str) -> None:
    of = "create table m (id bigint primary key, n double, t varchar(9), d date, at timestamp(3))"
    moment = "2024-03-01 02:03:04.567"
    rows: list[list[str | None]] = [
        ["1", "0.1", "\\'é", "2024-02-29", moment],
        ["2", "0.10000000000000002", "表", None, None],
    ]
    parsed = sa.make_url(postgresql_url)
    before = PostgreSQL.open(parsed)
    for default in DEFAULTS:
        before.execute(f'ALTER DATABASE "{parsed.database}" SET {default}')
    before.close()
    target = PostgreSQL.open(parsed)
    assert target.query("SHOW jit") == [("off",)]
    pid = target.session_id()
    layout = created(target, defined(of))
    load(target, layout, rows)
    keyless = created(target, defined("create table k (n double)"))
    with target.transaction():
        assert target.execute("SELECT pg_sleep(0.2)").rowcount == 1
        time.sleep(0.2)
        target.insert(keyless, row_payloads(keyless, [["0.1"], ["0.10000000000000002"]]), "stop")
        assert target.delete_rows(keyless, row_payloads(keyless, [["0.1"]])) == 1
    time.sleep(0.2)
    assert target.session_id() == pid
    assert target.query("SELECT n::text FROM k") == [("0.10000000000000002",)]
    shown = "id, n::text, t, to_char(d, 'YYYY-MM-DD'), to_char(at, 'YYYY-MM-DD HH24:MI:SS.MS')"
    found = target.query(f"SELECT {shown} FROM m ORDER BY id")  # noqa: S608
    target.close()
    assert found == [(int(row[0] or 0), *row[1:]) for row in rows]


def test_a_key_too_long_for_an_index_is_named_with_the_way_on(target: PostgreSQL) -> None:
    layout = created(target, defined("create table t (k text, primary key (k(255)))"))
    digits = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(2_000))  # no compression helps
    with pytest.raises(Stop, match=r"t_pkey.*\(54000\); if it is an index: drop it in the target"):
        load(target, layout, [[digits]])
    assert load(target, layout, deleted=[[digits]]) == (0, 0)
