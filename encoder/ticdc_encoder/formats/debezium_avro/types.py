"""Columns and values as debezium-avro has them, in both directions."""

import json
from collections.abc import Callable
from typing import Any

from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Value
from ticdc_encoder.formats.avro.binary import FLOAT32, float32, float64, long, sized
from ticdc_encoder.formats.avro.schema import Modes
from ticdc_encoder.formats.avro.values import Write, to_avro
from ticdc_encoder.formats.debezium.fields import field_json, null_json, parse_field
from ticdc_encoder.formats.debezium.values import reader, writer
from ticdc_encoder.formats.debezium_avro.connect import DECIMAL
from ticdc_encoder.formats.defaults import stored_default
from ticdc_encoder.formats.elements import member, members
from ticdc_encoder.values import decimal_value, integer, single, text

Convert = Callable[[Any], Value]

# Reading.


def connect_name(field_: Any) -> str:
    name = field_.get("connect.field", field_.get("name")) if isinstance(field_, dict) else None
    if not isinstance(name, str):
        raise WireError("a field without a name")
    return name


_CONNECT = {"int": "int32", "long": "int64"}
_TEXTS: dict[str, Convert] = {
    "decimal": decimal_value,
    "bigint unsigned": lambda digits: integer(int(digits)),
}


def column_of(field_: dict[str, Any], *, nullable: bool) -> tuple[Column, Convert | None]:
    """The column that a field describes, and the function from Avro's values to its own."""
    name, tidb_type = connect_name(field_), field_.get("tidb_type")
    type_ = field_.get("type")
    branches = [part for part in type_ if part != "null"] if isinstance(type_, list) else [type_]
    about = branches[0] if len(branches) == 1 else None
    if isinstance(about, str):
        about = {"type": about}
    if not isinstance(about, dict):
        raise WireError(f"field `{name}` has more than one type")
    avro, meaning = about.get("type"), about.get("connect.name")
    parameters = about.get("connect.parameters") or {}
    if avro == "bytes" and about.get("logicalType") == "decimal":
        length, decimals = about.get("precision"), about.get("scale", 0)
        return Column(name, ColumnType("decimal", length=length, decimals=decimals), nullable), None
    if avro == "bytes" and meaning is None:
        kind = ColumnType(str(tidb_type or "longblob"))
        if not kind.binary:
            raise WireError(f"field `{name}` has tidb_type {tidb_type}, but bytes")
        return Column(name, kind, nullable), None
    if avro == "string" and tidb_type in _TEXTS:
        word, _, rest = tidb_type.partition(" ")
        column = Column(name, ColumnType(word, unsigned=bool(rest)), nullable)
        return column, _TEXTS[tidb_type]
    column, read = parse_field(
        {
            "field": name,
            "type": about.get("connect.type", _CONNECT.get(str(avro), avro)),
            "name": meaning,
            "parameters": parameters,
            "tidb_type": tidb_type,
            "optional": nullable,
        }
    )
    if avro == "bytes":
        return column, lambda raw: integer(int.from_bytes(raw, "little"))
    if column.type.name == "float":
        return column, single
    return column, None if read is text else read


# Writing.


def connect_field(column: Column, modes: Modes, extension: bool) -> dict[str, Any]:
    """The column's field in a schema of Connect."""
    type_ = column.type
    about: dict[str, Any] = json.loads(field_json(column, extension=extension))
    about.pop("default", None)
    about["optional"] = True
    unsigned = type_.name == "bigint" and type_.unsigned
    if type_.binary:
        about["type"] = "bytes"
    elif (unsigned and modes.bigint_unsigned == "string") or (
        type_.name == "decimal" and modes.decimal == "string"
    ):
        about["type"] = "string"
    elif type_.name == "decimal":
        precision, scale = str(type_.length or 10), str(type_.decimals or 0)
        about |= {"type": "bytes", "name": DECIMAL}
        about["parameters"] = {"precision": precision, "scale": scale}
    return about


def union_writer(column: Column, modes: Modes) -> tuple[Write, bytes]:
    """A function that writes a column's values, and the bytes for NULL (the DEFAULT if any)."""
    write = _writer(column, modes)
    default = null_json(column)
    if default == "null":
        return write, b"\0"
    if column.type.name == "decimal":
        return write, write(decimal_value(str(stored_default(column))))
    micro = (column.type.decimals or 0) > 3
    return write, write(reader(column.type, micro=micro)(json.loads(default)))


def _writer(column: Column, modes: Modes) -> Write:
    type_ = column.type
    if type_.name in ("date", "datetime", "time"):
        number = writer(type_, nullable=column.nullable)
        return lambda value: b"\0" if (n := number(value)) == "null" else b"\2" + long(int(n))
    write = _plain_writer(type_, modes)
    return lambda value: b"\2" + write(value)


def _plain_writer(type_: ColumnType, modes: Modes) -> Write:
    elements = type_.elements
    match type_.name:
        case "bigint" if type_.unsigned and modes.bigint_unsigned == "long":
            return lambda value: long(integer(value))
        case "float" if type_.decimals is not None:
            return lambda value: float64(_widened(single(value)))
        case "bit" if (type_.length or 1) == 1:
            return lambda value: b"\1" if integer(value) else b"\0"
        case "bit":
            size = ((type_.length or 1) + 7) // 8
            return lambda value: sized(integer(value).to_bytes(8, "little")[:size])
        case "enum":
            return lambda value: _string(member(elements, value) if value else "")
        case "set":
            return lambda value: _string(members(elements, value))
        case "timestamp":
            zoned = writer(type_, nullable=True)
            return lambda value: _string(zoned(value)[1:-1])
    return to_avro(type_, modes, str, new_architecture=True)


def _widened(value: float) -> float:
    """The double that a FLOAT becomes."""
    widened: float = FLOAT32.unpack(float32(value))[0]
    return widened


def _string(characters: str) -> bytes:
    return sized(characters.encode("utf-8", "surrogateescape"))
