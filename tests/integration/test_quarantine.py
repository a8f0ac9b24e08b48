"""A table whose rows cannot be applied is set aside, the others go on, and a release brings it to
their R."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from support import brokers
from support.databases import own_schema
from support.local_spark import LocalSpark
from support.torture_cli import Command, Make, refuses
from support.torture_driver import Driver
from support.torture_topics import Feed, inserted, table, ts, updated
from ticdc_consumer import status
from ticdc_consumer.cli import commands as cli
from ticdc_encoder.event import Row

WIDE = "CREATE TABLE `items` (`id` INT NOT NULL PRIMARY KEY, `name` VARCHAR(40), `extra` INT)"
OTHERS = "CREATE TABLE `others` (`id` INT NOT NULL, `name` VARCHAR(40), PRIMARY KEY (`id`))"


class Place:
    """A target at 100, with the tables `items` and `others`."""

    def __init__(self, feed: Feed, run: Command) -> None:
        self.feed, self.run = feed, run
        feed.create(10)
        feed.create(12, OTHERS)
        feed.send(0, inserted(20, {"id": 1, "name": "one"}))
        feed.send(1, inserted(20, {"id": 1, "name": "one"}, table(OTHERS)))
        feed.mark(100)
        self.caught_up(100)

    def caught_up(self, number: int, **settings: Any) -> str:
        outcome = self.run(**settings)
        assert (outcome.code, self.run.resolved_ts) == (0, ts(number)), outcome.said
        return outcome.said

    def poison(self) -> None:
        """Up to 200, with a row of `items` that has a column which the target lacks."""
        row: Row = {"id": 2, "name": "two", "extra": 2}
        self.feed.send(0, inserted(150, row, table(WIDE)))
        self.feed.send(1, inserted(151, {"id": 2, "name": "two"}, table(OTHERS)))
        self.feed.mark(200)

    def more(self) -> None:
        """Up to 300, with a DDL of `items` between its rows."""
        items, others = table(WIDE), table(OTHERS)
        old: Row = {"id": 2, "name": "two"}
        new: Row = {"id": 2, "name": "new"}
        self.feed.send(1, updated(250, {**old, "extra": 2}, {**new, "extra": 2}, items))
        self.feed.send(0, updated(251, old, new, others))
        self.feed.ddl(260, "TRUNCATE TABLE `items`", "items", kind=11)
        self.feed.send(0, inserted(270, {"id": 3, "name": "three", "extra": 3}, items))
        self.feed.send(1, inserted(270, {"id": 3, "name": "three"}, others))
        self.feed.mark(300)

    def alter(self, *statements: str) -> None:
        """What an operator does to the target."""
        engine = sa.create_engine(self.run.target_url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
            connection.commit()

    def mend(self) -> None:
        self.alter("ALTER TABLE items ADD COLUMN extra INT")

    def release(self, **settings: Any) -> tuple[int, str]:
        outcome = self.run.command("release", "shop.items", **settings)
        return outcome.code, outcome.said

    def aside(self) -> list[tuple[str, int]]:
        rows = self.run.rows("SELECT * FROM ticdc_quarantine")
        return [(str(row[2]), int(row[3]) - ts(0)) for row in rows]

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return self.run.rows(f"SELECT * FROM {name} ORDER BY id")  # noqa: S608

    def is_whole(self) -> bool:
        """Whether all that came up to 300 is there."""
        items, others = self.rows("items"), self.rows("others")
        return items == [(3, "three", 3)] and others == [(1, "one"), (2, "new"), (3, "three")]


@pytest.fixture
def place(command: Make, mock_kafka: brokers.Mock) -> Callable[..., Place]:
    def place(url: str, protocol: str = "canal-json", **settings: Any) -> Place:
        settings = {"on_error__quarantine": "true", **settings}
        route = f'{{"*.*" = "{own_schema(url)}.{{table}}"}}'
        feed = Feed(mock_kafka, protocol)
        return Place(feed, command([feed], url, tables__route=route, **settings))

    return place


@pytest.fixture
def small(place: Callable[..., Place], sqlite_url: str) -> Place:
    return place(sqlite_url)


@pytest.mark.parametrize("target", ["sqlite", "postgresql", "mysql"])
def test_one_table_waits_and_is_released_while_the_others_go_on(
    place: Callable[..., Place], target: str, request: pytest.FixtureRequest
) -> None:
    here = place(request.getfixturevalue(f"{target}_url"))
    here.poison()
    said = here.caught_up(200)
    assert f"shop.items is set aside at R {ts(100)}: shop.items.extra: the target" in said
    assert here.aside() == [("items", 100)]
    assert here.rows("items") == [(1, "one")]
    assert here.rows("others") == [(1, "one"), (2, "two")]
    here.more()
    here.caught_up(300)
    assert here.aside() == [("items", 100)] and here.rows("items") == [(1, "one")]
    code, said = here.release()
    assert code == 3 and "shop.items.extra: the target table has no such column" in said
    assert here.aside() == [("items", 100)] and here.rows("items") == [(1, "one")]
    here.mend()
    code, said = here.release()
    assert code == 0, said
    assert "shop.items is released" in said
    assert here.is_whole() and here.aside() == [] and here.run.resolved_ts == ts(300)
    here.feed.send(1, inserted(350, {"id": 4, "name": "four", "extra": 4}, table(WIDE)))
    here.feed.mark(400)
    here.caught_up(400)
    assert here.rows("items") == [(3, "three", 3), (4, "four", 4)]


REFUSING = (
    "DROP TABLE items",
    "CREATE TABLE items (id INTEGER NOT NULL PRIMARY KEY, name TEXT CHECK (name <> 'bad'))",
    "INSERT INTO items VALUES (1, 'one')",
)
TAKING = (*REFUSING[:1], REFUSING[1].replace(" CHECK (name <> 'bad')", ""), REFUSING[2])
CASES = {
    "a value that the target refuses": (
        REFUSING,
        inserted(150, {"id": 2, "name": "bad"}),
        "shop.items: CHECK constraint failed",
        TAKING,
        (2, "bad"),
    ),
    "a table that the target lacks": (
        ("DROP TABLE items",),
        inserted(150, {"id": 2, "name": "two"}),
        'the target has no table "items"',
        (TAKING[1], TAKING[2]),
        (2, "two"),
    ),
    "a row that is in the way of another": (
        (
            "DROP TABLE items",
            "CREATE TABLE items (id INTEGER NOT NULL PRIMARY KEY, name TEXT UNIQUE)",
            "INSERT INTO items VALUES (1, 'one'), (9, 'two')",
        ),
        inserted(150, {"id": 2, "name": "two"}),
        "UNIQUE constraint failed: items.name",
        ("DELETE FROM items WHERE id = 9",),
        (2, "two"),
    ),
}


@pytest.mark.parametrize("by_spark", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_applied_waits_until_its_cause_is_mended(
    place: Callable[..., Place], sqlite_url: str, case: str, by_spark: bool
) -> None:
    spoil, row, reason, mend, applied = CASES[case]
    here = place(sqlite_url, **({"spark": LocalSpark(2)} if by_spark else {}))
    here.alter(*spoil)
    here.feed.send(0, row)
    here.feed.send(1, inserted(151, {"id": 2, "name": "two"}, table(OTHERS)))
    here.feed.mark(200)
    assert reason in here.caught_up(200)
    assert here.rows("others") == [(1, "one"), (2, "two")]
    assert here.aside() == [("items", 100)]
    here.alter(*mend)
    assert here.release()[0] == 0
    assert here.rows("items") == [(1, "one"), applied]
    here.caught_up(200)


def test_two_tables_wait_for_different_reasons_from_different_ts(small: Place) -> None:
    small.poison()
    small.caught_up(200)
    small.alter("CREATE UNIQUE INDEX names ON others (name)", "DELETE FROM others WHERE id = 2")
    small.feed.send(0, inserted(250, {"id": 3, "name": "one"}, table(OTHERS)))
    small.feed.mark(300)
    small.caught_up(300)
    assert small.aside() == [("items", 100), ("others", 200)]
    small.alter("DROP INDEX names")
    assert small.run.command("release", "shop.others").code == 0
    assert small.aside() == [("items", 100)]
    assert small.rows("others") == [(1, "one"), (3, "one")]


# --- where it is not allowed ----------------------------------------------------------------------


def test_without_the_setting_the_run_stops(place: Callable[..., Place], sqlite_url: str) -> None:
    here = place(sqlite_url, on_error__quarantine="false")
    here.poison()
    refuses(here.run, "shop.items.extra: the target table has no such column")


def test_a_table_stays_aside_when_the_setting_is_taken_away(small: Place) -> None:
    small.poison()
    small.caught_up(200)
    small.more()
    small.caught_up(300, on_error__quarantine="false")
    assert small.aside() == [("items", 100)]


def test_nothing_is_set_aside_before_the_first_commit(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka)
    feed.send(0, inserted(150, {"id": 3, "name": "three"}))
    feed.mark(200)
    outcome = command([feed], sqlite_url, on_error__quarantine="true")()
    assert outcome.code == 3 and "the target has no table" in outcome.said


def test_a_table_with_a_foreign_key_stops_the_run_as_without_the_setting(small: Place) -> None:
    child = "CREATE TABLE `notes` (`id` INT NOT NULL PRIMARY KEY, `item` INT"
    small.feed.create(
        110, f"{child}, CONSTRAINT `f` FOREIGN KEY (`item`) REFERENCES `items` (`id`))"
    )
    small.feed.mark(120)
    small.caught_up(120)
    small.poison()
    refuses(
        small.run,
        "shop.items cannot be set aside: a foreign key joins it and shop.notes",
    )


def test_a_foreign_key_that_only_the_target_has_stops_it_too(small: Place) -> None:
    small.alter(
        "DROP TABLE others",
        "CREATE TABLE others (id INTEGER NOT NULL PRIMARY KEY, name TEXT, "
        "FOREIGN KEY (id) REFERENCES items (id))",
    )
    small.poison()
    refuses(small.run, "shop.items cannot be set aside: foreign key", "joins it and another")


def test_transactions_are_refused(small: Place) -> None:
    outcome = small.run(target__apply="transactions")
    assert outcome.code == 2 and "on_error.quarantine" in outcome.said


@pytest.mark.parametrize(
    "query",
    [
        "RENAME TABLE `shop`.`items` TO `shop`.`things`",
        "CREATE TABLE `shop`.`things` LIKE `shop`.`items`",
        "DROP DATABASE `shop`",
    ],
)
def test_a_ddl_of_it_and_of_something_else_stops_in_its_place(small: Place, query: str) -> None:
    small.poison()
    small.caught_up(200)
    small.feed.send(0, inserted(240, {"id": 3, "name": "x"}, table(OTHERS)))
    named = "" if query.startswith("DROP") else "things"
    small.feed.ddl(250, query, named)
    small.feed.send(0, inserted(260, {"id": 4, "name": "x"}, table(OTHERS)))
    small.feed.mark(300)
    outcome = small.run()
    assert outcome.code == 3 and "is of a table that is set aside" in outcome.said, outcome.said
    assert small.run.resolved_ts == ts(250)
    assert small.rows("others")[-1] == (3, "x")
    small.mend()
    assert small.release()[0] == 0
    assert small.rows("items") == [(1, "one", None), (2, "two", 2)]


def test_a_table_that_is_not_set_aside_is_not_released(small: Place) -> None:
    code, said = small.release()
    assert code == 3 and "shop.items is not set aside; no table is" in said


def test_a_log_that_is_gone_is_named(small: Place) -> None:
    small.poison()
    small.caught_up(200)
    ((positions,),) = small.run.rows("SELECT positions FROM ticdc_quarantine")
    moved = [[*each[:3], 1000, *each[4:]] for each in json.loads(positions)]
    small.alter(f"UPDATE ticdc_quarantine SET positions = '{json.dumps(moved)}'")  # noqa: S608
    code, said = small.release()
    assert code == 3 and "shop.items cannot be released, since its log is gone" in said


# --- what is told ---------------------------------------------------------------------------------


def test_status_and_why_say_what_waits(small: Place, capsys: pytest.CaptureFixture[str]) -> None:
    small.poison()
    small.caught_up(200)
    small.more()
    small.caught_up(300)
    with small.run.consumer() as consumer:
        assert consumer.activity.set_aside[0].waiting == 3
        shown = status.why(small.run.options())
    assert shown.cause == "table-quarantined"
    assert shown.sentence.startswith(f"the table shop.items is set aside at R {ts(100)}")
    assert shown.advice == (
        "mend the cause, stop the consumer, then: ticdc-consumer release CONFIG shop.items",
    )
    capsys.readouterr()
    assert cli.main(["status", str(small.run._file), *small.run.arguments()]) == 0
    text = capsys.readouterr().out
    assert f"set aside       shop.items stands at R {ts(100)}" in text
    assert "3 changes wait" in text
    assert cli.main(["status", str(small.run._file), *small.run.arguments(), "--json"]) == 0
    (waiting,) = json.loads(capsys.readouterr().out)["set_aside"]
    assert (waiting["table"], waiting["resolved_ts"]) == ("items", str(ts(100)))


def test_a_plan_goes_on_without_it_and_ends_where_another_would_be(
    small: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    small.poison()
    small.caught_up(200)
    small.more()
    assert cli.main(["plan", str(small.run._file), *small.run.arguments(), "--json"]) == 0
    (cut,) = json.loads(capsys.readouterr().out)["cuts"]
    assert list(cut["tables"]) == ["shop.others"] and cut["ddl"] == []


# --- crashes, and others --------------------------------------------------------------------------

RUN_STEPS = ("Q1", "Q2", "S3", "S10", "S13", "S14")
RELEASE_STEPS = ("S1", "S3", "S10", "S12", "S13", "S14", "S11", "S13", "D3", "D4", "D5", "S16")


@pytest.mark.parametrize("target", ["sqlite", "postgresql", "mariadb"])
def test_a_kill_between_any_two_steps_loses_and_repeats_nothing(
    place: Callable[..., Place], target: str, request: pytest.FixtureRequest
) -> None:
    here = place(request.getfixturevalue(f"{target}_url"))
    here.poison()
    for step in RUN_STEPS:
        here.run.driver(failpoint=f"{step}:kill", until="caught-up").wait()
        assert here.aside() in ([], [("items", 100)])
        assert here.rows("items") == [(1, "one")]
        assert (len(here.rows("others")) == 2) == (here.run.resolved_ts == ts(200))
    here.caught_up(200)
    here.more()
    here.caught_up(300)
    here.mend()
    at = [100]
    for step in RELEASE_STEPS:
        released(here, failpoint=f"{step}:kill").wait()
        at += [number for _, number in here.aside()]
        assert at == sorted(at)
        assert here.rows("others") == [(1, "one"), (2, "new"), (3, "three")]
        assert here.aside() or here.is_whole() or here.run.rows(PENDING)
    if here.aside():
        assert here.release()[0] == 0
    here.caught_up(300)  # a DDL of the table may have been left
    assert here.is_whole() and here.aside() == []


PENDING = "SELECT 1 FROM ticdc_ddl WHERE state = 'pending'"


def released(here: Place, failpoint: str | None = None) -> Driver:
    """`release` as a process of its own, while nobody else is alive."""
    here.alter("UPDATE ticdc_activity SET written_at = 0")
    return here.run.driver("shop.items", failpoint=failpoint, command="release")


def test_a_release_waits_for_the_consumer_to_be_stopped(small: Place) -> None:
    small.poison()
    small.caught_up(200)
    with small.run.consumer():
        code, said = small.release()
    assert code == 3 and "a consumer of changefeed proof runs" in said and "stop it" in said


def test_of_a_run_and_a_release_the_older_is_refused(
    place: Callable[..., Place], postgresql_url: str
) -> None:
    here = place(postgresql_url, limits__takeover_after="1")
    here.poison()
    here.caught_up(200)
    here.more()
    here.mend()
    older = here.run.driver(failpoint="S13:stop", until="caught-up")
    try:
        older.wait_until_stopped()
        code, said = released(here).wait()
        assert code == 0, said
        assert here.aside() == [] and here.rows("items") == [(1, "one", None), (2, "two", 2)]
        older.go_on()
        code, said = older.wait()
        assert code == 4, said
    finally:
        older.kill()
    here.caught_up(300)
    assert here.is_whole()


def test_a_release_that_is_overtaken_is_refused(
    place: Callable[..., Place], postgresql_url: str
) -> None:
    here = place(postgresql_url, limits__takeover_after="1")
    here.poison()
    here.caught_up(200)
    here.mend()
    older = released(here, failpoint="S13:stop")
    try:
        older.wait_until_stopped()
        here.more()
        here.caught_up(300)
        older.go_on()
        code, said = older.wait()
        assert code == 4, said
    finally:
        older.kill()
    assert here.aside() == [("items", 100)] and here.rows("items") == [(1, "one", None)]
    assert released(here).wait()[0] == 0
    assert here.is_whole()
