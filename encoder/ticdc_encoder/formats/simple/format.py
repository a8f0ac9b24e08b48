"""Simple, as TiCDC writes it: one message per record, the key empty, in JSON or Avro.

Rows are sent without types: they are read by their table's schema of their version, which DDL and
BOOTSTRAP messages carry. Source: TiCDC `pkg/sink/codec/simple`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange, Table
from ticdc_encoder.formats.checksum import OnCorruption, row_checksum
from ticdc_encoder.formats.compression import Compression, deflate, inflate
from ticdc_encoder.formats.ddl_types import DDL_TYPES
from ticdc_encoder.formats.format import (
    Clock,
    LargeMessageHandle,
    Record,
    Waiting,
    fitting,
    no_row,
    per_table,
    timestamp,
    wall_clock,
)
from ticdc_encoder.formats.json_text import Members
from ticdc_encoder.formats.likeness import likeness
from ticdc_encoder.formats.row_reader import RowReader
from ticdc_encoder.formats.simple.json import ENCODING as JSON
from ticdc_encoder.formats.simple.json import JsonWriter
from ticdc_encoder.formats.simple.message import VERSION, Checksums, Encoding, Writer
from ticdc_encoder.formats.simple.rows import (
    SchemaKey,
    inferred_table,
    read_row,
    row_reader,
    schema_key,
    timestamp_reader,
)
from ticdc_encoder.formats.simple.schema import parse_schema
from ticdc_encoder.formats.simple.structs import TYPE, RowParser, row_parser
from ticdc_encoder.sql.words import named_schema

EncodingFormat = Literal["json", "avro"]

_ROWS = frozenset({"INSERT", "UPDATE", "DELETE"})
_DDL = frozenset(DDL_TYPES.values()) | {"QUERY"}
_TYPES = _ROWS | _DDL | {"WATERMARK", "BOOTSTRAP"}
_EXCHANGE_PARTITION = 42
_MANY = 100
"""Rows of a table in JSON from which its own parser pays off."""
_LONGEST_BEGINNING = 2048
_MOST_BEGINNINGS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`time_zone` is that of the TiCDC server, in which TIMESTAMP is written. Messages name it, so
    that `decode` returns UTC; it needs the option only for a server that calls its own `Local`.
    `message_limit` bounds what a compressed value may inflate to. With `integrity_check` rows are
    written with their checksum and must have every column."""

    encoding_format: EncodingFormat = "json"
    time_zone: str = "UTC"
    compression: Compression = "none"
    large_message_handle_option: LargeMessageHandle = "none"
    max_message_bytes: int = 10485760
    message_limit: int = 256 << 20
    on_corruption: OnCorruption = "stop"
    integrity_check: bool = False
    new_architecture: bool = False


# Reading.


class Decoder:
    """Reads the records of one or several partitions, and remembers their schemas.

    A row that comes before its schema waits for it. Records may come in any order; rows that are
    still `waiting` have not been returned, so that a consumer which stops must begin again at the
    least `at` among them or before. `tables` are schemas that are known already, such as the
    `tables` of an earlier decoder.
    """

    def __init__(self, options: Options, tables: Iterable[Table] = ()) -> None:
        self._options = options
        self._encoding = _encoding(options)
        self._uncompressed = options.compression == "none"
        self._timestamp = timestamp_reader(options.time_zone)
        self._tables: dict[SchemaKey, RowReader] = {}
        self._counts: Counter[SchemaKey] = Counter()
        self._parsers: dict[SchemaKey, RowParser | None] = {}
        self._parser_of: dict[bytes, RowParser] = {}  # by the first bytes of the table's messages
        self._waiting: dict[SchemaKey, list[tuple[Waiting, Members]]] = {}
        self.waits = 0
        """Number of `waiting` rows."""
        self._new: list[Table] = []
        # Most tables may have no rows: a reader is built for the first row.
        self._initial = {(table.schema, table.name, table.version or 0): table for table in tables}

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every known version of every table."""
        read = {of: known.table for of, known in self._tables.items()}
        return tuple({**self._initial, **read}.values())

    @property
    def waiting(self) -> tuple[Waiting, ...]:
        """The rows that wait for their schema, by table."""
        return tuple(row for rows in self._waiting.values() for row, _ in rows)

    def take_new_tables(self) -> list[Table]:
        """The schemas that arrived since the last call."""
        new, self._new = self._new, []
        return new

    def take_waiting(self) -> tuple[Waiting, ...]:
        """The rows that wait. They are dropped: the consumer will read them again."""
        waiting = self.waiting
        self._waiting.clear()
        self.waits = 0
        return waiting

    def decode(
        self, key: bytes | None, value: bytes | None, at: int = 0
    ) -> list[tuple[int, Event]]:
        """The events that this record completes, each with the `at` of its own record: those of
        rows that waited for its schema come first. TIMESTAMP values are in UTC."""
        plain = value if value and self._uncompressed else _plain(key, value, self._options)
        parse = self._parser_of.get(plain[: plain.find(TYPE)])
        if parse is not None and (change := parse(plain)) is not None:
            return [(at, change)]
        members = _message(key, plain, self._options, self._encoding)
        type_ = members["type"]
        if type_ in _ROWS:
            known = self._known(of := schema_key(members))
            if known is not None:
                change = read_row(members, known, self._options.on_corruption)
                if self._encoding is JSON and not change.incomplete:
                    self._count(of, known, change, plain)
                return [(at, change)]
            waiting = Waiting(at, timestamp(members.get("commitTs"), "commitTs"), *of)
            self._waiting.setdefault(of, []).append((waiting, members))
            self.waits += 1
            return []
        if type_ == "WATERMARK":
            return [(at, Resolved(timestamp(members.get("commitTs"), "commitTs")))]
        table, previous = _schemas(members)
        events: list[tuple[int, Event]] = []
        for known_now in (previous, table):
            if known_now is not None:
                events += self._learn(known_now)
        if type_ != "BOOTSTRAP":
            events.append((at, _read_ddl(members, table, previous)))
        return events

    def _known(self, of: SchemaKey) -> RowReader | None:
        known = self._tables.get(of)
        if known is None and of in self._initial:
            known = row_reader(self._initial[of], self._encoding, self._timestamp)
            self._tables[of] = known
        return known

    def _count(self, of: SchemaKey, known: RowReader, row: RowChange, plain: bytes) -> None:
        """Parses messages that begin like this one as rows of this version, after many rows."""
        self._counts[of] += 1
        end = plain.find(TYPE)
        if self._counts[of] < _MANY or not 0 < end < _LONGEST_BEGINNING:
            return
        if of not in self._parsers:
            if row.after is None:  # a DELETE may have the handle key alone
                return
            self._parsers[of] = row_parser(known, row.after, self._options.on_corruption)
        parser = self._parsers[of]
        if parser is not None:
            if len(self._parser_of) == _MOST_BEGINNINGS:
                self._parser_of.clear()
            self._parser_of[plain[:end]] = parser

    def _learn(self, table: Table) -> list[tuple[int, Event]]:
        """The rows that waited for this schema."""
        of = table.schema, table.name, table.version or 0
        known = self._known(of)
        # A TRUNCATE keeps the table's version, but not its id.
        if known is None or known.table != table:
            known = self._tables[of] = row_reader(table, self._encoding, self._timestamp)
            self._new.append(table)
            if self._parsers.pop(of, None) is not None:
                self._parser_of.clear()
        waited = self._waiting.pop(of, [])
        self.waits -= len(waited)
        return [
            (row.at, read_row(members, known, self._options.on_corruption))
            for row, members in waited
        ]


def decode(key: bytes | None, value: bytes | None, options: Options) -> list[Event]:
    """The events of one record, without memory: a row's columns have types inferred from its
    values (mostly text), and its table has no key. A BOOTSTRAP message is not an event."""
    encoding = _encoding(options)
    members = _message(key, _plain(key, value, options), options, encoding)
    if members["type"] in _ROWS:
        table = inferred_table(members, encoding)
        known = row_reader(table, encoding, timestamp_reader(options.time_zone))
        return [read_row(members, known, None)]
    return [event for _, event in Decoder(options).decode(key, value)]


def _encoding(options: Options) -> Encoding:
    if options.encoding_format == "json":
        return JSON
    encoding: Encoding = _avro().ENCODING
    return encoding


def _plain(key: bytes | None, value: bytes | None, options: Options) -> bytes:
    if not value:
        raise WireError(f"an empty value is not simple{_likeness(key, value, options)}")
    if options.compression != "none":
        return inflate(value, options.compression, options.message_limit)
    return value


def _message(key: bytes | None, plain: bytes, options: Options, encoding: Encoding) -> Members:
    try:
        members = encoding.parse(plain)
    except WireError as error:
        raise WireError(f"{error}{_likeness(key, plain, options)}") from error
    if members.__class__ is not dict:
        raise WireError(f"a message that is not an object{_likeness(key, plain, options)}")
    if members.get("version") != VERSION:
        raise WireError(
            f"not a simple message of version {VERSION}{_likeness(key, plain, options)}"
        )
    type_ = members.get("type")
    if type_.__class__ is not str or type_ not in _TYPES:
        raise WireError(f"an unknown type: {str(type_)[:40]!r}{_likeness(key, plain, options)}")
    return members


def _likeness(key: bytes | None, value: bytes | None, options: Options) -> str:
    """The guess at the message, unless it is the configured encoding."""
    like = likeness(key, value)
    return "" if like.endswith(f"={options.encoding_format})") else like


def _schemas(members: Members) -> tuple[Table | None, Table | None]:
    table, previous = members.get("tableSchema"), members.get("preTableSchema")
    if table is None and members["type"] == "BOOTSTRAP":
        raise WireError("a BOOTSTRAP without a tableSchema")
    return (
        None if table is None else parse_schema(table),
        None if previous is None else parse_schema(previous),
    )


def _read_ddl(members: Members, table: Table | None, previous: Table | None) -> Ddl:
    query = members.get("sql")
    if query.__class__ is not str or not query:
        raise WireError("a DDL without sql")
    about = members.get("tableSchema") or {}
    return Ddl(
        schema=about.get("schema") or _named_schema(query),
        table=about.get("table") or "",
        query=query,
        commit_ts=timestamp(members.get("commitTs"), "commitTs"),
        definition=table,
        previous=previous,
    )


def _named_schema(query: str) -> str:
    """The schema of a DDL without a tableSchema, such as DROP DATABASE: its statement names it."""
    try:
        return named_schema(query) or ""
    except DefinitionError as error:
        raise WireError(f"a DDL without a tableSchema: {error}") from error


# Writing.


class Encoder:
    """Simple's writer; it has no batches, so `flush` gives nothing."""

    def __init__(self, options: Options, clock: Clock = wall_clock) -> None:
        self._options = options
        self._clock = clock
        self._writer = _writer(options)
        self._plan = per_table(self._writer.plan)

    def row(self, change: RowChange) -> list[Record]:
        """One record. Raises `MessageTooLarge` if TiCDC's changefeed would stop."""
        options = self._options
        return [
            fitting(
                self._row,
                change,
                options.max_message_bytes,
                options.large_message_handle_option,
            )
        ]

    def flush(self) -> list[Record]:
        return []

    def bootstrap(self, table: Table) -> Record:
        """The table's schema, which consumers need before its rows."""
        return self._compressed(self._writer.bootstrap(table, self._clock()))

    def ddl(self, ddl: Ddl) -> Record:
        """One record; `kind` decides its `type`, `definition` and `previous` are its schemas. A
        table that is not defined is sent with its name only, like TiCDC's views."""
        type_ = DDL_TYPES.get(ddl.kind, "QUERY")
        if ddl.kind == _EXCHANGE_PARTITION and self._options.new_architecture:
            type_ = "ALTER"
        table = ddl.definition or (Table(ddl.schema, ddl.table, ()) if ddl.table else None)
        now = self._clock()
        return self._compressed(
            self._writer.ddl(type_, ddl.query, ddl.commit_ts, now, table, ddl.previous)
        )

    def resolved(self, resolved: Resolved) -> Record:
        return self._compressed(self._writer.watermark(resolved.resolved_ts, self._clock()))

    def _row(self, change: RowChange, reduced: bool) -> Record:
        if change.before is None and change.after is None:
            raise no_row(change.table)
        checksums = _checksums(change) if self._options.integrity_check else None
        plan = self._plan(change.table)
        return self._compressed(
            self._writer.row(plan, change, self._clock(), checksums, reduced=reduced)
        )

    def _compressed(self, plain: bytes) -> Record:
        return None, deflate(plain, self._options.compression)


def _checksums(change: RowChange) -> Checksums:
    columns = [column for column in change.table.columns if column.generated != "virtual"]
    previous, current = (
        0 if row is None else row_checksum(columns, row) for row in (change.before, change.after)
    )
    return previous, current


def _writer(options: Options) -> Writer:
    if options.encoding_format == "json":
        return JsonWriter(options.time_zone)
    new = options.new_architecture
    writer: Writer = _avro().AvroWriter(options.time_zone, new_architecture=new)
    return writer


def _avro() -> Any:
    """The module of the Avro encoding, which needs fastavro."""
    try:
        return import_module("ticdc_encoder.formats.simple.avro")
    except ImportError as error:
        raise ConfigError("Avro needs `pip install ticdc-consumer[avro]`") from error
