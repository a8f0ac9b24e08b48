"""What a reader says while it waits for a schema, and when it reads a cut again."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from support.both_paths import options_for
from ticdc_consumer.cut.cut_reader import SMALL_BYTES, Reader
from ticdc_consumer.cut.cuts import Cut, Estimates
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.report import Report
from ticdc_consumer.cut.reconcile.chunks import Clash
from ticdc_consumer.cut.reconcile.gathered import Gathered
from ticdc_consumer.cut.spark import jobs as spark_jobs
from ticdc_consumer.cut.spark import session as spark_session
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.errors import SchemaMissing, Stop
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source import RunSurvey, Source
from ticdc_consumer.source.kafka.tasks import KafkaTasks
from ticdc_consumer.source.listing import Listing
from ticdc_consumer.source.marks import Mark, SeenDdl, TopicPartition
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.staging import StagingJob
from ticdc_encoder.event import Ddl, Table
from ticdc_encoder.sql.parser import parse_create_table

OPTIONS = options_for("simple")
BASE = Checkpoint.first(OPTIONS, 0, {})
CUT = Cut(0, 9, Mark(9), {("orders", 0): 5}, {("orders", 0): 8}, {"orders": ""})
LACKS = {("shop", "items", 2): ("orders", 0, 5)}


class Quiet:
    """A source that sends nothing."""

    rows_per_offset = 1.0
    marks: tuple[Mark, ...] = ()
    newest = None
    trouble = None

    def __init__(self) -> None:
        self.schemas = Schemas(OPTIONS)
        self.top: dict[str, Mark] = {}
        self.followed: dict[str, int] = {}
        self.begin_of_new = 0

    def forget(self, applied: int) -> None: ...

    def follow(self, starts: dict[str, int]) -> None:
        self.followed |= starts

    def list_patiently(self, known: object, patience: float) -> Listing:
        return Listing({("old", 0): 90, ("new", 0): 3}, {"old": "", "new": ""})

    def position(self, topic: str) -> int:
        return self.followed[topic]

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, self.begin_of_new)

    def expected(self, known: Iterable[TopicPartition]) -> set[TopicPartition]:
        return set(known)

    def ddls(self) -> list[SeenDdl]:
        return []

    def tasks(self, *of: object, here: bool) -> KafkaTasks:
        return KafkaTasks({})

    def read_to(self, reach: int, ends: dict[str, int], patience: float) -> None: ...

    def survey_by(self, surveys: Callable[[], RunSurvey | None]) -> None:
        self.surveys = surveys

    def poll(self, wait: float) -> int:
        return 0

    def require_marks(self, silence: float) -> None: ...


def schema() -> Table:
    table = parse_create_table("CREATE TABLE items (id INT PRIMARY KEY)", "shop")
    return replace(table, version=2)


@pytest.fixture
def reader() -> Reader:
    return Reader(OPTIONS, SparkStarter({}, "c"), cast(Source, Quiet()))


def gives(reader: Reader, *reports: Report) -> list[Report]:
    """What reading a cut gives, one time after the other; returns what is left."""
    left = list(reports)
    cast(Any, reader)._gather = lambda cut, job: Gathered(left.pop(0))
    return left


def read(reader: Reader) -> Gathered:
    return reader.read(BASE, CUT, (), {})


def test_a_row_whose_schema_has_not_come_is_waited_for_by_name(reader: Reader) -> None:
    gives(reader, Report(unread=dict(LACKS)))
    assert read(reader).report.unread == LACKS
    assert reader.plan(BASE, None, 0.0) is None
    detail = reader.monitor.look().detail
    assert detail.startswith(
        "for version 2 of the schema of shop.items, which the row at orders[0]"
    )


@pytest.mark.parametrize("marks", [(), (Mark(BASE.resolved_ts),)], ids=["none", "at R"])
def test_without_a_mark_above_r_one_is_waited_for(reader: Reader, marks: tuple[Mark, ...]) -> None:
    cast(Quiet, reader.source).marks = marks
    assert reader.plan(BASE, None, 0.0) is None
    assert reader.monitor.look().detail == "for a resolved ts above R"


def test_once_the_schema_has_come_the_cut_is_planned_again(reader: Reader) -> None:
    gives(reader, Report(unread=dict(LACKS)))
    read(reader)
    reader.schemas.learn([schema()])
    assert reader.plan(BASE, None, 0.0) is None
    assert reader.monitor.look().detail == "for a resolved ts above R"


def test_a_schema_that_came_with_the_cut_has_it_read_again(reader: Reader) -> None:
    left = gives(reader, Report(unread=dict(LACKS), schemas=[schema()]), Report(messages=3))
    report = read(reader).report
    assert (report.messages, report.unread, left) == (3, {}, [])
    assert report.restarts == {("orders", 0): 5}


def test_a_schema_that_nothing_brings_stops(reader: Reader) -> None:
    gives(reader, Report(unread=dict(LACKS)))
    read(reader)
    reader._unread_since -= OPTIONS.schema_wait + 1
    with pytest.raises(SchemaMissing, match=r"orders\[0\] offset 5 has a row of version 2"):
        reader.plan(BASE, None, 0.0)


def test_a_schema_is_missing_only_if_the_whole_log_lacks_it(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    gives(reader, Report(unread=dict(LACKS)))
    read(reader)
    reader._unread_since -= OPTIONS.schema_wait + 1
    asked: list[dict[str, int]] = []

    def answers(reach: int, ends: dict[str, int], patience: float) -> None:
        asked.append(ends)
        reader.schemas.learn([schema()])

    monkeypatch.setattr(reader.source, "read_to", answers)
    base = replace(BASE, positions={("old", 0): Position("old", "", 0, 7)})
    assert reader.plan(base, None, 0.0) is None
    assert reader.monitor.look().detail == "for a resolved ts above R"
    assert asked == [{"old": 90, "new": 3}]


@pytest.mark.parametrize(
    ("released", "table", "is_of_another"),
    [
        (None, "items", True),
        (None, "orders", False),
        (("shop", "items"), "items", False),
        (("shop", "items"), "orders", True),
    ],
)
def test_a_ddl_of_a_table_that_waits_is_left_to_its_release(
    reader: Reader, released: TableName | None, table: str, is_of_another: bool
) -> None:
    reader.set_aside, reader.released = frozenset({("shop", "items")}), released
    ddl = Ddl("shop", table, f"DROP TABLE {table}", 5)
    assert reader.is_of_another_run(ddl) == is_of_another


def test_the_greatest_mark_is_searched_from_each_topics_position(reader: Reader) -> None:
    source = cast(Quiet, reader.source)
    source.marks = (Mark(7), Mark(9))
    base = replace(BASE, positions={("old", 0): Position("old", "", 0, 80)})
    assert reader.greatest_mark(base) == 9
    assert source.followed == {"old": 80, "new": 0}


@pytest.mark.parametrize(
    ("known", "begin_of_new", "lost"),
    [
        (
            Position("old", "", 0, 91),
            0,
            r"old\[0\] ends at offset 90, but the next cut begins at 91",
        ),
        (Position("gone", "", 0, 5), 0, r"gone\[0\] is in the checkpoint, but not listed"),
        (Position("old", "", 0, 90), 2, r"new\[0\] joins, but its log begins at offset 2"),
    ],
    ids=["truncated", "deleted", "joins too late"],
)
def test_no_cut_is_planned_over_a_gap_of_the_log(
    reader: Reader, known: Position, begin_of_new: int, lost: str
) -> None:
    source = cast(Quiet, reader.source)
    source.marks, source.begin_of_new = (Mark(BASE.resolved_ts + 1),), begin_of_new
    with pytest.raises(Stop, match=lost):
        reader.plan(replace(BASE, positions={(known.topic, 0): known}), None, 0.0)


@pytest.mark.parametrize(("commit_ts", "reach"), [(4, 9), (7, 7), (9, 9)])
def test_a_cut_ends_before_a_ddl_of_a_waiting_table_and_another(
    reader: Reader, commit_ts: int, reach: int
) -> None:
    reader.set_aside = frozenset({("shop", "items")})
    seen = SeenDdl(Ddl("shop", "a", "RENAME TABLE shop.items TO shop.a", commit_ts), "orders", 0)
    assert reader._before_joined(5, 9, [seen]) == reach


def test_a_ddl_of_a_waiting_table_and_another_stops_if_next(reader: Reader) -> None:
    reader.set_aside = frozenset({("shop", "items")})
    seen = SeenDdl(Ddl("shop", "a", "RENAME TABLE shop.items TO shop.a", 5), "orders", 0)
    with pytest.raises(Stop, match="release the table first"):
        reader._before_joined(5, 9, [seen])


@pytest.mark.parametrize(("commit_ts", "reach"), [(4, 9), (5, 5), (8, 8), (9, 9)])
def test_no_cut_goes_past_a_ddl_that_has_to_wait(
    reader: Reader, commit_ts: int, reach: int
) -> None:
    reader.holds = lambda ddl: ddl.table == "items"
    ddls = [Ddl("shop", "orders", "", 6), Ddl("shop", "items", "", commit_ts)]
    seen = [SeenDdl(ddl, "orders", place) for place, ddl in enumerate(ddls)]
    assert reader._reach_before_waiting(seen, 5, 9) == reach


@pytest.mark.parametrize(
    ("here", "most"), [(True, SMALL_BYTES), (False, OPTIONS.memory_budget)], ids=["driver", "Spark"]
)
def test_the_driver_reads_little_by_itself(reader: Reader, here: bool, most: int) -> None:
    assert OPTIONS.memory_budget > SMALL_BYTES
    assert reader._job(BASE, CUT, (), {}, here).most_bytes == most


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
    reader = Reader(OPTIONS, cast(SparkStarter, cluster), cast(Source, Quiet()))
    reader._estimates = Estimates(1.0, 4.0)
    cut = replace(CUT, messages=3_000.0)
    job = replace(reader._job(BASE, cut, (), {}, here=False), staging=cast(StagingJob, object()))
    assert reader._gather_by_spark(cut, job, fits) is gives[-1]
    assert cluster.jobs == jobs
    assert [*reader.unneeded._names] == unneeded


@pytest.mark.parametrize(
    ("offsets", "why"),
    [
        (5_000, "to read 5,000 messages ([spark] from_messages = 5,000)"),
        (4_000, "to read 4,000 large messages"),
    ],
)
def test_what_needs_spark_is_told(reader: Reader, offsets: int, why: str) -> None:
    assert reader._why_spark(offsets) == why


@pytest.mark.parametrize("ready", [False, True])
def test_tasks_look_far_ahead_once_spark_has_started(
    monkeypatch: pytest.MonkeyPatch, ready: bool
) -> None:
    looked: list[object] = []
    monkeypatch.setattr(spark_jobs, "look", lambda *given: looked.append(given))
    starter = SparkStarter({}, "c", cast(Any, "Spark") if ready else None)
    source = Quiet()
    Reader(OPTIONS, starter, cast(Source, source))
    look = source.surveys()
    assert (look is not None) == ready
    if look is not None:
        look(cast(Any, "survey"))
    assert looked == [("Spark", "survey")] * ready


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
    reader: Reader,
    first: tuple[int, int],
    second: tuple[int, int],
    starts: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
) -> None:
    cuts: list[Cut] = []
    cast(Any, reader).read = lambda base, cut, layouts, shapes: cuts.append(cut)
    cut = replace(CUT, ends={("orders", 1): 20, ("orders", 0): 10}, messages=30.0)
    reader.read_again(BASE, cut, (), {}, Clash(0, 7, first, second))
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
    reader = Reader(options, SparkStarter({}, "c"), cast(Source, Quiet()))
    reader.leave_out = leave_out
    assert reader._read_options().filter == read
