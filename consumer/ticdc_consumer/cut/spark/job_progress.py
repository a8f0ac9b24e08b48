"""Progress of a Spark job while it runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from pyspark.sql import SparkSession

LOOK = 1.0
"""Seconds between two checks."""


def share_done(spark: SparkSession, tasks: int) -> float:
    """Returns the share done of the running stages' tasks, for a job of `tasks` tasks: 0 to 1."""
    tracker = spark.sparkContext.statusTracker()
    stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
    return min(1.0, sum(each.numCompletedTasks for each in stages if each is not None) / tasks)


@contextmanager
def reporting(
    spark: SparkSession, tasks: int, report: Callable[[float], None], look: float = LOOK
) -> Iterator[None]:
    """Calls `report` inside, repeatedly, with the share of a job's tasks that are done."""
    ends = Event()

    def watch() -> None:
        # This is only informative. The job's caller reports failures: a JVM that has ended, a
        # context that was stopped between two of the calls.
        with suppress(Exception):
            while not ends.wait(look):
                report(share_done(spark, tasks))

    thread = Thread(target=watch, name="ticdc-spark-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()
