"""Two upstream tables never land in one table of the target, unless a setting tells them apart."""

import pytest
from support import brokers
from support.databases import own_schema
from support.torture_cli import Begin, Command, Make, refuses
from support.torture_topics import ITEMS, Feed, deleted, inserted, table, ts
from ticdc_consumer import api
from ticdc_consumer.errors import Stop
from ticdc_encoder.event import RowChange, Table

ORDERS = "CREATE TABLE `orders` (`id` INT NOT NULL PRIMARY KEY, `name` VARCHAR(40))"
ORDERS_IN_CAPITALS = ORDERS.replace("orders", "Orders")
FIRST = [(1, "one")]
BOTH = "both go to"


def orders(schema: str, sql: str = ORDERS) -> Table:
    return table(sql, schema)


def row(number: int, key: int, name: str, of: Table) -> RowChange:
    return inserted(number, {"id": key, "name": name}, of)


@pytest.fixture
def shop(begin: Begin) -> tuple[Feed, Command]:
    """`s1.orders`, created through the stream, with one row."""
    feed, run = begin()
    feed.create(110, ORDERS, "s1")
    feed.send(0, row(120, 1, "one", orders("s1")))
    feed.mark(130)
    assert run().code == 0
    return feed, run


OTHERS = [("s2", ORDERS), ("s2", ORDERS_IN_CAPITALS)]


@pytest.mark.parametrize(("schema", "sql"), OTHERS)
def test_a_row_of_another_table_in_a_later_run_is_refused(
    shop: tuple[Feed, Command], schema: str, sql: str
) -> None:
    feed, run = shop
    of = orders(schema, sql)
    feed.send(1, row(150, 1, "other", of))
    feed.mark(200)
    refuses(run, f"s1.orders and {schema}.{of.name} both go to", "[tables] route")
    assert run.rows("SELECT * FROM orders") == FIRST


@pytest.mark.parametrize(("name", "other"), [("ΟΔΟΣ", "οδος"), ("İ", "i̇")])
def test_two_tables_whose_names_look_alike_are_two(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make, name: str, other: str
) -> None:
    feed = Feed(mock_kafka)
    run = command([feed], sqlite_url, tables__route='{"shop.*" = "shop.orders"}')
    feed.create(10, ORDERS.replace("orders", name))
    feed.mark(20)
    assert run().code == 0
    of = orders("shop", ORDERS.replace("orders", other))
    feed.send(0, row(30, 1, "other", of))
    feed.mark(100)
    refuses(run, f"shop.{name} and shop.{other} both go to")


@pytest.mark.parametrize(
    ("name", "other", "same"),
    [("İ", "i", True), ("ẞ", "ß", True), ("ΟΔΟΣ", "οδοσ", True), ("ΟΔΟΣ", "οδος", False)],
)
def test_the_server_says_which_names_are_one_table(
    mock_kafka: brokers.Mock, tidb_url: str, command: Make, name: str, other: str, same: bool
) -> None:
    feed, schema = Feed(mock_kafka), own_schema(tidb_url)
    run = command([feed], tidb_url, tables__route=f'{{"*.*" = "{schema}.{{table}}"}}')
    feed.create(10, ORDERS.replace("orders", name), "s1")
    feed.mark(20)
    assert run().code == 0
    feed.create(30, ORDERS.replace("orders", other), "s2")
    feed.mark(40)
    outcome = run()
    assert outcome.code == (3 if same else 0), outcome.said
    assert (f"s1.{name} and s2.{other} both go to" in outcome.said) == same


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
def test_tables_without_a_create_table_are_told_apart_next_time(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make, protocol: str
) -> None:
    feed = Feed(mock_kafka, protocol)
    run = command([feed], sqlite_url)
    feed.create(10, ITEMS)
    feed.mark(20)
    assert run().code == 0
    feed.send(0, row(120, 1, "one", table(ITEMS, "s1")))
    feed.mark(130)
    refuses(run, "shop.items and s1.items both go to")


def test_a_table_of_only_deletes_has_its_table_of_the_target(begin: Begin) -> None:
    feed, run = begin()
    feed.create(110, ORDERS, "s1")
    feed.mark(120)
    assert run().code == 0
    with run.consumer() as consumer, consumer.target.transaction():
        consumer.store.ledger.forget("s1", "orders")  # as a snapshot leaves it
    feed.send(0, deleted(150, {"id": 5, "name": "five"}, orders("s1")))
    feed.mark(160)
    assert run().code == 0
    feed.send(1, row(170, 1, "other", orders("s2")))
    feed.mark(200)
    refuses(run, "s1.orders and s2.orders both go to")


def test_names_that_differ_in_case_alone_are_one_in_one_cut(begin: Begin) -> None:
    feed, run = begin()
    feed.create(110, ORDERS, "s1")
    feed.mark(120)
    assert run().code == 0
    with run.consumer() as consumer, consumer.target.transaction():
        consumer.store.ledger.forget("s1", "orders")
    feed.send(0, row(130, 1, "one", orders("s1")))
    feed.send(1, row(131, 2, "two", orders("s2", ORDERS_IN_CAPITALS)))
    feed.mark(140)
    refuses(run, BOTH)


DDL = [
    ("CREATE TABLE", "orders", ORDERS),
    ("CREATE TABLE in capitals", "Orders", ORDERS_IN_CAPITALS),
    ("CREATE TABLE ... LIKE", "orders", "CREATE TABLE s2.orders LIKE shop.items"),
    ("DROP TABLE", "orders", "DROP TABLE `s2`.`orders`"),
    ("DROP TABLE in capitals", "ORDERS", "DROP TABLE `s2`.`ORDERS`"),
    ("TRUNCATE TABLE", "orders", "TRUNCATE TABLE `s2`.`orders`"),
    ("ALTER TABLE", "orders", "ALTER TABLE `s2`.`orders` ADD COLUMN `more` INT"),
    ("RENAME TABLE from it", "free", "RENAME TABLE `s2`.`orders` TO `s2`.`free`"),
    ("RENAME TABLE to it", "orders", "RENAME TABLE `shop`.`items` TO `s2`.`orders`"),
    ("FLASHBACK TABLE", "orders", "FLASHBACK TABLE `s2`.`lost` TO `orders`"),
]


@pytest.mark.parametrize(("of_table", "query"), [case[1:] for case in DDL], ids=[c[0] for c in DDL])
def test_a_ddl_of_a_table_of_the_same_name_touches_nothing(
    shop: tuple[Feed, Command], of_table: str, query: str
) -> None:
    feed, run = shop
    feed.ddl(150, query, of_table, "s2")
    feed.mark(200)
    kept = "24h" if "RECOVER" in query or "FLASHBACK" in query else "0s"
    outcome = run(ddl__keep_dropped=kept, ddl__on_unsupported="skip")
    assert outcome.code == 3
    assert "s1.orders and s2." in outcome.said and BOTH in outcome.said
    assert "perhaps by" not in outcome.said  # its SQL would do the harm
    assert run.rows("SELECT * FROM orders") == FIRST
    assert run.rows("SELECT * FROM items ORDER BY id") == [(1, "one"), (2, "two")]


def test_dropping_a_database_leaves_the_other_databases_tables(shop: tuple[Feed, Command]) -> None:
    feed, run = shop
    feed.ddl(140, "CREATE DATABASE s2", schema="s2", kind=1)
    feed.create(150, ORDERS_IN_CAPITALS.replace("Orders", "mine"), "s2")
    feed.ddl(160, "RENAME TABLE s2.mine TO s2.mine2", "mine2", "s2")
    feed.ddl(170, "DROP DATABASE s2", schema="s2", kind=2)
    feed.mark(200)
    assert run().code == 0
    names = {name for (name,) in run.rows("SELECT name FROM sqlite_master")}
    assert "orders" in names and not names & {"mine", "mine2"}
    assert run.rows("SELECT * FROM orders") == FIRST


def test_a_view_of_another_database_is_not_replaced_or_dropped(
    shop: tuple[Feed, Command],
) -> None:
    feed, run = shop
    feed.ddl(140, "CREATE VIEW v AS SELECT id FROM orders", "v", "s1")
    feed.mark(150)
    assert run().code == 0
    for number, query in (
        (160, "CREATE OR REPLACE VIEW V AS SELECT name FROM items"),
        (160, "DROP VIEW V"),
    ):
        feed.ddl(number, query, "V", "s2")
    feed.mark(200)
    outcome = run()
    assert outcome.code == 0 and "s1.v and s2.V both go to" in outcome.said
    assert run.rows("SELECT * FROM v") == [(1,)]


FREED = [
    ("dropped", [("DROP TABLE s1.orders", "orders", "s1"), (ORDERS, "orders", "s2")], []),
    ("renamed", [("RENAME TABLE s1.orders TO s2.orders", "orders", "s2")], FIRST),
    (
        "renamed away",
        [("RENAME TABLE s1.orders TO s1.old", "old", "s1"), (ORDERS, "orders", "s2")],
        [],
    ),
]


@pytest.mark.parametrize(("queries", "left"), [c[1:] for c in FREED], ids=[c[0] for c in FREED])
def test_a_table_that_is_gone_leaves_its_name_to_others(
    shop: tuple[Feed, Command], queries: list[tuple[str, str, str]], left: list[object]
) -> None:
    feed, run = shop
    kept = "24h"
    for number, (query, of_table, schema) in enumerate(queries, 140):
        feed.ddl(number, query, of_table, schema)
    feed.mark(150)
    assert run(ddl__keep_dropped=kept).code == 0
    assert run.rows("SELECT * FROM orders") == left
    feed.send(0, row(160, 7, "seven", orders("s2")))
    feed.mark(170)
    assert run(ddl__keep_dropped=kept).code == 0
    assert run.rows("SELECT * FROM orders") == [*left, (7, "seven")]
    feed.send(0, row(180, 8, "eight", orders("s1")))
    feed.mark(190)
    refuses(run, "s2.orders and s1.orders both go to", ddl__keep_dropped=kept)


def test_a_dropped_table_does_not_come_back_over_another(
    shop: tuple[Feed, Command],
) -> None:
    feed, run = shop
    feed.ddl(140, "DROP TABLE s1.orders", "orders", "s1")
    feed.create(141, ORDERS, "s2")
    feed.ddl(150, "FLASHBACK TABLE s1.orders", "orders", "s1")
    feed.mark(160)
    outcome = run(ddl__keep_dropped="24h")
    assert outcome.code == 3 and "s2.orders and s1.orders both go to" in outcome.said


def test_what_is_known_of_a_table_survives_an_operators_ddl(
    shop: tuple[Feed, Command],
) -> None:
    feed, run = shop
    feed.ddl(140, "ALTER TABLE orders WHAT IS THIS", "orders", "s1")
    feed.mark(150)
    outcome = run("--ddl-done", f"{ts(140)}:1")
    if outcome.code:  # it was not pending yet
        assert run().code == 3
        assert run("--ddl-done", f"{ts(140)}:1").code == 0
    feed.send(1, row(160, 1, "other", orders("s2")))
    feed.mark(200)
    refuses(run, "s1.orders and s2.orders both go to")


def test_a_check_and_a_plan_tell_of_it_beforehand(shop: tuple[Feed, Command]) -> None:
    feed, run = shop
    feed.send(1, row(150, 1, "other", orders("s2")))
    feed.mark(200)
    (finding,) = [f for f in api.check(run.options()) if f.subject == "table s2.orders"]
    assert finding.level == "fail" and "s1.orders and s2.orders both go to" in finding.text
    with pytest.raises(Stop, match=r"s1.orders and s2.orders both go to"):
        list(api.plan(run.options()))


def test_a_plan_tells_of_a_ddl_beforehand(shop: tuple[Feed, Command]) -> None:
    feed, run = shop
    feed.ddl(150, "DROP TABLE orders", "orders", "s2")
    feed.mark(200)
    with pytest.raises(Stop, match=r"s1.orders and s2.orders both go to"):
        list(api.plan(run.options()))


@pytest.mark.parametrize("way", ["net", "transactions"])
def test_where_rows_went_is_in_the_state(begin: Begin, way: str) -> None:
    feed, run = begin(target__apply=way)
    feed.create(110, ORDERS, "s1")
    feed.mark(120)
    assert run().code == 0
    stored = 'SELECT schema, "table", basis, target_schema, target_table FROM ticdc_table'
    assert sorted(run.rows(stored)) == [
        ("s1", "orders", "applied", None, "orders"),
        ("shop", "items", "applied", None, "items"),
    ]


def test_a_route_that_joins_tables_is_refused_on_every_target(
    mock_kafka: brokers.Mock, target_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka)
    route = f'{{"s*.*" = "{own_schema(target_url)}.orders"}}'
    run = command([feed], target_url, tables__route=route)
    feed.create(11, ORDERS, "s1")
    feed.send(0, row(20, 1, "one", orders("s1")))
    feed.mark(30)
    outcome = run()
    assert outcome.code == 0, outcome.said
    feed.send(1, row(40, 1, "other", orders("s2")))
    feed.mark(50)
    outcome = run()
    assert outcome.code == 3 and "s1.orders and s2.orders both go to" in outcome.said
