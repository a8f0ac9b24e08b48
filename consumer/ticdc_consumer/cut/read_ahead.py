"""The next cut, planned and read: at once, or in a thread while the one before is applied."""

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field

from ticdc_consumer.cut.cut_reader import Reader
from ticdc_consumer.cut.cuts import Cut
from ticdc_consumer.cut.reconcile.gathered import Gathered
from ticdc_consumer.errors import Retry, Stop, Unavailable
from ticdc_consumer.protocols.shape import TableShapes
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.waiting import back_off

TRIES = 5
"""How often a cut is planned again when readers meet a DDL that the scout had not."""


@dataclass(slots=True)
class Prepared:
    """A cut that was read, and the state that it was read for."""

    base: Checkpoint
    cut: Cut
    gathered: Gathered
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def changes(self) -> int:
        """Facts inside the cut."""
        return sum(counts.facts for counts in self.gathered.report.tables.values())

    @property
    def duplicates(self) -> int:
        tables = self.gathered.report.tables.values()
        across = sum(self.gathered.duplicates.values())
        return sum(counts.duplicates for counts in tables) + across

    @property
    def replays(self) -> int:
        """Facts below the cut."""
        return sum(counts.replays for counts in self.gathered.report.tables.values())


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The tables that a cut is read with, as they were when its reading began."""

    layouts: Sequence[Layout]
    shapes: TableShapes


class Preparer:
    """Plans and reads cuts; one is read ahead, if it is asked for."""

    def __init__(self, reader: Reader, retries: int) -> None:
        self._reader = reader
        self._retries = retries
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ticdc-read")
        self._future: Future[Prepared | None] | None = None

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def begin(self, base: Checkpoint, until: int | None, tables: Knowledge) -> None:
        """Reads the next cut, if there is one already, in a thread of its own."""
        self._future = self._pool.submit(self.prepare, base, until, 0.0, tables)

    def take(self) -> Prepared | None:
        """What was read ahead, once; None if nothing was begun, or there was no cut."""
        future, self._future = self._future, None
        return None if future is None else future.result()

    def drop(self) -> None:
        """Forgets what was read ahead, whatever became of it."""
        self.wait()
        future, self._future = self._future, None
        if future is None or future.exception() is not None:
            return
        prepared = future.result()
        if prepared is not None:
            prepared.gathered.release()

    def wait(self) -> None:
        """Waits until nothing is read any more: the reader has one user at a time."""
        if self._future is not None:
            wait_for([self._future])

    def prepare(
        self, base: Checkpoint, until: int | None, wait: float, tables: Knowledge
    ) -> Prepared | None:
        """The next cut, None if none came within `wait` seconds, or its rows wait for their schema.

        Raises `Stop`, `Unavailable`.
        """
        for _ in range(TRIES):
            started = time.monotonic()
            cut = self._reader.plan(base, until, wait)
            if cut is None:
                return None
            planned = time.monotonic()
            gathered = self.gather(base, cut, tables)
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

    def gather(self, base: Checkpoint, cut: Cut, tables: Knowledge) -> Gathered:
        """The rows of a cut. Raises `Unavailable` after the last try."""
        for tried in range(self._retries + 1):
            if tried:
                back_off(tried)
            try:
                gathered = self._reader.read(base, cut, tables.layouts, tables.shapes)
                if tried:
                    self._reader.monitor.recovered()
                return gathered
            except Retry as error:
                cause = error
                self._reader.monitor.retries(error, "read failed")
        raise Unavailable(f"the cut could not be read: {cause}") from cause
