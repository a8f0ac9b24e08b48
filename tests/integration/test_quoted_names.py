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
    *("a b", "a.b", "a\nb", "?", "$1", "select", "ß", "表", "é", "x" * 60),
]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "mariadb", "mysql"])
def test_names_of_any_characters_are_kept(
    request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make, kind: str
) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    database = sa.make_url(url).database
    family = kind in ("mariadb", "mysql")
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
        feed.send(0, inserted(50, before, table(sql)), updated(60, before, after, table(sql)))
        add = f"ALTER TABLE `{quoted}` ADD COLUMN `n{quoted}` INT DEFAULT 5"
        feed.ddl(100 + number, add, name, kind=5)
    feed.mark(200)
    outcome = run()
    assert outcome.code == 0, outcome.said
    with closing(open_target(url)) as target:
        for name in NAMES:
            relation = target.quote(*target.locate(str(database) if family else "shop", name))
            assert run.rows(f"SELECT * FROM {relation}") == [(1, "%w\\'", 5)], name  # noqa: S608
