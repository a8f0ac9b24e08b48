"""DDL in several topics: one statement's in the right order, whichever topic its parts lie in;
topics without a resolved ts lose nothing and hold nothing back.
"""

from itertools import permutations

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Command, Make
from support.torture_topics import Feed, inserted, table, ts
from ticdc_encoder.event import Row

COLUMNS = "(`id` INT NOT NULL PRIMARY KEY, `name` VARCHAR(40))"
TABLES = ("a", "b", "c")


def create(name: str) -> str:
    return f"CREATE TABLE `{name}` {COLUMNS}"


def put(feed: Feed, number: int, name: str, id: int, partition: int = 0) -> None:
    row: Row = {"id": id, "name": name}
    feed.send(partition, inserted(number, row, table(create(name))))


def rename(feed: Feed, number: int, old: str, new: str, final: str) -> None:
    """As TiCDC sends it: to the topic of the old name, with the name it has in the end."""
    feed.ddl(number, f"RENAME TABLE `shop`.`{old}` TO `shop`.`{new}`", final)


def ids(run: Command, name: str) -> list[int]:
    return [id for (id,) in run.rows(f"SELECT id FROM {name} ORDER BY id")]  # noqa: S608


def told(run: Command, number: int) -> list[str]:
    """The DDL of a commit_ts, in the order in which they ran."""
    return [
        query
        for (query,) in run.rows(
            f"SELECT query FROM ticdc_ddl WHERE commit_ts = '{ts(number)}' ORDER BY seq"  # noqa: S608
        )
    ]


def caught_up(run: Command, number: int) -> None:
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, ts(number)), outcome.said


def feeds_of(kafka: brokers.Kafka, protocol: str) -> list[Feed]:
    """The default topic, which alone gets every resolved ts, and one for each table."""
    return [Feed(kafka, protocol, name=name) for name in ("default", *TABLES)]


RENAMES = {
    "a swap": [("a", "x", "b"), ("b", "a", "a"), ("x", "b", "b")],
    "a shift": [("c", "d", "d"), ("b", "c", "c"), ("a", "b", "b")],
    "a circle": [("a", "x", "b"), ("c", "a", "a"), ("b", "c", "c"), ("x", "b", "b")],
}


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
@pytest.mark.parametrize("renames", RENAMES.values(), ids=RENAMES.keys())
def test_renames_of_one_statement_are_ordered_across_topics(
    mock_kafka: brokers.Mock,
    sqlite_url: str,
    command: Make,
    protocol: str,
    renames: list[tuple[str, str, str]],
) -> None:
    default, *of_tables = feeds_of(mock_kafka, protocol)
    run = command([default, *of_tables], sqlite_url)
    at: dict[str, int] = {}
    for id, (name, feed) in enumerate(zip(TABLES, of_tables, strict=True), 1):
        feed.create(10, create(name))
        put(feed, 20, name, id)
        at[name] = id
    number = 100
    for order in permutations(range(len(of_tables))):
        topics = [of_tables[place] for place in order]
        for place, (old, new, final) in enumerate(renames):
            rename(topics[place % len(topics)], number, old, new, final)
        for old, new, _ in renames:
            at[new] = at.pop(old)
        # Rows of the next commit_ts have the new names already; the topics' own marks are late.
        for name in at:
            put(topics[0], number + 1, name, 10 * number + at[name], partition=1)
        default.mark(number + 5)
        caught_up(run, number + 5)
        for name, id in at.items():
            assert [id, 10 * number + id] == [
                i for i in ids(run, name) if i in (id, 10 * number + id)
            ]
        ran = [query.split("`")[3:8:4] for query in told(run, number)]
        assert ran == [[old, new] for old, new, _ in renames]
        # Back to where they were, in as many statements.
        back = {id: name for name, id in zip(TABLES, (1, 2, 3), strict=True)}
        number += 10
        for name in list(at):
            rename(default, number, name, f"y{at[name]}", f"y{at[name]}")
            number += 1
        for name in list(at):
            rename(default, number, f"y{at[name]}", back[at[name]], back[at[name]])
            number += 1
        at = {name: id for id, name in back.items()}
        default.mark(number + 5)
        caught_up(run, number + 5)
        number += 100


def test_a_batch_of_new_tables_runs_by_topic_and_offset(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    default, a, b, c = feeds_of(mock_kafka, "canal-json")
    run = command([default, a, b, c], sqlite_url)
    for feed, name in ((c, "y"), (a, "z"), (b, "w"), (a, "v"), (c, "y"), (a, "z")):
        feed.create(10, create(name))
    for feed, name in ((c, "y"), (a, "z"), (b, "w"), (a, "v")):
        put(feed, 11, name, 1)
    default.mark(100)
    caught_up(run, 100)
    assert told(run, 10) == [create(name) for name in ("z", "v", "w", "y")]
    assert [ids(run, name) for name in ("v", "w", "y", "z")] == [[1]] * 4


def test_a_topic_without_tables_holds_nothing_and_may_return(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    default, a, b, c = feeds_of(mock_kafka, "open-protocol")
    run = command([default, a, b, c], sqlite_url)
    for feed, name in ((a, "a"), (b, "b")):
        feed.create(10, create(name))
        put(feed, 20, name, 1)
        feed.mark(50)
    default.mark(50)
    put(a, 55, "a", 2, partition=1)
    a.ddl(60, "DROP TABLE `a`", "a")
    rename(b, 60, "b", "c", "c")
    # From here on nothing comes to the topics of `a` and `b` but this, late and without a mark.
    put(b, 59, "b", 2, partition=1)
    put(c, 70, "c", 3)
    for number in (80, 90):
        default.mark(number)
        c.mark(number)
    caught_up(run, 90)
    assert ids(run, "c") == [1, 2, 3]
    default.mark(200)
    caught_up(run, 200)
    a.create(210, create("a"))
    put(a, 220, "a", 7)
    default.mark(300)
    caught_up(run, 300)
    assert (ids(run, "a"), ids(run, "c")) == ([7], [1, 2, 3])


def test_create_and_drop_database_come_in_the_default_topic(
    mock_kafka: brokers.Mock, postgresql_url: str, command: Make
) -> None:
    default, a, b, _ = feeds_of(mock_kafka, "canal-json")
    run = command([default, a, b], postgresql_url)
    default.ddl(5, "CREATE DATABASE `shop`", kind=1)
    a.create(10, create("a"))
    b.create(10, create("b"))
    put(a, 20, "a", 1)
    default.mark(50)
    caught_up(run, 50)
    assert run.rows("SELECT id FROM shop.a") == [(1,)]
    put(b, 70, "b", 1)
    default.ddl(80, "DROP DATABASE `shop`", kind=2)
    default.mark(100)
    caught_up(run, 100)
    there = "SELECT 1 FROM information_schema.schemata WHERE schema_name = 'shop'"
    assert run.rows(there) == []


PARTED = (
    "CREATE TABLE `a` (`id` INT NOT NULL PRIMARY KEY) "
    "PARTITION BY RANGE (`id`) (PARTITION `p0` VALUES LESS THAN (10))"
)
OF_TWO_TABLES = {
    "renamed away": ("RENAME TABLE `shop`.`a` TO `shop`.`b`", "b"),
    "renamed back": ("RENAME TABLE `shop`.`b` TO `shop`.`a`", "a"),
    "with a partition of it": ("ALTER TABLE `a` EXCHANGE PARTITION `p0` WITH TABLE `b`", "b"),
}


@pytest.mark.parametrize(("query", "named"), OF_TWO_TABLES.values(), ids=OF_TWO_TABLES.keys())
def test_a_ddl_of_a_table_and_of_one_left_out_waits_for_a_person(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make, query: str, named: str
) -> None:
    feed = Feed(mock_kafka)
    run = command([feed], sqlite_url, tables__filter='["shop.a"]')
    feed.create(10, PARTED)
    feed.create(11, "CREATE TABLE `b` (`id` INT NOT NULL PRIMARY KEY)")
    feed.send(0, inserted(20, {"id": 1}, table(PARTED)))
    feed.ddl(30, query, named)
    feed.mark(50)
    outcome = run()
    assert (outcome.code, run.resolved_ts, ids(run, "a")) == (3, ts(30) + 1, [1])
    assert query in outcome.said
    assert "the rows of shop.b are left out by [tables] filter" in outcome.said
    outcome = run("--ddl-done", str(ts(30)))
    if query.startswith("RENAME") and named == "b":  # it went away
        assert (outcome.code, 'the table "a" is still there' in outcome.said) == (3, True)
        engine = sa.create_engine(run.target_url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE a")
        outcome = run("--ddl-done", str(ts(30)))
    assert (outcome.code, run.resolved_ts) == (0, ts(50)), outcome.said


def test_a_rename_to_a_database_left_out_waits_even_unqualified(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka)
    run = command([feed], sqlite_url, tables__filter='["shop.a"]')
    feed.create(10, create("a"))
    put(feed, 20, "a", 1)
    feed.ddl(25, "ALTER TABLE `c` RENAME AS `archive`.`c`", "c", "archive")
    feed.ddl(30, "ALTER TABLE `a` RENAME AS `archive`.`b`", "b", "archive")
    feed.mark(50)
    outcome = run()
    assert (outcome.code, run.resolved_ts, ids(run, "a")) == (3, ts(30) + 1, [1])
    assert "it does not name the database of a" in outcome.said
    outcome = run("--ddl-done", str(ts(30)))
    assert (outcome.code, run.resolved_ts) == (0, ts(50)), outcome.said


def test_a_ddl_of_tables_that_are_left_out_is_nobodys(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka)
    run = command([feed], sqlite_url, tables__filter='["shop.a"]')
    feed.create(10, create("a"))
    feed.ddl(30, "RENAME TABLE `shop`.`b` TO `shop`.`c`", "c")
    feed.ddl(31, "ALTER TABLE `p` EXCHANGE PARTITION `p0` WITH TABLE `b`", "b")
    feed.ddl(32, "ALTER TABLE `b` RENAME INDEX `i` TO `a`", "b")
    feed.ddl(33, "RENAME TABLE `b` TO `archive`.`a`", "a", "archive")
    feed.mark(50)
    caught_up(run, 50)
    assert told(run, 30) == told(run, 31) == told(run, 32) == []
