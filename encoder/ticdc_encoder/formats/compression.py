"""TiCDC's `large-message-handle-compression`: LZ4 frames and raw Snappy blocks.

Compressed bytes differ between implementations: TiCDC's consumers read what `deflate` returns, but
TiCDC's Go libraries return other bytes for the same value.

pyarrow brings the codecs. It is imported with the first compressed value: few changefeeds have one.
"""

from typing import Literal

from ticdc_encoder.errors import WireError

Compression = Literal["none", "lz4", "snappy"]

_CHUNK = 1 << 16


def inflate(value: bytes, codec: Compression, limit: int) -> bytes:
    """The plain bytes. Raises `WireError` if they are more than `limit`, or malformed.

    A plain value is malformed if compression is configured: TiCDC compresses every value.
    """
    if codec == "none":
        return value
    return _lz4(value, limit) if codec == "lz4" else _snappy(value, limit)


def deflate(value: bytes, codec: Compression) -> bytes:
    """The value compressed, as one LZ4 frame or one Snappy block."""
    if codec == "none":
        return value
    import pyarrow as pa

    compressed: bytes = pa.compress(value, codec, asbytes=True)
    return compressed


def _too_large(limit: int) -> WireError:
    return WireError(f"the compressed value inflates to more than {limit} bytes")


def _lz4(value: bytes, limit: int) -> bytes:
    if not value:
        raise WireError("the value is not an LZ4 frame")
    import pyarrow as pa

    chunks, room = [], limit
    try:
        with pa.CompressedInputStream(pa.BufferReader(value), "lz4") as stream:
            while chunk := stream.read(min(_CHUNK, room + 1)):
                if len(chunk) > room:
                    raise _too_large(limit)
                room -= len(chunk)
                chunks.append(chunk)
    except (OSError, pa.ArrowInvalid) as error:
        raise WireError("the value is not an LZ4 frame") from error
    return b"".join(chunks)


def _snappy(value: bytes, limit: int) -> bytes:
    size = shift = 0
    for byte in value[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > limit:
        raise _too_large(limit)
    import pyarrow as pa

    try:
        plain: bytes = pa.decompress(value, size, "snappy", asbytes=True)
    except (OSError, pa.ArrowInvalid) as error:
        raise WireError("the value is not a Snappy block") from error
    return plain
