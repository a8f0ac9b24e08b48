"""Reads SQLite's values back for comparison.

Values have their own types, whatever the column's: a value of a type that the consumer does not
write is shown with that type, and so equals no value of the upstream.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any

from ticdc_consumer.targets.comparable import Comparable, Convert, DigestWords, Form
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.target import Target

DIGEST: DigestWords | None = None


def _text(value: Any) -> str:
    return value if type(value) is str else _strange(value)


def _integer(value: Any) -> str:
    return str(value) if type(value) is int else _strange(value)


def _double(value: Any) -> str:
    return repr(value + 0.0) if type(value) is float else _strange(value)


def _quoted_double(value: Any) -> str:
    try:
        return repr(float(value) + 0.0) if type(value) is str else _strange(value)
    except ValueError:
        return _strange(value)


def _bytes(value: Any) -> str:
    return value.hex() if type(value) is bytes else _strange(value)


def _strange(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


_FORMS: dict[str, tuple[Form, Convert]] = {
    "integer": ("number", _integer),
    "number": ("double", _double),
    "quoted": ("text", _text),
    "quoted_number": ("double", _quoted_double),
    "text": ("text", _text),
    "blob": ("bytes", _bytes),
    "enum": ("label", _text),
    "set": ("label", _text),
}
"""The form and conversion by the codec that wrote the values."""


def column(existing: TargetColumn, codec: str, name: str) -> Comparable:
    """Returns how to read a column that `codec` writes; `name` is quoted."""
    form, convert = _FORMS[codec.partition(":")[0]]
    return Comparable(name, form, convert, printed=False)


def begin(target: Target, state: str | None) -> str | None:
    """Begins a read-only transaction; no other session can see the same."""
    target.execute("BEGIN DEFERRED").close()
    return None


def rows(target: Target, statement: str) -> Iterator[tuple[Any, ...]]:
    """Iterates over the rows of a SELECT without holding them in memory together."""
    driver = target.connection.connection.dbapi_connection
    assert isinstance(driver, sqlite3.Connection)
    factory, driver.text_factory = driver.text_factory, _decoded
    try:
        yield from driver.execute(statement)
    finally:
        driver.text_factory = factory


def _decoded(text: bytes) -> str:
    """Decodes any bytes, which SQLite holds in a text; no upstream text has a lone surrogate."""
    return text.decode("utf-8", "surrogateescape")
