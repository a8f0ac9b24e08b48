"""Simple's Avro encoding: `encoding-format=avro`, one schema for all messages and no registry.

Source: TiCDC `pkg/sink/codec/simple/message.json`. That is a union of records of which a message
is the last: each one begins with that index, its type, and its payload's index in another union.
Needs fastavro, the extra `[avro]`.
"""

from collections.abc import Callable
from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_reader, schemaless_writer

from ticdc_encoder.column import BINARIES, INTEGERS, TEMPORALS, TEXTS
from ticdc_encoder.errors import DefinitionError, WireError
from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.formats.format import written
from ticdc_encoder.formats.json_text import Members
from ticdc_encoder.formats.simple.message import (
    VERSION,
    Checksums,
    Encoding,
    Plan,
    plan,
    row_type,
)
from ticdc_encoder.formats.simple.schema import schema_members
from ticdc_encoder.values import (
    decimal_text,
    decimal_value,
    double,
    integer,
    server_time,
    single,
    text,
)

_MASK = (1 << 64) - 1
_NAMESPACE = "com.pingcap.simple.avro"


def _record(name: str, /, **fields: Any) -> Members:
    return {
        "type": "record",
        "name": name,
        "namespace": _NAMESPACE,
        "fields": [{"name": field, "type": type_} for field, type_ in fields.items()],
    }


def _array(items: Any) -> Members:
    return {"type": "array", "items": items}


_DATA_TYPE = _record(
    "DataType",
    mysqlType="string",
    charset="string",
    collate="string",
    length="long",
    decimal=["null", "int"],
    elements=["null", _array("string")],
    unsigned=["null", "boolean"],
    zerofill=["null", "boolean"],
)
_COLUMN = _record(
    "ColumnSchema",
    name="string",
    dataType=_DATA_TYPE,
    nullable="boolean",
    default=["null", "string"],
)
_INDEX = _record(
    "IndexSchema",
    name="string",
    unique="boolean",
    primary="boolean",
    nullable="boolean",
    columns=_array("string"),
)
_TABLE = _record(
    "TableSchema",
    database="string",
    table="string",
    tableID="long",
    version="long",
    columns=_array(_COLUMN),
    indexes=_array(_INDEX),
)
_CHECKSUM = _record("Checksum", version="int", corrupted="boolean", current="long", previous="long")
_BRANCHES = ("null", "long", "float", "double", "string", "bytes")
_VALUES = {
    "type": "map",
    "values": [
        *_BRANCHES,
        _record("Timestamp", location="string", value="string"),
        _record("UnsignedBigint", value="long"),
    ],
}
_DDL_TYPES = ["CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX", "QUERY"]
_WATERMARK = _record("Watermark", version="int", commitTs="long", buildTs="long")
_BOOTSTRAP = _record("Bootstrap", version="int", buildTs="long", tableSchema=_TABLE)
_DDL = _record(
    "DDL",
    version="int",
    type={"type": "enum", "name": "DDLType", "symbols": _DDL_TYPES},
    sql="string",
    commitTs="long",
    buildTs="long",
    tableSchema=["null", _TABLE],
    preTableSchema=["null", f"{_NAMESPACE}.TableSchema"],
)
_ROW = _record(
    "DML",
    version="int",
    database="string",
    table="string",
    tableID="long",
    type={"type": "enum", "name": "DMLType", "symbols": ["INSERT", "UPDATE", "DELETE"]},
    commitTs="long",
    buildTs="long",
    schemaVersion="long",
    claimCheckLocation=["null", "string"],
    handleKeyOnly=["null", "boolean"],
    checksum=["null", _CHECKSUM],
    data=["null", _VALUES],
    old=[
        "null",
        {"type": "map", "values": [*_BRANCHES, "Timestamp", "UnsignedBigint"]},
    ],
)
# The first three bytes of a message (the index in the schema's union, the type, the index in the
# payload's union) and the payload's schema.
_HEADS: dict[str, bytes] = {
    type_: bytes((0x16, 2 * index, 2 * index))
    for index, type_ in enumerate(("WATERMARK", "BOOTSTRAP", "DDL", "DML"))
}
_SCHEMAS = {
    _HEADS[type_]: (type_, parse_schema(schema))
    for type_, schema in (
        ("WATERMARK", _WATERMARK),
        ("BOOTSTRAP", _BOOTSTRAP),
        ("DDL", _DDL),
        ("DML", _ROW),
    )
}


# Reading.


def _parse(plain: bytes) -> Members:
    """The members that the JSON encoding has."""
    known = _SCHEMAS.get(plain[:3])
    if known is None:
        raise WireError("not an Avro message of simple")
    type_, schema = known
    payload = BytesIO(plain)
    payload.seek(3)
    try:
        members: Any = schemaless_reader(
            payload, schema, None, handle_unicode_errors="surrogateescape"
        )
    except Exception as error:
        # The exceptions of fastavro for truncated or wrong bytes have no common base.
        raise WireError(f"a broken Avro message of simple ({type(error).__name__})") from error
    if payload.tell() != len(plain):
        raise WireError("bytes after an Avro message of simple")
    if type_ in ("WATERMARK", "BOOTSTRAP"):
        members["type"] = type_
    for name in ("tableSchema", "preTableSchema"):
        if (table := members.get(name)) is not None:
            table["schema"] = table.pop("database")
    return dict(members)


def _integer(value: Any) -> int:
    if value.__class__ is dict:
        value = value.get("value")
        if value.__class__ is int:
            return value & _MASK
    return integer(value)


def _bits(value: Any) -> int:
    if value.__class__ is str and value.isdecimal():
        return integer(int(value))
    return integer(value) & _MASK


def _bytes(value: Any) -> bytes:
    if value.__class__ is not bytes:
        raise TypeError("not bytes")
    return value


def _inferred_type(value: Any) -> str:
    if isinstance(value, dict):
        return "timestamp" if "location" in value else "bigint"
    return _INFERRED.get(value.__class__, "longtext")


_INFERRED = {int: "bigint", float: "double", bytes: "longblob"}

ENCODING = Encoding(
    _parse,
    {
        **dict.fromkeys(INTEGERS, _integer),
        **dict.fromkeys(("year", "enum", "set"), integer),
        "bit": _bits,
        "float": single,
        "double": double,
        "decimal": decimal_value,
        **dict.fromkeys(TEXTS | TEMPORALS | {"json", "vector"}, text),
        **dict.fromkeys(BINARIES, _bytes),
    },
    _inferred_type,
)


# Writing.


class AvroWriter:
    """Writes messages whose TIMESTAMP values are in the zone of the server. TiCDC writes a
    row's columns in random order, this writer in the table's."""

    def __init__(self, time_zone: str, *, new_architecture: bool) -> None:
        local = server_time(time_zone)

        def timestamp(value: Value) -> Any:
            stamp = {"location": time_zone, "value": local(text(value))}
            return f"{_NAMESPACE}.Timestamp", stamp

        def as_text(value: Value) -> Any:
            return "string", _utf_8(text(value))

        def as_long(value: Value) -> Any:
            return "long", _signed(integer(value))

        def as_digits(value: Value) -> Any:
            return "string", str(integer(value))

        self._writers: dict[str, Callable[[Value], Any]] = {
            **dict.fromkeys(INTEGERS | {"year", "enum", "set"}, as_long),
            "bigint unsigned": lambda value: (
                f"{_NAMESPACE}.UnsignedBigint",
                {"value": _signed(integer(value))},
            ),
            "bit": as_digits if new_architecture else as_long,
            "float": lambda value: ("float", single(value)),
            "double": lambda value: ("double", double(value)),
            "decimal": lambda value: ("string", decimal_text(value)),
            **dict.fromkeys(TEXTS | TEMPORALS | {"json", "vector"}, as_text),
            **dict.fromkeys(BINARIES, lambda value: ("bytes", _bytes(value))),
            "timestamp": timestamp,
        }
        self._new = new_architecture

    def plan(self, table: Table) -> Plan:
        return plan(table, self._writers, ordered=False)

    def watermark(self, ts: int, build_ts: int) -> bytes:
        return _message("WATERMARK", {"version": VERSION, "commitTs": ts, "buildTs": build_ts})

    def bootstrap(self, table: Table, build_ts: int) -> bytes:
        members = {"version": VERSION, "buildTs": build_ts, "tableSchema": self._schema(table)}
        return _message("BOOTSTRAP", members)

    def ddl(
        self,
        type_: str,
        query: str,
        ts: int,
        build_ts: int,
        table: Table | None,
        previous: Table | None,
    ) -> bytes:
        members = {
            "version": VERSION,
            "type": type_,
            "sql": query,
            "commitTs": ts,
            "buildTs": build_ts,
            "tableSchema": None if table is None else self._schema(table),
            "preTableSchema": None if previous is None else self._schema(previous),
        }
        return _message("DDL", members)

    def row(
        self,
        plan: Plan,
        change: RowChange,
        build_ts: int,
        checksums: Checksums | None,
        *,
        reduced: bool,
    ) -> bytes:
        table = plan.table
        checksum = None
        if checksums is not None:
            previous, current = checksums
            checksum = {
                "version": 0,
                "corrupted": change.corrupted,
                "current": current,
                "previous": previous,
            }
        table_id = table.table_id if change.partition_id is None else change.partition_id
        members = {
            "version": VERSION,
            "database": table.schema,
            "table": table.name,
            "tableID": table_id or 0,
            "type": row_type(change),
            "commitTs": change.commit_ts,
            "buildTs": build_ts,
            "schemaVersion": table.version or 0,
            "claimCheckLocation": change.claim_check,
            "handleKeyOnly": True if reduced else None,
            "checksum": checksum,
            "data": _image(plan, change.after, reduced),
            "old": _image(plan, change.before, reduced),
        }
        return _message("DML", members)

    def _schema(self, table: Table) -> Members:
        members = schema_members(table)
        members["database"] = members.pop("schema")
        for column in members["columns"]:
            type_ = column["dataType"]
            name = type_["mysqlType"]
            if name not in _NUMBERS:
                type_["unsigned"] = type_["zerofill"] = None
            with_decimal = ("decimal", "timestamp") if self._new else ("decimal",)
            if name not in with_decimal:
                type_["decimal"] = None
            type_["elements"] = type_["elements"] or None
            if isinstance(column["default"], int):
                column["default"] = _raw(column["default"])
        return members


_NUMBERS = INTEGERS | {"float", "double", "bit", "year", "decimal"}


def _image(plan: Plan, row: Row | None, reduced: bool) -> Members | None:
    if row is None:
        return None
    return {column.name: value for column, value in written(plan, row, handle_only=reduced)}


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _utf_8(characters: str) -> str:
    """Text that fastavro can write."""
    try:
        characters.encode()
    except UnicodeEncodeError as error:
        raise ValueError("text that is not UTF-8") from error
    return characters


def _raw(bits: int) -> str:
    """A BIT's default: its raw bytes in a string, which need not be UTF-8."""
    data = bits.to_bytes(max(1, (bits.bit_length() + 7) // 8), "big")
    return data.decode("utf-8", "surrogateescape")


def _message(type_: str, members: Members) -> bytes:
    head = _HEADS[type_]
    payload = BytesIO()
    payload.write(head)
    try:
        schemaless_writer(payload, _SCHEMAS[head][1], members)
    except (ValueError, OverflowError) as error:
        raise DefinitionError(f"a message that Avro cannot represent: {error}") from error
    return payload.getvalue()
