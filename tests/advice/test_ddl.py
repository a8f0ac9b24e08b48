"""DDL of upstream whose work another client did in the target before they came."""

from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    follow,
    sets,
    target,
    types,
    upstream,
)

ROWS = (
    "CREATE TABLE t (id INT PRIMARY KEY, g VARCHAR(20))",
    "INSERT INTO t VALUES (1, 'one'), (2, 'two')",
)
FAMILY = ("mariadb",)

CASES = [
    Case(
        "a column that was added first is dropped",
        [
            changefeed_begins,
            upstream(*ROWS),
            types("run CONFIG"),
            target("ALTER TABLE t ADD COLUMN w INT"),
            upstream("ALTER TABLE t ADD COLUMN w INT DEFAULT 7"),
            types("run CONFIG"),
        ],
        "; undo that by ALTER TABLE …, and start again",
        [target("ALTER TABLE t DROP COLUMN w"), types("run CONFIG")],
        on=FAMILY,
    ),
    Case(
        "a column that was renamed first is marked as done",
        [
            changefeed_begins,
            upstream(*ROWS),
            types("run CONFIG"),
            target("ALTER TABLE t CHANGE g h VARCHAR(20) COLLATE utf8mb4_bin"),
            upstream("ALTER TABLE t RENAME COLUMN g TO h"),
            types("run CONFIG"),
        ],
        "; if its rows equal the upstream's after this DDL, mark it as done; else restore the "
        "table and its rows as they were before it, and start again",
        [types("run CONFIG --ddl-done …"), types("run CONFIG")],
        on=FAMILY,
    ),
    Case(
        "a table that had no key when it was created is loaded",
        [
            upstream("CREATE TABLE t (id INT, g VARCHAR(20))", "INSERT INTO t VALUES (1, 'one')"),
            changefeed_begins,
            upstream("ALTER TABLE t ADD PRIMARY KEY (id)", "INSERT INTO t VALUES (2, 'two')"),
            types("run CONFIG"),
        ],
        "; load it by: ticdc-consumer load CONFIG --table …, then start again",
        [types("load CONFIG --table …", "run CONFIG")],
    ),
    Case(
        "a table that had no key when it was created is loaded by the run",
        [
            upstream(
                "CREATE TABLE t (id INT NOT NULL, g VARCHAR(20))", "INSERT INTO t VALUES (1, 'one')"
            ),
            changefeed_begins,
            upstream("ALTER TABLE t ADD UNIQUE (id)", "DELETE FROM t WHERE id = 1"),
            types("run CONFIG"),
        ],
        "; or set [ddl] load_missing = true, by which a run loads such tables itself",
        [sets(ddl__load_missing=True), types("run CONFIG")],
    ),
    Case(
        "a table that was renamed first is renamed back",
        [
            changefeed_begins,
            upstream(*ROWS),
            types("run CONFIG"),
            target("RENAME TABLE t TO u"),
            upstream("RENAME TABLE t TO u"),
            types("run CONFIG"),
        ],
        "… is to become …, but only the latter exists; undo that by RENAME TABLE … TO …, and "
        "start again; if it is not the table to be renamed, repair its rows afterwards by verify "
        "--repair",
        [target("RENAME TABLE u TO t"), types("run CONFIG")],
        on=FAMILY,
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
