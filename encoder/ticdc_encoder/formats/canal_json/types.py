"""The names and numbers that Canal-JSON has for column types."""

import re
from functools import lru_cache

from ticdc_encoder.column import BINARIES, INTEGERS, TEXTS, TYPE_NAMES, ColumnType
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Value

SMALLINT, INTEGER, BIGINT, DECIMAL, BLOB, CLOB = 5, 4, -5, 3, 2004, 2005

JAVA_CODES: dict[str, int] = {
    "tinyint": -6,
    "smallint": SMALLINT,
    "mediumint": INTEGER,
    "int": INTEGER,
    "bigint": BIGINT,
    "float": 7,
    "double": 8,
    "decimal": DECIMAL,
    "char": 1,
    "varchar": 12,
    **dict.fromkeys(BINARIES, BLOB),
    **dict.fromkeys(TEXTS - {"char", "varchar"}, CLOB),
    "date": 91,
    "datetime": 93,
    "timestamp": 93,
    "time": 92,
    "year": 12,
    "enum": INTEGER,
    "set": -7,
    "bit": -7,
    "json": 12,
    "vector": 12,
}
"""Type name -> `sqlType`, from java.sql.Types."""

_WIDER = {
    "tinyint": (127, SMALLINT),
    "smallint": (32767, INTEGER),
    "int": (2147483647, BIGINT),
    "bigint": (9223372036854775807, DECIMAL),
}


def java_code(type: ColumnType, value: Value) -> int:
    """A column's `sqlType`: that of an unsigned integer depends on its value."""
    if type.unsigned and type.name in _WIDER and isinstance(value, int):
        greatest, wider = _WIDER[type.name]
        if value > greatest:
            return wider
    return JAVA_CODES[type.name]


def _quoted(label: str) -> str:
    for character, escape in (("'", "''"), ("\0", "\\0"), ("\n", "\\n"), ("\r", "\\r")):
        label = label.replace(character, escape)
    return f"'{label}'"


def mysql_type(type: ColumnType, *, content_compatible: bool) -> str:
    """A column's `mysqlType`: only the name, or with its parameters as Canal writes it."""
    sign = " unsigned" * type.unsigned + " zerofill" * type.zerofill
    if not content_compatible:
        return type.name + sign
    if type.name in ("enum", "set"):
        return f"{type.name}({','.join(map(_quoted, type.elements))})"
    if type.name == "year":
        return "year(4)"
    lengths = [str(n) for n in (_length(type), _decimals(type)) if n is not None]
    return type.name + (f"({','.join(lengths)})" if lengths else "") + sign


_WIDTHS = {"tinyint": 4, "smallint": 6, "mediumint": 9, "int": 11, "bigint": 20}


def _length(type: ColumnType) -> int | None:
    if type.name in INTEGERS and type.length is None:
        # TiDB's display width: an unsigned one is narrower by the sign, except for BIGINT.
        return _WIDTHS[type.name] - (type.unsigned and type.name != "bigint")
    if type.name in ("date", "datetime", "timestamp", "time"):
        return type.decimals or None
    if type.name in TEXTS | BINARIES and "char" not in type.name and "binary" not in type.name:
        return None
    if type.name in ("float", "double") and type.decimals is None:
        return None
    return type.length


def _decimals(type: ColumnType) -> int | None:
    if type.name == "decimal":
        return type.decimals or 0
    return type.decimals if type.name in ("float", "double") else None


_MYSQL_TYPE = re.compile(
    r"(?P<name>[a-z]+)(?:\((?P<arguments>.*)\))?(?P<unsigned> unsigned)?(?P<zerofill> zerofill)?",
    re.DOTALL,
)
_LABEL = re.compile(r"'((?:[^']|'')*)'")
_LENGTHS = re.compile(r"([0-9]{1,5})(?:, ?([0-9]{1,5}))?")


@lru_cache(maxsize=4096)
def parse_mysql_type(text: str) -> ColumnType:
    """The type that a `mysqlType` names, in any mode."""
    match = _MYSQL_TYPE.fullmatch(text)
    if match is None or match["name"] not in TYPE_NAMES:
        raise WireError(f"an unknown mysqlType: {text[:40]!r}")
    name, arguments = match["name"], match["arguments"]
    length = decimals = None
    elements: tuple[str, ...] = ()
    if arguments is not None and name in ("enum", "set"):
        elements = tuple(label.replace("''", "'") for label in _LABEL.findall(arguments))
    elif arguments is not None:
        lengths = _LENGTHS.fullmatch(arguments)
        if lengths is None:
            raise WireError(f"an unknown mysqlType: {text[:40]!r}")
        length = int(lengths[1])
        decimals = None if lengths[2] is None else int(lengths[2])
        if name in ("datetime", "timestamp", "time"):
            length, decimals = None, length
        elif name == "decimal" and decimals is None:
            decimals = 0
    return ColumnType(
        name,
        unsigned=match["unsigned"] is not None,
        zerofill=match["zerofill"] is not None,
        length=length,
        decimals=decimals,
        elements=elements,
    )
