"""Canonical arrays -> SQL: a tuple of literals per row, and the literals of its key.

Everything here comes from the wire. A value written without quotes is checked against its grammar
first; a value in quotes cannot leave them, since the session's sql_mode has NO_BACKSLASH_ESCAPES
and its character set is utf8mb4.
"""

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from ticdc_encoder.errors import WireError

from ticdc_consumer.errors import NotHeld, Stop
from ticdc_consumer.targets import kernels
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.mysql.collations import IGNORED_LETTERS
from ticdc_consumer.targets.mysql.dialects import DIALECTS

_INTEGER = f"^(?:{kernels.INTEGER})$"
_DECIMAL = f"^{kernels.DECIMAL}$"
_FLOAT = f"^{kernels.FLOAT}$"
_DATE = f"^{kernels.DATE}$"


class _NotItsType(Exception):
    """A value that is not of its column's type at all."""


class _TooLarge(Exception):
    """A value of the type that the target's column cannot hold; its text describes it."""


class _NotKnown(Exception):
    """A value without a label; its text describes it."""


class _Merged(Exception):
    """A value that the target's unique key may merge with another one."""


Convert = Callable[[pa.Array, str], pa.Array]
"""(canonical values, the codec's argument) -> the text inside the literal."""


def encode_rows(layout: Layout, arrays: Sequence[pa.Array]) -> pa.BinaryArray:
    """Writes one tuple of literals per row: `(1,'a''b',X'00ff',NULL)`."""
    written = [i for i, codec in enumerate(layout.codecs) if codec != "skip"]
    return _joined([_literal(layout, position, arrays[position]) for position in written], "(", ")")


def encode_keys(layout: Layout, arrays: Sequence[pa.Array]) -> pa.BinaryArray:
    """Writes the literal of the key. For several columns: a tuple of literals, or a comparison with
    each, whichever suits the dialect; for an exact layout, two comparisons with a text. Equal keys
    have equal payloads: numbers and fractions of seconds take their shortest form."""
    pieces = []
    for position, array in zip(layout.key_positions(), arrays, strict=True):
        if array.null_count:
            raise WireError(f"{_where(layout, position)}: NULL in a key column")
        pieces.append(_literal(layout, position, array, _SHORTEST))
    if len(pieces) == 1 and not layout.exact:
        return _joined(pieces, "", "")
    if DIALECTS[layout.dialect].row_keys and not layout.exact:
        return _joined(pieces, "(", ")")
    compared = []
    for position, (before, *rest) in zip(layout.key_positions(), pieces, strict=True):
        name = layout.columns[position]
        compared.append((f"{name}={before}", *rest))
        if layout.exact and is_text(layout.codecs[position]):
            # The first comparison finds the key's place in the index.
            compared.append((f"{by_bytes(name)}={before}", *rest))
    return _joined(compared, "(", ")", " AND ")


def is_text(codec: str) -> bool:
    return codec.partition(":")[0] == "text"


def by_bytes(name: str) -> str:
    """A text column compared byte by byte, whatever its collation merges."""
    return f"CAST(CONVERT({name} USING utf8mb4) AS BINARY)"


Piece = tuple[str, pa.Array, str]
"""A value that may be NULL, between the text before and the text after it."""


def _literal(
    layout: Layout,
    position: int,
    array: pa.Array,
    shortest: dict[str, Callable[[pa.Array], pa.Array]] | None = None,
) -> Piece:
    kind, _, argument = layout.codecs[position].partition(":")
    convert, before, after = _CODECS[kind]
    try:
        text = convert(array, argument)
    except (_NotItsType, pa.ArrowInvalid):
        name = layout.source[position].type.name
        raise WireError(f"{_where(layout, position)}: the value is not a valid {name}") from None
    except (_TooLarge, _NotKnown) as reason:
        refusal = NotHeld if isinstance(reason, _TooLarge) else Stop
        raise refusal(
            f"{_where(layout, position)}: {reason}, which the target's column cannot hold exactly"
        ) from None
    except _Merged:
        raise Stop(
            f"{_where(layout, position)}: a unique key with a variation selector, a tag or a "
            "compatibility ideograph, which its collation ignores and TiDB's does not; give the "
            "column the collation utf8mb4_0900_bin, which MySQL has since 8.0.17"
        ) from None
    if shortest and kind in shortest:
        text = shortest[kind](text)
    return before, text, after


def _where(layout: Layout, position: int) -> str:
    return f"{layout.name}.{layout.source[position].name}"


def _joined(
    pieces: Sequence[Piece], opening: str, closing: str, between: str = ","
) -> pa.BinaryArray:
    """Joins a row's pieces in one pass; constants between two values are merged."""
    parts: list[pa.Array | str] = []
    pending = opening
    for before, text, after in pieces:
        if text.null_count and before:
            text = pc.binary_join_element_wise(before, text, after, "")
            before = after = ""
        parts += [pending + before, text]
        pending = after + between
    parts.append(pending.removesuffix(between) + closing)
    joined = pc.binary_join_element_wise(
        *parts, "", null_handling="replace", null_replacement="NULL"
    )
    return joined.cast(pa.binary())


# --- checks ------------------------------------------------------------------------------------


def _matches(array: pa.Array, pattern: str) -> bool:
    any_match: bool = pc.all(pc.match_substring_regex(array, pattern), min_count=0).as_py()
    return any_match


def _check(array: pa.Array, narrow: str, wide: str, reason: str) -> pa.Array:
    """Returns the array if it all matches `narrow`; `wide` also matches too large values."""
    if _matches(array, narrow):
        return array
    if _matches(array, wide):
        raise _TooLarge(reason)
    raise _NotItsType


def _integer(array: pa.Array, _argument: str) -> pa.Array:
    if not _matches(array, _INTEGER):
        raise _NotItsType
    return array


def _enum(array: pa.Array, labels: str) -> pa.Array:
    # An unquoted number is the index, even if a label looks like a number.
    greatest = pc.max(_integer(array, "").cast(pa.uint64())).as_py()
    if (greatest or 0) > int(labels):
        raise _NotKnown(f"an index beyond the {labels} labels")
    return array


def _decimal(array: pa.Array, argument: str) -> pa.Array:
    precision, scale = (int(n) for n in argument.split(":"))
    fraction = rf"(?:\.[0-9]{{1,{scale}}})?" if scale else ""
    narrow = rf"^-?[0-9]{{1,{max(precision - scale, 1)}}}{fraction}$"
    return _check(array, narrow, _DECIMAL, f"a value with more digits than ({precision},{scale})")


def _float(array: pa.Array, digits: str) -> pa.Array:
    """The double equal to the float32, so that comparisons find it, too."""
    single = _finite(array, digits).cast(pa.float32())
    if pc.any(pc.is_inf(single)).as_py():
        raise _NotItsType
    return _approximate(single.cast(pa.float64()))


def _double(array: pa.Array, digits: str) -> pa.Array:
    return _approximate(_finite(array, digits).cast(pa.float64()))


def _finite(array: pa.Array, digits: str) -> pa.Array:
    if not _matches(array, _FLOAT):
        raise _NotItsType
    values = array.cast(pa.float64())
    if not pc.all(pc.is_finite(values), min_count=0).as_py():
        raise _NotItsType
    if digits:
        # The server would silently round to this number of decimals.
        plain = rf"^-?[0-9]+(?:\.[0-9]{{1,{digits}}})?(?:e\+[0-9]+)?$"
        if not _matches(values.cast(pa.string()), plain):
            raise _TooLarge(f"a value with more than {digits} decimals")
    return array


def _approximate(values: pa.Array) -> pa.Array:
    """Literals with an exponent: without it, MySQL takes a number for a DECIMAL."""
    text = values.cast(pa.string())
    return pc.if_else(
        pc.match_substring(text, "e"), text, pc.binary_join_element_wise(text, "e0", "")
    )


def _text(array: pa.Array, argument: str) -> pa.Array:
    array.validate(full=True)  # UTF-8
    wary = argument.startswith("wary")
    if length := argument.removeprefix("wary").removeprefix(":"):
        _require_room(array, length)
    if wary and pc.any(pc.match_substring_regex(array, IGNORED_LETTERS)).as_py():
        raise _Merged
    if pc.any(pc.match_substring(array, "'")).as_py():
        return pc.replace_substring(array, "'", "''")
    return array


def _require_room(array: pa.Array, length: str) -> None:
    in_bytes = length.endswith("b")
    most = int(length.removesuffix("b"))
    longest = pc.max(pc.binary_length(array) if in_bytes else pc.utf8_length(array)).as_py() or 0
    if longest > most:
        raise _TooLarge(f"a text of more than {most} {'bytes' if in_bytes else 'characters'}")


def _binary(array: pa.Array, length: str) -> pa.Array:
    if length and not pc.all(pc.equal(pc.binary_length(array), int(length)), min_count=0).as_py():
        raise _TooLarge(f"a value of other than {length} bytes")
    return kernels.hexadecimal(array)


def _date(array: pa.Array, _argument: str) -> pa.Array:
    if not _matches(array, _DATE):
        raise _NotItsType
    return array


def _datetime(array: pa.Array, digits: str) -> pa.Array:
    return _temporal(array, f"^{kernels.MOMENT}", digits)


def _instant(array: pa.Array, digits: str) -> pa.Array:
    if array.null_count:
        raise _TooLarge("NULL")
    return _datetime(array, digits)


def _time(array: pa.Array, digits: str) -> pa.Array:
    return _temporal(array, f"^{kernels.TIME}", digits)


def _temporal(array: pa.Array, start: str, digits: str) -> pa.Array:
    # Further digits are silently rounded or cut off, so they must be zeros.
    some = rf"[0-9]{{1,{digits}}}0*" if digits != "0" else "0+"
    return _check(
        array,
        rf"{start}(?:\.{some})?$",
        rf"{start}(?:\.[0-9]+)?$",
        f"a value with more than {digits} digits after the second",
    )


# --- keys --------------------------------------------------------------------------------------


def _without_trailing_zeros(array: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(array, r"(\.[0-9]*?)0+$", r"\1")


def _shortest_moment(array: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(_without_trailing_zeros(array), r"\.$", "")


def _shortest_time(array: pa.Array) -> pa.Array:
    text = pc.replace_substring_regex(_shortest_moment(array), r"^(-?)0([0-9]{2}:)", r"\1\2")
    return pc.replace_substring_regex(text, r"^-(00:00:00)$", r"\1")


def _shortest_decimal(array: pa.Array) -> pa.Array:
    text = pc.replace_substring_regex(_shortest_moment(array), r"^(-?)0+([0-9])", r"\1\2")
    return pc.replace_substring_regex(text, "^-0$", "0")


def _shortest_float(array: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(array, "^-0e0$", "0e0")


_CODECS: dict[str, tuple[Convert, str, str]] = {
    "integer": (_integer, "", ""),
    "enum": (_enum, "", ""),
    "decimal": (_decimal, "", ""),
    "float": (_float, "", ""),
    "double": (_double, "", ""),
    "text": (_text, "'", "'"),
    "binary": (_binary, "X'", "'"),
    "date": (_date, "'", "'"),
    "datetime": (_datetime, "'", "'"),
    "instant": (_instant, "'", "'"),
    "time": (_time, "'", "'"),
}
"""Codec -> conversion, and the text before and after a value."""

_SHORTEST: dict[str, Callable[[pa.Array], pa.Array]] = {
    "decimal": _shortest_decimal,
    "float": _shortest_float,
    "double": _shortest_float,
    "datetime": _shortest_moment,
    "instant": _shortest_moment,
    "time": _shortest_time,
}
