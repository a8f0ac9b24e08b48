"""A real TiDB is the judge: random histories of DDL and rows run there, and after each DDL the
columns, keys and rows of each target are TiDB's, or the run stopped, as docs/reference/ddl.md
names it."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from ddl.judge import History, Judge, Verdict, check, play
from support.databases import fresh_database
from support.server_address import server_address
from ticdc_consumer.targets import open_target
from ticdc_encoder.sql.parser import parse_create_table

pytestmark = pytest.mark.slow
TARGETS = ("sqlite", "postgresql", "mariadb", "mysql", "tidb")
SHORT, LONG = 30, 1000
"""Histories; each goes into one target, with --long into all."""
STEPS = 6
"""DDL of a history."""
FEW = 0.03
"""Of all DDL, those that may stop."""


@pytest.fixture(scope="module")
def history() -> Iterator[Callable[[int], History]]:
    """By its seed."""
    made: dict[int, History] = {}
    with fresh_database(server_address("TIDB_URL")) as own:
        engine = sa.create_engine(own, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with closing(engine.connect()) as connection:

            def of(seed: int) -> History:
                if seed not in made:
                    made[seed] = Judge(connection).history(seed, STEPS)
                return made[seed]

            yield of


def played(history: History, seed: int, server: str | None, folder: Path) -> Verdict:
    """Into a new database of the server, or without one into a SQLite file."""
    try:
        if server is None:
            return play(history, seed, f"sqlite:///{folder / f'{seed}.db'}")
        with fresh_database(server) as url:
            return play(history, seed, url)
    except Exception as error:
        error.add_note(
            f"in the history of seed {seed}: " + "; ".join(d.query for d in history.ddls)
        )
        raise


@pytest.mark.parametrize("target", TARGETS)
def test_after_each_ddl_a_target_is_as_tidb_is(
    request: pytest.FixtureRequest,
    history: Callable[[int], History],
    target: str,
    tmp_path: Path,
    long: bool,
) -> None:
    server: str | None = None
    if target == "postgresql":
        server = request.getfixturevalue("postgresql_server")
    elif target != "sqlite":
        server = server_address(f"{target.upper()}_URL")
    seeds = range(LONG) if long else range(TARGETS.index(target), SHORT, len(TARGETS))
    ddls, stops = 0, []
    for seed in seeds:
        verdict = played(history(seed), seed, server, tmp_path)
        ddls += verdict.ddls
        if verdict.stop is not None:
            assert verdict.named, verdict.stop
            stops.append(f"{seed}: {verdict.stop}")
    print(f"{target}: {ddls} DDL, {len(stops)} stops")
    # Of few, one stop is much.
    assert len(stops) <= max(FEW * ddls, 3), stops


@pytest.mark.parametrize(
    ("created", "row"),
    [
        ("id INT PRIMARY KEY, a INT", {"id": 1, "a": 2}),
        ("id INT PRIMARY KEY, a INT", {"id": 2, "a": 1}),
        ("id INT PRIMARY KEY, a INT NOT NULL", {"id": 1, "a": 1}),
        ("id INT PRIMARY KEY, a INT UNIQUE", {"id": 1, "a": 1}),
        ("id INT, a INT, UNIQUE KEY (id)", {"id": 1, "a": 1}),
        ("id INT PRIMARY KEY, a VARCHAR(9)", {"id": 1, "a": "1"}),
        ("id INT PRIMARY KEY, a INT, b INT", {"id": 1, "a": 1, "b": None}),
    ],
)
def test_a_difference_is_found(tmp_path: Path, created: str, row: dict[str, int | str]) -> None:
    with closing(open_target(f"sqlite:///{tmp_path / 'target.db'}")) as target:
        for text in (
            'CREATE TABLE "t" ("id" INTEGER NOT NULL, "a" INTEGER, PRIMARY KEY ("id"))',
            'INSERT INTO "t" VALUES (1, 1)',
        ):
            target.execute(text)
        same = parse_create_table("CREATE TABLE t (id INT PRIMARY KEY, a INT)", "w")
        check(target, None, "t", (same, ({"id": 1, "a": 1},)))
        with pytest.raises(AssertionError):
            check(
                target, None, "t", (parse_create_table(f"CREATE TABLE t ({created})", "w"), (row,))
            )
