"""Rows that another client wrote into the target."""

from unittest.mock import patch

from support.advice import (
    Case,
    Scene,
    Step,
    as_ticdc_sends,
    changefeed_begins,
    follow,
    hears,
    run_begins,
    run_ends,
    target,
    types,
    types_again,
    upstream,
)
from ticdc_consumer.commands.verify import share
from ticdc_consumer.waiting import until

PEOPLE = "CREATE TABLE people (id INT PRIMARY KEY, mail VARCHAR(20) NOT NULL, UNIQUE KEY m (mail))"
PLAIN = "CREATE TABLE people (id INT PRIMARY KEY, mail VARCHAR(20) NOT NULL)"
EVERYWHERE = ("sqlite", "postgresql", "mariadb", "mysql", "tidb")
ROWS = "INSERT INTO people VALUES (1, 'a'), (2, 'b')"
TAKEN = "UPDATE people SET mail = 'new' WHERE id = 1"
REPAIR = "verify CONFIG --repair --table {schema}.people"
QUARANTINES = "run CONFIG --set on_error.quarantine=true"
OTHER = "CREATE TABLE u (id INT PRIMARY KEY)"
ADDS_THE_SAME = "ALTER TABLE u ADD COLUMN w INT DEFAULT 7"
"""A DDL that waits where there is such a column already."""


def once_a_repair_is_asked_for(*steps: Step) -> Step:
    """What stops the consumer, or one of its tables, before it repairs."""

    def step(scene: Scene) -> None:
        asked = "SELECT 1 FROM ticdc_repair WHERE state = 'pending'"
        assert until(lambda: bool(scene.command.rows(asked)), 60)
        for each in steps:
            each(scene)

    return step


def runs_on(scene: Scene) -> None:
    """A run without an end, which compares all rows each two seconds."""
    with patch.object(share, "DAY", 2.0):
        scene.hears_of(scene.command.command("run", **scene.settings))


CASES = [
    Case(
        "a run notices rows that differ",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS),
            types("run CONFIG"),
            target(TAKEN),
            runs_on,
        ],
        "the target differs from the upstream at R = …: …. `ticdc-consumer verify CONFIG "
        '--repair` repairs it; with on_drift = "overwrite" a run continues and only reports it',
        [types("verify CONFIG --repair")],
        settings={"verify__every": 1},
    ),
    Case(
        "a row of the upstream that has drifted is in the way of another",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS),
            types("run CONFIG"),
            target(TAKEN),
            upstream("INSERT INTO people VALUES (3, 'new')"),
            types("run CONFIG"),
        ],
        "the target's rows differed from the upstream's before this cut",
        [types(REPAIR, "run CONFIG")],
        on=EVERYWHERE,
    ),
    Case(
        "a row that the upstream does not have is in the way of another",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS),
            types("run CONFIG"),
            target("INSERT INTO people VALUES (9, 'new')"),
            upstream("INSERT INTO people VALUES (3, 'new')"),
            types("run CONFIG"),
        ],
        "the target's rows differed from the upstream's before this cut",
        [types(REPAIR, "run CONFIG")],
    ),
    Case(
        "a row that has drifted is in the way of a new unique key",
        [
            changefeed_begins,
            upstream(PLAIN, ROWS),
            types("run CONFIG"),
            target("UPDATE people SET mail = 'a'"),
            upstream("ALTER TABLE people ADD UNIQUE KEY m (mail)"),
            types("run CONFIG"),
        ],
        "although they are unique upstream: repair the rows",
        [types(REPAIR, "run CONFIG")],
        on=EVERYWHERE,
    ),
    Case(
        "rows that have drifted are repaired after a DDL that waits",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS, OTHER),
            types("run CONFIG"),
            target(TAKEN, "ALTER TABLE u ADD COLUMN w INT"),
            run_begins(),
            as_ticdc_sends(types(REPAIR), once_a_repair_is_asked_for(upstream(ADDS_THE_SAME))),
        ],
        "DDL … is pending: run it, and then repair",
        [
            run_ends,
            target("ALTER TABLE u DROP COLUMN w"),
            types("run CONFIG"),
            types_again(REPAIR),
        ],
    ),
    Case(
        "a table that was quarantined is loaded after a DDL that waits",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS, OTHER),
            types("run CONFIG"),
            target(TAKEN),
            upstream("INSERT INTO people VALUES (3, 'new')"),
            types(QUARANTINES),
            target("ALTER TABLE u ADD COLUMN w INT"),
            upstream(ADDS_THE_SAME),
            types("run CONFIG", "release CONFIG {schema}.people --load"),
        ],
        "DDL … is pending: finish it first",
        [
            target("ALTER TABLE u DROP COLUMN w"),
            types("run CONFIG"),
            types_again("release CONFIG {schema}.people --load"),
        ],
    ),
    Case(
        "a table is released while no consumer runs",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS),
            types("run CONFIG"),
            target(TAKEN),
            upstream("INSERT INTO people VALUES (3, 'new')"),
            types(QUARANTINES),
            run_begins(),
            types("release CONFIG {schema}.people"),
        ],
        "a consumer of changefeed … runs, as …: stop it, release the table, and start it again",
        [
            run_ends,
            target("UPDATE people SET mail = 'a' WHERE id = 1"),
            types_again("release CONFIG {schema}.people"),
            types("run CONFIG"),
        ],
    ),
    Case(
        "a table that is quarantined before its rows are repaired is loaded",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS),
            types("run CONFIG"),
            target("UPDATE people SET mail = 'wrong' WHERE id = 2"),
            run_begins(on_error__quarantine=True),
            as_ticdc_sends(
                types(REPAIR),
                once_a_repair_is_asked_for(
                    target(TAKEN), upstream("INSERT INTO people VALUES (3, 'new')")
                ),
            ),
        ],
        "it is quarantined: load it by: ticdc-consumer release CONFIG … --load, then verify again",
        [
            run_ends,
            types("release CONFIG {schema}.people --load"),
            types_again("verify CONFIG"),
        ],
    ),
    Case(
        "the older release that runs is ended before rows are repaired",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS),
            types("run CONFIG"),
            target("UPDATE people SET mail = 'wrong' WHERE id = 1"),
            run_begins(),
            target("UPDATE ticdc_state SET version = version - 1"),
            types("verify CONFIG --repair"),
        ],
        "the running consumer is of another release than this command, and cannot repair: stop "
        "it, and repair before it starts again",
        [run_ends, types_again("verify CONFIG --repair"), types("run CONFIG")],
    ),
    Case(
        "a table that was quarantined for a row in the way is loaded",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS),
            types("run CONFIG"),
            target(TAKEN),
            upstream("INSERT INTO people VALUES (3, 'new')"),
            types(QUARANTINES, "why CONFIG"),
        ],
        "if the cause is in the rows or in a message, load the table instead: …",
        [types("release CONFIG {schema}.people --load", "run CONFIG")],
    ),
    Case(
        "a table that was quarantined is loaded, as a repair says that cannot write it",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS),
            types("run CONFIG"),
            target(TAKEN),
            upstream("INSERT INTO people VALUES (3, 'new')"),
            types(QUARANTINES, "verify CONFIG --repair"),
        ],
        "it is quarantined at R …: release it first by:",
        [
            types("release CONFIG {schema}.people"),
            hears("another row of the target has"),
            types("release CONFIG {schema}.people --load", "run CONFIG"),
        ],
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
