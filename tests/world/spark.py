"""Spark: tasks that fail and are repeated, run twice at once, or lose what they gave; jobs that
fail."""

from collections.abc import Callable, Iterator
from typing import Any, Self

import pyarrow as pa
from pyspark.errors import PySparkException
from world.schedule import Scheduler

Run = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class Spark:
    """As much of a SparkSession as reading a cut needs."""

    def __init__(self, scheduler: Scheduler, tasks: int) -> None:
        self.sparkContext = self
        self.defaultParallelism = tasks
        self._scheduler = scheduler

    def range(self, start: int, end: int, step: int, parts: int) -> "Frame":
        for fault in self._scheduler.door("job"):
            raise PySparkException(f"Job aborted: {fault.kind}")
        return Frame(self._scheduler, list(range(start, end)))


class Frame:
    def __init__(self, scheduler: Scheduler, parts: list[int]) -> None:
        self._scheduler, self._parts = scheduler, parts
        self._run: Run | None = None

    def mapInArrow(self, run: Run, schema: Any) -> Self:
        self._run = run
        return self

    def toArrow(self) -> pa.Table:
        """Tasks end in any order; the answer is in the order of the parts."""
        order = self._scheduler.rng.sample(self._parts, len(self._parts))
        answers = {part: self._of_task(part) for part in order}
        return pa.Table.from_batches([batch for part in self._parts for batch in answers[part]])

    def _of_task(self, part: int) -> list[pa.RecordBatch]:
        for fault in self._scheduler.door("task"):
            match fault.kind:
                case "task fails":
                    self._attempt(part, fault.size % 3)
                case _:  # it runs twice, or what it gave is lost
                    self._attempt(part, None)
        return self._attempt(part, None)

    def _attempt(self, part: int, most: int | None) -> list[pa.RecordBatch]:
        """All batches of a task, or as many as it gives before it fails."""
        assert self._run is not None
        given: list[pa.RecordBatch] = []
        batches = self._run(iter([pa.RecordBatch.from_pydict({"id": [part]})]))
        while most is None or len(given) < most:
            batch = next(batches, None)
            if batch is None:
                break
            given.append(batch)
        return given
