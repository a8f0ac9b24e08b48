"""Tables that the target does not have, or that have rows of their own."""

from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    copied,
    follow,
    killed,
    target,
    types,
    upstream,
)

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"

OLD = (upstream(T, "INSERT INTO t VALUES (1, 'one'), (2, 'two')"), changefeed_begins)
"""A table that is older than the changefeed, and so are its rows."""
FIRST = upstream("CREATE TABLE other (id INT PRIMARY KEY)")
"""A DDL before the first row: R is more than 0 after it."""
INSERT = upstream("INSERT INTO t VALUES (3, 'three')")
CHANGE = upstream("INSERT INTO t VALUES (3, 'three')", "DELETE FROM t WHERE id = 1")
STRANGE = target(
    "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))", "INSERT INTO t VALUES (9, 'x')"
)

CASES = [
    Case(
        "a table older than the changefeed is loaded",
        [*OLD, FIRST, CHANGE, types("run CONFIG")],
        "load it by: ticdc-consumer load CONFIG --table …",
        [types("load CONFIG --table …")],
    ),
    Case(
        "a table older than the changefeed is loaded before the first start",
        [*OLD, CHANGE, types("run CONFIG")],
        "load all tables by: ticdc-consumer load CONFIG…",
        [types("load CONFIG")],
    ),
    Case(
        "check tells of a table that is missing, and a load creates it",
        [*OLD, CHANGE, types("check CONFIG")],
        "ticdc-consumer load CONFIG creates and fills it",
        [types("load CONFIG", "run CONFIG")],
    ),
    Case(
        "a table that an operator dropped is loaded",
        [
            changefeed_begins,
            upstream(T, "INSERT INTO t VALUES (1, 'one')"),
            types("run CONFIG"),
            target("DROP TABLE t"),
            upstream("INSERT INTO t VALUES (2, 'two')"),
            types("run CONFIG"),
        ],
        "load it by: ticdc-consumer load CONFIG --table …",
        [types("load CONFIG --table …")],
    ),
    Case(
        "a table that an operator dropped is created for a DDL of it",
        [
            changefeed_begins,
            upstream(T, "INSERT INTO t VALUES (1, 'one')"),
            types("run CONFIG"),
            target("DROP TABLE t"),
            upstream("TRUNCATE TABLE t", "INSERT INTO t VALUES (2, 'two')"),
            types("run CONFIG"),
        ],
        "; correct that in the target, then start again",
        [target(T), types("run CONFIG")],
    ),
    Case(
        "strange rows of an old table are replaced by a load",
        [STRANGE, *OLD, FIRST, CHANGE, types("run CONFIG")],
        "load it by: ticdc-consumer load CONFIG --table …",
        [types("load CONFIG --table …")],
    ),
    Case(
        "strange rows before the first start are replaced by a load",
        [STRANGE, *OLD, CHANGE, types("run CONFIG")],
        "load all tables by: ticdc-consumer load CONFIG…",
        [types("load CONFIG --replace")],
    ),
    Case(
        "strange rows of a table that was empty upstream are deleted",
        [STRANGE, upstream(T), changefeed_begins, FIRST, INSERT, types("run CONFIG")],
        "did not write; …delete them …",
        [target("DELETE FROM t"), types("run CONFIG")],
    ),
    Case(
        "a table that was empty upstream is created",
        [upstream(T), changefeed_begins, FIRST, INSERT, types("run CONFIG")],
        ", or create it …",
        [target(T), types("run CONFIG")],
    ),
    Case(
        "rows that are a snapshot are gone on from",
        [target(T), *OLD, copied("t"), INSERT, types("run CONFIG")],
        "start with --from-ts TS if they are a snapshot of TS,",
        [types("run CONFIG --from-ts TS")],
    ),
    Case(
        "a load that was cut off is started over",
        [*OLD, killed("load CONFIG", "chunk-commit"), types("run CONFIG")],
        "or start over by: ticdc-consumer forget CONFIG, then: ticdc-consumer load CONFIG",
        [CHANGE, types("forget CONFIG", "load CONFIG --replace")],
    ),
    Case(
        "what is loaded already goes on with a run",
        [*OLD, types("load CONFIG", "load CONFIG")],
        "changefeed … is at R = … already: continue with: ticdc-consumer run CONFIG; to load it "
        "again",
        [CHANGE, types("run CONFIG")],
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
