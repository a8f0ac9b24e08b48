"""Tries again for a while."""

import time
from collections.abc import Callable
from typing import TypeVar

from ticdc_encoder.errors import TicdcError

from ticdc_consumer.errors import Unavailable

PAUSE = 0.2
"""Seconds between two tries."""

T = TypeVar("T")


def patiently(
    ask: Callable[[], T], patience: float, on: tuple[type[TicdcError], ...] = (Unavailable,)
) -> T:
    """What `ask` returns; tried again for `patience` seconds while it raises one of `on`."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return ask()
        except on:
            if time.monotonic() > deadline:
                raise
        time.sleep(PAUSE)
