"""Tables, columns and keys whose names have quotes, percent signs, backslashes and more."""

from collections.abc import Callable
from contextlib import closing

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Command, Make
from support.torture_topics import Feed, inserted, table, updated
from ticdc_consumer.targets import open_target
from ticdc_encoder.event import Row

NAMES = [
    *("a'b", 'a"b', "a`b", "a%s", "100%", "%(x)s", "a\\b", "a\\", ":x", "{schema}", "a;b--"),
    *("a b", "a.b", "a\nb", "?", "$1", "select", "ß", "表", "é", "e", "x" * 62),
    *("%", "%%", "`", "``", "'", '"', "\\", " a", "a\tb", "a\rb", "\x01", "1", "1e5", "0x1f", "-"),
    *("#a", "/*a*/", "@a", "@@sql_mode", "order", "group by", "null", "e\u0301", "\u00a0a"),
]

KINDS = ["sqlite", "postgresql", "mariadb", "mysql", "tidb"]
LONG, WIDE, BLANK, NUL = "y" * 64, "a😀b", "a ", "a\0b"
SOME = [
    (LONG, {"postgresql": "is longer than PostgreSQL's 63 bytes"}),
    ("é" * 40, {"postgresql": "is longer than PostgreSQL's 63 bytes"}),
    (WIDE, dict.fromkeys(("mariadb", "mysql"), "holds a character beyond U+FFFF")),
    (BLANK, dict.fromkeys(("mariadb", "mysql", "tidb"), "ends with a space")),
    (NUL, dict.fromkeys(KINDS, "a DDL with a NUL character in it")),
]
"""Names that some targets do not take, and what those say."""


Begin = Callable[[str], tuple[Feed, Command, str]]


@pytest.fixture
def begin(request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make) -> Begin:
    """A changefeed into a kind of target, and where it puts the tables of `shop`."""

    def begin(kind: str) -> tuple[Feed, Command, str]:
        url = request.getfixturevalue(f"{kind}_url")
        feed, schema, settings = Feed(mock_kafka), "shop", {}
        if kind not in ("sqlite", "postgresql"):
            schema = str(sa.make_url(url).database)
            settings = {"tables__route": f'{{"*.*" = "{schema}.{{table}}"}}'}
        feed.ddl(5, "CREATE DATABASE `shop`", kind=1)
        return feed, command([feed], url, **settings), schema

    return begin


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_any_characters_are_kept(begin: Begin, kind: str) -> None:
    feed, run, schema = begin(kind)
    for number, name in enumerate(NAMES):
        quoted = name.replace("`", "``")
        sql = (
            f"CREATE TABLE `{quoted}` (`id` INT NOT NULL, `{quoted}` VARCHAR(40), PRIMARY KEY "
            f"(`id`), UNIQUE KEY `{quoted}` (`{quoted}`))"
        )
        feed.create(10 + number, sql)
        before: Row = {"id": 1, name: "v%s'\"\\"}
        after: Row = {"id": 1, name: "%w\\'"}
        feed.send(0, inserted(500, before, table(sql)), updated(600, before, after, table(sql)))
        added = f"n{name}".replace("`", "``")
        add = f"ALTER TABLE `{quoted}` ADD COLUMN `{added}` INT DEFAULT 5"
        feed.ddl(700 + number, add, name, kind=5)
    feed.mark(900)
    outcome = run()
    assert outcome.code == 0, outcome.said
    with closing(open_target(run.target_url)) as target:
        for name in NAMES:
            relation = target.quote(*target.locate(schema, name))
            assert run.rows(f"SELECT * FROM {relation}") == [(1, "%w\\'", 5)], name  # noqa: S608


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "refusals"), SOME, ids=["long", "bytes", "wide", "blank", "nul"])
@pytest.mark.parametrize("of", ["table", "column"])
def test_a_name_that_a_target_does_not_take_stops_and_says_why(
    of: str,
    name: str,
    refusals: dict[str, str],
    kind: str,
    begin: Begin,
) -> None:
    feed, run, schema = begin(kind)
    named, column = (name, "v") if of == "table" else ("t", name)
    sql = f"CREATE TABLE `{named}` (`id` INT NOT NULL PRIMARY KEY, `{column}` VARCHAR(40))"
    feed.create(10, sql)
    feed.send(0, inserted(20, {"id": 1, column: "x"}, table(sql)))
    feed.mark(100)
    outcome = run()
    last = outcome.said.splitlines()[-1]
    refused = refusals.get(kind, "")
    assert (outcome.code, refused in last) == (3 if refused else 0, True), outcome.said
    if not refused:
        with closing(open_target(run.target_url)) as target:
            relation = target.quote(*target.locate(schema, named))
        assert run.rows(f"SELECT * FROM {relation}") == [(1, "x")]  # noqa: S608


COLUMNS = ["e", "é", "e\u0301", "ß", "ss", "ſ", "s", "ı", "i", "Σ", "ς", "æ", "ae", "a", "a ", " a"]
"""Names that TiDB holds apart, and that look, or compare in some collation, the same."""


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_differ_by_an_accent_are_different_columns(begin: Begin, kind: str) -> None:
    feed, run, _ = begin(kind)
    names = [name for name in COLUMNS if kind in ("sqlite", "postgresql") or name != "a "]
    listed = ", ".join(f"`{name}` VARCHAR(40)" for name in names)
    sql = f"CREATE TABLE `t` (`id` INT NOT NULL PRIMARY KEY, {listed})"
    row: Row = {"id": 1, **{name: f"value {n}" for n, name in enumerate(names)}}
    feed.create(10, sql)
    feed.send(0, inserted(20, row, table(sql)))
    feed.mark(100)
    outcome = run()
    assert outcome.code == 0, outcome.said
    relation = "shop.t" if kind == "postgresql" else "t"
    assert run.rows(f"SELECT * FROM {relation}") == [tuple(row.values())]  # noqa: S608


FORMS = {
    "escapes, as TiCDC's releases write them": r"_UTF8MB4'C:\\new\\bin\\'",
    "none, as TiDB's parser does by its own driver": r"_UTF8MB4'C:\new\bin\'",
}


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("literal", FORMS.values(), ids=FORMS.keys())
def test_a_default_with_backslashes_is_what_it_was_upstream(
    literal: str,
    kind: str,
    protocol: str,
    request: pytest.FixtureRequest,
    mock_kafka: brokers.Mock,
    command: Make,
) -> None:
    """In the rows that were there before it, and in the table's own default."""
    url = request.getfixturevalue(f"{kind}_url")
    feed = Feed(mock_kafka, protocol)
    schema = {"postgresql": "public", "sqlite": "shop"}.get(kind) or sa.make_url(url).database
    feed.create(10)
    feed.send(0, inserted(20, {"id": 1, "name": "one"}))
    feed.ddl(30, f"ALTER TABLE `items` ADD COLUMN `path` VARCHAR(30) NOT NULL DEFAULT {literal}")
    feed.mark(100)
    run = command([feed], url, **{"tables__route.shop.*": f"{schema}.{{table}}"})
    outcome = run()
    assert outcome.code == 0, outcome.said
    with closing(open_target(run.target_url)) as target:
        target.execute("INSERT INTO items (id) VALUES (2)").close()
    assert run.rows("SELECT path FROM items") == [("C:\\new\\bin\\",)] * 2
