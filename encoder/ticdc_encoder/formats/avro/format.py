"""Avro with a schema registry: one record per row, its schema's id before it.

Source: TiCDC `pkg/sink/codec/avro`. Messages have names as Avro allows them, not the
true ones. UPDATEs have their old row only with `avro-include-before-value`; DDL, resolved ts and
the commit_ts of a DELETE are sent only with `avro-enable-watermark`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from ticdc_encoder.column import Column
from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table, Value
from ticdc_encoder.formats.avro import binary as avro_binary
from ticdc_encoder.formats.avro import schema as avro_schema
from ticdc_encoder.formats.avro.names import namespace, subject
from ticdc_encoder.formats.avro.schema import BigintUnsignedMode, DecimalMode, Modes
from ticdc_encoder.formats.avro.shape import key_shape, value_shape
from ticdc_encoder.formats.avro.values import Write, refused, to_avro
from ticdc_encoder.formats.checksum import OnCorruption, row_checksum, verify
from ticdc_encoder.formats.format import (
    Clock,
    MissingCommitTs,
    Record,
    fitting,
    no_row,
    per_table,
    timestamp,
    wall_clock,
)
from ticdc_encoder.formats.json_text import encoding_json, load, utf_8
from ticdc_encoder.formats.likeness import likeness
from ticdc_encoder.formats.names import sanitize
from ticdc_encoder.formats.registry import Registry, frame, unframe
from ticdc_encoder.tso import physical
from ticdc_encoder.values import server_time, utc_time

DDL, RESOLVED, DELETE = b"\1", b"\2", b"\3"
"""First bytes of the values that `avro-enable-watermark` adds; 8 bytes of a ts follow the last two.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`registry` has the schemas; `topic` and `namespace` (the changefeed's, or its keyspace) name
    those that are written. `time_zone` is that of the TiCDC server: TIMESTAMP is written in it, and
    left in it by `decode`. Without `require_commit_ts`, a change that has none gets commit_ts 0."""

    registry: Registry | None = None
    topic: str = ""
    namespace: str = "default"
    enable_tidb_extension: bool = True
    avro_enable_watermark: bool = False
    avro_include_before_value: bool = False
    avro_decimal_handling_mode: DecimalMode = "precise"
    avro_bigint_unsigned_handling_mode: BigintUnsignedMode = "long"
    integrity_check: bool = False
    on_corruption: OnCorruption = "stop"
    require_commit_ts: bool = True
    time_zone: str = "UTC"
    max_message_bytes: int = 10485760
    new_architecture: bool = False


def registry_of(registry: Registry | None) -> Registry:
    """The registry. Raises ConfigError if there is none."""
    if registry is None:
        raise ConfigError("avro needs a schema registry")
    return registry


# Reading.


def decode(key: bytes | None, value: bytes | None, options: Options) -> list[Event]:
    """The events of one record. TIMESTAMP values stay in the zone that they came in.

    A change without a commit_ts raises `MissingCommitTs`. `before` of an UPDATE is empty if the
    message has none. `handle_key` are the columns of the record's key. A virtual generated column
    comes as NULL from the new architecture.
    """
    registry = registry_of(options.registry)
    if not key:
        if not value or (value[:1] == DELETE and len(value) == 9):
            words = "a DELETE that names no row: its table has no primary key"
            raise WireError(
                words if value else f"{words}; it has no commit_ts either: set {_OF_DELETES}"
            )
        if value[:1] == DDL:
            return [_read_ddl(value)]
        if value[:1] == RESOLVED:
            return [Resolved(_ts(value, "resolved ts"))]
        return [_read_row(registry, None, value, options)]
    if not value or (value[:1] == DELETE and len(value) == 9):
        commit_ts = _ts(value, "commit_ts") if value else None
        return [_read_delete(registry, key, commit_ts, options)]
    return [_read_row(registry, key, value, options)]


def _ts(value: bytes, name: str) -> int:
    return timestamp(int.from_bytes(value[1:], "big") if len(value) == 9 else None, name)


def _read_ddl(value: bytes) -> Ddl:
    try:
        members = load(value[1:])
    except WireError as error:
        raise WireError(f"a DDL: {error}") from error
    if not isinstance(members, dict):
        raise WireError("a DDL that is not a JSON object")
    schema, table, query = (members.get(name) for name in ("schema", "table", "query"))
    kind = members.get("type")
    if not (isinstance(schema, str) and isinstance(table, str) and isinstance(query, str)):
        raise WireError("a DDL without schema, table or query")
    if kind.__class__ is not int or not query:
        raise WireError("a DDL without a type or a query")
    return Ddl(schema, table, query, timestamp(members.get("commitTs"), "commitTs"), kind)


_OF_DELETES = (
    "avro-enable-watermark=true and enable-tidb-extension=true (the new architecture of TiCDC"
    " 8.5.7 or later)"
)


def _read_delete(
    registry: Registry, key: bytes, commit_ts: int | None, options: Options
) -> RowChange:
    schema_id, start = unframe(key, "key")
    shape = key_shape(registry, schema_id)
    if commit_ts is None:
        commit_ts = _no_commit_ts(
            shape.table,
            "a DELETE",
            _OF_DELETES,
            options,
        )
    return RowChange(shape.table, commit_ts, shape.row(shape.read(key, start)), None)


def _no_commit_ts(table: Table, what: str, setting: str, options: Options) -> int:
    if options.require_commit_ts:
        raise MissingCommitTs(
            f"avro: {what} of {table.schema}.{table.name} has no commit_ts: set {setting} in the "
            "changefeed's sink URI"
        )
    return 0


def _read_row(registry: Registry, key: bytes | None, value: bytes, options: Options) -> RowChange:
    try:
        value_id, start = unframe(value, "value")
    except WireError as error:
        raise WireError(f"{error}{likeness(key, value)}") from error
    shape = value_shape(registry, unframe(key, "key")[0] if key else None, value_id)
    members = shape.read(value, start)
    extension = {name: members.pop(name) for name in shape.extension}
    table = shape.table
    if avro_schema.COMMIT_TS in extension:
        commit_ts = timestamp(extension[avro_schema.COMMIT_TS], avro_schema.COMMIT_TS)
    else:
        setting = "enable-tidb-extension=true"
        commit_ts = _no_commit_ts(table, "a row", setting, options)
    row, previous = shape.row(members), extension.get(avro_schema.BEFORE)
    before = None if previous is None else shape.row(previous)
    match extension.get(avro_schema.OPERATION):
        case "c":
            change = RowChange(table, commit_ts, None, row)
        case "u":
            change = RowChange(table, commit_ts, {} if before is None else before, row)
        case "d":
            change = RowChange(table, commit_ts, row, None)
        case None:  # either of the first two: only the extension distinguishes them
            change = RowChange(table, commit_ts, before, row)
        case _:
            raise WireError(f"{avro_schema.OPERATION} is not c, u or d")
    if avro_schema.CHECKSUM in extension:
        return _verified(change, extension, options)
    return change


def _verified(change: RowChange, extension: Mapping[str, Any], options: Options) -> RowChange:
    digits = extension[avro_schema.CHECKSUM]
    if not digits:
        return change
    if not digits.isdecimal() or len(digits) > 10 or int(digits) >= 1 << 32:
        raise WireError(f"{avro_schema.CHECKSUM} is not a number of 32 bits")
    checksum = int(digits)
    previous, current = (checksum, 0) if change.after is None else (0, checksum)
    corrupted = verify(_in_utc(change, options.time_zone), previous, current, options.on_corruption)
    return replace(change, corrupted=corrupted or extension.get(avro_schema.CORRUPTED) is True)


def _in_utc(change: RowChange, time_zone: str) -> RowChange:
    """The change with its TIMESTAMP values in UTC, as its checksum takes them."""
    names = [c.name for c in change.table.columns if c.type.name == "timestamp"]
    if time_zone == "UTC" or not names:
        return change
    utc = utc_time(time_zone)

    def moved(row: Row | None) -> Row | None:
        if not row:
            return row
        texts = [(name, row[name]) for name in names]
        return {**row, **{name: utc(text) for name, text in texts if isinstance(text, str)}}

    try:
        return replace(change, before=moved(change.before), after=moved(change.after))
    except ValueError as error:
        table = change.table
        raise WireError(f"a TIMESTAMP of {table.schema}.{table.name}: {error}") from error


# Writing.


@dataclass(frozen=True, slots=True)
class _AvroPlan:
    """Plan for a table's rows. `constant` are the columns that rows do not have, all NULL."""

    table: Table
    key: tuple[tuple[Column, Write], ...]
    columns: tuple[tuple[Column, Write], ...]
    names: frozenset[str]
    constant: Mapping[str, Value]


class Encoder:
    """Avro's writer; it has no batches, so `flush` gives nothing. The schemas of a table are
    registered with its first row. With `integrity_check`, a table's columns must be in the order of
    their ids in TiDB: once a column was added FIRST or AFTER, TiCDC sends another order."""

    def __init__(self, options: Options, clock: Clock = wall_clock) -> None:
        del clock
        self._options = options
        self._registry = registry_of(options.registry)
        self._modes = Modes(
            options.avro_decimal_handling_mode, options.avro_bigint_unsigned_handling_mode
        )
        if options.integrity_check and self._modes != Modes("string", "string"):
            raise ConfigError("integrity-check-level needs avro's handling modes to be string")
        if options.integrity_check and not options.enable_tidb_extension:
            raise ConfigError("integrity-check-level of avro needs enable-tidb-extension")
        self._local = server_time(options.time_zone)
        self._plan = per_table(self._make_plan)
        self._key_frame = per_table(partial(self._registered, "key"))
        self._value_frame = per_table(partial(self._registered, "value"))

    def row(self, change: RowChange) -> list[Record]:
        """One record. Raises `MessageTooLarge` if TiCDC's changefeed would stop."""
        return [fitting(self._record, change, self._options.max_message_bytes)]

    def flush(self) -> list[Record]:
        return []

    def ddl(self, ddl: Ddl) -> Record:
        """Raises ConfigError without avro-enable-watermark, which the message needs."""
        self._needs_watermark("DDL")
        text = (
            f'{{"query":{encoding_json(ddl.query)},"type":{ddl.kind},'
            f'"schema":{encoding_json(ddl.schema)},"table":{encoding_json(ddl.table)},'
            f'"commitTs":{ddl.commit_ts}}}'
        )
        return None, DDL + utf_8(text)

    def resolved(self, resolved: Resolved) -> Record:
        """Raises ConfigError without avro-enable-watermark, which the message needs."""
        self._needs_watermark("resolved ts")
        return None, RESOLVED + resolved.resolved_ts.to_bytes(8, "big")

    def _needs_watermark(self, what: str) -> None:
        options = self._options
        if not (options.avro_enable_watermark and options.enable_tidb_extension):
            raise ConfigError(
                f"avro has a {what} only with avro-enable-watermark and enable-tidb-extension"
            )

    def _record(self, change: RowChange, reduced: bool) -> Record:
        del reduced  # TiCDC's Avro has no large-message-handle-option
        plan = self._plan(change.table)
        row = change.before if change.after is None else change.after
        if row is None:
            raise no_row(plan.table)
        key = None
        if plan.key:
            key = self._key_frame(plan.table) + _datum(plan, plan.key, row)
        return key, self._value(plan, change, row)

    def _value(self, plan: _AvroPlan, change: RowChange, row: Row) -> bytes | None:
        options = self._options
        extended = options.enable_tidb_extension
        if change.after is None and not options.avro_include_before_value:
            if extended and options.avro_enable_watermark and options.new_architecture:
                return DELETE + change.commit_ts.to_bytes(8, "big")
            return None
        parts = [self._value_frame(plan.table), _datum(plan, plan.columns, row)]
        if options.avro_include_before_value:
            before = change.before
            if before is None:
                parts.append(b"\0")
            else:
                before = {**(change.after or {}), **before}
                parts += [b"\2", _datum(plan, plan.columns, before)]
        if extended:
            operation = b"d" if change.after is None else b"c" if change.before is None else b"u"
            parts += [
                avro_binary.sized(operation),
                avro_binary.long(change.commit_ts),
                avro_binary.long(physical(change.commit_ts)),
            ]
            if options.integrity_check:
                columns = [c for c in plan.table.columns if c.generated != "virtual"]
                digits = str(row_checksum(columns, row)).encode()
                corrupted = b"\1" if change.corrupted else b"\0"
                parts += [avro_binary.sized(digits), corrupted, avro_binary.long(0)]
        return b"".join(parts)

    def _registered(self, part: Literal["key", "value"], table: Table) -> bytes:
        """The frame of a table's keys or values, whose schema it registers."""
        schema = self._key_schema(table) if part == "key" else self._value_schema(table)
        return frame(self._registry.register(subject(self._options.topic, part), schema))

    def _key_schema(self, table: Table) -> str:
        return self._record_json(table, "", [column for column, _ in self._plan(table).key])

    def _value_schema(self, table: Table) -> str:
        more = []
        columns = [column for column, _ in self._plan(table).columns]
        if self._options.avro_include_before_value:
            before = self._record_json(table, "_before", columns)
            more.append(
                f'{{"default":null,"name":"{avro_schema.BEFORE}","type":["null",{before}]}}'
            )
        if self._options.enable_tidb_extension:
            more.append(avro_schema.EXTENSION)
            if self._options.integrity_check:
                more.append(avro_schema.CHECKSUMS)
        return self._record_json(table, "", columns, more)

    def _record_json(
        self, table: Table, suffix: str, columns: Iterable[Column], more: Iterable[str] = ()
    ) -> str:
        return avro_schema.record_json(
            sanitize(table.name) + suffix,
            namespace(self._options.namespace, table.schema),
            [*(avro_schema.field_json(column, self._modes) for column in columns), *more],
        )

    def _make_plan(self, table: Table) -> _AvroPlan:
        new = self._options.new_architecture
        columns = [c for c in table.columns if c.generated != "virtual" or new]
        names = [sanitize(column.name) for column in columns]
        if len({*names}) < len(names):
            raise DefinitionError(
                f"{table.schema}.{table.name} has columns whose names are the same in Avro"
            )
        primary = [index.columns for index in table.indexes if index.primary]
        key = table.handle_key
        if table.indexes and new:
            key = primary[0] if primary else ()
        writers = [(column, self._writer(column)) for column in columns]
        return _AvroPlan(
            table,
            tuple(pair for pair in writers if pair[0].name in key),
            tuple(writers),
            frozenset(column.name for column in columns),
            {column.name: None for column in columns if column.generated == "virtual"},
        )

    def _writer(self, column: Column) -> Write:
        new = self._options.new_architecture
        write = to_avro(column.type, self._modes, self._local, new_architecture=new)
        branch = avro_schema.null_branch(column, self._modes)
        if branch is None:
            return write
        null, some = (b"\0", b"\2") if branch == 0 else (b"\2", b"\0")
        return lambda value: null if value is None else some + write(value)


def _datum(plan: _AvroPlan, columns: tuple[tuple[Column, Write], ...], row: Row) -> bytes:
    if plan.constant:
        row = {**row, **plan.constant}
    try:
        return b"".join([write(row[column.name]) for column, write in columns])
    except (KeyError, TypeError, ValueError) as error:
        raise refused(plan.table, columns, row) from error
