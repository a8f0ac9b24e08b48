"""Simple, in JSON and in Avro."""

from ticdc_encoder.formats.format import Format, Waiting
from ticdc_encoder.formats.simple.format import (
    Decoder,
    Encoder,
    EncodingFormat,
    Options,
    decode,
)

__all__ = ["FORMAT", "Decoder", "Encoder", "EncodingFormat", "Options", "Waiting", "decode"]

FORMAT = Format(decode, Encoder, Options, Decoder)
