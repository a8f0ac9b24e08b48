"""TiDB's types in PostgreSQL: types of new columns, and the columns that hold each source type."""

import re
from dataclasses import dataclass

from ticdc_encoder.column import BINARIES, INTEGERS, TEXTS, Column, ColumnType

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.column_mapping import labelled
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.postgresql.encodings import ENCODINGS
from ticdc_consumer.targets.rules import ZERO_DATE_AS_NULL

RULES = frozenset({ZERO_DATE_AS_NULL})

NONDETERMINISTIC = " (nondeterministic)"
"""The suffix that `describe` adds to the name of a collation that merges different texts."""

NEW = {
    "tinyint": "smallint",
    "smallint": "smallint",
    "mediumint": "integer",
    "int": "integer",
    "bigint": "bigint",
    "tinyint unsigned": "smallint",
    "smallint unsigned": "integer",
    "mediumint unsigned": "integer",
    "int unsigned": "bigint",
    "bigint unsigned": "numeric(20,0)",
    "year": "smallint",
    "bit": "bigint",
    "bit(64)": "numeric(20,0)",
    "float": "real",
    "double": "double precision",
    "decimal": "numeric",
    "date": "date",
    "datetime": "timestamp without time zone",
    "timestamp": "timestamp with time zone",
    "time": "interval",
    "json": "text",
    "enum": "text",
    "set": "text",
    "vector": "real[]",
    **dict.fromkeys(TEXTS, "text"),
    **dict.fromkeys(BINARIES, "bytea"),
}
"""The type of a new column. Lengths and digits after the second are left out: PostgreSQL would
silently round or cut after the upstream widened a column."""


def column_type(column: Column) -> str:
    type_ = column.type
    if type_.name == "decimal" and type_.length is not None:
        return f"numeric({type_.length},{type_.decimals or 0})"
    if type_.name == "bit" and (type_.length or 64) == 64:
        return NEW["bit(64)"]
    if type_.name in INTEGERS and type_.unsigned:
        return NEW[f"{type_.name} unsigned"]
    return NEW[type_.name]


_CAPACITY = {"smallint": 15, "integer": 31, "bigint": 63}
"""The number of bits of the greatest number."""
_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

_TYPE = re.compile(r"(?P<name>[a-z ]+?)(?P<parameters>\([\d,]+\))?(?P<suffix> [a-z ]+|\[\])?")


@dataclass(frozen=True, slots=True)
class _Type:
    """A type. `name` has no parameters: `timestamp(3) with time zone` is `timestamp with time zone`
    with the parameter 3."""

    name: str
    parameters: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> "_Type":
        match = _TYPE.fullmatch(text)
        if match is None:
            return cls(text, ())
        parameters = match["parameters"]
        numbers = tuple(int(n) for n in parameters[1:-1].split(",")) if parameters else ()
        return cls(match["name"] + (match["suffix"] or ""), numbers)


def codec(
    type_: ColumnType,
    existing: TargetColumn,
    in_key: bool,
    rules: frozenset[str],
    encoding: str = "UTF8",
) -> str:
    """Returns the codec that writes values of this type into that column of a database of this
    encoding. Raises `Stop` with only the reason."""
    target = _Type.parse(existing.type)
    result = (
        _text(type_, target, in_key, encoding)
        or _whole_number(type_, target)
        or _temporal(type_, target, existing, in_key, rules)
        or _other(type_, target, existing, in_key)
    )
    if result is None:
        new_type = column_type(Column("", type_))
        sign = " unsigned" if type_.unsigned and type_.name in INTEGERS else ""
        raise Stop(
            f"the target's type {existing.type} cannot hold every {type_.name}{sign}; "
            f"{new_type} can: alter the column, then start again"
        )
    return result


def _text(type_: ColumnType, target: _Type, in_key: bool, encoding: str) -> str | None:
    """The codec of a text column. Text holds everything but bytes exactly. A blank-padded type
    loses trailing spaces, which only a CHAR never has."""
    blank_padded = target.name == "character" and type_.name == "char"
    if type_.binary or not (blank_padded or target.name in ("text", "character varying")):
        return None
    if type_.name in ("enum", "set"):
        name = labelled(type_, in_key)
    elif type_.name in ("float", "double"):
        name = "number"
    elif type_.name in TEXTS or type_.name == "json":
        name = "text"
    elif type_.name == "vector":
        name = "vector"
    else:
        name = "plain"
    # A text that is too long only by spaces would be cut silently.
    length = target.parameters[0] if target.parameters and name == "text" else ""
    lacking = f"@{encoding}" if encoding in ENCODINGS and name in ("text", "enum", "set") else ""
    return f"{name}:{length}{lacking}" if length or lacking else name


def _whole_number(type_: ColumnType, target: _Type) -> str | None:
    """The codec of an integer column: for integers, for ENUM's index, SET's mask and BIT's number.
    If the wire lacks the width of a BIT or the number of labels, the database refuses a number that
    is too great."""
    if target.name == "boolean":
        small = type_.name == "tinyint" or (type_.name == "bit" and type_.length in (None, 1))
        return "boolean" if small else None
    capacity = _CAPACITY.get(target.name)
    if capacity is None and target.name == "numeric":
        whole = target.parameters[0] - target.parameters[1] if target.parameters else 1000
        capacity = (10**whole).bit_length() - 1
    if capacity is None:
        return None
    if type_.name in INTEGERS:
        bits = _BITS[type_.name] - (not type_.unsigned)
        return "plain" if bits <= capacity else None
    known = {
        "year": 12,
        "bit": type_.length or 0,
        "enum": len(type_.elements).bit_length(),
        "set": len(type_.elements),
    }
    return "plain" if type_.name in known and known[type_.name] <= capacity else None


def _temporal(
    type_: ColumnType, target: _Type, existing: TargetColumn, in_key: bool, rules: frozenset[str]
) -> str | None:
    # A timestamp without time zone holds a TIMESTAMP's UTC.
    targets = {
        "date": ("date",),
        "datetime": ("timestamp without time zone",),
        "timestamp": ("timestamp with time zone", "timestamp without time zone"),
        "time": ("interval",),
    }
    if target.name not in targets.get(type_.name, ()):
        return None
    digits = target.parameters[0] if target.parameters else 6
    if (type_.decimals or 0) > digits:
        return None
    if type_.name == "time":
        return f"time:{digits}"
    as_null = ZERO_DATE_AS_NULL in rules and existing.nullable and not in_key
    return f"{'date_or_null' if as_null else 'date'}:{digits}"


def _other(type_: ColumnType, target: _Type, existing: TargetColumn, in_key: bool) -> str | None:
    match type_.name, target.name:
        case "float", "real" | "double precision":
            return "number"
        case "double", "double precision":
            return "number"
        case "decimal", "numeric":
            return _decimal(type_, target)
        case "bit", "bit":
            width = target.parameters[0] if target.parameters else 1
            return f"bits:{width}" if (type_.length or 0) <= width else None
        case "json", "json":
            return "text"
        case "json", "jsonb":
            return "jsonb"
        case "vector", "real[]":
            return "floats"
        case "vector", "vector":
            return "vector"
        case "enum", _ if existing.elements:
            fits = set(type_.elements) <= set(existing.elements)
            return labelled(type_, in_key) if fits else None
    return "bytea" if type_.binary and target.name == "bytea" else None


def _decimal(type_: ColumnType, target: _Type) -> str | None:
    if not target.parameters:
        return "plain"
    precision, scale = target.parameters
    if type_.length is None:
        return f"decimal:{precision}:{scale}"
    decimals = type_.decimals or 0
    fits = decimals <= scale and type_.length - decimals <= precision - scale
    return "plain" if fits else None


def merges(collation: str, _type: ColumnType) -> bool:
    """Returns whether keys may merge: a deterministic collation merges only equal bytes."""
    return collation.endswith(NONDETERMINISTIC)
