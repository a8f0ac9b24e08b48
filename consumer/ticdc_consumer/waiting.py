"""Waiting: the pause between two tries, and trying until a deadline.

Tests shorten every pause by `at_pace`; deadlines stay as they are.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ticdc_consumer.errors import Unavailable

PAUSE = 0.2
"""Seconds between two tries, unless the caller says otherwise."""
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
"""Seconds: `back_off` begins with the first, and doubles it up to the longest."""

T = TypeVar("T")

_pace = 1.0


class Deadline:
    """A moment, `patience` seconds away from its making or its last renewal."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.renew()

    def renew(self) -> None:
        self._at = time.monotonic() + self._patience

    @property
    def left(self) -> float:
        """Seconds until then, at least 0."""
        return max(0.0, self._at - time.monotonic())

    @property
    def passed(self) -> bool:
        return time.monotonic() > self._at


def patiently(
    attempt: Callable[[], T],
    patience: float,
    on: type[Exception] | tuple[type[Exception], ...] = Unavailable,
    pause: float = PAUSE,
) -> T:
    """What `attempt` returns, tried again for `patience` seconds as long as it raises `on`.

    Raises the last error when the time is over.
    """
    deadline = Deadline(patience)
    while True:
        try:
            return attempt()
        except on:
            if deadline.passed:
                raise
        sleep(pause)


def until(condition: Callable[[], bool], patience: float, pause: float = PAUSE) -> bool:
    """Whether `condition` became true within `patience` seconds."""
    deadline = Deadline(patience)
    while not condition():
        if deadline.passed:
            return False
        sleep(pause)
    return True


def back_off(attempts: int) -> None:
    """Pauses before the next attempt, longer after each. The length is random in part: two that
    disturbed each other must not try again at the same moment."""
    sleep(min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempts) * random.uniform(0.5, 1))


def sleep(seconds: float) -> None:
    time.sleep(seconds * _pace)


@contextmanager
def at_pace(pace: float) -> Iterator[None]:
    """For tests: multiplies every pause of this process."""
    global _pace
    before, _pace = _pace, pace
    try:
        yield
    finally:
        _pace = before
