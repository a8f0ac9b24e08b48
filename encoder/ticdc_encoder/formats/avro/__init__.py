"""Avro with a schema registry, as TiCDC writes it."""

from ticdc_encoder.formats.avro.format import DDL, RESOLVED, Encoder, Options, decode

__all__ = ["DDL", "RESOLVED", "Encoder", "Options", "decode"]
