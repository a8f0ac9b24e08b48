"""What a table of the target may be beside an ordinary one: written exactly, or refused by name."""

from collections.abc import Iterator, Sequence

import pytest
import sqlalchemy as sa
from support.canonical_rows import contents, defined, laid_out, load
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.mysql.dialects import MARIADB
from ticdc_consumer.targets.mysql.kinds import BY_DEFINITION, REFUSED, Relation, refuse
from ticdc_consumer.targets.mysql.session import MySql, open_session

T = defined("create table t (id bigint primary key, v int)")
PLAIN = "CREATE TABLE t (id BIGINT PRIMARY KEY, v INT)"


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Iterator[MySql]:
    session = open_session(sa.make_url(request.getfixturevalue(f"{request.param}_url")))
    yield session
    session.close()


REFUSALS = [
    ("view or sequence", "mysql", ["CREATE VIEW t AS SELECT 1 AS id"], "not a table but a view"),
    ("view or sequence", "mariadb", ["CREATE VIEW t AS SELECT 1 AS id"], "not a table but a view"),
    ("view or sequence", "mariadb", ["CREATE SEQUENCE t"], "not a table but a sequence"),
    ("view or sequence", "tidb", ["CREATE VIEW t AS SELECT 1 AS id"], "not a table but a view"),
    ("view or sequence", "tidb", ["CREATE SEQUENCE t"], "not a table but a sequence"),
    *(
        (
            "engine without transactions",
            server,
            [f"CREATE TABLE t (id BIGINT NOT NULL) ENGINE={engine}"],
            f"the target's engine {engine} has no transactions; "
            r"ALTER TABLE `\w+`\.`t` ENGINE=InnoDB helps",
        )
        for server, engines in (
            ("mysql", ("MyISAM", "MEMORY", "ARCHIVE", "BLACKHOLE", "CSV")),
            ("mariadb", ("MyISAM", "MEMORY", "Aria", "CSV")),
        )
        for engine in engines
    ),
    (
        "key without overlaps",
        "mariadb",
        [
            "CREATE TABLE t (id BIGINT, a DATE, b DATE, PERIOD FOR p (a, b), "
            "UNIQUE (id, p WITHOUT OVERLAPS))"
        ],
        r"\.t has a key WITHOUT OVERLAPS",
    ),
    (
        "temporary table",
        "tidb",
        ["CREATE GLOBAL TEMPORARY TABLE t (id BIGINT PRIMARY KEY) ON COMMIT DELETE ROWS"],
        r"\.t is a temporary table, whose rows do not outlive their transaction",
    ),
    (
        "table with a TTL",
        "tidb",
        ["CREATE TABLE t (id BIGINT PRIMARY KEY, d DATETIME) TTL = d + INTERVAL 1 DAY"],
        r"\.t has a TTL, by which the target would delete rows itself; "
        r"ALTER TABLE `\w+`\.`t` TTL_ENABLE = 'OFF' helps",
    ),
]


@pytest.mark.parametrize(
    ("target", "statements", "message"),
    [case[1:] for case in REFUSALS],
    indirect=["target"],
)
def test_what_is_not_written_like_a_table_is_refused_by_name(
    target: MySql, statements: Sequence[str], message: str
) -> None:
    for statement in statements:
        target.execute(statement)
    with pytest.raises(Stop, match=message):
        target.describe(None, "t")


def test_an_engine_that_commits_alone_is_refused() -> None:
    """As MariaDB's catalog has FEDERATED, which few servers have."""
    relation = Relation("shop.t", "`shop`.`t`", "BASE TABLE", "FEDERATED", "YES", "NO")
    with pytest.raises(Stop, match="engine FEDERATED does not commit together with other engines"):
        refuse(relation, MARIADB, lambda: "")


def test_every_kind_that_is_refused_has_a_case() -> None:
    cases = {kind for kind, *_ in REFUSALS} | {"engine that commits alone"}
    assert cases == REFUSED.keys() | BY_DEFINITION.keys()


@pytest.mark.parametrize("target", ["tidb"], indirect=True)
def test_a_table_whose_ttl_is_off_is_accepted(target: MySql) -> None:
    target.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, d DATETIME) TTL = d + INTERVAL 1 DAY")
    with pytest.raises(Stop) as stop:
        target.describe(None, "t")
    target.execute(str(stop.value).partition("; ")[2].partition(" helps")[0])
    assert target.describe(None, "t") is not None


WRITTEN = {
    "a table partitioned by its key": (
        ["mysql", "mariadb", "tidb"],
        PLAIN + " PARTITION BY HASH (id) PARTITIONS 3",
    ),
    "a table of the server's own key": (
        ["tidb"],
        "CREATE TABLE t (id BIGINT AUTO_RANDOM PRIMARY KEY, v INT)",
    ),
    "a table whose TTL is off": (
        ["tidb"],
        "CREATE TABLE t (id BIGINT PRIMARY KEY, v INT, d DATETIME) "
        "TTL = d + INTERVAL 1 DAY TTL_ENABLE = 'OFF'",
    ),
    "a table of a period": (
        ["mariadb"],
        "CREATE TABLE t (id BIGINT PRIMARY KEY, v INT, a DATE DEFAULT '2020-01-01', "
        "b DATE DEFAULT '2020-01-02', PERIOD FOR p (a, b))",
    ),
    "an invisible column": (
        ["mariadb"],
        "CREATE TABLE t (id BIGINT PRIMARY KEY, v INT, w INT INVISIBLE DEFAULT 3)",
    ),
    "an invisible key": (
        ["mariadb"],
        "CREATE TABLE t (row_id BIGINT AUTO_INCREMENT INVISIBLE PRIMARY KEY, "
        "id BIGINT NOT NULL UNIQUE, v INT)",
    ),
    "an invisible column of upstream's": (
        ["mariadb"],
        "CREATE TABLE t (id BIGINT PRIMARY KEY, v INT INVISIBLE)",
    ),
    "a system-versioned table": (["mariadb"], PLAIN + " WITH SYSTEM VERSIONING"),
    "a system-versioned table with columns of its periods": (
        ["mariadb"],
        "CREATE TABLE t (id BIGINT PRIMARY KEY, v INT, "
        "a TIMESTAMP(6) GENERATED ALWAYS AS ROW START INVISIBLE, "
        "b TIMESTAMP(6) GENERATED ALWAYS AS ROW END INVISIBLE, "
        "PERIOD FOR SYSTEM_TIME (a, b)) WITH SYSTEM VERSIONING",
    ),
    "a system-versioned table by transactions": (
        ["mariadb"],
        "CREATE TABLE t (id BIGINT PRIMARY KEY, v INT, "
        "a BIGINT UNSIGNED GENERATED ALWAYS AS ROW START, "
        "b BIGINT UNSIGNED GENERATED ALWAYS AS ROW END, "
        "PERIOD FOR SYSTEM_TIME (a, b)) WITH SYSTEM VERSIONING",
    ),
}


@pytest.mark.parametrize(
    ("target", "create"),
    [
        pytest.param(server, create, id=f"{kind}-{server}")
        for kind, (servers, create) in WRITTEN.items()
        for server in servers
    ],
    indirect=["target"],
)
@pytest.mark.parametrize("more", ["", ", ADD UNIQUE another (v, id)"], ids=["upsert", "replace"])
def test_what_is_written_like_a_table_holds_exactly_the_rows(
    target: MySql, create: str, more: str
) -> None:
    target.execute(create)
    if more and "WITH SYSTEM VERSIONING" not in create:
        target.execute(f"ALTER TABLE t {more[2:]}")
    layout = laid_out(target, T)
    load(target, layout, [(str(n), "1") for n in range(1, 100)])
    changed = [(str(n), "2") for n in range(2, 100)]
    load(target, layout, changed, deleted=[("1",)])
    rows = target.query("SELECT id, v FROM t ORDER BY id")
    assert rows == [(int(id_), int(v)) for id_, v in changed]


@pytest.mark.parametrize("target", ["tidb"], indirect=True)
def test_a_cached_table_holds_exactly_the_rows(target: MySql) -> None:
    target.execute(PLAIN)
    target.execute("ALTER TABLE t CACHE")
    layout = laid_out(target, T)
    load(target, layout, [("1", "1"), ("2", "2")])
    load(target, layout, [("2", "3")], deleted=[("1",)])
    assert contents(target, layout) == [(2, 3)]


@pytest.mark.parametrize("target", ["mariadb"], indirect=True)
def test_a_tables_history_is_kept_from_the_next_of_its_name(target: MySql) -> None:
    target.execute(PLAIN + " WITH SYSTEM VERSIONING")
    assert target.hindrances((None, "t")) == ["the history of a system-versioned table"]
    target.execute("SET SESSION system_versioning_alter_history = KEEP")
    target.execute("ALTER TABLE t DROP SYSTEM VERSIONING")
    assert target.hindrances((None, "t")) == []


@pytest.mark.parametrize("target", ["mariadb"], indirect=True)
def test_a_session_reads_a_system_versioned_table_as_it_is_now(target: MySql) -> None:
    target.execute(PLAIN + " WITH SYSTEM VERSIONING")
    load(target, laid_out(target, T), [("1", "1")])
    target.execute("SET SESSION system_versioning_asof = '2001-01-01 00:00:00'")
    assert not target.has_rows(None, "t")
    target._neutralize()
    assert target.has_rows(None, "t")
