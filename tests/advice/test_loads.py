"""Loads that cannot begin, or were cut off."""

from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    follow,
    killed,
    target,
    types,
    types_again,
    upstream,
)

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
ROWS = "INSERT INTO t VALUES (1, 'one'), (2, 'two')"
OLD = (upstream(T, ROWS), changefeed_begins)
CHANGE = upstream("INSERT INTO t VALUES (3, 'three')", "DELETE FROM t WHERE id = 1")
STRANGE = target(T, "INSERT INTO t VALUES (9, 'x')")
SHARDS = target(
    "CREATE TABLE t (id INT, name VARCHAR(20), shard VARCHAR(140) NOT NULL, "
    "PRIMARY KEY (id, shard))"
)


def filled(scene: Scene) -> None:
    """The rows of a snapshot, with the name of their table."""
    scene.snapshot = scene.tidb.ts()
    name = f"'{scene.tidb.schema}.t'"
    scene.target(f"INSERT INTO t VALUES (1, 'one', {name}), (2, 'two', {name})")  # noqa: S608


CASES = [
    Case(
        "a load that was cut off goes on",
        [*OLD, killed("load CONFIG", "L2"), CHANGE, types("run CONFIG")],
        "or start over by: ticdc-consumer forget CONFIG, then: ticdc-consumer load CONFIG",
        [types("load CONFIG", "run CONFIG")],
    ),
    Case(
        "a load that was cut off goes on at its own snapshot",
        [*OLD, killed("load CONFIG", "L2"), CHANGE, types("load CONFIG --at 470000000000000000")],
        "a load as of … is not finished: leave --at out to go on with it, or give it up by: ",
        [types_again("load CONFIG"), types("run CONFIG")],
    ),
    Case(
        "all tables are loaded where nothing was applied",
        [*OLD, types("load CONFIG --table {schema}.t")],
        "changefeed … has applied nothing yet: load all of its tables by: ticdc-consumer load",
        [CHANGE, types("load CONFIG", "run CONFIG")],
    ),
    Case(
        "a table that has rows is emptied before its load",
        [STRANGE, *OLD, types("load CONFIG")],
        "…: … has rows: empty it, or load with --replace, which deletes them",
        [target("DELETE FROM t"), types_again("load CONFIG"), CHANGE, types("run CONFIG")],
    ),
    Case(
        "the rows of a table are replaced by its load",
        [STRANGE, *OLD, types("load CONFIG")],
        "…: … has rows: empty it, or load with --replace, which deletes them",
        [types_again("load CONFIG --replace"), CHANGE, types("run CONFIG")],
    ),
    Case(
        "a load waits for its changefeed",
        [upstream(T, ROWS), types("load CONFIG")],
        "the topics hold no resolved ts, so that nothing shows that they reach back to the load: "
        "create the changefeed first, and load when it runs",
        [changefeed_begins, CHANGE, types_again("load CONFIG"), types("run CONFIG")],
    ),
    Case(
        "merged tables are loaded by an operator",
        [*OLD, types("load CONFIG")],
        "load does not fill tables that [tables.merge] joins: load them yourself, with the column "
        "filled, and start with --from-ts",
        [SHARDS, filled, CHANGE, types_again("run CONFIG --from-ts TS")],
        ends="verified",
        settings={"tables__merge": '{"{schema}.*" = "shard"}'},
        on=("sqlite",),
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
