"""What a load prints: at most one line a second, with an end in sight, and a sum."""

import time
from typing import TextIO

from ticdc_encoder.errors import visible
from ticdc_encoder.tso import duration, with_time

from ticdc_consumer.state.loading import LoadProgress

SECONDS_PER_LINE = 1.0


class LoadLines:
    """Prints how far a load is. Rows that an earlier run loaded count as done, not as its own."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._began = time.monotonic()
        self._next_line = 0.0
        self._first: LoadProgress | None = None
        self._last: LoadProgress | None = None

    def report(self, progress: LoadProgress) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = progress, now
        self._last = progress
        if now >= self._next_line:
            self._next_line = now + SECONDS_PER_LINE
            self._line(f"loading {progress}{self._end_of(progress, now - self._began)}")

    def _end_of(self, progress: LoadProgress, seconds: float) -> str:
        assert self._first is not None
        rate = (progress.rows_done - self._first.rows_done) / max(1e-9, seconds)
        if rate < 1:
            return ""
        left = max(0, progress.rows - progress.rows_done) / rate
        return f", {rate:,.0f} rows/s, about {duration(left)} left"

    def sum_up(self, resolved_ts: int | None, signal: str) -> None:
        """`resolved_ts` is R, None if `signal` stopped the load."""
        rows = f": {self._last.rows_done:,} rows" if self._last is not None else ""
        if resolved_ts is None:
            self._line(f"stopped by {signal}{rows}; go on with: ticdc-consumer load CONFIG")
        else:
            self._line(
                f"loaded{rows}; R {with_time(resolved_ts)}; go on with: ticdc-consumer run CONFIG"
            )

    def _line(self, text: str) -> None:
        print(visible(text), file=self._out, flush=True)
