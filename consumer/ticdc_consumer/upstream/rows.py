"""Reads the rows of a chunk as arrays of canonical values, as the stream's decoders give them."""

from collections.abc import Callable, Iterator

import pyarrow as pa
from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.event import Table
from ticdc_encoder.values import single

from ticdc_consumer.errors import Stop
from ticdc_consumer.upstream.chunks import Chunk, source
from ticdc_consumer.upstream.session import UpstreamSession
from ticdc_consumer.upstream.tables import quoted, sent

AT_ONCE = 5_000
"""Most rows of a batch."""

Restore = Callable[[bytes], str | bytes]

_AS_NUMBER = frozenset({"bit", "enum", "set"})
"""Types that TiDB prints as bytes and labels."""


def batches(
    session: UpstreamSession,
    table: Table,
    chunk: Chunk,
    rows: int = AT_ONCE,
    most: int | None = None,
) -> Iterator[list[pa.Array]]:
    """Yields the chunk's rows, at most `rows` at a time and at most `most` in all, in no order: an
    array of canonical values (`targets.layout`) for each column of `sent(table)`."""
    columns = sent(table)
    where, parameters = chunk.where(table)
    names = ", ".join(map(selected, columns))
    statement = f"SELECT {names} FROM {source(table)} WHERE {where}"  # noqa: S608
    if most is not None:
        statement += f" LIMIT {most}"
    restores = [_restore(column) for column in columns]
    for arrays in session.columns(statement, parameters, rows):
        yield [
            _array(column, restore, values)
            for column, restore, values in zip(columns, restores, arrays, strict=True)
        ]


def selected(column: Column) -> str:
    """The expression that prints a column's values in canonical form, as far as SQL can."""
    name, type_ = quoted(column.name), column.type
    if type_.name in _AS_NUMBER or (type_.zerofill and type_.name in INTEGERS):
        return f"CAST({name} AS UNSIGNED)"
    if type_.name == "year":
        return f"{name} + 0"
    if type_.name == "vector":
        return f"CAST({name} AS CHAR)"
    # Without the addition, a FLOAT is sent with six digits.
    return f"{name} + 0E0" if type_.name == "float" else name


def _restore(column: Column) -> Restore | None:
    """The rest of the conversion, after SQL, of a value that is not NULL."""
    type_ = column.type
    if type_.name == "float":
        return lambda value: repr(single(float(value)))
    if type_.name == "binary":
        length = type_.length or 0
        return lambda value: value.ljust(length, b"\0")
    return None


def _array(column: Column, restore: Restore | None, values: pa.Array) -> pa.Array:
    type_ = pa.binary() if column.type.binary else pa.string()
    if restore is not None:
        restored = [None if value is None else restore(value) for value in values.to_pylist()]
        return pa.array(restored, type_)
    try:
        return values.cast(type_)
    except pa.ArrowInvalid:
        raise Stop("the upstream holds text that is not UTF-8") from None
