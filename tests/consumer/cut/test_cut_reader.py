"""By whom a cut is read, and when it is read again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from support.quiet_source import BASE, CUT, LACKS, OPTIONS, Quiet
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.cut_reader import CutReader, Knowledge
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.cuts import Cut
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.report import Report
from ticdc_consumer.cut.reconcile.chunks import Clash
from ticdc_consumer.cut.reconcile.gathered import Gathered
from ticdc_consumer.cut.sizes import SMALL_BYTES, Sizes
from ticdc_consumer.cut.spark import jobs as spark_jobs
from ticdc_consumer.cut.spark import session as spark_session
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.source import Source
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.targets.staging import StagingJob, Unneeded
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table

KNOWN = Knowledge((), {}, CutScope(), 0)


def schema() -> Table:
    table = parse_create_table("CREATE TABLE items (id INT PRIMARY KEY)", "shop")
    return replace(table, version=2)


def reader_of(
    options: Settings = OPTIONS,
    spark: SparkStarter | None = None,
    sizes: Sizes | None = None,
    unneeded: Unneeded | None = None,
) -> CutReader:
    source = cast(Source, Quiet())
    return CutReader(
        options,
        spark or SparkStarter({}, "c"),
        source,
        sizes or Sizes(options, source),
        Monitor(),
        list,
        unneeded=unneeded,
    )


@pytest.fixture
def reader() -> CutReader:
    return reader_of()


def gives(reader: CutReader, *reports: Report) -> list[Report]:
    """What reading a cut gives, one time after the other; returns what is left."""
    left = list(reports)
    cast(Any, reader)._gather = lambda cut, job: Gathered(left.pop(0))
    return left


def test_a_schema_that_came_with_the_cut_has_it_read_again(reader: CutReader) -> None:
    left = gives(reader, Report(unread=dict(LACKS), schemas=[schema()]), Report(messages=3))
    report = reader.read(BASE, CUT, KNOWN).report
    assert (report.messages, report.unread, left) == (3, {}, [])
    assert report.restarts == {("orders", 0): 5}


def test_a_cut_whose_schema_has_not_come_tells_so(reader: CutReader) -> None:
    gives(reader, Report(unread=dict(LACKS)))
    assert reader.read(BASE, CUT, KNOWN).report.unread == LACKS


@pytest.mark.parametrize(
    ("here", "most"), [(True, SMALL_BYTES), (False, OPTIONS.memory_budget)], ids=["driver", "Spark"]
)
def test_the_driver_reads_little_by_itself(reader: CutReader, here: bool, most: int) -> None:
    assert OPTIONS.memory_budget > SMALL_BYTES
    assert reader._job(BASE, CUT, KNOWN, here).most_bytes == most


@dataclass
class Cluster:
    """Spark, of which each job gives one of these."""

    left: list[Gathered]
    jobs: list[tuple[bool, int, int]] = field(default_factory=list)
    """Whether tasks stage rows, the bytes that they may send, the partitions that fold them."""

    def session(self, why: str) -> None: ...

    def gather(self, spark: None, job: ReadJob, groups: Sequence[object], spill: int) -> Gathered:
        self.jobs.append((job.staging is not None, job.most_bytes, spill))
        return self.left.pop(0)


CLASH = Clash(0, 7, (0, 5), (0, 6))
TOO_LARGE = Report(too_large=True, messages=2_000, bytes=8_000)
IN_DRIVER, BY_SPARK = (True, OPTIONS.memory_budget, 0), (False, 0, 12)
WITHOUT_STAGING = (False, OPTIONS.memory_budget, 0)


@pytest.mark.parametrize(
    ("fits", "gives", "jobs", "unneeded"),
    [
        (True, [Gathered(Report())], [IN_DRIVER], []),
        (True, [Gathered(Report(), clash=CLASH)], [IN_DRIVER], []),
        (
            True,
            [Gathered(Report(), clash=CLASH, stages=("s1",)), Gathered(Report())],
            [IN_DRIVER, WITHOUT_STAGING],
            ["s1"],
        ),
        (
            True,
            [Gathered(TOO_LARGE, stages=("s1",)), Gathered(Report())],
            [IN_DRIVER, BY_SPARK],
            ["s1"],
        ),
        (False, [Gathered(Report())], [BY_SPARK], []),
    ],
    ids=["fits", "a clash", "a clash of staged rows", "does not fit after all", "does not fit"],
)
def test_spark_reads_a_cut_that(
    monkeypatch: pytest.MonkeyPatch,
    fits: bool,
    gives: list[Gathered],
    jobs: list[tuple[bool, int, int]],
    unneeded: list[str],
) -> None:
    cluster = Cluster([*gives])
    monkeypatch.setattr(spark_jobs, "gather", cluster.gather)
    monkeypatch.setattr(spark_session, "cores", lambda spark: 2)
    monkeypatch.setattr(spark_session, "shuffle_partitions", lambda spark, size: size // 1_000)
    sizes, dropped = Sizes(OPTIONS, cast(Source, Quiet())), Unneeded()
    sizes.learn(Report(messages=2_000, bytes=8_000))
    reader = reader_of(spark=cast(SparkStarter, cluster), sizes=sizes, unneeded=dropped)
    cut = replace(CUT, messages=3_000.0)
    job = replace(reader._job(BASE, cut, KNOWN, here=False), staging=cast(StagingJob, object()))
    assert reader._gather_by_spark(cut, job, fits).report is gives[-1].report
    assert cluster.jobs == jobs
    assert [*dropped._names] == unneeded


@pytest.mark.parametrize(
    ("first", "second", "starts", "ends"),
    [
        (
            (1, 8),
            (0, 3),
            {("orders", 0): 3, ("orders", 1): 8},
            {("orders", 0): 4, ("orders", 1): 9},
        ),
        ((1, 8), (1, 3), {("orders", 1): 3}, {("orders", 1): 9}),
        ((1, 3), (1, 8), {("orders", 1): 3}, {("orders", 1): 9}),
    ],
    ids=["of two partitions", "the later first", "the earlier first"],
)
def test_of_two_differing_rows_only_what_has_both_is_read_again(
    reader: CutReader,
    first: tuple[int, int],
    second: tuple[int, int],
    starts: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
) -> None:
    cuts: list[Cut] = []
    cast(Any, reader).read = lambda base, cut, knowledge: cuts.append(cut)
    cut = replace(CUT, ends={("orders", 1): 20, ("orders", 0): 10}, messages=30.0)
    reader.read_again(BASE, cut, KNOWN, Clash(0, 7, first, second))
    assert cuts == [replace(cut, starts=starts, ends=ends, messages=0.0)]


@pytest.mark.parametrize(
    ("rules", "leave_out", "read"),
    [
        ((), (), ()),
        ((), ("shop.items",), ("*.*", "!shop.items")),
        (("shop.*",), (), ("shop.*",)),
        (("shop.*",), ("shop.items", "a.b"), ("shop.*", "!shop.items", "!a.b")),
    ],
)
def test_rows_that_are_left_out_are_not_read(
    rules: tuple[str, ...], leave_out: tuple[str, ...], read: tuple[str, ...]
) -> None:
    options = replace(OPTIONS, filter=rules)
    scope = CutScope(left_out=leave_out)
    assert reader_of(options)._read_options(scope).filter == read
