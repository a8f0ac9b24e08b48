"""A user of the target without privileges: each refusal names the GRANT, and with all of them the
run goes through."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Make
from support.torture_topics import Feed, inserted, table, ts
from ticdc_consumer.commands.check.checks import check

DOCUMENT = Path(__file__).parents[2] / "docs/reference/databases.md"
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
            named = re.search(r"; run (.*), then start again[;\n]", outcome.said)
            assert named, outcome.said
            asked.append(named[1])
            assert len(asked) < MOST and len({*asked}) == len(asked), asked
            run_sql(url, named[1])
        assert len(asked) > 1


def documented(kind: str, user: str, *databases: str) -> list[str]:
    """The GRANTs of the document, for each of these databases instead of `shop`."""
    title = "PostgreSQL" if kind == "postgresql" else "MySQL, MariaDB, TiDB"
    block = DOCUMENT.read_text().partition(f'```sql title="{title}"\n')[2].partition("```")[0]
    statements = [statement.strip() for statement in block.split(";") if statement.strip()]
    assert all(statement.startswith("GRANT ") for statement in statements) and statements
    return [
        re.sub(r"\bshop\b", database, statement).replace("ticdc", user)
        for database in databases
        for statement in statements
    ]


@pytest.mark.parametrize("kind", ["mariadb", "mysql", "tidb", "postgresql"])
def test_the_grants_of_the_document_are_enough(
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
    for commit_ts, name, kind_of_ddl, query in (
        (200, "items", 5, "ALTER TABLE `items` ADD COLUMN `n` INT"),
        (210, "items", 7, "CREATE INDEX `i` ON `items` (`n`)"),
        (220, "things", 14, "RENAME TABLE `items` TO `things`"),
        (
            *(230, "parts", 3),
            "CREATE TABLE `parts` (`id` INT PRIMARY KEY, `thing` INT, CONSTRAINT `f` FOREIGN KEY "
            "(`thing`) REFERENCES `things` (`id`))",
        ),
        (240, "v", 21, "CREATE VIEW `v` AS SELECT `id` FROM `parts`"),
        (250, "v", 24, "DROP VIEW `v`"),
        (260, "parts", 4, "DROP TABLE `parts`"),
        (270, "things", 11, "TRUNCATE TABLE `things`"),
        (280, "things", 4, "DROP TABLE `things`"),
    ):
        feed.ddl(commit_ts, query, name, schema, kind=kind_of_ddl)
    feed.mark(300)
    with newcomer(url, schema) as limited:
        own = str(url.database)
        databases = (own,) if kind == "postgresql" else (own, schema)
        run_sql(url, *documented(kind, str(limited.username), *databases))
        outcome = command([feed], limited.render_as_string(hide_password=False))()
    assert outcome.code == 0, outcome.said
    assert f"done: R {ts(300)} " in outcome.said
