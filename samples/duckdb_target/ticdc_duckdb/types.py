"""TiDB's types in DuckDB: the type of a new column, and which column holds which source."""

import re

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.column_mapping import LABELLED, labelled
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.rules import ZERO_DATE_AS_NULL
from ticdc_encoder.column import BINARIES, INTEGERS, TEXTS, Column, ColumnType

RULES = frozenset({ZERO_DATE_AS_NULL})

MOST_DIGITS = 38
"""Of DuckDB's DECIMAL. A longer one is held as text, digit by digit."""

NEW = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "mediumint": "INTEGER",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "tinyint unsigned": "UTINYINT",
    "smallint unsigned": "USMALLINT",
    "mediumint unsigned": "UINTEGER",
    "int unsigned": "UINTEGER",
    "bigint unsigned": "UBIGINT",
    "year": "SMALLINT",
    "bit": "UBIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "decimal": "VARCHAR",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    # DuckDB's TIME ends at 24:00, and an INTERVAL cannot be indexed.
    "time": "VARCHAR",
    "json": "VARCHAR",
    "enum": "VARCHAR",
    "set": "VARCHAR",
    "vector": "FLOAT[]",
    **dict.fromkeys(TEXTS, "VARCHAR"),
    **dict.fromkeys(BINARIES, "BLOB"),
}
"""The type of a new column, as DuckDB's catalog writes it."""

_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_CAPACITY = {
    "tinyint": (7, True),
    "smallint": (15, True),
    "integer": (31, True),
    "bigint": (63, True),
    "hugeint": (127, True),
    "utinyint": (8, False),
    "usmallint": (16, False),
    "uinteger": (32, False),
    "ubigint": (64, False),
    "uhugeint": (128, False),
}
"""The bits of the greatest number, and whether there is a sign."""

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def column_type(column: Column) -> str:
    type_ = column.type
    if type_.name == "decimal" and (type_.length or MOST_DIGITS + 1) <= MOST_DIGITS:
        return f"DECIMAL({type_.length},{type_.decimals or 0})"
    if type_.name in INTEGERS and type_.unsigned:
        return NEW[f"{type_.name} unsigned"]
    return NEW[type_.name]


def codec(type_: ColumnType, existing: TargetColumn, in_key: bool, rules: frozenset[str]) -> str:
    """How values go into that column: `conversion:type`, the type to which DuckDB casts the text.
    Raises `Stop` with the reason alone."""
    has = existing.type
    name = (
        _in_text(type_, existing, in_key)
        if has == "varchar"
        else _in_integer(type_, has)
        or _in_decimal(type_, has)
        or _in_calendar(type_, existing, in_key, rules)
        or _in_other(type_, has, in_key)
    )
    if name is None:
        raise Stop(
            f"the target's type {has} does not keep every {type_.name} as it is; "
            f"{column_type(Column('', type_))} does"
        )
    # What `layout` calls its codecs of labels has no type beside it.
    return name if name in LABELLED else f"{name}:{has}"


def _in_text(type_: ColumnType, existing: TargetColumn, in_key: bool) -> str | None:
    if type_.binary:
        return None
    if type_.name in ("enum", "set"):
        return labelled(type_, in_key)
    if type_.name in ("float", "double"):
        return "number"
    return "text" if type_.name in TEXTS | {"json", "vector"} else "plain"


def _in_integer(type_: ColumnType, has: str) -> str | None:
    if has not in _CAPACITY:
        return None
    bits, signed = _CAPACITY[has]
    if type_.name in INTEGERS:
        needed = _BITS[type_.name] - (not type_.unsigned)
        return "plain" if needed <= bits and (signed or type_.unsigned) else None
    # The wire may lack the width of a BIT, and the number of labels.
    known = {
        "year": 12,
        "bit": type_.length or 64,
        "enum": len(type_.elements).bit_length() or 16,
        "set": len(type_.elements) or 64,
    }
    return "plain" if known.get(type_.name, 1000) <= bits else None


def _in_decimal(type_: ColumnType, has: str) -> str | None:
    found = _DECIMAL.fullmatch(has)
    if found is None or type_.name != "decimal":
        return None
    precision, scale = int(found[1]), int(found[2])
    if type_.length is None:
        return "decimal"
    decimals = type_.decimals or 0
    fits = decimals <= scale and type_.length - decimals <= precision - scale
    return "plain" if fits else None


def _in_calendar(
    type_: ColumnType, existing: TargetColumn, in_key: bool, rules: frozenset[str]
) -> str | None:
    if (type_.name, existing.type) not in {
        ("date", "date"),
        ("datetime", "timestamp"),
        ("timestamp", "timestamp"),
        ("timestamp", "timestamp with time zone"),
    }:
        return None
    as_null = ZERO_DATE_AS_NULL in rules and existing.nullable and not in_key
    return "date_or_null" if as_null else "date"


def _in_other(type_: ColumnType, has: str, in_key: bool) -> str | None:
    match type_.name, has:
        case ("float", "float" | "double") | ("double", "double"):
            return "number"
        case "json", "json":
            return "text"
        case "time", "interval":
            return None if in_key else "plain"
        case "vector", "float[]":
            return "text"
    return "blob" if type_.binary and has == "blob" else None


def merges(collation: str, _type: ColumnType) -> bool:
    """Columns with a collation are refused by `catalog`; all others compare bytes."""
    return True
