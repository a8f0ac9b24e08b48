"""Log lines of a trace that reads a long log."""

import logging
import time

from ticdc_encoder.tso import duration

logger = logging.getLogger(__name__)

SECONDS_PER_LINE = 2.0


class TraceLines:
    """Logs each share that is read, with an estimated end; nothing for a log that is read at
    once.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._next_line = self._began + SECONDS_PER_LINE
        self._percent = 0

    def report(self, share: float) -> None:
        now, percent = time.monotonic(), int(100 * share)
        if now < self._next_line or percent == self._percent:
            return
        self._percent = percent
        self._next_line = now + SECONDS_PER_LINE
        left = (now - self._began) * (1 - share) / share if share > 0 else 0.0
        ahead = f", about {duration(left)} left" if left else ""
        fields = {"event": "tracing", "share": share}
        logger.info("tracing: %d %% of the log is read%s", percent, ahead, extra=fields)
