"""Avro with a schema registry, as TiCDC writes it."""

from ticdc_encoder.formats.avro.format import DDL, RESOLVED, Encoder, Options, decode
from ticdc_encoder.formats.format import Format

__all__ = ["DDL", "FORMAT", "RESOLVED", "Encoder", "Options", "decode"]

FORMAT = Format(decode, Encoder, Options)
