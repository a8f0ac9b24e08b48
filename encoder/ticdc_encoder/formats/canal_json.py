"""Canal-JSON, as TiCDC writes it: one JSON object per record, the key empty.

Source: TiCDC `pkg/sink/codec/canal`. The two architectures differ only for a row of no columns.
"""

import binascii
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.compression import Compression, deflate, inflate
from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table, Value
from ticdc_encoder.formats.canal_types import (
    DDL_TYPES,
    java_code,
    mysql_type,
    parse_mysql_type,
)
from ticdc_encoder.formats.format import (
    RECORD_OVERHEAD,
    Clock,
    LargeMessageHandle,
    MessageTooLarge,
    MissingCommitTs,
    Record,
    timestamp,
    wall_clock,
)
from ticdc_encoder.formats.json_text import easyjson, encoding_json, load, utf_8
from ticdc_encoder.formats.recognise import likeness
from ticdc_encoder.formats.row_reader import ColumnError, RowReader
from ticdc_encoder.values import FAMILIES, server_time

_WATERMARK = "TIDB_WATERMARK"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`time_zone` is that of the TiCDC server: TIMESTAMP is written in it, and left in it by
    `decode`. `message_limit` bounds what a compressed value may inflate to. Without
    `require_commit_ts`, a change that has none gets commit_ts 0."""

    enable_tidb_extension: bool = True
    content_compatible: bool = False
    only_output_updated_columns: bool = False
    delete_only_output_handle_key_columns: bool = False
    output_row_key: bool = False
    time_zone: str = "UTC"
    compression: Compression = "none"
    large_message_handle_option: LargeMessageHandle = "none"
    max_message_bytes: int = 10485760
    message_limit: int = 256 << 20
    require_commit_ts: bool = True
    classic: bool = False


# Reading.


def decode(key: bytes | None, value: bytes | None, options: Options) -> list[Event]:
    """The events of one record. TIMESTAMP values stay in the zone that they came in.

    A row without a commit_ts, as a changefeed without the TiDB extension sends it, raises
    `MissingCommitTs`. `handle_key` is the primary key, empty for every other key.
    """
    if not value:
        raise WireError(f"an empty value is no canal-json{likeness(key, value)}")
    plain = inflate(value, options.compression, options.message_limit)
    try:
        members = load(plain)
    except WireError as error:
        raise WireError(f"{error}{likeness(key, value)}") from error
    if not isinstance(members, dict) or "isDdl" not in members:
        raise WireError(f"no canal-json object{likeness(key, plain)}")
    match members["isDdl"]:
        case True:
            return [_read_ddl(members, options)]
        case False if members.get("type") == _WATERMARK:
            return [_read_watermark(members, options)]
        case False:
            return list(_read_rows(members, options))
    raise WireError("isDdl is not a boolean")


def _string(members: dict[str, Any], name: str) -> str:
    value = members.get(name)
    if value.__class__ is not str:
        raise WireError(f"{name} is missing or not a string")
    return value


_NO_EXTENSION: dict[str, Any] = {}


def _extension(members: dict[str, Any], options: Options) -> dict[str, Any]:
    extension = members.get("_tidb")
    if extension is None:
        if not options.require_commit_ts:
            return _NO_EXTENSION
        raise MissingCommitTs(
            f"canal-json without `_tidb` has no commit_ts ({_string(members, 'database')}."
            f"{_string(members, 'table')}): set enable-tidb-extension=true in the changefeed's "
            "sink URI"
        )
    if not isinstance(extension, dict):
        raise WireError("_tidb is not an object")
    return extension


def _commit_ts(extension: dict[str, Any]) -> int:
    if extension is _NO_EXTENSION:
        return 0
    return timestamp(extension.get("commitTs"), "commitTs")


def _without_rows(members: dict[str, Any], what: str) -> None:
    if members.get("data") is not None or members.get("old") is not None:
        raise WireError(f"a {what} with data")


def _read_ddl(members: dict[str, Any], options: Options) -> Ddl:
    _without_rows(members, "DDL")
    query = _string(members, "sql")
    if not query:
        raise WireError("a DDL without sql")
    return Ddl(
        schema=_string(members, "database"),
        table=_string(members, "table"),
        query=query,
        commit_ts=_commit_ts(_extension(members, options)),
    )


def _read_watermark(members: dict[str, Any], options: Options) -> Resolved:
    _without_rows(members, "watermark")
    return Resolved(timestamp(_extension(members, options).get("watermarkTs"), "watermarkTs"))


def _images(members: dict[str, Any], name: str) -> list[dict[str, Any]]:
    images = members.get(name)
    if not isinstance(images, list) or not images or not all(isinstance(i, dict) for i in images):
        raise WireError(f"{name} is not a list of objects")
    return images


def _read_rows(members: dict[str, Any], options: Options) -> list[RowChange]:
    extension = _extension(members, options)
    commit_ts = _commit_ts(extension)
    location = extension.get("claimCheckLocation")
    reduced = extension.get("onlyHandleKey", False)
    if reduced.__class__ is not bool:
        raise WireError("onlyHandleKey is not a boolean")
    if location is not None and (location.__class__ is not str or not location):
        raise WireError("claimCheckLocation is not a string")
    row_key = extension.get("rowkey")
    if row_key is not None:
        row_key = _base64(row_key)

    images = _images(members, "data")
    pairs: list[tuple[Any, Any]]
    match kind := members.get("type"):
        case "INSERT":
            if members.get("old") is not None:
                raise WireError("an INSERT with old")
            pairs = [(None, image) for image in images]
        case "DELETE":  # before v5.4 `old` repeats `data`
            pairs = [(image, None) for image in images]
        case "UPDATE":
            before = _images(members, "old")
            if len(before) != len(images):
                raise WireError("data and old differ in length")
            pairs = list(zip(before, images, strict=True))
        case _:
            raise WireError(f"an unknown type: {str(kind)[:40]!r}")

    changes = []
    for old, new in pairs:
        table, reader = _shape(members, old if new is None else new)
        after = None if new is None else _read_row(table, reader, new)
        if old is not None and new is not None and old.keys() != new.keys():
            # v8.5.4 sends columns here that a column selector took out everywhere else.
            old = {name: text for name, text in old.items() if name in reader.readers}
        changes.append(
            RowChange(
                table,
                commit_ts,
                None if old is None else _read_row(table, reader, old),
                after,
                incomplete=reduced or location is not None,
                claim_check=location,
                row_key=row_key,
            )
        )
    return changes


def _base64(value: Any) -> bytes:
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except (TypeError, ValueError) as error:
        raise WireError("rowkey is not base64") from error


_shapes: dict[tuple[Any, ...], tuple[Table, RowReader]] = {}
_MOST_SHAPES = 4096


def _shape(members: dict[str, Any], image: dict[str, Any]) -> tuple[Table, RowReader]:
    types, key = members.get("mysqlType") or {}, members.get("pkNames") or ()
    try:
        shape = (
            members.get("database"),
            members.get("table"),
            tuple(key),
            tuple(image),
            tuple([types[name] for name in image]),
        )
        found = _shapes.get(shape)
    except KeyError as error:
        raise WireError(f"column `{error.args[0]}` has no mysqlType") from error
    except TypeError:
        found = None  # something that is no text
    if found is None:
        found = _new_shape(members, types, key, image)
        if len(_shapes) >= _MOST_SHAPES:
            _shapes.clear()
        _shapes[shape] = found
    return found


def _new_shape(
    members: dict[str, Any], types: Any, key: Any, image: dict[str, Any]
) -> tuple[Table, RowReader]:
    if not isinstance(types, dict) or not isinstance(key, list | tuple):
        raise WireError("mysqlType is not an object, or pkNames not a list")
    column_types = tuple([types[name] for name in image])
    if not {*map(type, column_types), *map(type, key)} <= {str}:
        raise WireError("mysqlType or pkNames holds something that is not a string")
    return _table(
        _string(members, "database"),
        _string(members, "table"),
        tuple(key),
        tuple(image),
        column_types,
    )


def _table(
    schema: str, name: str, key: tuple[str, ...], names: tuple[str, ...], types: tuple[str, ...]
) -> tuple[Table, RowReader]:
    """The table that rows of this shape show, and what reads each column's text."""
    if not name:
        raise WireError("a row without a table")
    columns = tuple(
        Column(column, parse_mysql_type(type_), nullable=column not in key)
        for column, type_ in zip(names, types, strict=True)
    )
    readers = {column.name: FAMILIES[column.type.name].from_text for column in columns}
    return Table(schema, name, columns, handle_key=key), RowReader(readers)


def _read_row(table: Table, reader: RowReader, image: dict[str, Any]) -> Row:
    try:
        row = reader.read(image)
    except ColumnError as error:
        raise WireError(f"column `{error.name}` of {table.schema}.{table.name}: {error}") from error
    for name in table.handle_key:
        if name in row and row[name] is None:
            raise WireError(f"key column `{name}` of {table.schema}.{table.name} is null")
    return row


# Writing.

_Writer = Callable[[Value], str]


@dataclass(frozen=True, slots=True)
class _Column:
    """`member` is the column's name as a JSON member, `mysql_type` its whole member there."""

    name: str
    type: ColumnType
    member: str
    mysql_type: str
    handle: bool
    write: _Writer


@dataclass(frozen=True, slots=True)
class _Plan:
    """How rows of a table are written; `table` keeps the identity that it is found by."""

    table: Table
    head: str
    columns: tuple[_Column, ...]
    names: frozenset[str]


class Encoder:
    """Canal-JSON's writer; it has no batches, so `flush` gives nothing."""

    def __init__(self, options: Options, clock: Clock = wall_clock) -> None:
        self._options = options
        self._clock = clock
        self._local = server_time(options.time_zone)
        self._plans: dict[int, _Plan] = {}

    def row(self, change: RowChange) -> list[Record]:
        """One record. Raises `MessageTooLarge` where TiCDC's changefeed would stop."""
        limit = self._options.max_message_bytes
        value = self._row(change, reduced=change.incomplete)
        if len(value) + RECORD_OVERHEAD > limit:
            if self._options.large_message_handle_option == "handle-key-only":
                value = self._row(change, reduced=True)
            if len(value) + RECORD_OVERHEAD > limit:
                raise MessageTooLarge(
                    f"a row of {change.table.schema}.{change.table.name} takes "
                    f"{len(value) + RECORD_OVERHEAD} bytes, max-message-bytes is {limit}"
                )
        return [(None, value)]

    def flush(self) -> list[Record]:
        return []

    def ddl(self, ddl: Ddl) -> Record:
        """One record; `kind` decides its `type`."""
        return self._bare(
            ddl.schema,
            ddl.table,
            DDL_TYPES.get(ddl.kind, "QUERY"),
            ddl.commit_ts,
            ddl.query,
            f'"commitTs":{ddl.commit_ts}' if self._options.enable_tidb_extension else None,
        )

    def resolved(self, resolved: Resolved) -> Record:
        """Raises ConfigError without the TiDB extension, to which the message belongs."""
        if not self._options.enable_tidb_extension:
            raise ConfigError("canal-json has a resolved ts with enable-tidb-extension only")
        ts = resolved.resolved_ts
        return self._bare("", "", _WATERMARK, ts, "", f'"watermarkTs":{ts}')

    def _bare(
        self, schema: str, table: str, type_: str, ts: int, sql: str, extension: str | None
    ) -> Record:
        is_ddl = "false" if type_ == _WATERMARK else "true"
        text = (
            f'{{"id":0,"database":{encoding_json(schema)},"table":{encoding_json(table)},'
            f'"pkNames":null,"isDdl":{is_ddl},"type":"{type_}","es":{ts >> 18},'
            f'"ts":{self._clock()},"sql":{encoding_json(sql)},"sqlType":null,"mysqlType":null,'
            f'"data":null,"old":null'
        )
        text += "}" if extension is None else f',"_tidb":{{{extension}}}}}'
        return None, deflate(utf_8(text), self._options.compression)

    def _row(self, change: RowChange, *, reduced: bool) -> bytes:
        options = self._options
        plan = self._plan(change.table)
        if change.after is None:
            kind, image = "DELETE", change.before
            handle_only = reduced or options.delete_only_output_handle_key_columns
        else:
            kind, image = "INSERT" if change.before is None else "UPDATE", change.after
            handle_only = reduced
        if image is None:
            raise DefinitionError(f"a change of {plan.table.name} without any row")
        texts = _texts(plan, image, handle_only)
        codes = ",".join([f"{c.member}{java_code(c.type, image[c.name])}" for c, _ in texts])
        types = ",".join([c.mysql_type for c, _ in texts])
        empty = "{}" if options.classic else "null"
        return deflate(
            utf_8(
                "".join(
                    (
                        f'{plan.head}"{kind}","es":{change.commit_ts >> 18},"ts":{self._clock()},'
                        '"sql":"","sqlType":',
                        f'{{{codes}}},"mysqlType":{{{types}}}'
                        if texts
                        else f'null,"mysqlType":{empty}',
                        f',"old":{self._old(plan, change, texts, handle_only)},"data":[',
                        _members(texts),
                        "]",
                        self._tidb(change, reduced),
                        "}",
                    )
                )
            ),
            options.compression,
        )

    def _old(
        self,
        plan: _Plan,
        change: RowChange,
        new: list[tuple[_Column, str | None]],
        handle_only: bool,
    ) -> str:
        if change.before is None or change.after is None:
            return "null"
        old = _texts(plan, {**change.after, **change.before}, handle_only)
        if self._options.only_output_updated_columns or self._options.content_compatible:
            texts = {column.name: text for column, text in new}
            old = [(column, text) for column, text in old if text != texts[column.name]]
        return f"[{_members(old)}]"

    def _tidb(self, change: RowChange, reduced: bool) -> str:
        if not self._options.enable_tidb_extension:
            return ""
        members = f'"commitTs":{change.commit_ts}'
        if change.claim_check is not None:
            members += f',"claimCheckLocation":{easyjson(change.claim_check)}'
        elif reduced:
            members += ',"onlyHandleKey":true'
        if self._options.output_row_key and change.row_key is not None:
            members += f',"rowkey":"{b64encode(change.row_key).decode()}"'
        return f',"_tidb":{{{members}}}'

    def _plan(self, table: Table) -> _Plan:
        plan = self._plans.get(id(table))
        if plan is None:
            plan = self._plans[id(table)] = self._make_plan(table)
        return plan

    def _make_plan(self, table: Table) -> _Plan:
        primary = [index.columns for index in table.indexes if index.primary]
        key = primary[0] if primary else () if table.indexes else table.handle_key
        columns = [column for column in table.columns if column.generated != "virtual"]
        content_compatible = self._options.content_compatible
        names = ",".join([easyjson(column.name) for column in columns if column.name in key])
        return _Plan(
            table,
            f'{{"id":0,"database":{easyjson(table.schema)},"table":{easyjson(table.name)},'
            f'"pkNames":[{names}],"isDdl":false,"type":',
            tuple(
                _Column(
                    column.name,
                    column.type,
                    member := f"{easyjson(column.name)}:",
                    member
                    + easyjson(mysql_type(column.type, content_compatible=content_compatible)),
                    column.name in table.handle_key,
                    self._writer(column.type),
                )
                for column in columns
            ),
            frozenset(column.name for column in table.columns),
        )

    def _writer(self, type: ColumnType) -> _Writer:
        write, local = FAMILIES[type.name].to_text, self._local
        return (lambda value: local(write(value))) if type.name == "timestamp" else write


def _texts(
    plan: _Plan, row: Mapping[str, Value], handle_only: bool
) -> list[tuple[_Column, str | None]]:
    """The columns to write, each with its text."""
    if not row.keys() <= plan.names:
        strange = next(name for name in row if name not in plan.names)
        raise DefinitionError(f"{plan.table.schema}.{plan.table.name} has no column `{strange}`")
    texts: list[tuple[_Column, str | None]] = []
    for column in plan.columns:
        if column.name not in row or (handle_only and not column.handle):
            continue
        value = row[column.name]
        try:
            texts.append((column, None if value is None else column.write(value)))
        except (TypeError, ValueError) as error:
            raise DefinitionError(
                f"column `{column.name}` of {plan.table.schema}.{plan.table.name}, "
                f"{column.type.name}: {error}"
            ) from error
    return texts


def _members(texts: list[tuple[_Column, str | None]]) -> str:
    return (
        "{" + ",".join([c.member + ("null" if t is None else easyjson(t)) for c, t in texts]) + "}"
    )
