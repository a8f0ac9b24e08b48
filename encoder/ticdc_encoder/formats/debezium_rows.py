"""Debezium's rows, read by the schema of their message, or by what they show."""

from functools import lru_cache
from typing import Any

from ticdc_encoder.column import Column
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Row, RowChange, Table
from ticdc_encoder.formats.debezium_fields import parse_field, shown_type
from ticdc_encoder.formats.debezium_values import reader
from ticdc_encoder.formats.json_text import load
from ticdc_encoder.formats.row_reader import ColumnError, RowReader


def string(members: dict[str, Any], name: str) -> str:
    value = members.get(name)
    if value.__class__ is not str:
        raise WireError(f"{name} is missing or not a string")
    return value


def read_row(
    payload: dict[str, Any],
    source: dict[str, Any],
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
    images = [image for image in (before, after) if image is not None]
    if not all(isinstance(image, dict) and image for image in images):
        raise WireError("before or after is not an object with columns")
    names = tuple(images[-1])
    place = string(source, "db"), string(source, "table")
    if require_types and (schema is None or b'"tidb_type":' not in schema):
        setting = "debezium-disable-schema=false" if schema is None else _EXTENSION
        raise WireError(
            f"debezium without the types of the columns of {place[0]}.{place[1]}: set {setting} in "
            "the changefeed's sink URI"
        )
    if schema is not None:
        table, reader = _table(*place, schema, keys, names)
    else:
        types = tuple([tuple([type(image.get(name)) for name in names]) for image in images])
        table, reader = _shown(*place, keys, names, types)
    old = None if before is None else _read_image(table, reader, before)
    new = None if after is None else _read_image(table, reader, after)
    return RowChange(table, ts, {} if old is None and operation == "u" else old, new)


_EXTENSION = "enable-tidb-extension=true (of TiCDC 8.5.4's new architecture, or 9.0)"


@lru_cache(maxsize=256)
def _table(
    db: str, name: str, schema: bytes, keys: tuple[str, ...], names: tuple[str, ...]
) -> tuple[Table, RowReader]:
    """The table that rows of these columns show, and what reads each column's value. Columns that
    the schema has and the rows have not are virtual."""
    fields = _fields(load(schema))
    if strange := [column for column in (*keys, *names) if column not in fields]:
        raise WireError(f"column `{strange[0]}` of {db}.{name} has no field")
    known = [parse_field(fields[column]) for column in names]
    columns = tuple(column for column, _ in known)
    readers = {column.name: read for column, read in known}
    return Table(db, name, columns, handle_key=keys), RowReader(readers)


@lru_cache(maxsize=4096)
def _shown(
    db: str,
    name: str,
    keys: tuple[str, ...],
    names: tuple[str, ...],
    types: tuple[tuple[type, ...], ...],
) -> tuple[Table, RowReader]:
    """The table that rows without a schema show, by the types of their values."""
    columns = tuple(
        Column(column, shown_type(of_column), nullable=column not in keys)
        for column, *of_column in zip(names, *types, strict=True)
    )
    readers = {column.name: reader(column.type, micro=False) for column in columns}
    return Table(db, name, columns, handle_key=keys), RowReader(readers)


def _fields(schema: Any) -> dict[str, dict[str, Any]]:
    """The fields of a row, by name."""
    parts = schema.get("fields") if isinstance(schema, dict) else None
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("field") in ("before", "after"):
            found = part.get("fields")
            if not isinstance(found, list) or not all(isinstance(f, dict) for f in found):
                break
            return {str(field.get("field")): field for field in found}
    raise WireError("a schema without the fields of a row")


def _read_image(table: Table, reader: RowReader, image: dict[str, Any]) -> Row:
    try:
        row = reader.read(image)
    except ColumnError as error:
        where = f"column `{error.name}` of {table.schema}.{table.name}"
        if not error.known:
            raise WireError(f"{where} is on one side only") from error
        raise WireError(f"{where}: {error}") from error
    for name in table.handle_key:
        if row.get(name) is None:
            raise WireError(f"key column `{name}` of {table.schema}.{table.name} is null")
    return row
