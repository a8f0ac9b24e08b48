"""Tables that do not fit are refused by name, before any effect; names are taken literally."""

import sqlite3
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession
from support import brokers
from support.torture_cli import Begin, Command, Make, refuses
from support.torture_topics import Feed, deleted, inserted, renamed, table, ts, updated
from ticdc_consumer.cut import cut_reader
from ticdc_encoder.event import Row

PROTOCOLS = ["canal-json", "open-protocol"]


def alter(run: Command, script: str) -> None:
    """What a person does to the SQLite file."""
    connection = sqlite3.connect(str(sa.make_url(run.target_url).database))
    connection.executescript(script)
    connection.close()


# --- keys -----------------------------------------------------------------------------------------

KEYLESS = "CREATE TABLE `notes` (`id` INT, `name` VARCHAR(40), UNIQUE KEY `u` (`id`))"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_table_without_a_valid_key_is_created_its_rows_refused(
    begin: Begin, protocol: str
) -> None:
    feed, run = begin(protocol)
    feed.create(110, KEYLESS)
    feed.mark(120)
    assert run().code == 0
    assert run.rows("SELECT count(*) FROM notes") == [(0,)]
    feed.send(1, inserted(150, {"id": 1, "name": "a"}, table(KEYLESS)))
    feed.mark(200)
    refuses(run, "shop.notes: no valid key", "add a primary key or a NOT NULL unique key")


@pytest.mark.parametrize("name", ["abc", "1],[2"])
@pytest.mark.parametrize("protocol", [*PROTOCOLS, "debezium", "simple"])
def test_deletes_alone_whose_keys_are_of_two_types_are_refused(
    begin: Begin, protocol: str, name: str
) -> None:
    feed, run = begin(protocol)
    before = run.rows("SELECT id FROM items ORDER BY id")
    text = table("CREATE TABLE `items` (`id` VARCHAR(9) NOT NULL, PRIMARY KEY (`id`))")
    feed.send(1, deleted(150, {"id": 1, "name": "one"}), deleted(151, {"id": name}, text))
    feed.mark(200)
    assert run().code == 3
    assert run.rows("SELECT id FROM items ORDER BY id") == before != []


TIMES = "CREATE TABLE `times` (`id` INT NOT NULL, `d` DATE, `t` TIME, PRIMARY KEY (`id`))"
OF_TWO_ROWS = [
    ("d", '2024-01-01","10:00:00"],["7","2024-01-01'),
    ("t", '10:00:00"],[7,"2024-01-01","10:00:00'),
    ("d", "2024-01-01\t10:00:00\n7\t2024-01-01"),
    ("t", "10:00:00\n7\t2024-01-01\t10:00:00"),
    ("t", "10:00:00'),(7,'2024-01-01','10:00:00"),
]


@pytest.mark.parametrize(("column", "value"), OF_TWO_ROWS)
@pytest.mark.parametrize("target_url", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize("protocol", [*PROTOCOLS, "simple"])
def test_a_time_that_would_be_two_rows_is_refused(
    mock_kafka: brokers.Mock,
    command: Make,
    target_url: str,
    protocol: str,
    column: str,
    value: str,
) -> None:
    feed = Feed(mock_kafka, protocol)
    feed.ddl(5, "CREATE DATABASE shop", kind=1)
    feed.create(10, TIMES)
    row: Row = {"id": 1, "d": "2024-01-01", "t": "10:00:00"}
    feed.send(0, *(inserted(50 + n, {**row, "id": n}, table(TIMES)) for n in range(5)))
    feed.mark(100)
    run = command([feed], target_url)
    assert run().code == 0
    feed.send(0, inserted(150, {**row, "id": 9, column: value}, table(TIMES)))
    feed.mark(200)
    assert run().code == 3
    name = "times" if target_url.startswith("sqlite") else "shop.times"
    assert run.rows(f"SELECT id FROM {name} ORDER BY id") == [(n,) for n in range(5)]  # noqa: S608


# --- two rows for one key -------------------------------------------------------------------------

ONE = inserted(150, {"id": 7, "name": "canary one"})
OTHER = inserted(150, {"id": 7, "name": "canary two"})
CASES = [
    pytest.param((0, 0), 5_000, "384 MiB", id="in one partition"),
    pytest.param((0, 1), 5_000, "384 MiB", id="in two partitions of one task"),
    pytest.param((0, 1), 2, "384 MiB", id="in two tasks"),
    pytest.param((0, 1), 2, "1", id="in Spark's shuffle"),
    pytest.param((1, 1), 2, "1", id="in one partition, in Spark's shuffle"),
]


@pytest.mark.parametrize("way", ["net", "transactions"])
@pytest.mark.parametrize(("partitions", "small", "budget"), CASES)
def test_two_rows_for_one_key_and_commit_ts_stop(
    begin: Begin,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    partitions: tuple[int, int],
    small: int,
    budget: str,
    way: str,
) -> None:
    feed, run = begin(spark=spark, target__apply=way, limits__memory_budget=budget)
    monkeypatch.setattr(cut_reader, "SMALL", small)
    one, other = partitions
    feed.send(one, ONE)
    feed.send(other, OTHER)
    feed.mark(200)
    refuses(
        run,
        f"shop.items: two different rows for key id=7 at commit_ts {ts(150)}: columns name differ",
        f"{feed.topic}[{one}] offset 3" if one == 0 else f"{feed.topic}[{one}] offset 2",
        f"{feed.topic}[{other}] offset {(4 if one == 0 else 3) if one == other else 2}",
    )
    assert "canary" not in run().said


def test_one_row_sent_twice_in_other_words_is_one_row(begin: Begin) -> None:
    feed, run = begin()
    feed.send(0, ONE)
    feed.send(1, updated(150, {"id": 7, "name": None}, {"id": 7, "name": "canary one"}))
    feed.mark(200)
    assert run().code == 0
    assert run.rows("SELECT name FROM items WHERE id = 7") == [("canary one",)]


# --- tables and columns ---------------------------------------------------------------------------

OTHERS = "CREATE TABLE `others` (`id` INT NOT NULL PRIMARY KEY, `name` VARCHAR(40))"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_unknown_table_is_refused(begin: Begin, protocol: str) -> None:
    feed, run = begin(protocol)
    feed.send(0, inserted(150, {"id": 3, "name": "three"}))
    feed.send(1, inserted(151, {"id": 1, "name": "one"}, table(OTHERS)))
    feed.mark(200)
    refuses(
        run,
        'shop.others: the target has no table "others"; load it by: ticdc-consumer load CONFIG '
        "--table shop.others, or create it if upstream's table had no rows when the changefeed",
    )
    alter(run, OTHERS)
    assert run().code == 0
    assert run.rows("SELECT * FROM others") == [(1, "one")]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_unknown_column_is_refused(begin: Begin, protocol: str) -> None:
    feed, run = begin(protocol)
    more = "CREATE TABLE `items` (`id` INT NOT NULL PRIMARY KEY, `name` TEXT, `extra` INT)"
    feed.send(1, inserted(150, {"id": 3, "name": "three", "extra": 1}, table(more)))
    feed.mark(200)
    refuses(run, "shop.items.extra: the target table has no such column")
    alter(run, "ALTER TABLE items ADD COLUMN extra INT")
    assert run().code == 0
    assert run.rows("SELECT * FROM items WHERE id = 3") == [(3, "three", 1)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_not_null_column_that_the_source_lacks_is_refused(begin: Begin, protocol: str) -> None:
    feed, run = begin(protocol)
    alter(
        run,
        "DROP TABLE items; CREATE TABLE items (id INTEGER NOT NULL PRIMARY KEY, name TEXT, "
        "must TEXT NOT NULL)",
    )
    feed.send(1, inserted(150, {"id": 3, "name": "three"}))
    feed.mark(200)
    refuses(run, "shop.items: the target column must is NOT NULL without a default")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_key_that_is_none_of_the_targets_is_refused(begin: Begin, protocol: str) -> None:
    feed, run = begin(protocol)
    alter(run, "DROP TABLE items; CREATE TABLE items (id INTEGER NOT NULL, name TEXT NOT NULL)")
    feed.send(1, inserted(150, {"id": 3, "name": "three"}))
    feed.mark(200)
    refuses(run, "shop.items: rows are identified by (id), but the target's table has neither")


def test_a_table_that_became_unlogged_stops_the_next_start(
    mock_kafka: brokers.Mock, postgresql_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka)
    feed.ddl(5, "CREATE DATABASE shop", kind=1)
    feed.create(10)
    feed.mark(100)
    run = command([feed], postgresql_url)
    assert run().code == 0
    engine = sa.create_engine(postgresql_url, poolclass=sa.NullPool)
    for kind, code in (("UNLOGGED", 3), ("LOGGED", 0)):
        with engine.begin() as connection:
            connection.exec_driver_sql(f"ALTER TABLE shop.items SET {kind}")
        outcome = run()
        assert outcome.code == code, outcome.said
        assert ("shop.items is UNLOGGED" in outcome.said) == (code == 3)


# --- rows, but no checkpoint ----------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_rows_without_a_checkpoint_are_refused(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make, protocol: str
) -> None:
    feed = Feed(mock_kafka, protocol)
    feed.send(1, inserted(20, {"id": 2, "name": "two"}))
    feed.mark(100)
    run = command([feed], sqlite_url, changefeed="other")
    alter(run, "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)")
    assert run().code == 0
    alter(run, "DELETE FROM items; INSERT INTO items VALUES (1, 'loaded')")
    alter(run, "DELETE FROM ticdc_table")  # else the table is the other changefeed's
    again = command([feed], sqlite_url)
    outcome = again()
    assert outcome.code == 3
    assert "shop.items: the target's table has rows that changefeed proof did not" in outcome.said
    assert "start with --from-ts TS if they are a snapshot of TS, load all" in outcome.said
    assert "the target knows the changefeed other" in outcome.said
    assert again.rows("SELECT * FROM items") == [(1, "loaded")]


def test_rows_in_a_table_that_the_stream_creates_need_a_person(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka)
    feed.create(10)
    feed.send(1, inserted(20, {"id": 2, "name": "two"}))
    feed.mark(100)
    run = command([feed], sqlite_url)
    alter(
        run,
        "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT);"
        "INSERT INTO items VALUES (1, 'loaded')",
    )
    outcome = run()
    assert outcome.code == 3
    assert "items exists and has rows" in outcome.said
    assert f"--ddl-done {ts(10)}:1" in outcome.said
    assert run.rows("SELECT * FROM items") == [(1, "loaded")]
    alter(run, "DELETE FROM items")
    assert run("--ddl-done", f"{ts(10)}:1").code == 0
    assert run.rows("SELECT * FROM items") == [(2, "two")]


# --- names ----------------------------------------------------------------------------------------

NAMES = [
    'quo"te',
    "back`tick",
    "apo'strophe",
    "semi;colon",
    'x"; DROP TABLE canary; --',
    "x`; DROP TABLE canary; --",
    "/* x */",
    "%s %(a)s %%",
    ":name ? $1 {x}",
    "back\\slash",
    "new\nline",
    "dot.ted",
    "MiXed",
    "Straße 茶",
]
EMOJI = "tea 🍵"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def odd_table(name: str) -> str:
    return (
        f"CREATE TABLE {quoted(name)} (`id` INT NOT NULL, {quoted(name)} VARCHAR(20) NOT NULL, "
        f"`v` INT, PRIMARY KEY ({quoted(name)}), UNIQUE KEY {quoted(name)} (`v`))"
    )


class Odd:
    """A changefeed of schemas, tables and columns with odd names, and a canary in the target."""

    def __init__(self, feed: Feed, run: Command) -> None:
        self.feed, self.run = feed, run
        self.engine = sa.create_engine(run.target_url, poolclass=sa.NullPool)
        self.dialect = self.engine.dialect.name
        self.wide = True
        """Whether names may hold characters beyond U+FFFF."""
        with self.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE canary (x INT)")
        self.now = 0

    def then(self) -> int:
        self.now += 1
        return self.now

    def schema(self, name: str) -> str | None:
        """Where the upstream's schema lies."""
        if self.dialect == "sqlite":
            return None
        family = self.dialect in ("mysql", "mariadb")
        return f"{self.engine.url.database}_{name}" if family else name

    def create(self, name: str) -> None:
        query = f"CREATE DATABASE {quoted(name)}"
        self.feed.ddl(self.then(), query, schema=name, kind=1)
        self.feed.create(self.then(), odd_table(name), schema=name)

    def write(self, name: str) -> None:
        of = renamed(table(odd_table(name)), name, name)

        def row(id: int, key: str) -> Row:
            return {"id": id, name: key, "v": id}

        self.feed.send(0, *[inserted(self.then(), row(n, f"key {n}"), of) for n in range(1, 5)])
        self.feed.send(1, updated(self.then(), row(1, "key 1"), row(1, "moved"), of))
        self.feed.send(0, updated(self.then(), row(2, "key 2"), row(22, "key 2"), of))
        self.feed.send(1, deleted(self.then(), row(3, "key 3"), of))

    def drop(self, name: str) -> None:
        self.feed.ddl(self.then(), f"DROP TABLE {quoted(name)}", name, name, kind=4)

    def holds(self, name: str) -> list[tuple[object, ...]]:
        """The rows of the table of just that name, with just these columns."""
        columns: list[sa.ColumnClause[object]] = [sa.column(c) for c in ("id", name, "v")]
        found = sa.table(name, *columns, schema=self.schema(name))
        with self.engine.connect() as connection:
            assert connection.execute(sa.select(sa.text("*")).select_from(found)).keys() == [
                "id",
                name,
                "v",
            ]
            return sorted(tuple(row) for row in connection.execute(sa.select(found)))

    def tables(self, name: str) -> list[str]:
        return sa.inspect(self.engine).get_table_names(self.schema(name))

    def catch_up(self) -> None:
        self.feed.mark(self.then())
        outcome = self.run()
        assert outcome.code == 0, outcome.said


@pytest.fixture
def odd(
    mock_kafka: brokers.Mock, target_url: str, command: Make, request: pytest.FixtureRequest
) -> Iterator[Odd]:
    feed = Feed(mock_kafka)
    database = sa.make_url(target_url).database
    family = target_url.startswith(("mysql", "mariadb"))
    route = {"tables__route": f'{{"*.*" = "`{database}_{{schema}}`.{{table}}"}}'} if family else {}
    odd = Odd(feed, command([feed], target_url, **route))
    odd.wide = request.node.callspec.params["target_url"] not in ("mysql", "mariadb")
    yield odd
    assert "canary" in sa.inspect(odd.engine).get_table_names()


def test_names_are_taken_literally(odd: Odd) -> None:
    names = [*NAMES, EMOJI] if odd.wide else NAMES
    for name in names:
        odd.create(name)
        odd.write(name)
    odd.catch_up()
    rows = [(1, "moved", 1), (4, "key 4", 4), (22, "key 2", 22)]
    assert {name: odd.holds(name) for name in names} == dict.fromkeys(names, rows)
    for name in names:
        odd.drop(name)
    odd.catch_up()
    assert [name for name in names if name in odd.tables(name)] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("nul\0", "a DDL with a NUL character in it"), (EMOJI, "holds a character beyond U+FFFF")],
)
def test_a_name_that_the_target_cannot_hold_is_refused(odd: Odd, name: str, words: str) -> None:
    odd.create("plain")
    odd.write("plain")
    odd.catch_up()
    odd.create(name)
    odd.feed.mark(odd.then())
    outcome = odd.run()
    assert outcome.code == (0 if name == EMOJI and odd.wide else 3)
    assert (words in outcome.said) == (outcome.code == 3)
    assert len(odd.holds("plain")) == 3
