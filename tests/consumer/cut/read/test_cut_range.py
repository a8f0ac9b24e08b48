"""Which commit_ts a task reads: the half-open range of the cut."""

from dataclasses import replace

import pytest
from support.both_paths import PLACE, job_of, options_for
from ticdc_consumer.cut.read.cut_range import CutRange
from ticdc_consumer.cut.read.progress import PartitionProgress
from ticdc_consumer.errors import LOAD_ANEW, Stop

CASES = [
    ("below the begin it is a replay", 4, False, {7: 1}, None),
    ("the begin is of the cut", 5, True, {}, None),
    ("the last below the end, too", 8, True, {}, None),
    ("the end is not: the next cut starts there", 9, False, {}, 33),
]


@pytest.mark.parametrize(
    ("commit_ts", "holds", "replays", "later"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_a_cut_holds_its_begin_and_not_its_end(
    commit_ts: int, holds: bool, replays: dict[int, int], later: int | None
) -> None:
    cut = CutRange(job_of(options_for("canal-json"), {}, begin=5, end=9))
    progress = PartitionProgress(PLACE, 0, 50, 33)
    assert cut.holds(progress, 7, commit_ts, 33, 0) == holds
    assert (cut.replays, progress.least_later) == (replays, later)


def test_a_replay_in_a_new_partition_is_sent_after_the_proof() -> None:
    job = job_of(options_for("canal-json", clock_skew=2.0), {}, begin=5, end=9)
    cut = CutRange(replace(job, joined=frozenset([PLACE]), proof_time=1000))
    progress = PartitionProgress(PLACE, 0, 50, 33)
    assert not cut.holds(progress, 7, 4, 33, 3001)
    with pytest.raises(Stop, match="a new partition holds commit_ts 4, below the applied 5"):
        cut.holds(progress, 7, 4, 33, 3000)


SENT = [
    ("by a clock that was set back", 0, "sent before that was proven"),
    ("within what clocks differ", 2000, "sent hardly after that"),
]


@pytest.mark.parametrize(("time", "when"), [c[1:] for c in SENT], ids=[c[0] for c in SENT])
def test_what_may_be_no_replay_tells_why_and_what_to_do(time: int, when: str) -> None:
    job = job_of(options_for("canal-json", clock_skew=2.0), {}, begin=5, end=9)
    cut = CutRange(replace(job, joined=frozenset([PLACE]), proof_time=1000))
    with pytest.raises(Stop) as stop:
        cut.holds(PartitionProgress(PLACE, 0, 50, 33), 7, 4, 33, time)
    told = str(stop.value)
    assert when in told and told.endswith(LOAD_ANEW)
    assert (
        "the clock of TiCDC was set back, or a new changefeed or PD began at an older TSO" in told
    )
