"""Sessions that keep others waiting, and causes that keep PostgreSQL from cleaning up."""

from collections.abc import Iterator

from ticdc_encoder.tso import duration

from ticdc_consumer.targets.blockers import Blocker, without_values
from ticdc_consumer.targets.target import Query

_HOLDERS = """
SELECT holder.pid, a.usename, a.application_name, coalesce(host(a.client_addr), 'a local socket'),
       a.query, extract(epoch FROM clock_timestamp() - a.xact_start)::float8
FROM unnest(pg_blocking_pids(%s::int)) AS holder(pid)
LEFT JOIN pg_stat_activity a ON a.pid = holder.pid
"""
"""A pid is 0 for a prepared transaction."""

_RELATION = """
SELECT n.nspname || '.' || c.relname
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE l.pid = %s::int AND (NOT l.granted OR l.locktype = 'tuple')
ORDER BY l.granted LIMIT 1
"""
"""A session that waits for a row holds the lock of its tuple."""

_WRITTEN_BY_BOTH = """
SELECT n.nspname || '.' || c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.oid IN (
  SELECT relation FROM pg_locks
  WHERE pid IN (%s::int, %s::int) AND granted AND locktype = 'relation'
  AND mode IN ('RowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
  GROUP BY relation HAVING count(DISTINCT pid) = 2
)
ORDER BY c.relname LIKE 'ticdc\\_%%' LIMIT 1
"""
"""A session that waits for another's new row of a unique key shows no relation."""

WAITING = """
SELECT pid || '@' || extract(epoch FROM backend_start) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND application_name = left(%s, 63) AND pid <> pg_backend_pid()
AND datname = current_database() ORDER BY backend_start LIMIT 1
"""

_OLD_TRANSACTIONS = """
SELECT pid, usename, query, extract(epoch FROM clock_timestamp() - xact_start)::float8
FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid NOT IN (pg_backend_pid(), %s::int)
AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)
AND clock_timestamp() - xact_start > make_interval(secs => %s)
ORDER BY xact_start LIMIT 3
"""

_SLOTS = """
SELECT slot_name, active, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint
FROM pg_replication_slots
WHERE pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) > %s
ORDER BY 3 DESC LIMIT 3
"""


def blockers(query: Query, session_id: str) -> Iterator[Blocker]:
    pid, _, _ = session_id.partition("@")
    for holder, user, application, client, statement, open_for in query(_HOLDERS, pid):
        relations = query(_RELATION, pid) or query(_WRITTEN_BY_BOTH, pid, holder)
        who = f"{user}, {application or 'without a name'}, from {client}" if user else ""
        yield Blocker(
            str(holder) if holder else "",
            relations[0][0] if relations else "",
            who,
            without_values(statement),
            open_for,
            f"SELECT pg_terminate_backend({holder})" if holder else "",
        )


def read_only(query: Query) -> str:
    """The reason why a session that begins now, as a consumer's would, cannot write; else ""."""
    (standby, by_default), *_ = query(
        "SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'"
    )
    if standby:
        return "the server is a standby"
    if by_default:
        return "default_transaction_read_only is on for this user, database or server"
    return ""


def burdens(query: Query, session_id: str, open_for: float, behind: int) -> Iterator[str]:
    pid = session_id.partition("@")[0] or "0"
    for holder, user, statement, seconds in query(_OLD_TRANSACTIONS, pid, open_for):
        yield (
            f"session {holder} of {user} has had a transaction open for {duration(seconds)}, so "
            f"that no row that is deleted since leaves its table: {without_values(statement)}"
        )
    for slot, active, size in query(_SLOTS, behind):
        state = "" if active else ", which nobody reads,"
        yield f"replication slot {slot}{state} keeps {size / 2**20:,.0f} MiB of WAL on the disk"
