"""TIMESTAMP text of a TiCDC server's zone in UTC."""

import pyarrow as pa
import pytest
from ticdc_consumer.cut.read.time_zone import Zone
from ticdc_consumer.errors import Stop

TIMES = [
    ("Asia/Shanghai", "2024-01-01 08:00:00", "2024-01-01 00:00:00"),
    ("Asia/Shanghai", "2024-01-01 08:00:00.123456", "2024-01-01 00:00:00.123456"),
    ("Europe/Berlin", "2024-07-01 02:00:00.5", "2024-07-01 00:00:00.5"),
    ("Europe/Berlin", "0000-00-00 00:00:00.000", "0000-00-00 00:00:00.000"),
    ("Europe/Berlin", None, None),
]


@pytest.mark.parametrize(("zone", "local", "utc"), TIMES)
def test_a_time_of_the_zone_is_one_in_utc(zone: str, local: str | None, utc: str | None) -> None:
    assert Zone(zone).to_utc(pa.array([local], pa.string()), "t.c").to_pylist() == [utc]


WRONG = [
    ("2024-10-27 02:30:00", "t.c: a time that occurs twice or never in Europe/Berlin"),
    ("2024-03-31 02:30:00.25", "t.c: a time that occurs twice or never in Europe/Berlin"),
    ("2024-02-30 00:00:00", "t.c: not a TIMESTAMP"),
]


@pytest.mark.parametrize(("local", "message"), WRONG)
def test_a_time_that_is_no_moment_or_two_stops(local: str, message: str) -> None:
    with pytest.raises(Stop, match=message):
        Zone("Europe/Berlin").to_utc(pa.array([local], pa.string()), "t.c")


@pytest.mark.parametrize(("zone", "fixed"), [("Asia/Tokyo", False), ("Etc/GMT-9", True)])
def test_a_zone_is_fixed_if_its_clocks_were_never_changed(zone: str, fixed: bool) -> None:
    assert Zone(zone).fixed == fixed
