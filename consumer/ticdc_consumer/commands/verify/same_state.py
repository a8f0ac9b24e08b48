"""Two targets of one upstream, each with its own consumer, seen at the same R."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass

from ticdc_encoder.tso import with_time

from ticdc_consumer.commands.verify.target_state import TargetState, one_state, resolved_ts_of
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets import open_target
from ticdc_consumer.waiting import Deadline, sleep

PATIENCE = 60.0
"""Seconds for two consumers to reach the same R."""
PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Side:
    """A changefeed in its target. If only a URL names it, not all its settings are known."""

    options: Settings
    same_scope: bool = True


@contextmanager
def same_state(mine: Side, theirs: Side) -> Iterator[tuple[TargetState, TargetState]]:
    """Holds one target's state until the other reaches the same R; if that one steps over it, swaps
    them. Raises `Stop` with advice if they do not meet in time."""
    deadline = Deadline(PATIENCE)
    leads, follows = mine, theirs
    while True:
        with ExitStack() as stack:
            state = stack.enter_context(_state(leads))
            reached = _await(follows, state.resolved_ts, deadline)
            if reached == state.resolved_ts:
                other = stack.enter_context(_state(follows))
                if other.resolved_ts == state.resolved_ts:
                    yield (state, other) if leads is mine else (other, state)
                    return
        if deadline.passed:
            raise _apart(leads, state.resolved_ts, follows, reached)
        if reached > state.resolved_ts:
            leads, follows = follows, leads


def _state(side: Side) -> AbstractContextManager[TargetState]:
    return one_state(side.options, 1, same_scope=side.same_scope)


def _await(side: Side, resolved_ts: int, deadline: Deadline) -> int:
    """R of the side once it is not below `resolved_ts`, or the time is over."""
    options = side.options
    with closing(
        open_target(options.target_url, to_look=True, changefeed=options.changefeed)
    ) as target:
        while True:
            reached = resolved_ts_of(options, target, side.same_scope)
            if reached >= resolved_ts or deadline.passed:
                return reached
            sleep(PAUSE)


def _apart(one: Side, at: int, other: Side, reached: int) -> Stop:
    least, goal = sorted((at, reached))
    names = one.options.changefeed, other.options.changefeed
    return Stop(
        f"changefeeds {' and '.join(names)} did not reach the same R within {PATIENCE:.0f} s: they "
        f"are at {with_time(at)} and {with_time(reached)}; end both consumers, bring the one that "
        f"is at {least} to the other's R by: ticdc-consumer run CONFIG --until {goal}, and verify "
        "before they start again"
    )
