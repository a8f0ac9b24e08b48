"""A history that goes wrong, with as little in it as may be."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from world.history import Plan

MOST_TRIES = 300


def shrunk(plan: Plan, goes_wrong: Callable[[Plan], bool]) -> Plan:
    """The plan without the faults, extras and steps that it does not take."""
    tries = 0
    while True:
        for smaller in _smaller(plan):
            tries += 1
            if goes_wrong(smaller):
                plan = smaller
                break
            if tries > MOST_TRIES:
                return plan
        else:
            return plan


def _smaller(plan: Plan) -> Iterator[Plan]:
    """Without many of the last steps, without one extra, one fault, one step."""
    steps, faults = plan.steps, plan.faults
    for kept in (len(steps) // 4, len(steps) // 2, 3 * len(steps) // 4):
        if 0 < kept < len(steps):
            yield replace(plan, steps=steps[:kept])
    for name in plan.extras:
        yield replace(plan, extras=tuple(other for other in plan.extras if other != name))
    for n in range(len(faults)):
        yield replace(plan, faults=faults[:n] + faults[n + 1 :])
    for n in reversed(range(len(steps))):
        if len(steps) > 1:
            yield replace(plan, steps=steps[:n] + steps[n + 1 :])
