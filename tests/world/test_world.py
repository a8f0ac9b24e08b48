"""The consumer as it is, in a world of models: whatever befalls it, the promise holds."""

import threading
import time
from dataclasses import replace

import pytest
from world.extras import EXTRAS
from world.history import FAULTS, HARMFUL, Outcome, Plan, Worlds, worlds
from world.invariants import MUTANTS
from world.judge import Broken
from world.mutants import mutated
from world.shrinking import shrunk

HISTORIES, LONG = 20, 2_000
"""Of one test, and with `--long`."""
PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_no_history_breaks_the_promise(part: int, long: bool) -> None:
    histories = LONG if long else HISTORIES
    with worlds() as place:
        for seed in range(part * histories, (part + 1) * histories):
            outcome = place.play(Plan.of(seed))
            if outcome.broken is not None:
                raise AssertionError(f"make world SEED={seed}") from outcome.broken


DENSE = 10
"""Of one test; with `--long` a tenth of the others."""


@pytest.mark.parametrize("part", range(4))
def test_no_dense_history_breaks_the_promise(part: int, long: bool) -> None:
    histories = LONG // 10 if long else DENSE
    with worlds() as place:
        for seed in range(part * histories, (part + 1) * histories):
            outcome = place.play(Plan.dense(seed))
            if outcome.broken is not None:
                raise AssertionError(f"make world SEED={seed} ARGS=--dense") from outcome.broken


def same(one: Outcome, other: Outcome) -> bool:
    return (one.words, one.covered) == (other.words, other.covered)


@pytest.mark.parametrize("seed", range(5))
def test_a_seed_repeats_exactly(seed: int) -> None:
    with worlds() as place:
        first = place.play(Plan.of(seed), words=True)
        place.play(Plan.of(seed + 1))
        assert len(first.words) > 10
        assert same(place.play(Plan.of(seed), words=True), first)


@pytest.mark.parametrize("seed", [71, 77, 88, 139])
def test_a_filter_grows_while_rows_of_its_tables_come(seed: int) -> None:
    plan = replace(Plan.of(seed), way="net", protocol="canal-json")
    with worlds() as place:
        outcome = place.play(replace(plan, extras=("snapshot", "wider filter")))
    assert outcome.broken is None
    assert outcome.covered["wider filter: done"]


@pytest.mark.parametrize(
    ("seed", "extras"),
    [
        (603530, ("refused rows", "restored", "snapshot")),  # restored before it was set aside
        (602424, ("looked at", "late schemas")),  # brokers are silent while a schema is waited for
        (610556, ("loaded again",)),  # by two people at once
    ],
)
def test_a_history_that_once_was_wrong_is_right(seed: int, extras: tuple[str, ...]) -> None:
    with worlds() as place:
        assert place.play(replace(Plan.of(seed), extras=extras)).broken is None


@pytest.mark.timeout(120)
def test_a_thread_of_a_library_takes_no_part() -> None:
    ended = threading.Event()
    naps = list[float]()

    def nap() -> None:
        while not ended.is_set():
            time.sleep(0.0002)
            naps.append(0.0002)

    thread = threading.Thread(target=nap)
    thread.start()
    try:
        with worlds() as place:
            for seed in range(8):
                assert place.play(Plan.of(seed)).broken is None
        assert thread.is_alive()
    finally:
        ended.set()
        thread.join()
    assert naps


def test_plans_have_every_fault_at_every_door() -> None:
    planned = {(f.kind, f.door) for seed in range(2_000) for f in Plan.of(seed).faults}
    known = {
        (kind, door)
        for kinds in (FAULTS, HARMFUL)
        for kind, doors in kinds.items()
        for door, _ in doors
    }
    assert planned == known


def test_plans_have_every_extra() -> None:
    assert {name for seed in range(500) for name in Plan.of(seed).extras} == {*EXTRAS}


def broken(place: Worlds, plan: Plan) -> bool:
    return isinstance(place.play(plan).broken, Broken)


def test_a_history_that_goes_wrong_is_shrunk_to_what_it_takes() -> None:
    closed_cut = next(mutant for mutant in MUTANTS if mutant.name == "open-cut")
    with worlds() as place, mutated(closed_cut):
        plan = next(plan for seed in range(50) if broken(place, plan := Plan.of(seed)))
        least = shrunk(plan, lambda smaller: broken(place, smaller))
        assert broken(place, least)
    assert least.faults == ()
    assert len(least.steps) <= 3
