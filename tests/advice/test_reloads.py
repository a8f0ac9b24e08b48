"""Tables that are loaded again, or newly, while the others go on."""

from support.advice import (
    Case,
    Scene,
    as_ticdc_sends,
    changefeed_begins,
    follow,
    hears,
    killed,
    sets,
    target,
    types,
    types_again,
    upstream,
)

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
U = "CREATE TABLE u (id INT PRIMARY KEY)"
BEGUN = (changefeed_begins, upstream(T, "INSERT INTO t VALUES (1, 'one')"), types("run CONFIG"))
BOTH = (*BEGUN, upstream(U, "INSERT INTO u VALUES (1)"), types("run CONFIG"))
CHANGE = upstream("INSERT INTO t VALUES (3, 'three')", "DELETE FROM t WHERE id = 1")
RELOAD = "load CONFIG --table {schema}.t"
BOTH_AGAIN = "load CONFIG --table {schema}.t --table {schema}.u"
INDEXED = (
    *BEGUN,
    killed(RELOAD, "reload-filled"),
    target("CREATE INDEX by_name ON t (name)"),
    types(RELOAD),
)
NARROW = {"tables__filter": "{schema}.t"}
WIDER = (sets(tables__filter="{schema}.*"), upstream("INSERT INTO u VALUES (2)"))
ABSENT = {"tables__route": '{"*.*" = "absent_{schema}.{table}"}'}


def the_schema_is_dropped(scene: Scene) -> None:
    scene.target(f"DROP SCHEMA {absent(scene)}{cascade(scene)}")


def with_the_schema(scene: Scene) -> None:
    """As the message says."""
    scene.target(f"CREATE SCHEMA {absent(scene)}")
    scene.leaves = [f"DROP SCHEMA {absent(scene)}{cascade(scene)}"]


def absent(scene: Scene) -> str:
    return f"absent_{scene.tidb.schema}"


def cascade(scene: Scene) -> str:
    return " CASCADE" if scene.command.target_url.startswith("postgresql") else ""


CASES = [
    Case(
        "a table whose CREATE TABLE waits is created by the run, and loaded then",
        [
            *BEGUN,
            target("CREATE VIEW u AS SELECT 1 AS id"),
            upstream(U, "INSERT INTO u VALUES (1)"),
            types("run CONFIG"),
            target("DROP VIEW u"),
            types("load CONFIG --table {schema}.u"),
        ],
        "; start the consumer, which runs it, then load the table",
        [types("run CONFIG"), types_again("load CONFIG --table {schema}.u")],
    ),
    Case(
        "a load of another table is not finished: it goes on",
        [*BOTH, killed(RELOAD, "reload-created"), CHANGE, types("load CONFIG --table {schema}.u")],
        "…: a load is not finished: continue it first: ticdc-consumer load CONFIG …; or give it "
        "up: the same with --give-up",
        [types("load CONFIG --table …"), types_again("load CONFIG --table {schema}.u")],
    ),
    Case(
        "a load of another table is not finished: it is given up",
        [*BOTH, killed(RELOAD, "reload-created"), CHANGE, types("load CONFIG --table {schema}.u")],
        "…: a load is not finished: continue it first: ticdc-consumer load CONFIG …; or give it "
        "up: the same with --give-up",
        [
            types_again(f"{RELOAD} --give-up"),
            types_again("load CONFIG --table {schema}.u"),
        ],
    ),
    Case(
        "a trigger of the target is dropped before a load, and created after it",
        [
            *BEGUN,
            target("CREATE TRIGGER sees AFTER DELETE ON t BEGIN SELECT old.id; END"),
            types(RELOAD),
        ],
        "…: … has …, which the table that replaces it would not have: drop it, load, and create "
        "it again",
        [target("DROP TRIGGER sees"), types_again(RELOAD), CHANGE, types("run CONFIG")],
        settings={"tables__allow_triggers": "{schema}.t"},
        on=("sqlite",),
    ),
    Case(
        "a view of the target is dropped before a load, and created after it",
        [*BEGUN, target("CREATE VIEW v AS SELECT id FROM t"), types(RELOAD)],
        "…: … has …, which the table that replaces it would not have: drop it, load, and create "
        "it again",
        [
            target("DROP VIEW v"),
            types_again(RELOAD),
            target("CREATE VIEW v AS SELECT id FROM t"),
            CHANGE,
            types("run CONFIG"),
        ],
        on=("postgresql",),
    ),
    Case(
        "a schema that was dropped is created, and the table loaded",
        [with_the_schema, *BEGUN, the_schema_is_dropped, types(RELOAD)],
        "…: the target has no schema …: create it, then load",
        [with_the_schema, types_again(RELOAD), CHANGE, types("run CONFIG")],
        ends="verified",
        settings=ABSENT,
        on=("postgresql", "mariadb", "mysql", "tidb"),
    ),
    Case(
        "a table that the target has already is dropped before a wider filter loads it",
        [
            *BEGUN,
            upstream(U, "INSERT INTO u VALUES (1)"),
            types("run CONFIG"),
            target(U, "INSERT INTO u VALUES (9)"),
            *WIDER,
            types("load CONFIG --table {schema}.u"),
        ],
        "…: the target has a table … already: drop it, or give it another name",
        [
            target("DROP TABLE u"),
            as_ticdc_sends(types_again("load CONFIG --table {schema}.u")),
            CHANGE,
        ],
        settings=NARROW,
    ),
    Case(
        "the load of a wider filter cannot be given up, and is finished",
        [
            *BEGUN,
            upstream(U, "INSERT INTO u VALUES (1)"),
            types("run CONFIG"),
            *WIDER,
            as_ticdc_sends(killed("load CONFIG --table {schema}.u", "reload-filled")),
            types("load CONFIG --table {schema}.u --give-up"),
        ],
        "…: the target has no other table for its rows, so that this load cannot be given up; "
        "finish it by: ticdc-consumer load CONFIG…",
        [types("load CONFIG --table …"), CHANGE, types("run CONFIG")],
        settings=NARROW,
    ),
    Case(
        "a table that was created beside a load is dropped, and the load finished",
        [
            *BOTH,
            target("DROP TABLE u"),
            killed("load CONFIG --table {schema}.u", "reload-created"),
            target(U),
            types("load CONFIG --table {schema}.u"),
        ],
        "; then finish it by: ticdc-consumer load CONFIG",
        [target("DROP TABLE u"), types("load CONFIG --table …"), CHANGE],
        also=("there is a table … now: drop it",),
    ),
    Case(
        "an index was created meanwhile, and is dropped",
        INDEXED,
        "; or give the load up by: ticdc-consumer load CONFIG… --give-up",
        [
            hears("index by_name of … was added or dropped meanwhile: undo that; or"),
            target("DROP INDEX by_name"),
            types_again(RELOAD),
            CHANGE,
        ],
        on=("postgresql",),
    ),
    Case(
        "an index was created meanwhile, and the load is given up",
        INDEXED,
        "; or give the load up by: ticdc-consumer load CONFIG… --give-up",
        [types("load CONFIG --table … --give-up"), types_again(RELOAD), CHANGE],
        on=("postgresql",),
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
