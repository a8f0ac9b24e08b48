"""A warning for a database that does not answer: a lock or a full disk may block it forever."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from ticdc_encoder.tso import duration

from ticdc_consumer.targets.target import Target

logger = logging.getLogger(__name__)

WARNING_INTERVAL = 30.0
"""Seconds without an answer before a warning, and between warnings."""
PAUSE = 1.0
"""Seconds between two checks."""


@contextmanager
def watched(target: Target) -> Iterator[None]:
    """Runs a thread that warns while one statement, or one chunk of rows, is not answered."""
    ended = Event()
    thread = Thread(target=_watch, args=(target, ended), name="ticdc-target", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(target: Target, ended: Event) -> None:
    due = WARNING_INTERVAL
    while not ended.wait(PAUSE):
        asked_at = target.asked_at
        waited = 0.0 if asked_at is None else time.monotonic() - asked_at
        if waited < WARNING_INTERVAL:
            due = WARNING_INTERVAL
        elif waited >= due:
            due = waited + WARNING_INTERVAL
            logger.warning(
                "waiting for the target: it has not answered for %s; check there what its "
                "session waits for: a lock, disk space, a DDL of a large table",
                duration(waited),
                extra={"event": "target_is_silent", "seconds": waited},
            )
