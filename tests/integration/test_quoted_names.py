"""Tables, columns and keys whose names have quotes, percent signs, backslashes and more."""

from contextlib import closing

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Make
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


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_any_characters_are_kept(
    request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make, kind: str
) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    database = sa.make_url(url).database
    family = kind not in ("sqlite", "postgresql")
    route = {"tables__route": f'{{"*.*" = "{database}.{{table}}"}}'} if family else {}
    feed = Feed(mock_kafka)
    run = command([feed], url, **route)
    feed.ddl(5, "CREATE DATABASE `shop`", kind=1)
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
    with closing(open_target(url)) as target:
        for name in NAMES:
            relation = target.quote(*target.locate(str(database) if family else "shop", name))
            assert run.rows(f"SELECT * FROM {relation}") == [(1, "%w\\'", 5)], name  # noqa: S608


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "refusals"), SOME, ids=["long", "bytes", "wide", "blank", "nul"])
@pytest.mark.parametrize("of", ["table", "column"])
def test_a_name_that_a_target_does_not_take_stops_and_says_why(
    of: str,
    name: str,
    refusals: dict[str, str],
    kind: str,
    request: pytest.FixtureRequest,
    mock_kafka: brokers.Mock,
    command: Make,
) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    database = str(sa.make_url(url).database)
    family = kind not in ("sqlite", "postgresql")
    route = {"tables__route": f'{{"*.*" = "{database}.{{table}}"}}'} if family else {}
    feed = Feed(mock_kafka)
    run = command([feed], url, **route)
    named, column = (name, "v") if of == "table" else ("t", name)
    sql = f"CREATE TABLE `{named}` (`id` INT NOT NULL PRIMARY KEY, `{column}` VARCHAR(40))"
    feed.ddl(5, "CREATE DATABASE `shop`", kind=1)
    feed.create(10, sql)
    feed.send(0, inserted(20, {"id": 1, column: "x"}, table(sql)))
    feed.mark(100)
    outcome = run()
    last = outcome.said.splitlines()[-1]
    refused = refusals.get(kind, "")
    assert (outcome.code, refused in last) == (3 if refused else 0, True), outcome.said
    if not refused:
        with closing(open_target(url)) as target:
            relation = target.quote(*target.locate(database if family else "shop", named))
        assert run.rows(f"SELECT * FROM {relation}") == [(1, "x")]  # noqa: S608
