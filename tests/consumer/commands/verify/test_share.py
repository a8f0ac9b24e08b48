"""Each key is in one share, and in the same one tomorrow."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ticdc_consumer.commands.verify import share
from ticdc_consumer.commands.verify.share import Share

HOUR = 3_600.0
KEYS = st.integers(-(1 << 63), (1 << 64) - 1)


@pytest.mark.parametrize(
    ("now", "every", "expected"),
    [
        (0.0, HOUR, Share(0, 24)),
        (HOUR - 0.1, HOUR, Share(0, 24)),
        (HOUR, HOUR, Share(1, 24)),
        (25 * HOUR, HOUR, Share(1, 24)),
        (0.0, 1.0, Share(0, 86_400)),
        (5 * 24 * HOUR, 48 * HOUR, Share(0, 1)),
    ],
)
def test_a_share_has_its_turn_by_the_time_of_day(now: float, every: float, expected: Share) -> None:
    assert Share.at(now, every) == expected


def holds(ranges: share.Ranges, key: int) -> bool:
    return any((low is None or key >= low) and (high is None or key < high) for low, high in ranges)


@given(st.integers(1, 30), st.integers(0, 1 << 32), KEYS, KEYS, KEYS)
def test_each_key_is_in_one_share_even_beyond_the_ends(
    shares: int, first: int, one: int, other: int, key: int
) -> None:
    low, high = sorted((one, other))
    having = [
        number
        for number in range(shares)
        if holds(Share(number, shares).ranges(first, low, high), key)
    ]
    assert len(having) == 1


@given(st.integers(1, 30), st.integers(1, 1 << 40), st.floats(1, 2), st.floats(0, 1))
def test_a_key_stays_in_its_share_while_its_table_grows(
    shares: int, keys: int, growth: float, where: float
) -> None:
    more, key = int(keys * growth), int(keys * where)
    assume(share.size_of(shares, 0, keys) == share.size_of(shares, 0, more))
    for number in range(shares):
        before, after = (Share(number, shares).ranges(7, 0, high) for high in (keys, more))
        assert holds(before, key) == holds(after, key)


def test_a_large_table_is_divided_evenly() -> None:
    rows = [0] * 24
    for number in range(24):
        for low, high in Share(number, 24).ranges(3, 1, 25_000_000):
            rows[number] += (25_000_001 if high is None else high) - (1 if low is None else low)
    assert sum(rows) == 25_000_000
    assert max(rows) < 2 * 25_000_000 / 24


def test_a_small_table_is_in_one_share() -> None:
    parts = [Share(number, 24).ranges(3, 1, 9_000) for number in range(24)]
    assert [part for part in parts if part] == [((None, None),)]
