"""Canal-JSON's rows: a message's rows as changes of the table that it describes."""

import binascii
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import msgspec

from ticdc_encoder.column import Column
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Event, RowChange, Table
from ticdc_encoder.formats.canal_json.types import parse_mysql_type
from ticdc_encoder.formats.json_text import Members
from ticdc_encoder.formats.row_reader import RowReader
from ticdc_encoder.values import FAMILIES


def string(members: Members, name: str) -> str:
    value = members.get(name)
    if value.__class__ is not str:
        raise WireError(f"{name} is missing or not a string")
    return value


class RowsMessage(
    msgspec.Struct,
    forbid_unknown_fields=True,
    kw_only=True,
    gc=False,
    rename={
        "pk_names": "pkNames",
        "is_ddl": "isDdl",
        "sql_type": "sqlType",
        "mysql_type": "mysqlType",
        "extension": "_tidb",
    },
):
    """A message of rows as TiCDC writes it, in its order. `parse` checks these types; in a message
    that was read otherwise, each member may be anything."""

    id: int = 0
    database: str
    table: str
    pk_names: list[str] | None
    is_ddl: bool
    type: Literal["INSERT", "UPDATE", "DELETE"]
    es: int = 0
    ts: int = 0
    sql: str = ""
    sql_type: msgspec.Raw = msgspec.Raw()
    mysql_type: dict[str, str] | None
    old: list[dict[str, str | None]] | None = None
    data: list[dict[str, str | None]] | None = None
    extension: Members


_parse = msgspec.json.Decoder(RowsMessage).decode


def parse(plain: bytes) -> RowsMessage | None:
    """The message if it has rows, the extension and nothing else, else None. This takes three
    quarters of the time of parsing it as any JSON (`bench/formats.py`)."""
    try:
        message = _parse(plain)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return None if message.is_ddl or message.data is None else message


def rows_message(members: Members, extension: Members) -> RowsMessage:
    """The same from an object whose members may be anything."""
    get: Callable[[str], Any] = members.get
    return RowsMessage(
        database=get("database"),
        table=get("table"),
        pk_names=get("pkNames"),
        is_ddl=False,
        type=get("type"),
        mysql_type=get("mysqlType"),
        old=get("old"),
        data=get("data"),
        extension=extension,
    )


def read_rows(message: RowsMessage, commit_ts: int) -> list[Event]:
    incomplete, location, row_key = False, None, None
    if len(message.extension) > 1:  # more than commitTs
        incomplete, location, row_key = _details(message.extension)
    kind, images = message.type, _images(message.data, "data")
    before: list[Members] | None = None
    if kind == "UPDATE":
        before = _images(message.old, "old")
        if len(before) != len(images):
            raise WireError("data and old differ in length")
    elif kind == "INSERT":
        if message.old is not None:
            raise WireError("an INSERT with old")
    elif kind != "DELETE":  # whose `old` repeats `data` before v5.4
        raise WireError(f"an unknown type: {str(kind)[:40]!r}")

    changes: list[Event] = []
    for number, image in enumerate(images):
        shape = _shape(message, image)
        reader = shape.reader
        old: Members | None = None
        new: Members | None = image
        if before is not None:
            old = before[number]
            if [*old] != shape.names:
                # v8.5.4 sends columns here that a column selector removed everywhere else.
                old = {name: text for name, text in old.items() if name in reader.readers}
        elif kind == "DELETE":
            old, new = image, None
        reader.read(old, new, commit_ts)
        changes.append(
            RowChange(reader.table, commit_ts, old, new, 0, None, incomplete, location, row_key)
        )
    return changes


def _details(extension: Members) -> tuple[bool, str | None, bytes | None]:
    """The row's incompleteness, the location of the whole message, and the row's key."""
    location, reduced = extension.get("claimCheckLocation"), extension.get("onlyHandleKey", False)
    if reduced.__class__ is not bool:
        raise WireError("onlyHandleKey is not a boolean")
    if location is not None and (location.__class__ is not str or not location):
        raise WireError("claimCheckLocation is not a string")
    row_key = extension.get("rowkey")
    return (
        reduced or location is not None,
        location,
        None if row_key is None else _base64(row_key),
    )


def _images(images: Any, name: str) -> list[Members]:
    if images.__class__ is not list or not images:
        raise WireError(f"{name} is not a list of objects")
    for image in images:
        if image.__class__ is not dict:
            raise WireError(f"{name} is not a list of objects")
    return images


def _base64(value: Any) -> bytes:
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except (TypeError, ValueError) as error:
        raise WireError("rowkey is not base64") from error


# The table that a message describes.


@dataclass(frozen=True, slots=True)
class _RowShape:
    """Shape of a table in a message, with the `names` of a row's columns in their order."""

    key: Any
    types: Any
    names: list[str]
    reader: RowReader


_last: dict[tuple[Any, Any], _RowShape] = {}
"""The shape of each table's last row, which is mostly the next one's."""
_MOST_TABLES = 4096


def _shape(message: RowsMessage, image: Members) -> _RowShape:
    table_name = message.database, message.table
    key, types, names = message.pk_names, message.mysql_type, [*image]
    try:
        last = _last.get(table_name)
    except TypeError:
        last = None  # names that are not text
    if last is None or names != last.names or types != last.types or key != last.key:
        last = _RowShape(key, types, names, _reader_of(table_name, types or {}, key or (), names))
        if len(_last) >= _MOST_TABLES:
            _last.clear()
        _last[table_name] = last
    return last


def _reader_of(table_name: tuple[Any, Any], types: Any, key: Any, names: list[str]) -> RowReader:
    if not isinstance(types, dict) or not isinstance(key, list | tuple):
        raise WireError("mysqlType is not an object, or pkNames not a list")
    if missing := [name for name in names if name not in types]:
        raise WireError(f"column `{missing[0]}` has no mysqlType")
    column_types = tuple([types[name] for name in names])
    if not {*map(type, column_types), *map(type, key)} <= {str}:
        raise WireError("mysqlType or pkNames holds something that is not a string")
    for name, value in zip(("database", "table"), table_name, strict=True):
        if value.__class__ is not str:
            raise WireError(f"{name} is missing or not a string")
    return _reader(*table_name, tuple(key), tuple(names), column_types)


@lru_cache(maxsize=4096)
def _reader(
    schema: str, name: str, key: tuple[str, ...], names: tuple[str, ...], types: tuple[str, ...]
) -> RowReader:
    """Reads rows of this shape; its table is known as far as they describe it."""
    if not name:
        raise WireError("a row without a table")
    columns = tuple(
        Column(column, parse_mysql_type(type_), nullable=column not in key)
        for column, type_ in zip(names, types, strict=True)
    )
    readers = {column.name: FAMILIES[column.type.name].from_text for column in columns}
    return RowReader(Table(schema, name, columns, handle_key=key), readers)
