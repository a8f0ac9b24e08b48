"""Guesses at a message that is not of the configured protocol: words for an error."""

import re

import orjson

LIKENESS = re.compile(r"\(it looks like ([^)]+)\)")
"""The guess in an error's text."""

_OPEN_VERSION = (1).to_bytes(8, "big")
_LZ4_MAGIC = bytes.fromhex("04224d18")

_SIMPLE_AVRO = frozenset({bytes((0x16, 2 * n, 2 * n)) for n in range(4)})

_MEMBERS: tuple[tuple[str, frozenset[str]], ...] = (
    ("canal-json", frozenset({"isDdl", "mysqlType"})),
    ("debezium", frozenset({"payload"})),
    ("debezium", frozenset({"op", "source"})),
    ("simple with encoding-format=json", frozenset({"version", "type", "commitTs"})),
)


def likeness(key: bytes | None, value: bytes | None) -> str:
    """The text ` (it looks like ...)`, or ""."""
    name = _protocol(key, value)
    return f" (it looks like {name})" if name else ""


def _protocol(key: bytes | None, value: bytes | None) -> str | None:
    if key is not None and key.startswith(_OPEN_VERSION):
        return "open-protocol"
    if not value:
        return None
    if value.startswith(_LZ4_MAGIC):
        return "a value compressed with lz4"
    if value[:3] in _SIMPLE_AVRO:
        return "simple with encoding-format=avro"
    if value[:1] == b"\0" and any(value[1:5]):  # Confluent's magic byte and a schema's id
        return "avro"
    if value[:1] == b"\1" and value[1:2] == b"{":  # a DDL, by avro-enable-watermark
        return "avro"
    if value[:1] == b"\2" and len(value) == 9:  # a resolved ts, by the same
        return "avro"
    try:
        members = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    if isinstance(members, dict):
        for name, expected in _MEMBERS:
            if expected <= members.keys():
                return name
    return None
