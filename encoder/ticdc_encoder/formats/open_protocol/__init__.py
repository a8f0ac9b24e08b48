"""Open Protocol."""

from ticdc_encoder.formats.format import Format
from ticdc_encoder.formats.open_protocol.format import VERSION, Encoder, Options, decode

__all__ = ["FORMAT", "VERSION", "Encoder", "Options", "decode"]

FORMAT = Format(decode, Encoder, Options)
