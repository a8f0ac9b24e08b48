"""The SQL that makes the target equal: rows that differ are deleted by their keys, and those of the
upstream at R - 1 inserted."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from threading import Lock
from typing import TextIO

import pyarrow as pa
from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.event import Table

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets import encoders
from ticdc_consumer.targets.comparable import Form, shortest_single
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.chunks import Chunk
from ticdc_consumer.upstream.rows import batches
from ticdc_consumer.upstream.session import UpstreamSession
from ticdc_consumer.upstream.tables import quoted
from ticdc_consumer.upstream.verify.compare import Difference, Outcome
from ticdc_consumer.upstream.verify.pairs import Pair, repair_layout

AT_ONCE = 100
"""Keys of one statement upstream."""
_DIGITS = re.compile(r"-?[0-9]+(\.[0-9]+)?")


class Repair:
    """Writes statements to `file`, which several threads may use."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._lock = Lock()

    def add(
        self,
        pair: Pair,
        outcome: Outcome,
        upstream: UpstreamSession,
        target: Target,
        resolved_ts: int,
    ) -> None:
        """The statements for the rows of a table that differ; for one without a key, a comment
        that there are none."""
        lines = [
            f"-- {pair.name} at R = {resolved_ts}: run this while no consumer runs, and R is still "
            "the same"
        ]
        if not pair.key:
            lines.append("-- nothing identifies its rows: load the table anew")
        else:
            try:
                lines += _statements(pair, outcome.differences, upstream, target)
            except Stop as refusal:
                lines.append(f"-- rows cannot be written: {refusal}")
        if not outcome.whole:
            lines.append("-- more rows differ: verify again afterwards, or raise --most")
        with self._lock:
            self._file.write("\n".join(lines) + "\n\n")
            self._file.flush()


def _statements(
    pair: Pair, differences: Sequence[Difference], upstream: UpstreamSession, target: Target
) -> list[str]:
    layout = repair_layout(pair, target)
    encode_rows, encode_keys = encoders(layout.dialect)
    statements = list[str]()
    in_target = [each for each in differences if each.target is not None]
    if in_target:
        keys = encode_keys(layout, _key_arrays(pair, layout, in_target))
        statements += target.shown_deletes(layout, keys)
    upstream_rows = [each for each in differences if each.upstream is not None]
    for first in range(0, len(upstream_rows), AT_ONCE):
        chunk = _Keys.of(pair, upstream_rows[first : first + AT_ONCE])
        for arrays in batches(upstream, pair.table, chunk):
            if layout.shard is not None:
                arrays.append(pa.array([layout.shard] * len(arrays[0]), pa.string()))
            statements += target.shown_inserts(layout, encode_rows(layout, arrays), "stop")
    return [statement.rstrip().removesuffix(";") + ";" for statement in statements]


def _key_arrays(pair: Pair, layout: Layout, rows: Sequence[Difference]) -> list[pa.Array]:
    """Canonical arrays in the order of the layout's key."""
    forms = {column.name: column.upstream.form for column in pair.columns}
    columns = {column.name: column for column in layout.source}
    arrays = []
    for name in layout.key:
        if name not in forms:  # the shard's column
            arrays.append(pa.array([layout.shard] * len(rows), pa.string()))
            continue
        values = [_canonical(columns[name], forms[name], dict(row.key)[name]) for row in rows]
        type_ = pa.binary() if columns[name].type.binary else pa.string()
        arrays.append(pa.array(values, type_))
    return arrays


def _canonical(column: Column, form: Form, text: str | None) -> str | bytes:
    """The canonical value (`targets.layout`) of a comparable one."""
    assert text is not None  # no key holds NULL
    match form:
        case "bytes":
            return bytes.fromhex(text)
        case "label":
            return str(_number_of(column, text))
        case "single":
            return shortest_single(text)
        case _:
            return text


def _number_of(column: Column, labels: str) -> int:
    elements = column.type.elements
    if column.type.name == "enum":
        return elements.index(labels) + 1 if labels in elements else 0
    parts = labels.split(",") if labels else []
    return sum(1 << elements.index(label) for label in parts)


@dataclass(frozen=True, slots=True)
class _Keys(Chunk):
    """The rows of some keys."""

    condition: str = "FALSE"
    values: tuple[object, ...] = ()

    @classmethod
    def of(cls, pair: Pair, rows: Sequence[Difference]) -> "_Keys":
        columns = {column.name: column for column in pair.table.columns}
        one = " AND ".join(f"{quoted(name)} = %s" for name in pair.key)
        values = tuple(_parameter(columns[name], value) for row in rows for name, value in row.key)
        return cls(condition=" OR ".join([f"({one})"] * len(rows)), values=values)

    def where(self, table: Table) -> tuple[str, list[object]]:
        return self.condition, list(self.values)


def _parameter(column: Column, text: str | None) -> object:
    """A comparable value as a parameter of its type: a number in quotes is compared as a double."""
    assert text is not None  # no key holds NULL
    type_ = column.type
    if type_.binary:
        return bytes.fromhex(text)
    if type_.name in ("float", "double"):
        return float(text)
    number = type_.name in INTEGERS | {"year", "bit", "decimal", "enum", "set"}
    return Decimal(text) if number and _DIGITS.fullmatch(text) else text
