"""Past an older consumer: a DuckDB file belongs to one process, and nobody can end it.

Another process is refused when it opens the file. Within a process the sessions of a file take
turns: DuckDB would not keep the reader of a row waiting for its writer.
"""

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TypeVar

from ticdc_consumer.errors import Retry, Unavailable
from ticdc_consumer.targets.fence import PAUSE
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import patiently

T = TypeVar("T")

_locks: dict[str, Lock] = {}


def lock_of(file: str) -> Lock:
    """The lock that each transaction of this process takes."""
    return _locks.setdefault(str(Path(file).resolve()), Lock())


def after_the_file_lock(target: Target, patience: float, work: Callable[[], T]) -> T:
    def attempt() -> T:
        with target.transaction():
            return work()

    try:
        return patiently(attempt, patience, Retry, PAUSE)
    except Retry as busy:
        raise Unavailable(
            f"another process holds the write lock of {target.engine.url.database} for "
            f"longer than {patience:g} s, or another session of this one; end it, then start again"
        ) from busy
