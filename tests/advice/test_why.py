"""What `why` says of a run that waits, has ended, or goes on without a table."""

from unittest.mock import patch

import pytest
from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    follow,
    hears,
    killed,
    target,
    types,
    upstream,
)
from ticdc_consumer.commands.verify import share
from ticdc_consumer.errors import Drift

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
BEGUN = [changefeed_begins, upstream(T, "INSERT INTO t VALUES (1, 'one')"), types("run CONFIG")]
LATER = upstream("INSERT INTO t VALUES (2, 'two')")


def without_its_topic(scene: Scene) -> None:
    """Somebody deletes it."""
    scene.feed.kafka.delete_topic(scene.feed.topic)


def with_its_topic(scene: Scene) -> None:
    """TiCDC makes it anew."""
    scene.feed.kafka.create_topic(scene.feed.name, scene.feed.partitions)
    scene.feed.resolve(scene.tidb.ts())


def notices_drift(scene: Scene) -> None:
    """A run that compares all rows within seconds."""
    with (
        patch.object(share, "DAY", 2.0),
        patch.object(share, "SMALLEST", 4),
        scene.command.consumer(verify__every=1) as consumer,
        pytest.raises(Drift),
    ):
        list(consumer)
    scene.types("why CONFIG")


CASES = [
    Case(
        "the cause is fixed, and what waits is applied",
        [
            *BEGUN,
            target("ALTER TABLE t RENAME COLUMN name TO hidden"),
            LATER,
            types("run CONFIG --set on_error.quarantine=true", "why CONFIG"),
        ],
        "fix the cause, stop the consumer, then apply what waits: ",
        [
            target("ALTER TABLE t RENAME COLUMN hidden TO name"),
            types("release CONFIG {schema}.t", "run CONFIG"),
        ],
    ),
    Case(
        "a DDL is done by hand, and the run goes on",
        [
            *BEGUN,
            target("ALTER TABLE t ADD COLUMN w INT"),
            upstream("ALTER TABLE t ADD COLUMN w INT DEFAULT 7"),
            types("run CONFIG", "why CONFIG"),
        ],
        "make the change in the target yourself, then continue: ",
        [target("UPDATE t SET w = 7"), types("run CONFIG --ddl-done …")],
    ),
    Case(
        "a load that was cut off is resumed",
        [
            upstream(T, "INSERT INTO t VALUES (1, 'one')"),
            changefeed_begins,
            killed("load CONFIG", "chunk-commit"),
            types("why CONFIG"),
        ],
        "let the load finish; if none is running, resume it: ",
        [types("load CONFIG"), LATER, types("run CONFIG")],
    ),
    Case(
        "rows that a run has found to differ are repaired",
        [*BEGUN, target("UPDATE t SET name = 'wrong'"), notices_drift],
        "repair the rows: ticdc-consumer verify ",
        [types("verify CONFIG --repair", "run CONFIG")],
    ),
    Case(
        "a topic that was deleted and made anew has lost its changes",
        [*BEGUN, LATER, without_its_topic, types("run CONFIG", "why CONFIG")],
        "load all tables again: ticdc-consumer forget CONFIG, then ticdc-consumer load CONFIG",
        [
            hears("find out who deleted it; once it exists again, load all"),
            with_its_topic,
            types("forget CONFIG"),
            hears("it filled"),
            types("load CONFIG --replace", "run CONFIG"),
        ],
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
