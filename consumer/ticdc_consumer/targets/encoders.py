"""The pure functions by dialect, for Spark's tasks: no database is needed there."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from ticdc_consumer.targets.layout import Layout

Encode = Callable[[Layout, Sequence[pa.Array]], pa.Array]


def encoders(dialect: str) -> tuple[Encode, Encode]:
    """(encode_rows, encode_keys) of a dialect; imported when first asked for."""
    match dialect:
        case "postgresql":
            from ticdc_consumer.targets.postgresql import encode
        case "sqlite":
            from ticdc_consumer.targets.sqlite import encode
        case _:
            from ticdc_consumer.targets.mysql import encode
    return encode.encode_rows, encode.encode_keys
