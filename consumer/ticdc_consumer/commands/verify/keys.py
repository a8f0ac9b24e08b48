"""The differing rows by their keys: in the target's form, and in the upstream's conditions."""

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.event import Table

from ticdc_consumer.commands.verify.compare import Difference
from ticdc_consumer.commands.verify.pairs import Pair
from ticdc_consumer.state.repairs import Key
from ticdc_consumer.targets.comparable import Form, shortest_single
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.upstream.chunks import Chunk
from ticdc_consumer.upstream.rows import batches
from ticdc_consumer.upstream.session import UpstreamSession
from ticdc_consumer.upstream.tables import quoted

AT_ONCE = 100
"""Most keys of one statement upstream."""
_DIGITS = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def canonical_keys(pair: Pair, differences: Sequence[Difference]) -> list[Key]:
    """The values of `pair.key`, in canonical form."""
    forms = {column.name: column.upstream.form for column in pair.columns}
    columns = {column.name: column for column in pair.layout.source}
    return [
        tuple(_canonical(columns[name], forms[name], value) for name, value in each.key)
        for each in differences
    ]


def key_arrays(layout: Layout, keys: Sequence[Key]) -> list[pa.Array]:
    """The keys as arrays in the order of the layout's key; that of a shared table ends with the
    shard."""
    columns = {column.name: column for column in layout.source}
    names = layout.key if layout.shard is None else layout.key[:-1]
    arrays = [
        pa.array(values, pa.binary() if columns[name].type.binary else pa.string())
        for name, values in zip(names, zip(*keys, strict=True), strict=True)
    ]
    return arrays if layout.shard is None else [*arrays, shard_array(layout, len(keys))]


def rows_of(
    pair: Pair, layout: Layout, keys: Sequence[Key], upstream: UpstreamSession
) -> Iterator[list[pa.Array]]:
    """The upstream's rows of these keys, in arrays for the layout's columns. A key that the
    upstream's collation equates with another finds the other's row."""
    for first in range(0, len(keys), AT_ONCE):
        chunk = OfKeys.of(pair.table, pair.key, keys[first : first + AT_ONCE])
        for arrays in batches(upstream, pair.table, chunk):
            shard = [] if layout.shard is None else [shard_array(layout, len(arrays[0]))]
            yield [*arrays, *shard]


def shard_array(layout: Layout, rows: int) -> pa.Array:
    """The values of the shard's column of a shared table."""
    return pa.array([layout.shard] * rows, pa.string())


def _canonical(column: Column, form: Form, text: str | None) -> str | bytes:
    """The canonical value (`targets.layout`) of a comparable one."""
    assert text is not None  # no key holds NULL
    match form:
        case "bytes":
            value = bytes.fromhex(text)
            return value if column.type.binary else value.decode()
        case "label":
            return str(number_of(column, text))
        case "single":
            return shortest_single(text)
        case _:
            return text


def number_of(column: Column, labels: str) -> int:
    """The index of an ENUM's label, or the mask of a SET's labels."""
    elements = column.type.elements
    if column.type.name == "enum":
        return elements.index(labels) + 1 if labels in elements else 0
    parts = labels.split(",") if labels else []
    return sum(1 << elements.index(label) for label in parts)


@dataclass(frozen=True, slots=True)
class OfKeys(Chunk):
    """The rows of some keys."""

    condition: str = "FALSE"
    values: tuple[object, ...] = ()

    @classmethod
    def of(cls, table: Table, names: Sequence[str], keys: Sequence[Key]) -> "OfKeys":
        one = " AND ".join(f"{quoted(name)} = %s" for name in names)
        columns = [table.column(name) for name in names]
        values = tuple(
            _parameter(column, value)
            for key in keys
            for column, value in zip(columns, key, strict=True)
        )
        return cls(condition=" OR ".join([f"({one})"] * len(keys)), values=values)

    def where(self, table: Table) -> tuple[str, list[object]]:
        return self.condition, list(self.values)


def _parameter(column: Column, value: str | bytes) -> object:
    """A canonical value as a parameter of its type: a number in quotes is compared as a double."""
    if isinstance(value, bytes):
        return value
    name = column.type.name
    if name == "float":
        return struct.unpack("<f", struct.pack("<f", float(value)))[0]
    if name == "double":
        return float(value)
    number = name in INTEGERS | {"year", "bit", "decimal", "enum", "set"}
    return Decimal(value) if number and _DIGITS.fullmatch(value) else value
