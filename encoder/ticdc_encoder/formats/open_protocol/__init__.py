"""Open Protocol."""

from ticdc_encoder.formats.open_protocol.format import VERSION, Encoder, Options, decode

__all__ = ["VERSION", "Encoder", "Options", "decode"]
