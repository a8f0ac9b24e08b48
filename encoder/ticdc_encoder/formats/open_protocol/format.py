"""TiCDC Open Protocol: batches of JSON pairs, each with its length before it.

Source: TiCDC `pkg/sink/codec/open`. The two architectures differ: see `Options.new_architecture`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ticdc_encoder.column import Column
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table, Value
from ticdc_encoder.formats.compression import Compression, deflate, inflate
from ticdc_encoder.formats.format import (
    RECORD_OVERHEAD,
    Clock,
    LargeMessageHandle,
    Record,
    fitting,
    no_row,
    per_table,
    timestamp,
    wall_clock,
    written,
)
from ticdc_encoder.formats.json_text import Members, encoding_json, jsoniter, load, utf_8
from ticdc_encoder.formats.likeness import likeness
from ticdc_encoder.formats.open_protocol.types import (
    NULLABLE,
    READERS,
    TYPE_CODES,
    column_flags,
    column_type,
    writers,
)
from ticdc_encoder.formats.primary_key import is_row_id
from ticdc_encoder.formats.row_reader import RowReader
from ticdc_encoder.values import server_time

VERSION = (1).to_bytes(8, "big")
ROW, DDL, RESOLVED = 1, 2, 3
_LENGTHS = 16
"""The bytes that say how long the key and the value of a pair are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`time_zone` is that of the TiCDC server: TIMESTAMP is written in it, and left in it by
    `decode`. `message_limit` bounds what a compressed value may inflate to."""

    only_output_updated_columns: bool = False
    delete_only_output_handle_key_columns: bool = False
    output_old_value: bool = True
    max_batch_size: int = 16
    time_zone: str = "UTC"
    compression: Compression = "none"
    large_message_handle_option: LargeMessageHandle = "none"
    max_message_bytes: int = 10485760
    message_limit: int = 256 << 20
    new_architecture: bool = False


# Reading.


def decode(key: bytes | None, value: bytes | None, options: Options) -> list[Event]:
    """The events of one record, in its order. TIMESTAMP values stay in the zone that they came
    in. `handle_key` are the columns with `h`, in the order of the wire."""
    if key is None or key[:8] != VERSION:
        problem = "no key" if not key else "a key of another version"
        raise WireError(f"{problem}: not open-protocol of version 1{likeness(key, value)}")
    keys = _items(key, 8, "key")
    values = _items(value, 0, "value") if value else [b""] * len(keys)
    if len(keys) != len(values):
        raise WireError(f"{len(keys)} keys but {len(values)} values")
    if not keys:
        raise WireError("a record without events")
    try:
        events = [_read(k, v, options) for k, v in zip(keys, values, strict=True)]
    except WireError as error:
        if len(keys) > 1:  # of which others may be another table's
            error.table = None
        raise
    if len(events) > 1 and not all(isinstance(event, RowChange) for event in events):
        raise WireError("a DDL or a resolved ts that is not alone in its record")
    return events


def _items(data: bytes, at: int, what: str) -> list[bytes]:
    items: list[bytes] = []
    end = len(data)
    while at < end:
        start = at + 8
        at = start + int.from_bytes(data[at:start], "big")
        if start > end or at > end:
            raise WireError(f"the {what} ends inside of item {len(items) + 1}")
        items.append(data[start:at])
    return items


def _object(data: bytes, what: str) -> Members:
    try:
        members = load(data, tolerant=True)
    except WireError as error:
        raise WireError(f"{what}: {error}") from error
    if not isinstance(members, dict):
        raise WireError(f"{what} is not a JSON object")
    return members


def _string(members: Members, name: str) -> str:
    value = members.get(name)
    if value.__class__ is not str:
        raise WireError(f"{name} is missing or not a string")
    if not _is_utf_8(value):
        raise WireError(f"{name} is not UTF-8")
    return value


def _is_utf_8(text: str) -> bool:
    """Returns whether no byte of it was kept by `load`, which is tolerant of values only."""
    return text.isascii() or not _SURROGATE.search(text)


_SURROGATE = re.compile(r"[\ud800-\udfff]")


def _name(members: Members, name: str) -> str:
    """A schema's or table's name; "" if a DDL has none."""
    return "" if members.get(name) is None else _string(members, name)


def _read(key: bytes, value: bytes, options: Options) -> Event:
    about = _object(key, "the key")
    kind = about.get("t")
    ts = timestamp(about.get("ts"), "ts")
    if kind == RESOLVED:
        if value:
            raise WireError("a resolved ts with a value")
        return Resolved(ts)
    if not value:
        raise WireError("a row or DDL without a value")
    content = _object(inflate(value, options.compression, options.message_limit), "the value")
    if kind == ROW:
        return _read_row(about, content, ts)
    if kind != DDL:
        raise WireError("t is not 1, 2 or 3")
    code = content.get("t")
    query = _string(content, "q")
    if code.__class__ is not int or not query:
        raise WireError("a DDL without a query or a type")
    return Ddl(_name(about, "scm"), _name(about, "tbl"), query, ts, code)


def _images(content: Members) -> tuple[Members | None, Members | None]:
    """The rows before and after the change, as far as the value has them."""
    new, old, deleted = content.get("u"), content.get("p"), content.get("d")
    for image in (new, old, deleted):
        if image is not None and not isinstance(image, dict):
            raise WireError("u, p or d is not an object")
    if deleted:
        if new or old:
            raise WireError("a row that is both deleted and present")
        return deleted, None
    if not new:
        raise WireError("neither u nor d has columns")
    return old, new


def _read_row(about: Members, content: Members, ts: int) -> RowChange:
    before, after = _images(content)
    partition_id, location = about.get("ptn"), about.get("ccl")
    if partition_id is not None and partition_id.__class__ is not int:
        raise WireError("ptn is not an integer")
    if location is not None and (location.__class__ is not str or not location):
        raise WireError("ccl is not a string")
    full = before if after is None else after
    if full is None:
        raise WireError("neither u nor d has columns")
    try:
        shape = tuple([(n, c["t"], c.get("f", 0), c.get("h", False)) for n, c in full.items()])
        reader = _table(
            _string(about, "scm"), _string(about, "tbl"), partition_id is not None, shape
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise WireError("a column without t, or with a t, f or h of another type") from error
    table = reader.table
    if before is not None and after is not None:
        before = _known(table, reader.readers, before)
    old, new = (None if image is None else _values(table, image) for image in (before, after))
    reader.read(old, new, ts)
    return RowChange(
        table,
        ts,
        old,
        new,
        0,
        partition_id,
        about.get("ohk") is True or location is not None,
        location,
    )


def _known(table: Table, readers: Mapping[str, Any], partial: Members) -> Members:
    """The columns of `p`. The new architecture writes a column that became NULL without its name
    around it, as bare members t, h, f and v: its old value is unknown."""
    if {*map(type, partial.values())} != {dict}:
        if not partial.keys().isdisjoint({"t", "h", "f", "v"} & set(table.handle_key)):
            raise WireError("p has bare members named like a key column")
        partial = {n: column for n, column in partial.items() if isinstance(column, dict)}
    if partial.keys() <= readers.keys():
        return partial
    return {name: column for name, column in partial.items() if name in readers}


@lru_cache(maxsize=4096)
def _table(
    schema: str, name: str, partitioned: bool, shape: tuple[tuple[str, int, int, bool], ...]
) -> RowReader:
    """Reads rows of this shape; its table is known as far as they describe it."""
    if not name:
        raise WireError("a row without a table")
    columns, key = [], []
    for column, code, flags, handle in shape:
        if not _is_utf_8(column):
            raise WireError("a column whose name is not UTF-8")
        if flags not in range(1 << 16) or handle not in (False, True):
            raise WireError(f"column `{column}` has no valid f or h")
        type_ = column_type(code, int(flags))
        if type_ is None:
            raise WireError(f"column `{column}` has the unknown type {code}")
        columns.append(Column(column, type_, nullable=flags == 0 or int(flags) & NULLABLE > 0))
        if handle:
            key.append(column)
    readers = {column.name: READERS[column.type.name] for column in columns}
    return RowReader(
        Table(schema, name, tuple(columns), handle_key=tuple(key), partitioned=partitioned),
        readers,
    )


def _values(table: Table, image: Members) -> Members:
    try:
        return {name: column["v"] for name, column in image.items()}
    except KeyError as error:
        name = next(name for name, column in image.items() if "v" not in column)
        raise WireError(f"column `{name}` of {table.schema}.{table.name}: no v") from error


# Writing.


@dataclass(frozen=True, slots=True)
class _OpenColumn:
    """`head` is the column's JSON up to its value: `bare` without its name and the brace."""

    name: str
    head: str
    bare: str
    handle: bool
    write: Callable[[Value], str]


@dataclass(frozen=True, slots=True)
class _OpenPlan:
    """Plan for a table's rows."""

    table: Table
    columns: tuple[_OpenColumn, ...]
    names: frozenset[str]
    row_id: str | None


_Texts = list[tuple[_OpenColumn, str | None]]
"""Columns, each with its value's JSON, which is never empty; None is NULL."""


class Encoder:
    """Open Protocol's writer, with the open batch. Its messages have no wall-clock time."""

    def __init__(self, options: Options, clock: Clock = wall_clock) -> None:
        del clock
        self._options = options
        self._local = server_time(options.time_zone)
        self._string = jsoniter if options.new_architecture else encoding_json
        self._writers = writers(self._string, new_architecture=options.new_architecture)
        self._plan = per_table(self._make_plan)
        self._keys: list[bytes] = []
        self._values: list[bytes] = []
        self._size = 0

    def row(self, change: RowChange) -> list[Record]:
        """The records that this row completes. Raises `MessageTooLarge` if TiCDC's changefeed
        would stop."""
        limit = self._options.max_message_bytes
        large = self._options.large_message_handle_option
        key, value = fitting(self._pair, change, limit, large, len(VERSION) + _LENGTHS)
        length = len(key) + len(value) + _LENGTHS
        completed = []
        if self._keys and self._size + length > limit:
            completed = self.flush()
        if not self._keys:
            self._size = len(VERSION) + RECORD_OVERHEAD
        self._keys.append(key)
        self._values.append(value)
        self._size += length
        if len(self._keys) >= self._options.max_batch_size:
            completed += self.flush()
        return completed

    def flush(self) -> list[Record]:
        if not self._keys:
            return []
        record = _framed(self._keys, self._values)
        self._keys, self._values = [], []
        return [record]

    def ddl(self, ddl: Ddl) -> Record:
        key = f'{{"ts":{ddl.commit_ts}'
        for name, value in (("scm", ddl.schema), ("tbl", ddl.table)):
            if value or self._options.new_architecture:
                key += f',"{name}":{self._string(value)}'
        value = f'{{"q":{self._string(ddl.query)},"t":{ddl.kind}}}'
        compressed = deflate(utf_8(value), self._options.compression)
        return _framed([utf_8(f'{key},"t":{DDL}}}')], [compressed])

    def resolved(self, resolved: Resolved) -> Record:
        return _framed([f'{{"ts":{resolved.resolved_ts},"t":{RESOLVED}}}'.encode()], [b""])

    def _pair(self, change: RowChange, reduced: bool) -> tuple[bytes, bytes]:
        plan = self._plan(change.table)
        key = utf_8(self._key(plan, change, reduced))
        value = utf_8(self._value(plan, change, reduced))
        return key, deflate(value, self._options.compression)

    def _key(self, plan: _OpenPlan, change: RowChange, reduced: bool) -> str:
        table = change.table
        start = f'{{"ts":{change.commit_ts},"scm":{self._string(table.schema)}'
        start += f',"tbl":{self._string(table.name)}'
        location = change.claim_check
        partition = "" if change.partition_id is None else f',"ptn":{change.partition_id}'
        if not self._options.new_architecture:
            row = change.before if change.after is None else change.after
            row_id = None if plan.row_id is None or row is None else row.get(plan.row_id)
            start += f',"rid":{row_id}' if isinstance(row_id, int) and row_id else ""
            large = ',"ohk":true' if reduced and location is None else ""
            large += "" if location is None else f',"ccl":{self._string(location)}'
            return f'{start}{partition},"t":{ROW}{large}}}'
        large = ',"ohk":true' if reduced else ""
        # TiCDC writes `ohk` twice if it writes `ccl`.
        large += f',"ohk":false,"ccl":{self._string(location)}' if location is not None else ""
        return f'{start},"t":{ROW}{large}{partition}}}'

    def _value(self, plan: _OpenPlan, change: RowChange, reduced: bool) -> str:
        options = self._options
        before, after = change.before, change.after
        if after is None:
            if before is None:
                raise no_row(plan.table)
            handle_only = reduced or options.delete_only_output_handle_key_columns
            return f'{{"d":{_columns(plan, before, handle_only)}}}'
        new = f'{{"u":{_columns(plan, after, reduced)}'
        if before is None or not options.output_old_value:
            return f"{new}}}"
        if not options.only_output_updated_columns:
            return f'{new},"p":{_columns(plan, {**after, **before}, reduced)}}}'
        old = self._updated(plan, before, after, reduced)
        return f'{new},"p":{{{old}}}}}' if old or options.new_architecture else f"{new}}}"

    def _updated(self, plan: _OpenPlan, before: Row, after: Row, reduced: bool) -> str:
        """The columns that changed. The new architecture forgets the name around a column that
        became NULL."""
        changed = {n: v for n, v in before.items() if n not in after or after[n] != v}
        texts: _Texts = written(plan, changed, handle_only=reduced)
        return ",".join(
            [
                f"{column.bare}{text or 'null'}"
                if after.get(column.name) is None and self._options.new_architecture
                else f"{column.head}{text or 'null'}}}"
                for column, text in texts
            ]
        )

    def _make_plan(self, table: Table) -> _OpenPlan:
        flags = column_flags(table, new_architecture=self._options.new_architecture)
        columns = []
        for column in table.columns:
            if column.generated == "virtual":
                continue
            handle = column.name in table.handle_key
            marked = ',"h":true' if handle else ""
            bare = f'"t":{TYPE_CODES[column.type.name]}{marked},"f":{flags[column.name]},"v":'
            columns.append(
                _OpenColumn(
                    column.name,
                    f"{self._string(column.name)}:{{{bare}",
                    bare,
                    handle,
                    self._writer(column.type.name),
                )
            )
        if not self._options.new_architecture:
            columns.sort(key=lambda column: column.name)
        return _OpenPlan(
            table,
            tuple(columns),
            frozenset(column.name for column in table.columns),
            next((i.columns[0] for i in table.indexes if is_row_id(table, i)), None),
        )

    def _writer(self, type_name: str) -> Callable[[Value], str]:
        write, local = self._writers[type_name], self._local
        if type_name != "timestamp":
            return write
        return lambda value: write(local(value) if isinstance(value, str) else value)


def _framed(keys: list[bytes], values: list[bytes]) -> Record:
    return (
        VERSION + b"".join([len(key).to_bytes(8, "big") + key for key in keys]),
        b"".join([len(value).to_bytes(8, "big") + value for value in values]),
    )


def _columns(plan: _OpenPlan, row: Row, handle_only: bool) -> str:
    texts: _Texts = written(plan, row, handle_only=handle_only)
    return "{" + ",".join([f"{c.head}{t or 'null'}}}" for c, t in texts]) + "}"
