"""The meaning of PostgreSQL's errors for a run.
https://www.postgresql.org/docs/current/errcodes-appendix.html

Texts are in the server's language (`lc_messages`, which only a superuser sets): the SQLSTATE alone
decides the reaction. A text is shown, and parsed only for names.
"""

import re

import psycopg
import sqlalchemy as sa
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

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
from ticdc_consumer.targets.postgresql.privileges import remedy
from ticdc_consumer.targets.target import original

_GONE = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03"})
_LEFT = (sa.exc.PendingRollbackError, sa.exc.ResourceClosedError)
"""SQLAlchemy's errors for a session that was lost earlier."""
_PASSING = frozenset({"55P03", "55006", "57014", "40001", "40P01", "40003", "40000"})
_TELLING = frozenset({"0A", "22", "23", "25", "2B", "3B", "42", "53", "54", "55", "57", "58"})
"""Classes whose messages are shown, except for 22, which quotes values."""
_COPY_COLUMN = re.compile(r"COPY .*?, \S+ \d+, \S+ (?P<column>.+?)\s?(?::|$)", re.MULTILINE)
"""`COPY t, line 1, column c: "..."` in any language with this order."""
_KEY = re.compile(r"\(.*\)=\(.*\)", re.S)
_NO_SCHEMA = "3F000"
_OF_COLUMN = ("22", "23502")
_UNIQUE = "23505"
_NO_PARENT_ROW = "23503"
_SHOW_KEYS = frozenset({"23001", _NO_PARENT_ROW, "23P01"})
"""States whose detail is shown; the detail of others, such as CHECK's, has the whole row."""
_CERTIFICATE = re.compile("certificate")
_FULL = re.compile("too many|remaining connection slots")
"""Texts in libpq's message, which has no code. The server's part of it is in the server's language,
so a full server is recognized only in English."""


def refuses(error: BaseException) -> bool:
    """Returns whether a connection was refused for a reason that waiting does not remove."""
    driver = original(error)
    if not isinstance(driver, psycopg.Error):
        return False
    if driver.sqlstate is not None:
        return not _lost(driver) and not driver.sqlstate.startswith("53")
    text = str(driver)
    if isinstance(driver, psycopg.errors.ConnectionTimeout) or _FULL.search(text):
        return False
    return _CERTIFICATE.search(text) is not None or _answers(driver)


def _answers(error: psycopg.Error) -> bool:
    """Returns whether the server that `error` comes from accepts connections, as libpq finds by
    SQLSTATE. A server that starts or recovers does not."""
    if error.pgconn is None:
        return False
    options = {
        option.keyword.decode(): option.val.decode()
        for option in error.pgconn.info
        if option.val and option.keyword != b"password"
    }
    options["connect_timeout"] = "2"  # seconds, during which it blocks all threads
    return PGconn.ping(make_conninfo(**options).encode()) == Ping.OK


def lost(error: BaseException) -> bool:
    """Returns whether the session is gone: the server ended it, or the connection broke."""
    if isinstance(error, _LEFT):
        return True
    driver = original(error)
    return isinstance(driver, psycopg.Error) and _lost(driver)


def _lost(error: psycopg.Error) -> bool:
    if error.sqlstate is not None:
        return error.sqlstate in _GONE or error.sqlstate.startswith("08")
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def translate(error: Exception, layout: Layout | None = None, user: str = "") -> Exception:
    """Translates a database error; `user` is the session's, for the missing GRANT."""
    driver = original(error)
    if isinstance(error, _LEFT):
        return Retry("the connection to PostgreSQL was lost")
    if not isinstance(driver, psycopg.Error):
        return error
    state, message = driver.sqlstate, driver.diag.message_primary or ""
    if _lost(driver):
        return Retry("the connection to PostgreSQL was lost" + (f": {message}" if message else ""))
    if state is None:
        return Stop(f"{layout.name if layout else 'PostgreSQL'}: {type(driver).__name__}")
    if state in _PASSING or state.startswith("40"):
        return (Locked if state == "55P03" else Retry)(f"PostgreSQL: {message}")
    if state == "42501":
        way = remedy(message, user, layout.relation if layout else None, error) if user else ""
        return Denied(
            f"a privilege is missing: {message}{way and f'; run {way}, then start again'}"
        )
    if state == "53100":
        return full("PostgreSQL", message)
    if state == "25006":
        return ReadOnly(
            f"PostgreSQL: {message}: default_transaction_read_only is on for this user, database "
            "or server, or the server is a standby"
        )
    if state[:2] in ("28", "3D", "53"):
        return Unavailable(f"PostgreSQL: {message}")
    if state == _UNIQUE:
        # Its text is in the server's language; the name is not.
        key = taken_text(driver.diag.constraint_name or "", is_new=layout is None)
        return KeyTaken(f"{_where(driver, layout)}: {key}")
    if state == _NO_SCHEMA:
        return Stop(f"PostgreSQL: {message} ({state}): create that schema, then start again")
    named = layout is not None and _column(driver, layout) is not None
    way = f"; {ALTER_IT}" if named and state.startswith(_OF_COLUMN) else ""
    return Stop(f"{_where(driver, layout)}: {_what(driver, state, message)}{way}")


def is_without_parent(error: Exception) -> bool:
    """Returns whether rows violate a foreign key."""
    return _state(error) == _NO_PARENT_ROW


def takes_no_unchecked_key(error: Exception) -> bool:
    """Returns whether a foreign key NOT VALID is refused: before PostgreSQL 18, on partitioned
    tables."""
    return _state(error) in ("42809", "0A000")


def violated_key(error: Exception) -> str:
    """The foreign key that rows violate, with its table."""
    driver = original(error)
    assert isinstance(driver, psycopg.Error)
    return f"foreign key {driver.diag.constraint_name} of {_where(driver, None)}"


def _state(error: Exception) -> str | None:
    driver = original(error)
    return driver.sqlstate if isinstance(driver, psycopg.Error) else None


def _where(error: psycopg.Error, layout: Layout | None) -> str:
    """The upstream's table if it is known, else the target's; and the column."""
    diag = error.diag
    known = (diag.schema_name, diag.table_name)
    table = layout.name if layout else ".".join(name for name in known if name) or "PostgreSQL"
    column = _column(error, layout)
    return table if column is None else f"{table}.{column}"


def _column(error: psycopg.Error, layout: Layout | None) -> str | None:
    return error.diag.column_name or _copied_column(error.diag.context or "", layout)


def _copied_column(context: str, layout: Layout | None) -> str | None:
    match = _COPY_COLUMN.search(context)
    if match is None:
        return None
    quoted = '"' + match["column"].replace('"', '""') + '"'
    return None if layout and quoted not in layout.columns else match["column"]


def _what(error: psycopg.Error, state: str, message: str) -> str:
    if state.startswith("22") or state[:2] not in _TELLING:
        # The message may quote a value.
        return f"PostgreSQL refuses a value or statement with {type(error).__name__} ({state})"
    key = _KEY.search(error.diag.message_detail or "") if state in _SHOW_KEYS else None
    way = _WAYS.get(state, "")
    return f"{message} ({state}){f': Key {key[0]}' if key else ''}{way}"


_WAYS = {
    _NO_PARENT_ROW: "; an upstream with foreign_key_checks = 0 has such rows: drop that foreign "
    "key in the target, then start again; a DDL that would add it is done without it",
    "54000": "; if it is an index: drop it in the target unless it is the key of the rows; else "
    "shorten or delete the upstream's row, or leave the table out by [tables] filter; then start "
    "again",
}
