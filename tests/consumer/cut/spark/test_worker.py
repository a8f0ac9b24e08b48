"""What a Python worker of Spark does before each task."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession
from ticdc_consumer.cut.spark.session import warm_up
from ticdc_consumer.cut.spark.worker import in_workers

COUNTS = pa.schema([pa.field("frozen", pa.int64()), pa.field("walked", pa.int64())])


def _counts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        counts = [[gc.get_freeze_count()], [len(gc.get_objects())]]
        yield pa.RecordBatch.from_arrays([pa.array(each) for each in counts], schema=COUNTS)


def test_the_collector_skips_what_modules_hold_after_each_task(
    spark: SparkSession,
) -> None:
    warm_up(spark, 1)
    tasks = spark.range(0, 2, 1, 2)
    for _ in range(2):  # the first imports this module
        counted = in_workers(tasks, _counts, "frozen long, walked long").toArrow()
    for count in counted.to_pylist():
        assert count["frozen"] > 50_000
        assert count["walked"] < 10_000


def test_a_worker_waits_for_no_server_before_its_first_task() -> None:
    program = "import ticdc_consumer.cut.spark.jobs, sys; print(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = set(process.stdout.split())
    assert "ticdc_consumer.cut.read.task" in loaded
    assert not loaded & {"sqlalchemy", "sqlglot", "confluent_kafka"}
