"""DDL that an operator does, by `--ddl-done`: it looks before it believes."""

from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    follow,
    hears,
    sets,
    target,
    types,
    upstream,
)

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
BEGUN = (changefeed_begins, upstream(T, "INSERT INTO t VALUES (1, 'one')"), types("run CONFIG"))
WAITS = "make its change in the target, then continue with: ticdc-consumer run CONFIG --ddl-done …"
DONE = types("run CONFIG --ddl-done …")
EXISTS = [
    *BEGUN,
    target("ALTER TABLE t ADD COLUMN w INT"),
    upstream("ALTER TABLE t ADD COLUMN w INT DEFAULT 7", "UPDATE t SET name = 'x'"),
    types("run CONFIG"),
]
HOLDS_OTHERS = "have another … than the upstream's rows, which got its default: correct them by …"


def puts_the_rows_right(scene: Scene) -> None:
    """By the UPDATE that the message ends with."""
    _, found, statement = scene.said.partition("correct them by ")
    assert found, scene.said
    scene.target(statement)


CASES = [
    Case(
        "a column that existed before is dropped, and added by the DDL",
        EXISTS,
        WAITS,
        [
            DONE,
            hears(HOLDS_OTHERS),
            target("ALTER TABLE t DROP COLUMN w"),
            types("run CONFIG"),
        ],
        on=("sqlite", "postgresql"),
    ),
    Case(
        "a column that existed before gets upstream's values",
        EXISTS,
        WAITS,
        [DONE, puts_the_rows_right, DONE],
        also=(HOLDS_OTHERS,),
        on=("sqlite", "postgresql"),
    ),
    Case(
        "a column of the former type is not believed to have the new one",
        [
            *BEGUN,
            upstream("UPDATE t SET name = '1e2'", "ALTER TABLE t MODIFY name DOUBLE"),
            types("run CONFIG"),
        ],
        WAITS,
        [DONE, hears("column name of …t… is still")],
        ends="stopped",
        settings={"source__upstream": None},
        on=("sqlite", "postgresql", "mariadb"),
    ),
    Case(
        "a VECTOR becomes a text, by a rule",
        [
            changefeed_begins,
            upstream("CREATE TABLE t (id INT PRIMARY KEY, v VECTOR(3))"),
            types("run CONFIG"),
        ],
        "has no VECTOR like TiDB's; create the table with a LONGTEXT there and switch on the rule",
        [
            target("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)"),
            sets(target__rules="vector-as-text"),
            upstream("INSERT INTO t VALUES (1, '[1,2.5,3]')"),
            DONE,
        ],
        on=("mariadb", "mysql"),
    ),
    Case(
        "a table that has rows of its own when upstream creates it is emptied",
        [
            changefeed_begins,
            target(T, "INSERT INTO t VALUES (9, 'strange')"),
            upstream(T, "INSERT INTO t VALUES (1, 'one')"),
            types("run CONFIG"),
        ],
        WAITS,
        [
            DONE,
            hears(
                "there are rows in …t…: the upstream created the table without rows; delete them"
            ),
            target("DELETE FROM t"),
            DONE,
        ],
        also=("the upstream created the table without rows; delete them",),
    ),
    Case(
        "a DDL that waits is done as why says",
        [
            changefeed_begins,
            upstream(T, "INSERT INTO t VALUES (1, '7.5')", "ALTER TABLE t MODIFY COLUMN name INT"),
            types("run CONFIG", "why CONFIG"),
        ],
        "ticdc-consumer run {config} --ddl-done {id}",
        [
            target("DROP TABLE t", "CREATE TABLE t (id INT PRIMARY KEY, name INT)"),
            target("INSERT INTO t VALUES (1, 8)"),
            DONE,
        ],
        settings={"source__upstream": None},
    ),
    Case(
        "a table that is renamed into the filter is loaded",
        [
            upstream("CREATE TABLE old (id INT PRIMARY KEY)", "INSERT INTO old VALUES (1), (2)"),
            changefeed_begins,
            upstream("CREATE TABLE t (id INT PRIMARY KEY)"),
            types("run CONFIG"),
            upstream("RENAME TABLE old TO new", "INSERT INTO new VALUES (3)"),
            types("run CONFIG"),
        ],
        WAITS,
        [DONE, types("load CONFIG --table …"), DONE],
        also=("load them by: ticdc-consumer load CONFIG --table …",),
        settings={"tables__filter": "{schema}.*,!{schema}.old"},
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
