"""SQL that an operator has run in the place of a DDL."""

from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    follow,
    hears,
    in_place,
    target,
    types,
    upstream,
)

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
WAITS = [
    changefeed_begins,
    upstream(T, "INSERT INTO t VALUES (1, 'one')"),
    types("run CONFIG"),
    target("ALTER TABLE t ADD COLUMN w INT"),
    upstream("ALTER TABLE t ADD COLUMN w INT DEFAULT 7", "UPDATE t SET name = 'x'"),
    types("run CONFIG"),
]
"""A DDL of a column that is there already."""
IN_ITS_PLACE = "run your own SQL in its place by --ddl-run … FILE"
CUT_OFF = (
    "the SQL that an operator ran instead was interrupted or refused, and part of it may be "
    "done; finish it in the target, or run it again by --ddl-run"
)
REFUSED = "--ddl-run: the target refused …: …"
RIGHT = "UPDATE t SET w = 7"
WRONG = f"{RIGHT}; ALTER TABLE t DROP COLUMN absent"

CASES = [
    Case(
        "SQL that was refused is corrected",
        WAITS,
        IN_ITS_PLACE,
        [in_place(WRONG), hears("statement 2 of 2"), in_place(RIGHT)],
        also=(REFUSED,),
        on=("sqlite", "postgresql"),
    ),
    Case(
        "SQL that was refused is finished by hand",
        WAITS,
        IN_ITS_PLACE,
        [
            in_place(WRONG),
            types("run CONFIG"),
            hears(CUT_OFF),
            target(RIGHT),
            types("run CONFIG --ddl-done …"),
        ],
        also=(REFUSED, CUT_OFF),
        on=("mariadb", "mysql", "tidb"),
    ),
    Case(
        "a file that does something else is not believed",
        WAITS,
        IN_ITS_PLACE,
        [
            in_place("CREATE TABLE other (id INT)"),
            hears("have another w than the upstream's rows"),
            target("DROP TABLE IF EXISTS other"),
            in_place(RIGHT),
        ],
        also=("--ddl-run …, after its SQL",),
    ),
    Case(
        "SQL whose session ended is run again",
        WAITS,
        IN_ITS_PLACE,
        [
            in_place(f"{RIGHT}; KILL CONNECTION_ID()"),
            types("run CONFIG"),
            hears(CUT_OFF),
            in_place(RIGHT),
        ],
        also=("--ddl-run: … may have run or not: …", CUT_OFF),
        on=("mariadb", "mysql"),
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
