"""TiCDC's large-message-handle-compression."""

from typing import Literal

Compression = Literal["none", "lz4", "snappy"]


def inflate(value: bytes, codec: Compression, limit: int) -> bytes:
    """The plain bytes, at most `limit` of them."""
    return value


def deflate(value: bytes, codec: Compression) -> bytes:
    return value
