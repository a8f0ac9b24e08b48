"""Where the rows of a table go: a schema that the target lacks, a table that several share."""

from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    follow,
    runs_what_is_said,
    target,
    types,
    upstream,
)

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
ABSENT = {"tables__route": '{"*.*" = "absent_{schema}.{table}"}'}


def with_the_schema(scene: Scene) -> None:
    """As the message says."""
    schema = f"absent_{scene.tidb.schema}"
    scene.target(f"CREATE SCHEMA {schema}")
    cascade = " CASCADE" if scene.command.target_url.startswith("postgresql") else ""
    scene.leaves.append(f"DROP SCHEMA {schema}{cascade}")


def merged_from_now_on(scene: Scene) -> None:
    """The operator begins anew where R is, with a column that tells tables apart."""
    merge = f'{{"{scene.tidb.schema}.*" = "shard"}}'
    resolved_ts = scene.command.resolved_ts
    scene.types("forget CONFIG")
    scene.command.set(tables__merge=merge)
    scene.upstream("INSERT INTO t VALUES (2, 'two')")
    scene.types(f"run CONFIG --from-ts {resolved_ts - 1}")


def with_an_empty_column(scene: Scene) -> None:
    """Only half of what the message says."""
    scene.target(
        "CREATE TABLE new_t (id INT, name VARCHAR(20), shard VARCHAR(140) NOT NULL, "
        "PRIMARY KEY (id, shard))",
        "INSERT INTO new_t SELECT id, name, '' FROM t",
        "DROP TABLE t",
        "ALTER TABLE new_t RENAME TO t",
    )


SHARDS = (
    T,
    "INSERT INTO t VALUES (1, 'one'), (2, 'two')",
    "CREATE TABLE u (id INT PRIMARY KEY, name VARCHAR(20))",
    "INSERT INTO u VALUES (1, 'eins'), (2, 'zwei')",
)
MERGED = {
    "tables__merge": '{"{schema}.*" = "shard"}',
    "tables__route": '{"*.*" = "{target}.both_of_them"}',
}


def seven_for_those_of_t(scene: Scene) -> None:
    scene.target(f"UPDATE both_of_them SET more = 7 WHERE shard = '{scene.tidb.schema}.t'")  # noqa: S608


def with_a_filled_column(scene: Scene) -> None:
    """As the message says."""
    scene.target(
        "ALTER TABLE t ADD COLUMN shard VARCHAR(140) COLLATE utf8mb4_bin NOT NULL DEFAULT ''",
        f"UPDATE t SET shard = '{scene.tidb.schema}.t'",  # noqa: S608
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id, shard)",
    )


CASES = [
    Case(
        "PostgreSQL lacks the schema of a new table",
        [changefeed_begins, upstream(T, "INSERT INTO t VALUES (1, 'one')"), types("run CONFIG")],
        "create that schema, then start again",
        [with_the_schema, types("run CONFIG")],
        ends="verified",
        settings=ABSENT,
        on=("postgresql",),
    ),
    Case(
        "a server lacks the database of a new table",
        [changefeed_begins, upstream(T, "INSERT INTO t VALUES (1, 'one')"), types("run CONFIG")],
        "create that database, then start again",
        [with_the_schema, types("run CONFIG")],
        ends="verified",
        settings=ABSENT,
        on=("mariadb", "mysql", "tidb"),
    ),
    Case(
        "tables are merged from now on, and rows are there",
        [
            changefeed_begins,
            upstream(T, "INSERT INTO t VALUES (1, 'one')"),
            types("run CONFIG"),
            merged_from_now_on,
        ],
        "fill it in existing rows with the name of their upstream table",
        [with_a_filled_column, types("run CONFIG")],
        ends="verified",
        on=("mariadb", "mysql"),
    ),
    Case(
        "rows of a merged table that have no table's name get one",
        [
            changefeed_begins,
            upstream(T, "INSERT INTO t VALUES (1, 'one')"),
            types("run CONFIG"),
            merged_from_now_on,
            with_an_empty_column,
            types("run CONFIG"),
        ],
        "give them the name of their upstream table, for example by: …; then start again",
        [runs_what_is_said("for example by: ", "; then start again"), types("run CONFIG")],
        ends="verified",
        on=("sqlite",),
    ),
    Case(
        "a DDL of one of the merged tables is done by hand, for the rows that it is meant for",
        [
            changefeed_begins,
            upstream(*SHARDS),
            types("run CONFIG"),
            upstream("ALTER TABLE t ADD COLUMN more INT DEFAULT 7", "DELETE FROM u WHERE id = 1"),
            types("run CONFIG"),
        ],
        "… is merged with other tables by [tables.merge]: this would touch the rows of all of "
        "them, or change what … holds; do it by hand, to the table or to the rows that it is meant "
        "for",
        [
            target("ALTER TABLE both_of_them ADD COLUMN more INT"),
            seven_for_those_of_t,
            types("run CONFIG --ddl-done …"),
            upstream("INSERT INTO t VALUES (3, 'three', 8)", "INSERT INTO u VALUES (3, 'drei')"),
            types("run CONFIG"),
        ],
        ends="verified",
        settings=MERGED,
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
