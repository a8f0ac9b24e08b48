"""The promise over random histories with DDL: at every commit the target's tables, their columns
and their rows equal the upstream's at R, and every DDL below R ran once.

The parts are the real ones from the scout to SQLite, as in `test_promise.py`.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.ddl_world import make_ddl_world
from support.world_run import Run
from ticdc_consumer.cut import cuts, epoch, planner
from ticdc_consumer.cut.apply import transaction as apply_step
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.read import task as read
from ticdc_consumer.ddl import numbering
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.source.kafka import scout
from ticdc_consumer.source.marks import SeenDdl
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.schema import OWN_TABLES
from ticdc_encoder.errors import TicdcError

pytestmark = pytest.mark.slow
SEEDS = range(250)


def contents(path: Path) -> dict[str, Any]:
    """As the world tells them."""
    result = {}
    with closing(sqlite3.connect(path)) as reader:
        reader.row_factory = sqlite3.Row
        names = reader.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for name in {row["name"] for row in names} - OWN_TABLES:
            columns = reader.execute(f"PRAGMA table_info({name})").fetchall()
            indexes = reader.execute(f"PRAGMA index_list({name})").fetchall()
            unique = [
                column["name"]
                for index in indexes
                if index["unique"] and index["origin"] != "pk"
                for column in reader.execute(f"PRAGMA index_info({index['name']})")
            ]
            rows = reader.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608
            result[name] = (
                sorted((c["name"], c["type"], bool(c["notnull"])) for c in columns),
                unique,
                sorted((sorted(dict(row).items()) for row in rows), key=repr),
            )
    return result


def ledger(path: Path) -> list[tuple[int, str, str]]:
    with closing(sqlite3.connect(path)) as reader:
        result = reader.execute('SELECT commit_ts, "table", query, state FROM ticdc_ddl').fetchall()
    assert {state for *_, state in result} <= {"done"}
    return sorted((int(commit_ts), table, query) for commit_ts, table, query, _ in result)


def play(seed: Random, protocol: str, way: str, path: Path) -> None:
    path.unlink(missing_ok=True)
    world = make_ddl_world(seed, protocol)

    def compare(resolved_ts: int) -> None:
        assert contents(path) == world.at(resolved_ts)
        assert ledger(path) == world.done(resolved_ts)

    Run(world, protocol, way, f"sqlite:///{path}", compare, crashes=True).go()


@pytest.mark.parametrize("way", ["net", "transactions"])
@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 1 << 32))
def test_every_commit_has_upstreams_tables_at_its_resolved_ts(
    tmp_path: Path, protocol: str, way: str, seed: int
) -> None:
    play(Random(seed), protocol, way, tmp_path / "target.db")


# --- each rule is needed ------------------------------------------------------------------------


def rows_after_ddl(patch: pytest.MonkeyPatch) -> None:
    """The DDL of a cut run before its rows are written."""
    write, run = apply_step._write, ddl.run_in_cut
    delayed: list[Any] = []

    def run_first(*arguments: Any) -> None:
        run(*arguments)
        write(*delayed.pop())

    patch.setattr(apply_step, "_write", lambda *arguments: delayed.append(arguments))
    patch.setattr(ddl, "run_in_cut", run_first)


def cut_to_the_mark(patch: pytest.MonkeyPatch) -> None:
    """A cut goes on to its mark, and then all DDL below that run."""

    def to_the_mark(
        applied: int, reach: int, ddls: Sequence[SeenDdl], *_: Any
    ) -> tuple[int, list[SeenDdl]]:
        return reach, [seen for seen in ddls if applied <= seen.ddl.commit_ts < reach]

    patch.setattr(planner, "end_of_cut", to_the_mark)


def cut_before_the_ddl(patch: pytest.MonkeyPatch) -> None:
    """A cut ends at T, so that rows of the commit_ts of a DDL come after it."""
    original = cuts.end_of_cut

    def before(
        applied: int, reach: int, ddls: Sequence[SeenDdl], *_: Any
    ) -> tuple[int, list[SeenDdl]]:
        end, together = original(applied + 1, reach, ddls)
        return (max(applied + 1, end - 1), together) if together else (end, together)

    patch.setattr(planner, "end_of_cut", before)


def as_they_come(patch: pytest.MonkeyPatch) -> None:
    """The DDL that came first is the next, whatever its commit_ts."""

    def first(
        applied: int, reach: int, ddls: Sequence[SeenDdl], *_: Any
    ) -> tuple[int, list[SeenDdl]]:
        waiting = [seen for seen in ddls if applied <= seen.ddl.commit_ts < reach]
        if not waiting:
            return reach, []
        at = min(waiting, key=lambda seen: seen.offset).ddl.commit_ts
        return at + 1, [seen for seen in waiting if seen.ddl.commit_ts == at]

    patch.setattr(planner, "end_of_cut", first)


def replays_run(patch: pytest.MonkeyPatch) -> None:
    """A DDL below the applied R is as good as any."""

    def again(
        applied: int, reach: int, ddls: Sequence[SeenDdl], *_: Any
    ) -> tuple[int, list[SeenDdl]]:
        waiting = [seen for seen in ddls if seen.ddl.commit_ts < reach]
        if not waiting:
            return reach, []
        least = min(seen.ddl.commit_ts for seen in waiting)
        together = [seen for seen in waiting if seen.ddl.commit_ts == least]
        return max(applied, least) + 1, together

    patch.setattr(planner, "end_of_cut", again)


def every_copy_runs(patch: pytest.MonkeyPatch) -> None:
    """A DDL that came twice is two."""
    ddls_of, read_message = scout.Scout.ddls, scout.Scout._read
    copies: list[SeenDdl] = []

    def remember(self: scout.Scout, message: Any, latest: int) -> None:
        before, self._ddls = self._ddls, {}
        read_message(self, message, latest)
        copies.extend(self._ddls.values())
        self._ddls = {**self._ddls, **before}

    def all_copies(self: scout.Scout) -> list[SeenDdl]:
        known = {(seen.ddl.commit_ts, seen.ddl.query) for seen in ddls_of(self)}
        return [seen for seen in copies if (seen.ddl.commit_ts, seen.ddl.query) in known]

    def entries(seen: Sequence[SeenDdl]) -> list[LedgerEntry]:
        return [
            LedgerEntry(s.ddl.commit_ts, n, s.ddl.schema, s.ddl.table, s.ddl.query)
            for n, s in enumerate(numbering.renames_in_order(list(seen)), 1)
        ]

    patch.setattr(scout.Scout, "_read", remember)
    patch.setattr(scout.Scout, "ddls", all_copies)
    patch.setattr(numbering, "entries", entries)


def renames_as_they_come(patch: pytest.MonkeyPatch) -> None:
    """Several renames of one statement in the order of their messages."""
    patch.setattr(numbering, "renames_in_order", lambda seen: seen)


def unread_partition_0(patch: pytest.MonkeyPatch) -> None:
    """R is fixed before partition 0 is read as far as the mark, and no task looks for DDL."""
    patch.setattr(scout.Scout, "read_to", lambda *_: None)
    patch.setattr(read.Reading, "read_ddl", lambda *_: None)


def old_layouts(patch: pytest.MonkeyPatch) -> None:
    """The layouts that were made before a DDL are used after it."""
    patch.setattr(TableLayouts, "_forget", lambda *_: None)


def early_rows_are_passed_over(patch: pytest.MonkeyPatch) -> None:
    """CREATE TABLEs share a cut that has rows of one of their tables."""
    patch.setattr(epoch, "early", lambda *_: 0)


def any_ddl_share_a_cut(patch: pytest.MonkeyPatch) -> None:
    """Not only CREATE TABLEs share a cut."""
    patch.setattr(planner, "creates", lambda _: True)


@pytest.mark.parametrize(
    "broken",
    [
        rows_after_ddl,
        cut_to_the_mark,
        cut_before_the_ddl,
        as_they_come,
        replays_run,
        every_copy_runs,
        renames_as_they_come,
        unread_partition_0,
        old_layouts,
        early_rows_are_passed_over,
        any_ddl_share_a_cut,
    ],
)
def test_without_any_one_rule_of_ddl_some_history_goes_wrong(
    tmp_path: Path, broken: Callable[[pytest.MonkeyPatch], None]
) -> None:
    for seed in SEEDS:
        with pytest.MonkeyPatch.context() as patch:
            broken(patch)
            try:
                play(Random(seed), "canal-json", "net", tmp_path / "target.db")
            except (AssertionError, TicdcError, IndexError, ValueError):
                return
    pytest.fail("no history showed that the rule is missing")
