"""Where the next cut must read a partition from."""

import pytest
from ticdc_consumer.cut.read.progress import PartitionProgress, restart_offset

RESTARTS = [
    ("after the mark that is the end", 50, 20, False, None, 21),
    ("at the mark that is greater: it will prove a later cut", 50, 20, True, None, 20),
    ("at the listed end where no mark ended the read", 50, None, False, None, 50),
    ("at the least row of a later cut", 50, 20, False, 7, 7),
    ("at the least row of a later cut, without a mark", 50, None, False, 7, 7),
    ("of a part, elsewhere, if all of it is done with", None, None, False, None, None),
    ("of a part, at the least row of a later cut", None, None, False, 7, 7),
    ("of a part, after the mark that is the end", None, 20, False, None, 21),
]


@pytest.mark.parametrize(
    ("end", "stopped_at", "above", "later", "restart"),
    [r[1:] for r in RESTARTS],
    ids=[r[0] for r in RESTARTS],
)
def test_where_a_partition_goes_on(
    end: int | None, stopped_at: int | None, above: bool, later: int | None, restart: int | None
) -> None:
    assert restart_offset(end, stopped_at, above, later) == restart


def test_a_partition_continues_at_the_first_later_record() -> None:
    progress = PartitionProgress(("t", 0), 0, end=50, position=0)
    progress.keep(7)
    progress.keep(9)
    progress.stop(20, above=False)
    assert (progress.restart, progress.done) == (7, True)
