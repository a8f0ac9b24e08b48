"""The lag of R over the last hour, and the recent rate of rows."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ticdc_encoder.tso import seconds

from ticdc_consumer.status.activity.activity import Activity

STEP = 15.0
"""Seconds between two samples."""
HOUR = 3600.0
MOST_SAMPLES = int(HOUR / STEP)
LATELY = 60.0
"""Seconds over which the rates of tables are measured."""


@dataclass(frozen=True, slots=True)
class LagSample:
    """A sample: R was `lag` seconds behind `at` a time, in seconds since 1970."""

    at: float
    lag: float

    @classmethod
    def of(cls, activity: Activity) -> "LagSample | None":
        """The sample; None as long as there is no R."""
        if not activity.resolved_ts:
            return None
        return cls(activity.at, max(0.0, activity.at - seconds(activity.resolved_ts)))


class PageHistory:
    """The lag's samples of an hour, and the tables' rows of the last minute; older ones are
    dropped."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = clock()
        self._samples: deque[LagSample] = deque(maxlen=MOST_SAMPLES)
        self._rows: deque[tuple[float, Mapping[str, int]]] = deque(maxlen=int(LATELY / STEP) + 1)

    def note(self, look: Callable[[], Activity]) -> None:
        """Takes a sample if one is due."""
        now = self._clock()
        if now < self._due:
            return
        self._due = now + STEP
        activity = look()
        self._rows.append((activity.at, _rows_of(activity)))
        sample = LagSample.of(activity)
        if sample is not None:
            self._samples.append(sample)

    def rates(self, activity: Activity) -> dict[str, float]:
        """Rows written and deleted per second, by table, since the oldest sample; empty within a
        second of it."""
        if not self._rows:
            return {}
        at, then = self._rows[0]
        if activity.at - at < 1:
            return {}
        now = _rows_of(activity)
        return {name: (now[name] - then.get(name, 0)) / (activity.at - at) for name in now}

    @property
    def samples(self) -> tuple[LagSample, ...]:
        """The samples, oldest first."""
        return tuple(self._samples)


def _rows_of(activity: Activity) -> dict[str, int]:
    return {name: deleted + written for name, (deleted, written) in activity.tables.items()}
