"""Rows that another client wrote into the target."""

from unittest.mock import patch

from support.advice import Case, Scene, changefeed_begins, follow, hears, target, types, upstream
from ticdc_consumer.upstream.verify import share

PEOPLE = "CREATE TABLE people (id INT PRIMARY KEY, mail VARCHAR(20) NOT NULL, UNIQUE KEY m (mail))"
PLAIN = "CREATE TABLE people (id INT PRIMARY KEY, mail VARCHAR(20) NOT NULL)"
EVERYWHERE = ("sqlite", "postgresql", "mariadb", "mysql", "tidb")
ROWS = "INSERT INTO people VALUES (1, 'a'), (2, 'b')"
TAKEN = "UPDATE people SET mail = 'new' WHERE id = 1"
REPAIR = "verify CONFIG --repair --table {schema}.people"


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
        "the target is not as the upstream was at R = …: …. `ticdc-consumer verify CONFIG "
        '--repair` puts it right; with on_drift = "overwrite" a run goes on and only reports it',
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
        "the target had other rows than the upstream before this cut",
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
        "the target had other rows than the upstream before this cut",
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
        "which no two have upstream. Have the upstream's rows put in their place",
        [types(REPAIR, "run CONFIG")],
        on=EVERYWHERE,
    ),
    Case(
        "a table that was set aside for a row in the way is loaded",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS),
            types("run CONFIG"),
            target(TAKEN),
            upstream("INSERT INTO people VALUES (3, 'new')"),
            types("run CONFIG --set on_error.quarantine=true", "why CONFIG"),
        ],
        "if the cause is in the rows or in a message, load the table instead: …",
        [types("release CONFIG {schema}.people --load", "run CONFIG")],
    ),
    Case(
        "a table that was set aside is loaded, as a repair says that cannot write it",
        [
            changefeed_begins,
            upstream(PEOPLE, ROWS),
            types("run CONFIG"),
            target(TAKEN),
            upstream("INSERT INTO people VALUES (3, 'new')"),
            types("run CONFIG --set on_error.quarantine=true", "verify CONFIG --repair"),
        ],
        "it is set aside, at R …: release it before by:",
        [
            types("release CONFIG {schema}.people"),
            hears("another row of the target has"),
            types("release CONFIG {schema}.people --load", "run CONFIG"),
        ],
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
