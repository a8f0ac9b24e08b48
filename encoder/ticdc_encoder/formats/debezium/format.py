"""Debezium's JSON, as TiCDC writes it: an event per record, with or without its schema.

Source: TiCDC `pkg/sink/codec/debezium`, which imitates the MySQL connector of Debezium 2.4. It
loses: the exact DECIMAL (a double is sent), NULL in a column with a DEFAULT (which is sent
instead), invalid dates (null, or the epoch), years before 100, and fractional digits of DATETIME(0)
to (3) and TIME that are 0. Without `tidb_type` bytes are base64 text, without a schema types are
those of JSON.
"""

from collections.abc import Callable
from dataclasses import dataclass
from re import compile as pattern

import orjson

from ticdc_encoder.errors import ConfigError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table, Value
from ticdc_encoder.formats.compression import Compression, deflate, inflate
from ticdc_encoder.formats.debezium.fields import field_json, null_json
from ticdc_encoder.formats.debezium.rows import read_row, string
from ticdc_encoder.formats.debezium.schemas import AFTER_SOURCE, DDL_KEY, ddl_json, source_json
from ticdc_encoder.formats.debezium.values import writer
from ticdc_encoder.formats.format import (
    Clock,
    MissingCommitTs,
    Record,
    no_row,
    per_table,
    timestamp,
    wall_clock,
    written,
)
from ticdc_encoder.formats.json_text import Members, jsoniter, load, utf_8
from ticdc_encoder.formats.likeness import likeness
from ticdc_encoder.formats.names import sanitize
from ticdc_encoder.tso import physical
from ticdc_encoder.values import utc_time
from ticdc_encoder.version import Version, version_number

_KEYS, _NULL_AS_DEFAULT = Version(8, 5, 0), Version(8, 5, 2)
_MASTER = Version(9, 0, 0)
WHOLE_OLD = version_number("9.0.0-beta.1")
"""The old architecture's Debezium has TiDB's types, DDL and resolved ts from here on: see
`pkg/sink/codec/debezium` of pingcap/tiflow at v9.0.0-beta.1 and v9.0.0-beta.2.pre. The old
architecture of 8.5.4 to 8.5.8 is its release-8.5 (`go.mod` of pingcap/ticdc), which has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`version` is TiCDC's: older ones have no key (before 8.5.0), and send NULL as it
    is (before 8.5.2). `cluster_id` and `time_zone` are the server's; TIMESTAMP is sent in UTC,
    except one that stands for NULL. `debezium_include_start_ts` adds the transaction's start_ts to
    rows. With `require_types`, a row whose schema does not have
    TiDB's types is refused."""

    enable_tidb_extension: bool = True
    debezium_disable_schema: bool = False
    debezium_include_start_ts: bool = False
    output_old_value: bool = True
    cluster_id: str = "default"
    time_zone: str = "UTC"
    compression: Compression = "none"
    message_limit: int = 256 << 20
    require_types: bool = False
    new_architecture: bool = False
    version: Version = _MASTER


# Reading.


def decode(key: bytes | None, value: bytes | None, options: Options) -> list[Event]:
    """The event of one record. `handle_key` are the columns of the record's key. TIMESTAMP values
    are in UTC. `before` of an UPDATE is empty if the message has none.
    """
    if not value:
        raise WireError(f"an empty value is not debezium{likeness(key, value)}")
    plain = inflate(value, options.compression, options.message_limit)
    payload, schema = _message(key, plain)
    source = payload.get("source")
    if not isinstance(source, dict):
        raise WireError(f"not a debezium payload with a source{likeness(key, plain)}")
    if "commit_ts" not in source:
        raise MissingCommitTs(
            f"debezium without commit_ts in its source ({source.get('db')}.{source.get('table')}): "
            "not from TiCDC"
        )
    ts = timestamp(source["commit_ts"], "commit_ts")
    operation = payload.get("op")
    if operation == "m":
        return [Resolved(ts)]
    if operation is None:
        return [_read_ddl(payload, source, ts)]
    keys: tuple[str, ...] = ()
    if key:
        about = load(inflate(key, options.compression, options.message_limit))
        columns = about.get("payload") if isinstance(about, dict) else None
        if not isinstance(columns, dict):
            raise WireError("a key without a payload")
        keys = tuple(columns)
    return [read_row(payload, source, schema, keys, ts, require_types=options.require_types)]


_SCHEMA = b',"schema":{"type":"struct","optional":false,"name":'
_SCHEMA_END = b"]}}"


def _message(key: bytes | None, plain: bytes) -> tuple[Members, bytes | None]:
    """The payload, and the schema's text. The two are read apart: a table's schema is by far the
    larger and the same in every message. Inside a string, the quotes of `_SCHEMA` would be escaped.
    """
    at = plain.find(_SCHEMA) if plain.endswith(_SCHEMA_END) else -1
    if at > 0:
        try:
            members = orjson.loads(plain[:at] + b"}")
        except orjson.JSONDecodeError:
            members = None
        if isinstance(members, dict) and isinstance(payload := members.get("payload"), dict):
            return payload, plain[at + 10 : -1]
    try:
        members = load(plain)
    except WireError as error:
        raise WireError(f"{error}{likeness(key, plain)}") from error
    payload = members.get("payload") if isinstance(members, dict) else None
    if not isinstance(payload, dict):
        raise WireError(f"not a debezium payload{likeness(key, plain)}")
    schema = members.get("schema")
    return payload, None if schema is None else orjson.dumps(schema)


def _read_ddl(payload: Members, source: Members, ts: int) -> Ddl:
    query = string(payload, "ddl")
    if not query:
        raise WireError("an empty ddl")
    return Ddl(string(payload, "databaseName"), string(source, "table"), query, ts)


# Writing.

_TABLE_STRANGE = pattern(r"[^A-Za-z0-9_.]")


@dataclass(frozen=True, slots=True)
class _DebeziumColumn:
    """`member` is the column's name as a JSON member, `null` the form of NULL."""

    name: str
    member: str
    handle: bool
    write: Callable[[Value], str]
    null: str


@dataclass(frozen=True, slots=True)
class _DebeziumPlan:
    """Plan for a table's rows. The two schemas come after the payload; they are empty if the
    changefeed sends none."""

    table: Table
    columns: tuple[_DebeziumColumn, ...]
    names: frozenset[str]
    key_schema: str
    schema: str


class Encoder:
    """Debezium's writer; it has no batches, so `flush` gives nothing. Like TiCDC's, it has
    no limit of size."""

    def __init__(self, options: Options, clock: Clock = wall_clock) -> None:
        self._options = options
        self._clock = clock
        new = options.new_architecture
        old = not new and options.version < WHOLE_OLD
        self._keys = options.version >= _KEYS
        self._null_as_default = options.version >= _NULL_AS_DEFAULT
        self._types = options.enable_tidb_extension and not old
        self._whole = not old
        extension = options.enable_tidb_extension and new
        self._source = source_json(extension=extension)
        self._row_source = source_json(
            extension=extension, start_ts=options.debezium_include_start_ts
        )
        self._utc = utc_time(options.time_zone)
        self._cluster = jsoniter(options.cluster_id)
        self._plan = per_table(self._make_plan)

    def row(self, change: RowChange) -> list[Record]:
        """One record."""
        plan = self._plan(change.table)
        before, after = change.before, change.after
        if after is not None:
            new = _image(plan, after)
            if before is None:
                rest = f'"op":"c","before":null,"after":{new}'
            elif self._options.output_old_value:
                rest = f'"op":"u","before":{_image(plan, {**after, **before})},"after":{new}'
            else:
                rest = f'"op":"u","after":{new}'
            row = after
        elif before is not None:
            rest, row = f'"op":"d","after":null,"before":{_image(plan, before)}', before
        else:
            raise no_row(plan.table)
        start_ts = change.start_ts if self._options.debezium_include_start_ts else None
        source = self._source_json(plan.table.schema, plan.table.name, change.commit_ts, start_ts)
        value = (
            f'{{"payload":{{{source},"ts_ms":{self._clock()},"transaction":null,{rest}}}'
            f"{plan.schema}}}"
        )
        key = f'{{"payload":{_image(plan, row, handle_only=True)}{plan.key_schema}}}'
        return [self._record(key if self._keys else None, value)]

    def flush(self) -> list[Record]:
        return []

    def ddl(self, ddl: Ddl) -> Record:
        """One record. Raises ConfigError for a version that has none."""
        # It parses the statement; decoding, and writing rows, need no SQL parser.
        from ticdc_encoder.formats.debezium.ddl import changes_json

        self._refuse_old("DDL")
        db = jsoniter(ddl.schema)
        value = (
            f'{{"payload":{{{self._source_json(ddl.schema, ddl.table, ddl.commit_ts)},'
            f'"ts_ms":{self._clock()},"databaseName":{db},"schemaName":null,'
            f'"ddl":{jsoniter(ddl.query)},"tableChanges":{changes_json(ddl)}}}'
            f"{self._schema(ddl_json(self._source))}}}"
        )
        return self._record(f'{{"payload":{{"databaseName":{db}}}{self._schema(DDL_KEY)}}}', value)

    def resolved(self, resolved: Resolved) -> Record:
        """Raises ConfigError without the TiDB extension, which the message needs, and for a
        version that has none."""
        if not self._options.enable_tidb_extension:
            raise ConfigError("debezium has a resolved ts only with enable-tidb-extension")
        self._refuse_old("resolved ts")
        name = f"{sanitize(self._options.cluster_id)}.watermark"
        key = f'{{"type":"struct","name":"{name}.Key","optional":false,"fields":[]}}'
        value = (
            f'{{"payload":{{{self._source_json("", "", resolved.resolved_ts)},'
            f'"ts_ms":{self._clock()},"transaction":null,"op":"m"}}'
            f"{self._schema(_envelope(name, f'{self._source},{AFTER_SOURCE}'))}}}"
        )
        return self._record(f'{{"payload":{{}}{self._schema(key)}}}', value)

    def _refuse_old(self, what: str) -> None:
        if not self._whole:
            raise ConfigError(f"debezium of TiCDC {self._options.version} has no {what}")

    def _record(self, key: str | None, value: str) -> Record:
        codec = self._options.compression
        return None if key is None else deflate(utf_8(key), codec), deflate(utf_8(value), codec)

    def _source_json(self, db: str, table: str, ts: int, start_ts: int | None = None) -> str:
        began = "" if start_ts is None else f'"start_ts":{start_ts},'
        return (
            f'"source":{{"version":"2.4.0.Final","connector":"TiCDC","name":{self._cluster},'
            f'"ts_ms":{physical(ts)},"snapshot":"false","db":{jsoniter(db)},"table":{jsoniter(table)},'
            '"server_id":0,"gtid":null,"file":"","pos":0,"row":0,"thread":0,"query":null,'
            f'"commit_ts":{ts},{began}"cluster_id":{self._cluster}}}'
        )

    def _schema(self, schema: str) -> str:
        return "" if self._options.debezium_disable_schema else f',"schema":{schema}'

    def _make_plan(self, table: Table) -> _DebeziumPlan:
        name = self._name(table)
        fields = {c.name: field_json(c, extension=self._types) for c in table.columns}
        virtual = [c.name for c in table.columns if c.generated == "virtual"]
        # TiCDC writes virtual columns last, its new architecture also at their own position.
        listed = [n for n in fields if n not in virtual or self._options.new_architecture] + virtual
        row = ",".join([fields[column] for column in listed])
        sides = "".join(
            [
                f'{{"type":"struct","optional":true,"name":"{name}.Value","field":"{side}",'
                f'"fields":[{row}]}},'
                for side in ("before", "after")
            ]
        )
        keys = ",".join([fields[n] for n in fields if n in table.handle_key])
        key = f'{{"type":"struct","name":"{name}.Key","optional":false,"fields":[{keys}]}}'
        columns = [
            _DebeziumColumn(
                column.name,
                f"{jsoniter(column.name)}:",
                column.name in table.handle_key,
                writer(column.type, nullable=column.nullable),
                null_json(column, self._utc) if self._null_as_default else "null",
            )
            for column in table.columns
            if column.generated != "virtual"
        ]
        return _DebeziumPlan(
            table,
            tuple(columns),
            frozenset(fields),
            self._schema(key),
            self._schema(_envelope(name, f"{sides}{self._row_source},{AFTER_SOURCE}")),
        )

    def _name(self, table: Table) -> str:
        cluster = self._options.cluster_id
        if not self._keys:
            return jsoniter(f"{cluster}.{table.schema}.{table.name}")[1:-1]
        strange = _TABLE_STRANGE.sub("_", table.name)
        return f"{sanitize(cluster)}.{sanitize(table.schema)}.{strange}"


def _envelope(name: str, fields: str) -> str:
    return (
        f'{{"type":"struct","optional":false,"name":"{name}.Envelope","version":1,'
        f'"fields":[{fields}]}}'
    )


def _image(plan: _DebeziumPlan, row: Row, *, handle_only: bool = False) -> str:
    texts: list[tuple[_DebeziumColumn, str | None]] = written(plan, row, handle_only=handle_only)
    return "{" + ",".join([c.member + (c.null if t is None else t) for c, t in texts]) + "}"
