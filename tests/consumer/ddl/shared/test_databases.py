"""DROP DATABASE and ALTER DATABASE of a name that several upstream databases have."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa
from support.loading import CHANGEFEED, IMPATIENT, Bank, bank, opened, options
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.by_operator.manual import done_by_operator
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.shared.databases import WAS_THERE
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.target import Target

CREATE, DROP = "CREATE DATABASE `x`", "DROP DATABASE `x`"
TABLES = ("a_t", "b_t")


class Feed:
    """A changefeed whose DDL run one by one; each database goes to one that the test owns."""

    def __init__(self, target: Target, only: str = "{schema}") -> None:
        database = str(target.engine.url.database).rpartition("/")[2].partition(".")[0]
        routes = options("", route={"*.*": f"{database}_{only}.{{table}}"})
        where = InTarget.by(routes, target)
        store = Store(target, CHANGEFEED, where=where)
        old = store.start(IMPATIENT)
        assert old is not None
        self.target, self.route, self.here = target, where.routes, Bank(target, store, old)
        self.ts = max([200, *(e.commit_ts for e in store.ledger.entries())])

    @property
    def context(self) -> DdlContext:
        return replace(self.here.ddl_context, route=self.route)

    def send(self, query: str, table: str = "", schema: str = "x") -> None:
        self.ts += 1
        with self.target.transaction():
            self.here.store.ledger.add([LedgerEntry(self.ts, 1, schema, table, query)])
        self.go_on()

    def go_on(self) -> None:
        ddl.run_pending(self.context, self.here.store, retries=1)

    def create(self, *tables: str, schema: str = "x") -> None:
        for table in tables:
            self.send(f"CREATE TABLE `{table}` (id INT PRIMARY KEY)", table, schema)

    def exists(self, table: str, schema: str = "x") -> bool:
        return self.target.describe(*self.target.locate(*self.route(schema, table))) is not None

    def drop_by_hand(self, table: str) -> None:
        for text in self.target.drop_table(*self.target.locate(*self.route("x", table))):
            self.target.connection.exec_driver_sql(text)

    def done_by_hand(self) -> None:
        done_by_operator(self.context, f"{self.ts}:1")


@pytest.fixture
def feed(target_url: str) -> Iterator[Feed]:
    with opened(target_url) as target:
        bank(target)
        yield Feed(target)
        for schema in sa.inspect(target.connection).get_schema_names():
            if schema.startswith(f"{target.engine.url.database}_"):
                kind = "SCHEMA" if target.transactional_ddl else "DATABASE"
                cascade = " CASCADE" if target.transactional_ddl else ""
                name = target.quote(None, schema)
                target.connection.exec_driver_sql(f"DROP {kind} {name}{cascade}")


def test_a_second_create_database_makes_a_drop_ambiguous(feed: Feed) -> None:
    feed.send(CREATE)
    feed.create("a_t")
    feed.send(CREATE)
    feed.create("b_t")
    feed.send("DROP TABLE `a_t`", "a_t")  # a table is that of one database
    feed.create("a_t")
    with pytest.raises(Stop, match="several upstream databases are routed to x") as stop:
        feed.send(DROP)
    assert "it holds a_t, b_t; drop only those of its tables" in str(stop.value)
    assert "perhaps by" not in str(stop.value)
    after = Feed(feed.target)  # a restart says the same
    with pytest.raises(Stop, match="several upstream databases"):
        after.go_on()
    assert all(map(feed.exists, TABLES))

    # As the message says.
    after.drop_by_hand("a_t")
    after.done_by_hand()
    assert [name[1] for name in after.here.store.ledger.definitions()] == ["b_t"]
    after.send("ALTER TABLE `b_t` ADD COLUMN n INT", "b_t")
    with pytest.raises(Stop, match=r"several upstream databases .* it holds b_t;"):
        after.send(DROP)
    after.drop_by_hand("b_t")
    after.done_by_hand()
    assert not after.here.store.ledger.definitions()

    # None is left: the next one is alone.
    after.send(CREATE)
    after.create("a_t")
    after.send(DROP)
    assert not after.exists("a_t")


def _types(feed: Feed, table: str, *columns: str) -> list[tuple[str, str | None]]:
    known = feed.here.store.ledger.definitions()["x", table]
    return [(known.column(name).type.name, known.column(name).type.collation) for name in columns]


def test_a_new_table_has_the_character_set_of_its_database(feed: Feed) -> None:
    feed.send("CREATE DATABASE `x` CHARACTER SET = binary")
    create = "CREATE TABLE `{}` (`id` INT PRIMARY KEY, `s` VARCHAR(9), `t` TINYTEXT)"
    feed.send(create.format("a_t"), "a_t")
    assert _types(feed, "a_t", "s", "t") == [("varbinary", None), ("tinyblob", None)]

    feed.send("ALTER DATABASE `X` CHARACTER SET = gbk")
    feed.send("ALTER DATABASE `x` PLACEMENT POLICY = `p`")
    feed = Feed(feed.target)  # it is stored
    feed.send(create.format("b_t"), "b_t")
    assert _types(feed, "b_t", "s", "t") == [
        ("varchar", "gbk_chinese_ci"),
        ("tinytext", "gbk_chinese_ci"),
    ]
    feed.send("ALTER TABLE `a_t` ADD COLUMN `n` VARCHAR(5)", "a_t")  # it stays the table's
    feed.send("CREATE TABLE `c_t` LIKE `a_t`", "c_t")
    assert _types(feed, "c_t", "s", "n") == [("varbinary", None), ("varbinary", None)]
    feed.send(create.format("d_t") + " CHARACTER SET utf8mb4", "d_t")
    assert _types(feed, "d_t", "s") == [("varchar", "utf8mb4_bin")]

    feed.send(DROP)
    feed.send(CREATE)
    feed.send(create.format("a_t"), "a_t")
    assert _types(feed, "a_t", "s") == [("varchar", "utf8mb4_bin")]


def test_a_new_table_of_two_databases_of_two_charsets_stops(feed: Feed) -> None:
    feed.send("CREATE DATABASE `x` CHARACTER SET = binary")
    feed.create("a_t")
    feed.send(CREATE)
    feed.send("CREATE TABLE `b_t` (id INT PRIMARY KEY, s TEXT) CHARSET gbk", "b_t")
    with pytest.raises(Stop, match=r"several upstream databases .* \(binary, utf8mb4_bin\)"):
        feed.create("c_t")


def test_alter_of_a_shared_database_waits_too(feed: Feed) -> None:
    feed.send(CREATE)
    feed.send("ALTER DATABASE `x` CHARACTER SET = utf8mb4")
    feed.send("CREATE DATABASE IF NOT EXISTS `X`")
    with pytest.raises(Stop, match=r"several upstream databases .* nothing to do here"):
        feed.send("ALTER DATABASE `x` CHARACTER SET = utf8mb4")
    feed.done_by_hand()
    feed.create("a_t")


def test_a_database_that_was_dropped_may_be_created_again(feed: Feed) -> None:
    for _ in range(2):
        feed.send(CREATE)
        feed.create("a_t")
        feed.send(DROP)
    assert not feed.exists("a_t")


def test_a_create_database_after_its_tables_is_that_of_another(feed: Feed) -> None:
    """The first one came before the changefeed's start."""
    for text in feed.target.create_schema(feed.route("x", "")[0]):
        feed.target.connection.exec_driver_sql(text)
    feed.create("a_t")
    feed.send(CREATE)
    assert [e.reason for e in feed.here.store.ledger.entries()] == ["", WAS_THERE]
    with pytest.raises(Stop, match="several upstream databases"):
        feed.send(DROP)
    assert feed.exists("a_t")


def test_databases_that_our_routes_join_are_not_dropped(
    target_url: str,
) -> None:
    with opened(target_url) as target:
        bank(target)
        feed = Feed(target, only="joined")
        for schema in ("a", "b"):
            feed.send(f"CREATE DATABASE `{schema}`", schema=schema)
            feed.create(f"{schema}_t", schema=schema)
        if target.dialect == "sqlite":  # there is no database that could be dropped
            feed.send("DROP DATABASE `a`", schema="a")
        else:
            with pytest.raises(Stop, match="route leads b to the same database as a") as stop:
                feed.send("DROP DATABASE `a`", schema="a")
            assert "it holds a_t, b_t;" in str(stop.value)
            feed.drop_by_hand("a_t")
            feed.done_by_hand()
        assert (feed.exists("a_t"), feed.exists("b_t")) == (False, True)
        feed.create("b_u", schema="b")
