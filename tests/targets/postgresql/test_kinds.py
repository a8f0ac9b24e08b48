"""What a table of the target may be beside an ordinary one: written exactly, or refused by name."""

import os
from collections.abc import Iterator, Sequence

import pytest
import sqlalchemy as sa
from support.canonical_rows import contents, defined, laid_out, load, row_payloads
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.postgresql.bulk import FEW_ROWS
from ticdc_consumer.targets.postgresql.kinds import REFUSED
from ticdc_consumer.targets.postgresql.session import PostgreSQL

T = defined("create table t (id bigint primary key, v varchar(9))")
KEYLESS = defined("create table t (id bigint, v varchar(9))")
PLAIN = "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(9))"
# Roles belong to the whole server, which other processes of the tests use too.
READER = f"shapes_reader_{os.getpid()}"
PARTED = [
    "CREATE TABLE t (id bigint PRIMARY KEY, v varchar(9)) PARTITION BY RANGE (id)",
    "CREATE TABLE low PARTITION OF t FOR VALUES FROM (0) TO (100)",
    "CREATE TABLE high PARTITION OF t FOR VALUES FROM (100) TO (1000)",
]


@pytest.fixture
def target(postgresql_url: str) -> Iterator[PostgreSQL]:
    opened = PostgreSQL.open(sa.make_url(postgresql_url))
    yield opened
    opened.close()


REFUSALS = {
    "view": (
        ["CREATE VIEW t AS SELECT 1 AS id"],
        "t is a view, and not an ordinary or a partitioned table",
    ),
    "materialized view": (
        ["CREATE MATERIALIZED VIEW t AS SELECT 1 AS id"],
        "t is a materialized view, and not an ordinary or a partitioned table",
    ),
    "sequence": (
        ["CREATE SEQUENCE t"],
        "t is a sequence, and not an ordinary or a partitioned table",
    ),
    "foreign table": (
        [
            "CREATE FOREIGN DATA WRAPPER elsewhere",
            "CREATE SERVER far FOREIGN DATA WRAPPER elsewhere",
            "CREATE FOREIGN TABLE t (id bigint) SERVER far",
        ],
        "t is a foreign table, whose rows are not part of a transaction here",
    ),
    "index or type": (
        ["CREATE TYPE t AS (id bigint)"],
        "t is an index or a type, and not an ordinary or a partitioned table",
    ),
    "parent by INHERITS": (
        [PLAIN, 'CREATE TABLE "A child" () INHERITS (t)', "CREATE TABLE b () INHERITS (t)"],
        't has child tables by INHERITS, whose rows would count as its own: "A child", b; '
        "ALTER TABLE ... NO INHERIT t separates a child",
    ),
    "partition": (
        [
            PLAIN,
            "CREATE TABLE p (LIKE t) PARTITION BY LIST (v)",
            "ALTER TABLE p ATTACH PARTITION t DEFAULT",
        ],
        "t is a partition of p, whose statements would reach its rows; "
        "ALTER TABLE p DETACH PARTITION t separates it",
    ),
    "rule": (
        [PLAIN, 'CREATE RULE "kept" AS ON DELETE TO t DO INSTEAD NOTHING'],
        "t has rule kept, which changes some statements and is ignored by COPY; "
        "DROP RULE kept ON t helps, and a trigger can do the same work",
    ),
    "row level security": (
        [
            PLAIN,
            "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
            f"CREATE ROLE {READER}",
            f"GRANT ALL ON t TO {READER}",
            f"SET ROLE {READER}",
        ],
        f"t has row level security, which hides rows from user {READER}; "
        f"ALTER ROLE {READER} BYPASSRLS helps",
    ),
}


@pytest.fixture
def without_reader(target: PostgreSQL) -> Iterator[None]:
    drop = f"DROP OWNED BY {READER}; DROP ROLE {READER}"
    yield
    target.execute("RESET ROLE")
    if target.query("SELECT 1 FROM pg_roles WHERE rolname = %s", READER):
        target.execute(drop)


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.usefixtures("without_reader")
def test_what_is_not_written_like_a_table_is_refused_by_name(target: PostgreSQL, kind: str) -> None:
    statements, message = REFUSALS[kind]
    for statement in statements:
        target.execute(statement)
    with pytest.raises(Stop) as stop:
        target.describe("public", "t")
    assert str(stop.value) == message


CURED = [
    ("parent by INHERITS", ["ALTER TABLE b NO INHERIT t", 'ALTER TABLE "A child" NO INHERIT t']),
    ("partition", ["ALTER TABLE p DETACH PARTITION t"]),
    ("rule", ["DROP RULE kept ON t"]),
    ("row level security", ["RESET ROLE", f"ALTER ROLE {READER} BYPASSRLS"]),
]


@pytest.mark.parametrize(("kind", "cure"), CURED)
@pytest.mark.usefixtures("without_reader")
def test_a_table_is_accepted_once_the_advice_was_followed(
    target: PostgreSQL, kind: str, cure: Sequence[str]
) -> None:
    for statement in [*REFUSALS[kind][0], *cure]:
        target.execute(statement)
    if kind == "row level security":
        target.execute(f"SET ROLE {READER}")
    assert target.describe("public", "t") is not None


WRITTEN = {
    "an ordinary table": [PLAIN],
    "a partitioned table": PARTED,
    "a table with a partition in another schema": [
        "CREATE SCHEMA elsewhere",
        *PARTED[:2],
        "CREATE TABLE elsewhere.t PARTITION OF t FOR VALUES FROM (100) TO (1000)",
    ],
    "a child by INHERITS": [
        "CREATE TABLE parent (id bigint, v varchar(9))",
        "CREATE TABLE t (PRIMARY KEY (id)) INHERITS (parent)",
    ],
    "a typed table": [
        "CREATE TYPE row_of_t AS (id bigint, v varchar(9))",
        "CREATE TABLE t OF row_of_t (PRIMARY KEY (id))",
    ],
    "row level security that does not concern its owner": [
        PLAIN,
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY nothing ON t USING (false)",
    ],
    "a rule that is disabled": [
        PLAIN,
        "CREATE RULE r AS ON DELETE TO t DO INSTEAD NOTHING",
        "ALTER TABLE t DISABLE RULE r",
    ],
}


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("statements", WRITTEN.values(), ids=WRITTEN)
def test_what_is_written_like_a_table_holds_exactly_the_rows(
    target: PostgreSQL, statements: Sequence[str], many: bool
) -> None:
    for statement in statements:
        target.execute(statement)
    layout = laid_out(target, T, "public")
    rows = [(str(n), "old") for n in range(90, 110 + many * FEW_ROWS)]
    load(target, layout, rows)
    changed = [(id_, "new") for id_, _ in rows[1:]]
    load(target, layout, changed, deleted=[("90",)])
    assert contents(target, layout) == [(int(id_), v) for id_, v in changed]


KEYS = [("1",), ("2",)]


@pytest.mark.parametrize("create", [PLAIN, "CREATE TABLE t (id bigint, v varchar(9), u int)"])
def test_a_table_that_becomes_a_parent_keeps_its_childrens_rows(
    target: PostgreSQL, create: str
) -> None:
    target.execute(create)
    layout = laid_out(target, T if create == PLAIN else KEYLESS, "public")
    rows = [("1", "a"), ("2", "b")]
    with target.transaction():
        target.insert(layout, row_payloads(layout, rows), "stop")
    target.execute("CREATE TABLE child () INHERITS (t)")
    target.execute("INSERT INTO child (id, v) VALUES (1, 'a'), (2, 'mine')")
    if layout.key:
        assert load(target, layout, deleted=KEYS) == (2, 0)
    else:
        with target.transaction():
            assert target.delete_rows(layout, row_payloads(layout, rows)) == 2
    assert target.query("SELECT id, v FROM ONLY t") == []
    assert target.query("SELECT id, v FROM child ORDER BY id") == [(1, "a"), (2, "mine")]


def test_what_is_in_the_way_is_cleared_in_the_table_itself(target: PostgreSQL) -> None:
    target.execute("CREATE TABLE t (id bigint PRIMARY KEY, v varchar(9) UNIQUE)")
    layout = laid_out(target, T, "public")
    load(target, layout, [("7", "a")])
    target.execute("CREATE TABLE child () INHERITS (t)")
    target.execute("INSERT INTO child VALUES (8, 'a')")
    assert load(target, layout, [("1", "a")], on_drift="overwrite") == (0, 1)
    assert target.query("SELECT id FROM t ORDER BY id") == [(1,), (8,)]


def test_a_trigger_of_a_partition_counts_as_the_tables(target: PostgreSQL) -> None:
    for statement in [
        *PARTED,
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TRIGGER own AFTER INSERT ON high FOR EACH ROW EXECUTE FUNCTION f()",
        "CREATE TRIGGER shared AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
    ]:
        target.execute(statement)
    described = target.describe("public", "t")
    assert described is not None
    assert described.triggers == ("own", "shared")


def test_a_row_that_no_partition_takes_stops(target: PostgreSQL) -> None:
    for statement in PARTED:
        target.execute(statement)
    layout = laid_out(target, T, "public")
    with pytest.raises(Stop, match=r"shop\.t: no partition of relation"):
        load(target, layout, [("5000", "x")])
