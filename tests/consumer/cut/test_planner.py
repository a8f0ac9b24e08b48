"""Which cut comes next, and what is waited for where there is none."""

from dataclasses import replace
from typing import Any, cast

import pytest
from support.quiet_source import BASE, LACKS, OPTIONS, Quiet
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.cuts import Cut
from ticdc_consumer.cut.planner import Planner
from ticdc_consumer.cut.sizes import Sizes
from ticdc_consumer.cut.spark import jobs as spark_jobs
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.errors import SchemaMissing, Stop
from ticdc_consumer.source import Source
from ticdc_consumer.source.marks import Mark
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table


def schema() -> Table:
    table = parse_create_table("CREATE TABLE items (id INT PRIMARY KEY)", "shop")
    return replace(table, version=2)


def planner_of(source: Quiet, spark: SparkStarter) -> Planner:
    given = cast(Source, source)
    return Planner(OPTIONS, spark, given, Sizes(OPTIONS, given), Monitor())


@pytest.fixture
def planner() -> Planner:
    return planner_of(Quiet(), SparkStarter({}, "c"))


def plan(planner: Planner, base: Checkpoint = BASE) -> Cut | None:
    return planner.plan(base, None, 0.0, CutScope(), base.resolved_ts)


def test_a_row_whose_schema_has_not_come_is_waited_for_by_name(planner: Planner) -> None:
    planner.awaits(LACKS)
    assert plan(planner) is None
    detail = planner.monitor.look().detail
    assert detail.startswith(
        "for version 2 of the schema of shop.items, which the row at orders[0]"
    )


@pytest.mark.parametrize("marks", [(), (Mark(BASE.resolved_ts),)], ids=["none", "at R"])
def test_without_a_mark_above_r_one_is_waited_for(
    planner: Planner, marks: tuple[Mark, ...]
) -> None:
    cast(Quiet, planner.source).marks = marks
    assert plan(planner) is None
    assert planner.monitor.look().detail == "for a resolved ts above R"


def test_once_the_schema_has_come_the_cut_is_planned_again(planner: Planner) -> None:
    planner.awaits(LACKS)
    planner.schemas.learn([schema()])
    assert plan(planner) is None
    assert planner.monitor.look().detail == "for a resolved ts above R"


def test_a_schema_that_nothing_brings_stops(planner: Planner) -> None:
    planner.awaits(LACKS)
    planner._awaited_since -= OPTIONS.schema_wait + 1
    with pytest.raises(SchemaMissing, match=r"orders\[0\] offset 5 has a row of version 2"):
        plan(planner)


def test_a_schema_is_missing_only_if_the_whole_log_lacks_it(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    planner.awaits(LACKS)
    planner._awaited_since -= OPTIONS.schema_wait + 1
    asked: list[dict[str, int]] = []

    def answers(reach: int, ends: dict[str, int], patience: float) -> None:
        asked.append(ends)
        planner.schemas.learn([schema()])

    monkeypatch.setattr(planner.source, "read_to", answers)
    base = replace(BASE, positions={("old", 0): Position("old", "", 0, 7)})
    assert plan(planner, base) is None
    assert planner.monitor.look().detail == "for a resolved ts above R"
    assert asked == [{"old": 90, "new": 3}]


def test_the_greatest_mark_is_searched_from_each_topics_position(planner: Planner) -> None:
    source = cast(Quiet, planner.source)
    source.marks = (Mark(7), Mark(9))
    base = replace(BASE, positions={("old", 0): Position("old", "", 0, 80)})
    assert planner.greatest_mark(base) == 9
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
    planner: Planner, known: Position, begin_of_new: int, lost: str
) -> None:
    source = cast(Quiet, planner.source)
    source.marks, source.begin_of_new = (Mark(BASE.resolved_ts + 1),), begin_of_new
    with pytest.raises(Stop, match=lost):
        plan(planner, replace(BASE, positions={(known.topic, 0): known}))


@pytest.mark.parametrize("ready", [False, True])
def test_tasks_look_far_ahead_once_spark_has_started(
    monkeypatch: pytest.MonkeyPatch, ready: bool
) -> None:
    looked: list[object] = []
    monkeypatch.setattr(spark_jobs, "look", lambda *given: looked.append(given))
    starter = SparkStarter({}, "c", cast(Any, "Spark") if ready else None)
    source = Quiet()
    planner_of(source, starter)
    look = source.surveys()
    assert (look is not None) == ready
    if look is not None:
        look(cast(Any, "survey"))
    assert looked == [("Spark", "survey")] * ready
