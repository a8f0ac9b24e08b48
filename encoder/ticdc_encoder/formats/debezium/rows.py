"""Debezium's rows, read by their message's schema, or without one by the types of their values."""

from functools import lru_cache
from typing import Any

from ticdc_encoder.column import Column
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import RowChange, Table
from ticdc_encoder.formats.debezium.fields import inferred_type, parse_field
from ticdc_encoder.formats.debezium.values import reader
from ticdc_encoder.formats.format import timestamp
from ticdc_encoder.formats.json_text import Members, load
from ticdc_encoder.formats.row_reader import RowReader


def string(members: Members, name: str) -> str:
    value = members.get(name)
    if value.__class__ is not str:
        raise WireError(f"{name} is missing or not a string")
    return value


def read_row(
    payload: Members,
    source: Members,
    schema: bytes | None,
    keys: tuple[str, ...],
    ts: int,
    *,
    require_types: bool,
) -> RowChange:
    before, after = payload.get("before"), payload.get("after")
    operation = payload["op"]
    if operation not in ("c", "u", "d"):
        raise WireError(f"an unknown op: {str(operation)[:40]!r}")
    if (after is None) != (operation == "d"):
        raise WireError(f"op {operation} {'with' if operation == 'd' else 'without'} after")
    if operation != "u" and (before is None) != (operation == "c"):
        raise WireError(f"op {operation} {'with' if operation == 'c' else 'without'} before")
    for side in (before, after):
        if side is not None and (side.__class__ is not dict or not side):
            raise WireError("before or after is not an object with columns")
    image: Members = after or before or {}
    db, table, names = string(source, "db"), string(source, "table"), tuple(image)
    if require_types and (schema is None or b'"tidb_type":' not in schema):
        setting = "debezium-disable-schema=false" if schema is None else _EXTENSION
        raise WireError(
            f"debezium without the types of the columns of {db}.{table}: set {setting} in "
            "the changefeed's sink URI"
        )
    other = None if after is None or before is None else before
    if other is not None and tuple(other) != names:
        _require_keys(db, table, keys, tuple(other))
        other = {name: other.get(name) for name in names}
    if schema is not None:
        reader = _table(db, table, schema, keys, names)
    else:
        types = tuple(map(type, image.values()))
        old_types = types if other is None else tuple(map(type, other.values()))
        reader = _inferred_table(db, table, keys, names, types, old_types)
    reader.read(before, after, ts)
    old = {} if before is None and operation == "u" else before
    began = timestamp(source["start_ts"], "start_ts") if "start_ts" in source else 0
    return RowChange(reader.table, ts, old, after, began)


def _require_keys(db: str, table: str, keys: tuple[str, ...], names: tuple[str, ...]) -> None:
    for name in keys:
        if name not in names:
            raise WireError(f"key column `{name}` of {db}.{table} is null")


_EXTENSION = "enable-tidb-extension=true (of TiCDC 8.5.4's new architecture, or 9.0)"


@lru_cache(maxsize=256)
def _table(
    db: str, name: str, schema: bytes, keys: tuple[str, ...], names: tuple[str, ...]
) -> RowReader:
    """The reader of rows that have these columns. Columns of the schema that the rows do not have
    are virtual."""
    _require_keys(db, name, keys, names)
    fields = _fields(load(schema))
    if strange := [column for column in (*keys, *names) if column not in fields]:
        raise WireError(f"column `{strange[0]}` of {db}.{name} has no field")
    known = [parse_field(fields[column]) for column in names]
    columns = tuple(column for column, _ in known)
    readers = {column.name: read for column, read in known}
    return RowReader(
        Table(db, name, columns, handle_key=keys), readers, f"of {db}.{name} is on one side only"
    )


@lru_cache(maxsize=4096)
def _inferred_table(
    db: str,
    name: str,
    keys: tuple[str, ...],
    names: tuple[str, ...],
    types: tuple[type, ...],
    old_types: tuple[type, ...],
) -> RowReader:
    """The reader of rows without a schema, by the types of their values."""
    _require_keys(db, name, keys, names)
    columns = tuple(
        Column(column, inferred_type(of_column), nullable=column not in keys)
        for column, *of_column in zip(names, types, old_types, strict=True)
    )
    readers = {column.name: reader(column.type, micro=False) for column in columns}
    return RowReader(
        Table(db, name, columns, handle_key=keys), readers, f"of {db}.{name} is on one side only"
    )


def _fields(schema: Any) -> dict[str, Members]:
    """The fields of a row, by name."""
    parts = schema.get("fields") if isinstance(schema, dict) else None
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("field") in ("before", "after"):
            fields = part.get("fields")
            if not isinstance(fields, list) or not all(isinstance(f, dict) for f in fields):
                break
            return {str(field.get("field")): field for field in fields}
    raise WireError("a schema without the fields of a row")
