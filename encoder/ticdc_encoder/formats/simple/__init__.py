"""Simple, in JSON and in Avro."""

from ticdc_encoder.formats.simple.format import (
    Decoder,
    Encoder,
    EncodingFormat,
    Options,
    Waiting,
    decode,
)

__all__ = ["Decoder", "Encoder", "EncodingFormat", "Options", "Waiting", "decode"]
