"""How fast a run goes, by looks at what it is at."""

from collections import deque
from dataclasses import dataclass

from ticdc_encoder.tso import physical

WINDOW = 15.0
"""Seconds that a rate is taken over."""
BEHIND = 10.0
"""Seconds of lag from which a run that goes on catches up."""
LEAST_GAIN = 0.02
"""Of a second in a second: with less, no end is in sight."""


@dataclass(frozen=True, slots=True)
class _Sample:
    at: float
    resolved_ts: int
    changes: int


class RunSpeed:
    """Of the last `WINDOW` seconds. Times are those of one clock, in seconds."""

    def __init__(self) -> None:
        self._looks: deque[_Sample] = deque()

    def add(self, at: float, resolved_ts: int, changes: int) -> None:
        """What a look showed: R, and the changes since the start of the run."""
        if self._looks and not self._looks[-1].resolved_ts:
            self._looks.clear()  # R was not known yet
        self._looks.append(_Sample(at, resolved_ts, changes))
        while len(self._looks) > 2 and self._looks[1].at < at - WINDOW:
            self._looks.popleft()

    @property
    def rate(self) -> float:
        """Changes a second."""
        first, last = self._looks[0], self._looks[-1]
        return (last.changes - first.changes) / max(1e-9, last.at - first.at)

    @property
    def speed(self) -> float:
        """Seconds of the upstream that R goes on in a second."""
        first, last = self._looks[0], self._looks[-1]
        gained = (physical(last.resolved_ts) - physical(first.resolved_ts)) / 1000
        return gained / max(1e-9, last.at - first.at)

    def seconds_left(self, lag: float, goal: int | None = None) -> float | None:
        """Until R is `goal`, or as late as now; None if there is no end in sight."""
        if not self._looks or self._looks[0].at == self._looks[-1].at:
            return None
        if goal is not None:
            left = (physical(goal) - physical(self._looks[-1].resolved_ts)) / 1000
            return left / self.speed if left > 0 and self.speed > LEAST_GAIN else None
        gain = self.speed - 1.0
        return lag / gain if lag >= BEHIND and gain > LEAST_GAIN else None
