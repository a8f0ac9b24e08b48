"""A checkpoint that is exported, and imported where the tables are without it."""

import sqlalchemy as sa
from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    follow,
    target,
    types,
    types_again,
    upstream,
)

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
EXPORTED = [
    changefeed_begins,
    upstream(T, "INSERT INTO t VALUES (1, 'one')"),
    types("run CONFIG", "export CONFIG FILE"),
]
LATER = upstream("INSERT INTO t VALUES (2, 'two')", "DELETE FROM t WHERE id = 1")


def moved(scene: Scene) -> None:
    """The target is a copy of its tables, without those of the consumer."""
    engine = sa.create_engine(scene.command.target_url, poolclass=sa.NullPool)
    names = sa.inspect(engine).get_table_names()
    scene.target(*(f"DROP TABLE {name}" for name in names if name.startswith("ticdc_")))


CASES = [
    Case(
        "the rows are proved to be those of R",
        [*EXPORTED, moved, LATER, types("import CONFIG FILE")],
        "which is right only if the tables hold the rows of that R: verify it with "
        "`ticdc-consumer verify CONFIG`, then continue with `ticdc-consumer run CONFIG`",
        [types("verify CONFIG", "run CONFIG")],
    ),
    Case(
        "a checkpoint that is there is gone on from",
        [*EXPORTED, LATER, types("import CONFIG FILE")],
        "the target has a checkpoint of changefeed … already, at R = …: it belongs to the rows "
        "that are there; continue with: ticdc-consumer run CONFIG",
        [types("run CONFIG")],
    ),
    Case(
        "a table that was not restored is restored",
        [
            *EXPORTED,
            moved,
            target("ALTER TABLE t RENAME TO in_the_backup"),
            LATER,
            types("import CONFIG FILE"),
        ],
        "the target has no table …, to which the rows of … went: restore all tables, as they were "
        "at R",
        [
            target("ALTER TABLE in_the_backup RENAME TO t"),
            types_again("import CONFIG FILE"),
            types("run CONFIG"),
        ],
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
