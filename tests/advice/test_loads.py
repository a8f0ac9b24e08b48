"""Loads that cannot begin, or were cut off."""

from unittest.mock import patch

import sqlalchemy as sa
from support.advice import (
    Case,
    Scene,
    Step,
    changefeed_begins,
    copied,
    follow,
    hears,
    killed,
    retention,
    sets,
    snapshot,
    target,
    types,
    types_again,
    upstream,
)
from support.dumpling import dump
from ticdc_consumer.upstream.session import UpstreamSession
from ticdc_encoder.tso import compose

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


KEYLESS = (
    *OLD,
    upstream("CREATE TABLE log (id INT NOT NULL)", "INSERT INTO log VALUES (1), (2)"),
)
NO_KEY = (
    "….…: no valid key: it has neither a primary key nor a NOT NULL unique key, so no change "
    "identifies its row; add one, leave it out by [tables] filter, or name it in [tables] "
    "at_least_once"
)
CATCH_UP = (
    "let the consumer catch up by: ticdc-consumer run CONFIG, then give this command once more"
)
OLD_TS = compose(1_560_000_000_000)
"""The tests' TiDB has a safe point of 2020 (tests/services)."""


def began_in_2019(scene: Scene) -> None:
    """A changefeed whose topic reaches back behind the upstream's safe point."""
    scene.snapshot = OLD_TS
    scene.feed.resolve(OLD_TS - 1)
    scene.begin_changefeed()


def garbage_collection(scene: Scene) -> None:
    """The upstream removes whatever is old now."""
    safe_point, look_at = scene.tidb.ts(), UpstreamSession.look_at

    def looks_at(self: UpstreamSession, snapshot_ts: int) -> None:
        look_at(self, OLD_TS if snapshot_ts <= safe_point else snapshot_ts)

    scene.until_end.enter_context(patch.object(UpstreamSession, "look_at", looks_at))


def with_longer_life(line: str) -> Step:
    """A command while the upstream keeps what is old for a day."""

    def step(scene: Scene) -> None:
        ((before,),) = scene.tidb.execute("SELECT @@GLOBAL.tidb_gc_life_time")
        scene.tidb.execute("SET GLOBAL tidb_gc_life_time = '24h'")
        try:
            scene.types(line)
        finally:
            scene.tidb.execute(f"SET GLOBAL tidb_gc_life_time = '{before}'")

    return step


def as_an_owner(scene: Scene) -> None:
    """The upstream's user may read the tables of the changefeed alone."""
    name = scene.tidb.schema
    scene.tidb.execute(
        f"CREATE USER '{name[:30]}'@'%'", f"GRANT SELECT ON `{name}`.* TO '{name[:30]}'@'%'"
    )
    scene.until_end.callback(scene.tidb.execute, f"DROP USER '{name[:30]}'@'%'")
    url = sa.make_url(scene.tidb.url).set(username=name[:30])
    scene.set(source__upstream=url.render_as_string(hide_password=False))


def dumped(scene: Scene) -> None:
    """By Dumpling, into a folder beside the configuration."""
    dump(scene.tidb, scene.folder / "dump")


FROM_DUMP = "load CONFIG --set source.dump=dump"
LOADS_ALL = "load all tables by: ticdc-consumer load CONFIG --replace"
NO_SKEW = {"limits__clock_skew": "0"}
CHANGE_AGAIN = upstream("INSERT INTO t VALUES (4, 'four')")
from_the_snapshot = types("run CONFIG --from-ts TS")

CASES = [
    Case(
        "a snapshot older than the topic is replaced by a newer one",
        [upstream(T, ROWS), snapshot, changefeed_begins, types("load CONFIG --at TS")],
        "load a newer snapshot, or leave --at out",
        [
            hears("the topics begin with the resolved ts …, after …: changes between the two"),
            snapshot,
            types_again("load CONFIG --at TS"),
            CHANGE,
            types("run CONFIG"),
        ],
        on=("sqlite",),
    ),
    Case(
        "a snapshot older than the topic is left out",
        [upstream(T, ROWS), snapshot, changefeed_begins, types("load CONFIG --at TS")],
        "load a newer snapshot, or leave --at out",
        [types_again("load CONFIG"), CHANGE, types("run CONFIG")],
    ),
    Case(
        "a snapshot that the upstream removed is left out",
        [upstream(T, ROWS), began_in_2019, types("load CONFIG --at TS")],
        "load a newer snapshot, or leave --at out",
        [
            hears(
                "the upstream no longer has the snapshot of …: its garbage collection is at 2020"
            ),
            types_again("load CONFIG"),
            CHANGE,
            types("run CONFIG"),
        ],
        on=("sqlite",),
    ),
    Case(
        "a snapshot that the upstream removed is found when it is read",
        [upstream(T, ROWS), began_in_2019, as_an_owner, types("load CONFIG --at TS")],
        "load a newer snapshot, or leave --at out",
        [
            hears("the upstream no longer has the snapshot of … (error 8055)"),
            types_again("load CONFIG"),
            CHANGE,
            types("run CONFIG"),
        ],
        on=("sqlite",),
    ),
    Case(
        "the upstream removes the snapshot while it is loaded",
        [
            *OLD,
            killed("load CONFIG", "chunk-commit"),
            CHANGE,
            garbage_collection,
            types("load CONFIG"),
        ],
        "SET GLOBAL tidb_gc_life_time there to longer than reading takes, and …",
        [
            types("forget CONFIG"),
            with_longer_life("load CONFIG --replace"),
            types("run CONFIG"),
        ],
    ),
    Case(
        "a consumer that was stopped for long catches up before its rows are verified",
        [*OLD, types("load CONFIG"), garbage_collection, CHANGE, types("verify CONFIG")],
        CATCH_UP,
        [types("run CONFIG"), types_again("verify CONFIG")],
        on=("sqlite",),
    ),
    Case(
        "a consumer that was stopped for long catches up before a table is loaded again",
        [
            *OLD,
            types("load CONFIG"),
            garbage_collection,
            CHANGE,
            types("load CONFIG --table {schema}.t"),
        ],
        CATCH_UP,
        [types("run CONFIG"), types_again("load CONFIG --table {schema}.t")],
    ),
    Case(
        "a load that was cut off goes on",
        [*OLD, killed("load CONFIG", "chunk-commit"), CHANGE, types("run CONFIG")],
        "or start over by: ticdc-consumer forget CONFIG, then: ticdc-consumer load CONFIG",
        [types("load CONFIG", "run CONFIG")],
    ),
    Case(
        "a load that was cut off goes on at its own snapshot",
        [
            *OLD,
            killed("load CONFIG", "chunk-commit"),
            CHANGE,
            types("load CONFIG --at 470000000000000000"),
        ],
        "a load as of … is not finished: leave --at out to continue it, or give it up by: ",
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
        also=("; continue with: ticdc-consumer run CONFIG",),
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
        "the topics hold no resolved ts, so nothing shows that they reach back to the load: "
        "create the changefeed first, and load when it runs",
        [changefeed_begins, CHANGE, types_again("load CONFIG"), types("run CONFIG")],
    ),
    Case(
        "a table without a key gets one before a load",
        [*KEYLESS, types("load CONFIG")],
        NO_KEY,
        [
            upstream("ALTER TABLE log ADD PRIMARY KEY (id)", "INSERT INTO log VALUES (3)"),
            types_again("load CONFIG"),
        ],
    ),
    Case(
        "a table without a key is left out of a load",
        [*KEYLESS, types("load CONFIG")],
        NO_KEY,
        [sets(tables__filter="{schema}.t"), types_again("load CONFIG"), CHANGE],
        ends="verified",
        on=("sqlite",),
    ),
    Case(
        "a table without a key is loaded",
        [*KEYLESS, types("load CONFIG")],
        NO_KEY,
        [
            sets(tables__at_least_once="{schema}.log"),
            types_again("load CONFIG"),
            upstream("INSERT INTO log VALUES (3)", "DELETE FROM log WHERE id = 1"),
            types("run CONFIG"),
        ],
        on=("sqlite", "postgresql"),
    ),
    Case(
        "a load that was begun from a dump goes on with it",
        [*OLD, dumped, killed(FROM_DUMP, "chunk-commit"), CHANGE, types("load CONFIG")],
        " to continue, or give it up by: ticdc-consumer forget CONFIG",
        [
            hears("the load was begun from [source] dump"),
            types_again(FROM_DUMP),
            types("run CONFIG"),
        ],
    ),
    Case(
        "a load that was begun from a dump is given up",
        [*OLD, dumped, killed(FROM_DUMP, "chunk-commit"), CHANGE, types("load CONFIG")],
        " to continue, or give it up by: ticdc-consumer forget CONFIG",
        [types("forget CONFIG", "load CONFIG --replace", "run CONFIG")],
    ),
    Case(
        "a table whose load was cut off is compared when it is loaded",
        [
            changefeed_begins,
            upstream(T, ROWS),
            types("run CONFIG"),
            target("DROP TABLE t"),
            killed("load CONFIG --table {schema}.t", "chunk-commit"),
            types("verify CONFIG"),
        ],
        "its load is not finished: finish it by ticdc-consumer load CONFIG --table …, then verify",
        [types("load CONFIG --table {schema}.t"), types_again("verify CONFIG"), CHANGE],
    ),
    Case(
        "topics that have lost their beginning follow a load",
        [*OLD, retention, CHANGE, types("run CONFIG")],
        ", or, if they hold the rows of a snapshot, start with --from-ts TS",
        [hears("the log is incomplete"), types("load CONFIG --replace", "run CONFIG")],
        settings=NO_SKEW,
    ),
    Case(
        "topics that begin after a snapshot follow a load",
        [target(T), *OLD, copied("t"), CHANGE, retention, CHANGE_AGAIN, from_the_snapshot],
        "by limits.clock_skew: rows may be lost; use a newer one, or …",
        [types("load CONFIG --replace", "run CONFIG")],
        settings=NO_SKEW,
    ),
    Case(
        "topics that retain nothing follow a load",
        [target(T), *OLD, copied("t"), CHANGE, retention, from_the_snapshot],
        LOADS_ALL,
        [
            hears("retains nothing"),
            CHANGE_AGAIN,
            types("load CONFIG --replace", "run CONFIG"),
        ],
        settings=NO_SKEW,
    ),
    Case(
        "merged tables are loaded by an operator",
        [*OLD, types("load CONFIG")],
        "load does not fill tables that [tables.merge] merges: load them yourself, with the "
        "column filled, and start with --from-ts",
        [SHARDS, filled, CHANGE, types_again("run CONFIG --from-ts TS")],
        ends="verified",
        settings={"tables__merge": '{"{schema}.*" = "shard"}'},
        on=("sqlite",),
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
