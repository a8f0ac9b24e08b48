"""The meaning of SQLite's errors for a run."""

import sqlite3

from ticdc_consumer.errors import KeyTaken, Locked, ReadOnly, Stop, Unavailable, full, taken_text
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.target import original

_PASSING = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_FILE = {
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_NOMEM,
}
_TAKEN = {
    sqlite3.SQLITE_CONSTRAINT_UNIQUE,
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
    sqlite3.SQLITE_CONSTRAINT_ROWID,
}


def taken_key(error: sqlite3.Error) -> str:
    """The columns of the unique key, or the index, that a row clashes with; "" if there is none."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    text = str(error).removeprefix("UNIQUE constraint failed: ")
    return f"({text})" if code in _TAKEN else ""


def translate(error: Exception, layout: Layout | None, file: str | None) -> Exception:
    driver = original(error)
    where = f"{layout.name}: " if layout else ""
    if isinstance(driver, OverflowError):
        return Stop(f"{where}an integer beyond SQLite's 64 bits")
    if not isinstance(driver, sqlite3.Error):
        return error
    code = getattr(driver, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    if code & 0xFF in _PASSING:
        return Locked(f"another process holds the write lock of {file}")
    if code & 0xFF == sqlite3.SQLITE_FULL:
        return full(str(file), str(driver))
    if code & 0xFF == sqlite3.SQLITE_READONLY:
        return ReadOnly(f"{file}: {driver}")
    if code & 0xFF in _FILE:
        return Unavailable(f"{file}: {driver}")
    if key := taken_key(driver):
        return KeyTaken(f"{where}{taken_text(key, is_new=layout is None)}")
    # SQLite's message names tables and columns, never a value.
    return Stop(f"{where}SQLite refused: {driver}")
