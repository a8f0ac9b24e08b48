"""Columns of the target that do not take what the upstream's take, and keys that it lacks."""

from unittest.mock import patch

from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    follow,
    hears,
    runs_what_is_said,
    target,
    types,
    types_again,
    upstream,
)
from ticdc_consumer.commands.repair import differing_keys

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
BEGUN = [changefeed_begins, upstream(T, "INSERT INTO t VALUES (1, 'one')"), types("run CONFIG")]
LATER = upstream("INSERT INTO t VALUES (2, 'two')")
RELOAD = "load CONFIG --table {schema}.t"
DATES = "CREATE TABLE t (id INT PRIMARY KEY, d DATE)"
REFERRING = "CREATE TABLE u (id INT PRIMARY KEY, p INT)"
ADD_CHECKED = "ADD CONSTRAINT own FOREIGN KEY (p) REFERENCES t (id) DEFERRABLE INITIALLY DEFERRED"
WORDS = (
    "CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(20) COLLATE utf8mb4_bin NOT NULL, "
    "UNIQUE KEY w (w))"
)
NAMED = "CREATE TABLE t (w VARCHAR(20) COLLATE utf8mb4_bin PRIMARY KEY, n INT)"
TRUSTED = "--set target.rules=same-collations"
PARENT_AND_CHILD = (
    "CREATE TABLE t (id INT PRIMARY KEY)",
    "INSERT INTO t VALUES (1)",
    "CREATE TABLE u (id INT PRIMARY KEY, p INT)",
    "INSERT INTO u VALUES (1, 1)",
)
LATER_CHILD = upstream("INSERT INTO t VALUES (2)", "INSERT INTO u VALUES (2, 2)")
STRICT = (
    "ALTER TABLE u ADD FOREIGN KEY (p) REFERENCES t (id)",
    "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE TRIGGER sees AFTER INSERT ON u FOR EACH ROW EXECUTE FUNCTION nothing()",
)
"""A foreign key of the target alone, and a trigger that is not to be switched off with it."""


def repairs_one_row_at_most(scene: Scene) -> None:
    with patch.object(differing_keys, "MOST_KEYS", 1):
        scene.types("verify CONFIG --repair")


def rebuilt(*columns: str) -> str:
    return f"CREATE TABLE t ({', '.join(columns)})"


CASES = [
    Case(
        "a column was dropped in the target",
        [*BEGUN, target("ALTER TABLE t DROP COLUMN name"), LATER, types("run CONFIG")],
        "the target table has no such column; add it there with the upstream's type",
        [target("ALTER TABLE t ADD COLUMN name VARCHAR(20)"), types(RELOAD, "run CONFIG")],
        on=("sqlite", "postgresql", "mariadb", "mysql", "tidb"),
    ),
    Case(
        "a column is too small in MariaDB and MySQL",
        [
            *BEGUN,
            target("ALTER TABLE t MODIFY name VARCHAR(3)"),
            LATER,
            upstream("INSERT INTO t VALUES (3, 'three')"),
            types("run CONFIG"),
        ],
        "alter it in the target so that it holds every value of the upstream's column, then "
        "start again",
        [target("ALTER TABLE t MODIFY name VARCHAR(20)"), types("run CONFIG")],
        on=("mariadb", "mysql"),
    ),
    Case(
        "a column takes no NULL in PostgreSQL",
        [
            *BEGUN,
            target("ALTER TABLE t ALTER name SET NOT NULL"),
            upstream("INSERT INTO t VALUES (2, NULL)"),
            types("run CONFIG"),
        ],
        "alter it in the target so that it holds every value of the upstream's column, then "
        "start again",
        [target("ALTER TABLE t ALTER name DROP NOT NULL"), types("run CONFIG")],
        on=("postgresql",),
    ),
    Case(
        "a column is of another type in PostgreSQL",
        [*BEGUN, target("ALTER TABLE t ALTER id TYPE smallint"), LATER, types("run CONFIG")],
        "the target's type … cannot hold every …; … can: alter the column, then start again",
        [target("ALTER TABLE t ALTER id TYPE integer"), types("run CONFIG")],
        on=("postgresql",),
    ),
    Case(
        "a column is of another type in SQLite",
        [
            *BEGUN,
            target("DROP TABLE t", rebuilt("id INTEGER PRIMARY KEY", "name INTEGER")),
            LATER,
            types("run CONFIG"),
        ],
        "has … affinity, which does not keep every … as it is",
        [
            target("DROP TABLE t", rebuilt("id INTEGER PRIMARY KEY", "name TEXT")),
            target("INSERT INTO t VALUES (1, 'one')"),
            types("run CONFIG"),
        ],
        on=("sqlite",),
    ),
    Case(
        "a column of the target alone takes no NULL",
        [
            *BEGUN,
            target("ALTER TABLE t ADD COLUMN more INT NOT NULL"),
            target("ALTER TABLE t ALTER COLUMN more DROP DEFAULT"),
            LATER,
            types("run CONFIG"),
        ],
        "give it a default or let it take NULL, then start again",
        [target("ALTER TABLE t ALTER COLUMN more SET DEFAULT 0"), types("run CONFIG")],
        on=("mariadb",),
    ),
    Case(
        "the collation of a unique key is coarser than the upstream's",
        [
            changefeed_begins,
            upstream(WORDS, "INSERT INTO t VALUES (1, 'a')"),
            types("run CONFIG"),
            target("ALTER TABLE t MODIFY w VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL"),
            upstream("INSERT INTO t VALUES (2, 'A')"),
            types("run CONFIG"),
        ],
        "treats keys as equal that the upstream distinguishes; give the column the collation …",
        [
            hears("the collation utf8mb4_bin"),
            target("ALTER TABLE t MODIFY w VARCHAR(20) COLLATE utf8mb4_bin NOT NULL"),
            types("run CONFIG"),
        ],
        on=("mariadb", "mysql"),
    ),
    Case(
        "a unique key was trusted to have the upstream's collation",
        [
            changefeed_begins,
            upstream(WORDS, "INSERT INTO t VALUES (1, 'a')"),
            types("run CONFIG"),
            target("ALTER TABLE t MODIFY w VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL"),
            upstream("INSERT INTO t VALUES (2, 'A')"),
            types(f"run CONFIG {TRUSTED}"),
        ],
        "the rule same-collations assumes that this cannot happen. Give the key's columns",
        [
            target("ALTER TABLE t MODIFY w VARCHAR(20) COLLATE utf8mb4_bin NOT NULL"),
            types("verify CONFIG --repair --table {schema}.t", "run CONFIG"),
        ],
        on=("mariadb",),
    ),
    Case(
        "a primary key was trusted to have the upstream's collation",
        [
            changefeed_begins,
            upstream(NAMED, "INSERT INTO t VALUES ('a', 1)"),
            types("run CONFIG"),
            target("ALTER TABLE t MODIFY w VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL"),
            upstream("INSERT INTO t VALUES ('A', 2)"),
            types(f"run CONFIG --set target.on_drift=overwrite {TRUSTED}"),
        ],
        "the rule same-collations assumes that this cannot happen. Give the key's columns",
        [
            target("ALTER TABLE t MODIFY w VARCHAR(20) COLLATE utf8mb4_bin NOT NULL"),
            types("verify CONFIG --repair --table {schema}.t", "run CONFIG"),
        ],
        on=("mariadb", "mysql"),
    ),
    Case(
        "a foreign key that cannot wait is made so that it can",
        [
            changefeed_begins,
            upstream(*PARENT_AND_CHILD),
            types("run CONFIG"),
            target(*STRICT),
            LATER_CHILD,
            types("run CONFIG"),
        ],
        "…: foreign key … cannot be deferred; run: …",
        [runs_what_is_said("cannot be deferred; run: "), types("run CONFIG")],
        settings={"tables__allow_triggers": "{schema}.u,{schema}.t"},
        on=("postgresql",),
    ),
    Case(
        "a foreign key of PostgreSQL is dropped before a load, and created after it",
        [
            upstream(*PARENT_AND_CHILD),
            changefeed_begins,
            target("CREATE TABLE t (id INT PRIMARY KEY)"),
            target("CREATE TABLE u (id INT PRIMARY KEY, p INT REFERENCES t (id))"),
            types("load CONFIG"),
        ],
        "…: … has foreign key …: drop it, and create it after the load; or drop the table, and "
        "load creates both",
        [
            target("ALTER TABLE u DROP CONSTRAINT u_p_fkey"),
            types_again("load CONFIG"),
            target("ALTER TABLE u ADD CONSTRAINT u_p_fkey FOREIGN KEY (p) REFERENCES t (id)"),
            LATER_CHILD,
            types("run CONFIG"),
        ],
        on=("postgresql",),
    ),
    Case(
        "a child of PostgreSQL is dropped before a load",
        [
            upstream(*PARENT_AND_CHILD),
            changefeed_begins,
            target("CREATE TABLE t (id INT PRIMARY KEY)"),
            target("CREATE TABLE u (id INT PRIMARY KEY, p INT REFERENCES t (id))"),
            types("load CONFIG"),
        ],
        "…: … has foreign key …: drop it, and create it after the load; or drop the table, and "
        "load creates both",
        [target("DROP TABLE u"), types_again("load CONFIG"), LATER_CHILD, types("run CONFIG")],
        on=("postgresql",),
    ),
    Case(
        "a zero date goes into a text column of PostgreSQL",
        [
            changefeed_begins,
            upstream(DATES, "INSERT INTO t VALUES (1, '2024-02-29')"),
            types("run CONFIG"),
            upstream("INSERT INTO t VALUES (2, '0000-00-00')"),
            types("run CONFIG"),
        ],
        "; give the column the type text, which holds it, have the table loaded again: ",
        [target("ALTER TABLE t ALTER d TYPE text"), types(RELOAD, "run CONFIG")],
        on=("postgresql",),
    ),
    Case(
        "a zero date goes into a text column of a table to which a foreign key refers",
        [
            changefeed_begins,
            upstream(DATES, REFERRING, "INSERT INTO t VALUES (1, '2024-02-29')"),
            types("run CONFIG"),
            target(f"ALTER TABLE u {ADD_CHECKED}"),
            upstream("INSERT INTO t VALUES (2, '0000-00-00')", "INSERT INTO u VALUES (1, 2)"),
            types("run CONFIG"),
        ],
        "(drop foreign keys from and to the table, its views and its triggers first, and "
        "create them again after the load)",
        [
            target("ALTER TABLE u DROP CONSTRAINT own", "ALTER TABLE t ALTER d TYPE text"),
            types(RELOAD),
            types("run CONFIG"),
            target(f"ALTER TABLE u {ADD_CHECKED}"),
            upstream("INSERT INTO t VALUES (3, NULL)", "INSERT INTO u VALUES (2, 3)"),
            types("run CONFIG"),
        ],
        on=("postgresql",),
    ),
    Case(
        "too many rows differ to be repaired one by one",
        [
            *BEGUN,
            LATER,
            types("run CONFIG"),
            target("UPDATE t SET name = 'wrong'"),
            repairs_one_row_at_most,
        ],
        "load the table again: ticdc-consumer load CONFIG --table …",
        [types(RELOAD, "run CONFIG")],
    ),
    Case(
        "tables that the upstream does not have are dropped",
        [*BEGUN, target("CREATE TABLE left_over (id INT PRIMARY KEY)"), types("verify CONFIG")],
        "tables of the target that the upstream does not have, and that no changefeed fills: ",
        [target("DROP TABLE left_over"), types("run CONFIG")],
        on=("sqlite", "postgresql", "mariadb", "mysql", "tidb"),
    ),
    Case(
        "a table that was loaded lacks a unique key that waited with its rows",
        [
            *BEGUN,
            target("ALTER TABLE t DROP COLUMN name"),
            LATER,
            upstream("ALTER TABLE t ADD UNIQUE KEY u (name)"),
            types("run CONFIG --set on_error.quarantine=true"),
            target("ALTER TABLE t ADD COLUMN name VARCHAR(20)"),
            types("release CONFIG {schema}.t --load"),
        ],
        "the target's table lacks unique keys that the upstream's has: ",
        [
            target("CREATE UNIQUE INDEX u ON t (name)"),
            upstream("ALTER TABLE t DROP INDEX u"),
            types("run CONFIG"),
        ],
        on=("mariadb", "mysql"),
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
