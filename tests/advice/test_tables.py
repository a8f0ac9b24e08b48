"""Tables that the target does not have, or that have rows of their own."""

from support.advice import Case, Scene, changefeed_begins, follow, target, types, upstream

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"

CASES = [
    Case(
        "strange rows before the first start are emptied",
        [
            target(T, "INSERT INTO t VALUES (9, 'strange')"),
            upstream(T),
            changefeed_begins,
            upstream("INSERT INTO t VALUES (1, 'one')"),
            types("run CONFIG"),
        ],
        "…: the target's table has rows, but changefeed … has no checkpoint",
        [target("DELETE FROM t"), types("run CONFIG")],
    ),
    Case(
        "what is loaded already goes on with a run",
        [
            upstream(T, "INSERT INTO t VALUES (1, 'one')"),
            changefeed_begins,
            types("load CONFIG", "load CONFIG"),
        ],
        "changefeed … is at R = … already: go on with: ticdc-consumer run CONFIG; to load it anew",
        [upstream("INSERT INTO t VALUES (2, 'two')"), types("run CONFIG")],
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
