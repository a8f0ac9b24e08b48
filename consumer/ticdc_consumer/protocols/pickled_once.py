"""A tuple that is pickled once: for what goes with every Spark job and seldom changes."""

import pickle
import zlib
from functools import lru_cache
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class PickledOnce(tuple[T, ...], Generic[T]):
    """A tuple that is pickled once, and unpickled once in each process that receives it."""

    _packed: bytes | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._packed is None:
            self._packed = zlib.compress(pickle.dumps(tuple(self)), 1)
        return _unpickled, (self._packed,)


@lru_cache(maxsize=2)
def _unpickled(packed: bytes) -> PickledOnce[Any]:
    return PickledOnce(pickle.loads(zlib.decompress(packed)))
