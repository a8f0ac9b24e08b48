"""TiDB's timestamps."""

from datetime import UTC, datetime

import pytest
from ticdc_encoder.tso import compose, duration, moment, physical, seconds, with_time

TS = 429918007904436226


def test_a_timestamp_is_milliseconds_and_a_counter() -> None:
    assert physical(TS) == 1640007049196
    assert compose(1640007049196) <= TS < compose(1640007049197)
    assert seconds(TS) == 1640007049.196


def test_a_timestamp_is_printed_with_its_time() -> None:
    assert moment(TS) == datetime(2021, 12, 20, 13, 30, 49, 196_000, UTC)
    assert with_time(TS) == "429918007904436226 (2021-12-20 13:30:49.196 UTC)"


def test_the_greatest_timestamp_has_a_time() -> None:
    assert moment((1 << 64) - 1).year == 4199


DURATIONS = [(0.84, "0.8 s"), (119, "119.0 s"), (300, "5 min"), (3 * 3600, "3 h"), (1e6, "12 d")]


@pytest.mark.parametrize(("length", "text"), DURATIONS)
def test_a_duration_is_in_its_own_unit(length: float, text: str) -> None:
    assert duration(length) == text
