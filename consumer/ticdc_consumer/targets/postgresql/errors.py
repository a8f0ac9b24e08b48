"""What PostgreSQL's errors mean for a run. https://www.postgresql.org/docs/current/errcodes-appendix.html"""

import re

import psycopg

from ticdc_consumer.errors import Denied, Retry, Stop, Unavailable, full
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.postgresql.privileges import remedy
from ticdc_consumer.targets.target import original

_GONE = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03"})
_PASSING = frozenset({"55P03", "55006", "57014", "40001", "40P01", "40003", "40000"})
_TELLING = frozenset({"0A", "22", "23", "25", "2B", "3B", "42", "53", "54", "55", "57", "58"})
"""Classes whose messages are shown, except for 22, which quotes values."""
_COPY_COLUMN = re.compile(r"COPY .*?, line \d+, column (?P<column>.+?)(?::|$)", re.MULTILINE)
_KEY = re.compile(r"Key \(.*\)=\(.*\)(?= already exists| conflicts with| is not present| is still)")
_REFUSAL = re.compile(
    "authentication|pg_hba|does not exist|permission denied|not permitted|password|certificate"
)
"""In libpq's message, which has no code: the server answers, and not because it restarts."""


def refuses_user(error: BaseException) -> bool:
    """Whether a connection was refused for a reason that does not pass by waiting."""
    return _REFUSAL.search(str(original(error))) is not None


def lost(error: BaseException) -> bool:
    """Whether the session is gone: the server ended it, or the connection broke."""
    driver = original(error)
    return isinstance(driver, psycopg.Error) and _lost(driver)


def _lost(error: psycopg.Error) -> bool:
    if error.sqlstate is not None:
        return error.sqlstate in _GONE or error.sqlstate.startswith("08")
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def translate(error: Exception, layout: Layout | None = None, user: str = "") -> Exception:
    """`user` is the session's, for the GRANT that is missing."""
    driver = original(error)
    if not isinstance(driver, psycopg.Error):
        return error
    table = layout.name if layout else None
    state, message = driver.sqlstate, driver.diag.message_primary or ""
    if _lost(driver):
        return Retry("the connection to PostgreSQL was lost" + (f": {message}" if message else ""))
    if state is None:
        return Stop(f"{table or 'PostgreSQL'}: {type(driver).__name__}")
    if state in _PASSING or state.startswith("40"):
        return Retry(f"PostgreSQL: {message}")
    if state == "42501":
        way = remedy(message, user, layout.relation if layout else None, error) if user else ""
        return Denied(
            f"a privilege is missing: {message}{way and f'; run {way}, then start again'}"
        )
    if state == "53100":
        return full("PostgreSQL", message)
    if state[:2] in ("28", "3D", "53") or state == "25006":
        return Unavailable(f"PostgreSQL: {message}")
    return Stop(f"{_where(driver, table)}: {_what(driver, state, message)}")


def _where(error: psycopg.Error, table: str | None) -> str:
    """The upstream's name if it is known, else the target's; and the column."""
    diag = error.diag
    if table is None:
        known = (diag.schema_name, diag.table_name)
        table = ".".join(name for name in known if name) or "PostgreSQL"
    copied = _COPY_COLUMN.search(diag.context or "")
    column = diag.column_name or (copied["column"] if copied else None)
    return table if column is None else f"{table}.{column}"


def _what(error: psycopg.Error, state: str, message: str) -> str:
    if state.startswith("22") or state[:2] not in _TELLING:
        # The message may quote a value.
        return f"PostgreSQL refuses a value or statement with {type(error).__name__} ({state})"
    key = _KEY.search(error.diag.message_detail or "")
    return f"{message} ({state}){f': {key[0]}' if key else ''}"
