"""Watches a cluster's executors for a session: a job waits endlessly for the first one."""

import logging
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ticdc_consumer.waiting import Deadline

logger = logging.getLogger(__name__)

WARNING_INTERVAL = 20.0
"""Seconds without an executor until a warning, and until the next one."""
PAUSE = 1.0
"""Seconds between two checks."""


ExecutorReport = Callable[[int, int, bool], None]
"""Takes the number of executors, the number lost since, and whether jobs wait for the first one."""


class ExecutorWatch:
    """Warns while jobs of the session wait because there is no executor, and ends them once
    `gives_up`; reports the number of executors. A `local` master has its executor in the driver and
    needs no watch."""

    def __init__(
        self, spark: SparkSession, gives_up: Callable[[], bool], report: ExecutorReport
    ) -> None:
        self._context = spark.sparkContext
        self._gives_up = gives_up
        self._report = report
        self._known: frozenset[tuple[str, int]] = frozenset()
        self._closed = Event()
        self._thread = Thread(target=self._run, name="ticdc-executors", daemon=True)
        self.gave_up = False
        """True if jobs were ended."""
        if not str(self._context.master).startswith("local"):
            self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        waited = Deadline(WARNING_INTERVAL)
        # Users of a JVM that has ended report it.
        with suppress(Py4JError, ConnectionError):
            while not self._closed.wait(PAUSE):
                if not self._waits():
                    waited.renew()
                elif self._gives_up():
                    self.gave_up = True
                    self._context.cancelAllJobs()
                elif waited.passed:
                    waited.renew()
                    logger.warning("%s", self._advice(), extra={"event": "no_executor"})

    def _waits(self) -> bool:
        tracker = self._context.statusTracker()
        # One of them is the driver.
        names = frozenset((each.host, each.port) for each in tracker.getExecutorInfos())
        waits = len(names) <= 1 and bool(tracker.getActiveJobsIds())
        self._report(max(0, len(names) - 1), len(self._known - names), waits)
        self._known = names
        return waits

    def _advice(self) -> str:
        memory = self._context.getConf().get("spark.executor.memory", "1g")
        return (
            f"Spark's jobs wait for an executor: master {self._context.master} has provided none "
            f"for {WARNING_INTERVAL:.0f} s; check that it runs, and that a worker has a free "
            f"core and {memory} of free memory ([spark] executor.memory); the jobs continue with "
            "the first executor"
        )
