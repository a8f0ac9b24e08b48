"""The promise over random histories: at every commit the target equals the upstream at R.

The parts are the real ones from the scout to SQLite; only Kafka and Spark are stood for, by the
world's log and by a loop in this process.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.world import SQL, TABLES, make_world
from support.world_run import Run
from ticdc_consumer.cut.apply import transaction as apply_step
from ticdc_consumer.cut.cut_reader import CutReader
from ticdc_consumer.cut.cuts import Cut, shares
from ticdc_consumer.cut.planner import Planner
from ticdc_consumer.cut.read import task as read
from ticdc_consumer.cut.read.cut_range import CutRange
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.report import Report
from ticdc_consumer.cut.reconcile import gathered
from ticdc_consumer.cut.reconcile.gathered import Gathered, gather_here
from ticdc_consumer.cut.spark import jobs
from ticdc_consumer.errors import Stop
from ticdc_consumer.source.kafka import tasks as poll
from ticdc_consumer.source.kafka.recent import Recent
from ticdc_consumer.source.kafka.tasks import KafkaTasks
from ticdc_consumer.state.store import Store
from ticdc_encoder.errors import TicdcError

pytestmark = pytest.mark.slow
SEEDS = range(250)
PROTOCOLS = ("canal-json", "open-protocol", "simple", "debezium")
WAYS = ("net", "transactions")


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(path)) as reader:
        return {
            table.name: sorted(reader.execute(f"SELECT * FROM {table.name}"), key=repr)  # noqa: S608
            for table in TABLES
        }


def play(seed: Random, protocol: str, way: str, path: Path) -> None:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as target:
        for statement in SQL:
            target.execute(statement)
    world = make_world(seed, protocol)

    def compare(resolved_ts: int) -> None:
        assert contents(path) == world.at(resolved_ts)

    Run(world, protocol, way, f"sqlite:///{path}", compare).go()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 1 << 32))
def test_every_commit_equals_the_upstream_at_its_resolved_ts(
    tmp_path: Path, protocol: str, way: str, seed: int
) -> None:
    play(Random(seed), protocol, way, tmp_path / "target.db")


def test_the_driver_and_sparks_tasks_read_the_same(tmp_path: Path) -> None:
    """The same facts, counts, restart offsets and errors, of every cut of random histories."""
    cuts = 0

    def both(self: Any, cut: Cut, job: Callable[[bool], ReadJob]) -> Gathered:
        nonlocal cuts
        cuts += 1
        groups = shares(cut, self._spark.session("to test").defaultParallelism)
        here = what_is_read(lambda: gather_here(job(True), shares(cut, 1)[0]))
        read_by_tasks = replace(job(True), source=KafkaTasks({}))
        spark = what_is_read(
            lambda: jobs.gather(self._spark.session("to test"), read_by_tasks, groups, spill=0)
        )
        if isinstance(here, TicdcError):
            assert (type(here), str(here)) == (type(spark), str(spark))
            raise here
        assert isinstance(spark, Gathered)
        assert comparable(here) == comparable(spark)
        return here

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CutReader, "_gather", both)
        for seed, protocol, way in product(range(4), PROTOCOLS, WAYS):
            play(Random(seed), protocol, way, tmp_path / "target.db")
    assert cuts > 150


def what_is_read(gather: Callable[[], Gathered]) -> Gathered | TicdcError:
    try:
        return gather()
    except TicdcError as error:
        return error


def comparable(gathered: Gathered) -> dict[str, Any]:
    """All that a cut's facts and its report say in whatever order partitions are read. That decides
    which of two copies is the first, and whether a copy is seen that a third fact supersedes."""
    report = gathered.report
    facts = gathered.facts
    if facts is not None:
        order = [(name, "ascending") for name in ("table", "key", "commit_ts", "present")]
        facts = facts.sort_by(order).drop(["place", "offset"])
    return {
        **asdict(replace(report, facts_sent=0)),
        "tables": {number: (of.facts, of.replays) for number, of in report.tables.items()},
        "missing": set(report.missing),
        "unknown_ddls": set(report.unknown_ddls),
        "unread": set(report.unread),
        "schemas": set(report.schemas),
        "facts": facts and facts.to_pylist(),
        "clash": gathered.clash is not None,
    }


def rows_before_deletes(patch: pytest.MonkeyPatch) -> None:
    """Without the rule that all deletes of a cut come before its rows."""
    original = apply_step._write

    def swapped(target: Any, change: Any, options: Any, applied: Any, step: Any) -> None:
        class Swapped:
            layouts = change.layouts
            staged = ()

            def deletes(self) -> Iterator[Any]:
                return iter(())

            def rows(self) -> Iterator[Any]:
                return cast("Iterator[Any]", change.rows())

        original(target, Swapped(), options, applied, step)
        for table, keys in change.deletes():
            target.delete(change.layouts[table], keys)

    patch.setattr(apply_step, "_write", swapped)


def closed_cut(patch: pytest.MonkeyPatch) -> None:
    """With commit_ts <= R in a cut, instead of <."""

    def holds(
        self: Any, progress: Any, number: int, commit_ts: int, offset: int, time: int
    ) -> bool:
        if commit_ts > self.end:
            progress.keep(offset)
            return False
        return bool(commit_ts >= self.begin)

    patch.setattr(CutRange, "holds", holds)


def no_listed_end(patch: pytest.MonkeyPatch) -> None:
    """A partition without a mark >= R is taken for read where its first batch ends."""
    original = poll.until_ends

    def impatient(batch: Any, partitions: Any) -> Iterator[Any]:
        yield from original(batch, partitions)
        for progress in partitions.values():
            progress.end = min(progress.end, progress.position)
            progress.done = True

    patch.setattr(poll, "until_ends", impatient)


def early_listing(patch: pytest.MonkeyPatch) -> None:
    """The ends are listed before the mark that proves R was seen."""
    original = Planner.plan

    def listed_before(self: Planner, *arguments: Any) -> Any:
        listing = self.source.list_patiently((), 1.0)
        with pytest.MonkeyPatch.context() as stale:
            stale.setattr(self.source, "list_patiently", lambda known, patience: listing)
            return original(self, *arguments)

    patch.setattr(Planner, "plan", listed_before)


def each_part_says_where_to_go_on(patch: pytest.MonkeyPatch) -> None:
    """Of several tasks that read a partition, the last to report decides where the next cut reads
    on, as if none of the others had met a row of a later cut."""
    original = gathered.merge

    def last_wins(reports: Iterable[Report]) -> Report:
        kept = list(reports)
        merged = original(kept)
        for report in kept:
            merged.restarts.update(report.restarts)
        return merged

    patch.setattr(gathered, "merge", last_wins)


def forgotten_messages_are_covered(patch: pytest.MonkeyPatch) -> None:
    """A small cut takes what is remembered of a partition for all of it."""
    patch.setattr(Recent, "covers", lambda self, partition, offset: partition in self.partitions)


def unread_rows_are_passed_over(patch: pytest.MonkeyPatch) -> None:
    """A row without its schema does not keep its cut from being committed."""
    patch.setattr(read.Reading, "read_waiting", lambda *_: None)


def unread_rows_are_not_held(patch: pytest.MonkeyPatch) -> None:
    """A row of a later cut, without its schema, does not hold the restart offset."""
    original = read.Reading.read_waiting

    def careless(self: Any, progress: Any, row: Any, offset: int, time: int) -> None:
        if row.commit_ts < self._job.end:
            original(self, progress, row, offset, time)

    patch.setattr(read.Reading, "read_waiting", careless)


def schemas_are_not_committed(patch: pytest.MonkeyPatch) -> None:
    """A restart knows the schemas only that it meets."""
    patch.setattr(Store, "_write_schemas", lambda *_: None)


@pytest.mark.parametrize("way", ["net", "transactions"])
@pytest.mark.parametrize(
    "broken",
    [unread_rows_are_passed_over, unread_rows_are_not_held, schemas_are_not_committed],
)
def test_each_rule_about_schemas_is_needed(
    tmp_path: Path, way: str, broken: Callable[[pytest.MonkeyPatch], None]
) -> None:
    for seed in SEEDS:
        with pytest.MonkeyPatch.context() as patch:
            broken(patch)
            try:
                play(Random(seed), "simple", way, tmp_path / "target.db")
            except AssertionError:
                return
    pytest.fail("no history showed that the rule is missing")


@pytest.mark.parametrize("way", ["net", "transactions"])
@pytest.mark.parametrize(
    "broken",
    [
        rows_before_deletes,
        closed_cut,
        no_listed_end,
        early_listing,
        each_part_says_where_to_go_on,
        forgotten_messages_are_covered,
    ],
)
def test_without_any_one_rule_some_history_goes_wrong(
    tmp_path: Path, way: str, broken: Callable[[pytest.MonkeyPatch], None]
) -> None:
    for seed in SEEDS:
        with pytest.MonkeyPatch.context() as patch:
            broken(patch)
            try:
                play(Random(seed), "canal-json", way, tmp_path / "target.db")
            except (AssertionError, Stop, IndexError, ValueError):
                return
    pytest.fail("no history showed that the rule is missing")
