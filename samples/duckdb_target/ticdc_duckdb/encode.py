"""Canonical values -> JSON arrays of texts, one per row. DuckDB casts them; needs no driver."""

from collections.abc import Sequence

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from ticdc_consumer.targets import kernels
from ticdc_consumer.targets.layout import Layout

_SPECIAL = r'[\x00-\x1f"\\]'
"""What a JSON string escapes."""


def encode_rows(layout: Layout, arrays: Sequence[pa.Array]) -> pa.Array:
    return _arrays(kernels.convert_rows(layout, arrays, CODECS)[0])


def encode_keys(layout: Layout, arrays: Sequence[pa.Array]) -> pa.Array:
    return _arrays(kernels.convert_keys(layout, arrays, KEY_CODECS)[0])


def _arrays(texts: Sequence[pa.Array]) -> pa.Array:
    values = [pc.binary_join_element_wise('"', text, '"', "") for text in texts]
    joined = pc.binary_join_element_wise(
        *values, ",", null_handling="replace", null_replacement="null"
    )
    return pc.cast(pc.binary_join_element_wise("[", joined, "]", ""), pa.binary())


def _text(array: pa.Array, _argument: str = "", _labels: tuple[str, ...] = ()) -> pa.Array:
    if not pc.any(pc.match_substring_regex(array, _SPECIAL)).as_py():
        return array
    return kernels.per_value(array, lambda text: orjson.dumps(text)[1:-1].decode(), pa.string())


def _decimal(array: pa.Array, argument: str, _labels: tuple[str, ...]) -> pa.Array:
    precision, _, scale = argument.removeprefix("decimal(").removesuffix(")").partition(",")
    return kernels.checked_decimal(array, f"{precision}:{scale}")


def _date(array: pa.Array, _argument: str, _labels: tuple[str, ...]) -> pa.Array:
    if kernels.moments(kernels.plain(array)) is None:
        kernels.refuse_where(kernels.impossible(array), "a date that DuckDB does not have")
    return array


def _date_or_null(array: pa.Array, _argument: str, _labels: tuple[str, ...]) -> pa.Array:
    if kernels.moments(kernels.plain(array)) is not None:
        return array
    return pc.if_else(kernels.impossible(array), pa.scalar(None, pa.string()), array)


def _blob(array: pa.Array, _argument: str, _labels: tuple[str, ...]) -> pa.Array:
    return kernels.hexadecimal(array)


def _enum(array: pa.Array, _argument: str, labels: tuple[str, ...]) -> pa.Array:
    return _text(kernels.enum_labels(array, "", labels))


def _set(array: pa.Array, _argument: str, labels: tuple[str, ...]) -> pa.Array:
    return _text(kernels.set_labels(array, "", labels))


CODECS: dict[str, kernels.Convert] = {
    "plain": kernels.plain,
    "number": kernels.number,
    "decimal": _decimal,
    "text": _text,
    "date": _date,
    "date_or_null": _date_or_null,
    "blob": _blob,
    "enum": _enum,
    "set": _set,
}
KEY_CODECS = CODECS | {"number": kernels.key_number}
