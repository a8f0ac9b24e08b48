"""Simple's JSON encoding: `encoding-format=json`, as Go's `encoding/json` writes it."""

import binascii
from base64 import b64encode
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ticdc_encoder.column import BINARIES
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.formats.format import written
from ticdc_encoder.formats.json_text import encoding_json, load, utf_8
from ticdc_encoder.formats.simple.message import (
    VERSION,
    Checksums,
    Encoding,
    Plan,
    plan,
    row_type,
)
from ticdc_encoder.formats.simple.schema import schema_members
from ticdc_encoder.values import FAMILIES, server_time, text

# Reading.


def _base64(value: Any) -> bytes:
    try:
        return binascii.a2b_base64(text(value), strict_mode=True)
    except ValueError as error:
        raise ValueError("not base64") from error


def _inferred_type(value: Any) -> str:
    return "timestamp" if isinstance(value, dict) else "longtext"


ENCODING = Encoding(
    load,
    {name: family.from_text for name, family in FAMILIES.items()}
    | dict.fromkeys(BINARIES, _base64),
    _inferred_type,
)


# Writing.


class JsonWriter:
    """Writes messages whose TIMESTAMP values are in the zone of the server."""

    def __init__(self, time_zone: str) -> None:
        local = server_time(time_zone)
        location = encoding_json(time_zone)

        def timestamp(value: Value) -> str:
            return f'{{"location":{location},"value":{encoding_json(local(text(value)))}}}'

        self._writers: dict[str, Callable[[Value], str]] = {
            **{name: _quoted(family.to_text) for name, family in FAMILIES.items()},
            **dict.fromkeys(BINARIES, _base64_text),
            "timestamp": timestamp,
        }
        self._writers["bigint unsigned"] = self._writers["bigint"]

    def plan(self, table: Table) -> Plan:
        return plan(table, self._writers, ordered=True)

    def watermark(self, ts: int, build_ts: int) -> bytes:
        return (
            f'{{"version":{VERSION},"type":"WATERMARK","commitTs":{ts},"buildTs":{build_ts}}}'
        ).encode()

    def bootstrap(self, table: Table, build_ts: int) -> bytes:
        return utf_8(
            f'{{"version":{VERSION},"type":"BOOTSTRAP","commitTs":0,"buildTs":{build_ts}'
            f',"tableSchema":{_schema(table)}}}'
        )

    def ddl(
        self,
        type_: str,
        query: str,
        ts: int,
        build_ts: int,
        table: Table | None,
        previous: Table | None,
    ) -> bytes:
        return utf_8(
            f'{{"version":{VERSION},"type":"{type_}","sql":{encoding_json(query)}'
            f',"commitTs":{ts},"buildTs":{build_ts}'
            + ("" if table is None else f',"tableSchema":{_schema(table)}')
            + ("" if previous is None else f',"preTableSchema":{_schema(previous)}')
            + "}"
        )

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
        kind = row_type(change)
        table_id = table.table_id if change.partition_id is None else change.partition_id
        parts = [
            f'{{"version":{VERSION},"database":{encoding_json(table.schema)}',
            f',"table":{encoding_json(table.name)}',
            f',"tableID":{table_id}' if table_id else "",
            f',"type":"{kind}","commitTs":{change.commit_ts},"buildTs":{build_ts}',
            f',"schemaVersion":{table.version}' if table.version else "",
        ]
        if change.claim_check is not None:
            parts.append(f',"claimCheckLocation":{encoding_json(change.claim_check)}')
        if reduced:
            parts.append(',"handleKeyOnly":true')
        if checksums is not None:
            previous, current = checksums
            parts.append(
                f',"checksum":{{"version":0,"corrupted":{_json(change.corrupted)}'
                f',"current":{current},'
                f'"previous":{previous}}}'
            )
        for name, image in (("data", change.after), ("old", change.before)):
            if image is not None and (members := _members(plan, image, reduced)):
                parts.append(f',"{name}":{{{members}}}')
        parts.append("}")
        return utf_8("".join(parts))


def _quoted(to_text: Callable[[Value], str]) -> Callable[[Value], str]:
    return lambda value: encoding_json(to_text(value))


def _base64_text(value: Value) -> str:
    if not isinstance(value, bytes):
        raise TypeError("not bytes")
    return f'"{b64encode(value).decode()}"'


@lru_cache(maxsize=4096)
def _name(column: str) -> str:
    return f"{encoding_json(column)}:"


def _members(plan: Plan, row: Row, reduced: bool) -> str:
    return ",".join(
        [
            _name(column.name) + ("null" if value is None else value)
            for column, value in written(plan, row, handle_only=reduced)
        ]
    )


_OMITTED = ("length", "decimal", "elements", "unsigned", "zerofill")
"""Members that are left out when they are 0, false or empty."""


def _schema(table: Table) -> str:
    return _json(schema_members(table))


def _json(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return encoding_json(value)
        case list():
            return "[" + ",".join(map(_json, value)) + "]"
        case dict():
            members = {n: v for n, v in value.items() if v or n not in _OMITTED}
            return "{" + ",".join([f"{_name(n)}{_json(v)}" for n, v in members.items()]) + "}"
    raise DefinitionError("a tableSchema with a value of another type")
