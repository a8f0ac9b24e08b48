"""Debezium's fields: columns as a Connect schema describes them, in both directions.

Source: TiCDC `pkg/sink/codec/debezium/codec.go`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from ticdc_encoder.column import INTEGERS, TYPE_NAMES, Column, ColumnType
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Value
from ticdc_encoder.formats.debezium.values import (
    ZERO_TIMESTAMP,
    Reader,
    boolean,
    full_year,
    reader,
    writer,
)
from ticdc_encoder.formats.defaults import stored_default
from ticdc_encoder.formats.elements import allowed, elements_of, set_reader
from ticdc_encoder.formats.json_text import json_float, jsoniter
from ticdc_encoder.values import decimal_value

_BITS, _ENUM, _SET, _JSON, _VECTOR = (
    f"io.debezium.data.{name}" for name in ("Bits", "Enum", "EnumSet", "Json", "TiDBVectorFloat32")
)
_DATE, _MILLI, _MICRO, _ZONED, _TIME, _YEAR = (
    f"io.debezium.time.{name}"
    for name in ("Date", "Timestamp", "MicroTimestamp", "ZonedTimestamp", "MicroTime", "Year")
)


# Writing.


def _connect(type_: ColumnType) -> tuple[str, str | None]:
    """Connect's type, and the name of the logical type."""
    match type_.name:
        case "tinyint":
            return "int16", None
        case "smallint":
            return "int32" if type_.unsigned else "int16", None
        case "mediumint":
            return "int32", None
        case "int":
            return "int64" if type_.unsigned else "int32", None
        case "bigint":
            return "int64", None
        case "float":
            return "float" if type_.decimals is None else "double", None
        case "double" | "decimal":
            return "double", None
        case "bit":
            return ("boolean", None) if (type_.length or 1) == 1 else ("bytes", _BITS)
        case "date":
            return "int32", _DATE
        case "datetime":
            return "int64", _MICRO if (type_.decimals or 0) > 3 else _MILLI
        case "time":
            return "int64", _TIME
        case "year":
            return "int32", _YEAR
    names = {"timestamp": _ZONED, "enum": _ENUM, "set": _SET, "json": _JSON, "vector": _VECTOR}
    return "string", names.get(type_.name)


def field_json(column: Column, *, extension: bool) -> str:
    """The column's field in a schema; with the extension its `tidb_type`, too."""
    type_ = column.type
    connect, name = _connect(type_)
    parts = [f'"type":"{connect}","optional":{boolean(column.nullable)}']
    if extension:
        unsigned = " unsigned" * (type_.unsigned and type_.name != "decimal")
        parts.insert(0, f'"tidb_type":"{type_.name}{unsigned}"')
    if name is not None:
        parts.append(f'"name":"{name}"' + ("" if name == _VECTOR else ',"version":1'))
    if name == _BITS:
        parts.append(f'"parameters":{{"length":"{type_.length}"}}')
    elif name in (_ENUM, _SET):
        # A SET's members hold no comma.
        listed = allowed(type_.elements) if name == _ENUM else ",".join(type_.elements)
        parts.append(f'"parameters":{{"allowed":{jsoniter(listed)}}}')
    parts.append(f'"field":{jsoniter(column.name)}')
    default = _default_json(column)
    if default is not None:
        parts.append(f'"default":{default}')
    return "{" + ",".join(parts) + "}"


def _default_json(column: Column) -> str | None:
    """The field's `default`, None if it has none."""
    stored = stored_default(column)
    if stored is None:
        return None
    name = column.type.name
    if name == "bit":
        return writer(column.type, nullable=False)(stored)
    assert isinstance(stored, str)
    if name == "year":
        return json_float(full_year(float(stored)), new_architecture=True)
    if name in INTEGERS or name in ("float", "double", "decimal"):
        return json_float(float(stored), new_architecture=True)
    if name == "timestamp" and (stored == _NOW or stored.startswith("0000")):
        return None if column.nullable else f'"{ZERO_TIMESTAMP}"'
    if stored == _NOW:
        return "0"
    if name in ("date", "datetime", "time", "timestamp"):
        written = writer(column.type, nullable=column.nullable)(stored)
        return None if written == "null" else written
    return jsoniter(stored)


_NOW = "CURRENT_TIMESTAMP"


def null_json(column: Column, utc: Callable[[str], str] = str) -> str:
    """The JSON that stands for NULL: the column's DEFAULT if it has one. A TIMESTAMP's DEFAULT is
    read as the server's local time, which `utc` converts to UTC."""
    stored = stored_default(column)
    if stored is None or stored == _NOW:
        # With DEFAULT CURRENT_TIMESTAMP, a DATETIME is 0 and a TIMESTAMP stays null.
        return "0" if stored == _NOW and column.type.name == "datetime" else "null"
    value = _value(column.type, stored)
    if column.type.name == "timestamp" and isinstance(value, str):
        value = utc(value)
    return writer(column.type, nullable=column.nullable)(value)


def _value(type_: ColumnType, stored: int | str) -> Value:
    """The value that a stored default stands for."""
    if isinstance(stored, int):
        return stored
    if type_.name in INTEGERS or type_.name == "year":
        return int(stored)
    if type_.name in ("float", "double"):
        return float(stored)
    if type_.name == "decimal":
        return decimal_value(stored)
    if type_.name == "enum":
        return type_.elements.index(stored) + 1
    if type_.name == "set":
        return set_reader(type_.elements)(stored)
    return stored.encode("utf-8", "surrogateescape") if type_.binary else stored


# Reading.

_CONNECT = {
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "double": "double",
    "boolean": "bit",
    "bytes": "bit",
    "string": "longtext",
}
_NAMED = {
    _ENUM: "enum",
    _SET: "set",
    _DATE: "date",
    _MILLI: "datetime",
    _MICRO: "datetime",
    _ZONED: "timestamp",
    _TIME: "time",
    _YEAR: "year",
    _JSON: "json",
    _VECTOR: "vector",
}


def parse_field(field: Mapping[str, Any]) -> tuple[Column, Reader]:
    """The column that a field describes, and the reader of its values.

    Without the extension, text cannot be distinguished from bytes, which stay base64 in a
    `longtext`, and a number's type is the smallest that holds it. The column's `default` is JSON.
    """
    column, connect, meaning = field.get("field"), field.get("type"), field.get("name")
    tidb_type, parameters = field.get("tidb_type"), field.get("parameters") or {}
    texts = column.__class__ is connect.__class__ is str and isinstance(meaning, str | None)
    if not texts or connect not in _CONNECT or not isinstance(parameters, dict):
        raise WireError("a field of a schema without a name or a known type")
    name, unsigned = _NAMED.get(meaning or "", _CONNECT[connect]), False
    if tidb_type is not None:
        name, _, rest = str(tidb_type).partition(" ")
        unsigned = rest == "unsigned"
        if name not in TYPE_NAMES or rest not in ("", "unsigned"):
            raise WireError(f"an unknown tidb_type: {str(tidb_type)[:40]!r}")
    listed, length = parameters.get("allowed"), parameters.get("length")
    elements: tuple[str, ...] = ()
    if name in ("enum", "set"):
        if listed.__class__ is not str:
            raise WireError(f"field `{column}` without its allowed members")
        elements = elements_of(listed) if name == "enum" else tuple(listed.split(","))
    if name == "bit" and connect == "bytes" and not str(length).isdecimal():
        raise WireError(f"field `{column}` without a length")
    type_ = ColumnType(
        name,
        unsigned=unsigned,
        length=int(str(length)) if name == "bit" and connect == "bytes" else None,
        elements=elements,
    )
    if connect == "boolean":
        type_ = ColumnType(name, length=1)
    nullable = field.get("optional") is not False
    default = field.get("default")
    default_json = None if default is None else orjson.dumps(default).decode()
    return Column(str(column), type_, nullable, default_json), reader(
        type_, micro=meaning == _MICRO
    )


def inferred_type(types: Iterable[type]) -> ColumnType:
    """The type of a column without a schema, by the types of its values in a message."""
    kinds = set(types) - {type(None)}
    if kinds == {bool}:
        return ColumnType("bit", length=1)
    if kinds == {int}:
        return ColumnType("bigint")
    return ColumnType("double" if kinds & {int, float} else "longtext")
