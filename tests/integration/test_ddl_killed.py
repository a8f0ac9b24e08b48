"""kill -9 at every step of a DDL: it runs once, and nothing is lost.

The history has each kind of DDL that needs to know, after a crash, whether it ran. A consumer dies
at one step (`ticdc_consumer/failpoints.py`), the next goes on and dies at another. With `--long`
each statement meets every step.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from signal import SIGKILL
from typing import Any

import pytest
import sqlalchemy as sa
from support import brokers
from support.own_server import OwnServer, own_server
from support.torture_cli import Command, Make
from support.torture_topics import Feed, inserted, table, ts, updated
from ticdc_encoder.event import Row

pytestmark = pytest.mark.torture

FIRST = "CREATE TABLE items (id INT NOT NULL PRIMARY KEY, name VARCHAR(40))"
NOTED = (
    "CREATE TABLE items (id INT NOT NULL PRIMARY KEY, name VARCHAR(40), "
    "note VARCHAR(9) NOT NULL DEFAULT 'n', KEY k (note))"
)
ANEW = "CREATE TABLE items (id INT NOT NULL PRIMARY KEY, v INT, UNIQUE KEY v (v))"
PARTED = (
    "CREATE TABLE parted (id INT NOT NULL PRIMARY KEY, v VARCHAR(9)) PARTITION BY RANGE (id) ("
    "PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), "
    "PARTITION p2 VALUES LESS THAN (30))"
)
LOOSE = "CREATE TABLE loose (id INT NOT NULL PRIMARY KEY, v VARCHAR(9))"
MOMENT = "2024-01-02 03:04:05"
DEFAULT = "2024-05-25 05:09:29"


def row(id: int, **more: str) -> Row:
    return {"id": id, "name": f"name {id}", **more}


def tell(feed: Feed, day: str) -> None:
    """The history, in two partitions, with a resolved ts now and then. `day` is what is said of a
    column: one without a default takes a statement more in the MySQL family."""
    dated_sql = (
        "CREATE TABLE items (id INT NOT NULL PRIMARY KEY, name VARCHAR(80), "
        f"note VARCHAR(9) NOT NULL DEFAULT 'n', day {day}, "
        f"at DATETIME NOT NULL DEFAULT '{DEFAULT}', KEY k (note))"
    )
    dated = table(dated_sql)
    other = table(dated_sql.replace("items", "others"))
    remarked = table(
        "CREATE TABLE others (remark VARCHAR(20) NOT NULL DEFAULT 'n', "
        f"id INT NOT NULL PRIMARY KEY, name VARCHAR(80), day {day}, "
        f"at DATETIME NOT NULL DEFAULT '{DEFAULT}')"
    )

    feed.ddl(10, "CREATE DATABASE `shop`", kind=1)
    feed.create(20, FIRST)
    feed.send(0, *(inserted(30, row(n), table(FIRST)) for n in (1, 2)))
    feed.send(1, inserted(30, row(3), table(FIRST)))
    feed.mark(31)
    feed.ddl(
        40,
        "ALTER TABLE `items` ADD COLUMN `note` VARCHAR(9) NOT NULL DEFAULT 'n', "
        "ADD KEY `k` (`note`)",
        "items",
    )
    feed.send(1, inserted(41, row(4, note="four"), table(NOTED)))
    feed.ddl(
        50,
        f"ALTER TABLE `items` MODIFY COLUMN `name` VARCHAR(80), ADD COLUMN `day` {day}, "
        f"ADD COLUMN `at` DATETIME NOT NULL DEFAULT '{DEFAULT}'",
        "items",
    )
    before = row(1, note="n", day="0000-00-00", at=DEFAULT)
    feed.send(0, updated(51, before, {**before, "note": "one", "day": "2024-01-02"}, dated))
    feed.mark(60)
    feed.ddl(70, "CREATE TABLE `others` LIKE `items`", "others")
    feed.send(1, inserted(71, row(11, note="eleven", day="2024-01-02", at=MOMENT), other))
    feed.ddl(80, "RENAME TABLE `shop`.`items` TO `shop`.`x`", "others")
    feed.ddl(80, "RENAME TABLE `shop`.`others` TO `shop`.`items`", "items")
    feed.ddl(80, "RENAME TABLE `shop`.`x` TO `shop`.`others`", "others")
    feed.send(0, inserted(81, row(5, note="five", day="2024-01-02", at=MOMENT), other))
    feed.send(0, inserted(82, row(12, note="twelve", day="2024-01-02", at=MOMENT), dated))
    feed.mark(90)
    feed.ddl(100, "DROP TABLE `items`", "items")
    feed.create(102, ANEW)
    feed.send(0, *(inserted(103, {"id": n, "v": n}, table(ANEW)) for n in (1, 2)))
    feed.ddl(110, "TRUNCATE TABLE `items`", "items")
    feed.send(1, *(inserted(111, {"id": n, "v": n}, table(ANEW)) for n in (3, 2)))
    feed.ddl(
        120,
        "ALTER TABLE `others` CHANGE COLUMN `note` `remark` VARCHAR(20) NOT NULL DEFAULT 'n' "
        "FIRST, DROP KEY `k`",
        "others",
    )
    last = row(6, remark="the last", day="2024-01-02", at=MOMENT)
    feed.send(0, inserted(130, last, remarked))
    feed.mark(140)
    feed.create(150, PARTED)
    feed.create(152, LOOSE)
    feed.send(0, *(inserted(153, {"id": n, "v": "p"}, table(PARTED)) for n in (1, 11, 21)))
    feed.send(1, *(inserted(153, {"id": n, "v": "l"}, table(LOOSE)) for n in (12, 13)))
    feed.ddl(160, "ALTER TABLE `parted` EXCHANGE PARTITION `p1` WITH TABLE `loose`", "loose")
    feed.ddl(170, "ALTER TABLE `parted` TRUNCATE PARTITION `p0`", "parted")
    feed.send(0, inserted(171, {"id": 2, "v": "again"}, table(PARTED)))
    feed.ddl(180, "ALTER TABLE `parted` DROP PARTITION `p2`", "parted")
    feed.ddl(190, "DROP TABLE `loose`", "loose")
    feed.ddl(200, "FLASHBACK TABLE `loose` TO `found`", "found")
    feed.send(1, inserted(201, {"id": 14, "v": "l"}, table(LOOSE.replace("loose", "found"))))
    feed.mark(210)


PARTS = [{"id": 2, "v": "again"}, {"id": 12, "v": "l"}, {"id": 13, "v": "l"}]
FOUND = [{"id": 11, "v": "p"}, {"id": 14, "v": "l"}]
ITEMS = [{"id": 2, "v": 2}, {"id": 3, "v": 3}]


def others(day: str) -> list[Row]:
    """`day` is that of the rows which were there before the column."""
    return [
        row(1, remark="one", day="2024-01-02", at=DEFAULT),
        *(row(n, remark="n", day=day, at=DEFAULT) for n in (2, 3)),
        row(4, remark="four", day=day, at=DEFAULT),
        row(5, remark="five", day="2024-01-02", at=MOMENT),
        row(6, remark="the last", day="2024-01-02", at=MOMENT),
    ]


NUMBER_OF_DDL = 19

IN_THE_CUT = ["run-ddl", "write-checkpoint", "commit", "committed"]
STEPS = {
    True: [*IN_THE_CUT, "ddl-statement", "ddl-statement-ran"],
    False: [
        *IN_THE_CUT,
        "ddl-begun",
        "ddl-statement",
        "ddl-statement-ran",
        "ddl-mark-done",
        "ddl-commit",
        "ddl-committed",
    ],
}
"""By whether the target's DDL is transactional: before it is in the ledger, and to its end."""
SHORT = {
    True: ["run-ddl:2", "ddl-statement:5", "ddl-statement-ran:4", "commit:2"],
    False: [
        "commit:2",
        "committed",
        "ddl-statement:2",
        "ddl-statement-ran:3",
        "ddl-begun",
        "ddl-mark-done",
        "ddl-commit:2",
        "ddl-statement-ran:5",
        "ddl-mark-done:3",
        "ddl-committed:2",
        "ddl-statement-ran:4",
    ],
}
SERVERS = ["sqlite", "postgresql", "mariadb", "mysql", "tidb"]


@dataclass(frozen=True)
class Place:
    """A target of its own, where the upstream's `shop` has a schema for itself."""

    url: str

    @property
    def family(self) -> bool:
        return self.url.startswith(("mysql", "mariadb"))

    @property
    def transactional(self) -> bool:
        return not self.family

    @property
    def schema(self) -> str:
        return f"{sa.make_url(self.url).database}_shop" if self.family else "shop"

    @property
    def settings(self) -> dict[str, Any]:
        if not self.family:
            return {}
        return {
            "tables__route": f'{{"*.*" = "{sa.make_url(self.url).database}_{{schema}}.{{table}}"}}'
        }

    def relation(self, name: str) -> str:
        return name if self.url.startswith("sqlite") else f"{self.schema}.{name}"

    def rows(self, name: str) -> list[dict[str, Any]]:
        """By id; dates and times as SQL writes them."""
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            found = connection.exec_driver_sql(
                f"SELECT * FROM {self.relation(name)} ORDER BY id"  # noqa: S608
            )
            return [
                {k: str(v) if k in ("day", "at") else v for k, v in one._mapping.items()}
                for one in found
            ]


def changefeed(kafka: brokers.Kafka, place: Place, command: Make) -> tuple[Feed, Command]:
    feed = Feed(kafka)
    settings = {**place.settings, "limits__takeover_after": 1, "ddl__keep_dropped": "24h"}
    run = command([feed], place.url, **settings)
    return feed, run


def finish(run: Command, number: int) -> None:
    code, said = run.driver(until="caught-up").wait()
    assert (code, run.resolved_ts) == (0, ts(number)), said


def ledger(run: Command) -> list[tuple[str, int]]:
    return run.rows("SELECT state, count(*) FROM ticdc_ddl GROUP BY state ORDER BY state")


@pytest.mark.parametrize("server", SERVERS)
def test_kill_9_at_every_step_of_ddl_runs_it_once(
    request: pytest.FixtureRequest,
    mock_kafka: brokers.Mock,
    server: str,
    command: Make,
    long: bool,
) -> None:
    place = Place(request.getfixturevalue(f"{server}_url"))
    feed, run = changefeed(mock_kafka, place, command)
    # PostgreSQL has no zero date, which others give where there is no default.
    zero = server != "postgresql"
    tell(feed, "DATE NOT NULL" if zero else "DATE NOT NULL DEFAULT '2024-04-04'")
    steps = STEPS[place.transactional]
    # Each time that all steps are behind, at least one more statement is.
    failpoint_steps = steps * 50 if long else SHORT[place.transactional]
    survived = 0
    for failpoint in failpoint_steps:
        step, _, hit = failpoint.partition(":")
        driver = run.driver(failpoint=f"{step}:kill:{hit or 1}", until="caught-up")
        code, said = driver.wait()
        if code == 0:
            assert long, f"{failpoint} was not met"
            survived += 1
            if survived == len(steps):
                break
            continue
        assert code == -SIGKILL, said
    else:
        assert not long, "the history is longer than all kills"
    finish(run, 210)
    assert place.rows("items") == ITEMS
    assert (place.rows("parted"), place.rows("found")) == (PARTS, FOUND)
    assert place.rows("others") == others("0000-00-00" if zero else "2024-04-04")
    assert ledger(run) == [("done", NUMBER_OF_DDL)]


# Of partitions' DDL, which is work on rows: the step of the next consumer's death, and the ids in
# `parted` and `loose` after it. EXCHANGE takes 7 statements (9 in TiDB), the others take one.
KILLS = [
    ("ddl-statement-ran:3", [1, 11, 21], [12, 13]),
    ("ddl-statement:6", [1, 11, 21], [12, 13]),
    ("ddl-statement:{after the exchange}", [1, 12, 13, 14, 21], [11]),
    ("ddl-statement-ran", [1, 12, 13, 14, 21], [11]),
    ("ddl-statement:2", [2, 12, 13, 14, 21], [11]),
    ("ddl-statement-ran", [2, 12, 13, 14, 21], [11]),
]


@pytest.mark.parametrize("server", ["mariadb", "mysql", "tidb"])
def test_kill_9_within_ddl_of_partitions_leaves_no_half(
    request: pytest.FixtureRequest, mock_kafka: brokers.Mock, server: str, command: Make
) -> None:
    place = Place(request.getfixturevalue(f"{server}_url"))
    feed, run = changefeed(mock_kafka, place, command)
    feed.ddl(10, "CREATE DATABASE `shop`", kind=1)
    feed.create(20, PARTED)
    feed.create(22, LOOSE)
    feed.send(0, *(inserted(30, {"id": n, "v": "p"}, table(PARTED)) for n in (1, 11, 21)))
    feed.send(1, *(inserted(30, {"id": n, "v": "l"}, table(LOOSE)) for n in (12, 13)))
    feed.mark(40)
    assert run().code == 0
    feed.ddl(50, "ALTER TABLE `parted` EXCHANGE PARTITION `p1` WITH TABLE `loose`", "loose")
    feed.send(0, inserted(51, {"id": 14, "v": "p"}, table(PARTED)))
    feed.ddl(60, "ALTER TABLE `parted` TRUNCATE PARTITION `p0`", "parted")
    feed.send(0, inserted(61, {"id": 2, "v": "p"}, table(PARTED)))
    feed.ddl(70, "ALTER TABLE `parted` DROP PARTITION `p2`", "parted")
    feed.mark(80)
    statements = "10" if server == "tidb" else "8"
    for failpoint, parted, loose in KILLS:
        step, _, hit = failpoint.replace("{after the exchange}", statements).partition(":")
        code, said = run.driver(failpoint=f"{step}:kill:{hit or 1}", until="caught-up").wait()
        assert code == -SIGKILL, said
        assert ids(place) == (parted, loose), failpoint
    finish(run, 80)
    assert ids(place) == ([2, 12, 13, 14], [11])


def ids(place: Place) -> tuple[list[int], list[int]]:
    """Of `parted` and `loose`."""
    parted, loose = ([row["id"] for row in place.rows(name)] for name in ("parted", "loose"))
    return parted, loose


# --- while the server works ---------------------------------------------------------------------

MANY = 1 << 18
ALTER = (
    "ALTER TABLE `items` MODIFY COLUMN `id` BIGINT NOT NULL, ADD COLUMN `c{n}` INT NOT NULL "
    "DEFAULT {n}, ADD KEY `k{n}` (`name`)"
)
UNDER_WAY = {
    "postgresql": "SELECT 1 FROM pg_stat_activity WHERE state = 'active' "
    "AND datname = current_database() AND query LIKE 'ALTER TABLE%'",
    "mysql": "SELECT 1 FROM information_schema.processlist WHERE info LIKE 'ALTER TABLE%' "
    "AND db = database() AND state <> ''",
}
UNDER_WAY["mariadb"] = UNDER_WAY["mysql"]
UNDER_WAY["tidb"] = (
    "SELECT 1 FROM information_schema.ddl_jobs WHERE query LIKE 'ALTER TABLE%' "
    "AND state = 'running' AND db_name LIKE CONCAT(database(), '%')"
)


@contextmanager
def a_large_table(kafka: brokers.Kafka, place: Place, command: Make) -> Iterator[tuple[Feed, Any]]:
    """`items` has so many rows that its next ALTER takes a while."""
    feed, run = changefeed(kafka, place, command)
    feed.ddl(10, "CREATE DATABASE `shop`", kind=1)
    feed.create(20, FIRST)
    feed.send(0, inserted(30, row(0), table(FIRST)))
    feed.mark(31)
    assert run().code == 0
    engine = sa.create_engine(place.url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    items, there = place.relation("items"), 1
    with engine.connect() as connection:
        while there < MANY:
            connection.exec_driver_sql(
                f"INSERT INTO {items} SELECT id + {there}, name FROM {items}"  # noqa: S608
            )
            there *= 2
    yield feed, run


def until_under_way(place: Place, server: str) -> None:
    """Returns once the server is about an ALTER."""
    engine = sa.create_engine(place.url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    deadline = time.monotonic() + 120
    with engine.connect() as connection:
        while not connection.exec_driver_sql(
            UNDER_WAY[server], execution_options={"no_parameters": True}
        ).first():
            assert time.monotonic() < deadline, "no ALTER comes"


def altered(place: Place, numbers: Sequence[int]) -> bool:
    """Whether each row has the new columns, and the table one key for each."""
    engine = sa.create_engine(place.url, poolclass=sa.NullPool)
    right = " AND ".join(f"c{n} = {n}" for n in numbers)
    with engine.connect() as connection:
        found = connection.exec_driver_sql(
            f"SELECT count(*) FROM {place.relation('items')} WHERE {right}"  # noqa: S608
        ).scalar_one()
        keys = sa.inspect(connection).get_indexes("items", place.schema)
    return found == MANY + len(numbers) and len(keys) == len(numbers)


def send_alter(feed: Feed, at: int, number: int) -> None:
    added = range(1, number + 1)
    columns = ", ".join(f"c{n} INT" for n in added)
    sql = f"CREATE TABLE items (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(40), {columns})"
    feed.ddl(at, ALTER.format(n=number), "items")
    values: Row = {"id": -number, "name": "after", **{f"c{n}": n for n in added}}
    feed.send(0, inserted(at + 1, values, table(sql)))
    feed.mark(at + 2)


@pytest.mark.parametrize("server", ["postgresql", "mariadb", "mysql", "tidb"])
def test_a_dead_consumers_running_alter_is_not_begun_twice(
    request: pytest.FixtureRequest,
    mock_kafka: brokers.Mock,
    server: str,
    command: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = Place(request.getfixturevalue(f"{server}_url"))
    with a_large_table(mock_kafka, place, command) as (feed, run):
        send_alter(feed, 40, 1)
        driver = run.driver()
        until_under_way(place, server)
        driver.kill()
        if place.family:
            # The server goes on without its client; no second statement may come.
            monkeypatch.setenv("TICDC_FAILPOINT", "ddl-statement:raise")
        outcome = run(limits__takeover_after=0.1)
        assert (outcome.code, run.resolved_ts) == (0, ts(42)), outcome.said
        assert altered(place, [1])


@pytest.fixture(params=["mariadb", "tidb"])
def mortal_server(request: pytest.FixtureRequest) -> Iterator[OwnServer]:
    request.getfixturevalue(f"{request.param}_url")  # it may be missing here
    with own_server(request.param) as own:
        yield own


MOMENTS = ["while it works", "ddl-statement-ran:stop", "ddl-commit:stop"]
"""When the server dies: as it alters, when it has, and before it is told that this is noted."""


def test_an_alter_outlives_its_server(
    mock_kafka: brokers.Mock, mortal_server: OwnServer, command: Make, long: bool
) -> None:
    place = Place(mortal_server.url)
    random = Random(3)
    with a_large_table(mock_kafka, place, command) as (feed, run):
        moments = MOMENTS * 7 if long else MOMENTS[:1]
        for number, moment in enumerate(moments, 1):
            at = 40 + 10 * number
            send_alter(feed, at, number)
            if moment in MOMENTS[1:]:
                driver = run.driver(failpoint=moment, until="caught-up")
                driver.wait_until_stopped()
                mortal_server("kill")
                driver.go_on()
            else:
                driver = run.driver(until="caught-up")
                until_under_way(place, mortal_server.name)
                time.sleep(random.uniform(0, 2) if long else 0)
                mortal_server("kill")
            # It goes on by itself where the server comes soon enough.
            mortal_server("up")
            code, said = driver.wait()
            if code != 0:
                assert code == 1, said
                finish(run, at + 2)
            assert run.resolved_ts == ts(at + 2)
            assert altered(place, range(1, number + 1))
            if mortal_server.name == "tidb":
                assert len(ddl_jobs(place, "query LIKE 'ALTER TABLE%'")) == number


# --- in TiDB's queue ----------------------------------------------------------------------------

# Each a commit, of statements with the table that TiCDC names.
QUEUED: list[list[tuple[str, str]]] = [
    [("CREATE DATABASE `shop`", "")],
    [(FIRST, "items")],
    [("ALTER TABLE `items` ADD COLUMN `c1` INT, ADD UNIQUE KEY `k1` (`c1`, `name`)", "items")],
    [("CREATE TABLE `others` LIKE `items`", "others")],
    [
        ("RENAME TABLE `shop`.`items` TO `shop`.`x`", "others"),
        ("RENAME TABLE `shop`.`others` TO `shop`.`items`", "items"),
        ("RENAME TABLE `shop`.`x` TO `shop`.`others`", "others"),
    ],
    [("ALTER TABLE `others` MODIFY COLUMN `c1` VARCHAR(20)", "others")],
    [("CREATE VIEW `some` AS SELECT `id` FROM `others` WHERE `id` > 1", "some")],
    [("TRUNCATE TABLE `items`", "items")],
    [("DROP TABLE `items`", "items")],
    [("DROP DATABASE `shop`", "")],
]
WITH_ROWS = "CREATE TABLE others (id INT NOT NULL PRIMARY KEY, name VARCHAR(40), c1 VARCHAR(20))"


def ddl_jobs(place: Place, condition: str) -> list[str]:
    """The statements of TiDB's latest DDL jobs for which it holds."""
    engine = sa.create_engine(place.url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        found = connection.execution_options(no_parameters=True).exec_driver_sql(
            "SELECT query FROM (SELECT * FROM information_schema.ddl_jobs LIMIT 40) AS latest "  # noqa: S608
            f"WHERE job_type NOT LIKE '%subjob%' AND {condition}"
        )
        return [str(query) for (query,) in found]


def test_ddl_in_tidbs_queue_outlives_tidb_and_the_consumer(
    tidb_url: str, mock_kafka: brokers.Mock, command: Make, long: bool
) -> None:
    """TiDB runs it by itself when it starts anew, also before the consumer has looked."""
    assert tidb_url  # where one is, another one may be had
    with own_server("tidb") as server:
        place = Place(server.url)
        feed, run = changefeed(mock_kafka, place, command)
        feed.mark(5)
        assert run().code == 0
        for number, ddls in enumerate(QUEUED, 1):
            at = 10 * number
            for query, name in ddls:
                feed.ddl(at, query, name, kind=0 if name else 1)
            if number == 6:
                values: Row = {"id": 2, "name": "two", "c1": "2"}
                feed.send(0, inserted(at + 1, values, table(WITH_ROWS)))
            feed.mark(at + 2)
            if long or number in (2, 7):
                server.hold_ddl()
                driver = run.driver(until="caught-up")
                while not ddl_jobs(place, "state = 'paused'"):
                    assert driver.running, driver.wait()
                server("kill")
                if number % 2:
                    driver.kill()
                server("up")
                if not number % 2:
                    code, said = driver.wait()
                    assert code in (0, 1), said
            outcome = run()
            assert (outcome.code, run.resolved_ts) == (0, ts(at + 2)), outcome.said
            if number == 7:
                assert place.rows("others") == [{"id": 2, "name": "two", "c1": "2"}]
                assert place.rows("some") == [{"id": 2}]
        assert ledger(run) == [("done", 12)]
        once = "query NOT LIKE '%IF EXISTS%' AND query NOT LIKE '%OR REPLACE%'"
        ran = ddl_jobs(place, f"query LIKE '%{place.schema}%' AND {once}")
        assert sorted(ran) == sorted(set(ran))
        assert ddl_jobs(place, "state <> 'synced'") == []
