"""`make world SEED=7` tells one history in words, and shrinks it if it goes wrong; `make world
ARGS="--seconds 3600 --first 1000000"` plays one after the other, with `--small` short ones, with
`--dense` such as have a topic for each table and many extras; `make world ARGS="--real 200"` plays
so many for real, too, on the Kafka and the servers that the environment names (tests/README.md)."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from world.history import Outcome, Plan, Worlds, worlds  # noqa: E402
from world.parts import MONOTONIC  # noqa: E402
from world.shrinking import shrunk  # noqa: E402


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make world ARGS=...", description=__doc__)
    parser.add_argument("--seed", type=int, help="one history")
    parser.add_argument("--steps", type=_numbers, help="of a seed: only these, as 0,1,5")
    parser.add_argument("--faults", type=_numbers, help="of a seed: only these, as 0,2")
    parser.add_argument("--extras", help="of a seed: only these, as 'until,repair'")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long, without a seed")
    parser.add_argument("--first", type=int, default=0, help="the seed to begin with")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--small", action="store_true", help="short histories, quickly played")
    kind.add_argument(
        "--dense", action="store_true", help="a topic for each table, and many extras at once"
    )
    parser.add_argument("--real", type=int, metavar="N", help="so many, on real parts")
    arguments = parser.parse_args()
    planned = Plan.small if arguments.small else Plan.dense if arguments.dense else Plan.of
    if arguments.real:
        from world.real_search import search

        return search(planned, arguments.first, arguments.real)
    with worlds() as place:
        if arguments.seed is None:
            return _search(place, planned, arguments.first, arguments.seconds)
        plan = planned(arguments.seed)
        if arguments.steps is not None:
            plan = replace(plan, steps=arguments.steps)
        if arguments.faults is not None:
            plan = replace(plan, faults=tuple(plan.faults[n] for n in arguments.faults))
        if arguments.extras is not None:
            kept = [name for name in plan.extras if name in arguments.extras.split(",")]
            plan = replace(plan, extras=tuple(kept))
        return _tell(place, planned, plan)


Planned = Callable[[int], Plan]


def _search(place: Worlds, planned: Planned, first: int, seconds: float) -> int:
    begun, wrong, covered = MONOTONIC(), 0, Counter[str]()
    for seed in count(first):
        spent = MONOTONIC() - begun
        if spent > seconds:
            played = seed - first
            print(f"{played:,} histories, {played / spent:.1f} a second, {wrong} wrong")
            print(", ".join(f"{what}: {number:,}" for what, number in sorted(covered.items())))
            return 1 if wrong else 0
        outcome = place.play(planned(seed))
        covered.update(outcome.covered)
        if outcome.broken is not None:
            wrong += 1
            print(f"SEED={seed}: {type(outcome.broken).__name__}: {outcome.broken}", flush=True)
    return 0


def _tell(place: Worlds, planned: Planned, plan: Plan) -> int:
    outcome = place.play(plan, words=True)
    if outcome.broken is None:
        _print(outcome)
        return 0
    kind = type(outcome.broken)
    least = shrunk(plan, lambda smaller: isinstance(place.play(smaller).broken, kind))
    _print(place.play(least, words=True))
    whole = planned(plan.seed)
    faults = ",".join(str(whole.faults.index(fault)) for fault in least.faults)
    steps = ",".join(map(str, least.steps))
    kinds: dict[Planned, str] = {Plan.small: "--small ", Plan.dense: "--dense "}
    extras = ",".join(least.extras)
    again = f"{kinds.get(planned, '')}--steps {steps} --faults {faults} --extras '{extras}'"
    print(f'again: make world SEED={plan.seed} ARGS="{again}"')
    return 1


def _print(outcome: Outcome) -> None:
    plan = outcome.plan
    print(f"seed {plan.seed}: {plan.protocol}, apply = {plan.way}, {plan.kind}")
    print(f"extras: {', '.join(plan.extras) or 'none'}")
    for line in outcome.words:
        print(line)
    print(f"faults: {'; '.join(map(str, plan.faults)) or 'none'}")
    if outcome.broken is not None:
        print(f"{type(outcome.broken).__name__}: {outcome.broken}")
    elif outcome.stopped is not None:
        print(f"it stopped, as it must: {outcome.stopped}")
    else:
        print("equal at every commit, up to the end")


if __name__ == "__main__":
    # Sets of names are met in the same order every time.
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(
            sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"}
        )
    sys.exit(main())
