"""A program sees how far Spark has read a cut."""

import time
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession
from ticdc_consumer.cut.spark.job_progress import reporting
from ticdc_consumer.status.activity.activity import CutActivity
from ticdc_consumer.status.activity.monitor import Monitor


def second_is_slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if 1 in batch.column(0).to_pylist():
            time.sleep(3)
        yield batch


def test_the_share_of_a_job_s_tasks_is_reported_while_it_runs(spark: SparkSession) -> None:
    seen: list[float] = []
    tasks = spark.range(0, 2, 1, 2)
    with reporting(spark, 2, seen.append, look=0.1):
        answer = tasks.mapInArrow(second_is_slow, tasks.schema).toArrow()
    assert sorted(answer["id"].to_pylist()) == [0, 1]
    assert 0.5 in seen
    assert max(seen) <= 1.0


def test_the_activity_tells_how_many_messages_of_a_cut_are_read() -> None:
    monitor = Monitor("shop", "0.1.0")
    monitor.planned(CutActivity(1, 5, 1_000), {}, {})
    with monitor.at("reading", "the cut up to 5"):
        before = monitor.look()
        monitor.reads(0.25)
        looked = monitor.look()
    assert before.cut is not None and before.cut.messages_read == 0
    assert looked.cut is not None and looked.cut.messages_read == 250
    assert "about 1,000 messages, 25% read" in looked.sentence
    monitor.planned(CutActivity(5, 9, 800), {}, {})
    with monitor.at("reading", "the cut up to 9"):
        following = monitor.look()
    assert following.cut is not None and following.cut.messages_read == 0
