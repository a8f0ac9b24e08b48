"""Tables that are quarantined, over random histories: at every commit each of them equals the
upstream at its own timestamp, the others at R; once released, all do at R."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.loading import Crash, crash_at
from support.world import SQL, TABLES, make_world
from support.world_run import Run, logs_of
from ticdc_consumer.commands.release import released
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.planner import Planner
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.errors import Fenced, Stop
from ticdc_consumer.state.quarantine import Quarantine

POISONS = {"single": "NEW.v = 'x'", "uniq": "NEW.u > 2"}
"""What the target refuses of a table, while it does."""


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(path)) as reader:
        return {
            table.name: sorted(reader.execute(f"SELECT * FROM {table.name}"), key=repr)  # noqa: S608
            for table in TABLES
        }


def alter(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute(statement)


class World:
    """A consumer whose target refuses some values of some tables, from some commit on."""

    def __init__(self, seed: int, protocol: str, path: Path) -> None:
        path.unlink(missing_ok=True)
        for statement in SQL:
            alter(path, statement)
        self.path, rng = path, Random(seed)
        self.world = make_world(rng, protocol, transactions=20)
        self.poisoned = rng.sample(sorted(POISONS), rng.choice([1, 1, 2]))
        self.clean = rng.randint(1, 2)
        self.kept_aside = 0
        self.run = Run(self.world, protocol, "net", f"sqlite:///{path}", self.compare, crashes=True)
        allowed = tuple(f"w.{name}" for name in POISONS)
        self.run.options = replace(self.run.options, quarantine=True, allow_triggers=allowed)

    def compare(self, resolved_ts: int) -> None:
        self.clean -= 1
        if self.clean == 0 and resolved_ts:
            for name in self.poisoned:
                condition = POISONS[name]
                alter(
                    self.path,
                    f"CREATE TRIGGER poison_{name} BEFORE INSERT ON {name} WHEN {condition} "
                    "BEGIN SELECT RAISE(ABORT, 'poison'); END",
                )
        self.require_exact(resolved_ts)

    def require_exact(self, resolved_ts: int) -> None:
        aside = {t.table: t.resolved_ts for t in self.run.opened.store.quarantine.tables()}
        self.kept_aside += len(aside)
        assert set(aside) <= set(self.poisoned)
        expected = {
            table.name: self.world.at(aside.get(table.name, resolved_ts))[table.name]
            for table in TABLES
        }
        assert contents(self.path) == expected

    def release_all(self) -> None:
        for name in self.poisoned:
            alter(self.path, f"DROP TRIGGER IF EXISTS poison_{name}")
        with logs_of(self.run.broker):
            for name in self.poisoned:
                while self.is_aside(name):
                    self.release(name)

    def is_aside(self, name: str) -> bool:
        with closing(sqlite3.connect(self.path)) as reader:
            query = 'SELECT 1 FROM ticdc_quarantine WHERE "table" = ?'
            return bool(reader.execute(query, (name,)).fetchall())

    def release(self, name: str) -> None:
        """As far as it comes without a crash."""
        self.run.start().close()
        opened = self.run.opened
        try:
            with crash_at(opened.target, self.run._crash()):
                starter = SparkStarter({}, "world", cast("Any", self.run.spark))
                for _ in released(self.run.options, opened, f"w.{name}", starter):
                    self.require_exact(opened.state.resolved_ts)
        except Crash:
            self.require_exact(opened.state.resolved_ts)
        finally:
            opened.target.close()


def play(seed: int, protocol: str, path: Path) -> int:
    """Returns how often a commit was looked at with a table that was quarantined."""
    world = World(seed, protocol, path)
    world.run.go()
    world.release_all()
    assert contents(path) == world.world.at(max(world.world.marks))
    return world.kept_aside


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol", "simple", "debezium"])
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 1 << 32))
def test_a_quarantined_table_stands_at_its_ts_the_others_at_r(
    tmp_path: Path, protocol: str, seed: int
) -> None:
    play(seed, protocol, tmp_path / "target.db")


def forgetful(patch: pytest.MonkeyPatch) -> None:
    """What was read ahead of a cut is forgotten, also if that cut must be read again."""
    drain = Planner._drain
    patch.setattr(Planner, "_drain", lambda self, base, _, wait: drain(self, base, 1 << 64, wait))


def without_its_ddl(patch: pytest.MonkeyPatch) -> None:
    """A release leaves out what the changefeed left out."""
    patch.setattr(CutScope, "is_of_another_run", lambda self, ddl: self.released is not None)


def without_a_row_in_the_target(patch: pytest.MonkeyPatch) -> None:
    """Only the process knows which tables are quarantined."""
    patch.setattr(Quarantine, "add", lambda self, table: None)


@pytest.mark.parametrize(
    "broken",
    [
        forgetful,
        without_its_ddl,
        without_a_row_in_the_target,
    ],
)
def test_a_history_shows_that_a_rule_is_missing(
    tmp_path: Path, broken: Callable[[pytest.MonkeyPatch], None]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        broken(patch)
        with pytest.raises((AssertionError, Stop, Fenced)):
            for seed in range(60):
                play(seed, "canal-json", tmp_path / "target.db")


def test_the_histories_set_tables_aside(tmp_path: Path) -> None:
    assert sum(play(seed, "canal-json", tmp_path / "target.db") for seed in range(6)) > 5
