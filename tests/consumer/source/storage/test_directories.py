from dataclasses import replace
from datetime import UTC, datetime

import pytest
from ticdc_consumer.errors import Stop
from ticdc_consumer.source.storage.directories import (
    directory_of,
    partition_of,
    require_date,
    settled,
)
from ticdc_consumer.source.storage.records import _completed
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.storage.layout import Directory, PathLayout

WRITER = "0d2e66b2-3b3b-49b1-946b-e5cc94563f89"
DIRECTORIES = [
    ("day", Directory("s", "t", 5, date="2024-02-29"), "s/t/5/2024-02-29"),
    ("none", Directory("s", "a b", 5, partition=77), "s/a b/5/77"),
    ("year", Directory("s", "t", 5, 77, "2024"), "s/t/5/77/2024"),
    ("month", Directory("s", "CDC_t", 5, date="2024-02"), "s/CDC_t/5/2024-02"),
    ("none", Directory("s", "CDC", 5), "s/CDC/5"),
    ("day", Directory("s", "t", 5, None, "2024-02-29", WRITER), f"s/t/5/2024-02-29/CDC_{WRITER}"),
]


@pytest.mark.parametrize(("separator", "directory", "name"), DIRECTORIES)
def test_a_place_is_a_directory_and_its_writer(
    separator: str, directory: Directory, name: str
) -> None:
    assert partition_of(directory) == (name, 0)
    layout = PathLayout(date_separator=separator)  # type: ignore[arg-type]
    assert directory_of(layout, (name, 0)) == directory


def test_a_place_may_be_named_by_the_tables_id() -> None:
    directory = Directory("", "", 5, date="2024-02-29", table_id=77)
    assert partition_of(directory) == ("77/5/2024-02-29", 0)
    assert directory_of(PathLayout(table_id_paths=True), ("77/5/2024-02-29", 0)) == directory


def r(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp() * 1000) << 18  # type: ignore[misc, arg-type]


SETTLED = [
    ("2024-02-28", r(2024, 3, 1, 23, 59), False),
    ("2024-02-28", r(2024, 3, 2), True),
    ("2024-02", r(2024, 3, 2, 23, 59), False),
    ("2024-02", r(2024, 3, 3), True),
    ("2024-12", r(2025, 1, 2), False),
    ("2024-12", r(2025, 1, 3), True),
    ("2024", r(2025, 1, 2, 23, 59), False),
    ("2024", r(2025, 1, 3), True),
    ("2024-02-30", r(2030, 1, 1), False),
    ("2024-02-28", 0, False),
    (None, r(2030, 1, 1), False),
    ("0000", r(2030, 1, 1), False),
    ("9999", r(2030, 1, 1), False),
    ("9999-12", r(2030, 1, 1), False),
    ("9999-12-30", r(2030, 1, 1), False),
    ("9999-12-31", r(2030, 1, 1), False),
]


@pytest.mark.parametrize(("date", "resolved_ts", "is_settled"), SETTLED)
def test_a_directory_is_settled_two_days_after_its_date(
    date: str | None, resolved_ts: int, is_settled: bool
) -> None:
    assert settled(Directory("s", "t", 5, date=date), resolved_ts) is is_settled


POSSIBLE = [
    ("2024-03-01", r(2024, 3, 2), True),
    ("2024-02-29", r(2024, 3, 2, 23, 59), True),  # the clocks differ
    ("2024-02-29", r(2024, 3, 3), False),
    ("2024-02", r(2024, 3, 3), False),
    ("2023", r(2024, 1, 2, 23, 59), True),
    ("1104", r(2024, 1, 1), False),
    ("1970", 1, True),  # a start_ts that is no moment
    ("9999", r(2024, 1, 1), True),
    (None, r(2024, 1, 1), True),
]


@pytest.mark.parametrize(("date", "version", "is_possible"), POSSIBLE)
def test_a_date_that_was_over_before_its_tables_version_is_none(
    date: str | None, version: int, is_possible: bool
) -> None:
    directory = Directory("s", "t", version, date=date)
    if is_possible:
        require_date(directory)
    else:
        with pytest.raises(Stop, match=r"is date_separator of \[storage\] the changefeed's"):
            require_date(directory)


def test_what_a_schema_file_lacks_comes_from_the_definition() -> None:
    stored = parse_create_table("create table t (id int primary key, v int, e text, x int)", "s")
    of_stream = "create table t (id int primary key, v int as (id) virtual, e enum('a'), x int)"
    assert _completed(stored, parse_create_table(of_stream, "s")).columns == (
        stored.column("id"),
        replace(stored.column("v"), generated="virtual"),
        stored.column("e"),  # of another type: the definition is another version's
        stored.column("x"),
    )
    members = parse_create_table("create table t (e enum('a') not null, f set('b'))", "s")
    bare = parse_create_table("create table t (e enum('z') not null, f set('b'))", "s")
    assert _completed(bare, members).columns == bare.columns
