"""Who holds whom up, by the catalogs of the MySQL family."""

from collections.abc import Callable
from typing import Any

from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.target import Query
from ticdc_consumer.targets.waits import LockWait, LongWork

_LONG = """
SELECT CONCAT('session ', p.id, ' (', p.user, ') is in a transaction'),
  TIMESTAMPDIFF(SECOND, t.trx_started, NOW()), 0
FROM information_schema.innodb_trx t JOIN information_schema.processlist p
ON p.id = t.trx_mysql_thread_id
WHERE p.command = 'Sleep' AND t.trx_started < NOW() - INTERVAL %s SECOND
"""
_WAITING_DDL = """
SELECT id, info FROM information_schema.processlist WHERE state LIKE 'Waiting for table%metadata%'
"""
_OPEN = """
SELECT p.id, p.info, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()), CONCAT(p.user, ', ', p.host)
FROM information_schema.innodb_trx t JOIN information_schema.processlist p
ON p.id = t.trx_mysql_thread_id ORDER BY t.trx_started
"""


def lock_waits(query: Query, dialect: Dialect) -> list[LockWait]:
    """Of metadata locks the catalog does not always show the holder: then it is the oldest of the
    open transactions."""
    rows = query(dialect.lock_waits) if dialect.lock_waits else []
    return [*map(_wait, rows), *_metadata_waits(query)]


def _wait(row: tuple[Any, ...]) -> LockWait:
    waiter, holder, text, seconds, who, relation = row
    table = str(relation or "").replace("`", "")
    return LockWait(str(waiter), str(holder), text or "", float(seconds or 0), who or "", table)


def _metadata_waits(query: Callable[..., list[tuple[Any, ...]]]) -> list[LockWait]:
    waiting = query(_WAITING_DDL)
    if not waiting:
        return []
    waiters = {number for number, _ in waiting}
    holders = [row for row in query(_OPEN) if row[0] not in waiters]
    return [
        LockWait(str(waiter), str(number), text or "", float(seconds or 0), who)
        for waiter, _ in waiting
        for number, text, seconds, who in holders[:1]
    ]


def long_work(query: Query, seconds: float) -> list[LongWork]:
    return [LongWork(what, float(age), kept) for what, age, kept in query(_LONG, int(seconds))]
