"""The fence against an older consumer: a file has one lock, and nobody can end its holder."""

from collections.abc import Callable
from typing import TypeVar

from ticdc_consumer.errors import Retry, Unavailable
from ticdc_consumer.targets.fence import PAUSE
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import patiently

T = TypeVar("T")


def after_the_file_lock(target: Target, patience: float, work: Callable[[], T]) -> T:
    """Waits for the file lock: a stopped process keeps it, and no other can take it away."""

    def attempt() -> T:
        with target.transaction():
            return work()

    try:
        return patiently(attempt, patience, Retry, PAUSE)
    except Retry as busy:
        raise Unavailable(
            f"another process holds the write lock of {target.engine.url.database} for "
            f"longer than {patience:g} s; end it, then start again"
        ) from busy
