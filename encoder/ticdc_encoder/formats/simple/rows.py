"""Simple's rows, read by a schema: the message's members as a `RowChange`."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.errors import ConfigError, WireError
from ticdc_encoder.event import RowChange, Table
from ticdc_encoder.formats.checksum import OnCorruption, verify
from ticdc_encoder.formats.format import timestamp
from ticdc_encoder.formats.json_text import Members
from ticdc_encoder.formats.row_reader import RowReader
from ticdc_encoder.formats.simple.message import Encoding
from ticdc_encoder.values import utc_time

SchemaKey = tuple[str, str, int]
"""Schema, table, version: a table's id would not do, as partitions have their own. A version
survives RENAME."""


def schema_key(members: Members) -> SchemaKey:
    schema, table = members.get("database"), members.get("table")
    version = members.get("schemaVersion") or 0
    if schema.__class__ is not str or table.__class__ is not str or not table:
        raise WireError("a row without a database or a table")
    if version.__class__ is not int:
        raise WireError("schemaVersion is not an integer")
    return schema, table, version


def row_reader(table: Table, encoding: Encoding, stamp: Callable[[Any], str]) -> RowReader:
    readers = {
        column.name: stamp
        if column.type.name == "timestamp"
        else encoding.readers[column.type.name]
        for column in table.columns
    }
    return RowReader(
        table, readers, f"is not in version {table.version} of {table.schema}.{table.name}"
    )


def inferred_table(members: Members, encoding: Encoding) -> Table:
    schema, name, version = schema_key(members)
    columns = {}
    for image in (members.get("data"), members.get("old")):
        if isinstance(image, dict):
            for column, value in image.items():
                if value is not None or column not in columns:
                    columns[column] = Column(column, ColumnType(encoding.inferred_type(value)))
    return Table(schema, name, tuple(columns.values()), version=version or None)


def read_row(members: Members, reader: RowReader, on_corruption: OnCorruption | None) -> RowChange:
    """The change of a message of rows. A checksum is verified unless `on_corruption` is None."""
    get, kind = members.get, members["type"]
    old, data = get("old"), get("data")
    if (old is None) != (kind == "INSERT"):
        raise WireError(f"{kind} {'with' if kind == 'INSERT' else 'without'} old")
    if (data is None) != (kind == "DELETE"):
        raise WireError(f"{kind} {'with' if kind == 'DELETE' else 'without'} data")
    location, reduced = get("claimCheckLocation"), get("handleKeyOnly")
    if location is not None and (location.__class__ is not str or not location):
        raise WireError("claimCheckLocation is not a string")
    if reduced is not None and reduced.__class__ is not bool:
        raise WireError("handleKeyOnly is not a boolean")
    table_id, table = get("tableID") or None, reader.table
    if table_id is not None and table_id.__class__ is not int:
        raise WireError("tableID is not an integer")
    if old is not None and (old.__class__ is not dict or not old):
        raise WireError("data or old is not an object with columns")
    if data is not None and (data.__class__ is not dict or not data):
        raise WireError("data or old is not an object with columns")
    commit_ts = timestamp(get("commitTs"), "commitTs")
    reader.read(old, data, commit_ts)
    change = RowChange(
        table,
        commit_ts,
        old,
        data,
        0,
        table_id if table_id != table.table_id else None,
        bool(reduced) or location is not None,
        location,
    )
    checksum = get("checksum")
    if checksum is not None and on_corruption is not None and not change.incomplete:
        return verified(change, checksum, on_corruption)
    return change


def verified(change: RowChange, checksum: Any, on_corruption: OnCorruption) -> RowChange:
    """The change, marked as `corrupted` if its checksum is wrong and that does not stop."""
    if not isinstance(checksum, dict):
        raise WireError("checksum is not an object")
    previous, current = checksum.get("previous", 0), checksum.get("current", 0)
    if not all(n.__class__ is int and 0 <= n < 1 << 32 for n in (previous, current)):
        raise WireError("a checksum that is not an integer of 32 bits")
    corrupted = verify(
        change, previous, current, on_corruption, reported=checksum.get("corrupted") is True
    )
    return replace(change, corrupted=True) if corrupted else change


@lru_cache(maxsize=64)
def _to_utc(location: str) -> Callable[[str], str]:
    try:
        return utc_time(location)
    except ConfigError as error:
        raise ValueError(str(error)) from error


def timestamp_reader(local: str) -> Callable[[Any], str]:
    """A function from `{location, value}` to UTC. `local` is the zone of a server that calls its
    own `Local`."""

    def read(value: Any) -> str:
        try:
            location, text = value["location"], value["value"]
        except KeyError as error:
            raise ValueError("no location or value") from error
        if location.__class__ is not str or text.__class__ is not str:
            raise TypeError("not a location and a value")
        return _to_utc(local if location == "Local" else location)(text)

    return read
