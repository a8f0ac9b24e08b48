"""Waiting and retrying: the pause between two tries, and when the last one was made.

`retried` is the only loop of tries. Its pauses determine how long it runs:

    pauses             what is tried             on                      who tries it
    backing_off(N)     a transaction             Retry, UnknownCommit    state.retry.until_known
                       a cut                     Retry, StagedRowsLost   cut.epoch.Epochs
                       reading a cut             Retry                   cut.read_ahead.Preparer
                       a chunk of a load         Retry, UnknownCommit    commands.load.copying
                       the chunks that remain    Retry                   commands.load.loading
                       a step of a later load    Retry, UnknownCommit    commands.load.again
    every(1 s)         reaching the target       Away, Retry             state.lease.Lease
    within(PATIENCE)   sources, dumps, locks     Unavailable and others  callers of `patiently`

N is `[limits] retries`. The deadline of `within` is a time, since nobody knows how often a
server can be asked in it; `backing_off` counts tries, since each may take as long as a cut does.
Tests shorten every pause by `at_pace`; deadlines stay as they are.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat, takewhile
from typing import TypeVar

from ticdc_consumer.errors import Unavailable

PAUSE = 0.2
"""Seconds between two tries, unless the caller says otherwise."""
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
"""Seconds: `backing_off` begins with the first, and doubles it up to the longest."""

Errors = type[Exception] | tuple[type[Exception], ...]

T = TypeVar("T")

_pace = 1.0


class Deadline:
    """A moment, `patience` seconds after its creation or last renewal."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.renew()

    def renew(self) -> None:
        self._at = time.monotonic() + self._patience

    @property
    def left(self) -> float:
        """The seconds until then, at least 0."""
        return max(0.0, self._at - time.monotonic())

    @property
    def passed(self) -> bool:
        return time.monotonic() > self._at


def retried(
    attempt: Callable[[], T],
    pauses: Iterable[float],
    on: Errors,
    *,
    recover: Callable[[], object] = lambda: None,
    failed: Callable[[Exception], object] = lambda error: None,
    recovered: Callable[[], object] = lambda: None,
) -> T:
    """Returns what `attempt` returns, tried again after each of the `pauses` as long as it raises
    `on`.

    `recover` runs before each further try, as a part of it; `failed` is told each error, and may
    raise another to end the tries; `recovered` runs when a further try has succeeded. Raises the
    last error when the pauses are over.
    """
    left = iter(pauses)
    tried = False
    while True:
        try:
            if tried:
                recover()
            result = attempt()
        except on as error:
            failed(error)
            pause = next(left, None)
            if pause is None:
                raise
        else:
            if tried:
                recovered()
            return result
        tried = True
        sleep(pause)


def backing_off(retries: int, first: float = FIRST_PAUSE) -> Iterator[float]:
    """`retries` pauses in seconds, each longer than the one before. Their lengths are partly
    random: two processes that disturbed each other must not retry at the same moment."""
    for retry in range(retries):
        yield min(LONGEST_PAUSE, first * 2**retry) * random.uniform(0.5, 1)


def within(patience: float, pause: float = PAUSE) -> Iterator[float]:
    """Pauses of one length until `patience` seconds from now have passed."""
    deadline = Deadline(patience)
    return takewhile(lambda _: not deadline.passed, repeat(pause))


def every(pause: float) -> Iterator[float]:
    """Pauses of one length without end."""
    return repeat(pause)


def patiently(
    attempt: Callable[[], T], patience: float, on: Errors = Unavailable, pause: float = PAUSE
) -> T:
    """Returns what `attempt` returns, tried again for `patience` seconds as long as it raises `on`.

    Raises the last error when the time is over.
    """
    return retried(attempt, within(patience, pause), on)


def until(condition: Callable[[], bool], patience: float, pause: float = PAUSE) -> bool:
    """Returns whether `condition` became true within `patience` seconds."""
    deadline = Deadline(patience)
    while not condition():
        if deadline.passed:
            return False
        sleep(pause)
    return True


def sleep(seconds: float) -> None:
    time.sleep(seconds * _pace)


@contextmanager
def at_pace(pace: float) -> Iterator[None]:
    """Multiplies every pause of this process, for tests."""
    global _pace
    before, _pace = _pace, pace
    try:
        yield
    finally:
        _pace = before
