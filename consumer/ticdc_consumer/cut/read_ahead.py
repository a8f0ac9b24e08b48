"""Plans and reads the next cut, at once or in a thread while the previous one is applied."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from typing import Self

from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.cut_reader import CutReader, Definitions, Knowledge
from ticdc_consumer.cut.cuts import Cut
from ticdc_consumer.cut.opening import Opened
from ticdc_consumer.cut.planner import Planner
from ticdc_consumer.cut.reconcile.gathered import Gathered
from ticdc_consumer.cut.shared_cuts import Together
from ticdc_consumer.cut.sizes import Sizes
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.errors import Retry, Stop, Unavailable
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.targets.staging import StagingJob, Unneeded
from ticdc_consumer.waiting import PAUSE, backing_off, retried

TRIES = 5
"""Most attempts to plan a cut again after readers met a DDL that the scout had not seen."""


@dataclass(slots=True)
class Prepared:
    """A cut that was read, and its base state."""

    base: Checkpoint
    cut: Cut
    gathered: Gathered
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def changes(self) -> int:
        """The number of facts inside the cut."""
        return sum(counts.facts for counts in self.gathered.report.tables.values())

    @property
    def duplicates(self) -> int:
        tables = self.gathered.report.tables.values()
        across = sum(self.gathered.duplicates.values())
        return sum(counts.duplicates for counts in tables) + across

    @property
    def replays(self) -> int:
        """The number of facts below the cut."""
        return sum(counts.replays for counts in self.gathered.report.tables.values())


class Preparer:
    """Plans and reads cuts, one of them ahead on request."""

    def __init__(self, planner: Planner, reader: CutReader, retries: int) -> None:
        self.planner = planner
        self.reader = reader
        self._retries = retries
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ticdc-read")
        self._future: Future[Prepared | None] | None = None

    @classmethod
    def of(
        cls,
        options: Settings,
        spark: SparkStarter,
        opened: Opened,
        definitions: Callable[[], Definitions],
        together: Together | None = None,
        staging: StagingJob | None = None,
        unneeded: Unneeded | None = None,
    ) -> Self:
        """Returns a preparer for an opened target and source."""
        source, monitor = opened.source, opened.monitor
        source.schemas.learn(opened.state.schemas.values())
        sizes = Sizes(options, source)
        planner = Planner(options, spark, source, sizes, monitor, together)
        reader = CutReader(
            options, spark, source, sizes, monitor, planner.ddls, definitions, staging, unneeded
        )
        return cls(planner, reader, options.retries)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def begin(self, base: Checkpoint, until: int | None, knowledge: Knowledge) -> None:
        """Reads the next cut, if there is one already, in a thread of its own."""
        self._future = self._pool.submit(self.prepare, base, until, 0.0, knowledge)

    def take(self) -> Prepared | None:
        """Returns the cut that was read ahead, once; None if no read was begun or no cut came."""
        future, self._future = self._future, None
        return None if future is None else future.result()

    def drop(self) -> None:
        """Forgets the cut that was read ahead, whatever became of it."""
        self.wait()
        future, self._future = self._future, None
        if future is None or future.exception() is not None:
            return
        prepared = future.result()
        if prepared is not None:
            prepared.gathered.release()

    def wait(self) -> None:
        """Waits until no read is in progress: the reader has one user at a time."""
        if self._future is not None:
            wait_for([self._future])

    def prepare(
        self, base: Checkpoint, until: int | None, wait: float, knowledge: Knowledge
    ) -> Prepared | None:
        """Returns the next cut, or None if none came within `wait` seconds or its rows wait for
        their schema.

        Raises `Stop`, `Unavailable`.
        """
        for _ in range(TRIES):
            started = time.monotonic()
            cut = self.planner.plan(base, until, wait, knowledge.scope, knowledge.committed_ts)
            if cut is None:
                return None
            planned = time.monotonic()
            gathered = self.gather(base, cut, knowledge)
            seconds = {"plan": planned - started, "read": time.monotonic() - planned}
            if gathered.report.unread:
                return None
            if not gathered.report.unknown_ddls:
                return Prepared(base, cut, gathered, seconds)
            unknown = gathered.report.unknown_ddls[0]
        raise Stop(
            f"a DDL of commit_ts {unknown.commit_ts} ({unknown.schema}.{unknown.table}) is in a "
            "partition, but partition 0 of its topic does not have it"
        )

    def gather(self, base: Checkpoint, cut: Cut, knowledge: Knowledge) -> Gathered:
        """Reads the rows of a cut. Raises `Unavailable` after the last attempt."""
        monitor = self.reader.monitor
        try:
            gathered = retried(
                lambda: self.reader.read(base, cut, knowledge),
                backing_off(self._retries, PAUSE),
                on=Retry,
                failed=lambda error: monitor.retries(error, "read failed"),
                recovered=monitor.recovered,
            )
        except Retry as cause:
            raise Unavailable(f"the cut could not be read: {cause}") from cause
        if gathered.report.unread:
            self.planner.awaits(gathered.report.unread)
        return gathered
