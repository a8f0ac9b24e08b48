"""Keys and rows that the target cannot hold, such as a text with a NUL character in PostgreSQL.

Whether that matters is known only when a cut's facts are folded: a row that was deleted again needs
no place, and such a key is absent from the target anyway. So each gets a payload of its own, which
states the reason and is folded like all others; only a row that remains is refused.
"""

from collections.abc import Sequence
from functools import cache

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_consumer.errors import NotHeld
from ticdc_consumer.targets.layout import Encode, Layout

_MARK = b"\xffticdc cannot hold "
"""The byte FF begins no other payload: these are UTF-8."""


@cache
def marking(encode: Encode) -> Encode:
    """Wraps `encode`: returns such a payload where it raises `NotHeld`. Two of these payloads are
    equal if and only if the values are."""

    def encoded(layout: Layout, arrays: Sequence[pa.Array]) -> pa.Array:
        try:
            return encode(layout, arrays).cast(pa.binary())
        except NotHeld as reason:
            count = len(arrays[0])
            if count == 1:
                return pa.array([_payload(str(reason), arrays)], pa.binary())
        half = count // 2
        parts = [(0, half), (half, count - half)]
        return pa.concat_arrays(
            [encoded(layout, [a.slice(start, size) for a in arrays]) for start, size in parts]
        )

    return encoded


def _payload(reason: str, arrays: Sequence[pa.Array]) -> bytes:
    values = [array[0].as_py() for array in arrays]
    texts = [["x", v.hex()] if isinstance(v, bytes) else v for v in values]
    return _MARK + orjson.dumps([reason, texts])


def holdable(payloads: pa.BinaryArray) -> pa.BinaryArray:
    """Keeps the payloads that the target can hold."""
    others = pc.starts_with(payloads, _MARK)
    return payloads.filter(pc.invert(others)) if others.true_count else payloads


def is_holdable(payloads: pa.BinaryArray) -> pa.BooleanArray:
    return pc.invert(pc.starts_with(payloads, _MARK))


def require_holdable(payloads: pa.BinaryArray) -> None:
    """Raises `NotHeld` with the reason of the first payload that cannot be held."""
    first = pc.index(pc.starts_with(payloads, _MARK), pa.scalar(True)).as_py()
    if first != -1:
        raise NotHeld(orjson.loads(payloads[first].as_py()[len(_MARK) :])[0])
