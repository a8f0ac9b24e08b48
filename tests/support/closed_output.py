"""A standard output that takes nothing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


@contextmanager
def output(left: str) -> Iterator[IO[str]]:
    """One whose reader is gone ("closed"), or a disk that is full ("full")."""
    if left == "full":
        with open("/dev/full", "w") as out:  # noqa: PTH123
            yield out
        return
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as out:
        yield out
