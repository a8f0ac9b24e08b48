"""The fence against an older consumer: it locks the checkpoint's row, and its session is ended."""

from collections.abc import Callable
from typing import TypeVar

from ticdc_consumer.errors import Retry, Unavailable
from ticdc_consumer.targets.fence import ROUNDS
from ticdc_consumer.targets.target import Target

T = TypeVar("T")

IDLE_HOLDER = """
SELECT a.pid || '@' || extract(epoch FROM a.backend_start)
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND (l.classid::bigint << 32 | l.objid::bigint) = hashtext('ticdc_checkpoint')
AND a.state LIKE 'idle in transaction%%' AND clock_timestamp() - a.state_change > %s::interval
"""
"""The session that holds the lock of `one_at_a_time` and does nothing."""


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
