"""Spark jobs that survey the log for the next cuts, and read one."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel, TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from ticdc_consumer.cut.read.facts import REPORT, SCHEMA
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.report import Report, unpack
from ticdc_consumer.cut.read.task import read
from ticdc_consumer.cut.reconcile.chunks import CHUNKS, ChunkKind, Clash
from ticdc_consumer.cut.reconcile.gathered import Gathered, keyless, merge, of_tasks
from ticdc_consumer.cut.reconcile.stream import fold_stream
from ticdc_consumer.cut.spark.session import cores, failures
from ticdc_consumer.cut.spark.spilled import STREAMING, SpilledCut, spilled_change
from ticdc_consumer.cut.spark.worker import in_workers
from ticdc_consumer.errors import Retry
from ticdc_consumer.source import Survey
from ticdc_consumer.source.marks import Span

MAX_RESULT_SIZE = "spark.driver.maxResultSize"
"""The limit on results of all tasks of a job; Spark ends a job that exceeds it."""

PACKED = pa.schema([pa.field("payload", pa.binary())])
"""Facts as Arrow streams, one value a batch: the JVM passes them on without parsing them."""


# DDL strings would make the JVM parse them for each job.
PACKED_STRUCT: StructType = from_arrow_schema(PACKED)
FACTS_STRUCT: StructType = from_arrow_schema(SCHEMA)
CHUNKS_STRUCT: StructType = from_arrow_schema(CHUNKS)


def gather(
    spark: SparkSession, job: ReadJob, groups: Sequence[Sequence[Span]], spill: int
) -> Gathered:
    """Reads a cut with one task per group of spans.

    With `spill` Spark folds the facts, in so many partitions; with 0 the driver does. If the tasks'
    facts exceed the memory budget then, `report.too_large` is set and there is no change. Raises
    what a task reported, and `Retry` if Spark itself failed.
    """
    with failures("read the cut"):
        if spill:
            return _spilled(spark, job, groups, spill)
        return _in_memory(spark, job, groups)


def look(spark: SparkSession, survey: Survey) -> pa.Table:
    """Returns the findings of a survey's tasks, one for each core; empty if they are too large for
    the driver. Raises `Retry` if Spark itself failed."""
    parts = survey.parts(cores(spark))
    with failures("look for resolved ts and DDL"):
        tasks = spark.range(0, len(parts), 1, len(parts))
        candidates = in_workers(tasks, partial(_look, parts), from_arrow_schema(survey.columns))
        return _answer(candidates) or survey.columns.empty_table()


def _look(parts: Sequence[Survey], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from parts[number].find()


def _answer(frame: DataFrame) -> pa.Table | None:
    """Returns the results of all tasks; None if they are more than the driver takes."""
    try:
        return frame.toArrow()
    except pa.ArrowInvalid as error:
        # A JVM that dies leaves half an answer; the next try shows whether it did.
        raise Retry("Spark's answer was cut off") from error
    except (PySparkException, Py4JJavaError) as error:
        if MAX_RESULT_SIZE not in str(error):
            raise
        return None


def _run(
    job: ReadJob, groups: Sequence[Sequence[Span]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    unseen = context is not None and context.getLocalProperty(STREAMING) is not None
    for batch in batches:
        for number in batch.column(0).to_pylist():
            for facts in read(job, groups[number]):
                if unseen:
                    _require_whole(facts)
                yield facts


def _require_whole(facts: pa.RecordBatch) -> None:
    """Raises what a task reported, which makes Spark end the job."""
    if facts["table"][0].as_py() == REPORT:
        merge([unpack(facts["row"][0].as_py())])


def _run_packed(
    job: ReadJob, groups: Sequence[Sequence[Span]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in _run(job, groups, batches):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        stream = sink.getvalue()
        ends = pa.array([0, stream.size], pa.int32()).buffers()[1]
        one = pa.Array.from_buffers(pa.binary(), 1, [None, ends, stream])
        yield pa.RecordBatch.from_arrays([one], schema=PACKED)


def _source(
    spark: SparkSession, job: ReadJob, groups: Sequence[Sequence[Span]], packed: bool
) -> DataFrame:
    frozen = tuple(tuple(group) for group in groups)
    tasks = spark.range(0, len(frozen), 1, len(frozen))
    run, columns = (_run_packed, PACKED_STRUCT) if packed else (_run, FACTS_STRUCT)
    return in_workers(tasks, partial(run, job, frozen), columns)


def _in_memory(spark: SparkSession, job: ReadJob, groups: Sequence[Sequence[Span]]) -> Gathered:
    answer = _answer(_source(spark, job, groups, packed=True))
    if answer is None:
        return Gathered(Report(too_large=True))
    tables = [pa.ipc.open_stream(value.as_buffer()).read_all() for value in answer["payload"]]
    # Reports have no column of stages.
    return of_tasks(job, pa.concat_tables(tables, promote_options="default"))


def _spilled(
    spark: SparkSession, job: ReadJob, groups: Sequence[Sequence[Span]], parts: int
) -> Gathered:
    steps = job.options.apply == "transactions"
    source = _source(spark, job, groups, packed=False)
    # A range needs samples, which would read Kafka a second time.
    with _on_disk(source) if steps else nullcontext(source) as facts, ExitStack() as discard:
        chunks = _folded(job, facts, parts, steps).persist(StorageLevel.DISK_ONLY)
        discard.callback(chunks.unpersist)
        notes = chunks.where(f"pass < {ChunkKind.DELETES:d}").collect()
        report = merge(unpack(n["payload"]) for n in notes if n["pass"] == ChunkKind.REPORT)
        if report.facts_sent != sum(n["count"] for n in notes if n["pass"] == ChunkKind.TAKEN):
            raise Retry("Spark lost a part of the cut, and did not read the same again")
        if report.is_incomplete:
            return Gathered(report)
        duplicates: Counter[int] = Counter()
        for note in notes:
            if note["pass"] == ChunkKind.DUPLICATES:
                duplicates[note["table"]] += note["count"]
        clashes = (n["payload"] for n in notes if n["pass"] == ChunkKind.CLASH)
        gathered = Gathered(
            report,
            spilled_change(job.layouts, chunks),
            spilled=SpilledCut(job.layouts, chunks),
            layouts=job.layouts,
            duplicates=duplicates,
            clash=next(map(Clash.from_bytes, clashes), None),
        )
        discard.pop_all()  # `Gathered.release` does it
        return gathered


@contextmanager
def _on_disk(frame: DataFrame) -> Iterator[DataFrame]:
    persisted = frame.persist(StorageLevel.DISK_ONLY)
    try:
        yield persisted
    finally:
        persisted.unpersist()


def _folded(job: ReadJob, facts: DataFrame, parts: int, steps: bool) -> DataFrame:
    """Returns CHUNKS from facts, by a shuffle; with `steps` sorted by step and pass over all
    partitions."""
    replaces = tuple(layout.replaces for layout in job.layouts)
    without_key = keyless(job, range(len(job.layouts)))
    fold_them = partial(fold_stream, replaces=replaces, steps=steps, keyless=without_key)
    if steps:
        sorted_facts = facts.repartitionByRange(parts, "commit_ts").sortWithinPartitions(
            "commit_ts", "table", "key", "present"
        )
        chunks = in_workers(sorted_facts, fold_them, CHUNKS_STRUCT)
        return chunks.sortWithinPartitions("step", "pass")
    # The hash comes first so that Spark sorts by a number; the other columns separate collisions.
    hashed = facts.withColumn("hash", F.xxhash64("table", "key"))
    sorted_facts = hashed.repartition(parts, "hash").sortWithinPartitions(
        "hash", "table", "key", "commit_ts", "present"
    )
    return in_workers(sorted_facts, fold_them, CHUNKS_STRUCT)
