"""What goes with every job and seldom changes."""

import pickle
import zlib
from functools import lru_cache
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Lasting(tuple[T, ...], Generic[T]):
    """A tuple that is pickled once, and made of that once per process that gets it."""

    _packed: bytes | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._packed is None:
            self._packed = zlib.compress(pickle.dumps(tuple(self)), 1)
        return _opened, (self._packed,)


@lru_cache(maxsize=2)
def _opened(packed: bytes) -> Lasting[Any]:
    return Lasting(pickle.loads(zlib.decompress(packed)))
