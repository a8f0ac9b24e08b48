"""A table whose rows cannot be applied is quarantined, the others go on, and a release brings it to
their R."""

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
import sqlalchemy as sa
from support import brokers
from support.databases import own_schema
from support.torture_cli import CHANGEFEED, Command, Make, ended_by, refuses
from support.torture_driver import Driver
from support.torture_topics import Feed, framed, inserted, table, ts, updated
from ticdc_consumer import failpoints
from ticdc_consumer.cli import commands as cli
from ticdc_consumer.errors import Retry
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.status import diagnosis
from ticdc_consumer.status.activity import stored
from ticdc_consumer.targets import open_target
from ticdc_consumer.waiting import until
from ticdc_encoder.event import Row

NAME = "shop.items"
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
        outcome = self.run.command("release", NAME, **settings)
        return outcome.code, outcome.said

    def aside(self) -> list[tuple[str, int]]:
        rows = self.run.rows("SELECT * FROM ticdc_quarantine")
        return [(str(row[2]), int(row[3]) - ts(0)) for row in rows]

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return self.run.rows(f"SELECT * FROM {name} ORDER BY id")  # noqa: S608

    def restart(self, partition: int) -> int:
        """Where the changefeed goes on."""
        query = f"SELECT restart_offset FROM ticdc_offset WHERE partition = {partition}"  # noqa: S608
        ((offset,),) = self.run.rows(query)
        return int(offset)

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
    assert f"shop.items is quarantined at R {ts(100)}: shop.items.extra: the target" in said
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
        "another row of the target has the same value of the unique key (items.name)",
        ("DELETE FROM items WHERE id = 9",),
        (2, "two"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_applied_waits_until_its_cause_is_mended(small: Place, case: str) -> None:
    here = small
    spoil, row, reason, mend, applied = CASES[case]
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


@pytest.mark.parametrize("protocol", ["canal-json", "simple"])
def test_a_row_before_its_resolved_ts_is_applied_after_release(
    place: Callable[..., Place], sqlite_url: str, protocol: str
) -> None:
    here = place(sqlite_url, protocol)
    here.alter("CREATE UNIQUE INDEX names ON items (name)")
    here.feed.send(0, inserted(150, {"id": 2, "name": "one"}))
    here.feed.send(0, inserted(250, {"id": 3, "name": "three"}))
    here.feed.mark(200)
    here.caught_up(200)
    here.alter("DROP INDEX names")
    assert here.release()[0] == 0
    assert here.rows("items") == [(1, "one"), (2, "one")]
    here.feed.mark(300)
    here.caught_up(300)
    assert here.rows("items") == [(1, "one"), (2, "one"), (3, "three")]


UNREADABLE = {
    "canal-json": (b'"id":"2"', b'"id":"x"'),
    "open-protocol": (b'"v":2', b'"v":"x"'),
    "simple": (b'"id":"2"', b'"id":"x"'),
    "debezium": (b'"id":2', b'"id":"x"'),
}


def unreadable(protocol: str, value: bytes | None) -> bytes:
    """A row's message whose `id` is none."""
    good, bad = UNREADABLE[protocol]
    assert value is not None and good in value
    value = value.replace(good, bad)
    return framed([value[8:]]) if protocol == "open-protocol" else value


@pytest.mark.parametrize("protocol", UNREADABLE)
def test_a_message_that_cannot_be_decoded_sets_its_table_aside(
    place: Callable[..., Place], sqlite_url: str, protocol: str
) -> None:
    here = place(sqlite_url, protocol)
    key, value = here.feed.record(inserted(150, {"id": 2, "name": "two"}))
    here.feed.send_raw(0, key, unreadable(protocol, value))
    here.feed.send(0, inserted(151, {"id": 3, "name": "three"}))
    here.feed.send(0, inserted(152, {"id": 2, "name": "two"}, table(OTHERS)))
    here.feed.mark(200)
    assert "column `id` of shop.items" in here.caught_up(200)
    assert here.aside() == [("items", 100)] and here.rows("items") == [(1, "one")]
    assert here.rows("others") == [(1, "one"), (2, "two")]
    here.feed.send(1, updated(250, {"id": 2, "name": "two"}, {"id": 2, "name": "2"}, table(OTHERS)))
    key, value = here.feed.record(inserted(390, {"id": 2, "name": "two"}))
    here.feed.send_raw(0, key, unreadable(protocol, value))
    here.feed.mark(300)
    here.caught_up(300)
    assert here.rows("others") == [(1, "one"), (2, "2")]
    held = here.restart(0)
    here.feed.mark(310)
    here.caught_up(310)
    assert here.restart(0) == held  # before the row of 390, which may be released by then
    here.feed.mark(400)
    here.caught_up(400)
    assert here.restart(0) > held
    code, said = here.release()
    assert code == 3 and "column `id` of shop.items" in said
    assert here.aside() == [("items", 100)]


def test_an_unreadable_message_of_several_rows_stops_the_run(
    place: Callable[..., Place], sqlite_url: str
) -> None:
    here = place(sqlite_url, "open-protocol")
    rows = [inserted(150, {"id": 2, "name": "two"}, of) for of in (table(), table(OTHERS))]
    (key, value), (other_key, other_value) = map(here.feed.record, rows)
    assert key and other_key and other_value
    both = unreadable("open-protocol", value) + other_value
    here.feed.send_raw(0, key + other_key[8:], both)
    here.feed.mark(200)
    refuses(here.run, "column `id` of shop.items")


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


@pytest.mark.parametrize("target", ["sqlite", "mysql"])
def test_a_release_does_the_ddl_that_came_meanwhile(
    place: Callable[..., Place], target: str, request: pytest.FixtureRequest
) -> None:
    here = place(request.getfixturevalue(f"{target}_url"))
    here.alter("CREATE UNIQUE INDEX names ON items (name)")
    here.feed.send(0, inserted(150, {"id": 2, "name": "one"}))
    here.feed.ddl(160, "ALTER TABLE `items` ADD COLUMN `extra` INT", "items")
    here.feed.send(1, inserted(170, {"id": 3, "name": "three", "extra": 3}, table(WIDE)))
    here.feed.mark(200)
    here.caught_up(200)
    here.feed.ddl(210, "DROP TABLE `items`", "items", kind=4)
    here.feed.create(220, WIDE)
    here.feed.send(1, inserted(230, {"id": 4, "name": "four", "extra": 4}, table(WIDE)))
    here.feed.ddl(240, "ALTER TABLE `others` ADD COLUMN `n` INT", "others")
    here.feed.mark(300)
    here.caught_up(300)
    assert here.aside() == [("items", 100)] and here.rows("items") == [(1, "one")]
    assert here.rows("others") == [(1, "one", None)]
    here.alter(f"DROP INDEX names{' ON items' if target == 'mysql' else ''}")
    assert here.release()[0] == 0
    assert here.rows("items") == [(4, "four", 4)]
    here.feed.send(0, inserted(350, {"id": 5, "name": "five", "extra": 5}, table(WIDE)))
    here.feed.mark(400)
    here.caught_up(400)
    assert here.rows("items") == [(4, "four", 4), (5, "five", 5)]
    statements = [query for (query,) in here.run.rows("SELECT query FROM ticdc_ddl")]
    assert len(statements) == len(set(statements)) == 6


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


def test_a_table_with_a_foreign_key_stops_as_without_the_setting(small: Place) -> None:
    child = "CREATE TABLE `notes` (`id` INT NOT NULL PRIMARY KEY, `item` INT"
    small.feed.create(
        110, f"{child}, CONSTRAINT `f` FOREIGN KEY (`item`) REFERENCES `items` (`id`))"
    )
    small.feed.mark(120)
    small.caught_up(120)
    small.poison()
    refuses(
        small.run,
        "shop.items cannot be quarantined: a foreign key joins it and shop.notes",
    )


def test_a_foreign_key_that_only_the_target_has_stops_it_too(small: Place) -> None:
    small.alter(
        "DROP TABLE others",
        "CREATE TABLE others (id INTEGER NOT NULL PRIMARY KEY, name TEXT, "
        "FOREIGN KEY (id) REFERENCES items (id))",
    )
    small.poison()
    refuses(small.run, "shop.items cannot be quarantined: foreign key", "joins it and another")


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
    assert (
        outcome.code == 3 and "involves a quarantined table and something else" in outcome.said
    ), outcome.said
    assert small.run.resolved_ts == ts(250)
    assert small.rows("others")[-1] == (3, "x")
    small.mend()
    assert small.release()[0] == 0
    assert small.rows("items") == [(1, "one", None), (2, "two", 2)]


def test_a_table_that_is_not_set_aside_is_not_released(small: Place) -> None:
    code, said = small.release()
    assert code == 3 and "shop.items is not quarantined; no table is" in said


def test_a_log_that_is_gone_is_named(small: Place, capsys: pytest.CaptureFixture[str]) -> None:
    small.poison()
    small.caught_up(200)
    ((positions,),) = small.run.rows("SELECT positions FROM ticdc_quarantine")
    moved = [[*each[:3], 1000, *each[4:]] for each in json.loads(positions)]
    small.alter(f"UPDATE ticdc_quarantine SET positions = '{json.dumps(moved)}'")  # noqa: S608
    code, said = small.release()
    assert code == 3 and "shop.items cannot be released, because its log is lost" in said
    capsys.readouterr()
    assert cli.main(["check", str(small.run._file), *small.run.arguments()]) == 0
    found = capsys.readouterr().out
    assert f"warn  checkpoint: shop.items is quarantined at R {ts(100)}" in found
    assert "shop.items cannot be released: " in found


# --- what is told ---------------------------------------------------------------------------------


def test_status_and_why_say_what_waits(small: Place, capsys: pytest.CaptureFixture[str]) -> None:
    small.poison()
    small.caught_up(200)
    small.more()
    small.caught_up(300)
    with small.run.consumer() as consumer:
        assert consumer.activity.set_aside[0].waiting == 3
        assert until(lambda: is_running(small.run), 20.0)
        shown = diagnosis.why(small.run.options())
    assert shown.cause == "table-quarantined"
    assert shown.sentence.startswith(f"the table shop.items is quarantined at R {ts(100)}")
    assert shown.advice == (
        "fix the cause, stop the consumer, then apply what waits: "
        "ticdc-consumer release CONFIG shop.items",
        "if the cause is in the rows or in a message, load the table instead: "
        "ticdc-consumer release CONFIG shop.items --load",
    )
    capsys.readouterr()
    assert cli.main(["status", str(small.run._file), *small.run.arguments()]) == 0
    text = capsys.readouterr().out
    assert f"quarantined     shop.items waits at R {ts(100)}" in text
    assert "with 3 changes" in text
    assert cli.main(["status", str(small.run._file), *small.run.arguments(), "--json"]) == 0
    (waiting,) = json.loads(capsys.readouterr().out)["quarantined"]
    assert (waiting["table"], waiting["resolved_ts"]) == ("items", str(ts(100)))
    assert cli.main(["list", str(small.run._file), *small.run.arguments()]) == 0
    assert "quarantined tables: 1" in capsys.readouterr().out


def test_a_plan_continues_without_it_and_ends_as_another_would(
    small: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    small.poison()
    small.caught_up(200)
    small.more()
    assert cli.main(["plan", str(small.run._file), *small.run.arguments(), "--json"]) == 0
    (cut,) = json.loads(capsys.readouterr().out)["cuts"]
    assert [each["name"] for each in cut["tables"]] == ["shop.others"] and cut["ddl"] == []


# --- crashes, and others --------------------------------------------------------------------------

RUN_STEPS = ("quarantine-commit", "quarantined", "read", "commit", "committed")
RELEASE_STEPS = (
    "lease-taken",
    "read",
    "write-rows",
    "commit",
    "committed",
    "run-ddl",
    "committed",
    "ddl-mark-done",
    "ddl-commit",
    "ddl-committed",
    "commit",
    "cut-ended",
)


@pytest.fixture
def crash(long: bool, monkeypatch: pytest.MonkeyPatch) -> Callable[[Place, str, str], bool]:
    """Lets a run or a release die at a step, and gives whether it did: with `--long` a process of
    its own by kill -9, else by an exception that nothing handles."""

    def crash(here: Place, command: str, step: str) -> bool:
        if long and command == "run":
            return here.run.driver(f"{step}:kill", "caught-up").wait()[0] == -9
        if long:
            return released(here, f"{step}:kill").wait()[0] == -9
        failpoints._hits.clear()
        with monkeypatch.context() as patch:
            patch.setenv("TICDC_FAILPOINT", f"{step}:raise")
            try:
                outcome = here.run() if command == "run" else here.run.command("release", NAME)
            except failpoints.FailpointReached:
                return True
        assert outcome.code == 0 or "is not quarantined" in outcome.said, outcome.said
        return False

    return crash


@pytest.mark.parametrize("target", ["sqlite", "postgresql", "mariadb"])
def test_a_crash_between_any_two_steps_loses_and_repeats_nothing(
    place: Callable[..., Place],
    target: str,
    crash: Callable[[Place, str, str], bool],
    request: pytest.FixtureRequest,
) -> None:
    here = place(request.getfixturevalue(f"{target}_url"))
    here.poison()
    died = [crash(here, "run", step) for step in RUN_STEPS]
    assert died == [True] * 5
    assert here.aside() == [("items", 100)] and here.rows("items") == [(1, "one")]
    assert here.rows("others") == [(1, "one"), (2, "two")] and here.run.resolved_ts == ts(200)
    here.more()
    here.caught_up(300)
    here.mend()
    at, died = [100], []
    for step in RELEASE_STEPS:
        died.append(crash(here, "release", step))
        at += [number for _, number in here.aside()]
        assert at == sorted(at)
        assert here.rows("others") == [(1, "one"), (2, "new"), (3, "three")]
        assert here.aside() or here.is_whole()
    assert sum(died) >= 7, died
    assert {100, 261} <= set(at) <= {100, 200, 261}
    here.caught_up(300)
    assert here.is_whole() and here.aside() == []


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_a_table_that_stands_at_r_is_released_without_a_cut(
    place: Callable[..., Place],
    target: str,
    crash: Callable[[Place, str, str], bool],
    request: pytest.FixtureRequest,
) -> None:
    here = place(request.getfixturevalue(f"{target}_url"))
    here.poison()
    assert crash(here, "run", "quarantined")
    assert here.aside() == [("items", 100)] and here.run.resolved_ts == ts(100)
    here.mend()
    died, left = [], []
    for step in ("release-commit", "released"):
        died.append(crash(here, "release", step))
        left.append(here.aside())
    assert died == [True, True] and left == [[("items", 100)], []]
    here.caught_up(200)
    assert here.rows("items") == [(1, "one", None), (2, "two", 2)] and here.aside() == []


def test_a_consumer_continues_with_the_schemas_of_its_release(
    small: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.poison()
    small.caught_up(200)
    small.mend()
    with small.run.consumer() as consumer:
        assert [epoch.resolved_ts for epoch in consumer.release(NAME)][-1] == ts(200)
        # Else the next DDL of the table would write them a second time.
        assert consumer._opened.state.schemas == consumer.store.schemas()
        brought = {("shop", "items", 150): table(WIDE)}
        monkeypatch.setattr(consumer.store, "schemas", lambda: brought)
        consumer._learn_again()
        assert consumer._epochs.state.schemas == brought
    assert small.aside() == []


def test_a_release_is_retried_if_the_target_does_not_answer(
    small: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.poison()
    small.caught_up(200)
    small.mend()
    with small.run.consumer() as consumer:
        tables, refusals = consumer.store.quarantine.tables, [Retry("deadlock")]

        def refused_once() -> list[SetAside]:
            if refusals:
                raise refusals.pop()
            return tables()

        monkeypatch.setattr(consumer.store.quarantine, "tables", refused_once)
        assert [epoch.resolved_ts for epoch in consumer.release(NAME)][-1] == ts(200)
    assert small.aside() == [] and not refusals


def released(here: Place, failpoint: str | None = None) -> Driver:
    """`release` as a process of its own, while nobody else is alive."""
    here.alter("UPDATE ticdc_activity SET written_at = 0")
    return here.run.driver(failpoint, command="release", arguments=[NAME])


def is_running(run: Command) -> bool:
    with closing(open_target(run.target_url, to_look=True)) as target:
        activity = stored.read(target, CHANGEFEED)
    return activity is not None and activity.running


def test_a_release_waits_for_the_consumer_to_be_stopped(small: Place) -> None:
    small.poison()
    small.caught_up(200)
    with small.run.consumer():
        assert until(lambda: is_running(small.run), 20.0)
        code, said = small.release()
    assert code == 3 and "a consumer of changefeed proof runs" in said and "stop it" in said


def test_of_a_run_and_a_release_the_older_is_refused(small: Place) -> None:
    small.poison()
    small.caught_up(200)
    small.more()
    small.mend()
    with small.run.consumer() as older:
        with small.run.consumer() as newer:
            assert list(newer.release(NAME))
        assert ended_by(older.epochs("caught-up")).code == 4
    assert small.aside() == [] and small.run.resolved_ts == ts(200)
    assert small.rows("items") == [(1, "one", None), (2, "two", 2)]
    small.caught_up(300)
    assert small.is_whole()


def test_an_overtaken_release_is_refused_and_another_continues(small: Place) -> None:
    small.poison()
    small.caught_up(200)
    small.more()
    small.caught_up(300)
    small.mend()
    with small.run.consumer() as older:
        cuts = older.release(NAME)
        next(cuts)
        (before,) = small.aside()
        small.feed.mark(400)
        small.caught_up(400)
        assert ended_by(cuts).code == 4
    assert small.aside() == [before]
    with small.run.consumer() as newer:
        last = [epoch.resolved_ts for epoch in newer.release(NAME)][-1]
        assert (last, small.aside()) == (ts(400), [])
        small.feed.mark(500)
        list(newer.epochs("caught-up"))
    assert small.is_whole() and small.run.resolved_ts == ts(500)
