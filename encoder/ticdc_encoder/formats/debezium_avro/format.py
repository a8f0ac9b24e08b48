"""Debezium's events in Avro with a schema registry, as TiCDC's new architecture writes them.

Source: TiCDC `pkg/sink/codec/debezium/avro.go`. Debezium's JSON and this format lose the same,
except DECIMAL, which is exact, and bytes, which are distinct from text. DDL and resolved ts, which
need `avro-enable-watermark`, are the JSON form, converted (`encodeAvroMessage`, `encoder.go`).

The module builds on both formats: the fields are Debezium's, the binary encoding and its modes are
Avro's.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from ticdc_encoder.column import Column
from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table
from ticdc_encoder.formats import debezium
from ticdc_encoder.formats.avro import binary as avro_binary
from ticdc_encoder.formats.avro.binary import long, sized
from ticdc_encoder.formats.avro.schema import BigintUnsignedMode, DecimalMode, Modes
from ticdc_encoder.formats.avro.values import Write, refused
from ticdc_encoder.formats.debezium_avro import connect as connect_avro
from ticdc_encoder.formats.debezium_avro.types import (
    Convert,
    column_of,
    connect_field,
    connect_name,
    union_writer,
)
from ticdc_encoder.formats.format import (
    Clock,
    Record,
    fitting,
    no_row,
    per_table,
    timestamp,
    wall_clock,
)
from ticdc_encoder.formats.json_text import Members
from ticdc_encoder.formats.likeness import likeness
from ticdc_encoder.formats.names import sanitize
from ticdc_encoder.formats.registry import Registry, SchemaId, frame, unframe
from ticdc_encoder.tso import physical

_Part = Literal["key", "value"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`registry` keeps the schemas; `topic` and the server's `cluster_id` name those that are
    written. TIMESTAMP values are in UTC."""

    registry: Registry | None = None
    topic: str = ""
    cluster_id: str = "default"
    enable_tidb_extension: bool = True
    avro_enable_watermark: bool = False
    avro_decimal_handling_mode: DecimalMode = "precise"
    avro_bigint_unsigned_handling_mode: BigintUnsignedMode = "long"
    output_old_value: bool = True
    max_message_bytes: int = 10485760


def _registry(registry: Registry | None) -> Registry:
    if registry is None:
        raise ConfigError("debezium-avro needs a schema registry")
    return registry


# Reading.


@dataclass(frozen=True, slots=True)
class _EnvelopeShape:
    """Shape of a value's records. `name` is the schema's, `names` are the columns by their names in
    Avro, `convert` has those whose values Avro holds in another form."""

    name: str
    read: avro_binary.Read
    columns: tuple[Column, ...]
    names: tuple[tuple[str, str], ...]
    convert: tuple[tuple[str, Convert], ...]
    key: tuple[str, ...]
    tables: dict[tuple[str, str], Table] = field(default_factory=dict)

    def table(self, schema: str, name: str) -> Table:
        """The table of that name whose rows have this shape. Raises WireError if the schema is that
        of another one: TiCDC keeps one schema of a topic and a version of its tables
        (`GetCachedOrRegister`, `avro/confluent_schema_registry.go`), which tables share that one
        DDL changed. Columns may be missing, or NULL, then."""
        table = self.tables.get((schema, name))
        if table is None:
            if not self.name.endswith(f".{sanitize(schema)}.{sanitize(name)}Envelope"):
                raise WireError(
                    f"a row of {schema}.{name} by the schema of another table, {self.name}, which "
                    "TiCDC takes for tables of one DDL in one topic: give each table a topic of "
                    "its own, then load them anew"
                )
            table = Table(schema, name, self.columns, handle_key=self.key)
            self.tables[schema, name] = table
        return table

    def row(self, table: Table, members: Members) -> Row:
        """The row, made from `members` in place."""
        for name, convert in self.convert:
            value = members[name]
            if value is not None:
                try:
                    members[name] = convert(value)
                except (TypeError, ValueError, OverflowError) as error:
                    where = f"{table.schema}.{table.name}"
                    raise WireError(f"column `{name}` of {where}: {error}") from error
        row = {name: members[avro] for avro, name in self.names} if self.names else members
        for name in table.handle_key:
            if row.get(name) is None:
                raise WireError(f"key column `{name}` of {table.schema}.{table.name} is null")
        return row


def decode(key: bytes | None, value: bytes | None, options: Options) -> list[Event]:
    """The event of one record. `handle_key` are the columns of the record's key. `before` of an
    UPDATE is empty if the message has none (`output-old-value=false`)."""
    registry = _registry(options.registry)
    if not value or not key:
        raise WireError("a debezium-avro record without a key or a value")
    try:
        value_id, start = unframe(value, "value")
    except WireError as error:
        raise WireError(f"{error}{likeness(key, value)}") from error
    shape = _shape(registry, unframe(key, "key")[0], value_id)
    envelope = shape.read(value, start)
    source = envelope.get("source")
    if not isinstance(source, dict):
        raise WireError("not a debezium record with a source")
    ts = timestamp(source.get("commit_ts"), "commit_ts")
    operation = envelope.get("op")
    if operation == "m":
        return [Resolved(ts)]
    if operation is None:
        schema, query = envelope.get("databaseName"), envelope.get("ddl")
        if not isinstance(schema, str) or not isinstance(query, str) or not query:
            raise WireError("a DDL without a database or a query")
        return [Ddl(schema, source.get("table") or "", query, ts)]
    if operation not in ("c", "u", "d"):
        raise WireError("op is not c, u, d or m")
    table = shape.table(str(source.get("db")), str(source.get("table")))
    before, after = (
        None if image is None else shape.row(table, image)
        for image in (envelope.get("before"), envelope.get("after"))
    )
    if operation == "u" and before is None:
        before = {}
    if (before is None, after is None) != (operation == "c", operation == "d"):
        raise WireError(f"op {operation} with a row too many, or too few")
    return [RowChange(table, ts, before, after)]


@lru_cache(maxsize=4096)
def _shape(registry: Registry, key_id: SchemaId, value_id: SchemaId) -> _EnvelopeShape:
    schema = avro_binary.schema_of(registry.schema(value_id))
    keys = avro_binary.schema_of(registry.schema(key_id))
    rows = next((f["type"] for f in schema["fields"] if f.get("name") == "before"), ())
    record = next((part for part in rows if isinstance(part, dict)), {})
    columns, convert, names = [], [], []
    key = tuple(connect_name(each) for each in keys["fields"])
    for each in record.get("fields", ()):
        name = connect_name(each)
        column, read = column_of(each, nullable=name not in key)
        columns.append(column)
        names.append((str(each["name"]), name))
        if read is not None:
            convert.append((str(each["name"]), read))
    renamed = any(avro != name for avro, name in names)
    return _EnvelopeShape(
        f"{schema.get('namespace', '')}.{schema.get('name', '')}",
        avro_binary.reader(schema, "value"),
        tuple(columns),
        tuple(names) if renamed else (),
        tuple(convert),
        key,
    )


# Writing.


_Columns = tuple[tuple[Column, Write, bytes], ...]
"""Columns, each with the writer of its values and the form of NULL."""


@dataclass(frozen=True, slots=True)
class _DebeziumAvroPlan:
    """Plan for a table's rows. `source` is the bytes around its two times."""

    table: Table
    columns: _Columns
    key: _Columns
    key_frame: bytes
    value_frame: bytes
    source: tuple[bytes, bytes, bytes]


class Encoder:
    """Debezium-avro's writer; it has no batches, so `flush` gives nothing. The schemas of a table
    are registered with its first row; a table with a virtual generated column has none that Avro
    allows, and TiCDC cannot send it."""

    def __init__(self, options: Options, clock: Clock = wall_clock) -> None:
        self._options = options
        self._registry = _registry(options.registry)
        self._clock = clock
        self._modes = Modes(
            options.avro_decimal_handling_mode, options.avro_bigint_unsigned_handling_mode
        )
        self._json = debezium.Encoder(
            debezium.Options(
                enable_tidb_extension=options.enable_tidb_extension,
                cluster_id=options.cluster_id,
                new_architecture=True,
            ),
            clock,
        )
        self._plan = per_table(self._make_plan)

    def row(self, change: RowChange) -> list[Record]:
        """One record. Raises `MessageTooLarge` if Kafka would refuse it."""
        return [fitting(self._record, change, self._options.max_message_bytes)]

    def _record(self, change: RowChange, reduced: bool) -> Record:
        del reduced  # TiCDC's debezium-avro has no large-message-handle-option
        plan = self._plan(change.table)
        before, after = change.before, change.after
        if after is not None:
            operation, row = b"u" if before is not None else b"c", after
        elif before is not None:
            operation, row = b"d", before
        else:
            raise no_row(plan.table)
        if before is not None and after is not None:
            before = {**after, **before} if self._options.output_old_value else None
        commit_ts = change.commit_ts
        value = b"".join(
            (
                plan.value_frame,
                b"\0" if before is None else b"\2" + _image(plan, plan.columns, before),
                b"\0" if after is None else b"\2" + _image(plan, plan.columns, after),
                plan.source[0],
                long(physical(commit_ts)),
                plan.source[1],
                long(commit_ts),
                plan.source[2],
                sized(operation),
                long(self._clock()),
            )
        )
        key = plan.key_frame + _image(plan, plan.key, row)
        return key, value

    def flush(self) -> list[Record]:
        return []

    def ddl(self, ddl: Ddl) -> Record:
        """Raises ConfigError without avro-enable-watermark, which the message needs."""
        return self._converted("DDL", lambda: self._json.ddl(ddl))

    def resolved(self, resolved: Resolved) -> Record:
        """Raises ConfigError without avro-enable-watermark, which the message needs."""
        return self._converted("resolved ts", lambda: self._json.resolved(resolved))

    def _converted(self, what: str, make: Callable[[], Record]) -> Record:
        """A message of the JSON form in Avro, its schemas under their own names."""
        options = self._options
        if not (options.avro_enable_watermark and options.enable_tidb_extension):
            raise ConfigError(
                f"debezium-avro has a {what} only with avro-enable-watermark and "
                "enable-tidb-extension"
            )
        parts = []
        for part in make():
            message = json.loads(part or b"")
            schema = message["schema"]
            text_ = connect_avro.schema_json(schema)
            framed = frame(self._registry.register(schema["name"], text_))
            parts.append(framed + connect_avro.datum(schema, message["payload"]))
        return parts[0], parts[1]

    def _make_plan(self, table: Table) -> _DebeziumAvroPlan:
        virtual = [column.name for column in table.columns if column.generated == "virtual"]
        if virtual:
            raise DefinitionError(
                f"{table.schema}.{table.name} has the virtual column `{virtual[0]}`: TiCDC cannot "
                "send its table as debezium-avro"
            )
        cluster = self._options.cluster_id
        prefix = f"{sanitize(cluster)}.{sanitize(table.schema)}"
        name = f"{prefix}.{sanitize(table.name)}"
        columns = [(column, *union_writer(column, self._modes)) for column in table.columns]
        key = [each for each in columns if each[0].name in table.handle_key]
        extension = self._options.enable_tidb_extension
        fields = {c.name: connect_field(c, self._modes, extension) for c in table.columns}
        key_schema = _struct(f"{name}Key", [fields[column.name] for column, *_ in key])
        sides = [
            {**_struct(name, [*fields.values()]), "optional": True, "field": side}
            for side in ("before", "after")
        ]
        source = {**_struct(f"{prefix}.Source", _SOURCE), "field": "source"}
        value_schema = _struct(f"{name}Envelope", [*sides, source, *_AFTER_SOURCE])
        return _DebeziumAvroPlan(
            table,
            tuple(columns),
            tuple(key),
            self._registered("key", key_schema),
            self._registered("value", {**value_schema, "version": 1}),
            _source(cluster, table),
        )

    def _registered(self, part: _Part, schema: connect_avro.Schema) -> bytes:
        text_ = connect_avro.schema_json(schema)
        return frame(self._registry.register(f"{self._options.topic}-{part}", text_))


def _image(plan: _DebeziumAvroPlan, columns: _Columns, row: Row) -> bytes:
    try:
        return b"".join(
            [
                null if (value := row[column.name]) is None else write(value)
                for column, write, null in columns
            ]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise refused(plan.table, [each[:2] for each in columns], row) from error


def _struct(name: str, fields: list[Any]) -> Members:
    return {"type": "struct", "name": name, "optional": False, "fields": fields}


def _member(name: str, type_: str, *, optional: bool = False) -> Members:
    return {"field": name, "type": type_, "optional": optional}


_SOURCE = [
    *(_member(name, "string") for name in ("version", "connector", "name")),
    _member("ts_ms", "int64"),
    _member("snapshot", "string", optional=True),
    _member("db", "string"),
    _member("table", "string"),
    _member("server_id", "int64"),
    _member("gtid", "string", optional=True),
    _member("file", "string"),
    _member("pos", "int64"),
    _member("row", "int32"),
    _member("thread", "int64", optional=True),
    _member("query", "string", optional=True),
    _member("commit_ts", "int64"),
    _member("cluster_id", "string"),
]
_AFTER_SOURCE = [_member("op", "string"), _member("ts_ms", "int64")]


def _source(cluster: str, table: Table) -> tuple[bytes, bytes, bytes]:
    head = [sized(part.encode()) for part in ("2.4.0.Final", "TiCDC", cluster)]
    names = [sized(part.encode()) for part in (table.schema, table.name)]
    # No snapshot; after the names server_id, gtid, file, pos, row, thread and query, all empty.
    return b"".join(head), b"".join((b"\0", *names, bytes(7))), sized(cluster.encode())
