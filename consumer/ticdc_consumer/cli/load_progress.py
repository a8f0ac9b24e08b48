"""Log lines of a load: at most one a second, with an estimated end, and a sum."""

import logging
import time
from collections.abc import Sequence

from ticdc_encoder.counted import counted
from ticdc_encoder.tso import duration, with_time

from ticdc_consumer.state.loading import LoadProgress

logger = logging.getLogger(__name__)

SECONDS_PER_LINE = 1.0


class LoadLines:
    """Logs the progress of a load. Rows that an earlier load wrote count as done, not as its
    own.
    """

    def __init__(self, tables: Sequence[str] = ()) -> None:
        """`tables` are those loaded again while others are in use; none for a first load."""
        self._tables = tables
        self._began = time.monotonic()
        self._next_line = 0.0
        self._first: LoadProgress | None = None
        self._last: LoadProgress | None = None

    def report(self, progress: LoadProgress) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = progress, now
        self._last = progress
        if now < self._next_line:
            return
        self._next_line = now + SECONDS_PER_LINE
        rate = (progress.rows_done - self._first.rows_done) / max(1e-9, now - self._began)
        ahead = ""
        if rate >= 1:
            left = max(0, progress.rows - progress.rows_done) / rate
            ahead = f", {rate:,.0f} rows/s, about {duration(left)} left"
        fields = {**progress.to_json(), "rows_per_second": rate}
        logger.info("loading %s%s", progress, ahead, extra={"event": "loading", **fields})

    def sum_up(self, resolved_ts: int | None, signal: str) -> None:
        """Logs the sum. `resolved_ts` is R, None if `signal` stopped the load."""
        rows = f": {counted(self._last.rows_done, 'row')}" if self._last is not None else ""
        seconds = time.monotonic() - self._began
        if resolved_ts is None:
            again = "".join(f" --table {table}" for table in self._tables)
            text = f"stopped by {signal}{rows}; continue with: ticdc-consumer load CONFIG{again}"
        else:
            at = with_time(resolved_ts)
            following = "" if self._tables else "; continue with: ticdc-consumer run CONFIG"
            text = f"loaded{rows}; R {at}{following}"
        fields = self._last.to_json() if self._last is not None else {}
        ended = {"event": "loaded", "resolved_ts": resolved_ts, "seconds": seconds, **fields}
        logger.info("%s", text, extra=ended)
