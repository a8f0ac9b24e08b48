"""The reports of a cut's tasks, as one."""

from dataclasses import replace

import pyarrow as pa
import pytest
from support.both_paths import job_of, options_for
from ticdc_consumer.cut.read.report import Report, TableCounts
from ticdc_consumer.cut.reconcile.gathered import merge, stages_of
from ticdc_consumer.errors import Away, Denied, Full, Locked, Stop
from ticdc_consumer.targets.staging import StagingJob
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl
from ticdc_encoder.sql.parser import parse_create_table

REPORTED = [
    ("Locked", Locked),
    ("Full", Full),
    ("Denied", Denied),
    ("Away", Away),
    ("WireError", Stop),
]


@pytest.mark.parametrize(("name", "kind"), REPORTED)
def test_what_a_task_reports_is_raised_as_what_it_was(name: str, kind: type[TicdcError]) -> None:
    reports = [Report(), Report(error=(name, "why"), error_table=("shop", "t"), error_ts=7)]
    with pytest.raises(kind, match="why") as raised:
        merge(reports)
    assert type(raised.value) is kind
    assert (raised.value.table, raised.value.commit_ts) == (("shop", "t"), 7)


def test_what_tasks_report_is_added() -> None:
    table = parse_create_table("CREATE TABLE t (id INT PRIMARY KEY)", "shop")
    ddl = Ddl("shop", "t", "DROP TABLE t", 5)
    one = Report(
        restarts={("a", 0): 7, ("a", 1): 4},
        missing={("shop", "t"): (table, True)},
        unknown_ddls=[ddl],
        schemas=[table],
        tables={0: TableCounts(3, 2, 1)},
        messages=11,
        bytes=120,
        facts_sent=5,
        too_large=True,
        corrupted=1,
        corrupted_rows=["first"],
        left_out={("shop", "u"): 14},
        waiting={("shop", "v"): 15},
    )
    other = Report(
        restarts={("a", 0): 9},
        missing={("shop", "t"): (table, False)},
        stale_ddls=[ddl],
        unread={("shop", "w", 2): ("a", 0, 5)},
        tables={0: TableCounts(30, 20, 10), 1: TableCounts(replays=4)},
        messages=2,
        bytes=3,
        facts_sent=4,
        corrupted=2,
        corrupted_rows=["second"],
        left_out={("shop", "u"): 1},
        waiting={("shop", "v"): 2, ("shop", "x"): 3},
    )
    assert merge([one, other]) == Report(
        restarts={("a", 0): 7, ("a", 1): 4},
        missing={("shop", "t"): (table, False)},
        unknown_ddls=[ddl],
        stale_ddls=[ddl],
        unread={("shop", "w", 2): ("a", 0, 5)},
        schemas=[table],
        tables={0: TableCounts(33, 22, 11), 1: TableCounts(replays=4)},
        messages=13,
        bytes=123,
        facts_sent=9,
        too_large=True,
        corrupted=3,
        corrupted_rows=["first", "second"],
        left_out={("shop", "u"): 15},
        waiting={("shop", "v"): 17, ("shop", "x"): 3},
    )


@pytest.mark.parametrize(
    ("job", "facts", "stages"),
    [
        (StagingJob("sqlite://", "c"), {"stage": [10, None, 3, 10]}, [10, 3]),
        (StagingJob("sqlite://", "c"), {"row": [b"x"]}, []),
        (None, {"stage": [10]}, []),
    ],
    ids=["two tasks", "tasks that sent their rows", "a job without staging"],
)
def test_the_staging_tables_are_those_that_facts_name(
    job: StagingJob | None, facts: dict[str, list[object]], stages: list[int]
) -> None:
    read = replace(job_of(options_for("canal-json"), {}), staging=job)
    names = [StagingJob("sqlite://", "c").name(number) for number in stages]
    assert stages_of(read, pa.table(facts)) == names
