"""Columnar conversions that several targets use to encode rows, in Spark's tasks and in the driver.
Only rare values pass through Python.

Values come from the wire. A value that a kernel returns unchanged, or in another notation, cannot
become more than one value where it is written without escapes.
"""

import datetime
import re
import string
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_consumer.errors import NotHeld, Stop
from ticdc_consumer.targets.column_mapping import SKIP
from ticdc_consumer.targets.layout import Layout

Convert = Callable[[pa.Array, str, tuple[str, ...]], pa.Array]
"""(canonical values, the codec's argument, labels) -> text."""

_FIRST_YEAR = datetime.datetime(1, 1, 1)
"""No Arrow scalar: creating one imports pandas, which commands without rows should not wait for."""


INTEGER = r"0|-?[1-9][0-9]*"
DECIMAL = r"-?[0-9]+(?:\.[0-9]+)?"
FLOAT = r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?"
DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
MOMENT = rf"{DATE} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}"
TIME = r"-?[0-9]{2,3}:[0-9]{2}:[0-9]{2}"
"""The pattern of a TIME up to the point; MOMENT is that of a date with time."""
_FRACTION = r"(?:\.[0-9]+)?"
_GRAMMAR = {
    "decimal": DECIMAL,
    "date": DATE,
    "datetime": MOMENT + _FRACTION,
    "timestamp": MOMENT + _FRACTION,
    "time": TIME + _FRACTION,
    "vector": rf"\[(?:{FLOAT}(?:, ?{FLOAT})*)?\]",
}
"""Type name -> pattern of its values; the values of all other types are integers."""

_PLAIN = (string.digits + string.ascii_letters + " .:+-").encode()
_DIGITS = (string.digits + "-").encode()


class Refused(Exception):
    """A value that the target cannot hold: the first such row, the reason, and the remedy, in which
    `{name}` is the upstream's table."""

    def __init__(self, row: int, why: str, way: str = "") -> None:
        super().__init__(why)
        self.row = row
        self.way = way


class NotKnown(Refused):
    """A value that is not of its type, or has an unknown meaning, such as an ENUM's index beyond
    its labels: the target may hold its row."""


def convert_rows(
    layout: Layout, arrays: Sequence[pa.Array], codecs: dict[str, Convert]
) -> tuple[list[pa.Array], list[str]]:
    """Returns the columns that the target takes, as text, with their codecs. Raises `Stop`."""
    positions = [i for i, codec in enumerate(layout.codecs) if codec != SKIP]
    keys = [arrays[i] for i in layout.key_positions()]
    return _convert(layout, positions, [arrays[i] for i in positions], keys, codecs)


def convert_keys(
    layout: Layout, arrays: Sequence[pa.Array], codecs: dict[str, Convert]
) -> tuple[list[pa.Array], list[str]]:
    return _convert(layout, layout.key_positions(), arrays, arrays, codecs)


def _convert(
    layout: Layout,
    positions: Sequence[int],
    arrays: Sequence[pa.Array],
    keys: Sequence[pa.Array],
    codecs: dict[str, Convert],
) -> tuple[list[pa.Array], list[str]]:
    texts, names = [], []
    for position, array in zip(positions, arrays, strict=True):
        name, _, argument = layout.codecs[position].partition(":")
        labels = layout.elements[position] if layout.elements else ()
        try:
            texts.append(codecs[name](array, argument, labels))
        except Refused as refused:
            _stop(layout, position, keys, refused)
        except ValueError:  # Arrow's errors are ValueErrors, too
            row = _first_that_fails(codecs[name], array, argument, labels)
            if row is None:
                raise
            why = f"the value is not a valid {layout.source[position].type.name}"
            _stop(layout, position, keys, NotKnown(row, why))
        names.append(name)
    return texts, names


def _first_that_fails(
    convert: Convert, array: pa.Array, argument: str, labels: tuple[str, ...]
) -> int | None:
    for row in range(len(array)):
        try:
            convert(array.slice(row, 1), argument, labels)
        except ValueError:
            return row
    return None


def _stop(layout: Layout, position: int, keys: Sequence[pa.Array], refused: Refused) -> NoReturn:
    key = ", ".join(
        f"{name}={_text(array[refused.row].as_py())}"
        for name, array in zip(layout.key, keys, strict=True)
    )
    where = f" (row with key {key})" if key else ""
    way = refused.way.format(name=layout.name)
    kind = Stop if isinstance(refused, NotKnown) else NotHeld
    raise kind(f"{layout.name}.{layout.source[position].name}: {refused}{where}{way}") from None


def _text(value: str | bytes | None) -> str:
    return f"x'{value.hex()}'" if isinstance(value, bytes) else f"{value!r}"


def first(mask: pa.Array) -> int | None:
    """The index of the first true row, None if there is none."""
    row = pc.index(mask, pa.scalar(True)).as_py()
    return None if row == -1 else int(row)


def refuse_where(mask: pa.Array, why: str, way: str = "", kind: type[Refused] = Refused) -> None:
    row = first(mask)
    if row is not None:
        raise kind(row, why, way)


def bytes_of(array: pa.Array) -> memoryview:
    """The concatenated values of a string or binary array."""
    if len(array) == 0 or array.buffers()[2] is None:
        return memoryview(b"")
    offsets = _offsets(array)
    return memoryview(array.buffers()[2])[offsets[0] : offsets[-1]]


def _offsets(array: pa.Array) -> "np.ndarray[tuple[int], np.dtype[np.int32]]":
    offsets = np.frombuffer(array.buffers()[1], np.int32)
    return offsets[array.offset : array.offset + len(array) + 1]


def plain(array: pa.Array, _argument: str = "", _labels: tuple[str, ...] = ()) -> pa.Array:
    """Passes a number or time through: none of its characters needs an escape anywhere. The
    database checks that it is a value of its type."""
    _consists_of(array, _PLAIN, "neither a number nor a time")
    return array


def integer(array: pa.Array, _argument: str = "", _labels: tuple[str, ...] = ()) -> pa.Array:
    """Passes integers through: digits with an optional sign."""
    _consists_of(array, _DIGITS, "not an integer")
    return array


def well_formed(array: pa.Array, name: str, _labels: tuple[str, ...] = ()) -> pa.Array:
    """Checks the pattern of a type's values, for a database that takes any text."""
    looks = pc.match_substring_regex(array, f"^(?:{_GRAMMAR.get(name, INTEGER)})$")
    refuse_where(pc.invert(looks), f"not a valid {name}", kind=NotKnown)
    return array


def _consists_of(array: pa.Array, characters: bytes, otherwise: str) -> None:
    if not bytes_of(array).tobytes().translate(None, characters):
        return
    for row, value in enumerate(array.to_pylist()):
        if value is not None and value.encode("utf-8", "replace").translate(None, characters):
            raise NotKnown(row, otherwise)


def number(array: pa.Array, _argument: str = "", _labels: tuple[str, ...] = ()) -> pa.Array:
    """Floating-point numbers in one notation: 1e3 and 1000 become equal."""
    return pc.cast(pc.cast(array, pa.float64()), pa.string())


def key_number(array: pa.Array, _argument: str = "", _labels: tuple[str, ...] = ()) -> pa.Array:
    """Floating-point numbers of a key: -0 and 0 become equal."""
    return pc.cast(pc.add(pc.cast(array, pa.float64()), 0.0), pa.string())


def checked_decimal(array: pa.Array, argument: str, _labels: tuple[str, ...] = ()) -> pa.Array:
    """Checks that a column of `precision:scale` holds the decimals without rounding."""
    precision, _, scale = argument.partition(":")
    type_ = pa.decimal256(int(precision), int(scale))
    try:
        pc.cast(array, type_)
    except pa.ArrowInvalid:
        well_formed(array, "decimal")
        for row, value in enumerate(array):
            try:
                pc.cast(value, type_)
            except pa.ArrowInvalid:
                why = f"a value that decimal({precision},{scale}) cannot hold without rounding"
                raise Refused(row, why) from None
        raise
    return array


def moments(array: pa.Array) -> pa.Array | None:
    """Converts to timestamps in µs; None if some values are not moments of the calendar."""
    try:
        values = pc.cast(array, pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
    return (
        None
        if pc.any(pc.less(values, pa.scalar(_FIRST_YEAR, pa.timestamp("us")))).as_py()
        else values
    )


def impossible(array: pa.Array) -> pa.Array:
    """True for a zero or partial date, or a day that its month lacks."""
    return pa.array([v is not None and not _possible(v) for v in array.to_pylist()], pa.bool_())


def _possible(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text[:10])
    except ValueError:
        return False
    return True


def fits_digits(array: pa.Array, digits: int) -> None:
    """Refuses a value with more than `digits` digits after the second, trailing zeros aside."""
    if digits < 6:
        pattern = rf"\.\d{{{digits}}}\d*[1-9]"
        refuse_where(
            pc.match_substring_regex(array, pattern),
            f"more than {digits} digits after the second, which the target would round",
        )


def fits_length(array: pa.Array, length: int) -> None:
    refuse_where(pc.greater(pc.utf8_length(array), length), f"longer than {length} characters")


def enum_labels(array: pa.Array, _argument: str, labels: tuple[str, ...]) -> pa.Array:
    """Labels for indexes; '' for 0, MySQL's mark of an invalid value."""
    indexes = pc.cast(array, pa.uint64())
    refuse_where(
        pc.greater(indexes, len(labels)),
        f"an ENUM index beyond the {len(labels)} known labels",
        kind=NotKnown,
    )
    return pc.take(pa.array(["", *labels], pa.string()), indexes)


def set_labels(array: pa.Array, _argument: str, labels: tuple[str, ...]) -> pa.Array:
    """Labels joined by commas, in the order of the definition."""
    known = (1 << len(labels)) - 1
    refuse_where(
        per_value(array, lambda mask: int(mask) > known, pa.bool_()),
        f"a SET mask beyond the {len(labels)} known labels",
        kind=NotKnown,
    )

    def joined(mask: str) -> str:
        return ",".join(label for bit, label in enumerate(labels) if int(mask) >> bit & 1)

    return per_value(array, joined, pa.string())


def per_value(array: pa.Array, convert: Callable[[str], object], type_: pa.DataType) -> pa.Array:
    """Applies a Python function once to each distinct value."""
    encoded = array.dictionary_encode()
    values = [convert(value) for value in encoded.dictionary.to_pylist()]
    return pc.take(pa.array(values, type_), encoded.indices)


def hexadecimal(array: pa.Array) -> pa.Array:
    """Two hexadecimal digits per byte, converted as one block."""
    if len(array) == 0:
        return pa.array([], pa.string())
    block = bytes_of(array)
    if len(block) >= 1 << 30:
        raise Stop("more than 1 GiB of binary values in one batch")
    offsets = _offsets(array)
    doubled = ((offsets - offsets[0]) * 2).astype(np.int32)
    digits = pa.StringArray.from_buffers(
        len(array), pa.py_buffer(doubled), pa.py_buffer(block.hex().encode())
    )
    if array.null_count == 0:
        return digits
    return pc.if_else(pc.is_valid(array), digits, pa.scalar(None, pa.string()))


JSON_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""The escaped NUL of a JSON text, unless its backslash is itself escaped."""
