"""The meaning of the server's error numbers for a run.

The server's text is passed on without its quoted parts, which may be a row's values.
"""

import re

import pymysql  # type: ignore[import-untyped]
import sqlalchemy as sa

from ticdc_consumer.errors import (
    ALTER_IT,
    Denied,
    KeyTaken,
    Locked,
    ReadOnly,
    Retry,
    Stop,
    Unavailable,
    full,
    taken_text,
)
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.mysql.privileges import DENIED, Account, statement_of
from ticdc_consumer.targets.target import original

_PASSING = {
    1020: "another transaction changed a row that was read",
    1205: "waited too long for a lock",
    1213: "deadlock",
    1637: "too many transactions at once",
    8002: "a conflict with another transaction",
    8022: "a conflict with another transaction",
    8028: "the schema changed during the transaction",
    9007: "a conflict with another transaction",
}
"""Errors after which the transaction may be retried in the same session."""

_LOCK_WAIT = 1205

_LOST = frozenset(
    {0, 1053, 1077, 1079, 1080, 1152, 1156, 1157, 1158, 1159, 1160, 1161, 1184, 1317, 1927}
    | {2006, 2013, 2014, 2027, 2055, 3169, 4031}
)
"""Errors after which the session is gone, or the outcome of its last statement is unknown."""

_UNAVAILABLE = frozenset(
    {1030, 1037, 1038, 1040, 1041, 1042, 1043, 1045, 1049, 1129, 1130}
    | {1203, 1226, 1251, 1290, 1698, 1820, 1862, 3118, 3159}
    | {2000, 2001, 2002, 2003, 2005, 2026, 2059, 2061}
)
"""Errors of a failed connection, or of an option that makes the server refuse the statement."""

_READ_ONLY = frozenset({1792, 1836})
_OPTION = 1290
_READ_ONLY_OPTION = re.compile("read[-_]only")

_NO_DATABASE = 1049
_FULL = frozenset({20, 1021, 1114, 3675})
_WRITING = frozenset({3, 1026, 1030, 1534, 1598})
"""Errors whose text has the reason: an error number of the operating system."""
_NO_SPACE = re.compile(r"\b(28|135|137)\b")

_AWAY = frozenset({1040, 1053, 2002, 2003, 2005}) | _LOST
"""Errors of a connection: the server restarts, is unreachable, or has too many connections."""

_VALUES = {
    1048: "NULL in a column that is NOT NULL",
    1264: "a value out of the column's range",
    1265: "a value that the column cannot hold exactly",
    1292: "a value that is not of the column's type",
    1364: "no value for a column without default",
    1366: "a value that is not of the column's type",
    1367: "a value that is not of the column's type",
    1406: "a value that is too long",
    3140: "a value that is not JSON",
    3141: "a value that is not JSON",
    3157: "a JSON value that is nested too deeply",
}
"""Errors of a value that does not fit. Notes 1265 come in strict mode, too."""

_WITH_TABLE = frozenset({3140, 3141, 3157})
"""Errors whose text names the column as `t.c`."""

_SMALLER = (
    "or lower [limits] rows_per_epoch (a cut has at least the rows between two resolved ts), or "
    'set [target] apply = "transactions"'
)
_TOO_LARGE = {
    8004: f"the cut is larger than TiDB's txn-total-size-limit: raise that, {_SMALLER}",
    8175: "the cut takes TiDB more memory than its tidb_mem_quota_query (1 GiB by default): raise "
    f"that, {_SMALLER}",
    1197: f"the cut is larger than the server's max_binlog_cache_size: raise that, {_SMALLER}",
    8176: f"TiDB's tidb_server_memory_limit is reached: give it more memory, {_SMALLER}",
}
"""Limits of a transaction; TiDB reports each by its own number (pkg/errno/errcode.go). A retry
would meet them again, so there is none."""
_OLD_QUOTA = "Out Of Memory Quota!"
"""The prefix of 1105, which may mean anything, in earlier releases that give it for 8175."""
ENTRY_TOO_LARGE = 8025
_ANYTHING = 1105
_DUPLICATE = 1062
_PACKET = 1153
_COLUMN = re.compile(
    r".*\b(?:for column|[Cc]olumn|Field) (.+?)"
    r"(?: at row \d+| cannot be null| doesn't have a default value)?\.?",
    re.S,
)
_DUPLICATED = re.compile(r"Duplicate entry '.*' for key '(.*)'", re.S)
_QUOTED = re.compile(r"'.*('|$)", re.S)


def number(error: BaseException) -> int | None:
    """The server's or the driver's error number; None for an error of neither."""
    driver = original(error)
    if not isinstance(driver, pymysql.err.MySQLError):
        return None
    code = driver.args[0] if driver.args else 0
    # Without a number, the driver did not understand the server's packets.
    return code if isinstance(code, int) else 0


def lost(error: BaseException) -> bool:
    if isinstance(error, sa.exc.PendingRollbackError | sa.exc.ResourceClosedError):
        return True
    return number(error) in _LOST


def is_away(error: BaseException) -> bool:
    """Returns whether a connection failed for a reason that ends when the server is back."""
    return number(error) in _AWAY


def translate(
    error: Exception, layout: Layout | None = None, account: Account | None = None
) -> Exception:
    """Translates a database error; `account` is the session's, for the missing GRANT."""
    if lost(error):
        return Retry("the connection to the target was lost")
    code = number(error)
    if code is None:
        return error
    text = _text(error)
    table = f"{layout.name}: " if layout else ""
    if code in _PASSING:
        kind = Locked if code == _LOCK_WAIT else Retry
        return kind(f"{table}{_PASSING[code]} (error {code})")
    if code in DENIED:
        statement = layout.relation if layout else statement_of(error)
        grant = f"; run {account.grant(code, text, statement)}, then start again" if account else ""
        return Denied(f"{table}a privilege is missing: {text} (error {code}){grant}")
    if code in _FULL or (code in _WRITING and _NO_SPACE.search(text)):
        return full(f"{table}the target", f"{text}, error {code}")
    if code == _NO_DATABASE:
        way = "create that database, then start again"
        return Unavailable(f"the target refuses: {text} (error {code}): {way}")
    if code in _READ_ONLY or (code == _OPTION and _READ_ONLY_OPTION.search(text)):
        return ReadOnly(f"the target refuses: {text} (error {code})")
    if code in _UNAVAILABLE:
        return Unavailable(f"the target refuses: {text} (error {code})")
    if code in _VALUES:
        return Stop(f"{_where(layout, code, text)}: {_VALUES[code]} (error {code}); {ALTER_IT}")
    if code == _DUPLICATE and (match := _DUPLICATED.fullmatch(text)):
        return KeyTaken(f"{table}{taken_text(match[1], is_new=layout is None)}")
    if code == _ANYTHING and text.startswith(_OLD_QUOTA):
        code = 8175
    if code == ENTRY_TOO_LARGE:
        return too_large(error, layout, "a row")
    if code in _TOO_LARGE:
        return Stop(f"{table}{_TOO_LARGE[code]} (error {code})")
    if code == _PACKET:
        return Stop(f"{table}a statement is larger than the target's max_allowed_packet")
    return Stop(f"{table}the target refuses: {_QUOTED.sub('...', text)} (error {code})")


def too_large(error: BaseException, layout: Layout | None, row: str) -> Stop:
    """TiDB's limit of an entry; `row` names the row."""
    table = f"{layout.name}: " if layout else ""
    return Stop(
        f"{table}{row} is larger than TiDB's txn-entry-size-limit ({_text(error)}): SET GLOBAL "
        "tidb_txn_entry_size_limit there to more, at most 125829120 (before TiDB 7.6 "
        "performance.txn-entry-size-limit in its configuration), and TiKV's "
        "raftstore.raft-entry-max-size with it; then start again (error 8025)"
    )


def column(text: str) -> str | None:
    """The column that the server's text names: `'c'`, `` `d`.`t`.`c` `` or `'t.c'`."""
    match = _COLUMN.fullmatch(text)
    if match is None:
        return None
    name = match[1]
    if name.startswith("`"):
        return name.rpartition("`.`")[2].strip("`").replace("``", "`")
    return name.strip("'")


def _where(layout: Layout | None, code: int, text: str) -> str:
    name = column(text) or "a column"
    if code in _WITH_TABLE:
        name = name.rpartition(".")[2]
    return f"{layout.name}.{name}" if layout else name


def _text(error: BaseException) -> str:
    arguments = original(error).args
    return str(arguments[1]) if len(arguments) > 1 else str(original(error))
