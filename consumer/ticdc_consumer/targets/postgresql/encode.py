"""Canonical values -> lines of COPY's text format."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_consumer.targets import kernels
from ticdc_consumer.targets.kernels import Refused
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.postgresql.encodings import has

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
"""The backslash comes first: the others add backslashes."""


def encode_rows(layout: Layout, arrays: Sequence[pa.Array]) -> pa.Array:
    """Writes one line of COPY per row: the columns that the target takes, in the layout's order."""
    return _lines(kernels.convert_rows(layout, arrays, CODECS)[0])


def encode_keys(layout: Layout, arrays: Sequence[pa.Array]) -> pa.Array:
    """Writes one line of COPY per key."""
    return _lines(kernels.convert_keys(layout, arrays, KEY_CODECS)[0])


def _lines(texts: Sequence[pa.Array]) -> pa.Array:
    pieces: list[pa.Array | str] = []
    for text in texts:
        pieces += [text, "\t"]
    pieces[-1] = "\n"
    lines = pc.binary_join_element_wise(
        *pieces, "", null_handling="replace", null_replacement="\\N"
    )
    return pc.cast(lines, pa.binary())


def _text(array: pa.Array, argument: str, _labels: tuple[str, ...]) -> pa.Array:
    """Escapes texts. The argument is the greatest length, or nothing, and after `@` the database's
    encoding if that lacks characters."""
    length, _, encoding = argument.partition("@")
    if length:
        kernels.fits_length(array, int(length))
    block = bytes(kernels.bytes_of(array))
    if encoding and not block.isascii():
        why = f"a character that the database's encoding {encoding} does not have"
        lacks = kernels.per_value(array, lambda text: not has(encoding, text), pa.bool_())
        kernels.refuse_where(lacks, why)
    if b"\0" in block:
        why = "a NUL character, which PostgreSQL cannot hold in text"
        kernels.refuse_where(pc.match_substring(array, "\0"), why)
    for character, escaped in _ESCAPES.items():
        if character.encode() in block:
            array = pc.replace_substring(array, character, escaped)
    return array


def _jsonb(array: pa.Array, _argument: str, labels: tuple[str, ...]) -> pa.Array:
    for row in pc.indices_nonzero(pc.match_substring(array, "\\u0000")).to_pylist():
        if kernels.JSON_NUL.search(array[row].as_py()):
            raise Refused(row, "the escape \\u0000, which jsonb cannot hold")
    return _text(array, "", labels)


_NO_DATE = "a date that PostgreSQL does not have"
_AS_TEXT = (
    "; give the column the type text, which holds it, have the table loaded again: ticdc-consumer "
    "load CONFIG --table {name}, then start again (drop foreign keys from and to the table, its "
    "views and its triggers first, and create them again after the load); or, if NULL will do in "
    "its place, set [target] "
    'rules = ["zero-date-as-null"]'
)


def _date(array: pa.Array, argument: str, _labels: tuple[str, ...]) -> pa.Array:
    if kernels.moments(kernels.plain(array)) is None:
        kernels.refuse_where(kernels.impossible(array), _NO_DATE, _AS_TEXT)
    kernels.fits_digits(array, int(argument))
    return array


def _date_or_null(array: pa.Array, argument: str, _labels: tuple[str, ...]) -> pa.Array:
    if kernels.moments(kernels.plain(array)) is None:
        null = pa.scalar(None, pa.string())
        array = pc.if_else(kernels.impossible(array), null, array)
    kernels.fits_digits(array, int(argument))
    return array


def _time(array: pa.Array, argument: str, _labels: tuple[str, ...]) -> pa.Array:
    kernels.fits_digits(kernels.plain(array), int(argument))
    return array


def _boolean(array: pa.Array, _argument: str, _labels: tuple[str, ...]) -> pa.Array:
    known = pc.is_in(array, pa.array(["0", "1", None], pa.string()))
    kernels.refuse_where(pc.invert(known), "neither 0 nor 1, which is all that a boolean holds")
    return array


def _bits(array: pa.Array, argument: str, _labels: tuple[str, ...]) -> pa.Array:
    width = int(argument)
    digits = kernels.per_value(array, lambda value: f"{int(value):0{width}b}", pa.string())
    kernels.refuse_where(pc.greater(pc.utf8_length(digits), width), f"more than {width} bits")
    return digits


def _floats(array: pa.Array, _argument: str, _labels: tuple[str, ...]) -> pa.Array:
    array = kernels.well_formed(array, "vector")
    return pc.replace_substring(pc.replace_substring(array, "[", "{"), "]", "}")


def _vector(array: pa.Array, _argument: str, _labels: tuple[str, ...]) -> pa.Array:
    return kernels.well_formed(array, "vector")


def _bytea(array: pa.Array, _argument: str, _labels: tuple[str, ...]) -> pa.Array:
    return pc.binary_join_element_wise("\\\\x", kernels.hexadecimal(array), "")


def _enum(array: pa.Array, argument: str, labels: tuple[str, ...]) -> pa.Array:
    return _text(kernels.enum_labels(array, "", labels), argument, labels)


def _set(array: pa.Array, argument: str, labels: tuple[str, ...]) -> pa.Array:
    return _text(kernels.set_labels(array, "", labels), argument, labels)


CODECS: dict[str, kernels.Convert] = {
    "plain": kernels.plain,
    "number": kernels.number,
    "decimal": kernels.checked_decimal,
    "vector": _vector,
    "text": _text,
    "jsonb": _jsonb,
    "date": _date,
    "date_or_null": _date_or_null,
    "time": _time,
    "boolean": _boolean,
    "bits": _bits,
    "floats": _floats,
    "bytea": _bytea,
    "enum": _enum,
    "set": _set,
}
KEY_CODECS = CODECS | {"number": kernels.key_number}
