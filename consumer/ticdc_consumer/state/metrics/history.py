"""How far R was behind over the last hour."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ticdc_encoder.tso import seconds

from ticdc_consumer.state.activity.activity import Activity

STEP = 15.0
"""Seconds between two samples."""
HOUR = 3600.0
MOST_SAMPLES = int(HOUR / STEP)


@dataclass(frozen=True, slots=True)
class LagSample:
    """R was `lag` seconds behind `at` a time, in seconds since 1970."""

    at: float
    lag: float

    @classmethod
    def of(cls, activity: Activity) -> "LagSample | None":
        """None as long as there is no R."""
        if not activity.resolved_ts:
            return None
        return cls(activity.at, max(0.0, activity.at - seconds(activity.resolved_ts)))


class LagHistory:
    """The samples of an hour; older ones are dropped."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = clock()
        self._samples: deque[LagSample] = deque(maxlen=MOST_SAMPLES)

    def note(self, look: Callable[[], Activity]) -> None:
        """Takes a sample, if one is due."""
        now = self._clock()
        if now < self._due:
            return
        self._due = now + STEP
        sample = LagSample.of(look())
        if sample is not None:
            self._samples.append(sample)

    @property
    def samples(self) -> tuple[LagSample, ...]:
        """From the oldest to the newest."""
        return tuple(self._samples)
