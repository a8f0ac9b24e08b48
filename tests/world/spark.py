"""Spark: tasks that fail and are repeated, run twice at once, or lose what they gave; jobs that
fail; a shuffle, what lies on the executors' disks, and executors that are lost with it."""

from binascii import crc32
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from ticdc_encoder.errors import TicdcError
from world.schedule import Scheduler

Batches = list[pa.RecordBatch]
Run = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
HASHES = 5
"""So few that rows of several keys have one hash, as they seldom do."""


class Spark:
    """As much of a SparkSession, and of its context, as reading a cut needs. `settings` are those
    of its configuration."""

    def __init__(
        self, scheduler: Scheduler, tasks: int, settings: Mapping[str, str] | None = None
    ) -> None:
        self.sparkContext = self
        self.defaultParallelism = tasks
        self.scheduler = scheduler
        self._settings = settings or {}
        self._properties: dict[str, str] = {}

    def getConf(self) -> Mapping[str, str]:
        return self._settings

    def setLocalProperty(self, name: str, value: str | None) -> None:
        self._properties = {k: v for k, v in self._properties.items() if k != name}
        if value is not None:
            self._properties[name] = value

    def range(self, start: int, end: int, step: int, parts: int) -> "Frame":
        return Frame(self, end - start, lambda part: [pa.RecordBatch.from_pydict({"id": [part]})])

    def job(self) -> "Job":
        """One that begins now, and has the properties that are set now."""
        return Job(self.scheduler, self._properties)


class Job:
    def __init__(self, scheduler: Scheduler, properties: Mapping[str, str]) -> None:
        self._scheduler, self._properties = scheduler, properties

    def getLocalProperty(self, name: str) -> str | None:
        return self._properties.get(name)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inside, its tasks run. What a task raises, Spark raises in its words."""
        for fault in self._scheduler.door("job"):
            raise PySparkException(f"Job aborted: {fault.kind}")
        process = self._scheduler.current
        assert process is not None
        process.jobs.append(self)
        try:
            yield
        except TicdcError as error:
            raise PySparkException(f"Job aborted: {type(error).__name__}: {error}") from error
        finally:
            process.jobs.remove(self)


class Frame:
    """`compute` gives the batches of a partition, anew with every call, unless they are kept."""

    def __init__(
        self,
        spark: Spark,
        parts: int,
        compute: Callable[[int], Batches],
        source: "Frame | Shuffle | None" = None,
    ) -> None:
        self.spark, self.parts = spark, parts
        self._compute, self._source = compute, source
        self._kept: dict[int, Batches] | None = None

    # --- what is made of it -------------------------------------------------------------------

    def mapInArrow(self, run: Run, schema: Any) -> "Frame":
        return self._made(lambda part: self._of_task(run, part))

    def where(self, condition: str) -> "Frame":
        def chosen(part: int) -> Batches:
            return [batch.filter(_fulfils(condition, batch)) for batch in self.of(part)]

        return self._made(chosen)

    def withColumn(self, name: str, columns: Sequence[str]) -> "Frame":
        """With a hash of other columns."""

        def hashed(part: int) -> Batches:
            return [_with_hash(name, columns, batch) for batch in self.of(part)]

        return self._made(hashed)

    def repartition(self, parts: int, column: str) -> "Frame":
        return Shuffle(self, parts, column, lambda value: value % parts).frame()

    def repartitionByRange(self, parts: int, column: str) -> "Frame":
        """Where the ranges end is chosen by a look at the rows, which are computed for it."""
        bounds: list[int] = []

        def place(value: int) -> int:
            if not bounds:
                known = {v for batch in self.all() for v in batch[column].to_pylist()}
                several = sorted(known)[1:]
                rng = self.spark.scheduler.rng
                bounds.extend(sorted(rng.sample(several, min(parts - 1, len(several)))))
                bounds.append(1 << 64)
            return next(number for number, bound in enumerate(bounds) if value < bound)

        return Shuffle(self, parts, column, place).frame()

    def sortWithinPartitions(self, *columns: str) -> "Frame":
        order = [(name, "ascending") for name in columns]

        def ordered(part: int) -> Batches:
            batches = self.of(part)
            if not batches:
                return []
            table = pa.Table.from_batches(batches)
            return _cut_up(self.spark.scheduler, table.sort_by(order).combine_chunks())

        return self._made(ordered)

    def _made(self, compute: Callable[[int], Batches]) -> "Frame":
        return Frame(self.spark, self.parts, compute, self)

    # --- what is kept -------------------------------------------------------------------------

    def persist(self, level: object) -> Self:
        self._kept = {}
        return self

    def unpersist(self) -> None:
        self._kept = None

    def lose(self) -> None:
        """An executor is lost, with what it kept of this and of what this is made of."""
        if self._kept:
            rng = self.spark.scheduler.rng
            lost = rng.sample(sorted(self._kept), rng.randint(1, len(self._kept)))
            self._kept = {n: kept for n, kept in self._kept.items() if n not in lost}
        if self._source is not None:
            self._source.lose()

    # --- actions ------------------------------------------------------------------------------

    def toArrow(self) -> pa.Table:
        with self.spark.job().running():
            return pa.Table.from_batches(self.all())

    def collect(self) -> list[dict[str, Any]]:
        with self.spark.job().running():
            return [row for batch in self.all() for row in batch.to_pylist()]

    @property
    def rdd(self) -> "Frame":
        return self

    @property
    def context(self) -> Spark:
        return self.spark

    def toLocalIterator(self, prefetchPartitions: bool) -> Iterator[dict[str, Any]]:
        return self._one_by_one(self.spark.job())

    def _one_by_one(self, job: Job) -> Iterator[dict[str, Any]]:
        for part in range(self.parts):
            with job.running():
                batches = self.of(part)
            for batch in batches:
                yield from batch.to_pylist()

    # --- tasks --------------------------------------------------------------------------------

    def all(self) -> Batches:
        """Tasks end in any order; the answer is in the order of the parts."""
        order = self.spark.scheduler.rng.sample(range(self.parts), self.parts)
        answers = {part: self.of(part) for part in order}
        return [batch for part in range(self.parts) for batch in answers[part]]

    def of(self, part: int) -> Batches:
        if self._kept is None:
            return self._compute(part)
        if self._kept and self.spark.scheduler.door("stored"):
            self.lose()
        if part not in self._kept:
            batches = self._compute(part)
            if self._kept is None:
                return batches
            self._kept[part] = batches
        return self._kept[part]

    def _of_task(self, run: Run, part: int) -> Batches:
        for fault in self.spark.scheduler.door("task"):
            match fault.kind:
                case "task fails":
                    self._attempt(run, part, fault.size % 3)
                case _:  # it runs twice, or what it gave is lost
                    self._attempt(run, part, None)
        return self._attempt(run, part, None)

    def _attempt(self, run: Run, part: int, most: int | None) -> Batches:
        """All batches of a task, or as many as it gives before it fails."""
        given: Batches = []
        batches = run(iter(self.of(part)))
        while most is None or len(given) < most:
            batch = next(batches, None)
            if batch is None:
                break
            given.append(batch)
        return given


class Shuffle:
    """Each row of a frame goes to the partition that `place` gives for a column. The files that the
    tasks before it wrote stay, until they are lost."""

    def __init__(self, source: Frame, parts: int, column: str, place: Callable[[int], int]) -> None:
        self._source, self._parts = source, parts
        self._column, self._place = column, place
        self._files: list[Batches] | None = None

    def frame(self) -> Frame:
        return Frame(self._source.spark, self._parts, self._of, self)

    def lose(self) -> None:
        if self._source.spark.scheduler.rng.random() < 0.5:
            self._files = None
        self._source.lose()

    def _of(self, part: int) -> Batches:
        if self._files is None:
            files: list[Batches] = [[] for _ in range(self._parts)]
            for batch in self._source.all():
                for number, rows in self._divided(batch):
                    files[number].append(rows)
            self._files = files
        # They come in any order.
        return self._source.spark.scheduler.rng.sample(self._files[part], len(self._files[part]))

    def _divided(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        numbers = pa.array([self._place(value) for value in batch[self._column].to_pylist()])
        for number in pc.unique(numbers).to_pylist():
            yield number, batch.filter(pc.equal(numbers, number))


def _fulfils(condition: str, batch: pa.RecordBatch) -> pa.Array:
    """Of a condition in SQL, as `pass >= 0` or `step = 7 AND pass = 1`."""
    compared = {"=": pc.equal, "<": pc.less, ">=": pc.greater_equal}
    mask = pa.array([True] * batch.num_rows, pa.bool_())
    for term in condition.split(" AND "):
        name, sign, number = term.split()
        mask = pc.and_(mask, compared[sign](batch[name], int(number)))
    return mask


def _with_hash(name: str, columns: Iterable[str], batch: pa.RecordBatch) -> pa.RecordBatch:
    values = zip(*(batch[column].to_pylist() for column in columns), strict=True)
    hashes = [crc32(repr(each).encode()) % HASHES for each in values]
    return pa.RecordBatch.from_arrays(
        [*batch.columns, pa.array(hashes, pa.int64())], names=[*batch.schema.names, name]
    )


def _cut_up(scheduler: Scheduler, table: pa.Table) -> Batches:
    """As a worker gets the rows: some at a time."""
    most = scheduler.rng.choice([1, 2, 20_000])
    batches = (table.slice(start, most) for start in range(0, table.num_rows, most))
    return [batch for part in batches for batch in part.combine_chunks().to_batches()]
