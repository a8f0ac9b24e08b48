"""Rows that Spark's tasks put into staging tables: published as the driver writes them, or not."""

import signal
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Command, Make
from support.torture_topics import Feed, deleted, inserted, table, ts, updated
from ticdc_consumer import failpoints
from ticdc_consumer.cut import cut_reader
from ticdc_consumer.cut.read import staging
from ticdc_consumer.targets.staging import STAGING_TABLE
from ticdc_encoder.event import Row, RowChange

SERVERS = ["postgresql", "mariadb", "mysql"]
SQL = {
    "items": "CREATE TABLE `items` (`id` INT NOT NULL, `name` VARCHAR(40), PRIMARY KEY (`id`))",
    "users": "CREATE TABLE `users` (`id` INT NOT NULL, `name` VARCHAR(40), PRIMARY KEY (`id`), "
    "UNIQUE KEY (`name`))",
    "pairs": "CREATE TABLE `pairs` (`id` INT NOT NULL, `name` VARCHAR(40) NOT NULL, `n` INT, "
    "PRIMARY KEY (`id`, `name`))",
}
STEPS = [
    "stage-filled",
    "stage-publish",
    "stage-create",
    "stages-complete",
    "stages-dropped",
    "fenced",
    "commit",
    "committed",
]
"""Where a consumer is killed; at the first two also without `--long`."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    long = metafunc.config.getoption("--long")
    if "killed_at" in metafunc.fixturenames:
        servers = SERVERS if long else ["postgresql"]
        metafunc.parametrize("killed_at", STEPS if long else STEPS[:2])
        metafunc.parametrize("pair", servers, indirect=True)


class Pair:
    """A changefeed whose tables are there, and what they should hold."""

    def __init__(self, feed: Feed, run: Command, schema: str) -> None:
        self.feed, self.run, self.schema = feed, run, schema
        self.number = 100
        self.rows: dict[str, dict[Any, Row]] = {name: {} for name in SQL}
        self._waiting: dict[int, list[RowChange]] = {0: [], 1: []}

    def begin(self) -> None:
        self.feed.ddl(5, "CREATE DATABASE `shop`", kind=1)
        for number, sql in enumerate(SQL.values(), 10):
            self.feed.create(number, sql)
        self.feed.mark(100)
        self.ends(0)

    def send(self, partition: int, name: str, before: Row | None, after: Row | None) -> None:
        """One change, at the next timestamp."""
        self.number += 1
        of, rows = table(SQL[name]), self.rows[name]

        def key_of(row: Row) -> Any:
            return tuple(row[column] for column in of.handle_key)

        change: RowChange
        if before is None and after is not None:
            change = inserted(self.number, after, of)
        elif before is not None and after is None:
            change = deleted(self.number, before, of)
        else:
            assert before is not None and after is not None
            change = updated(self.number, before, after, of)
        if before is not None:
            del rows[key_of(before)]
        if after is not None:
            rows[key_of(after)] = after
        self._waiting[partition].append(change)

    def some(self, random: Random, count: int) -> None:
        """Random changes of all tables, of one key in any partition."""
        for _ in range(count):
            name, partition = random.choice([*SQL]), random.randrange(2)
            rows = self.rows[name]
            key = (random.randrange(30), "k") if name == "pairs" else (random.randrange(30),)
            before = rows.get(key)
            text = "k" if name == "pairs" else f"{name} {self.number}"
            after: Row | None = {"id": key[0], "name": text}
            if name == "pairs":
                after = {"id": key[0], "name": "k", "n": self.number}
            if before is not None and random.random() < 0.3:
                after = None
            self.send(partition, name, before, after)

    def mark(self) -> None:
        """Sends what waits, and a resolved ts."""
        for partition, changes in self._waiting.items():
            self.feed.send(partition, *changes)
            changes.clear()
        self.number += 1
        self.feed.mark(self.number)

    def ends(self, code: int, *words: str, **settings: Any) -> str:
        outcome = self.run(**settings)
        assert outcome.code == code, outcome.said
        assert [word for word in words if word not in outcome.said] == [], outcome.said
        return outcome.said

    def is_right(self) -> None:
        for name, expected in self.rows.items():
            columns = ", ".join(column.name for column in table(SQL[name]).columns)
            found = self.run.rows(f"SELECT {columns} FROM {self.schema}.{name}")  # noqa: S608
            assert sorted(found) == sorted(tuple(row.values()) for row in expected.values())
        assert self.run.resolved_ts == ts(self.number)

    def left(self) -> list[str]:
        """Staging tables that are there."""
        engine = sa.create_engine(self.run.target_url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            names = sa.inspect(connection).get_table_names()
        return [name for name in names if name.startswith(STAGING_TABLE)]

    def execute(self, statement: str) -> None:
        engine = sa.create_engine(self.run.target_url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            connection.exec_driver_sql(statement)


@pytest.fixture
def pair(
    request: pytest.FixtureRequest,
    mock_kafka: brokers.Mock,
    command: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> Pair:
    """Of the target that the test names in its parameters; each partition has a task of its own."""
    monkeypatch.setattr(cut_reader, "SMALL", 0)
    url = request.getfixturevalue(f"{request.param}_url")
    settings: dict[str, Any] = {"target__publish": "staging", "spark__from_messages": 0}
    schema = "shop"
    if request.param != "postgresql":
        schema = str(sa.make_url(url).database)
        settings["tables__route"] = f'{{"*.*" = "{schema}.{{table}}"}}'
    feed = Feed(mock_kafka)
    pair = Pair(feed, command([feed], url, **settings), schema)
    pair.begin()
    return pair


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The upstream tables whose rows tasks stage, however few they are."""
    monkeypatch.setattr(staging, "LEAST_ROWS", 1)
    tables: list[str] = []
    stage = staging.Stager._stage

    def noted(self: Any, layout: Any, facts: Any) -> Any:
        tables.append(layout.table)
        return stage(self, layout, facts)

    monkeypatch.setattr(staging.Stager, "_stage", noted)
    return tables


def at(step: str, work: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Does the work once, at a failpoint of `apply`."""
    waiting = [work]
    hit = failpoints.hit

    def noticed(reached: str) -> None:
        hit(reached)
        if reached == step and waiting:
            waiting.pop()()

    monkeypatch.setattr(failpoints, "hit", noticed)


@pytest.mark.parametrize("pair", SERVERS, indirect=True)
def test_what_tasks_stage_is_published_and_dropped(pair: Pair, staged: list[str]) -> None:
    random = Random(3)
    for _ in range(2):
        pair.some(random, 150)
        pair.mark()
        pair.ends(0)
        pair.is_right()
    assert set(staged) == set(SQL)
    assert pair.left() == []


@pytest.mark.parametrize("pair", SERVERS, indirect=True)
def test_of_many_rows_staged_twice_the_later_ones_are_published(pair: Pair) -> None:
    rows: list[Row] = [{"id": number, "name": "old"} for number in range(1200)]
    commits = pair.number + 1
    pair.feed.send(1, *(inserted(commits, row, table(SQL["items"])) for row in rows))
    news: list[Row] = [{"id": number, "name": "new"} for number in range(1200)]
    pair.feed.send(
        0,
        *(
            updated(commits + 1, old, new, table(SQL["items"]))
            for old, new in zip(rows, news, strict=True)
        ),
    )
    pair.rows["items"] = {(row["id"],): row for row in news}
    pair.number += 2
    pair.mark()
    pair.ends(0)
    pair.is_right()
    assert pair.left() == []


@pytest.mark.parametrize("pair", ["postgresql", "mysql"], indirect=True)
def test_a_row_in_the_way_is_cleared_or_stops(pair: Pair, staged: list[str]) -> None:
    where = f"{pair.schema}.users"
    pair.execute(f"INSERT INTO {where} VALUES (9, 'name')")  # noqa: S608
    pair.send(0, "users", None, {"id": 1, "name": "name"})
    pair.mark()
    pair.ends(3, "shop.users", "name")
    pair.ends(0, target__on_drift="overwrite")
    pair.is_right()
    assert staged == ["users", "users"]


@pytest.mark.parametrize("pair", ["postgresql", "mysql"], indirect=True)
def test_a_table_that_is_set_aside_is_not_staged(pair: Pair, staged: list[str]) -> None:
    users = f"{pair.schema}.users"
    pair.execute(f"INSERT INTO {users} VALUES (9, 'name')")  # noqa: S608
    pair.send(0, "users", None, {"id": 1, "name": "name"})
    pair.send(1, "items", None, {"id": 1, "name": "one"})
    pair.mark()
    pair.ends(0, "shop.users is quarantined", on_error__quarantine="true")
    assert pair.left() == []
    pair.send(1, "users", None, {"id": 2, "name": "two"})
    pair.send(0, "items", None, {"id": 2, "name": "two"})
    pair.mark()
    staged.clear()
    pair.ends(0)
    assert staged == ["items"]
    pair.execute(f"DELETE FROM {users} WHERE id = 9")  # noqa: S608
    assert pair.run.command("release", "shop.users").code == 0
    pair.is_right()


@pytest.mark.parametrize("pair", ["postgresql"], indirect=True)
def test_one_change_in_two_partitions_counts_once(pair: Pair, staged: list[str]) -> None:
    pair.send(0, "items", None, {"id": 1, "name": "one"})
    pair.feed.send(1, inserted(pair.number, {"id": 1, "name": "one"}, table(SQL["items"])))
    pair.mark()
    pair.ends(0)
    pair.is_right()
    assert staged == ["items", "items"]
    pair.send(0, "items", None, {"id": 2, "name": "two"})
    pair.feed.send(1, inserted(pair.number, {"id": 2, "name": "other"}, table(SQL["items"])))
    pair.mark()
    pair.ends(3, "shop.items: two different rows for one key at commit_ts", "[0] offset", "[1]")


@pytest.mark.parametrize(
    ("pair", "lose"),
    [("postgresql", "DELETE FROM"), ("postgresql", "DROP TABLE"), ("mysql", "DROP TABLE")],
    indirect=["pair"],
)
def test_a_cut_whose_staged_rows_are_lost_is_read_again(
    pair: Pair, staged: list[str], lose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by a server that was restarted."""

    def lose_one() -> None:
        pair.execute(f"{lose} {pair.left()[0]}")

    pair.some(Random(4), 60)
    pair.mark()
    at("stages-complete", lose_one, monkeypatch)
    pair.ends(0)
    pair.is_right()
    assert len(staged) > len(set(staged))


@pytest.mark.parametrize("pair", ["postgresql"], indirect=True)
def test_what_a_repeated_task_staged_is_not_published(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor by the next cut; the next start drops it."""
    monkeypatch.setattr(staging, "LEAST_ROWS", 1)
    stage = staging.Stager._stage

    def twice(self: Any, layout: Any, facts: Any) -> Any:
        stage(self, layout, facts)
        return stage(self, layout, facts)

    monkeypatch.setattr(staging.Stager, "_stage", twice)
    pair.some(Random(5), 60)
    pair.mark()
    pair.ends(0)
    pair.is_right()
    assert pair.left() != []
    pair.ends(0)
    assert pair.left() == []


@pytest.mark.parametrize("pair", SERVERS[:1], indirect=True)
def test_few_rows_go_through_the_driver(pair: Pair) -> None:
    pair.some(Random(6), 30)
    pair.mark()
    with pair.run.consumer() as consumer:
        epochs = list(consumer.epochs("caught-up"))
    assert [epoch.changes > 0 for epoch in epochs] == [True]
    pair.is_right()


@pytest.mark.torture
def test_a_killed_consumer_leaves_nothing_and_loses_nothing(pair: Pair, killed_at: str) -> None:
    pair.some(Random(7), 120)
    pair.mark()
    driver = pair.run.driver(failpoint=f"{killed_at}:kill", until="caught-up")
    driver.process.wait(60)
    assert driver.process.returncode == -signal.SIGKILL, driver.wait()
    driver.kill()
    pair.ends(0)
    pair.is_right()
    assert pair.left() == []


@pytest.mark.torture
@pytest.mark.parametrize("pair", ["postgresql", "mariadb"], indirect=True)
def test_an_older_consumer_publishes_nothing_of_its_tasks(pair: Pair) -> None:
    pair.some(Random(8), 60)
    pair.mark()
    older = pair.run.driver(failpoint="stages-complete:stop", until="caught-up")
    try:
        older.wait_until_stopped()
        assert pair.left() != []
        pair.ends(0, limits__takeover_after=1)
        pair.is_right()
        assert pair.left() == []
        pair.some(Random(9), 60)
        pair.mark()
        older.go_on()
        code, said = older.wait()
        assert code == 4, said
        pair.ends(0)
        pair.is_right()
    finally:
        older.kill()


REFUSED = [
    ("sqlite", {}, "for PostgreSQL, MySQL and MariaDB, and this is sqlite"),
    ("tidb", {}, "for PostgreSQL, MySQL and MariaDB, and this is tidb"),
    ("sqlite", {"target__apply": "transactions"}, 'needs target.apply = "net"'),
]


@pytest.mark.parametrize(("server", "settings", "words"), REFUSED)
def test_where_nothing_can_be_staged_the_setting_is_refused(
    request: pytest.FixtureRequest,
    mock_kafka: brokers.Mock,
    command: Make,
    server: str,
    settings: dict[str, Any],
    words: str,
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    run = command([Feed(mock_kafka)], url, target__publish="staging", **settings)
    outcome = run()
    assert outcome.code == 2, outcome.said
    assert words in outcome.said
