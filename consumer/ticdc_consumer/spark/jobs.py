"""The Spark jobs that read one cut."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    IntegerType,
    LongType,
    StructField,
    StructType,
)
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.errors import Fenced, Retry, Stop, Unavailable
from ticdc_consumer.read.facts import REPORT
from ticdc_consumer.read.job import ReadJob
from ticdc_consumer.read.report import Report, TableCounts, unpack
from ticdc_consumer.read.task import read
from ticdc_consumer.reconcile.fold import (
    CLASH,
    DELETES,
    DUPLICATES,
    ROWS,
    TAKEN,
    Clash,
    NetChange,
    clash_of,
    fold,
    fold_stream,
    steps_of,
)
from ticdc_consumer.reconcile.fold import unpack as unpack_payloads
from ticdc_consumer.spark.session import failures
from ticdc_consumer.targets.layout import Layout

AGAIN = "ticdc.again"
"""Of Spark's jobs that stream what was read: what they read themselves, because Spark lost it, ends
in a report that nobody looks at."""

FACTS = StructType(
    [
        StructField("table", IntegerType()),
        StructField("key", BinaryType()),
        StructField("commit_ts", LongType()),
        StructField("present", BooleanType()),
        StructField("row", BinaryType()),
        StructField("place", IntegerType()),
        StructField("offset", LongType()),
    ]
)
PACKED = StructType([StructField("payload", BinaryType())])
"""Facts as Arrow streams, one value a batch: the JVM passes them on without looking into them."""
CHUNKS = StructType(
    [
        StructField("step", LongType()),
        StructField("pass", IntegerType()),
        StructField("table", IntegerType()),
        StructField("count", IntegerType()),
        StructField("payload", BinaryType()),
    ]
)


class Change(Protocol):
    """What a load streams: see `load.NetChange`."""

    @property
    def layouts(self) -> Sequence[Layout]: ...
    def deletes(self) -> Iterator[tuple[int, pa.Array]]: ...
    def rows(self) -> Iterator[tuple[int, pa.Array]]: ...


@dataclass(slots=True)
class Gathered:
    """A cut that was read: `report` of all tasks together, and what is to be applied."""

    report: Report
    change: Change | None = None
    facts: pa.Table | None = None
    spilled: DataFrame | None = None
    layouts: Sequence[Layout] = ()
    duplicates: Counter[int] = field(default_factory=Counter)
    clash: Clash | None = None

    def steps(self) -> Iterator[tuple[int, Change]]:
        """The change of each commit_ts, oldest first; of a cut read with `steps`."""
        if self.spilled is not None:
            try:
                yield from _spilled_steps(self.layouts, self.spilled)
            except Retry as error:
                # Some of the steps are committed: only a new start reads the rest again.
                raise Unavailable(str(error)) from error
        elif self.facts is not None:
            yield from steps_of(self.layouts, self.facts)

    def release(self) -> None:
        """Frees what Spark holds of it; a JVM that is gone holds nothing."""
        if self.spilled is not None:
            with suppress(Retry, Unavailable), failures("free the cut"):
                self.spilled.unpersist()
            self.spilled = None


def gather(
    spark: SparkSession, job: ReadJob, groups: Sequence[Sequence[int]], spill: bool
) -> Gathered:
    """Reads a cut with one task per group of partition numbers.

    Raises what a task reported, and `Retry` where Spark itself failed. With `spill` the facts are
    folded by Spark, else by the driver, as long as the tasks' facts fit the memory budget:
    `report.too_large` says that they do not.
    """
    with failures("read the cut"):
        return _spilled(spark, job, groups) if spill else _in_memory(spark, job, groups)


def _run(
    job: ReadJob, groups: Sequence[Sequence[int]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    again = context is not None and context.getLocalProperty(AGAIN) is not None
    for batch in batches:
        for number in batch.column(0).to_pylist():
            for facts in read(job, groups[number]):
                if again:
                    _require_whole(facts)
                yield facts


def _require_whole(facts: pa.RecordBatch) -> None:
    """Raises what a task reported: Spark then ends the job."""
    if facts["table"][0].as_py() == REPORT:
        merge([unpack(facts["row"][0].as_py())])


def _run_packed(
    job: ReadJob, groups: Sequence[Sequence[int]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in _run(job, groups, batches):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        stream = sink.getvalue()
        ends = pa.array([0, stream.size], pa.int32()).buffers()[1]
        one = pa.Array.from_buffers(pa.binary(), 1, [None, ends, stream])
        yield pa.RecordBatch.from_arrays([one], names=["payload"])


def _source(
    spark: SparkSession, job: ReadJob, groups: Sequence[Sequence[int]], packed: bool
) -> DataFrame:
    frozen = tuple(tuple(group) for group in groups)
    tasks = spark.range(0, len(frozen), 1, len(frozen))
    if packed:
        return tasks.mapInArrow(partial(_run_packed, job, frozen), PACKED)
    return tasks.mapInArrow(partial(_run, job, frozen), FACTS)


def _in_memory(spark: SparkSession, job: ReadJob, groups: Sequence[Sequence[int]]) -> Gathered:
    try:
        packed = _source(spark, job, groups, packed=True).toArrow()["payload"]
    except pa.ArrowInvalid as error:
        # A JVM that dies leaves half an answer; whether it did, the next try shows.
        raise Retry("Spark could not read the cut: its answer was cut off") from error
    table = pa.concat_tables([pa.ipc.open_stream(value.as_buffer()).read_all() for value in packed])
    is_report = pc.equal(table["table"], REPORT)
    report = merge(unpack(text) for text in table.filter(is_report)["row"].to_pylist())
    if report.too_large or report.missing or report.unknown_ddls or report.unread:
        return Gathered(report)
    steps = job.options.apply == "transactions"
    folded = fold(table.filter(pc.invert(is_report)), steps, _keyless(job))
    return Gathered(
        report,
        NetChange(job.layouts, folded.facts),
        folded.facts,
        layouts=job.layouts,
        duplicates=Counter(folded.duplicates),
        clash=folded.clash,
    )


def _spilled(spark: SparkSession, job: ReadJob, groups: Sequence[Sequence[int]]) -> Gathered:
    steps = job.options.apply == "transactions"
    upserts = tuple(not layout.replaces for layout in job.layouts)
    parts = int(spark.conf.get("spark.sql.shuffle.partitions") or 32)
    facts = _source(spark, job, groups, packed=False)
    fold_them = partial(_fold, upserts, steps, _keyless(job))
    if steps:
        # A range needs samples, which would read Kafka a second time.
        facts = facts.persist(StorageLevel.DISK_ONLY)
        sorted_facts = facts.repartitionByRange(parts, "commit_ts").sortWithinPartitions(
            "commit_ts", "table", "key", "present"
        )
        chunks = sorted_facts.mapInArrow(fold_them, CHUNKS).sortWithinPartitions("step", "pass")
    else:
        # The hash comes first so that Spark sorts by a number, the rest settles collisions.
        hashed = facts.withColumn("hash", F.xxhash64("table", "key"))
        sorted_facts = hashed.repartition(parts, "hash").sortWithinPartitions(
            "hash", "table", "key", "commit_ts", "present"
        )
        chunks = sorted_facts.mapInArrow(fold_them, CHUNKS)
    chunks = chunks.persist(StorageLevel.DISK_ONLY)
    try:
        told = chunks.where(f"pass < {DELETES}").collect()
    except BaseException:
        chunks.unpersist()
        raise
    finally:
        facts.unpersist()
    report = merge(unpack(row["payload"]) for row in told if row["pass"] == REPORT)
    if report.facts_sent != sum(row["count"] for row in told if row["pass"] == TAKEN):
        chunks.unpersist()
        raise Retry("Spark lost a part of the cut, and did not read the same again")
    if report.missing or report.unknown_ddls or report.unread:
        chunks.unpersist()
        return Gathered(report)
    duplicates: Counter[int] = Counter()
    for row in told:
        if row["pass"] == DUPLICATES:
            duplicates[row["table"]] += row["count"]
    clash = next((clash_of(row["payload"]) for row in told if row["pass"] == CLASH), None)
    return Gathered(
        report,
        _Spilled(job.layouts, chunks),
        spilled=chunks,
        layouts=job.layouts,
        duplicates=duplicates,
        clash=clash,
    )


def _keyless(job: ReadJob) -> tuple[int, ...]:
    return tuple(number for number, layout in enumerate(job.layouts) if not layout.key)


def _fold(
    upserts: Sequence[bool],
    steps: bool,
    keyless: Sequence[int],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    return fold_stream(batches, upserts, steps, keyless)


def _streamed(chunks: DataFrame, condition: str) -> Iterator[Any]:
    """The chunks that fulfil a condition in SQL, one partition after another.

    By way of the RDD: as long as a DataFrame is iterated over, Spark's scheduler keeps what each
    partition gave (`DAGScheduler.activeQueryToJobs`, seen in 4.3), the whole cut in the end.
    """
    with failures("stream the cut"):
        found = chunks.where(condition).rdd
        found.context.setLocalProperty(AGAIN, "yes")
        try:
            rows = found.toLocalIterator()  # its jobs keep what is set now
        finally:
            found.context.setLocalProperty(AGAIN, None)  # type: ignore[arg-type]
        yield from rows


@dataclass(frozen=True, slots=True)
class _Spilled:
    """A net change that lies on Spark's disks; each pass streams one partition after another."""

    layouts: Sequence[Layout]
    chunks: DataFrame

    def deletes(self) -> Iterator[tuple[int, pa.Array]]:
        return self._pass(DELETES)

    def rows(self) -> Iterator[tuple[int, pa.Array]]:
        return self._pass(ROWS)

    def _pass(self, number: int) -> Iterator[tuple[int, pa.Array]]:
        for row in _streamed(self.chunks, f"pass = {number}"):
            yield row["table"], unpack_payloads(row["payload"])


@dataclass(frozen=True, slots=True)
class _Step:
    """One commit_ts of a spilled cut; read again from Spark where it is applied again."""

    layouts: Sequence[Layout]
    chunks: DataFrame
    commit_ts: int

    def deletes(self) -> Iterator[tuple[int, pa.Array]]:
        return self._pass(DELETES)

    def rows(self) -> Iterator[tuple[int, pa.Array]]:
        return self._pass(ROWS)

    def _pass(self, number: int) -> Iterator[tuple[int, pa.Array]]:
        mine = f"step = {self.commit_ts} AND pass = {number}"
        for row in _streamed(self.chunks, mine):
            yield row["table"], unpack_payloads(row["payload"])


@dataclass(frozen=True, slots=True)
class _Held:
    """One commit_ts whose chunks are in memory."""

    layouts: Sequence[Layout]
    chunks: Sequence[Any]

    def deletes(self) -> Iterator[tuple[int, pa.Array]]:
        return self._pass(DELETES)

    def rows(self) -> Iterator[tuple[int, pa.Array]]:
        return self._pass(ROWS)

    def _pass(self, number: int) -> Iterator[tuple[int, pa.Array]]:
        for row in self.chunks:
            if row["pass"] == number:
                yield row["table"], unpack_payloads(row["payload"])


HELD_BYTES = 64 << 20


def _spilled_steps(layouts: Sequence[Layout], chunks: DataFrame) -> Iterator[tuple[int, Change]]:
    """Steps in order; one that is too large to hold is streamed by jobs of its own."""
    step, size = 0, 0
    held: list[Any] = []
    for row in _streamed(chunks, f"pass >= {DELETES}"):
        if row["step"] != step:
            if step:
                yield step, _step(layouts, chunks, step, held, size)
            step, held, size = row["step"], [], 0
        size += len(row["payload"])
        if size <= HELD_BYTES:
            held.append(row)
        else:
            held = []
    if step:
        yield step, _step(layouts, chunks, step, held, size)


def _step(
    layouts: Sequence[Layout], chunks: DataFrame, step: int, held: Sequence[Any], size: int
) -> Change:
    if size <= HELD_BYTES:
        return _Held(layouts, held)
    return _Step(layouts, chunks, step)


_ERRORS: dict[str, type[TicdcError]] = {
    "Unavailable": Unavailable,
    "Fenced": Fenced,
    "Retry": Retry,
    "RegistryError": Retry,
}


def merge(reports: Iterable[Report]) -> Report:
    """One report of all tasks. Raises the error that the first of them reported."""
    merged = Report()
    for report in reports:
        if report.error is not None:
            kind, words = report.error
            raise _ERRORS.get(kind, Stop)(words)
        merged.restarts.update(report.restarts)
        for name, (table, deletes_only) in report.missing.items():
            if name not in merged.missing or not deletes_only:
                merged.missing[name] = (table, deletes_only)
        merged.unknown_ddls += report.unknown_ddls
        merged.stale_ddls += report.stale_ddls
        merged.corrupted += report.corrupted
        merged.corrupted_rows += report.corrupted_rows
        merged.unread.update(report.unread)
        merged.schemas += report.schemas
        for number, counts in report.tables.items():
            merged.tables[number] = merged.tables.get(number, TableCounts()) + counts
        merged.messages += report.messages
        merged.bytes += report.bytes
        merged.facts_sent += report.facts_sent
        merged.too_large |= report.too_large
    return merged
