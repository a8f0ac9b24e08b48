"""Values that a DDL gives existing rows, and that TiCDC does not send."""

import re

from support.advice import (
    START,
    Case,
    Scene,
    changefeed_begins,
    follow,
    sets_upstream,
    target,
    types,
    upstream,
)

T = "CREATE TABLE t (id INT PRIMARY KEY)"


def altered_elsewhere(scene: Scene) -> None:
    """In a session of another time zone, in which the default is meant."""
    scene.tidb.execute("SET time_zone = '+08:00'")
    scene.upstream("ALTER TABLE t ADD COLUMN made TIMESTAMP DEFAULT '2011-11-11 11:11:11'")
    scene.tidb.execute("SET time_zone = '+00:00'")


def runs_what_is_suggested(scene: Scene) -> None:
    """In the place of the DDL, from FILE."""
    found = re.search(r"perhaps by: (.*?) \(rows may ", scene.said, re.DOTALL)
    assert found, scene.said
    scene.types_in_place(found[1])


TEXTS = (
    "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9), n VARCHAR(9), UNIQUE KEY n (n))",
    "INSERT INTO t VALUES (1, '7.5', '1'), (2, '-2.5', '2'), (3, '1e2', '3')",
)
CHILD = "CREATE TABLE mine (n VARCHAR(9), CONSTRAINT own FOREIGN KEY (n) REFERENCES t (n))"
CHILD_OF_KEY = "CREATE TABLE mine (t INT, CONSTRAINT own FOREIGN KEY (t) REFERENCES t (id))"

CASES = [
    Case(
        "values of a MODIFY are read from the upstream",
        [
            changefeed_begins,
            upstream(
                "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9))",
                "INSERT INTO t VALUES (1, '7.5'), (2, '-2.5'), (3, '1e2')",
                "ALTER TABLE t MODIFY COLUMN v INT",
            ),
            types(START),
        ],
        "set [source] upstream, from which these values can be read, and start again",
        [sets_upstream, types(START)],
        settings={"source__upstream": None},
    ),
    Case(
        "an operator's foreign key to a column whose values are read is dropped",
        [
            changefeed_begins,
            upstream(*TEXTS),
            types(START),
            target(CHILD.replace("VARCHAR(9)", "VARCHAR(9) COLLATE utf8mb4_bin")),
            upstream("ALTER TABLE t MODIFY COLUMN n INT"),
            types(START),
        ],
        "…: this statement changes column … of foreign key … of …: drop that foreign key, start "
        "again, and create it again once the run has passed this DDL",
        [
            target("ALTER TABLE mine DROP FOREIGN KEY own"),
            types(START),
            target("ALTER TABLE mine MODIFY COLUMN n INT"),
            target("ALTER TABLE mine ADD FOREIGN KEY (n) REFERENCES t (n)"),
            upstream("INSERT INTO t VALUES (4, 4, 4)"),
            types(START),
            target("DROP TABLE mine"),
        ],
        on=("mariadb", "mysql", "tidb"),
    ),
    Case(
        "a foreign key of PostgreSQL to a table whose values are read is dropped",
        [
            changefeed_begins,
            upstream(*TEXTS),
            types(START),
            target(CHILD_OF_KEY),
            upstream("ALTER TABLE t MODIFY COLUMN v INT"),
            types(START),
        ],
        "…: … has …, so that its rows cannot be replaced by the upstream's: drop it, start again, "
        "and create it again once the run has passed this DDL",
        [
            target("ALTER TABLE mine DROP CONSTRAINT own"),
            types(START),
            target("ALTER TABLE mine ADD CONSTRAINT own FOREIGN KEY (t) REFERENCES t (id)"),
            upstream("INSERT INTO t VALUES (4, 4, 4)"),
            types(START),
            target("DROP TABLE mine"),
        ],
        on=("postgresql",),
    ),
    Case(
        "values of what is suggested are corrected",
        [
            changefeed_begins,
            upstream(T, "INSERT INTO t VALUES (1), (2)"),
            altered_elsewhere,
            types(START),
        ],
        "once the run has caught up, repair them from [source] upstream: ticdc-consumer verify … "
        "--repair --table …",
        [runs_what_is_suggested, sets_upstream, types("verify CONFIG --repair --table …")],
        settings={"source__upstream": None},
    ),
]


def test_the_advice_ends_as_it_should(case: Case, scene: Scene) -> None:
    follow(case, scene)
