"""Tables that are quarantined, and how they come back to the others."""

from support.advice import Case, Scene, changefeed_begins, follow, target, types, upstream

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
QUARANTINE = {"on_error__quarantine": "true"}
ASIDE = (
    changefeed_begins,
    upstream(T, "INSERT INTO t VALUES (1, 'one')"),
    types("run CONFIG"),
    target("ALTER TABLE t RENAME COLUMN name TO called"),
    upstream("INSERT INTO t VALUES (2, 'two')"),
)
"""The target does not take the second row."""
FIXED = target("ALTER TABLE t RENAME COLUMN called TO name")


def retention(scene: Scene) -> None:
    """The brokers delete all that the other tables no longer need."""
    for topic, partition, offset in scene.command.rows(
        'SELECT topic, "partition", restart_offset FROM ticdc_offset'
    ):
        scene.feed.kafka.delete_records(topic, partition, offset)


CASES = [
    Case(
        "the cause is fixed, and the table released",
        [*ASIDE, types("run CONFIG", "why CONFIG")],
        "ticdc-consumer release {config} {table}",
        [FIXED, types("release CONFIG …", "run CONFIG")],
        settings=QUARANTINE,
    ),
    Case(
        "the table is loaded instead",
        [*ASIDE, types("run CONFIG"), FIXED, types("why CONFIG")],
        "ticdc-consumer release {config} {table} --load",
        [types("release CONFIG … --load", "run CONFIG")],
        settings=QUARANTINE,
    ),
    Case(
        "the table is released before a DDL of it and of something else",
        [
            *ASIDE,
            upstream("RENAME TABLE t TO u", "DELETE FROM u WHERE id = 1"),
            types("run CONFIG"),
        ],
        "… (in …, commit_ts …) involves a quarantined table and something else: release the "
        "table first by: ticdc-consumer release CONFIG …",
        [FIXED, types("release CONFIG …", "run CONFIG")],
        settings=QUARANTINE,
    ),
    Case(
        "the log of the table is gone, and it is loaded",
        [*ASIDE, types("run CONFIG"), FIXED, retention, types("release CONFIG {schema}.t")],
        "….… cannot be released, because its log is lost: …; load it: ticdc-consumer release "
        "CONFIG ….… --load",
        [types("release CONFIG … --load"), upstream("DELETE FROM t WHERE id = 1")],
        settings=QUARANTINE,
        on=("sqlite", "postgresql"),
    ),
    Case(
        "the table is loaded while it is quarantined",
        [*ASIDE, types("run CONFIG"), FIXED, types("load CONFIG --table {schema}.t")],
        "…: it is quarantined: load and release it by: ticdc-consumer release CONFIG … --load",
        [types("release CONFIG … --load", "run CONFIG")],
        settings=QUARANTINE,
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
