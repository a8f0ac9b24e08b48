"""Tables whose CREATE TABLE did not come: what neither rows nor the target's table tell of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from support.advice import (
    Case,
    Scene,
    changefeed_begins,
    follow,
    sets_upstream,
    target,
    types,
    upstream,
)
from ticdc_consumer.upstream import session

NO_UPSTREAM = {"source__upstream": None}
RUN = types("run CONFIG")

MOODS = "CREATE TABLE t (id INT PRIMARY KEY, mood ENUM('b','a'))"
TEXTS = "CREATE TABLE t (id INT PRIMARY KEY, mood TEXT)"
NUMBERS = "CREATE TABLE t (id INT PRIMARY KEY, mood INT)"
A_MOOD = upstream("INSERT INTO t VALUES (1, 'b')")
KEYED = "CREATE TABLE t (a INT NOT NULL UNIQUE, v INT)"
KEYLESS = "CREATE TABLE t (a INT, v INT)"
SUMS = "CREATE TABLE t (a INT PRIMARY KEY, v INT GENERATED ALWAYS AS (a + 1) STORED)"
PLAIN = "CREATE TABLE t (a INT PRIMARY KEY, v INT)"
A_PAIR = upstream("INSERT INTO t (a) VALUES (1)")
ORDINARY = [target("DROP TABLE t", PLAIN), RUN]
FIRST = upstream("CREATE TABLE other (id INT PRIMARY KEY)")


def names_the_key(scene: Scene) -> None:
    scene.settings["tables__keys"] = f'{{"{scene.tidb.schema}.t" = ["a"]}}'


def accepts_no_key(scene: Scene) -> None:
    scene.settings["tables__at_least_once"] = f'["{scene.tidb.schema}.t"]'


@contextmanager
def removed(url: str, snapshot_ts: int | None = None) -> Iterator[session.UpstreamSession]:
    """As `session.reading` after TiDB's garbage collection."""
    if snapshot_ts is not None:
        raise session.SnapshotRemoved("it is removed")
    opened = session.UpstreamSession.open(url, None)
    try:
        yield opened
    finally:
        opened.close()


def runs_after_garbage_collection(scene: Scene) -> None:
    with patch.object(session, "reading", removed):
        scene.types("run CONFIG")


CASES = [
    Case(
        "labels for a column of text are read from the upstream",
        [upstream(MOODS), changefeed_begins, target(TEXTS), A_MOOD, RUN],
        "list them; set [source] upstream to the TiDB, from which a run then reads them",
        [sets_upstream, RUN],
        settings=NO_UPSTREAM,
        on=("sqlite", "postgresql"),
    ),
    Case(
        "labels for an ENUM are read from the upstream",
        [upstream(MOODS), changefeed_begins, target(MOODS), A_MOOD, RUN],
        "list them; set [source] upstream to the TiDB, from which a run then reads them",
        [sets_upstream, RUN],
        settings=NO_UPSTREAM,
        on=("mariadb",),
    ),
    Case(
        "numbers go into a column of integers",
        [upstream(MOODS), changefeed_begins, target(TEXTS), A_MOOD, RUN],
        ", or make the target column an integer",
        [target("DROP TABLE t", NUMBERS), RUN, sets_upstream],
        ends="verified",
        settings=NO_UPSTREAM,
        on=("sqlite", "postgresql"),
    ),
    Case(
        "an operator names the upstream's key",
        [upstream(KEYED), changefeed_begins, target(KEYED), A_PAIR, RUN],
        'may be another: name it by [tables.keys] "…"',
        [names_the_key, RUN],
        settings=NO_UPSTREAM,
    ),
    Case(
        "the key is read from the upstream",
        [upstream(KEYED), changefeed_begins, target(KEYED), A_PAIR, RUN],
        "or set [source] upstream to the TiDB, from which a run then reads it; if upstream",
        [sets_upstream, RUN],
        settings=NO_UPSTREAM,
    ),
    Case(
        "the upstream has no key",
        [upstream(KEYLESS), changefeed_begins, target(KEYED), A_PAIR, RUN],
        "drop the target's, and name the table in [tables] at_least_once",
        [target("DROP TABLE t", KEYLESS), accepts_no_key, RUN],
        settings=NO_UPSTREAM,
    ),
    Case(
        "whether a column is generated is read from the upstream",
        [upstream(SUMS), changefeed_begins, target(SUMS), A_PAIR, RUN],
        "or set [source] upstream to the TiDB, from which a run then reads it",
        [sets_upstream, RUN],
        settings=NO_UPSTREAM,
    ),
    Case(
        "a column that may be an ordinary one upstream becomes one",
        [upstream(PLAIN), changefeed_begins, target(SUMS), A_PAIR, RUN],
        "its CREATE TABLE was not in the stream: make it an ordinary column",
        ORDINARY,
        settings=NO_UPSTREAM,
    ),
    Case(
        "a column that is an ordinary one upstream becomes one",
        [upstream(PLAIN), changefeed_begins, target(SUMS), A_PAIR, RUN],
        "the target generates it, and upstream does not: make it ordinary",
        ORDINARY,
    ),
    Case(
        "nobody knows the table as it was",
        [
            *(upstream(MOODS), changefeed_begins, target(TEXTS), FIRST, A_MOOD),
            runs_after_garbage_collection,
        ],
        "a DDL may have changed the table after …, and the upstream no longer has it",
        [types("forget CONFIG", "load CONFIG --replace", "run CONFIG")],
        on=("sqlite",),
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
