"""What DuckDB's errors mean for a run."""

import duckdb
from ticdc_consumer.errors import Retry, Stop, Unavailable
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.target import original

_QUOTING = (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException)
"""Their messages quote values."""


def translate(error: Exception, layout: Layout | None, file: str | None) -> Exception:
    driver = original(error)
    if not isinstance(driver, duckdb.Error):
        return error
    message = (str(driver).splitlines() or [""])[0]
    where = f"{layout.name}: " if layout else ""
    match driver:
        case duckdb.IOException() if "lock on file" in message:
            return Retry(f"another process holds {file}: {message}")
        case duckdb.TransactionException() if "conflict" in message.lower():
            return Retry(f"DuckDB: {message}")
        case duckdb.IOException() | duckdb.FatalException() | duckdb.InternalException():
            return Unavailable(f"{file}: {message}")
        case duckdb.ConstraintException():
            # It names columns and keys, and no other value.
            return Stop(f"{where}DuckDB refused: {message}")
        case _ if isinstance(driver, _QUOTING):
            return Stop(f"{where}DuckDB refuses a value with {type(driver).__name__}")
    return Stop(f"{where}DuckDB refused: {message}")
