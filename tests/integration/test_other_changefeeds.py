"""Two changefeeds of one target never write to one table of it, unless the first one was ended."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Command, Make, ended_by
from support.torture_topics import ITEMS, Feed, inserted, ts
from ticdc_consumer.cli import commands as cli
from ticdc_consumer.commands.check.checks import check
from ticdc_encoder.event import Row

ROW: Row = {"id": 1, "name": "first"}
TAKEN = "shop.items of changefeed proof"
Begun = Callable[[str], tuple[Feed, Command]]


def in_target(url: str) -> dict[str, str]:
    """Where both changefeeds have their tables; in the MySQL family beside the ticdc_* tables."""
    if not url.startswith(("mysql", "mariadb")):
        return {}
    return {"tables__route": f'{{"*.*" = "{sa.make_url(url).database}.{{table}}"}}'}


def items(run: Command) -> list[tuple[object, ...]]:
    url = sa.make_url(run.target_url)
    schema = {"sqlite": "", "postgresql": "shop."}.get(url.get_backend_name(), f"{url.database}.")
    return run.rows(f"SELECT id, name FROM {schema}items ORDER BY id")  # noqa: S608


@pytest.fixture
def first(mock_kafka: brokers.Mock, command: Make) -> Begun:
    """The changefeed `proof`, whose `items` has one row."""

    def first(url: str) -> tuple[Feed, Command]:
        feed = Feed(mock_kafka, name="first")
        feed.ddl(5, "CREATE DATABASE `shop`", kind=1)
        feed.create(10)
        feed.send(0, inserted(20, ROW))
        feed.mark(100)
        run = command([feed], url, **in_target(url))
        assert run().code == 0
        return feed, run

    return first


@pytest.fixture
def second(mock_kafka: brokers.Mock, command: Make) -> Begun:
    """Another one, which has read nothing yet."""

    def second(url: str) -> tuple[Feed, Command]:
        feed = Feed(mock_kafka, name="second")
        return feed, command([feed], url, changefeed="second", **in_target(url))

    return second


def refused(run: Command, *arguments: str) -> str:
    outcome = run(*arguments)
    assert outcome.code == 3, outcome.said
    assert TAKEN in outcome.said and "ticdc-consumer forget CONFIG" in outcome.said, outcome.said
    assert "perhaps by" not in outcome.said
    return outcome.said


def test_a_row_for_another_changefeeds_table_is_refused(
    target_url: str, first: Begun, second: Begun
) -> None:
    _, run = first(target_url)
    feed, other = second(target_url)
    feed.send(0, inserted(20, {"id": 1, "name": "second"}))
    feed.mark(100)
    refused(other, "--from-ts", str(ts(1)))
    assert items(run) == [(1, "first")]
    (found,) = [f for f in check(other.options()) if f.subject == "table shop.items"]
    assert TAKEN in str(found)


DDL = [
    ("CREATE TABLE", ITEMS),
    ("another CREATE TABLE", "CREATE TABLE `items` (`id` INT PRIMARY KEY)"),
    ("CREATE TABLE ... LIKE", "CREATE TABLE `items` LIKE `shop`.`other`"),
    ("DROP TABLE", "DROP TABLE `shop`.`items`"),
    ("TRUNCATE TABLE", "TRUNCATE TABLE `shop`.`items`"),
    ("ALTER TABLE", "ALTER TABLE `shop`.`items` ADD COLUMN `more` INT"),
]


@pytest.mark.parametrize("query", [query for _, query in DDL], ids=[name for name, _ in DDL])
def test_a_ddl_of_another_changefeeds_table_touches_nothing(
    sqlite_url: str,
    first: Begun,
    second: Begun,
    query: str,
) -> None:
    _, run = first(sqlite_url)
    feed, other = second(sqlite_url)
    feed.create(5, ITEMS.replace("items", "other"))
    feed.mark(10)
    assert other().code == 0
    feed.ddl(20, query, "items")
    feed.mark(100)
    tables = run.rows("SELECT sql FROM sqlite_master")
    refused(other)
    assert items(run) == [(1, "first")]
    assert run.rows("SELECT sql FROM sqlite_master") == tables


@pytest.mark.parametrize("target_url", ["mysql", "tidb"], indirect=True)
def test_a_create_table_of_the_same_table_is_not_taken_for_done(
    target_url: str, first: Begun, second: Begun
) -> None:
    _, run = first(target_url)
    feed, other = second(target_url)
    feed.create(20)
    feed.mark(100)
    refused(other)
    assert items(run) == [(1, "first")]


def test_names_that_the_target_takes_for_one_are_one(
    sqlite_url: str, first: Begun, second: Begun
) -> None:
    first(sqlite_url)
    feed, other = second(sqlite_url)
    feed.create(20, ITEMS.replace("items", "ITEMS"), "elsewhere")
    feed.mark(100)
    refused(other)


def test_other_tables_beside_it_are_free(target_url: str, first: Begun, second: Begun) -> None:
    _, run = first(target_url)
    feed, other = second(target_url)
    more = ITEMS.replace("items", "more")
    feed.create(20, more)
    feed.mark(100)
    assert other().code == 0
    assert items(run) == [(1, "first")]
    assert run().code == 0  # a start of the first one


def test_two_that_took_one_table_at_once_end_at_their_next_start(
    sqlite_url: str, first: Begun, second: Begun
) -> None:
    _, run = first(sqlite_url)
    _, other = second(sqlite_url)
    with other.consumer() as consumer, consumer.target.transaction():
        consumer.store.ledger.note("shop", "items")
    refused(other)
    outcome = run()
    assert outcome.code == 3
    assert "shop.items of changefeed second" in outcome.said


def test_a_table_of_a_changefeed_that_was_ended_is_free(
    target_url: str,
    first: Begun,
    second: Begun,
    capsys: pytest.CaptureFixture[str],
) -> None:
    its_feed, run = first(target_url)
    feed, other = second(target_url)
    feed.send(0, inserted(120, {"id": 2, "name": "second"}))
    feed.mark(200)
    start = ("--from-ts", str(ts(100)))
    refused(other, *start)
    with run.consumer() as older:
        assert cli.main(["forget", "--yes", str(run._file), *run.arguments()]) == 0
        said = capsys.readouterr().out
        assert said.startswith("changefeed proof is ended; its tables stay as they are, at R = ")
        its_feed.send(0, inserted(250, {"id": 3, "name": "more"}))
        its_feed.mark(300)
        end = ended_by(older.epochs(ts(300)))
        assert end.code == 4
        assert "no longer has a checkpoint of changefeed proof" in end.said
    outcome = other(*start)
    assert outcome.code == 0, outcome.said
    assert items(other) == [(1, "first"), (2, "second")]
    assert cli.main(["forget", "--yes", str(run._file), *run.arguments()]) == 3
    for own in ("checkpoint", "offset", "ddl", "table"):
        left = run.rows(f"SELECT DISTINCT changefeed FROM ticdc_{own}")  # noqa: S608
        assert left in ([("second",)], [])
