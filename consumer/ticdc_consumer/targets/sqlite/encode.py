"""Canonical values -> JSON arrays, one per row. Binary values are hexadecimal strings in them."""

from collections.abc import Sequence

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_consumer.targets import kernels
from ticdc_consumer.targets.layout import Layout

BARE = frozenset({"integer", "number"})
"""Codecs that write JSON numbers; all others write strings."""

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}
"""The backslash comes first: the others add backslashes. Other control characters are rare."""


def encode_rows(layout: Layout, arrays: Sequence[pa.Array]) -> pa.Array:
    """Writes one JSON array per row: the columns that the target takes, in the layout's order."""
    return _arrays(*kernels.convert_rows(layout, arrays, CODECS))


def encode_keys(layout: Layout, arrays: Sequence[pa.Array]) -> pa.Array:
    """Writes one JSON array per key."""
    return _arrays(*kernels.convert_keys(layout, arrays, KEY_CODECS))


def _arrays(texts: Sequence[pa.Array], codecs: Sequence[str]) -> pa.Array:
    """Joins texts; quotes are in the separators, except around values that may be null."""
    pieces: list[pa.Array | str] = []
    before = "["
    for text, codec in zip(texts, codecs, strict=True):
        quote = "" if codec in BARE else '"'
        if quote and text.null_count:
            text = pc.binary_join_element_wise(quote, text, quote, "")
            quote = ""
        pieces += [before + quote, text]
        before = quote + ","
    pieces.append(before[:-1] + "]")
    arrays = pc.binary_join_element_wise(
        *pieces, "", null_handling="replace", null_replacement="null"
    )
    return pc.cast(arrays, pa.binary())


def _text(array: pa.Array, _argument: str = "", _labels: tuple[str, ...] = ()) -> pa.Array:
    block = np.frombuffer(kernels.bytes_of(array), np.uint8)
    present = {chr(code) for code in np.unique(block[block < 0x20])}
    if present - _ESCAPES.keys():
        return kernels.per_value(array, lambda text: orjson.dumps(text)[1:-1].decode(), pa.string())
    copied = block.tobytes()
    for character, escaped in _ESCAPES.items():
        if character.encode() in copied:
            array = pc.replace_substring(array, character, escaped)
    return array


def _number(array: pa.Array, _argument: str, _labels: tuple[str, ...]) -> pa.Array:
    return _as_float(kernels.number(array))


def _key_number(array: pa.Array, _argument: str, _labels: tuple[str, ...]) -> pa.Array:
    return _as_float(kernels.key_number(array))


def _as_float(digits: pa.Array) -> pa.Array:
    """Appends a point: without it JSON's number is an integer, and SQLite takes no integer 1e19."""
    pointed = pc.binary_join_element_wise(digits, ".0", "")
    return pc.if_else(pc.match_substring_regex(digits, r"^-?\d+$"), pointed, digits)


def _blob(array: pa.Array, _argument: str, _labels: tuple[str, ...]) -> pa.Array:
    return kernels.hexadecimal(array)


def _enum(array: pa.Array, argument: str, labels: tuple[str, ...]) -> pa.Array:
    return _text(kernels.enum_labels(array, argument, labels))


def _set(array: pa.Array, argument: str, labels: tuple[str, ...]) -> pa.Array:
    return _text(kernels.set_labels(array, argument, labels))


CODECS: dict[str, kernels.Convert] = {
    "integer": kernels.integer,
    "number": _number,
    "quoted": kernels.well_formed,
    "quoted_number": kernels.number,
    "text": _text,
    "blob": _blob,
    "enum": _enum,
    "set": _set,
}
KEY_CODECS = CODECS | {"number": _key_number, "quoted_number": kernels.key_number}
