"""Canal-JSON, as TiCDC writes it: one JSON object per record, the key empty.

Source: TiCDC `pkg/sink/codec/canal`. The two architectures differ only for a row of no columns.
"""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass

from ticdc_encoder.column import ColumnType
from ticdc_encoder.errors import ConfigError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange, Table, Value
from ticdc_encoder.formats.canal_json.rows import parse, read_rows, rows_message, string
from ticdc_encoder.formats.canal_json.types import java_code, mysql_type
from ticdc_encoder.formats.compression import Compression, deflate, inflate
from ticdc_encoder.formats.ddl_types import DDL_TYPES
from ticdc_encoder.formats.format import (
    Clock,
    LargeMessageHandle,
    MissingCommitTs,
    Record,
    fitting,
    no_row,
    per_table,
    timestamp,
    wall_clock,
    written,
)
from ticdc_encoder.formats.json_text import Members, easyjson, encoding_json, load, utf_8
from ticdc_encoder.formats.likeness import likeness
from ticdc_encoder.tso import physical
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
    new_architecture: bool = False


# Reading.


def decode(key: bytes | None, value: bytes | None, options: Options) -> list[Event]:
    """The events of one record. TIMESTAMP values stay in the zone that they came in.

    A row without a commit_ts, such as a changefeed without the TiDB extension sends, raises
    `MissingCommitTs`. `handle_key` is the primary key, empty for every other key.
    """
    if not value:
        raise WireError(f"an empty value is not canal-json{likeness(key, value)}")
    plain = value
    if options.compression != "none":
        plain = inflate(value, options.compression, options.message_limit)
    rows = parse(plain)
    if rows is not None:
        return read_rows(rows, timestamp(rows.extension.get("commitTs"), "commitTs"))
    try:
        members = load(plain)
    except WireError as error:
        raise WireError(f"{error}{likeness(key, value)}") from error
    if members.__class__ is not dict or "isDdl" not in members:
        raise WireError(f"not a canal-json object{likeness(key, plain)}")
    is_ddl = members["isDdl"]
    if is_ddl is True:
        return [_read_ddl(members, options)]
    if is_ddl is not False:
        raise WireError("isDdl is not a boolean")
    if members.get("type") == _WATERMARK:
        return [_read_watermark(members, options)]
    extension = members.get("_tidb")
    if extension.__class__ is not dict:
        extension = _extension(members, options)
    commit_ts = 0
    if extension is not _NO_EXTENSION:
        commit_ts = timestamp(extension.get("commitTs"), "commitTs")
    return read_rows(rows_message(members, extension), commit_ts)


_NO_EXTENSION: Members = {}


def _extension(members: Members, options: Options) -> Members:
    extension = members.get("_tidb")
    if extension is None:
        if not options.require_commit_ts:
            return _NO_EXTENSION
        raise MissingCommitTs(
            f"canal-json without `_tidb` has no commit_ts ({string(members, 'database')}."
            f"{string(members, 'table')}): set enable-tidb-extension=true in the changefeed's "
            "sink URI"
        )
    if extension.__class__ is not dict:
        raise WireError("_tidb is not an object")
    return extension


def _commit_ts(extension: Members) -> int:
    if extension is _NO_EXTENSION:
        return 0
    return timestamp(extension.get("commitTs"), "commitTs")


def _without_rows(members: Members, what: str) -> None:
    if members.get("data") is not None or members.get("old") is not None:
        raise WireError(f"a {what} with data")


def _read_ddl(members: Members, options: Options) -> Ddl:
    _without_rows(members, "DDL")
    query = string(members, "sql")
    if not query:
        raise WireError("a DDL without sql")
    return Ddl(
        schema=string(members, "database"),
        table=string(members, "table"),
        query=query,
        commit_ts=_commit_ts(_extension(members, options)),
    )


def _read_watermark(members: Members, options: Options) -> Resolved:
    _without_rows(members, "watermark")
    return Resolved(timestamp(_extension(members, options).get("watermarkTs"), "watermarkTs"))


# Writing.

_Writer = Callable[[Value], str]


@dataclass(frozen=True, slots=True)
class _CanalColumn:
    """`member` is the column's name as a JSON member, `mysql_type` its member there."""

    name: str
    type: ColumnType
    member: str
    mysql_type: str
    handle: bool
    write: _Writer


@dataclass(frozen=True, slots=True)
class _CanalPlan:
    """Plan for a table's rows."""

    table: Table
    head: str
    columns: tuple[_CanalColumn, ...]
    names: frozenset[str]


_Texts = list[tuple[_CanalColumn, str | None]]
"""Columns, each with its value's text."""


class Encoder:
    """Canal-JSON's writer; it has no batches, so `flush` gives nothing."""

    def __init__(self, options: Options, clock: Clock = wall_clock) -> None:
        self._options = options
        self._clock = clock
        self._local = server_time(options.time_zone)
        self._plan = per_table(self._make_plan)

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
        """Raises ConfigError without the TiDB extension, which the message needs."""
        if not self._options.enable_tidb_extension:
            raise ConfigError("canal-json has a resolved ts only with enable-tidb-extension")
        ts = resolved.resolved_ts
        return self._bare("", "", _WATERMARK, ts, "", f'"watermarkTs":{ts}')

    def _bare(
        self, schema: str, table: str, type_: str, ts: int, sql: str, extension: str | None
    ) -> Record:
        is_ddl = "false" if type_ == _WATERMARK else "true"
        text = (
            f'{{"id":0,"database":{encoding_json(schema)},"table":{encoding_json(table)},'
            f'"pkNames":null,"isDdl":{is_ddl},"type":"{type_}","es":{physical(ts)},'
            f'"ts":{self._clock()},"sql":{encoding_json(sql)},"sqlType":null,"mysqlType":null,'
            f'"data":null,"old":null'
        )
        text += "}" if extension is None else f',"_tidb":{{{extension}}}}}'
        return None, deflate(utf_8(text), self._options.compression)

    def _row(self, change: RowChange, reduced: bool) -> Record:
        options = self._options
        plan = self._plan(change.table)
        if change.after is None:
            kind, image = "DELETE", change.before
            handle_only = reduced or options.delete_only_output_handle_key_columns
        else:
            kind, image = "INSERT" if change.before is None else "UPDATE", change.after
            handle_only = reduced
        if image is None:
            raise no_row(plan.table)
        texts: _Texts = written(plan, image, handle_only=handle_only)
        codes = ",".join([f"{c.member}{java_code(c.type, image[c.name])}" for c, _ in texts])
        types = ",".join([c.mysql_type for c, _ in texts])
        empty = "null" if options.new_architecture else "{}"
        value = deflate(
            utf_8(
                "".join(
                    (
                        f'{plan.head}"{kind}","es":{physical(change.commit_ts)},"ts":{self._clock()},'
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
        return None, value

    def _old(
        self,
        plan: _CanalPlan,
        change: RowChange,
        new: _Texts,
        handle_only: bool,
    ) -> str:
        if change.before is None or change.after is None:
            return "null"
        old: _Texts = written(plan, {**change.after, **change.before}, handle_only=handle_only)
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

    def _make_plan(self, table: Table) -> _CanalPlan:
        primary = [index.columns for index in table.indexes if index.primary]
        key = primary[0] if primary else () if table.indexes else table.handle_key
        columns = [column for column in table.columns if column.generated != "virtual"]
        content_compatible = self._options.content_compatible
        names = ",".join([easyjson(column.name) for column in columns if column.name in key])
        return _CanalPlan(
            table,
            f'{{"id":0,"database":{easyjson(table.schema)},"table":{easyjson(table.name)},'
            f'"pkNames":[{names}],"isDdl":false,"type":',
            tuple(
                _CanalColumn(
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


def _members(texts: _Texts) -> str:
    return (
        "{" + ",".join([c.member + ("null" if t is None else easyjson(t)) for c, t in texts]) + "}"
    )
