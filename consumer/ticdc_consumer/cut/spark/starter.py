"""Starts Spark when a cut needs it, or in a thread during the first cuts."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TYPE_CHECKING, Any

from ticdc_consumer.errors import Away

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ticdc_consumer.cut.spark.executors import ExecutorReport, ExecutorWatch

logger = logging.getLogger(__name__)

PAUSE = 0.1
"""Seconds between two checks whether a run that waits for Spark should stop."""


class SparkStarter:
    """A session that starts once, by `begin` or by its first user. A `running` one exists from the
    beginning and outlives this."""

    def __init__(
        self,
        settings: Mapping[str, str],
        app_name: str,
        running: "SparkSession | None" = None,
        gives_up: Callable[[], bool] = lambda: False,
        report: "ExecutorReport" = lambda count, lost, waits: None,
    ) -> None:
        """`gives_up` says whether a user may stop waiting for a start or for a cluster's executors;
        `report` takes the state of these, every second."""
        self._settings = settings
        self._app_name = app_name
        self._running = running
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="ticdc-spark")
        self._started: Future[SparkSession] | None = None
        self._warmed: Future[None] | None = None
        self._needed = Event()
        self._watch: ExecutorWatch | None = None
        self._closing = False
        self._announced = False
        self._gives_up = gives_up
        self._report = report

    @property
    def begun(self) -> bool:
        """Returns whether there is a session, or one starts."""
        return self._running is not None or self._started is not None

    @property
    def ready(self) -> bool:
        """Returns whether there is a session, so that nobody has to wait for it."""
        started = self._started
        has_started = started is not None and started.done() and started.exception() is None
        return self._running is not None or has_started

    @property
    def gave_up(self) -> bool:
        """Returns whether `gives_up` ended jobs for which the cluster had no executor."""
        return self._watch is not None and self._watch.gave_up

    def begin(self, why: str) -> None:
        """Starts the session and warms it up, unless it has begun; waits for neither. `why`
        continues the sentence "starting Spark"."""
        self._announce(why)
        if not self.begun:
            self._started = self._threads.submit(self._start)
            self._warmed = self._threads.submit(self._warm_up, self._started)

    def require(self) -> None:
        """Raises the `Unavailable`, or any other error, that ended the start."""
        for step in (self._started, self._warmed):
            if step is not None and step.done():
                step.result()

    def _announce(self, why: str) -> None:
        if not self._announced and not self.ready:
            self._announced = True
            fields = {"event": "starting_spark", "reason": why}
            logger.info("starting Spark %s; this takes some seconds", why, extra=fields)

    def session(self, why: str) -> "SparkSession":
        """Returns the session, starting it now if it has not begun. `why` continues the sentence
        "starting Spark". Raises `Unavailable`, and `Away` by `gives_up`."""
        if self._running is not None:
            return self._running
        self._announce(why)
        self._needed.set()
        if self._started is None:
            self._started = self._threads.submit(self._start)
        while not wait([self._started], PAUSE).done:
            if self._gives_up():
                raise Away("Spark still starts")
        spark = self._started.result()
        if self.gave_up:
            raise Away("Spark's cluster has no executor")
        return spark

    def close(self) -> None:
        """Ends what was started. A start in progress is waited for, whatever signals come: a JVM
        that nobody waits for stays for ever."""
        self._needed.set()
        self._closing = True
        steps: list[Future[Any]] = [
            step for step in (self._started, self._warmed) if step is not None
        ]
        interrupted: BaseException | None = None
        while any(not step.done() for step in steps):
            try:
                wait(steps)
            except (KeyboardInterrupt, SystemExit) as error:
                interrupted = error
        self._threads.shutdown()
        if self._watch is not None:
            self._watch.close()
        if self._started is not None and self._started.exception() is None:
            from ticdc_consumer.cut.spark.session import stop

            stop(self._started.result())
        if interrupted is not None:
            raise interrupted

    def _start(self) -> "SparkSession":
        from ticdc_consumer.cut.spark.executors import ExecutorWatch
        from ticdc_consumer.cut.spark.session import session

        spark = session(self._settings, self._app_name)
        self._watch = ExecutorWatch(spark, lambda: self._closing or self._gives_up(), self._report)
        return spark

    def _warm_up(self, started: "Future[SparkSession]") -> None:
        """Warms up until a cut needs the session, which warms it up, too."""
        if started.exception() is not None:
            return
        from ticdc_consumer.cut.spark.session import WARMING_JOBS, warm_up

        for _ in range(WARMING_JOBS):
            if self._needed.is_set():
                return
            warm_up(started.result(), 1)
