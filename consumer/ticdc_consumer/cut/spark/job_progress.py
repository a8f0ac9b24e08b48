"""How far a Spark job is, while it runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from pyspark.sql import SparkSession

LOOK = 1.0
"""Seconds between two looks."""


def share_done(spark: SparkSession, tasks: int) -> float:
    """Of the tasks of the stages that run, of which the job is to have so many: 0 to 1."""
    tracker = spark.sparkContext.statusTracker()
    stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
    return min(1.0, sum(each.numCompletedTasks for each in stages if each is not None) / tasks)


@contextmanager
def reporting(
    spark: SparkSession, tasks: int, report: Callable[[float], None], look: float = LOOK
) -> Iterator[None]:
    """Inside, `report` gets the share of a job's tasks that are done, again and again."""
    ends = Event()

    def watch() -> None:
        # It only shows something. Whoever waits for the job reports what fails: a JVM that has
        # ended, a context that was stopped between two of the calls.
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
