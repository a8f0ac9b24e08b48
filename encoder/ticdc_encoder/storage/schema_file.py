"""Schema files of the cloud storage sink: a table's columns, and the DDL that defined them.

Source: TiCDC `pkg/cloudstorage/table_definition.go`.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from ticdc_encoder.column import BINARIES, TEMPORALS, TEXTS, TYPE_NAMES, Column, ColumnType
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Ddl, Table
from ticdc_encoder.formats.defaults import stored_default, written_default
from ticdc_encoder.formats.json_text import load
from ticdc_encoder.storage.layout import SchemaPath

_SIZES = {
    **dict.fromkeys(("tinytext", "tinyblob"), 255),
    **dict.fromkeys(("text", "blob"), 65535),
    **dict.fromkeys(("mediumtext", "mediumblob"), 16777215),
    **dict.fromkeys(("longtext", "longblob"), 4294967295),
    "float": 12,
    "double": 22,
    "decimal": 10,
    "year": 4,
    "bit": 1,
}
_WITHOUT_PRECISION = TEMPORALS | {"enum", "set", "json", "vector"}
_ALWAYS_UNSIGNED = frozenset({"bit", "year"})
_HIDDEN = "_V$_"
"""The beginning of the name of the hidden column that TiDB creates for an index over an
expression."""
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_ESCAPES |= dict.fromkeys(range(0xDC80, 0xDD00), "\\ufffd")  # a byte that is not UTF-8


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """A schema file. `query` is empty if the file describes a table as it is, without a DDL; `kind`
    is TiDB's action code. `table` has what the file has of the columns: no indexes but the primary
    key as its handle key, no charset, no generated flags (virtual columns are listed, but not in
    CSV), and None for a database's file and for a view. TiCDC loses the bytes of a default that are
    not UTF-8: each is U+FFFD."""

    schema: str
    name: str
    version: int
    query: str = ""
    kind: int = 0
    table: Table | None = None

    @property
    def ddl(self) -> Ddl | None:
        """The DDL of the file, None without one."""
        if not self.query:
            return None
        return Ddl(self.schema, self.name, self.query, self.version, self.kind, self.table)


# Writing.


def schema_file(
    file: SchemaFile, *, column_ids: Mapping[str, int] | None = None
) -> tuple[SchemaPath, bytes]:
    """The file's path and content. With `column_ids` (output-column-id), each column has its id."""
    columns = None if file.table is None else [*_columns(file.table, column_ids or {})]
    members: dict[str, Any] = {
        "Table": file.name,
        "Schema": file.schema,
        "Version": 1,
        "TableVersion": file.version,
        "Query": file.query,
        "Type": file.kind,
        "TableColumns": columns,
        "TableColumnsTotal": len(columns or ()),
    }
    path = SchemaPath(file.schema, file.name, file.version, _checksum(members))
    return path, _go_json(members)


def _checksum(members: Mapping[str, Any]) -> int:
    columns = members["TableColumns"] or []
    return crc32(
        _go_json(
            {
                "Table": members["Table"],
                "Schema": members["Schema"],
                "Version": 0,
                "TableColumns": sorted(columns, key=_name),
                "TableColumnsTotal": members["TableColumnsTotal"],
            }
        )
    )


def _name(column: Any) -> str:
    return str(column.get("ColumnName")) if isinstance(column, dict) else ""


def _go_json(value: Any) -> bytes:
    return json.dumps(value, indent=4, ensure_ascii=False).translate(_ESCAPES).encode()


def _columns(table: Table, ids: Mapping[str, int]) -> Iterable[dict[str, Any]]:
    key = table.handle_key
    if table.indexes:
        key = next((index.columns for index in table.indexes if index.primary), ())
    for column in table.columns:
        type_ = column.type
        members: dict[str, Any] = {}
        if column.name in ids:
            members["ColumnId"] = str(ids[column.name])
        members["ColumnName"] = column.name
        unsigned = type_.unsigned or type_.name in _ALWAYS_UNSIGNED
        members["ColumnType"] = type_.name.upper() + " UNSIGNED" * unsigned
        default = _default(column)
        if default is not None:
            members["ColumnDefault"] = default
        precision, scale = _precision(type_), _scale(type_)
        if precision is not None:
            members["ColumnPrecision"] = str(precision)
        if scale is not None:
            members["ColumnScale"] = str(scale)
        if not column.nullable:
            members["ColumnNullable"] = "false"
        if column.name in key:
            members["ColumnIsPk"] = "true"
        if type_.elements:
            members["ColumnElems"] = list(type_.elements)
        yield members


def _default(column: Column) -> str | None:
    default, type_ = stored_default(column), column.type
    if isinstance(default, int):
        width = ((type_.length or 1) + 7) // 8
        return default.to_bytes(width, "big").decode("utf-8", "surrogateescape")
    if default is not None and type_.name == "binary":
        raw = default.encode("utf-8", "surrogateescape").ljust(type_.length or 0, b"\0")
        return raw.decode("utf-8", "surrogateescape")
    return default


def _precision(type_: ColumnType) -> int | None:
    if type_.name in _WITHOUT_PRECISION:
        return None
    return _SIZES.get(type_.name) if type_.length is None else type_.length


def _scale(type_: ColumnType) -> int | None:
    if type_.name == "decimal":
        return type_.decimals or 0
    if type_.name in TEMPORALS:
        return type_.decimals or None
    return type_.decimals if type_.name in ("float", "double") else None


# Reading.


def parse_schema_file(path: SchemaPath | None, content: bytes) -> SchemaFile:
    """The schema file of that path. Raises `WireError` if the path's version or checksum is not the
    content's, for example because the file is not yet whole; without a path neither is checked."""
    members = load(content)
    if not isinstance(members, dict):
        raise WireError("the schema file is not a JSON object")
    name, schema = _of(members, "Table", str), _of(members, "Schema", str)
    version, kind = _of(members, "TableVersion", int), _of(members, "Type", int)
    columns = members.get("TableColumns")
    if columns is not None and not isinstance(columns, list):
        raise WireError("TableColumns is not a list")
    members["TableColumnsTotal"] = _of(members, "TableColumnsTotal", int)
    if path is not None:
        if version != path.version:
            raise WireError(f"the schema file of version {path.version} is of version {version}")
        if path.table_id is None and (schema, name) != (path.schema, path.table):
            raise WireError(f"the schema file of {path.schema}.{path.table} is of {schema}.{name}")
        if _checksum(_told_apart(members, content)) != path.checksum:
            raise WireError(f"the schema file's checksum is not {path.checksum}")
    return SchemaFile(
        schema, name, version, _of(members, "Query", str), kind, _table(schema, name, columns)
    )


_INVALID = re.compile(rb"(?<!\\)((?:\\\\)*)\\ufffd")


def _told_apart(members: Mapping[str, Any], content: bytes) -> Any:
    """The members as Go had them: an escaped U+FFFD was a byte that is not UTF-8, a literal one the
    character itself."""
    if _INVALID.search(content) is None:
        return members
    return load(_INVALID.sub(b"\\1\x80", content), tolerant=True)


def _of(members: Mapping[str, Any], name: str, kind: type) -> Any:
    value = members.get(name)
    if value.__class__ is not kind:
        raise WireError(f"{name} is missing or not of type {kind.__name__}")
    return value


def _table(schema: str, name: str, columns: list[Any] | None) -> Table | None:
    if not columns:
        return None
    parsed = [_column(column) for column in columns]
    if None in parsed:
        return None
    visible = [(c, k) for c, k in filter(None, parsed) if not c.name.startswith(_HIDDEN)]
    key = tuple(column.name for column, is_key in visible if is_key)
    return Table(schema, name, tuple(column for column, _ in visible), handle_key=key)


def _column(members: Any) -> tuple[Column, bool] | None:
    """A column, and whether it is of the primary key; None for one of a view, without a type."""
    if not isinstance(members, dict):
        raise WireError("a column that is not a JSON object")
    name = _of(members, "ColumnName", str)
    kind, unsigned = _of(members, "ColumnType", str).lower(), False
    if kind == "unspecified":
        return None
    if kind.endswith(" unsigned"):
        kind, unsigned = kind.removesuffix(" unsigned"), True
    kind = "varchar" if kind == "var_string" else kind
    if kind not in TYPE_NAMES:
        raise WireError(f"column `{name}` has the unknown type {kind[:40]!r}")
    elements = members.get("ColumnElems") or ()
    listed = isinstance(elements, list | tuple)
    if not listed or not all(isinstance(element, str) for element in elements):
        raise WireError(f"column `{name}` has members that are not text")
    length = _number(members, "ColumnPrecision")
    if kind in _SIZES and kind in TEXTS | BINARIES:
        length = None
    type_ = ColumnType(
        kind,
        unsigned=unsigned and kind not in _ALWAYS_UNSIGNED,
        length=length,
        decimals=_decimals(kind, _number(members, "ColumnScale")),
        elements=tuple(elements),
    )
    default = members.get("ColumnDefault")
    column = Column(
        name,
        type_,
        nullable=members.get("ColumnNullable") != "false",
        default=written_default(type_, default) if isinstance(default, str) else None,
    )
    return column, members.get("ColumnIsPk") == "true"


def _decimals(kind: str, scale: int | None) -> int | None:
    if kind in TEMPORALS - {"date"}:
        return scale or 0
    return scale if kind in ("decimal", "float", "double") else None


def _number(members: Mapping[str, Any], name: str) -> int | None:
    digits = members.get(name)
    if digits is None:
        return None
    if not isinstance(digits, str) or len(digits) > 20 or not digits.isdecimal():
        raise WireError(f"{name} of column `{members['ColumnName']}` is not a number")
    return int(digits)
