"""Messages that are lost, come too late, or cannot be read, and rows that nothing identifies."""

import re
import time

from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    follow,
    hears,
    retention,
    target,
    types,
    upstream,
)
from ticdc_encoder.event import Resolved, RowChange
from ticdc_encoder.sql.parser import parse_create_table

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
LOG = "CREATE TABLE log (name VARCHAR(20))"
SKEW = 1.0
ANEW = "load all tables again: ticdc-consumer forget CONFIG, then ticdc-consumer load CONFIG"
LOADED = ("forget CONFIG", "load CONFIG --replace", "run CONFIG")


def recreated(scene: Scene) -> None:
    """The topic is deleted, and TiCDC makes it anew."""
    scene.feed.kafka.delete_topic(scene.feed.topic)
    scene.feed.kafka.create_topic(scene.feed.name, scene.feed.partitions)
    scene.feed.resolve(scene.tidb.ts())


def broken_mark(scene: Scene) -> None:
    """A resolved ts of the year 2090."""
    scene.feed.send(0, Resolved(1_000_000_000_000_000_000))


def garbage(scene: Scene) -> None:
    """A message that is not of the protocol."""
    scene.feed.send_raw(1, None, b'{"type":"INSERT",,}')
    scene.upstream("INSERT INTO t VALUES (5, 'later')")


def deletes_the_message(scene: Scene) -> None:
    """As kafka-delete-records does, by what is said of it."""
    said = re.search(r"partition (\d+) of (\S+), before offset (\d+)", scene.heard)
    assert said is not None
    scene.feed.kafka.delete_records(said[2], int(said[1]), int(said[3]))


def waits_for_the_clocks(scene: Scene) -> None:
    """In the tests by seconds."""
    time.sleep(SKEW)


def garbled(scene: Scene) -> None:
    """A row of one table whose number is none."""
    table = parse_create_table(T, scene.tidb.schema)
    row = RowChange(table, scene.tidb.ts(), after={"id": 4, "name": "four"})
    key, value = scene.feed.record(row)
    scene.feed.send_raw(1, key, (value or b"").replace(b'"id":"4"', b'"id":"four"'))
    scene.upstream("INSERT INTO t VALUES (5, 'later')")


def new_topic(scene: Scene) -> None:
    """TiCDC sends into another topic from now on, which the configuration names."""
    feed = scene.feed
    feed.topic = feed.kafka.create_topic("another", feed.partitions)
    feed.resolve(scene.tidb.ts())
    scene.command.set(kafka__topics=feed.topic)


def trusts_if_none_is_found(scene: Scene) -> None:
    """As the message says: by its query of the upstream."""
    found = re.search(r"finds no row there: (SELECT .*), confirm that", scene.said)
    assert found, scene.said
    if not scene.tidb.execute(found[1]):
        scene.set(target__rules="calendar-dates")
    scene.types("run CONFIG")


BEGUN = [changefeed_begins, upstream(T, "INSERT INTO t VALUES (1, 'one')"), types("run CONFIG")]
LATER = upstream("INSERT INTO t VALUES (2, 'two')")
RUN = types("run CONFIG")
DATES = "CREATE TABLE t (id INT PRIMARY KEY, d DATE)"
TRUST = "and this finds no row there: …, confirm that by [target] rules = "

CASES = [
    Case(
        "retention took changes, and a table was dropped upstream meanwhile",
        [
            *BEGUN,
            upstream("CREATE TABLE gone (id INT PRIMARY KEY)", "INSERT INTO gone VALUES (1)"),
            types("run CONFIG"),
            upstream("DROP TABLE gone"),
            LATER,
            retention,
            upstream("DELETE FROM t WHERE id = 1"),
            types("run CONFIG"),
        ],
        ANEW,
        [
            types("forget CONFIG"),
            hears("it filled …gone"),
            types("load CONFIG --replace"),
            hears("tables of the target that the upstream does not have"),
            target("DROP TABLE gone"),
            types("run CONFIG"),
        ],
        settings={"limits__clock_skew": "0"},
    ),
    Case(
        "the topic was deleted and recreated",
        [*BEGUN, LATER, recreated, types("run CONFIG")],
        ANEW,
        [types(*LOADED)],
    ),
    Case(
        "debezium is trusted where the upstream has calendar dates alone",
        [changefeed_begins, upstream(DATES, "INSERT INTO t VALUES (1, '0100-01-01')"), RUN],
        TRUST,
        [trusts_if_none_is_found],
        protocol="debezium",
    ),
    *(
        Case(
            f"debezium is not trusted where the upstream has {date}",
            [changefeed_begins, upstream(DATES, f"INSERT INTO t VALUES (1, '{date}')"), RUN],  # noqa: S608
            TRUST,
            [trusts_if_none_is_found],
            ends="stopped",
            protocol="debezium",
            on=("sqlite",),
        )
        for date in ("0000-00-00", "2024-00-10", "2024-10-00", "2023-02-31", "0099-12-31")
    ),
    Case(
        "a resolved ts is broken: the changefeed goes to a new topic",
        [*BEGUN, broken_mark, LATER, types("run CONFIG")],
        "else the message is wrong, and to apply it would drop rows",
        [new_topic, types(*LOADED)],
    ),
    Case(
        "a resolved ts is broken: the clock is right, and the consumer is started again",
        [*BEGUN, broken_mark, types("run CONFIG")],
        "If this machine's clock is behind, correct it and start again",
        [types("run CONFIG")],
        ends="stopped",
    ),
    Case(
        "a table without a key has drifted",
        [
            changefeed_begins,
            upstream(LOG, "INSERT INTO log VALUES ('a'), ('b')"),
            types("run CONFIG"),
            target("UPDATE log SET name = 'strange' WHERE name = 'a'"),
            upstream("DELETE FROM log WHERE name = 'a'"),
            types("run CONFIG"),
        ],
        ANEW,
        [types(*LOADED)],
        settings={"tables__at_least_once": "*.log"},
    ),
    Case(
        "a message that cannot be read quarantines its table, which is loaded",
        [*BEGUN, garbled, types("run CONFIG", "why CONFIG")],
        "if it concerns one table only, quarantine that table: ticdc-consumer run",
        [
            types("run CONFIG --set on_error.quarantine=true"),
            hears("{schema}.t is quarantined"),
            types("release CONFIG TABLE --load", "run CONFIG"),
        ],
    ),
    Case(
        "a message that cannot be read is of no known table: all is loaded",
        [*BEGUN, garbage, types("run CONFIG", "why CONFIG")],
        "if the next run stops there again, delete the messages up to it (kafka-delete-records, "
        "partition {partition} of {topic}, before offset {next}), wait for limits.clock_skew, "
        "because the rest must be that much older than a load, and …",
        [
            types("run CONFIG --set on_error.quarantine=true"),
            deletes_the_message,
            waits_for_the_clocks,
            types("forget CONFIG", "load CONFIG --replace"),
            upstream("INSERT INTO t VALUES (6, 'last')"),
            types("run CONFIG"),
        ],
        settings={"limits__clock_skew": SKEW},
    ),
    Case(
        "a table was quarantined, and the run has ended",
        [*BEGUN, garbled, types("run CONFIG --set on_error.quarantine=true", "why CONFIG")],
        "start the consumer afterwards: ticdc-consumer run …",
        [
            types("release CONFIG {schema}.t"),
            hears("offset"),
            types("release CONFIG {schema}.t --load", "run CONFIG"),
        ],
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
