"""CREATE TABLEs that follow each other without rows share a cut; counted in cuts and jobs."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from support.loading import options
from support.world import Record, World
from support.world_run import Run, logs_of
from ticdc_consumer.cut.cuts import Cut
from ticdc_consumer.cut.shared_cuts import LONGEST_WAIT, MOST, Together, creates, early
from ticdc_consumer.errors import Stop
from ticdc_consumer.source.marks import Mark, SeenDdl
from ticdc_consumer.targets import open_target
from ticdc_encoder.event import Ddl, Resolved, RowChange
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.sql.parser import parse_create_table

Event = Ddl | RowChange


def query(name: str) -> str:
    return f"CREATE TABLE `{name}` (`id` INT PRIMARY KEY, `v` VARCHAR(9))"


def create(commit_ts: int, name: str) -> Ddl:
    return Ddl("w", name, query(name), commit_ts)


def insert(commit_ts: int, name: str, key: int = 1) -> RowChange:
    table = parse_create_table(query(name), "w")
    return RowChange(table, commit_ts, after={"id": key, "v": "x"})


def world(events: Sequence[Event], mark: int) -> World:
    """All events are there, with one mark behind them."""
    wire = FORMATS["canal-json"]
    encoder = wire.Encoder(wire.Options(), lambda: 0)
    log: list[Record] = []
    for event in events:
        records = [encoder.ddl(event)] if isinstance(event, Ddl) else [*encoder.row(event)]
        log += [Record(0, key, value, 0) for key, value in [*records, *encoder.flush()]]
    log.append(Record(0, *encoder.resolved(Resolved(mark)), 0))
    return World(Random(1), 1, log=log, marks=[mark])


class Played(Run):
    """The cuts that a world's log became: R, and the DDL of each; and Spark's jobs."""

    def __init__(self, events: Sequence[Event], mark: int, path: Path, most: int = MOST) -> None:
        super().__init__(world(events, mark), "canal-json", "net", f"sqlite:///{path}", print)
        self.options = replace(self.options, spark_from_messages=0)
        self.broker.now = len(self.world.log)
        self.most_together = most
        self.cuts: list[tuple[int, int]] = []
        self.stop: Stop | None = None
        with logs_of(self.broker):
            epochs = self.start()
            try:
                while not self.cuts or self.cuts[-1][0] < mark:
                    epoch = epochs.next(None, 0.0)
                    if epoch is not None:
                        self.cuts.append((epoch.resolved_ts, len(epoch.ddls)))
            except Stop as error:
                self.stop = error
            finally:
                self.reached = epochs.state.resolved_ts
                epochs.close()
                self.target.close()


def tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as reader:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 't%' ORDER BY 1"
        return [name for (name,) in reader.execute(query) if not name.startswith("ticdc_")]


def test_300_tables_are_created_by_three_cuts_of_one_job_each(tmp_path: Path) -> None:
    names = [f"t{n:03}" for n in range(300)]
    events = [create(100 + n, name) for n, name in enumerate(names)]
    played = Played(events, 500, tmp_path / "target.db")
    assert played.cuts == [(200, 100), (300, 100), (400, 100), (500, 0)]
    assert played.spark.jobs == 4
    assert tables(tmp_path / "target.db") == names


def test_rows_of_other_tables_may_lie_between(tmp_path: Path) -> None:
    events: list[Event] = [create(100, "t0"), insert(101, "t0")]
    for n in range(1, 20):
        events += [create(100 + 10 * n, f"t{n}"), insert(101 + 10 * n, "t0", n + 1)]
    played = Played(events, 500, tmp_path / "target.db")
    # Rows of t0 end the first try; then one alone, and more and more again.
    assert sum(number for _, number in played.cuts) == 20
    assert played.cuts[0] == (101, 1)
    assert len(played.cuts) == 8
    with closing(sqlite3.connect(tmp_path / "target.db")) as reader:
        assert reader.execute("SELECT count(*) FROM t0").fetchone() == (20,)


def test_a_table_with_rows_before_the_next_one_ends_its_cut(tmp_path: Path) -> None:
    events: list[Event] = [create(100 + n, f"t{n}") for n in range(6)]
    events += [insert(110, "t3"), create(111, "t6"), create(112, "t7"), insert(113, "t7")]
    played = Played(events, 200, tmp_path / "target.db")
    # t0 to t3, then no more than four.
    assert played.cuts == [(104, 4), (113, 4), (200, 0)]
    assert played.stop is None


def test_a_table_that_cannot_be_created_has_a_cut_of_its_own(tmp_path: Path) -> None:
    target = open_target(f"sqlite:///{tmp_path / 'target.db'}")
    target.execute("CREATE TABLE t3 (other INTEGER PRIMARY KEY)").close()
    target.close()
    events = [create(100 + n, f"t{n}") for n in range(6)]
    played = Played(events, 200, tmp_path / "target.db")
    assert played.cuts == [(103, 3)]
    assert "; its statement: CREATE TABLE `t3`" in str(played.stop)
    # It waits, and nothing behind it was done.
    assert played.reached == 104
    assert tables(tmp_path / "target.db") == ["t0", "t1", "t2", "t3"]


# --- which, and how many --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (query("t"), True),
        ("CREATE TABLE IF NOT EXISTS `t` (`id` INT)", True),
        ("CREATE TABLE `t` LIKE `u`", True),
        ("CREATE VIEW `t` AS SELECT 1", False),
        ("ALTER TABLE `t` ADD COLUMN `a` INT", False),
        ("DROP TABLE `t`", False),
        ("CREATE DATABASE `t`", False),
        ("CREATE NONSENSE", False),
    ],
)
def test_what_shares_a_cut(text: str, expected: bool) -> None:
    assert creates(SeenDdl(Ddl("w", "t", text, 5), "x", 0)) == expected


CUT = Cut(
    0,
    23,
    Mark(30),
    {},
    {},
    {},
    ddls=tuple(
        SeenDdl(create(ts, name), "x", 0)
        for ts, name in [(20, "a"), (21, "b"), (21, "c"), (22, "D")]
    ),
)


@pytest.mark.parametrize(
    ("met", "number"),
    [
        ([], 0),
        (["other"], 0),
        (["a"], 1),
        (["b"], 3),
        (["c", "other"], 3),
        (["c", "a"], 1),
        (["A"], 1),
        (["D"], 0),  # its rows are not above the cut's end
    ],
)
def test_rows_of_a_created_table_end_the_cut_at_its_own_ddl(met: list[str], number: int) -> None:
    assert early(CUT, [("w", name) for name in met]) == number


def test_fewer_share_a_cut_after_failures_more_after_successes() -> None:
    together = Together(8)
    assert together.limit == 8
    together.shorten(1)
    limits = []
    for _ in range(9):
        together.applied(together.limit)
        limits.append(together.limit)
    assert limits == [1, 2, 2, 4, 8, 8, 8, 8, 8]
    # Tables that are each filled at once cost ever fewer tries.
    tries = []
    for number in range(600):
        if together.limit > 1:
            tries.append(number)
            together.shorten(1)
        together.applied(1)
    assert len(tries) < 20
    assert max(b - a for a, b in pairwise(tries)) == LONGEST_WAIT


@pytest.mark.parametrize(
    ("changed", "most"),
    [
        ({}, MOST),
        ({"apply": "transactions"}, 1),
        ({"storage_url": "file:///x", "topics": ()}, 1),
    ],
)
def test_where_ddl_share_a_cut(tmp_path: Path, changed: dict[str, object], most: int) -> None:
    target = open_target(f"sqlite:///{tmp_path / 'target.db'}")
    assert Together.of(options("sqlite://", **changed), target).limit == most
    target.close()
