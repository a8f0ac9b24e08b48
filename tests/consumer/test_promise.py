"""The promise over random histories: at every commit the target equals the upstream at R.

The parts are the real ones from the scout to SQLite; only Kafka and Spark are stood for, by the
world's log and by a loop in this process.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from local_spark import LocalSpark
from pyspark.sql import SparkSession
from ticdc_consumer import load, read, scout
from ticdc_consumer.checkpoint import Checkpoint, Position, Store
from ticdc_consumer.cuts import Reader
from ticdc_consumer.epoch import Epochs
from ticdc_consumer.errors import Stop
from ticdc_consumer.listing import Cluster, Listing
from ticdc_consumer.options import Options
from ticdc_consumer.tables import Tables
from ticdc_consumer.targets import open_target
from world import SQL, TABLES, TOPIC, Broker, FakeCluster, FakeConsumer, World, make_world

SEEDS = range(250)


@contextmanager
def logs_of(broker: Broker) -> Iterator[None]:
    """All consumers read the world's log."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scout, "Consumer", lambda _: FakeConsumer(broker))
        patch.setattr(read, "Consumer", lambda _: FakeConsumer(broker))
        patch.setattr(read, "_consumers", {})
        yield


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with sqlite3.connect(path) as reader:
        return {
            table.name: sorted(reader.execute(f"SELECT * FROM {table.name}"), key=repr)  # noqa: S608
            for table in TABLES
        }


class Run:
    """A consumer of a world, which a crash leaves without anything but its database."""

    def __init__(self, world: World, protocol: str, way: str, path: Path) -> None:
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as target:
            for statement in SQL:
                target.execute(statement)
        self.world, self.path = world, path
        self.broker = Broker(world)
        self.options = Options(
            changefeed="world",
            protocol=protocol,
            topics=(TOPIC,),
            kafka={},
            target_url=f"sqlite:///{path}",
            apply=cast("Any", way),
            rows_per_epoch=world.rng.choice([3, 10, 1000]),
        )
        self.commits: list[int] = []

    def start(self) -> Epochs:
        target = open_target(self.options.target_url)
        store = Store(target, "world")
        store.create()
        state = store.start(1.0)
        if state is None:
            positions = {
                (TOPIC, p): Position(TOPIC, "one", p, 0) for p in range(self.world.partitions)
            }
            state = Checkpoint.first(self.options, 0, positions)
            store.begin_first(state)
        cluster = cast("Cluster", FakeCluster(self.broker))
        spark = cast("SparkSession", LocalSpark(self.world.rng.choice([1, 2])))
        reader = Reader(self.options, spark, cluster)
        tables = Tables(self.options, target)
        tables.definitions = store.ledger.definitions()
        self.target = target
        return Epochs(self.options, reader, target, store, tables, state)

    def go(self) -> None:
        """Applies everything, with crashes between; compares after every commit."""
        epochs = self.start()
        try:
            idle = 0
            # A poll may give nothing for no reason, but not twenty in a row.
            while idle < 20:
                over = self.broker.over
                epoch = epochs.next(None, 0.0)
                idle = idle + 1 if epoch is None and over else 0
                if epoch is not None:
                    self.commits.append(epoch.resolved_ts)
                    assert contents(self.path) == self.world.at(epoch.resolved_ts)
                    if self.world.rng.random() < 0.2:
                        epochs.close()
                        self.target.close()
                        epochs = self.start()
        finally:
            epochs.close()
            self.target.close()


def play(seed: Random, protocol: str, way: str, path: Path) -> Run:
    world = make_world(seed, protocol)
    run = Run(world, protocol, way, path)
    with logs_of(run.broker):
        run.go()
    assert run.commits, "nothing was applied"
    assert run.commits[-1] == max(world.marks)
    return run


@pytest.mark.parametrize("way", ["net", "transactions"])
@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 1 << 32))
def test_every_commit_equals_the_upstream_at_its_resolved_ts(
    tmp_path: Path, protocol: str, way: str, seed: int
) -> None:
    play(Random(seed), protocol, way, tmp_path / "target.db")


def rows_before_deletes(patch: pytest.MonkeyPatch) -> None:
    """Without the rule that all deletes of a cut come before its rows."""
    original = load._write

    def swapped(target: Any, change: Any, options: Any, applied: Any) -> None:
        class Swapped:
            layouts = change.layouts

            def deletes(self) -> Iterator[Any]:
                return iter(())

            def rows(self) -> Iterator[Any]:
                return cast("Iterator[Any]", change.rows())

        original(target, Swapped(), options, applied)
        for table, keys in change.deletes():
            target.delete(change.layouts[table], keys)

    patch.setattr(load, "_write", swapped)


def closed_cut(patch: pytest.MonkeyPatch) -> None:
    """With commit_ts <= R in a cut, instead of <."""

    def in_cut(
        self: Any, progress: Any, number: int, commit_ts: int, offset: int, time: int
    ) -> bool:
        if commit_ts > self._job.end:
            progress.keep(offset)
            return False
        return bool(commit_ts >= self._job.begin)

    patch.setattr(read.Reading, "_in_cut", in_cut)


def no_listed_end(patch: pytest.MonkeyPatch) -> None:
    """A partition without a mark >= R is taken for read where its first batch ends."""
    original = read._records

    def impatient(batch: Any, reading: Any) -> Iterator[Any]:
        yield from original(batch, reading)
        for progress in reading.progress.values():
            progress.end = min(progress.end, progress.position)
            progress.done = True

    patch.setattr(read, "_records", impatient)


def early_listing(patch: pytest.MonkeyPatch) -> None:
    """The ends are listed before the mark that proves R was seen."""
    original = Reader.plan

    def listed_before(self: Reader, *arguments: Any) -> Any:
        cluster = self._cluster
        listing = cluster.list_patiently((), 1.0)

        class Stale:
            def list_patiently(self, known: object, patience: float) -> Listing:
                return listing

            def begins(self, places: Any) -> Any:
                return cluster.begins(places)

        self._cluster = cast("Cluster", Stale())
        try:
            return original(self, *arguments)
        finally:
            self._cluster = cluster

    patch.setattr(Reader, "plan", listed_before)


@pytest.mark.parametrize("way", ["net", "transactions"])
@pytest.mark.parametrize("broken", [rows_before_deletes, closed_cut, no_listed_end, early_listing])
def test_each_rule_is_needed_since_without_it_some_history_goes_wrong(
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
