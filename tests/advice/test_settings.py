"""A changefeed that is ended, and one whose settings change after R."""

from typing import Any

from support.advice import (
    Case,
    Scene,
    Step,
    changefeed_begins,
    follow,
    hears,
    target,
    types,
    upstream,
)

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
BEGUN = [changefeed_begins, upstream(T, "INSERT INTO t VALUES (1, 'one')"), types("run CONFIG")]
LATER = upstream("INSERT INTO t VALUES (2, 'two')", "UPDATE t SET name = 'uno' WHERE id = 1")


def sets(**settings: Any) -> Step:
    """What an operator changes in the configuration."""

    def step(scene: Scene) -> None:
        texts = {n: str(v).replace("{schema}", scene.tidb.schema) for n, v in settings.items()}
        scene.command.set(**texts)

    return step


def new_changefeed(scene: Scene) -> None:
    """Another one sends what comes from now on, into a topic of its own."""
    feed = scene.feed
    feed.topic = feed.kafka.create_topic("another", feed.partitions)
    feed.resolve(scene.tidb.ts())
    scene.command.set(kafka__topics=feed.topic)


GO_ON = "go on with these tables by: ticdc-consumer run CONFIG --from-ts …, or "
OTHER_SETTINGS = (
    "or, to go on with them, first: ticdc-consumer forget CONFIG, then: ticdc-consumer run"
)

CASES = [
    Case(
        "whoever forgot a changefeed goes on",
        [*BEGUN, types("forget CONFIG")],
        GO_ON,
        [LATER, types("run CONFIG --from-ts …")],
    ),
    Case(
        "whoever forgot a changefeed begins anew",
        [*BEGUN, types("forget CONFIG")],
        "begin anew by: ticdc-consumer load CONFIG --replace",
        [LATER, types("load CONFIG --replace", "run CONFIG")],
    ),
    Case(
        "whoever forgot a changefeed and starts it over is stopped until the rows are new",
        [
            *BEGUN,
            upstream("ALTER TABLE t ADD COLUMN more INT DEFAULT 7"),
            types("run CONFIG", "forget CONFIG", "run CONFIG"),
        ],
        "once its work is done in the target, go on with: ticdc-consumer run CONFIG --ddl-done …",
        [
            types("run CONFIG --ddl-done …"),
            hears("upstream's table was created without rows; delete them"),
            target("DELETE FROM t"),
            types("run CONFIG --ddl-done …"),
            hears("column more is in …t… already"),
            types("run CONFIG --ddl-done …", "run CONFIG"),
        ],
    ),
    Case(
        "a table is left out by filter from R on",
        [
            *BEGUN,
            upstream("CREATE TABLE u (id INT PRIMARY KEY)", "INSERT INTO u VALUES (1)"),
            types("run CONFIG"),
            sets(tables__filter="{schema}.t"),
            LATER,
            upstream("INSERT INTO u VALUES (2)"),
            types("run CONFIG"),
        ],
        OTHER_SETTINGS,
        [
            hears("`ticdc-consumer status CONFIG` shows no DDL pending and no table set aside"),
            types("forget CONFIG", "run CONFIG --from-ts …"),
        ],
        also=("`ticdc-consumer status CONFIG` shows no DDL pending and no table set aside",),
        ends="verified",
    ),
    Case(
        "another changefeed begins at or below R - 1",
        [*BEGUN, new_changefeed, LATER, types("run CONFIG")],
        OTHER_SETTINGS,
        [
            hears("the new changefeed's start-ts is … or less"),
            types("forget CONFIG", "run CONFIG --from-ts …"),
        ],
    ),
    Case(
        "a changefeed of another time zone is loaded anew",
        [*BEGUN, sets(source__time_zone="Asia/Shanghai"), LATER, types("run CONFIG")],
        "load all tables anew: ticdc-consumer forget CONFIG, then ticdc-consumer load CONFIG",
        [types("forget CONFIG", "load CONFIG --replace", "run CONFIG")],
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
