"""`[tables.merge]`: the target's table is the union of its shards, told apart by a column."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa
from support import brokers
from support.databases import own_schema
from support.torture_cli import Command, Make, refuses
from support.torture_topics import Feed, deleted, inserted, table, ts, updated
from ticdc_encoder.event import Row, RowChange, Table

ORDERS = "CREATE TABLE `orders` (`id` INT NOT NULL PRIMARY KEY, `name` VARCHAR(40), `u` INT UNIQUE)"
S1, S2 = table(ORDERS, "s1"), table(ORDERS, "s2")
ALL = "SELECT shard, id, name, u FROM orders ORDER BY shard, id"
MERGE = {"tables__merge": '{"s*.orders" = "shard"}'}


def row(key: int, name: str, unique: int | None = None) -> Row:
    return {"id": key, "name": name, "u": unique}


class Shards:
    """Two shards in SQLite, `orders` of `s1` and `s2`, created through the stream."""

    def __init__(self, feed: Feed, run: Command) -> None:
        self.feed, self.run, self.now = feed, run, 100

    def ddl(self, query: str, of_table: str, schema: str) -> None:
        self.now += 1
        self.feed.ddl(self.now, query, of_table, schema)

    def create(self, schema: str, sql: str = ORDERS) -> None:
        self.now += 1
        self.feed.create(self.now, sql, schema)

    def send(self, *changes: RowChange) -> None:
        for number, change in enumerate(changes):
            self.feed.send(number % 2, change)

    def done(self) -> list[tuple[Any, ...]]:
        """What the target holds after a run of all that was sent."""
        self.now += 100
        self.feed.mark(self.now)
        outcome = self.run()
        assert outcome.code == 0, outcome.said
        return self.run.rows(ALL)

    def stops(self) -> str:
        """What a run of all that was sent stops with."""
        self.now += 100
        self.feed.mark(self.now)
        outcome = self.run()
        assert outcome.code == 3, outcome.said
        return outcome.said


@pytest.fixture(params=["canal-json", "open-protocol"])
def shards(
    request: pytest.FixtureRequest, mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> Shards:
    feed = Feed(mock_kafka, request.param)
    shards = Shards(feed, command([feed], sqlite_url, **MERGE))
    shards.create("s1")
    shards.create("s2")
    shards.send(
        inserted(110, row(1, "a", 1), S1),
        inserted(110, row(1, "b", 1), S2),
        inserted(111, row(2, "c", 2), S1),
    )
    assert shards.done() == [
        ("s1.orders", 1, "a", 1),
        ("s1.orders", 2, "c", 2),
        ("s2.orders", 1, "b", 1),
    ]
    return shards


@pytest.fixture
def shop(mock_kafka: brokers.Mock, sqlite_url: str, command: Make) -> Iterator[Shards]:
    feed = Feed(mock_kafka)
    shards = Shards(feed, command([feed], sqlite_url, **MERGE))
    shards.create("s1")
    shards.create("s2")
    shards.send(inserted(110, row(1, "a", 1), S1), inserted(110, row(1, "b", 1), S2))
    shards.done()
    yield shards


def test_a_delete_of_one_shard_leaves_the_same_key_of_another(shards: Shards) -> None:
    shards.send(deleted(250, row(1, "b", 1), S2))
    assert shards.done() == [("s1.orders", 1, "a", 1), ("s1.orders", 2, "c", 2)]


def test_keys_and_unique_values_are_swapped_within_a_shard(shards: Shards) -> None:
    shards.send(
        updated(250, row(1, "a", 1), row(2, "a", 2), S1),
        updated(250, row(2, "c", 2), row(1, "c", 1), S1),
        updated(251, row(1, "b", 1), row(2, "b", 2), S2),
    )
    assert shards.done() == [
        ("s1.orders", 1, "c", 1),
        ("s1.orders", 2, "a", 2),
        ("s2.orders", 2, "b", 2),
    ]


@pytest.mark.parametrize("query", ["TRUNCATE TABLE orders", "DROP TABLE orders"])
def test_emptying_or_dropping_a_shard_leaves_the_others_rows(shop: Shards, query: str) -> None:
    shop.ddl(query, "orders", "s1")
    assert shop.done() == [("s2.orders", 1, "b", 1)]
    if query.startswith("DROP"):
        shop.create("s1")
    shop.send(inserted(shop.now + 20, row(1, "again", 1), S1))
    assert shop.done() == [("s1.orders", 1, "again", 1), ("s2.orders", 1, "b", 1)]


REFUSED = [
    ("orders", "ALTER TABLE orders ADD COLUMN more INT"),
    ("orders", "ALTER TABLE orders DROP INDEX u"),
    ("other", "RENAME TABLE orders TO other"),
    ("orders", "RENAME TABLE s3.plain TO s1.orders"),
    ("orders", "FLASHBACK TABLE orders"),
    ("", "DROP DATABASE s1"),
]


@pytest.mark.parametrize(("of_table", "query"), REFUSED)
def test_what_would_touch_all_shards_is_an_operators(
    shop: Shards, of_table: str, query: str
) -> None:
    before = shop.run.rows(ALL)
    shop.ddl(query, of_table, "s1")
    said = shop.stops()
    assert "s1.orders is merged with other tables by [tables.merge]" in said
    assert "perhaps by" not in said
    assert shop.run.rows(ALL) == before


def test_a_column_that_an_operator_adds_serves_both_shapes(shop: Shards) -> None:
    shop.ddl("ALTER TABLE orders ADD COLUMN more INT", "orders", "s1")
    at = ts(shop.now)
    shop.stops()
    engine = sa.create_engine(shop.run.target_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE orders ADD COLUMN more INT")
    assert shop.run("--ddl-done", str(at)).code == 0
    wider = table(
        ORDERS.replace("`u` INT", "`u` INT UNIQUE, `more` INT").replace(" UNIQUE)", ")"), "s1"
    )
    shop.send(
        inserted(shop.now + 10, {**row(5, "new", 5), "more": 7}, wider),
        inserted(shop.now + 10, row(5, "old", 5), S2),
    )
    shop.done()
    assert shop.run.rows("SELECT shard, more FROM orders WHERE id = 5 ORDER BY shard") == [
        ("s1.orders", 7),
        ("s2.orders", None),
    ]


def test_a_shard_of_another_shape_is_not_joined(shop: Shards) -> None:
    shop.create("s3", ORDERS.replace("`name`", "`label`"))
    assert "orders exists with other columns: they differ in label, name" in shop.stops()


def test_a_view_of_a_shard_shows_its_rows_alone(shop: Shards) -> None:
    shop.ddl("CREATE VIEW v AS SELECT name FROM orders WHERE id > 0 OR id < 0", "v", "s2")
    shop.done()
    assert shop.run.rows("SELECT * FROM v") == [("b",)]


TABLES = [
    ("id INT NOT NULL PRIMARY KEY, name TEXT, u INT", "needs a column shard"),
    ("id INT NOT NULL, shard TEXT, name TEXT, u INT, PRIMARY KEY (id)", "needs a column shard"),
    (
        "id INT NOT NULL PRIMARY KEY, shard TEXT NOT NULL, name TEXT, u INT",
        "must have shard as one of its columns",
    ),
    (
        "id INT NOT NULL, shard TEXT NOT NULL, name TEXT, u INT UNIQUE, PRIMARY KEY (id, shard)",
        "must have shard as one of its columns",
    ),
    (
        "id INT NOT NULL, shard TEXT NOT NULL PRIMARY KEY, name TEXT, u INT",
        "must have shard as one of its columns",
    ),
    (
        "id INT NOT NULL, shard TEXT NOT NULL COLLATE NOCASE, name TEXT, u INT, "
        "PRIMARY KEY (id, shard)",
        "treats keys as equal that the upstream distinguishes",
    ),
]


@pytest.mark.parametrize(("columns", "words"), TABLES)
def test_a_table_whose_keys_do_not_separate_shards_is_refused(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make, columns: str, words: str
) -> None:
    feed = Feed(mock_kafka)
    feed.mark(50)
    run = command([feed], sqlite_url, **MERGE)
    assert run().code == 0
    engine = sa.create_engine(sqlite_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE orders ({columns})")
    feed.send(0, inserted(60, row(1, "a"), S1))
    feed.mark(100)
    refuses(run, "s1.orders", words)


@pytest.mark.parametrize("column", ["name TEXT", "shard TEXT COLLATE NOCASE UNIQUE"])
def test_a_truncate_needs_a_column_that_tells_the_rows_apart(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make, column: str
) -> None:
    feed = Feed(mock_kafka)
    feed.mark(50)
    run = command([feed], sqlite_url, **MERGE)
    assert run().code == 0
    engine = sa.create_engine(sqlite_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE TABLE orders (id INTEGER PRIMARY KEY, {column})")
        connection.exec_driver_sql("INSERT INTO orders VALUES (1, 'S1.orders')")
    feed.ddl(60, "TRUNCATE TABLE orders", "orders", "s1")
    feed.mark(100)
    outcome = run()
    assert outcome.code == 3 and "has no column shard that names the upstream table" in outcome.said
    assert run.rows("SELECT id FROM orders") == [(1,)]


def test_a_shard_and_a_table_that_is_none_do_not_mix(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka)
    run = command([feed], sqlite_url, **MERGE)
    feed.create(10, ORDERS, "s1")
    feed.create(20, ORDERS, "plain")
    feed.mark(100)
    outcome = run()
    assert outcome.code == 3
    assert "s1.orders and plain.orders both go to" in outcome.said


def test_the_setting_belongs_to_the_scope(shop: Shards) -> None:
    shop.feed.mark(500)
    outcome = shop.run(tables__merge="{}")
    assert outcome.code == 3 and "merge was" in outcome.said


def random_change(rng: Random, state: dict[int, Row], of: Table, now: int) -> Iterator[RowChange]:
    """One statement of a transaction, kept in `state` as the upstream would."""
    key, unique = rng.randint(1, 4), rng.choice([None, 1, 2, 3])
    old = state.get(key)
    new = row(key, rng.choice("xyz"), unique)
    if any(other["u"] == unique for k, other in state.items() if k != key and unique):
        return
    if old is not None and rng.random() < 0.4:
        del state[key]
        yield deleted(now, old, of)
    elif old is None:
        state[key] = new
        yield inserted(now, new, of)
    elif old != new:
        state[key] = new
        yield updated(now, old, new, of)


@pytest.mark.parametrize("way", ["net", "transactions"])
def test_the_target_is_the_union_of_the_shards_at_every_cut(
    mock_kafka: brokers.Mock, target_url: str, command: Make, way: str
) -> None:
    rng, feed = Random(7), Feed(mock_kafka)
    route = f'{{"s*.orders" = "{own_schema(target_url)}.orders"}}'
    run = command([feed], target_url, **MERGE, tables__route=route, target__apply=way)
    states: dict[str, dict[int, Row]] = {"s1": {}, "s2": {}}
    feed.create(2, ORDERS, "s1")
    feed.create(3, ORDERS, "s2")
    now = 10
    for _ in range(5):
        for _ in range(20):
            now += 1
            schema = rng.choice(["s1", "s2"])
            of = S1 if schema == "s1" else S2
            for change in random_change(rng, states[schema], of, now):
                feed.send(rng.randrange(2), change)
        now += 1
        feed.mark(now)
        outcome = run()
        assert outcome.code == 0, outcome.said
        expected = sorted(
            (f"{schema}.orders", *values.values())
            for schema, rows in states.items()
            for values in rows.values()
        )
        assert run.rows(ALL) == expected


def test_a_shard_is_not_set_aside_without_the_others(shards: Shards) -> None:
    wide = table(ORDERS.replace("`u` INT UNIQUE", "`u` INT UNIQUE, `extra` INT"), "s1")
    shards.send(inserted(210, {**row(3, "d"), "extra": 1}, wide))
    shards.feed.mark(300)
    refuses(
        shards.run,
        "s1.orders cannot be quarantined: its rows share a table of the target with others",
        on_error__quarantine="true",
    )
