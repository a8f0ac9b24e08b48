"""The parts of Debezium's schemas that are the same for every table, as TiCDC writes them."""

import json
from typing import Any

Schema = dict[str, Any]


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _field(type_: str, optional: bool, field: str) -> Schema:
    return {"type": type_, "optional": optional, "field": field}


def _source(*more: Schema) -> Schema:
    return {
        "type": "struct",
        "fields": [
            _field("string", False, "version"),
            _field("string", False, "connector"),
            _field("string", False, "name"),
            _field("int64", False, "ts_ms"),
            {
                "type": "string",
                "optional": True,
                "name": "io.debezium.data.Enum",
                "version": 1,
                "parameters": {"allowed": "true,last,false,incremental"},
                "default": "false",
                "field": "snapshot",
            },
            _field("string", False, "db"),
            _field("string", True, "sequence"),
            _field("string", True, "table"),
            _field("int64", False, "server_id"),
            _field("string", True, "gtid"),
            _field("string", False, "file"),
            _field("int64", False, "pos"),
            _field("int32", False, "row"),
            _field("int64", True, "thread"),
            _field("string", True, "query"),
            *more,
        ],
        "optional": False,
        "name": "io.debezium.connector.mysql.Source",
        "field": "source",
    }


_TRANSACTION: Schema = {
    "type": "struct",
    "fields": [
        _field("string", False, "id"),
        _field("int64", False, "total_order"),
        _field("int64", False, "data_collection_order"),
    ],
    "optional": True,
    "name": "event.block",
    "version": 1,
    "field": "transaction",
}


def source_json(*, extension: bool, start_ts: bool = False) -> str:
    """The field `source`; the new architecture's extension declares two more members of it, and
    `debezium-include-start-ts` another."""
    more = [_field("int64", False, "commit_ts"), _field("string", False, "cluster_id")]
    last = [_field("int64", False, "start_ts")]
    return compact(_source(*(more if extension else ()), *(last if start_ts else ())))


AFTER_SOURCE = ",".join(
    map(compact, (_field("string", False, "op"), _field("int64", True, "ts_ms"), _TRANSACTION))
)
"""The fields behind `source` in the schema of a row or a resolved ts."""


def _member(field: str, optional: bool, type_: str, **more: Any) -> Schema:
    return {"field": field, "optional": optional, "type": type_, **more}


_STRINGS = {"type": "string", "optional": False}
_COLUMN: Schema = {
    "name": "io.debezium.connector.schema.Column",
    "optional": False,
    "type": "struct",
    "version": 1,
    "fields": [
        _member("name", False, "string"),
        _member("jdbcType", False, "int32"),
        _member("nativeType", True, "int32"),
        _member("typeName", False, "string"),
        _member("typeExpression", True, "string"),
        _member("charsetName", True, "string"),
        _member("length", True, "int32"),
        _member("scale", True, "int32"),
        _member("position", False, "int32"),
        _member("optional", True, "boolean"),
        _member("autoIncremented", True, "boolean"),
        _member("generated", True, "boolean"),
        _member("comment", True, "string"),
        _member("defaultValueExpression", True, "string"),
        _member("enumValues", True, "array", items=_STRINGS),
    ],
}
_TABLE = _member(
    "table",
    True,
    "struct",
    name="io.debezium.connector.schema.Table",
    version=1,
    fields=[
        _member("defaultCharsetName", True, "string"),
        _member("primaryKeyColumnNames", True, "array", items=_STRINGS),
        _member("columns", False, "array", items=_COLUMN),
        _member("comment", True, "string"),
    ],
)
_CHANGE: Schema = {
    "name": "io.debezium.connector.schema.Change",
    "optional": False,
    "type": "struct",
    "version": 1,
    "fields": [_member("type", False, "string"), _member("id", False, "string"), _TABLE],
}


def ddl_json(source: str) -> str:
    """The schema of a DDL's value."""
    fields = [
        _member("ts_ms", False, "int64"),
        _member("databaseName", True, "string"),
        _member("schemaName", True, "string"),
        _member("ddl", True, "string"),
        _member("tableChanges", False, "array", items=_CHANGE),
    ]
    return (
        '{"optional":false,"type":"struct","version":1,'
        '"name":"io.debezium.connector.mysql.SchemaChangeValue","fields":'
        f"[{source},{','.join(map(compact, fields))}]}}"
    )


DDL_KEY = compact(
    {
        "type": "struct",
        "name": "io.debezium.connector.mysql.SchemaChangeKey",
        "optional": False,
        "version": 1,
        "fields": [_member("databaseName", False, "string")],
    }
)
