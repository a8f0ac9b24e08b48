"""Speed of a run, measured from samples of its progress."""

from collections import deque
from dataclasses import dataclass

from ticdc_encoder.tso import physical

WINDOW = 15.0
"""Seconds over which a rate is measured."""
BEHIND = 10.0
"""Seconds of lag from which a continuous run is catching up."""
LEAST_GAIN = 0.02
"""Gain in seconds per second below which no end is in sight."""


@dataclass(frozen=True, slots=True)
class _Sample:
    at: float
    resolved_ts: int
    changes: int


class RunSpeed:
    """Speed over the last `WINDOW` seconds. Times are in seconds of one clock."""

    def __init__(self) -> None:
        self._looks: deque[_Sample] = deque()

    def add(self, at: float, resolved_ts: int, changes: int) -> None:
        """Adds a sample: R, and the changes since the start of the run."""
        if self._looks and not self._looks[-1].resolved_ts:
            self._looks.clear()  # R was not known yet
        self._looks.append(_Sample(at, resolved_ts, changes))
        while len(self._looks) > 2 and self._looks[1].at < at - WINDOW:
            self._looks.popleft()

    @property
    def rate(self) -> float:
        """Changes per second."""
        first, last = self._looks[0], self._looks[-1]
        return (last.changes - first.changes) / max(1e-9, last.at - first.at)

    @property
    def speed(self) -> float:
        """The upstream's seconds by which R advances per second."""
        first, last = self._looks[0], self._looks[-1]
        gained = (physical(last.resolved_ts) - physical(first.resolved_ts)) / 1000
        return gained / max(1e-9, last.at - first.at)

    def seconds_left(self, lag: float, goal: int | None = None) -> float | None:
        """The seconds until R is `goal`, or reaches the present; None if no end is in sight."""
        if not self._looks or self._looks[0].at == self._looks[-1].at:
            return None
        if goal is not None:
            left = (physical(goal) - physical(self._looks[-1].resolved_ts)) / 1000
            return left / self.speed if left > 0 and self.speed > LEAST_GAIN else None
        gain = self.speed - 1.0
        return lag / gain if lag >= BEHIND and gain > LEAST_GAIN else None
