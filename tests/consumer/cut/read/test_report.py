"""What a task reports is what the driver reads."""

from dataclasses import fields

from ticdc_consumer.cut.read.facts import REPORT
from ticdc_consumer.cut.read.report import Report, TableCounts, pack, unpack
from ticdc_encoder.event import Ddl
from ticdc_encoder.sql.parser import parse_create_table

TABLE = parse_create_table("CREATE TABLE t (id INT PRIMARY KEY)", "shop")
FULL = Report(
    restarts={("a", 0): 7, ("b", 3): 9},
    missing={("shop", "t"): (TABLE, True)},
    unknown_ddls=[Ddl("shop", "t", "DROP TABLE t", 5)],
    stale_ddls=[Ddl("shop", "t", "TRUNCATE TABLE t", 4)],
    unread={("shop", "t", 2): ("a", 0, 5)},
    schemas=[TABLE],
    tables={0: TableCounts(3, 2, 1), -1: TableCounts(replays=4)},
    messages=11,
    bytes=12,
    facts_sent=13,
    too_large=True,
    corrupted=1,
    corrupted_rows=["shop.t: ..."],
    left_out={("shop", "u"): 14},
    waiting={("shop", "v"): 15},
    error=("Stop", "..."),
    error_table=("shop", "t"),
    error_ts=7,
)


def test_every_part_of_a_report_arrives() -> None:
    row = pack(FULL).to_pylist()[0]
    assert row["table"] == REPORT
    assert unpack(row["row"]) == FULL
    empty = Report()
    assert all(getattr(FULL, f.name) != getattr(empty, f.name) for f in fields(Report))


def test_a_report_limits_how_many_tables_left_out_it_names() -> None:
    report = Report()
    for number in [*range(30), 0, 29]:
        report.leave_out(("shop", f"t{number}"))
    assert len(report.left_out) == 21
    assert report.left_out["shop", "t0"] == 2
    assert report.left_out["", ""] == 11


def test_counts_of_a_table_are_added() -> None:
    assert TableCounts(1, 2, 3) + TableCounts(10, 20, 30) == TableCounts(11, 22, 33)
