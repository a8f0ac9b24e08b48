"""Loads chunks in Spark's tasks."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.commands.load.copying import Copier, CopyJob
from ticdc_consumer.cut.spark.session import cores, failures
from ticdc_consumer.cut.spark.worker import in_workers
from ticdc_consumer.errors import received
from ticdc_consumer.targets.layout import TableName

TASKS_PER_CORE = 8
"""Approximate number of tasks that one core runs in turn: several, so that all cores end together;
but not one per chunk, since each task opens its own sessions."""

LOADED = pa.schema([pa.field("rows", pa.int64())])
LOADED_STRUCT: StructType = from_arrow_schema(LOADED)

Chunks = Sequence[tuple[TableName, int]]


class TaskFailed(Exception):
    """The error of a task, as JSON: Spark passes on only the text of an exception."""


def copy_on_spark(spark: SparkSession, job: CopyJob, chunks: Chunks) -> None:
    """Loads all chunks. Raises the error of the first task that failed, and `Retry` or
    `Unavailable` if Spark itself failed."""
    groups = grouped(chunks, cores(spark))
    tasks = spark.range(0, len(groups), 1, len(groups))
    try:
        with failures("load the tables"):
            in_workers(tasks, partial(_run, job, groups), LOADED_STRUCT).toArrow()
    except TicdcError as error:
        raise _of_task(error) or error from error.__cause__


def grouped(chunks: Chunks, cores: int) -> list[Chunks]:
    """The chunks of each task: neighbours, so that a task writes to one end of a table."""
    size = max(1, len(chunks) // (cores * TASKS_PER_CORE))
    return [chunks[start : start + size] for start in range(0, len(chunks), size)]


def _run(
    job: CopyJob, groups: Sequence[Chunks], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    with closing(Copier(job)) as copier:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = [_copied(copier, *chunk) for chunk in groups[number]]
                yield pa.RecordBatch.from_arrays([pa.array(rows, pa.int64())], schema=LOADED)


def _copied(copier: Copier, name: TableName, number: int) -> int:
    try:
        return copier.copy(name, number)
    except TicdcError as error:
        failed = {"kind": type(error).__name__, "text": str(error)}
        raise TaskFailed(json.dumps(failed)) from None


_FAILED = re.compile(r"TaskFailed: (\{.*\})\s*$", re.M)


def _of_task(error: TicdcError) -> TicdcError | None:
    """The error of a task, if that is the cause."""
    cause: BaseException | None = error
    while cause is not None:
        if match := _FAILED.search(str(cause)):
            failed = json.loads(match[1])
            return received(failed["kind"], failed["text"])
        cause = cause.__cause__
    return None
