"""When a consumer that waits takes its leader for gone."""

from collections.abc import Sequence

import pytest
from ticdc_consumer.status.standby import Signs, Watch

PATIENCE = 30.0

Look = tuple[float, Signs]


def alive(resolved_ts: int = 100, age: float = 2.0, generation: int = 3) -> Signs:
    return Signs(generation, resolved_ts, generation, False, age)


ENDED = Signs(3, 100, 3, True, 2.0)

CASES: dict[str, tuple[Sequence[Look], bool]] = {
    "without a checkpoint there is no leader": ([(0, Signs())], True),
    "one that wrote lately is alive": ([(0, alive())], False),
    "one that says that it ended is gone at once": ([(0, ENDED)], True),
    "one that wrote long ago is watched first": ([(0, alive(age=500))], False),
    "and is gone if its checkpoint stays as it is": (
        [(0, alive(age=500)), (29, alive(age=529)), (30, alive(age=530))],
        True,
    ),
    "one that cannot write its activity raises R": (
        [(0, alive(age=500)), (29, alive(101, 529)), (58, alive(101, 558))],
        False,
    ),
    "one that has just taken over is alive, whatever its predecessor said": (
        [(0, Signs(4, 100, 3, True, 2.0))],
        False,
    ),
    "a new generation is a sign, too": (
        [(0, alive(age=500)), (29, alive(age=529)), (40, Signs(4, 100, 3, False, 540))],
        False,
    ),
    "one of a release without activity shows itself by R": (
        [(0, Signs(3, 100)), (29, Signs(3, 101)), (58, Signs(3, 102))],
        False,
    ),
    "and is gone if R stays": ([(0, Signs(3, 100)), (30, Signs(3, 100))], True),
    "one that writes and commits nothing is alive": (
        [(0, alive()), (100, alive()), (200, alive())],
        False,
    ),
    "one whose last word gets too old is gone": (
        [(0, alive()), (10, alive(age=12)), (28, alive(age=30)), (31, alive(age=33))],
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_leader_is_gone(name: str) -> None:
    looks, gone = CASES[name]
    watch = Watch(PATIENCE)
    verdicts = [watch.is_gone(signs, now) for now, signs in looks]
    assert verdicts[-1] == gone
    assert not any(verdicts[:-1])
