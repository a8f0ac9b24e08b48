"""The Spark job that reads the log for one row's history."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from ticdc_consumer.cut.read.tracing import RECORDS, TraceJob, trace
from ticdc_consumer.cut.spark.job_progress import LOOK, share_done
from ticdc_consumer.cut.spark.session import failures
from ticdc_consumer.cut.spark.worker import in_workers
from ticdc_consumer.source.marks import Span

RECORDS_STRUCT: StructType = from_arrow_schema(RECORDS)


def trace_on_spark(
    spark: SparkSession,
    job: TraceJob,
    groups: Sequence[Sequence[Span]],
    report: Callable[[float], None],
) -> pa.Table:
    """Returns the records of all tasks, one for each group of spans. `report` gets the share read.
    Raises `Retry` or `Unavailable` if Spark failed."""
    frozen = tuple(tuple(group) for group in groups)
    tasks = spark.range(0, len(frozen), 1, len(frozen))
    records = in_workers(tasks, partial(_run, job, frozen), RECORDS_STRUCT)
    with failures("read the log"), ThreadPoolExecutor(1, "ticdc-trace") as threads:
        answer = threads.submit(records.toArrow)
        try:
            while not wait([answer], LOOK).done:
                report(share_done(spark, len(frozen)))
        finally:
            if not answer.done():
                spark.sparkContext.cancelAllJobs()
        return answer.result()


def _run(
    job: TraceJob, groups: Sequence[Sequence[Span]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from trace(job, groups[number])
