"""The effect of a MODIFY COLUMN on existing values, which TiCDC does not send.

Conversions without a rule are unknown. `tests/ddl/changed_columns.tsv` has the results of a real
TiDB (8.4).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

from ticdc_encoder.column import BINARIES, INTEGERS, TEXTS, Column, ColumnType

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.schema.changes import (
    Above,
    Appended,
    Approximated,
    Below,
    Change,
    Condition,
    Digits,
    Fraction,
    IsNull,
    LabelledOneOf,
    Longer,
    LongerInBytes,
    OnlyDate,
    Padded,
    Quantized,
    Rounded,
    Spelled,
    Stripped,
    Unroundable,
    Widened,
)

_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
CAPACITIES = {
    prefix + family: size
    for family in ("text", "blob")
    for prefix, size in (
        ("tiny", 255),
        ("", 65_535),
        ("medium", 16_777_215),
        ("long", 4_294_967_295),
    )
}
"""The most bytes of the TEXT and BLOB types."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion of values. `change` applies to every value, None if it stays the same; TiDB
    changed a value that meets one of `refused` in a way that is not known here."""

    change: Change | None = None
    refused: tuple[Condition, ...] = ()


def conversion(old: Column, new: Column) -> Conversion:
    """Returns the conversion. Raises `Unsupported`, with the reason, unless known to be exact."""
    if old.generated != new.generated and "virtual" in (old.generated, new.generated):
        raise Unsupported(f"column {new.name}: the values of a virtual column are not sent")
    if new.generated and (old.generated != new.generated or old.expression != new.expression):
        raise Unsupported(f"column {new.name} is generated, and its new values are not sent")
    result = _converted(old.type, new.type)
    if result is None:
        raise Unsupported(
            f"column {new.name}: cannot convert existing values from {_text(old.type)} to "
            f"{_text(new.type)} exactly: TiCDC does not send the results"
        )
    if old.nullable and (not new.nullable or may_fill(old, new)):
        return replace(result, refused=(*result.refused, IsNull()))
    return result


def certain(old: Column, new: Column) -> bool:
    """Returns whether `conversion` knows the new values."""
    try:
        conversion(old, new)
    except Unsupported:
        return False
    return True


def likely_conversion(old: Column, new: Column) -> Conversion:
    """Returns the conversion; if it is not certain, the cast of the target itself."""
    if certain(old, new):
        return conversion(old, new)
    return Conversion(None, (IsNull(),) if old.nullable and not new.nullable else ())


def may_fill(old: Column, new: Column) -> bool:
    """Returns whether TiDB may write the new default in place of NULL: TiDB 8.4 does so if it
    rewrites the values and the column gets another default with its type."""
    if new.default is None or new.default == old.default:
        return False
    before, after = old.type, new.type
    if before.name in INTEGERS and after.name in INTEGERS:
        return before.unsigned != after.unsigned or _BITS[after.name] < _BITS[before.name]
    shorter = (after.length or 0) < (before.length or 0)
    return before != after and (before.name != after.name or shorter or before.name not in TEXTS)


def _text(type_: ColumnType) -> str:
    numbers = [str(n) for n in (type_.length, type_.decimals) if n is not None]
    text = type_.name + (f"({','.join(numbers)})" if numbers else "")
    return text + (" unsigned" if type_.unsigned else "")


def _converted(old: ColumnType, new: ColumnType) -> Conversion | None:
    for matches, convert in _RULES:
        if matches(old, new):
            with localcontext(prec=200):
                return convert(old, new)
    return None


def _same(old: ColumnType, new: ColumnType) -> Conversion | None:
    before = (old.length, old.decimals, old.unsigned)
    return Conversion() if before == (new.length, new.decimals, new.unsigned) else None


def _floats(old: ColumnType, new: ColumnType) -> Conversion | None:
    """Converts floats: a column without its own digits rounds nothing."""
    if new.decimals is None and old.unsigned == new.unsigned:
        return Conversion()
    return _same(old, new)


def _float_to_double(old: ColumnType, new: ColumnType) -> Conversion | None:
    if new.decimals is not None or old.unsigned != new.unsigned:
        return None
    return Conversion(Widened())


def _integers(old: ColumnType, new: ColumnType) -> Conversion:
    (low, high), (least, greatest) = _range(old), _range(new)
    refused: list[Condition] = []
    if low < least:
        refused.append(Below(least))
    if high > greatest:
        refused.append(Above(greatest))
    return Conversion(None, tuple(refused))


def _range(type_: ColumnType) -> tuple[int, int]:
    """The range in which each whole number is one value of the type. A YEAR also has 0."""
    match type_.name:
        case "year":
            return 1901, 2155
        case "bit":
            return 0, (1 << (type_.length or 1)) - 1
        case "float" | "double":
            most = 1 << (24 if type_.name == "float" else 53)
            return 0 if type_.unsigned else -most, most
    bits = _BITS[type_.name]
    if type_.unsigned:
        return 0, (1 << bits) - 1
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _to_float(old: ColumnType, new: ColumnType) -> Conversion | None:
    return _integers(old, new) if new.decimals is None else None


def _to_decimal(old: ColumnType, new: ColumnType) -> Conversion:
    """Converts an integer or a DECIMAL to a DECIMAL."""
    before, after = _scale(old), new.decimals or 0
    most = Decimal(10) ** ((new.length or 10) - after) - Decimal(1).scaleb(-after)
    change = Quantized(after) if after < before else _appended(_zeros(before, after))
    least = Decimal(0) if new.unsigned else -most
    return Conversion(change, _beyond(old, least, most, after))


def _decimal_to_integer(old: ColumnType, new: ColumnType) -> Conversion:
    least, greatest = _range(new)
    return Conversion(Quantized(0), _beyond(old, Decimal(least), Decimal(greatest), 0))


def _beyond(old: ColumnType, least: Decimal, most: Decimal, digits: int) -> tuple[Condition, ...]:
    """The old type's numbers that are out of range after rounding to so many digits."""
    scale = _scale(old)
    unit = Decimal(1).scaleb(-scale)
    slack = Decimal(1).scaleb(-digits) / 2 - unit if digits < scale else Decimal(0)
    if old.name == "decimal":
        high = Decimal(10) ** ((old.length or 10) - scale) - unit
        low = Decimal(0) if old.unsigned else -high
    else:
        low, high = (Decimal(end) for end in _range(old))
    refused: list[Condition] = []
    if low < least:
        refused.append(Below(least - slack if least else least))
    if high > most + slack:
        refused.append(Above(most + slack))
    return tuple(refused)


def _scale(type_: ColumnType) -> int:
    return type_.decimals or 0 if type_.name == "decimal" else 0


def _decimal_to_float(old: ColumnType, new: ColumnType) -> Conversion | None:
    if new.decimals is not None:
        return None
    most = Decimal(_LARGEST_FLOAT if new.name == "float" else 10**65)
    refused = _beyond(old, Decimal(0) if new.unsigned else -most, most, _scale(old))
    return Conversion(Approximated(new.name == "float"), refused)


_LARGEST_FLOAT = (1 << 128) - (1 << 104)


def _appended(suffix: str) -> Appended | None:
    return Appended(suffix) if suffix else None


def _zeros(before: int, after: int) -> str:
    """The digits after the point, or second, that are appended to those before."""
    point = "." if after and not before else ""
    return point + "0" * (after - before)


def _digits_to_text(old: ColumnType, new: ColumnType) -> Conversion | None:
    if old.zerofill:
        return None
    return Conversion(None, _room(new))


def _year_to_text(_: ColumnType, new: ColumnType) -> Conversion:
    # The year 0000 is 0 in TiDB, and 0000 in MySQL.
    return Conversion(None, (Below(1), *_room(new)))


def _texts(old: ColumnType, new: ColumnType) -> Conversion | None:
    if new.charset not in (None, "utf8mb4", old.charset):
        return None
    if new.name == "char" and old.name != "char":
        # A CHAR loses trailing spaces, which no other type has lost already.
        return Conversion(Stripped(), (Longer(1 if new.length is None else new.length, True),))
    before, after = _room(old), _room(new)
    if before == after:
        return Conversion()
    if isinstance(before[0], Longer) and isinstance(after[0], Longer):
        return Conversion(None, () if before[0].length <= after[0].length else after)
    if isinstance(after[0], LongerInBytes):
        most = before[0].length * (4 if isinstance(before[0], Longer) else 1)
        return Conversion(None, () if most <= after[0].length else after)
    return Conversion(None, after)


def _room(type_: ColumnType) -> tuple[Longer | LongerInBytes]:
    if type_.name in CAPACITIES:
        # The size is in bytes of its character set; those of UTF-8 may be more, and are never fewer
        # than the characters.
        return (LongerInBytes(CAPACITIES[type_.name]),)
    return (Longer(1 if type_.length is None else type_.length),)


def _binaries(old: ColumnType, new: ColumnType) -> Conversion:
    before, after = _bytes(old), _bytes(new)
    padded = new.name == "binary" and (old.name, before) != (new.name, after)
    refused = () if before <= after else (Longer(after),)
    return Conversion(Padded(after) if padded else None, refused)


def _bytes(type_: ColumnType) -> int:
    return CAPACITIES.get(type_.name) or type_.length or 1


def _labels(old: ColumnType, new: ColumnType) -> Conversion | None:
    """Keeps the labels of values. The empty text is also shown for an invalid value."""
    if new.elements[: len(old.elements)] == old.elements:
        return Conversion()
    if old.name == "set" or "" in old.elements + new.elements:
        return None
    dropped = tuple(label for label in old.elements if label not in new.elements)
    return Conversion(None, (LabelledOneOf(("", *dropped)),))


def _labels_to_text(old: ColumnType, new: ColumnType) -> Conversion | None:
    if new.name == "char" and any(label.endswith(" ") for label in old.elements):
        return None
    if "".join(old.elements).isascii() and new.charset in _ASCII_AND_MORE:
        return Conversion(None, _room(new))
    return _unicode_to_text(old, new)


_ASCII_AND_MORE = frozenset({"ascii", "latin1", "utf8", "utf8mb4", "gbk", "gb18030"})
"""The character sets in which an ASCII text has the same bytes."""


def _unicode_to_text(old: ColumnType, new: ColumnType) -> Conversion | None:
    same = new.charset in (None, "utf8mb4", old.charset)
    return Conversion(None, _room(new)) if same else None


def _digits(old: ColumnType, new: ColumnType) -> Conversion:
    before, after = old.decimals or 0, new.decimals or 0
    if before <= after:
        return Conversion(_appended(_zeros(before, after)))
    last = _LAST_SECONDS.get(old.name)
    return Conversion(Rounded(after), (Unroundable(last),) if last else ())


_LAST_SECONDS = {"datetime": "9999-12-31 23:59:59", "timestamp": "2038-01-19 03:14:07"}
"""The last second of each type; a rounded TIME never exceeds its last one."""


def _date_to_datetime(_: ColumnType, new: ColumnType) -> Conversion:
    return Conversion(Appended(" 00:00:00" + _zeros(0, new.decimals or 0)))


def _datetime_to_date(_: ColumnType, __: ColumnType) -> Conversion:
    return Conversion(OnlyDate())


def _temporal_to_text(old: ColumnType, new: ColumnType) -> Conversion | None:
    """Converts to text if each value has room."""
    if new.charset is not None and new.charset not in _ASCII_AND_MORE:
        return None
    longest = {"date": 10, "datetime": 19, "time": 10}[old.name]
    longest += 1 + old.decimals if old.decimals else 0
    (room,) = _room(new)
    return Conversion(Spelled(old.decimals or 0)) if longest <= room.length else None


def _temporal_to_integer(old: ColumnType, new: ColumnType) -> Conversion | None:
    """Converts to an integer if each value has room."""
    longest = {"date": 99991231, "datetime": 99991231235959, "time": 8385959}[old.name]
    least, greatest = _range(new)
    if longest > greatest or (old.name == "time" and -longest < least):
        return None
    return Conversion(Digits(), (Fraction(),) if old.decimals else ())


Matches = Callable[[ColumnType, ColumnType], bool]
Convert = Callable[[ColumnType, ColumnType], Conversion | None]


def _of(old: frozenset[str], new: frozenset[str]) -> Matches:
    return lambda before, after: before.name in old and after.name in new


def _each(*names: str) -> frozenset[str]:
    return frozenset(names)


_WIDE_TEXT = TEXTS - {"char"}

_RULES: tuple[tuple[Matches, Convert], ...] = (
    (_of(INTEGERS, INTEGERS), _integers),
    (_of(INTEGERS | {"decimal"}, _each("decimal")), _to_decimal),
    (_of(_each("decimal"), INTEGERS), _decimal_to_integer),
    (_of(_each("decimal"), _each("float", "double")), _decimal_to_float),
    (_of(INTEGERS, _each("float", "double")), _to_float),
    (_of(INTEGERS, _each("bit", "year")), _integers),
    (_of(_each("bit"), INTEGERS | {"bit"}), _integers),
    (_of(_each("year"), INTEGERS), _integers),
    (_of(INTEGERS | {"decimal"}, TEXTS), _digits_to_text),
    (_of(_each("year"), TEXTS), _year_to_text),
    (_of(TEXTS, TEXTS), _texts),
    (_of(BINARIES, BINARIES), _binaries),
    (_of(_each("enum"), _each("enum")), _labels),
    (_of(_each("set"), _each("set")), _labels),
    (_of(_each("enum", "set"), TEXTS), _labels_to_text),
    (_of(_each("datetime"), _each("datetime")), _digits),
    (_of(_each("timestamp"), _each("timestamp")), _digits),
    (_of(_each("time"), _each("time")), _digits),
    (_of(_each("datetime"), _each("date")), _datetime_to_date),
    (_of(_each("date", "datetime", "time"), TEXTS), _temporal_to_text),
    (_of(_each("date", "datetime", "time"), INTEGERS), _temporal_to_integer),
    (_of(_each("date"), _each("date")), _same),
    (_of(_each("date"), _each("datetime")), _date_to_datetime),
    (_of(_each("year"), _each("year")), _same),
    (_of(_each("json"), _each("json")), _same),
    (_of(_each("json"), _WIDE_TEXT), _unicode_to_text),
    (_of(_each("vector"), _each("vector")), _same),
    (_of(_each("float"), _each("float")), _floats),
    (_of(_each("float"), _each("double")), _float_to_double),
    (_of(_each("double"), _each("double")), _floats),
)
