"""Who holds whom up, by PostgreSQL's statistics."""

from ticdc_consumer.targets.target import Query
from ticdc_consumer.targets.waits import LockWait, LongWork

_WAITS = """
SELECT w.pid, b.pid, b.query, extract(epoch FROM clock_timestamp() - b.xact_start),
  concat_ws(', ', b.usename, nullif(b.application_name, ''), coalesce(host(b.client_addr), 'local')),
  (SELECT l.relation::regclass::text FROM pg_locks l
   WHERE l.pid = w.pid AND NOT l.granted AND l.relation IS NOT NULL LIMIT 1)
FROM pg_stat_activity w
CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS blocking(pid)
JOIN pg_stat_activity b ON b.pid = blocking.pid
WHERE w.datname = current_database()
"""
_TRANSACTIONS = """
SELECT format('session %%s (%%s) is in a transaction: %%s', pid, usename, left(query, 200)),
  extract(epoch FROM clock_timestamp() - xact_start), 0
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in tr%%'
AND xact_start < clock_timestamp() - %s * interval '1 second'
"""
_SLOTS = """
SELECT format('replication slot %s is not read', slot_name), 0.0,
  pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint
FROM pg_replication_slots
WHERE NOT active AND restart_lsn IS NOT NULL AND NOT pg_is_in_recovery()
"""


def lock_waits(query: Query) -> list[LockWait]:
    return [
        LockWait(str(waiter), str(holder), text or "", float(seconds or 0), who, relation or "")
        for waiter, holder, text, seconds, who, relation in query(_WAITS)
    ]


def long_work(query: Query, seconds: float) -> list[LongWork]:
    rows = [*query(_TRANSACTIONS, seconds), *query(_SLOTS)]
    return [LongWork(what, float(age), int(kept)) for what, age, kept in rows]
