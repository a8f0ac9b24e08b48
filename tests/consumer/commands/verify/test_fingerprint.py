"""Sets of rows are compared in whatever order they come."""

from random import Random

import pytest
from ticdc_consumer.commands.verify import fingerprint
from ticdc_consumer.commands.verify.fingerprint import Fingerprint, Row, groups

ROWS: list[Row] = [(str(n), "x" if n % 3 else None) for n in range(1000)]


def of(rows: list[Row]) -> Fingerprint:
    made = Fingerprint()
    for start in range(0, len(rows), 300):
        made.add(rows[start : start + 300], lambda row: row[0])
    return made


def test_the_order_does_not_matter() -> None:
    shuffled = list(ROWS)
    Random(1).shuffle(shuffled)
    assert of(ROWS).unlike(of(shuffled)) == []
    assert of(ROWS).rows == 1000


@pytest.mark.parametrize(
    "other",
    [
        ROWS[1:],
        [*ROWS, ROWS[0]],
        [*ROWS[1:], ROWS[1]],
        [*ROWS, ("-1", None)],
        [("0", "x"), *ROWS[1:]],
        [("0", ""), *ROWS[1:]],
        [("0", "None"), *ROWS[1:]],
        [("0", ROWS[1][1]), ("1", ROWS[0][1]), *ROWS[2:]],
    ],
    ids=["missing", "doubled", "replaced", "extra", "changed", "empty", "named None", "swapped"],
)
def test_what_differs_is_in_an_unlike_bucket(other: list[Row]) -> None:
    buckets = of(ROWS).unlike(of(other))
    keys = {key for row in set(ROWS) ^ set(other) for key in row[:1]}
    assert 1 <= len(buckets) <= 2
    assert {hash(key) & (fingerprint.BUCKETS - 1) for key in keys} <= set(buckets)


def test_groups_of_buckets_fit_into_memory() -> None:
    one, other = of(ROWS), of([])
    buckets = one.unlike(other)
    parts = groups(buckets, one, other, 100)
    assert sorted(bucket for part in parts for bucket in part) == buckets
    assert max(sum(one.counts[bucket] for bucket in part) for part in parts) <= 100
    assert len(parts) < 15
    assert len(groups(buckets, one, other, 1)) == len(buckets)
