"""Simple's `tableSchema`, in the form that its two encodings share, as a `Table` and back.

Source: TiCDC `pkg/sink/codec/simple/message.go`, newTableSchema.
"""

from dataclasses import replace
from typing import Any

from ticdc_encoder.column import BINARIES, INTEGERS, TEXTS, TYPE_NAMES, Column, ColumnType, Index
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Table
from ticdc_encoder.formats.defaults import stored_default, written_default
from ticdc_encoder.formats.json_text import Members
from ticdc_encoder.formats.primary_key import implicit_primary_key, is_row_id

_HIDDEN = "_V$_"
"""Prefix of the hidden column that TiDB makes for an index over an expression."""

_ROW_ID = "primary"
"""Name, in lower case, of the index that TiCDC adds, always last."""

_UNSIGNED = INTEGERS | {"float", "double", "decimal"}
_LABELLED = TEXTS | {"enum", "set"}
_SIZES = {
    **dict.fromkeys(("tinytext", "tinyblob"), 255),
    **dict.fromkeys(("text", "blob"), 65535),
    **dict.fromkeys(("mediumtext", "mediumblob"), 16777215),
    **dict.fromkeys(("longtext", "longblob", "json"), 4294967295),
    "float": 12,
    "double": 22,
    "decimal": 10,
    "year": 4,
    "bit": 1,
    "char": 1,
    "binary": 1,
    "vector": -1,
}
_WIDTHS = {"tinyint": 4, "smallint": 6, "mediumint": 9, "int": 11, "bigint": 20}
_TIMES = {"date": 10, "datetime": 19, "timestamp": 19, "time": 10}


# Reading.


def parse_schema(members: Any) -> Table | None:
    """The table; None for a view, whose columns have no types. Columns that TiDB hides are left
    out. Raises WireError."""
    if not isinstance(members, dict):
        raise WireError("a tableSchema that is not an object")
    columns = [_column(column) for column in _list(members, "columns")]
    if not columns or None in columns:
        return None
    known = tuple([c for c in columns if c is not None and not c.name.startswith(_HIDDEN)])
    names = {column.name for column in known}
    if len(names) < len(known):
        raise WireError("a tableSchema with two columns of one name")
    indexes = _real([_index(index, names) for index in _list(members, "indexes")])
    table = Table.define(_get(members, "schema", str), _get(members, "table", str), known, indexes)
    return replace(
        table,
        table_id=_get(members, "tableID", int) or None,
        version=_get(members, "version", int) or None,
    )


def _get(members: Any, name: str, kind: type[Any], default: Any = None) -> Any:
    """The member, which may be absent if there is a `default`."""
    value = members.get(name) if isinstance(members, dict) else None
    if value is None and default is not None:
        return default
    if value.__class__ is not kind:
        raise WireError(f"a tableSchema whose {name} is missing or of another type")
    return value


def _list(members: Any, name: str) -> list[Any]:
    value = members.get(name) if isinstance(members, dict) else None
    if value is None:
        return []
    if not isinstance(value, list):
        raise WireError(f"a tableSchema whose {name} is not a list")
    return value


def _column(members: Any) -> Column | None:
    name = _get(members, "name", str)
    type_ = _type(_get(members, "dataType", dict))
    if type_ is None:
        return None
    default = members.get("default")
    if default.__class__ not in (str, int, type(None)):
        raise WireError(f"column `{name}` has a default of another type")
    return Column(
        name,
        type_,
        nullable=_get(members, "nullable", bool),
        default=None if default is None else written_default(type_, default),
    )


def _type(members: Members) -> ColumnType | None:
    """The type, by the conventions of a CREATE TABLE's; None for a view's columns."""
    name = _get(members, "mysqlType", str)
    if name == "unspecified":
        return None
    if name == "var_string":
        name = "varchar"
    if name not in TYPE_NAMES:
        raise WireError(f"an unknown mysqlType: {name[:40]!r}")
    length: int | None = _get(members, "length", int, 0)
    decimals: int | None = _get(members, "decimal", int, 0)
    elements = _list(members, "elements")
    if not all(element.__class__ is str for element in elements):
        raise WireError("an element that is not a string")
    if name in _TIMES:
        digits = max(0, (length or 0) - _TIMES[name] - 1)
        length, decimals = None, None if name == "date" else decimals or digits
    elif name == "vector":
        length, decimals = length if length and length > 0 else None, None
    elif name in ("float", "double"):
        length, decimals = None if length == _SIZES[name] else length, None
    elif name != "decimal":
        sized = name not in ("enum", "set", "json") and not name.endswith(("text", "blob"))
        length, decimals = length if sized else None, None
    labelled = name in _LABELLED
    return ColumnType(
        name,
        unsigned=name in _UNSIGNED and _get(members, "unsigned", bool, False),
        zerofill=name in _UNSIGNED and _get(members, "zerofill", bool, False),
        length=length,
        decimals=decimals,
        elements=tuple(elements),
        charset=_get(members, "charset", str) if labelled else None,
        collation=_get(members, "collate", str) if labelled else None,
    )


def _index(members: Any, names: set[str]) -> Index:
    name = _get(members, "name", str)
    columns = _list(members, "columns")
    if not all(column.__class__ is str for column in columns):
        raise WireError(f"index `{name}` has a column that is not a string")
    strange = [column for column in columns if column not in names]
    if not all(column.startswith(_HIDDEN) for column in strange):
        raise WireError(f"index `{name}` has a column that the table does not have")
    known = tuple([column for column in columns if column in names])
    return Index(
        name,
        known,
        unique=_get(members, "unique", bool),
        primary=_get(members, "primary", bool),
        lengths=(None,) * len(known),
        expression=bool(strange),
    )


def _real(indexes: list[Index]) -> tuple[Index, ...]:
    """The indexes with TiDB's row id as the primary key, and without one that repeats a unique key.
    (For a table without a primary key, TiCDC adds one from the first unique key, which need not be
    its handle key.)"""
    if indexes and indexes[-1].name == _ROW_ID:
        *others, row_id = indexes
        if any(index.unique and index.columns == row_id.columns for index in others):
            return tuple(others)
        return *others, replace(row_id, name="PRIMARY", clustered=True)
    return tuple(indexes)


# Writing.


def schema_members(table: Table) -> Members:
    """The tableSchema's members in the order of the wire, all of them: an encoding leaves out
    those that it does not write if they are 0, false or empty."""
    indexes = table.indexes
    primary = implicit_primary_key(table)
    if primary is not None and (not primary.primary or is_row_id(table, primary)):
        indexes = (
            *(index for index in indexes if not index.primary),
            replace(primary, name=_ROW_ID, primary=True),
        )
    nullable = {column.name for column in table.columns if column.nullable}
    return {
        "schema": table.schema,
        "table": table.name,
        "tableID": table.table_id or 0,
        "version": table.version or 0,
        "columns": [
            {
                "name": column.name,
                "dataType": _type_members(column.type),
                "nullable": column.nullable,
                "default": stored_default(column),
            }
            for column in table.columns
        ],
        "indexes": [
            {
                "name": index.name,
                "unique": index.unique,
                "primary": index.primary,
                "nullable": not nullable.isdisjoint(index.columns),
                "columns": list(index.columns),
            }
            for index in indexes
        ],
    }


def _type_members(type_: ColumnType) -> Members:
    labelled = type_.name in _LABELLED
    fixed = type_.name in ("year", "bit")
    return {
        "mysqlType": type_.name,
        "charset": (type_.charset or "utf8mb4") if labelled else "binary",
        "collate": (type_.collation or "utf8mb4_bin") if labelled else "binary",
        "length": _length(type_),
        "decimal": 0 if type_.name in ("float", "double") else type_.decimals or 0,
        "elements": list(type_.elements),
        "unsigned": type_.unsigned or fixed,
        "zerofill": type_.zerofill or type_.name == "year",
    }


def _length(type_: ColumnType) -> int:
    name = type_.name
    if name in _TIMES:
        return _TIMES[name] + (1 + type_.decimals if type_.decimals else 0)
    if name == "enum":
        return max((len(element.encode()) for element in type_.elements), default=0)
    if name == "set":
        return len(",".join(type_.elements).encode())
    if type_.length is not None and name not in _SIZES.keys() & (TEXTS | BINARIES | {"json"}):
        return type_.length
    if name in _WIDTHS:
        return _WIDTHS[name] - (type_.unsigned and name != "bigint")
    if name in ("char", "binary"):
        return type_.length or 1
    return _SIZES.get(name, type_.length or 0)
