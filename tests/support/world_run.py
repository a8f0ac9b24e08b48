"""A consumer of a world's log: the real parts from the scout to a target, restarted at times."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut import cut_reader, cuts
from ticdc_consumer.cut.apply.to_target import ToTarget
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.epoch import Epochs
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.opening import Opened
from ticdc_consumer.cut.read_ahead import Preparer
from ticdc_consumer.cut.shared_cuts import Together
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.source.kafka import follower, scout
from ticdc_consumer.source.kafka import tasks as poll
from ticdc_consumer.source.kafka.brokers import Cluster
from ticdc_consumer.source.kafka.source import KafkaSource
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.targets import open_target

from support.loading import Crash, crash_at
from support.local_spark import LocalSpark
from support.world import TOPIC, Broker, FakeCluster, FakeConsumer, World


@contextmanager
def logs_of(broker: Broker) -> Iterator[None]:
    """All consumers read the world's log."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scout, "Consumer", lambda _: FakeConsumer(broker))
        patch.setattr(poll, "Consumer", lambda _: FakeConsumer(broker))
        patch.setattr(follower, "Consumer", lambda _: FakeConsumer(broker))
        patch.setattr(poll, "_consumers", {})
        # By one task, by several, or partitions in parts.
        patch.setattr(cut_reader, "SMALL", broker.world.rng.choice([0, 10, cut_reader.SMALL]))
        patch.setattr(cuts, "LEAST_SPAN", broker.world.rng.choice([1, 4, cuts.LEAST_SPAN]))
        # What is remembered of the log, by the scout and of other partitions.
        patch.setattr(scout, "FAR_BEHIND", broker.world.rng.choice([2, 4, 1000]))
        for module in (scout, follower):
            patch.setattr(module, "MOST_BYTES", broker.world.rng.choice([1, 2000, 1 << 20]))
        yield


class Run:
    """A consumer, which a crash leaves without anything but its database at `url`."""

    def __init__(
        self,
        world: World,
        protocol: str,
        way: str,
        url: str,
        compare: Callable[[int], None],
        crashes: bool = False,
    ) -> None:
        """`compare` is called with R after every commit, and with `crashes` after every crash at
        some statement, too."""
        self.world, self.compare, self.crashes = world, compare, crashes
        self.broker = Broker(world)
        self.options = Settings(
            changefeed="world",
            protocol=protocol,
            topics=(TOPIC,),
            kafka={},
            target_url=url,
            apply=cast("Any", way),
            rows_per_epoch=world.rng.choice([3, 10, 1000]),
            # By Spark, by the driver, or by either as the cut is large or small.
            spark_from_messages=world.rng.choice([0, 6, 20, 5000]),
        )
        self.most_together = world.rng.choice([1, 2, 100])

    def start(self) -> Epochs:
        target = open_target(self.options.target_url)
        monitor = Monitor("world")
        store = Store(target, "world", monitor=monitor)
        state = store.start(1.0)
        if state is None:
            positions = {
                (TOPIC, p): Position(TOPIC, "one", p, 0) for p in range(self.world.partitions)
            }
            state = Checkpoint.first(self.options, 0, positions)
            store.begin_first(state)
        source = KafkaSource(self.options, cast("Cluster", FakeCluster(self.broker)))
        self.spark = LocalSpark(self.world.rng.choice([1, 2, 5]))
        starter = SparkStarter({}, "world", cast("SparkSession", self.spark))
        together = Together(self.most_together if self.options.apply == "net" else 1)
        aside = store.quarantine.tables()
        monitor.begins_without(aside)
        scope = CutScope(frozenset(table.name for table in aside))
        tables = TableLayouts(self.options, target)
        tables.definitions = store.ledger.definitions()
        self.target = target
        self.opened = Opened(target, store, source, state, monitor=monitor)
        applier = ToTarget(self.options, target, store, tables)
        preparer = Preparer.of(self.options, starter, self.opened, dict, together)
        return Epochs(self.options, preparer, applier, tables, state, scope)

    def go(self) -> None:
        """Applies everything. Raises AssertionError where that is less than the world's marks."""
        reached = 0
        with logs_of(self.broker):
            epochs = self.start()
            try:
                idle = 0
                # A poll may give nothing for no reason, but not twenty in a row.
                while idle < 20:
                    over = self.broker.over
                    try:
                        with crash_at(self.target, self._crash()):
                            epoch = epochs.next(None, 0.0)
                    except Crash:
                        epochs = self._restart(epochs)
                        reached = epochs.state.resolved_ts
                        self.compare(reached)
                        continue
                    idle = idle + 1 if epoch is None and over else 0
                    if epoch is not None:
                        reached = epoch.resolved_ts
                        self.compare(reached)
                        if self.world.rng.random() < 0.2:
                            epochs = self._restart(epochs)
            finally:
                epochs.close()
                self.target.close()
        assert reached == max(self.world.marks)

    def _crash(self) -> int:
        """The number of the statement to crash at; mostly 0, which is none."""
        rng = self.world.rng
        return rng.randint(1, 40) if self.crashes and rng.random() < 0.2 else 0

    def _restart(self, epochs: Epochs) -> Epochs:
        epochs.close()
        self.target.close()
        return self.start()
