"""Values that a DDL gives existing rows, and that TiCDC does not send."""

from support.advice import (
    START,
    Case,
    Scene,
    changefeed_begins,
    follow,
    sets_upstream,
    types,
    upstream,
)

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
        "set [source] upstream, from which these values can be read, and start again; or else",
        [sets_upstream, types(START)],
        settings={"source__upstream": None},
    ),
]


def test_the_advice_ends_as_it_should(case: Case, scene: Scene) -> None:
    follow(case, scene)
