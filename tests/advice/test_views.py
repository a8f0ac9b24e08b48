"""Views of the target, which the stream does not bring, or cannot change."""

from support.advice import (
    Case,
    Scene,
    Step,
    changefeed_begins,
    follow,
    in_place,
    target,
    types,
    upstream,
)

T = "CREATE TABLE t (id INT PRIMARY KEY, a INT)"
BEGUN = (
    changefeed_begins,
    upstream(T, "INSERT INTO t VALUES (1, 5), (2, 6)"),
)
VIEW = "CREATE VIEW v AS SELECT id FROM t WHERE a > 0"
OWN_VIEW = "CREATE VIEW v AS SELECT id + LENGTH('a') AS next FROM t"
"""One that is left out: LENGTH counts bytes in TiDB."""


def shows(*expected: int) -> Step:
    def step(scene: Scene) -> None:
        assert scene.command.rows("SELECT * FROM v ORDER BY 1") == [(each,) for each in expected]

    return step


CASES = [
    Case(
        "views are created by hand after a load",
        [
            upstream(T, "INSERT INTO t VALUES (1, 5), (2, 6)", VIEW),
            changefeed_begins,
            types("load CONFIG"),
        ],
        "views are not loaded: ",
        [
            target(VIEW),
            upstream("INSERT INTO t VALUES (3, 7)"),
            types("run CONFIG"),
            shows(1, 2, 3),
        ],
        on=("sqlite", "postgresql", "mariadb", "mysql", "tidb"),
    ),
    Case(
        "a view that might show something else is dropped before a DDL",
        [
            *BEGUN,
            upstream(VIEW),
            types("run CONFIG"),
            upstream("ALTER TABLE t MODIFY COLUMN a VARCHAR(20)"),
            types("run CONFIG"),
        ],
        "the view … may differ from the upstream's after this DDL: drop it first (…)",
        [target("DROP VIEW v"), types("run CONFIG")],
        settings={"ddl__kinds": '{"VIEW" = "stop"}'},
        on=("mariadb", "mysql", "tidb"),
    ),
    Case(
        "a view that an operator created is dropped before a rename, and created after it",
        [
            *BEGUN,
            upstream(OWN_VIEW),
            types("run CONFIG"),
            in_place(OWN_VIEW),
            upstream("ALTER TABLE t RENAME COLUMN a TO b"),
            types("run CONFIG"),
        ],
        "the view …, which an operator created, would follow what is renamed, and upstream's does "
        "not: drop it, and create it again afterwards",
        [target("DROP VIEW v"), types("run CONFIG"), target(OWN_VIEW), shows(2, 3)],
        on=("sqlite", "postgresql"),
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
