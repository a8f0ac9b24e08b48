"""How fast a run goes, and when it will have caught up."""

import pytest
from ticdc_consumer.cli.run_speed import RunSpeed
from ticdc_encoder.tso import compose

HOUR = 3_600_000


def looked(*looks: tuple[float, int, int]) -> RunSpeed:
    """Seconds of the clock, milliseconds of R after the first hour, changes."""
    pace = RunSpeed()
    for at, milliseconds, changes in looks:
        pace.add(at, compose(HOUR + milliseconds), changes)
    return pace


def test_a_rate_is_that_of_the_last_seconds() -> None:
    assert looked((0, 0, 0), (10, 0, 1000)).rate == 100
    many = looked(*((float(at), 0, at * at) for at in range(61)))
    assert 85 < many.rate < 115  # not 60, the mean of the minute


CATCHING_UP = [
    ("an hour behind, at five times the pace", 5_000, 3_600.0, None, 900.0),
    ("as fast as the upstream", 1_000, 3_600.0, None, None),
    ("slower than the upstream", 500, 3_600.0, None, None),
    ("not behind", 5_000, 2.0, None, None),
    ("to an end that is 50 s away", 5_000, 3_600.0, 55_000, 10.0),
    ("at its end", 5_000, 3_600.0, 5_000, None),
    ("standing still before its end", 0, 3_600.0, 55_000, None),
]


@pytest.mark.parametrize(
    ("moved", "lag", "goal", "left"),
    [each[1:] for each in CATCHING_UP],
    ids=[e[0] for e in CATCHING_UP],
)
def test_an_end_is_in_sight(moved: int, lag: float, goal: int | None, left: float | None) -> None:
    pace = looked((0, 0, 0), (1, moved, 10))
    end = None if goal is None else compose(HOUR + goal)
    assert pace.seconds_left(lag, end) == left


def test_one_look_shows_no_end() -> None:
    assert RunSpeed().seconds_left(100.0) is None
    assert looked((0, 0, 0)).seconds_left(100.0) is None


def test_r_that_comes_late_is_no_leap() -> None:
    pace = RunSpeed()
    pace.add(0, 0, 0)
    pace.add(1, compose(HOUR), 0)
    pace.add(2, compose(HOUR + 1000), 0)
    assert pace.speed == 1.0
