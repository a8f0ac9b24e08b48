"""TiDB's types in MySQL, MariaDB and TiDB: types of new columns, and codecs of users' columns.

A codec is `kind` or `kind:argument`, as `encode` knows them. See `docs/reference/types.md`.
"""

import re
from dataclasses import dataclass

from ticdc_encoder.column import BINARIES, INTEGERS, TEMPORALS, TEXTS, Column, ColumnType

from ticdc_consumer.errors import ALTER_IT, Stop, Unsupported
from ticdc_consumer.targets.column_mapping import require_labels
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.mysql.collations import kept_charset, kept_collation, new_collation
from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.mysql.quoting import string_literal
from ticdc_consumer.targets.rules import SAME_COLLATIONS, VECTOR_AS_TEXT
from ticdc_consumer.targets.schema.conversions import CAPACITIES

RULES = frozenset({VECTOR_AS_TEXT, SAME_COLLATIONS})

WARY_TEXT = "text:wary"
"""The codec of text without letters that a unique key would ignore. Both codecs of text may end in
the column's length: `text:9` in characters, `text:255b` in bytes."""

LONGEST_VARCHAR = 65_532
"""The size in bytes."""

_LARGER = {"tinytext": "text", "text": "mediumtext", "mediumtext": "longtext"}
_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_BYTES_PER_CHARACTER = {"utf8mb3": 3, "utf8": 3, "gbk": 2, "latin1": 1, "ascii": 1}
"""The most bytes of a character; 4 in other character sets."""
_CHARSET = re.compile(r" character set (\w+) ")
_UTF8 = frozenset({None, "utf8mb4", "utf8", "ascii"})
_HELD_BY: dict[str, frozenset[str | None]] = {
    "utf8mb3": frozenset({None, "utf8", "ascii", "latin1", "gbk"}),
    "utf8": frozenset({None, "utf8", "ascii", "latin1", "gbk"}),
    "latin1": frozenset({"ascii"}),
    "ascii": frozenset({None, "ascii"}),
}
"""A target's character set -> upstream's that it holds; utf8mb4 holds all. For an unknown one, and
for characters that TiDB has beyond it, the server checks each value in strict mode."""


# --- new columns -------------------------------------------------------------------------------


def column_type(column: Column, dialect: Dialect, *, wide: bool = False) -> str:
    """The type of a new column; `wide` makes it utf8mb4 whatever upstream's character set is.
    Raises `Stop` for a type that the target cannot hold."""
    type_ = column.type
    name, length = type_.name, type_.length
    unsigned = " unsigned" if type_.unsigned else ""
    if name in INTEGERS:
        # Other widths mean nothing; clients take tinyint(1) for a boolean.
        return f"tinyint(1){unsigned}" if (name, length) == ("tinyint", 1) else name + unsigned
    if name in TEXTS:
        return _new_text(type_, dialect, wide)
    if name in BINARIES:
        return _new_binary(type_)
    if name in TEMPORALS:
        return f"{name}({type_.decimals})" if type_.decimals else name
    match name:
        case "decimal":
            return f"decimal({length or 10},{type_.decimals or 0}){unsigned}"
        case "float" | "double":
            # Without (M,D): the values are rounded already.
            return name + unsigned
        case "bit":
            return f"bit({length or 1})"
        case "enum" | "set":
            if not type_.elements:
                raise Unsupported(f"column {column.name}: the labels of this {name} are not known")
            labels = ",".join(string_literal(label) for label in type_.elements)
            return f"{name}({labels}){_collate(type_, dialect)}"
        case "json":
            longtext = " character set utf8mb4 collate utf8mb4_bin"
            return dialect.json + (longtext if dialect.json == "longtext" else "")
        case "vector":
            if not dialect.vector:
                raise Unsupported(
                    f"column {column.name}: {dialect.name} has no VECTOR like TiDB's; create the "
                    f"table with a LONGTEXT there and switch on the rule {VECTOR_AS_TEXT}"
                )
            return f"vector({length})" if length else "vector"
        case _:
            return name


def _collate(type_: ColumnType, dialect: Dialect) -> str:
    return f" character set utf8mb4 collate {new_collation(type_, dialect)}"


def _new_text(type_: ColumnType, dialect: Dialect, wide: bool) -> str:
    charset = None if wide else kept_charset(type_, dialect)
    if charset is None:
        # The size of a TEXT is in bytes: TiDB counts those of its character set, we of utf8mb4.
        sized = type_.name if type_.charset in _UTF8 else _LARGER.get(type_.name, type_.name)
        return _sized_text(type_, sized, 4) + _collate(type_, dialect)
    text = _sized_text(type_, type_.name, _BYTES_PER_CHARACTER[charset])
    collation = kept_collation(type_, charset, dialect)
    return f"{text} character set {charset} collate {collation}"


def _sized_text(type_: ColumnType, text: str, of_character: int) -> str:
    name, length = type_.name, type_.length
    if name == "char":
        return f"char({1 if length is None else length})"
    if name == "varchar":
        # A varchar with fewer bytes per character upstream may be longer than is allowed here.
        fits = length is not None and length * of_character <= LONGEST_VARCHAR
        return f"varchar({length})" if fits else "mediumtext"
    return text


def charset_of(type_: str) -> str:
    """The character set of a new column of this type; "" if it is not a text."""
    charset = _CHARSET.search(type_)
    return charset[1] if charset is not None else ""


def bytes_of_character(type_: str) -> int:
    """The most bytes that a character takes in a new column of this type."""
    return _BYTES_PER_CHARACTER.get(charset_of(type_), 4)


def _new_binary(type_: ColumnType) -> str:
    name, length = type_.name, type_.length
    if name == "binary":
        return f"binary({1 if length is None else length})"
    if name == "varbinary":
        return "blob" if length is None else f"varbinary({length})"
    return name


# --- users' columns ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CatalogType:
    """A type as `information_schema` prints it: `decimal(10,2) unsigned`."""

    name: str
    numbers: tuple[int, ...]
    unsigned: bool

    @classmethod
    def parse(cls, text: str) -> "CatalogType":
        name, arguments, rest = re.fullmatch(  # type: ignore[union-attr]
            r"(\w+)(?:\((.*)\))?(.*)", text, re.S
        ).groups()
        numeric = arguments and re.fullmatch(r"\d+(,\d+)?", arguments)
        numbers = tuple(int(n) for n in arguments.split(",")) if numeric else ()
        return cls(name, numbers, "unsigned" in rest)

    def number(self, position: int, default: int = 0) -> int:
        return self.numbers[position] if len(self.numbers) > position else default


def codec(
    type_: ColumnType, existing: TargetColumn, dialect: Dialect, rules: frozenset[str] = frozenset()
) -> str:
    """Returns the codec that writes values of the source type into a user's column.

    Properties that the protocol does not carry (None) are checked value by value. Raises `Stop`
    with the reason if the column cannot hold every value.
    """
    target = CatalogType.parse(existing.type)
    result = _codec(type_, existing, target, dialect, rules)
    if result is None:
        raise Stop(f"{_text(type_)} does not fit into {existing.type}; {ALTER_IT}")
    return result


def _codec(
    type_: ColumnType,
    existing: TargetColumn,
    target: CatalogType,
    dialect: Dialect,
    rules: frozenset[str],
) -> str | None:
    name = type_.name
    if name in INTEGERS or name in ("bit", "year"):
        return "integer" if _holds_integers(target, type_) else None
    if name in TEXTS:
        return _text_codec(type_, target) if _holds_text(type_, existing, target, dialect) else None
    if name in BINARIES:
        return _binary_codec(type_, target)
    if name in TEMPORALS:
        return _temporal_codec(type_, existing, target)
    match name:
        case "decimal":
            return _decimal_codec(type_, target)
        case "float" | "double":
            return _float_codec(type_, target)
        case "enum" | "set":
            return _labelled_codec(type_, existing, target, dialect)
        case "json":
            return (
                "text" if target.name == "json" or _is_text(existing, target, "longtext") else None
            )
        case "vector" if target.name == "vector" and dialect.vector:
            return "text" if target.number(0) in (0, type_.length or target.number(0)) else None
        case "vector" if _is_text(existing, target, "mediumtext", "longtext"):
            if VECTOR_AS_TEXT not in rules:
                raise Stop(f"vector goes into {existing.type} under the rule {VECTOR_AS_TEXT} only")
            return "text"
    return None


def _text(type_: ColumnType) -> str:
    numbers = ",".join(str(n) for n in (type_.length, type_.decimals) if n is not None)
    unsigned = " unsigned" if type_.unsigned else ""
    return f"{type_.name}({numbers}){unsigned}" if numbers else type_.name + unsigned


def _holds_integers(target: CatalogType, type_: ColumnType) -> bool:
    if type_.name == "year":
        if target.name == "year":
            return True
        least, greatest = 0, 2155
    elif type_.name == "bit":
        # If the width is unknown, the server refuses a value that is too large.
        least, greatest = 0, (1 << (type_.length or 1)) - 1
    else:
        least, greatest = _integer_range(_BITS[type_.name], type_.unsigned)
    if target.name in _BITS:
        low, high = _integer_range(_BITS[target.name], target.unsigned)
    elif target.name == "bit":
        low, high = 0, (1 << target.number(0, 1)) - 1
    elif target.name == "decimal":
        high = 10 ** (target.number(0, 10) - target.number(1)) - 1
        low = 0 if target.unsigned else -high
    else:
        return False
    return low <= least and greatest <= high


def _integer_range(bits: int, unsigned: bool) -> tuple[int, int]:
    return (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _charset(existing: TargetColumn) -> str:
    return (existing.collation or "binary").partition("_")[0]


def _is_text(existing: TargetColumn, target: CatalogType, *names: str) -> bool:
    return target.name in names and _charset(existing) == "utf8mb4"


def _holds_text(
    type_: ColumnType, existing: TargetColumn, target: CatalogType, dialect: Dialect
) -> bool:
    charset = _charset(existing)
    same_charset = type_.charset == charset and (charset, charset) in dialect.charsets
    if charset != "utf8mb4" and type_.charset not in _HELD_BY.get(charset, ()) and not same_charset:
        return False
    known = type_.name not in ("char", "varchar") or type_.length is not None
    match target.name:
        case "char":
            # It drops trailing spaces, which only a CHAR's values never have.
            return type_.name == "char" and (not known or (type_.length or 0) <= target.number(0))
        case "varchar":
            return not known or _characters(type_) <= target.number(0)
        case _:
            size = (
                _characters(type_)
                if same_charset and type_.name in CAPACITIES
                else _utf8_bytes(type_)
            )
            return target.name in CAPACITIES and (not known or size <= CAPACITIES[target.name])


def _text_codec(type_: ColumnType, target: CatalogType) -> str:
    """Limits lengths: even in strict mode, the server cuts trailing spaces of a long text."""
    if type_.name != "varchar" or type_.length is not None:
        return "text"
    if target.name == "varchar":
        return f"text:{target.number(0)}"
    return f"text:{CAPACITIES[target.name]}b" if target.name == "tinytext" else "text"


def _characters(type_: ColumnType) -> int:
    return CAPACITIES.get(type_.name, type_.length or 0)


def _utf8_bytes(type_: ColumnType) -> int:
    if type_.name in CAPACITIES:
        size = CAPACITIES[type_.name]
        # Two bytes of GBK are three of UTF-8, one of Latin-1 two.
        return size if type_.charset in _UTF8 or type_.name == "longtext" else size * 2
    return _characters(type_) * _BYTES_PER_CHARACTER.get(type_.charset or "", 4)


def _binary_codec(type_: ColumnType, target: CatalogType) -> str | None:
    length = CAPACITIES.get(type_.name, type_.length)
    match target.name:
        case "binary" if type_.name == "binary" and length in (None, target.number(0)):
            # The server would pad a shorter value and so change it.
            return f"binary:{target.number(0)}"
        case "varbinary" if length is None or length <= target.number(0):
            return "binary"
        case "tinyblob" | "blob" | "mediumblob" | "longblob":
            return "binary" if length is None or length <= CAPACITIES[target.name] else None
    return None


def _temporal_codec(type_: ColumnType, existing: TargetColumn, target: CatalogType) -> str | None:
    if target.name != type_.name:
        return None
    if type_.name == "date":
        return "date"
    digits = target.number(0)
    if type_.decimals is not None and type_.decimals > digits:
        return None
    if type_.name == "time":
        return f"time:{digits}"
    # For NULL in a TIMESTAMP that is NOT NULL, MariaDB stores the current time.
    never_null = type_.name == "timestamp" and not existing.nullable
    return f"{'instant' if never_null else 'datetime'}:{digits}"


def _decimal_codec(type_: ColumnType, target: CatalogType) -> str | None:
    if target.name != "decimal" or (target.unsigned and not type_.unsigned):
        return None
    precision, scale = target.number(0, 10), target.number(1)
    if type_.length is not None:
        decimals = type_.decimals or 0
        if decimals > scale or type_.length - decimals > precision - scale:
            return None
    return f"decimal:{precision}:{scale}"


def _float_codec(type_: ColumnType, target: CatalogType) -> str | None:
    if target.name not in ("float", "double") or (target.unsigned and not type_.unsigned):
        return None
    if type_.name == "double" and target.name == "float":
        return None
    if len(target.numbers) < 2 or type_.decimals == target.number(1):
        return target.name
    return f"{target.name}:{target.number(1)}"


def _labelled_codec(
    type_: ColumnType, existing: TargetColumn, target: CatalogType, dialect: Dialect
) -> str | None:
    if target.name != type_.name:
        return None
    require_labels(type_)
    escapes = str.maketrans(dict(dialect.label_escapes))
    labels = tuple(label.translate(escapes) for label in type_.elements)
    if labels != existing.elements[: len(labels)]:
        why = "its labels are not the first ones of the target's"
        beyond = any(max(label, default="") > "\uffff" for label in type_.elements)
        hint = "; the server's catalog shows characters beyond U+FFFF as ?" if beyond else ""
        raise Stop(f"{why} {target.name}{hint}")
    return f"enum:{len(existing.elements)}" if type_.name == "enum" else "integer"
