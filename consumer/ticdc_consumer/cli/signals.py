"""SIGINT and SIGTERM, heeded where a command can stop.

An exception from a handler would come up in the middle of anything: in librdkafka's calls it
becomes a SystemError, or is lost.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[list[signal.Signals]]:
    """The first SIGINT or SIGTERM calls `stop`, which ends a run after the epoch that is under way;
    one more ends it at once, and the database undoes what was not committed. Yields a list of the
    signals that came."""
    signals: list[signal.Signals] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        if signals:
            raise KeyboardInterrupt
        signals.append(signal.Signals(number))
        stop()

    before = {n: signal.signal(n, on_signal) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_by(number: signal.Signals) -> NoReturn:
    """Ends the command: SIGINT with its message, SIGTERM with its exit code alone."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)
