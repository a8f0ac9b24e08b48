"""Kafka Connect's schemas and payloads as Avro, as TiCDC's debezium-avro converts them.

Source: TiCDC `pkg/sink/codec/debezium/avro.go`.
"""

import binascii
import json
from collections.abc import Mapping
from typing import Any

from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.formats.avro.binary import float32, float64, long, sized
from ticdc_encoder.formats.names import sanitize

DECIMAL = "org.apache.kafka.connect.data.Decimal"

Schema = Mapping[str, Any]

_PRIMITIVES = {
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
}
_HTML = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def schema_json(schema: Schema) -> str:
    """The Avro schema of a Connect schema, as Go writes it: members sorted, HTML escaped."""
    avro = _avro(schema, "", set())
    text = json.dumps(avro, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.translate(_HTML)


def _avro(schema: Schema, fallback: str, defined: set[str]) -> Any:
    kind = schema["type"]
    if kind == "struct":
        return _record(schema, fallback, defined)
    if kind == "array":
        items = _avro(schema["items"], f"{fallback}Item", defined)
        return {"type": "array", "items": items, **_connect(schema)}
    metadata = _connect(schema)
    if schema.get("name") == DECIMAL:
        parameters = schema["parameters"]
        metadata |= {
            "logicalType": "decimal",
            "precision": int(parameters["precision"]),
            "scale": int(parameters["scale"]),
        }
    if kind == "int16":
        metadata["connect.type"] = kind
    avro = _PRIMITIVES[kind]
    return {"type": avro, **metadata} if metadata else avro


def _record(schema: Schema, fallback: str, defined: set[str]) -> Any:
    full = ".".join(map(sanitize, (schema.get("name") or fallback).split(".")))
    if full in defined:
        return full
    defined.add(full)
    namespace, _, name = full.rpartition(".")
    fields: list[dict[str, Any]] = []
    for field in schema["fields"]:
        avro_name = sanitize(field["field"])
        if any(avro_name == known["name"] for known in fields):
            raise DefinitionError(f"two fields of {full} are `{avro_name}` in Avro")
        avro: dict[str, Any] = {"name": avro_name, "connect.field": field["field"]}
        avro["type"] = _avro(field, avro_name, defined)
        if "tidb_type" in field:
            avro["tidb_type"] = field["tidb_type"]
        if field["optional"]:
            avro |= {"type": ["null", avro["type"]], "default": None}
        fields.append(avro)
    record = {"type": "record", "name": name, "fields": fields, **_connect(schema)}
    return {**record, "namespace": namespace} if namespace else record


def _connect(schema: Schema) -> dict[str, Any]:
    """The members that Connect adds to the type."""
    members = {name: schema.get(name) for name in ("name", "version", "parameters")}
    return {f"connect.{name}": value for name, value in members.items() if value}


def datum(schema: Schema, payload: Any) -> bytes:
    """The Avro datum of a Connect payload."""
    match schema["type"]:
        case "struct":
            return b"".join([_optional(f, payload.get(f["field"])) for f in schema["fields"]])
        case "array":
            if not payload:
                return b"\0"
            items = b"".join([_optional(schema["items"], item) for item in payload])
            return long(len(payload)) + items + b"\0"
        case "boolean":
            return b"\1" if payload else b"\0"
        case "string":
            return sized(payload.encode("utf-8", "surrogateescape"))
        case "bytes":
            return sized(binascii.a2b_base64(payload))
        case "float":
            return float32(payload)
        case "double":
            return float64(payload)
    return long(int(payload))


def _optional(schema: Schema, payload: Any) -> bytes:
    if not schema["optional"]:
        return datum(schema, payload)
    return b"\0" if payload is None else b"\2" + datum(schema, payload)
