"""A net change on Spark's disks, streamed to the driver in bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame

from ticdc_consumer.cut.reconcile.chunks import ChunkKind, unpack
from ticdc_consumer.cut.reconcile.net_change import NetChange, StagedRows
from ticdc_consumer.cut.spark.session import failures
from ticdc_consumer.errors import Retry, Unavailable
from ticdc_consumer.targets.layout import Layout

STREAMING = "ticdc.streaming"
"""The local property of Spark's jobs that stream a net change. If Spark has lost a part of it, such
a job reads Kafka again, and nobody reads the reports of its tasks."""

STEP_BYTES = 64 << 20
"""The most bytes of one commit_ts that the driver keeps in memory."""


@dataclass(frozen=True, slots=True)
class SpilledChange:
    """A net change in chunks: `read` yields those of one pass, from scratch with every call."""

    staged: ClassVar[tuple[StagedRows, ...]] = ()
    layouts: Sequence[Layout]
    read: Callable[[ChunkKind], Iterable[Any]]

    def deletes(self) -> Iterator[tuple[int, pa.BinaryArray]]:
        return self._pass(ChunkKind.DELETES)

    def rows(self) -> Iterator[tuple[int, pa.BinaryArray]]:
        return self._pass(ChunkKind.ROWS)

    def _pass(self, kind: ChunkKind) -> Iterator[tuple[int, pa.BinaryArray]]:
        for chunk in self.read(kind):
            yield chunk["table"], unpack(chunk["payload"])


@dataclass(frozen=True, slots=True)
class SpilledCut:
    """A cut whose `chunks` Spark keeps (a `reconcile.gathered.Spilled`)."""

    layouts: Sequence[Layout]
    chunks: DataFrame

    def steps(self) -> Iterator[tuple[int, NetChange]]:
        try:
            yield from spilled_steps(self.layouts, self.chunks)
        except Retry as error:
            raise Unavailable(str(error)) from error

    def release(self) -> None:
        """Frees the cut; a JVM that has ended holds nothing."""
        with suppress(Retry, Unavailable), failures("free the cut"):
            self.chunks.unpersist()


def spilled_change(layouts: Sequence[Layout], chunks: DataFrame) -> NetChange:
    """Returns the whole cut; each pass streams one partition after another."""
    return SpilledChange(layouts, lambda kind: _streamed(chunks, f"pass = {kind:d}"))


def spilled_steps(layouts: Sequence[Layout], chunks: DataFrame) -> Iterator[tuple[int, NetChange]]:
    """Yields the net change of each commit_ts, oldest first, from chunks sorted by step and pass.

    A step above STEP_BYTES is streamed by jobs of its own, again each time it is applied.
    """
    step, size = 0, 0
    buffered: list[Any] = []
    for chunk in _streamed(chunks, f"pass >= {ChunkKind.DELETES:d}"):
        if chunk["step"] != step:
            if step:
                yield step, _step(layouts, chunks, step, buffered, size)
            step, buffered, size = chunk["step"], [], 0
        size += len(chunk["payload"])
        if size <= STEP_BYTES:
            buffered.append(chunk)
        else:
            buffered = []
    if step:
        yield step, _step(layouts, chunks, step, buffered, size)


def _step(
    layouts: Sequence[Layout], chunks: DataFrame, step: int, buffered: Sequence[Any], size: int
) -> NetChange:
    if size > STEP_BYTES:
        condition = f"step = {step} AND pass ="
        return SpilledChange(layouts, lambda kind: _streamed(chunks, f"{condition} {kind:d}"))
    return SpilledChange(
        layouts, lambda kind: (chunk for chunk in buffered if chunk["pass"] == kind)
    )


def _streamed(chunks: DataFrame, condition: str) -> Iterator[Any]:
    """Yields the chunks that fulfil a condition in SQL, one partition after another; Spark prepares
    the next one while the target takes this one.

    By way of the RDD: as long as a DataFrame is iterated over, Spark's scheduler keeps what each
    partition gave (`DAGScheduler.activeQueryToJobs`, seen in 4.3), in the end the whole cut.
    """
    with failures("stream the cut"):
        selected = chunks.where(condition).rdd
        selected.context.setLocalProperty(STREAMING, "yes")
        try:
            # Its jobs keep the property as set now.
            rows = selected.toLocalIterator(prefetchPartitions=True)
        finally:
            selected.context.setLocalProperty(STREAMING, None)  # type: ignore[arg-type]
        yield from rows
