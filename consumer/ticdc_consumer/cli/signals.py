"""SIGINT and SIGTERM, handled where a command can stop.

An exception from a handler would surface in the middle of anything: inside librdkafka's calls it
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
    """Calls `stop` at the first SIGINT or SIGTERM, which ends a run after the current epoch. A
    second signal ends the run at once, and the database rolls back. Yields a list of the signals
    that came."""
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
