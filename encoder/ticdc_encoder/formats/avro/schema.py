"""Avro schemas as TiCDC registers them: column types and defaults, in both directions.

Source: TiCDC `pkg/sink/codec/avro`. The text is Go's, byte for byte: a registry compares texts.
"""

import struct
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ticdc_encoder.column import BINARIES, TEMPORALS, TEXTS, Column, ColumnType
from ticdc_encoder.errors import DefinitionError, WireError
from ticdc_encoder.formats.defaults import stored_default
from ticdc_encoder.formats.elements import allowed, elements_of
from ticdc_encoder.formats.json_text import encoding_json, json_float
from ticdc_encoder.formats.names import sanitize

DecimalMode = Literal["precise", "string"]
BigintUnsignedMode = Literal["long", "string"]

BEFORE = "_ticdc_before"
OPERATION, COMMIT_TS, PHYSICAL_TIME = "_tidb_op", "_tidb_commit_ts", "_tidb_commit_physical_time"
CHECKSUM, CORRUPTED = "_tidb_row_level_checksum", "_tidb_corrupted"
CHECKSUM_VERSION = "_tidb_checksum_version"
EXTENSION = (
    f'{{"default":"","name":"{OPERATION}","type":"string"}},'
    f'{{"default":0,"name":"{COMMIT_TS}","type":"long"}},'
    f'{{"default":0,"name":"{PHYSICAL_TIME}","type":"long"}}'
)
CHECKSUMS = (
    f'{{"default":"","name":"{CHECKSUM}","type":"string"}},'
    f'{{"default":false,"name":"{CORRUPTED}","type":"boolean"}},'
    f'{{"default":0,"name":"{CHECKSUM_VERSION}","type":"int"}}'
)
AFTER_COLUMNS = frozenset(
    {BEFORE, OPERATION, COMMIT_TS, PHYSICAL_TIME, CHECKSUM, CORRUPTED, CHECKSUM_VERSION}
)
"""The fields behind a row's columns: a column of such a name cannot be distinguished from them."""


# Columns: Column -> field.


@dataclass(frozen=True, slots=True)
class Modes:
    """Modes that decide the Avro type of DECIMAL and BIGINT UNSIGNED."""

    decimal: DecimalMode = "precise"
    bigint_unsigned: BigintUnsignedMode = "long"


_INTS = frozenset({"tinyint", "smallint", "mediumint"})
_TIDB_TYPES: dict[str, str] = {
    **dict.fromkeys(_INTS | {"int"}, "INT"),
    **dict.fromkeys(TEXTS, "TEXT"),
    **dict.fromkeys(BINARIES, "BLOB"),
    **{name: name.upper() for name in TEMPORALS},
    **{n: n.upper() for n in ("bigint", "float", "double", "decimal", "year", "bit", "enum")},
    "set": "SET",
    "json": "JSON",
    "vector": "TiDBVECTORFloat32",
}


def avro_type(type_: ColumnType, modes: Modes) -> str:
    """The name of the Avro type that holds a column's values."""
    name = type_.name
    if name in _INTS or name == "year":
        return "int"
    if name == "int":
        return "long" if type_.unsigned else "int"
    if name == "bigint":
        return modes.bigint_unsigned if type_.unsigned else "long"
    if name in ("float", "double"):
        return name
    if name == "decimal":
        return "bytes" if modes.decimal == "precise" else "string"
    return "bytes" if type_.binary or name == "bit" else "string"


def _type_json(type_: ColumnType, modes: Modes) -> str:
    tidb_type = _TIDB_TYPES[type_.name]
    if type_.unsigned and type_.name in _INTS | {"int", "bigint"}:
        tidb_type += " UNSIGNED"
    parameters = ""
    if type_.name in ("enum", "set"):
        parameters = f'"allowed":{encoding_json(allowed(type_.elements))},'
    elif type_.name == "bit":
        parameters = f'"length":"{type_.length or 1}",'
    logical = ""
    if type_.name == "decimal" and modes.decimal == "precise":
        precision, scale = type_.length or 10, type_.decimals or 0
        logical = f',"logicalType":"decimal","precision":{precision},"scale":{scale}'
    return (
        f'{{"type":"{avro_type(type_, modes)}",'
        f'"connect.parameters":{{{parameters}"tidb_type":"{tidb_type}"}}{logical}}}'
    )


def bit_width(type_: ColumnType) -> int:
    """The bytes that a BIT takes."""
    return ((type_.length or 1) + 7) // 8


def null_branch(column: Column, modes: Modes) -> int | None:
    """The null branch of a column's union: 1, the second, if it has a default that Avro can hold,
    else 0. None for a column that is NOT NULL."""
    if not column.nullable:
        return None
    return 0 if _default_json(column, modes) is None else 1


def field_json(column: Column, modes: Modes) -> str:
    type_, name = _type_json(column.type, modes), sanitize(column.name)
    default = _default_json(column, modes)
    if column.nullable:
        type_ = f'["null",{type_}]' if default is None else f'[{type_},"null"]'
        default = default or "null"
    start = "" if default is None else f'"default":{default},'
    return f'{{{start}"name":"{name}","type":{type_}}}'


def record_json(name: str, namespace: str, fields: Iterable[str]) -> str:
    return (
        f'{{"type":"record","name":"{name}","namespace":"{namespace}",'
        f'"fields":[{",".join(fields)}]}}'
    )


# Defaults.


def _default_json(column: Column, modes: Modes) -> str | None:
    """The JSON of a column's default; None if there is none that Avro can hold."""
    try:
        default, type_ = stored_default(column), column.type
        if default is None or (type_.name == "decimal" and modes.decimal == "precise"):
            return None
        if isinstance(default, int):
            raw = default.to_bytes(bit_width(type_), "big")
            return f'"{b64encode(raw).decode()}"'
        match avro_type(type_, modes):
            case "bytes":
                raw = default.encode("utf-8", "surrogateescape")
                padded = raw.ljust(type_.length or 0, b"\0") if type_.name == "binary" else raw
                return f'"{b64encode(padded).decode()}"'
            case "int" | "long":
                number = int(default)
                return str(number - (1 << 64) if number >= 1 << 63 else number)
            case "float":
                (single,) = struct.unpack("<f", struct.pack("<f", float(default)))
                return json_float(single, new_architecture=False)
            case "double":
                return json_float(float(default), new_architecture=False)
        return encoding_json(default)
    except (ValueError, OverflowError) as error:
        raise DefinitionError(
            f"column `{column.name}`: its default is not a valid {column.type.name}"
        ) from error


# Columns: field -> Column.

_COLUMN_TYPES: dict[str, tuple[str, frozenset[str]]] = {
    "INT": ("int", frozenset({"int"})),
    "INT UNSIGNED": ("int", frozenset({"int", "long"})),
    "BIGINT": ("bigint", frozenset({"long"})),
    "BIGINT UNSIGNED": ("bigint", frozenset({"long", "string"})),
    "FLOAT": ("float", frozenset({"float", "double"})),  # double before v7.0
    "DOUBLE": ("double", frozenset({"double"})),
    "DECIMAL": ("decimal", frozenset({"bytes", "string"})),
    "BIT": ("bit", frozenset({"bytes"})),
    "TEXT": ("text", frozenset({"string"})),
    "BLOB": ("blob", frozenset({"bytes"})),
    "YEAR": ("year", frozenset({"int"})),
    **{
        name.upper(): (name, frozenset({"string"}))
        for name in ("enum", "set", "json", "date", "datetime", "timestamp", "time")
    },
    "TiDBVECTORFloat32": ("vector", frozenset({"string"})),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A column as a schema describes it, and the Avro type of its values."""

    column: Column
    avro_type: str


def field_of(field: Mapping[str, Any]) -> Field:
    """A schema's field as a column: its length, fsp and true name are not in it."""
    name, type_ = field.get("name"), field.get("type")
    nullable = isinstance(type_, list)
    if isinstance(type_, list):
        branches = [branch for branch in type_ if branch != "null"]
        type_ = branches[0] if len(branches) == 1 else None
    try:
        parameters = type_["connect.parameters"]  # type: ignore[index]
        tidb_type, avro = parameters["tidb_type"], type_["type"]  # type: ignore[index]
        kind, carriers = _COLUMN_TYPES[tidb_type]
    except (KeyError, TypeError) as error:
        raise WireError(f"field `{name}` has no known tidb_type") from error
    if avro not in carriers or not isinstance(name, str):
        raise WireError(f"field `{name}` has {tidb_type} in the wrong Avro type")
    length = decimals = None
    if kind == "decimal" and avro == "bytes":
        length, decimals = type_.get("precision"), type_.get("scale", 0)  # type: ignore[union-attr]
    elif kind == "bit":
        length = _int(parameters.get("length"))
    elements = elements_of(str(parameters.get("allowed"))) if kind in ("enum", "set") else ()
    return Field(
        Column(
            name,
            ColumnType(
                kind,
                unsigned=tidb_type.endswith(" UNSIGNED"),
                length=length,
                decimals=decimals,
                elements=elements,
            ),
            nullable=nullable,
        ),
        avro,
    )


def _int(text: Any) -> int | None:
    return int(text) if isinstance(text, str) and text.isdecimal() else None
