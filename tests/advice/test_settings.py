"""A changefeed that is ended, and one whose settings change after R."""

from support.advice import (
    Case,
    Scene,
    as_ticdc_sends,
    changefeed_begins,
    copied,
    follow,
    hears,
    sets,
    target,
    types,
    types_again,
    upstream,
)

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
BEGUN = [changefeed_begins, upstream(T, "INSERT INTO t VALUES (1, 'one')"), types("run CONFIG")]
LATER = upstream("INSERT INTO t VALUES (2, 'two')", "UPDATE t SET name = 'uno' WHERE id = 1")

LATER_STILL = upstream("INSERT INTO t VALUES (3, 'three')", "DELETE FROM t WHERE id = 1")
WAITING = [
    LATER,
    target("ALTER TABLE t ADD COLUMN w INT"),
    upstream("ALTER TABLE t ADD COLUMN w INT DEFAULT 7"),
    types("run CONFIG"),
]
"""A DDL that waits for an operator, since there is such a column already."""
KEYLESS = upstream("CREATE TABLE log (name VARCHAR(20))", "INSERT INTO log VALUES ('first')")


def new_changefeed(scene: Scene) -> None:
    """Another one sends what comes from now on, into a topic of its own."""
    feed = scene.feed
    feed.topic = feed.kafka.create_topic("another", feed.partitions)
    feed.resolve(scene.tidb.ts())
    scene.command.set(kafka__topics=feed.topic)


GO_ON = "continue with these tables by: ticdc-consumer run CONFIG --from-ts …, or "
OTHER_SETTINGS = (
    "or, to continue with them, first: ticdc-consumer forget CONFIG, then: ticdc-consumer run"
)

CASES = [
    Case(
        "a changefeed that never ran is started",
        [changefeed_begins, upstream(T, "INSERT INTO t VALUES (1, 'one')"), types("status CONFIG")],
        "changefeed … has no checkpoint in the target…; its first run or load writes one",
        [types("run CONFIG")],
    ),
    Case(
        "a changefeed that never ran is loaded",
        [upstream(T, "INSERT INTO t VALUES (1, 'one')"), changefeed_begins, types("status CONFIG")],
        "changefeed … has no checkpoint in the target…; its first run or load writes one",
        [types_again("load CONFIG"), LATER, types("run CONFIG")],
    ),
    Case(
        "tables that a wider filter takes are loaded",
        [
            upstream(*(f"CREATE TABLE {name} (id INT PRIMARY KEY)" for name in ("u", "v"))),
            upstream("INSERT INTO u VALUES (1)", "INSERT INTO v VALUES (1)"),
            *BEGUN,
            sets(tables__filter="{schema}.*"),
            LATER,
            types("run CONFIG"),
        ],
        "if the filter was only widened, load the new tables: ticdc-consumer load CONFIG --table "
        "SCHEMA.TABLE;",
        [
            types_again("load CONFIG --table {schema}.u"),
            as_ticdc_sends(types("load CONFIG --table {schema}.u --table {schema}.v")),
            LATER_STILL,
            types("run CONFIG"),
        ],
        also=("[tables] filter also matches …, which must be loaded with the others: ",),
        settings={"tables__filter": "{schema}.t"},
    ),
    Case(
        "whoever forgot a changefeed goes on",
        [*BEGUN, types("forget CONFIG")],
        GO_ON,
        [LATER, types("run CONFIG --from-ts …")],
    ),
    Case(
        "whoever forgot a changefeed goes on with the DDL that was pending",
        [*BEGUN, *WAITING, types("forget CONFIG")],
        GO_ON,
        [
            hears("which reads the pending DDL"),
            upstream("INSERT INTO t (id) VALUES (3)"),
            types("run CONFIG --from-ts …"),
            target("ALTER TABLE t DROP COLUMN w"),
            types("run CONFIG"),
        ],
    ),
    Case(
        "whoever forgot a changefeed begins anew",
        [*BEGUN, types("forget CONFIG")],
        "start again by: ticdc-consumer load CONFIG --replace",
        [LATER, types("load CONFIG --replace", "run CONFIG")],
    ),
    Case(
        "whoever forgot a changefeed and starts it over is stopped until the rows are new",
        [
            *BEGUN,
            upstream("ALTER TABLE t ADD COLUMN more INT DEFAULT 7"),
            types("run CONFIG", "forget CONFIG", "run CONFIG"),
        ],
        "make its change in the target, then continue with: ticdc-consumer run CONFIG --ddl-done …",
        [
            types("run CONFIG --ddl-done …"),
            hears("the upstream created the table without rows; delete them"),
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
            hears("`ticdc-consumer status CONFIG` shows no pending DDL and no quarantined table"),
            types("forget CONFIG", "run CONFIG --from-ts …"),
        ],
        also=("`ticdc-consumer status CONFIG` shows no pending DDL and no quarantined table",),
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
        "tables that hold a newer snapshot are gone on from after the changefeed is forgotten",
        [
            *BEGUN,
            LATER,
            target("DELETE FROM t"),
            copied("t"),
            types("run CONFIG --from-ts TS"),
        ],
        "or, if the tables hold the rows of that snapshot, end the changefeed first by: "
        "ticdc-consumer forget CONFIG",
        [types("forget CONFIG"), LATER_STILL, types_again("run CONFIG --from-ts TS")],
    ),
    Case(
        "a table without a key is named in at_least_once",
        [*BEGUN, KEYLESS, types("run CONFIG")],
        "; add a primary key or a NOT NULL unique key on both sides, or name the table in [tables]",
        [sets(tables__at_least_once="{schema}.log"), types("run CONFIG")],
    ),
    Case(
        "a table with a trigger gets the changes of each transaction",
        [
            *BEGUN,
            target("CREATE TRIGGER sees AFTER UPDATE ON t BEGIN SELECT new.id; END"),
            LATER,
            types("run CONFIG"),
        ],
        'would see net changes only; set apply = "transactions", or name the table in',
        [sets(target__apply="transactions"), types("run CONFIG")],
        on=("sqlite",),
    ),
    Case(
        "a changefeed of another time zone is loaded anew",
        [*BEGUN, sets(source__time_zone="Asia/Shanghai"), LATER, types("run CONFIG")],
        "load all tables again: ticdc-consumer forget CONFIG, then ticdc-consumer load CONFIG",
        [types("forget CONFIG", "load CONFIG --replace", "run CONFIG")],
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
