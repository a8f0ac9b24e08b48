"""The pure functions by dialect, for Spark's tasks: no database is needed there."""

from collections.abc import Callable, Sequence
from importlib import import_module

import pyarrow as pa

from ticdc_consumer.targets.layout import Layout

Encode = Callable[[Layout, Sequence[pa.Array]], pa.Array]

PACKAGES = {"postgresql": "postgresql", "sqlite": "sqlite"}
"""Whatever is not here belongs to the MySQL family."""


def encoders(dialect: str) -> tuple[Encode, Encode]:
    """(encode_rows, encode_keys) of a dialect; imported when first asked for."""
    encode = import_module(f"{__package__}.{PACKAGES.get(dialect, 'mysql')}.encode")
    return encode.encode_rows, encode.encode_keys
