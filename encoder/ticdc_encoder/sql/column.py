"""A column's type and default as SQL writes them, completed as in TiDB."""

import re
from dataclasses import replace
from decimal import Decimal

from ticdc_encoder.column import INTEGERS, TEMPORALS, TEXTS, TYPE_NAMES, ColumnType
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.sql.words import SqlWords

_ALIASES = {
    "int1": "tinyint",
    "int2": "smallint",
    "int3": "mediumint",
    "middleint": "mediumint",
    "int4": "int",
    "integer": "int",
    "int8": "bigint",
    "dec": "decimal",
    "numeric": "decimal",
    "fixed": "decimal",
    "real": "double",
    "float4": "float",
    "float8": "double",
    "character": "char",
    "nchar": "char",
    "varcharacter": "varchar",
    "nvarchar": "varchar",
    "long": "mediumtext",
}
_WIDTHS = {"tinyint": 4, "smallint": 6, "mediumint": 9, "int": 11, "bigint": 20}
_UNSIGNED_WIDTHS = _WIDTHS | {"tinyint": 3, "smallint": 5, "mediumint": 8, "int": 10}
_LENGTHS = {"bit": 1, "char": 1, "binary": 1, "year": 4, "decimal": 10}
_BINARY_OF = {
    "char": "binary",
    "varchar": "varbinary",
    "tinytext": "tinyblob",
    "text": "blob",
    "mediumtext": "mediumblob",
    "longtext": "longblob",
}
# A text(n) or blob(n) becomes the smallest type that holds n characters.
_BY_SIZE = ((255, "tiny"), (65_535, ""), (16_777_215, "medium"), (4_294_967_295, "long"))
_BYTES = {"utf8mb4": 4, "utf8": 3, "gbk": 2, "gb18030": 4}
_COLLATIONS = {"gbk": "gbk_chinese_ci", "gb18030": "gb18030_chinese_ci", "binary": "binary"}


OF_CHARSET = "binary attribute"
"""The collation of a text with BINARY: its character set's default, not its table's."""


def default_collation(charset: str) -> str:
    """TiDB's collation for a character set without one."""
    return _COLLATIONS.get(charset, f"{charset}_bin")


def with_charset(type_: ColumnType, charset: str | None, collation: str | None) -> ColumnType:
    """A text type in its character set; each of the two follows from the other.

    In charset binary, it is the binary type of the same size.
    """
    charset = charset or (collation or "").partition("_")[0]
    charset = "utf8" if charset == "utf8mb3" else charset
    name, length = type_.name, type_.length
    if charset == "binary" and name in _BINARY_OF:
        return replace(_sized(type_, _BINARY_OF[name], 1), charset=None, collation=None)
    if name == "text" and length is not None:
        type_ = _sized(type_, name, _BYTES.get(charset, 1))
    return replace(type_, charset=charset, collation=collation or default_collation(charset))


def _sized(type_: ColumnType, name: str, width: int) -> ColumnType:
    if name not in ("text", "blob") or type_.length is None:
        return replace(type_, name=name)
    for limit, prefix in _BY_SIZE:
        if type_.length * width <= limit:
            return replace(type_, name=prefix + name, length=None)
    raise DefinitionError(f"{name}({type_.length}) is too long")


def column_type(words: SqlWords) -> ColumnType:
    """The type that comes next, up to its character set. `serial` stays, since it also implies a
    key."""
    name = _type_name(words)
    length = decimals = charset = collation = None
    elements: tuple[str, ...] = ()
    if name in ("enum", "set"):
        elements = _elements(words)
    elif words.at("("):
        length, decimals = _numbers(words)
    unsigned = zerofill = False
    while True:
        if words.take("UNSIGNED"):
            unsigned = True
        elif words.take("ZEROFILL"):
            unsigned = zerofill = True
        elif words.take("CHARSET") or words.take("CHARACTER", "SET") or words.take("CHAR", "SET"):
            charset = words.option().lower()
        elif words.take("ASCII"):
            charset = "latin1"
        elif words.take("UNICODE"):
            charset = "ucs2"
        elif words.take("BYTE"):
            charset = "binary"
        elif words.take("BINARY"):
            collation = OF_CHARSET  # the character set may still come
        elif not words.take("SIGNED"):
            break
    if collation and charset:
        collation = default_collation(charset)
    type_ = ColumnType(name, unsigned, zerofill, length, decimals, elements, charset, collation)
    return _filled_in(type_)


def _type_name(words: SqlWords) -> str:
    written = words.next("word").lower()
    if written in ("bool", "boolean"):
        return "bool"
    if written == "serial":
        return written
    if written == "national":
        written = words.next("word").lower()
    name = _ALIASES.get(written, written)
    if written == "long":
        if words.take("VARBINARY"):
            return "mediumblob"
        _ = words.take("VARCHAR") or words.take("CHAR", "VARYING") or words.take("CHAR")
    elif name == "char" and words.take("VARYING"):
        name = "varchar"
    elif name == "double":
        words.take("PRECISION")
    elif name == "vector" and words.take("<"):
        words.expect("FLOAT", ">")
    if name not in TYPE_NAMES:
        raise DefinitionError(f"unknown type {written!r}")
    return name


def _elements(words: SqlWords) -> tuple[str, ...]:
    words.expect("(")
    elements = [words.string()]
    while words.take(","):
        elements.append(words.string())
    words.expect(")")
    # Trailing spaces of elements are removed when the table is created.
    return tuple(element.rstrip(" ") for element in elements)


def _numbers(words: SqlWords) -> tuple[int, int | None]:
    words.expect("(")
    length = words.integer()
    decimals = words.integer() if words.take(",") else None
    words.expect(")")
    return length, decimals


def _filled_in(type_: ColumnType) -> ColumnType:
    """The type with the widths that TiDB adds."""
    name, length, decimals = type_.name, type_.length, type_.decimals
    if name == "bool":
        return replace(type_, name="tinyint", length=1)
    if name in TEMPORALS:
        return replace(type_, length=None, decimals=None if name == "date" else length or 0)
    if name in INTEGERS:
        widths = _UNSIGNED_WIDTHS if type_.unsigned else _WIDTHS
        return replace(type_, length=widths[name] if length is None else length)
    if name == "float" and length is not None and decimals is None:
        return replace(type_, name="float" if length <= 24 else "double", length=None)
    if name == "decimal":
        return replace(type_, length=length or 10, decimals=decimals or 0)
    if name == "blob":
        return _sized(type_, name, 1)
    return replace(type_, length=_LENGTHS.get(name) if length is None else length)


_CURRENT_TIMESTAMP = frozenset({"CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"})


def current_timestamp(words: SqlWords) -> str | None:
    """A function call; its text if it is the current timestamp."""
    name = words.identifier().upper()
    digits = words.parenthesised() if words.at("(") else ""
    if name not in _CURRENT_TIMESTAMP:
        return None
    return f"CURRENT_TIMESTAMP({digits})" if digits not in ("", "0") else "CURRENT_TIMESTAMP"


def typed_default(words: SqlWords, type_: ColumnType) -> str | None:
    """Does as `default_of` for a column of that type: a number for ENUM and SET is that of their
    labels, a text for BIT its bytes. Bits and hexadecimal digits are converted to the type; bytes
    are `x'...'`, also those of a text that could be mistaken for it."""
    number = words.kind() == "number" or any(map(words.at, ("TRUE", "FALSE", "-", "+")))
    text = words.kind() == "string" or words.at_introducer()
    literal = words.kind() in ("bits", "hex")
    default = default_of(words)
    if default is None:
        return None
    if literal:
        return _of_bytes(type_, default)
    if number:
        default = _NUMBER_START.sub(r"\1", default).removesuffix(".")
    if number and type_.name in ("enum", "set"):
        return _labelled(type_, default)
    if number and type_.name in TEXTS and "e" in default.lower():
        try:
            digits = f"{Decimal(repr(float(default))):f}"
        except ValueError as error:
            raise DefinitionError(f"a default that is not a number: {default[:40]}") from error
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    if text and type_.name == "bit":
        return f"b'{int.from_bytes(default.encode('utf-8', 'surrogateescape'), 'big'):b}'"
    if text and type_.binary and _LITERAL_OF_BYTES.fullmatch(default):
        return f"x'{default.encode().hex()}'"
    return default


_NUMBER_START = re.compile(r"^(-?)0+(?=\d)")
_LITERAL_OF_BYTES = re.compile(r"[bx]'[0-9a-fA-F]*'")


def _of_bytes(type_: ColumnType, literal: str) -> str:
    kind, digits = literal[0], literal[2:-1]
    number = int(digits or "0", 2 if kind == "b" else 16)
    size = (len(digits) + 7) // 8 if kind == "b" else (len(digits) + 1) // 2
    if type_.name == "bit":
        return f"b'{number:b}'" if kind == "x" else literal
    if type_.binary:
        return f"x'{number.to_bytes(size, 'big').hex()}'" if kind == "b" else literal
    if type_.name in TEXTS or type_.name in ("enum", "set"):
        raw = number.to_bytes(size, "big").decode("utf-8", "surrogateescape")
        return re.sub("[\udc80-\udcff]", "\ufffd", raw)  # as TiDB keeps it, in JSON
    return str(number) if type_.name in INTEGERS | {"decimal", "float", "double"} else literal


def _labelled(type_: ColumnType, number: str) -> str:
    """The label of an ENUM's number, or those of a SET's."""
    labels = type_.elements
    if number.isdecimal() and len(number) < 20:
        if type_.name == "enum" and 0 < int(number) <= len(labels):
            return labels[int(number) - 1]
        if type_.name == "set" and int(number) < 1 << len(labels):
            return ",".join(label for n, label in enumerate(labels) if int(number) >> n & 1)
    raise DefinitionError(f"no label of {type_.name} has the number {number[:40]}")


def default_of(words: SqlWords) -> str | None:
    """The text of a literal or of the current timestamp. None for NULL, and for an expression: rows
    carry its value."""
    if words.take("NULL"):
        return None
    for word, value in (("TRUE", "1"), ("FALSE", "0")):
        if words.take(word):
            return value
    if words.at("("):
        words.parenthesised()
        return None
    if words.take("NEXT", "VALUE", "FOR"):
        words.qualified("")
        return None
    match words.kind():
        case "bits":
            return f"b'{words.next()}'"
        case "hex":
            return f"x'{words.next()}'"
        case "string":
            return words.string()
        case "number":
            return words.next()
        case "symbol":
            sign = "-" if words.take("-") else ""
            if not sign:
                words.expect("+")
            return sign + words.next("number")
    return words.string() if words.at_introducer() else current_timestamp(words)
