"""As much of Spark's face as the driver's own fold needs, run in this process: a property test
cannot wait for a JVM at every example. The real Spark runs in every other test of the path."""

from collections.abc import Callable, Iterator
from typing import Any, Self

import pyarrow as pa


class LocalSpark:
    """Stands for a SparkSession with one task at a time."""

    def __init__(self, tasks: int) -> None:
        self.sparkContext = self
        self.defaultParallelism = tasks
        self.jobs = 0

    def statusTracker(self) -> Self:
        return self

    def getActiveStageIds(self) -> list[int]:
        """None: a job is done when it was asked for."""
        return []

    def range(self, start: int, end: int, step: int, parts: int) -> "LocalFrame":
        self.jobs += 1
        return LocalFrame([pa.RecordBatch.from_pydict({"id": [n]}) for n in range(start, end)])


class LocalFrame:
    def __init__(self, parts: list[pa.RecordBatch]) -> None:
        self.parts = parts

    def mapInArrow(
        self, run: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: Any
    ) -> Self:
        self.parts = [batch for part in self.parts for batch in run(iter([part]))]
        return self

    def toArrow(self) -> pa.Table:
        return pa.Table.from_batches(self.parts)
