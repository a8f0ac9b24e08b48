"""Reads values of MySQL, MariaDB and TiDB back for comparison."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pymysql  # type: ignore[import-untyped]
import sqlalchemy as sa
from ticdc_encoder.column import BINARIES, INTEGERS, TEMPORALS, TEXTS

from ticdc_consumer.targets.comparable import (
    CONVERTED,
    Comparable,
    DigestWords,
    Form,
    shortest_single,
)
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.mysql.types import CatalogType
from ticdc_consumer.targets.target import Target

_DIGEST = DigestWords(
    digits="LEFT(MD5({0}), 15)",
    number="CAST(CONV({0}, 16, 10) AS UNSIGNED)",
    # As bytes: texts of different collations could not be joined.
    sized="CONCAT_WS(':', LENGTH({0}), CAST({0} AS BINARY))",
    joined=lambda parts: f"CONCAT_WS(',', {', '.join(parts)})",
)
DIGEST: DigestWords | None = _DIGEST
TIDB_DIGEST = replace(_DIGEST, apart=True)
"""TiDB evaluates CONV, and everything inside it, row by row; everything else in vectors."""

_NUMBERS = INTEGERS | {"year", "bit"}
_UTF8 = frozenset({None, "utf8", "utf8mb3", "utf8mb4", "ascii"})


# --- a column ----------------------------------------------------------------------------------


def column(existing: TargetColumn, codec: str, name: str) -> Comparable:
    """Returns how to read a column that `codec` writes; `name` is quoted."""
    type_ = CatalogType.parse(existing.type)
    kind = codec.partition(":")[0]
    charset = (existing.collation or "utf8mb4").partition("_")[0]
    return comparable(type_, _form(type_, kind), name, charset)


def _form(type_: CatalogType, kind: str) -> Form:
    match kind:
        case "integer" | "enum" | "decimal":
            return "number"
        case "binary":
            return "bytes"
        case "float" | "double":
            return "single" if type_.name == "float" else "double"
        case "date" | "datetime" | "instant" | "time":
            return "moment"
        case _:
            # Neither MySQL nor TiDB keep the order of its keys and the notation of its numbers.
            return "json" if type_.name == "json" else "text"


def comparable(
    type_: CatalogType, form: Form, name: str, charset: str | None = "utf8mb4"
) -> Comparable:
    """Returns how to read a column of this type in that form; `name` is quoted."""
    expression = _expression(type_, form, name, charset)
    match form:
        case "double" if type_.name == "float":
            return Comparable(expression, form, shortest_single, printed=False)
        case "moment":
            return Comparable(_without_zeros(expression, type_), form)
        case "json" | "vector" | "moment_or_null":
            return Comparable(expression, form, CONVERTED[form], printed=False)
        case _:
            integer = name if type_.name in INTEGERS and form == "number" else ""
            return Comparable(expression, form, CONVERTED.get(form), integer=integer)


def _expression(type_: CatalogType, form: Form, name: str, charset: str | None) -> str:
    kind = type_.name
    if kind in _NUMBERS:
        return f"CAST({name} + 0 AS CHAR)"
    if kind in ("enum", "set") and form == "number":
        return f"CAST(CAST({name} AS UNSIGNED) AS CHAR)"
    if kind in ("float", "double"):
        # Without it, a FLOAT is shown with six digits.
        return f"CAST({name} + 0E0 AS CHAR)"
    if kind == "binary":
        # TiDB leaves out the trailing zero bytes.
        return f"RPAD(LOWER(HEX({name})), {2 * type_.number(0, 1)}, '0')"
    if kind in BINARIES:
        return f"LOWER(HEX({name}))"
    if kind in TEXTS:
        return name if charset in _UTF8 else f"CONVERT({name} USING utf8mb4)"
    return f"CAST({name} AS CHAR)"


def _without_zeros(expression: str, type_: CatalogType) -> str:
    if type_.name not in TEMPORALS or not type_.number(0):
        return expression
    return f"TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM {expression}))"


# --- a read ------------------------------------------------------------------------------------


def begin(target: Target, state: str | None) -> str | None:
    """Begins a read-only transaction. On TiDB, returns the `state` with which another session sees
    the same data; elsewhere "", since that must be tested."""
    return _BEGIN[target.differences.name](target, state)  # type: ignore[attr-defined]


def _begin_snapshot(target: Target, state: str | None) -> str:
    target.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").close()
    target.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").close()
    return ""


def _begin_past(target: Target, state: str | None) -> str:
    if state is None:
        target.execute("START TRANSACTION").close()
        state = str(target.query("SELECT @@tidb_current_ts")[0][0])
        target.execute("COMMIT").close()
    target.execute(f"SET @@tidb_snapshot = {int(state)}").close()
    return state


_BEGIN = {"mysql": _begin_snapshot, "mariadb": _begin_snapshot, "tidb": _begin_past}


def rows(target: Target, statement: str) -> Iterator[tuple[Any, ...]]:
    """Iterates over a SELECT's rows of texts without holding them in memory together."""
    return streamed(target.connection, statement)


def streamed(connection: sa.Connection, statement: str) -> Iterator[tuple[Any, ...]]:
    driver: Any = connection.connection.dbapi_connection
    with driver.cursor(pymysql.cursors.SSCursor) as cursor:
        cursor.execute(statement)
        yield from cursor
