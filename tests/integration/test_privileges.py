"""A user of the target without privileges: each refusal names the GRANT, and with all of them the
run goes through."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Make
from support.torture_topics import Feed, inserted, table
from ticdc_consumer.check.checks import check

MOST = 12
"""Grants that are asked for one after another."""


def run_sql(url: sa.URL, *statements: str) -> None:
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        for statement in statements:
            connection.execution_options(no_parameters=True).exec_driver_sql(statement)


@contextmanager
def newcomer(url: sa.URL, schema: str) -> Iterator[sa.URL]:
    """The URL of a user who may do nothing but connect."""
    name = f"new_{url.database}"[:30]
    if url.get_backend_name() == "postgresql":
        make = [f"CREATE ROLE {name} LOGIN PASSWORD 'hush'"]
        remove = [f"DROP SCHEMA IF EXISTS {schema} CASCADE", f"DROP OWNED BY {name} CASCADE"]
        remove.append(f"DROP ROLE {name}")
    else:
        make = [f"CREATE USER '{name}'@'%' IDENTIFIED BY 'hush'"]
        make.append(f"GRANT SHOW VIEW ON `{url.database}`.* TO '{name}'@'%'")
        remove = [f"DROP DATABASE IF EXISTS `{schema}`", f"DROP USER '{name}'@'%'"]
    run_sql(url, *make)
    try:
        yield url.set(username=name, password="hush")
    finally:
        run_sql(url, *remove)


@pytest.mark.parametrize("kind", ["mariadb", "mysql", "tidb", "postgresql"])
def test_the_grants_that_are_asked_for_are_enough(
    request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make, kind: str
) -> None:
    url = sa.make_url(request.getfixturevalue(f"{kind}_url"))
    schema = f"up_{url.database}"[:30]
    feed = Feed(mock_kafka)
    feed.ddl(5, f"CREATE DATABASE `{schema}`", kind=1, schema=schema)
    feed.create(10, schema=schema)
    items = table(schema=schema)
    feed.send(0, *[inserted(20 + n, {"id": n, "name": "a"}, items) for n in range(2)])
    feed.mark(100)
    feed.ddl(200, "ALTER TABLE `items` ADD COLUMN `n` INT", "items", schema, kind=5)
    feed.ddl(210, "CREATE INDEX `i` ON `items` (`n`)", "items", schema, kind=7)
    feed.ddl(220, "RENAME TABLE `items` TO `things`", "things", schema, kind=14)
    feed.ddl(230, "TRUNCATE TABLE `things`", "things", schema, kind=11)
    feed.ddl(240, "DROP TABLE `things`", "things", schema, kind=4)
    feed.mark(300)
    with newcomer(url, schema) as limited:
        run = command([feed], limited.render_as_string(hide_password=False))
        (known,) = [each for each in check(run.options()) if each.subject == "privileges"]
        grant = "GRANT USAGE, CREATE ON SCHEMA" if kind == "postgresql" else "GRANT CREATE, ALTER, "
        assert f"run {grant}" in known.text
        asked = []
        while (outcome := run()).code:
            assert outcome.code == 3, outcome.said
            assert "--ddl-run" not in outcome.said
            assert "hush" not in outcome.said
            named = re.search(r"; run (.*), then start again\n", outcome.said)
            assert named, outcome.said
            asked.append(named[1])
            assert len(asked) < MOST and len({*asked}) == len(asked), asked
            run_sql(url, named[1])
        assert len(asked) > 1
