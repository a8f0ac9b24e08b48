"""Sessions that keep others waiting, as MySQL, MariaDB and TiDB show them in their own tables."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress

from ticdc_consumer.targets.blockers import Blocker, without_values
from ticdc_consumer.targets.mysql.dialects import MARIADB, MYSQL, TIDB, Dialect
from ticdc_consumer.targets.target import Query

# Each gives session, database, table, user and client, statement, seconds; %s is the waiter.

_MYSQL_ROWS = """
SELECT DISTINCT b.trx_mysql_thread_id, l.object_schema, l.object_name,
       CONCAT_WS('@', t.processlist_user, t.processlist_host),
       COALESCE(t.processlist_info, s.sql_text),
       TIMESTAMPDIFF(SECOND, CONVERT_TZ(b.trx_started, 'SYSTEM', '+00:00'), NOW())
FROM performance_schema.data_lock_waits w
JOIN performance_schema.data_locks l ON l.engine_lock_id = w.requesting_engine_lock_id
JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_engine_transaction_id
JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_engine_transaction_id
LEFT JOIN performance_schema.threads t ON t.processlist_id = b.trx_mysql_thread_id
LEFT JOIN performance_schema.events_statements_current s ON s.thread_id = t.thread_id
WHERE r.trx_mysql_thread_id = %s LIMIT 10
"""

READ_LOCK = "all tables (a global read lock, as FLUSH TABLES WITH READ LOCK and backups take it)"
"""The text for a table shown as `*`."""

_METADATA = """
SELECT DISTINCT t.processlist_id, w.object_schema,
       IF(w.object_type IN ('GLOBAL', 'COMMIT', 'BACKUP'), '*', w.object_name),
       CONCAT_WS('@', t.processlist_user, t.processlist_host),
       COALESCE(t.processlist_info, s.sql_text),
       COALESCE(TIMESTAMPDIFF(SECOND, x.trx_started, NOW()), t.processlist_time)
FROM performance_schema.metadata_locks w
JOIN performance_schema.threads wt ON wt.thread_id = w.owner_thread_id
JOIN performance_schema.metadata_locks g ON g.object_type = w.object_type
  AND g.object_schema <=> w.object_schema AND g.object_name <=> w.object_name
  AND g.lock_status = 'GRANTED' AND g.owner_thread_id <> w.owner_thread_id
  AND (w.object_type NOT IN ('GLOBAL', 'COMMIT', 'BACKUP')
    OR g.lock_type NOT IN ('INTENTION_EXCLUSIVE', 'BACKUP_DML', 'BACKUP_TRANS_DML'))
JOIN performance_schema.threads t ON t.thread_id = g.owner_thread_id
LEFT JOIN performance_schema.events_statements_current s ON s.thread_id = t.thread_id
LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = t.processlist_id
WHERE w.lock_status = 'PENDING' AND wt.processlist_id = %s LIMIT 10
"""
"""The metadata locks; empty in MariaDB unless performance_schema is on."""

_MARIADB_ROWS = """
SELECT DISTINCT b.trx_mysql_thread_id, NULL, l.lock_table, CONCAT_WS('@', p.user, p.host),
       COALESCE(p.info, b.trx_query), TIMESTAMPDIFF(SECOND, b.trx_started, NOW())
FROM information_schema.innodb_lock_waits w
JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id
JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id
JOIN information_schema.innodb_locks l ON l.lock_id = w.requested_lock_id
LEFT JOIN information_schema.processlist p ON p.id = b.trx_mysql_thread_id
WHERE r.trx_mysql_thread_id = %s LIMIT 10
"""

_PLUGIN = "SELECT 1 FROM information_schema.plugins WHERE plugin_name = 'METADATA_LOCK_INFO'"
_MARIADB_METADATA = """
SELECT DISTINCT m.thread_id, m.table_schema, m.table_name, CONCAT_WS('@', p.user, p.host), p.info,
       COALESCE(TIMESTAMPDIFF(SECOND, x.trx_started, NOW()), p.time)
FROM information_schema.metadata_lock_info m
JOIN information_schema.processlist me ON me.id = %s AND INSTR(me.info, m.table_name) > 0
JOIN information_schema.processlist p ON p.id = m.thread_id
LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = m.thread_id
WHERE m.thread_id <> me.id AND m.lock_type = 'Table metadata lock' LIMIT 10
"""
_OF_BACKUPS = ("backup lock", "global read lock")
"""The words of a session's state for a lock on everything."""
_MARIADB_BACKUP = """
SELECT DISTINCT m.thread_id, NULL, '*', CONCAT_WS('@', p.user, p.host), p.info, p.time
FROM information_schema.metadata_lock_info m
JOIN information_schema.processlist p ON p.id = m.thread_id
WHERE m.thread_id <> %s AND m.lock_mode IN
  ('MDL_BACKUP_FTWRL1', 'MDL_BACKUP_FTWRL2', 'MDL_BACKUP_WAIT_COMMIT', 'MDL_BACKUP_WAIT_DDL',
   'MDL_BACKUP_WAIT_FLUSH', 'MDL_SHARED') AND m.lock_type <> 'Table metadata lock' LIMIT 10
"""
_OPEN = """
SELECT x.trx_mysql_thread_id, NULL, NULL, CONCAT_WS('@', p.user, p.host),
       COALESCE(p.info, x.trx_query), TIMESTAMPDIFF(SECOND, x.trx_started, NOW())
FROM information_schema.innodb_trx x
JOIN information_schema.processlist p ON p.id = x.trx_mysql_thread_id
WHERE x.trx_mysql_thread_id NOT IN (%s, CONNECTION_ID()) LIMIT 10
"""
"""Sessions with an open transaction; one of them may hold the lock."""
_PRIVILEGES = """
SELECT privilege_type FROM information_schema.user_privileges
WHERE grantee = CONCAT("'", REPLACE(CURRENT_USER(), '@', "'@'"), "'")
"""
_STATE = "SELECT state, info FROM information_schema.processlist WHERE id = %s"
_HINT = (
    "MariaDB shows who holds a metadata lock after INSTALL SONAME 'metadata_lock_info'; until "
    "then, it is one of those that have a transaction open"
)

_BACKUP_HINT = (
    "MariaDB shows who holds it after INSTALL SONAME 'metadata_lock_info'; until then, look for a "
    "backup (mariadb-backup, mysqldump --lock-all-tables, a snapshot of the disk) in SHOW "
    "PROCESSLIST"
)

_TIDB_ROWS = """
SELECT DISTINCT h.session_id, NULL, w.key_info, h.user,
       COALESCE(h.current_sql_digest_text, TIDB_DECODE_SQL_DIGESTS(h.all_sql_digests, 1000)),
       TIMESTAMPDIFF(SECOND, h.start_time, NOW())
FROM information_schema.data_lock_waits w
JOIN information_schema.cluster_tidb_trx r ON r.id = w.trx_id
JOIN information_schema.cluster_tidb_trx h ON h.id = w.current_holding_trx_id
WHERE r.session_id = %s LIMIT 10
"""
_TIDB_METADATA = """
SELECT DISTINCT v.session_id, v.db_name, v.table_name, NULL, v.sql_digests,
       TIMESTAMPDIFF(SECOND, v.start_time, NOW())
FROM mysql.tidb_mdl_view v
JOIN information_schema.processlist me ON me.id = %s AND me.info = v.query
WHERE v.session_id <> me.id LIMIT 10
"""

_STATEMENTS: Mapping[str, tuple[str, ...]] = {
    MYSQL.name: (_MYSQL_ROWS, _METADATA),
    MARIADB.name: (_MARIADB_ROWS, _METADATA),
    TIDB.name: (_TIDB_ROWS, _TIDB_METADATA),
}


def blockers(query: Query, dialect: Dialect, session_id: str) -> Iterator[Blocker]:
    number, _, _ = session_id.partition(" ")
    for statement in _STATEMENTS[dialect.name]:
        rows = query(statement, number)
        if rows:
            yield from map(_blocker, rows)
            return
    if dialect is MARIADB:
        yield from _unshown(query, number)


def read_only(query: Query, dialect: Dialect) -> str:
    """The variable that keeps this user from writing, as far as its own privileges show."""
    for variable, privileges in dialect.read_only:
        (value,), *_ = query(f"SELECT @@GLOBAL.{variable}")
        if str(value).upper() in ("0", "OFF"):
            continue
        if not any(granted in privileges for (granted,) in query(_PRIVILEGES)):
            return f"{variable} is on"
    return ""


def _unshown(query: Query, number: str) -> Iterator[Blocker]:
    """Yields the holders of a metadata lock in MariaDB, which shows them only by a plugin."""
    states = [str(state or "") for state, _ in query(_STATE, number)]
    if any(word in state for state in states for word in _OF_BACKUPS):
        rows = query(_MARIADB_BACKUP, number) if query(_PLUGIN) else []
        yield from map(_blocker, rows)
        if not rows:
            yield Blocker(on=READ_LOCK, hint=_BACKUP_HINT)
        return
    if not any("metadata lock" in state for state in states):
        return
    rows = query(_MARIADB_METADATA, number) if query(_PLUGIN) else []
    if rows:
        yield from map(_blocker, rows)
        return
    candidates = query(_OPEN, number)
    if len(candidates) == 1:
        yield _blocker(candidates[0])
        return
    yield Blocker(hint=_HINT)


def _blocker(row: tuple[object, ...]) -> Blocker:
    session, schema, table, who, statement, seconds = row
    on = ".".join(str(part) for part in (schema, table) if part)
    on = READ_LOCK if on == "*" else on
    return Blocker(
        str(session),
        _named_by_key(on) if on.startswith("{") else on.replace("`", ""),
        str(who or ""),
        without_values(_last_of(str(statement or "")), quotes="'\""),
        None if seconds is None else float(str(seconds)),
        f"KILL {session}",
    )


def _named_by_key(text: str) -> str:
    """Reads the name from TiDB's JSON of a key."""
    with suppress(ValueError):
        key = json.loads(text)
        return ".".join(str(key[name]) for name in ("db_name", "table_name") if key.get(name))
    return ""


def _last_of(statement: str) -> str:
    """The last of several statements, from TiDB's array of a transaction's statements."""
    if statement.startswith("["):
        with suppress(ValueError):
            statements = [each for each in json.loads(statement) if each]
            return str(statements[-1]) if statements else ""
    return statement
