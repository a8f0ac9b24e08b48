"""A table of every column type, and rows for it."""

from decimal import Decimal

from hypothesis import strategies as st
from ticdc_encoder.column import TYPE_NAMES, Column, ColumnType
from ticdc_encoder.event import Value
from ticdc_encoder.values import single

_ELEMENTS = ("a", "b,c", "d'e", "中", "")
_UTF_8 = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)

VALUES: dict[str, st.SearchStrategy[Value]] = {
    "tinyint": st.integers(-128, 127),
    "smallint": st.integers(-32768, 32767),
    "mediumint": st.integers(-8388608, 8388607),
    "int": st.integers(-(1 << 31), (1 << 31) - 1),
    "bigint": st.integers(-(1 << 63), (1 << 63) - 1),
    "bigint unsigned": st.integers(0, (1 << 64) - 1),
    "year": st.integers(1901, 2155) | st.just(0),
    "bit": st.integers(0, (1 << 64) - 1),
    "enum": st.integers(0, len(_ELEMENTS)),
    "set": st.integers(0, (1 << len(_ELEMENTS)) - 1),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False).map(single),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "decimal": st.integers(-(10**20), 10**20).map(lambda n: Decimal(n).scaleb(-4)),
    "date": st.dates().map(str) | st.sampled_from(["0000-00-00", "2024-00-10"]),
    "datetime": st.datetimes().map(lambda at: at.isoformat(" ", "milliseconds")),
    "timestamp": st.datetimes().map(lambda at: at.isoformat(" ", "microseconds")),
    "time": st.sampled_from(["-838:59:59.000000", "00:00:00", "12:34:56.7"]),
    "json": st.sampled_from(['{"a": [1, "<>&"]}', "null", '"\\u0000"']),
    "vector": st.sampled_from(["[1.5,-0.25]", "[]"]),
}


def _values(name: str) -> st.SearchStrategy[Value]:
    if name in VALUES:
        return VALUES[name]
    return st.binary(max_size=40) if ColumnType(name).binary else _UTF_8


def _type(name: str) -> ColumnType:
    base = name.removesuffix(" unsigned")
    return ColumnType(
        base,
        unsigned=name != base,
        decimals=4 if name == "decimal" else None,
        elements=_ELEMENTS if name in ("enum", "set") else (),
    )


_NAMES = sorted(TYPE_NAMES | {"bigint unsigned"})
COLUMNS = tuple(Column(name, _type(name), nullable=name != "bigint") for name in _NAMES)


def rows() -> st.SearchStrategy[dict[str, Value]]:
    """Rows of COLUMNS; the column `bigint` is never NULL."""
    return st.fixed_dictionaries(
        {name: _values(name) if name == "bigint" else st.none() | _values(name) for name in _NAMES}
    )
