"""Reads PostgreSQL's values back for comparison."""

from collections.abc import Iterator
from typing import Any

from ticdc_consumer.targets.comparable import CONVERTED, Comparable, DigestWords, Form
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.target import Target

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_PLANS = ("enable_sort = off", "parallel_tuple_cost = 0")
"""The planner cannot know that a table has few parts and would sort all rows on disk to group by
them. So each process puts them into a hash table and passes few rows to the one that adds."""

DIGEST: DigestWords | None = DigestWords(
    digits="substr(md5({0}), 1, 15)",
    number="('x0' || {0})::bit(64)::bigint",
    sized="COALESCE(octet_length({0}) || ':' || {0}, '')",
    joined=" || ',' || ".join,
)

_FORMS: dict[str, Form] = {
    "text": "text",
    "number": "double",
    "decimal": "number",
    "jsonb": "json",
    "date": "moment",
    "date_or_null": "moment_or_null",
    "time": "moment",
    "boolean": "number",
    "bits": "number",
    "floats": "vector",
    "bytea": "bytes",
    "enum": "label",
    "set": "label",
}
"""The form by the codec that wrote the values; `plain` follows the column's type."""
_PLAIN: dict[str, Form] = {"smallint": "number", "integer": "number", "bigint": "number"}
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def column(existing: TargetColumn, codec: str, name: str) -> Comparable:
    """Returns how to read a column that `codec` writes; `name` is quoted."""
    type_ = existing.type
    form = _FORMS.get(codec.partition(":")[0]) or _plain(type_)
    if form == "double" and type_ == "real":
        return Comparable(f"{name}::float8::text", "single", CONVERTED["single"])
    if type_.startswith("bit"):
        return Comparable(f"{name}::text", form, lambda bits: str(int(bits, 2)), printed=False)
    convert = None if form in ("moment", "moment_or_null") else CONVERTED.get(form)
    printed = form not in ("json", "vector")
    integer = name if type_ in _PLAIN and form == "number" else ""
    return Comparable(_text(name, type_), form, convert, printed, integer)


def _plain(type_: str) -> Form:
    if type_.startswith("numeric"):
        return "number"
    return _PLAIN.get(type_, "vector" if type_.startswith("vector") else "text")


def _text(name: str, type_: str) -> str:
    if type_ == "bytea":
        return f"encode({name}, 'hex')"
    if type_ == "boolean":
        return f"{name}::int::text"
    if type_.startswith("timestamp") and type_.endswith("with time zone"):
        return f"({name} AT TIME ZONE 'UTC')::text"
    return f"{name}::text"


def begin(target: Target, state: str | None) -> str | None:
    """Begins a read-only transaction. Returns the `state` with which another session sees the same
    data while this one lasts."""
    target.execute(_BEGIN).close()
    for setting in _PLANS:
        target.execute(f"SET LOCAL {setting}").close()
    if state is not None:
        target.execute(f"SET TRANSACTION SNAPSHOT '{state}'").close()
        return state
    return str(target.query("SELECT pg_export_snapshot()")[0][0])


def rows(target: Target, statement: str) -> Iterator[tuple[Any, ...]]:
    """Iterates over a SELECT's rows of texts without holding them in memory together."""
    driver: Any = target.connection.connection.dbapi_connection
    with driver.cursor() as cursor, cursor.copy(f"COPY ({statement}) TO STDOUT") as copy:
        for line in copy:
            text = str(line, "utf-8")[:-1]
            fields = text.split("\t")
            yield tuple(map(_field, fields)) if "\\" in text else tuple(fields)


def _field(text: str) -> str | None:
    if "\\" not in text:
        return text
    if text == "\\N":
        return None
    parts = text.split("\\\\")
    return "\\".join(part if "\\" not in part else _unescaped(part) for part in parts)


def _unescaped(part: str) -> str:
    first, *others = part.split("\\")
    return first + "".join(_ESCAPED[other[0]] + other[1:] for other in others)
