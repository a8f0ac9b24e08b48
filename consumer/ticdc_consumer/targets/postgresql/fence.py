"""Past an older consumer: it holds the lock of the checkpoint's row, and its session is ended."""

from collections.abc import Callable
from typing import TypeVar

from ticdc_consumer.errors import Retry, Unavailable
from ticdc_consumer.targets.fence import ROUNDS
from ticdc_consumer.targets.target import Target

T = TypeVar("T")


def past_the_row_lock(
    target: Target,
    changefeed: str,
    patience: float,
    owner: Callable[[], str],
    work: Callable[[], T],
) -> T:
    for _ in range(ROUNDS):
        try:
            with target.transaction():
                target.execute(f"SET LOCAL lock_timeout = {max(1, round(patience * 1000))}")
                return work()
        except Retry:
            if not target.alive():
                raise
            holder = owner()
            if holder and holder != target.session_id():
                target.end_session(holder)
    raise Unavailable(
        f"the checkpoint of changefeed {changefeed} is locked, but not by the session that owns it"
    )
