"""Targets that are compared with another target, or with what their topics give."""

from unittest.mock import patch

from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    follow,
    snapshot,
    types,
    types_again,
    upstream,
)
from ticdc_consumer.commands.verify import same_state

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
BEGUN = [changefeed_begins, upstream(T, "INSERT INTO t VALUES (1, 'one')"), types("run CONFIG")]
LATER = upstream("INSERT INTO t VALUES (2, 'two')")
OTHER = "sqlite:///other.db"
AGAINST = f"verify CONFIG --against {OTHER}"


def meets_nobody(scene: Scene) -> None:
    with patch.object(same_state, "PATIENCE", 0.5):
        scene.types(AGAINST)


def replays_from_a_snapshot_of_now(scene: Scene) -> None:
    scene.types(f"verify CONFIG --topics --at {scene.tidb.ts()}")


CASES = [
    Case(
        "the target that is behind is brought to the other's R",
        [*BEGUN, LATER, types(f"run CONFIG --set target.url={OTHER}"), meets_nobody],
        "changefeeds … did not reach the same R within … s: they are at … and …; end both "
        "consumers, bring the one that is at … to the other's R by: ticdc-consumer run CONFIG "
        "--until …, and verify before they start again",
        [types("run CONFIG --until …"), types_again(AGAINST)],
        on=("sqlite",),
    ),
    Case(
        "topics are replayed from a snapshot below R",
        [
            changefeed_begins,
            upstream(T, "INSERT INTO t VALUES (1, 'one')"),
            snapshot,
            LATER,
            types("run CONFIG"),
            replays_from_a_snapshot_of_now,
        ],
        "the snapshot … is not below the target's R, …: give an older one by --at TS",
        [types_again("verify CONFIG --topics --at TS")],
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
