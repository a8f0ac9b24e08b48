"""Databases and columns whose collation is not the bytes' order: what differs upstream stays
apart, or is refused by name."""

import uuid
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from support.canonical_rows import contents, created, defined, laid_out, load, row_payloads
from support.server_address import missing
from targets.contract import TargetContract
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.postgresql.session import PostgreSQL

LOCALES = {
    # Neither case nor accents count, until two texts would be equal.
    "ks-level1": "LOCALE_PROVIDER icu ICU_LOCALE 'und-u-ks-level1' LOCALE 'C.UTF-8'",
    "tr": "LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C.UTF-8'",
}


def engine_of(url: str) -> sa.Engine:
    return sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)


def has_icu(connection: sa.Connection) -> bool:
    """Catalogs list ICU's collations even where the server was built without it."""
    try:
        connection.exec_driver_sql("SELECT 'a' < 'b' COLLATE \"und-x-icu\"")
    except (sa.exc.NotSupportedError, sa.exc.ProgrammingError):
        return False
    return True


def new_database(server: str, locale: str) -> Iterator[str]:
    name = f"t{uuid.uuid4().hex[:8]}"
    with engine_of(server).connect() as connection:
        if not has_icu(connection):
            missing("this PostgreSQL was built without ICU")
        connection.exec_driver_sql(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING UTF8 {LOCALES[locale]}"
        )
        yield sa.make_url(server).set(database=name).render_as_string(hide_password=False)
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


class TestInATurkishDatabase(TargetContract):
    holds_nul = False

    @pytest.fixture
    def url(self, postgresql_server: str) -> Iterator[str]:
        yield from new_database(postgresql_server, "tr")


@pytest.fixture(params=[*LOCALES, "default"])
def target(
    request: pytest.FixtureRequest, postgresql_server: str, postgresql_url: str
) -> Iterator[PostgreSQL]:
    urls = iter([postgresql_url])
    if request.param != "default":
        urls = new_database(postgresql_server, request.param)
    for url in urls:
        opened = PostgreSQL.open(sa.make_url(url))
        yield opened
        opened.close()


APART: list[str | bytes | None] = [
    "a",
    "A",
    "a\N{SOFT HYPHEN}",
    "a ",
    "á",
    "a\N{COMBINING ACUTE ACCENT}",
    "ss",
    "ß",
    "ẞ",
    "i",
    "I",
    "ı",
    "İ",
    "か",
    "カ",
    "\N{ZERO WIDTH JOINER}",
    "",
]
KEY = "create table c (k varchar(9) collate utf8mb4_0900_bin primary key)"


def test_a_new_table_holds_apart_what_differs(target: PostgreSQL) -> None:
    layout = created(target, defined(KEY))
    load(target, layout, [[key] for key in APART])
    load(target, layout, [[key] for key in APART])
    assert {row[0] for row in contents(target, layout)} == set(APART)
    assert load(target, layout, deleted=[["a"], ["ß"], ["i"]]) == (3, 0)
    assert {row[0] for row in contents(target, layout)} == {*APART} - {"a", "ß", "i"}


TAKEN = ["text PRIMARY KEY", "varchar(9) PRIMARY KEY", 'text COLLATE "und-x-icu" PRIMARY KEY']
COLLATION = "treats keys as equal that the upstream distinguishes"
REFUSED = [
    ("text COLLATE nocase PRIMARY KEY", COLLATION),
    ("text COLLATE noaccent PRIMARY KEY", COLLATION),
    ("text PRIMARY KEY, UNIQUE (k COLLATE nocase)", COLLATION),
    ("text PRIMARY KEY, EXCLUDE (k COLLATE nocase WITH =)", COLLATION),
    ("char(9) PRIMARY KEY", "cannot hold every varchar"),
    ("name PRIMARY KEY", "cannot hold every varchar"),
    ("folded PRIMARY KEY", "cannot hold every varchar"),
    ("citext PRIMARY KEY", "cannot hold every varchar"),
]


def with_collations(target: PostgreSQL) -> None:
    if not has_icu(target.connection):
        missing("this PostgreSQL was built without ICU")
    for name, locale in (("nocase", "und-u-ks-level2"), ("noaccent", "und-u-ks-level1-kc-true")):
        target.execute(
            f"CREATE COLLATION {name} (provider = icu, locale = '{locale}', deterministic = false)"
        )
    target.execute("CREATE DOMAIN folded AS text COLLATE nocase")
    target.execute("CREATE EXTENSION citext")


@pytest.mark.parametrize("key", TAKEN)
def test_a_key_of_ones_own_holds_apart_what_differs(target: PostgreSQL, key: str) -> None:
    with_collations(target)
    target.execute(f"CREATE TABLE c (k {key})")
    layout = laid_out(target, defined(KEY))
    load(target, layout, [[key] for key in APART])
    assert {row[0] for row in contents(target, layout)} == set(APART)


@pytest.mark.parametrize(("key", "why"), REFUSED)
def test_a_key_that_may_merge_what_differs_is_refused(
    target: PostgreSQL, key: str, why: str
) -> None:
    with_collations(target)
    column, _, index = key.partition(", UNIQUE ")
    target.execute(f"CREATE TABLE c (k {column})")
    if index:
        target.execute(f"CREATE UNIQUE INDEX coarse ON c {index}")
    with pytest.raises(Stop, match=rf"shop\.c\.k: .*{why}"):
        laid_out(target, defined(KEY))


def test_a_key_by_an_expression_stops_at_the_row_in_its_way(target: PostgreSQL) -> None:
    target.execute("CREATE TABLE c (k text PRIMARY KEY)")
    target.execute("CREATE UNIQUE INDEX lowered ON c (lower(k))")
    layout = laid_out(target, defined(KEY))
    load(target, layout, [["a"]])
    with pytest.raises(Stop, match=r"shop\.c: .* the same value of the unique key lowered"):
        load(target, layout, [["A"]])
    assert contents(target, layout) == [("a",)]


def test_what_is_no_key_may_have_any_collation(target: PostgreSQL) -> None:
    with_collations(target)
    target.execute("CREATE TABLE c (id int, v text COLLATE noaccent)")
    layout = laid_out(target, defined("create table c (id int, v varchar(9))"))
    rows: list[list[str | bytes | None]] = [["1", value] for value in APART]
    with target.transaction():
        target.insert(layout, row_payloads(layout, rows), "stop")
    with target.transaction():
        assert target.delete_rows(layout, row_payloads(layout, rows[1:])) == len(rows) - 1
    assert contents(target, layout) == [(1, "a")]
