"""Debezium's Avro with a schema registry."""

from ticdc_encoder.formats.debezium_avro.format import Encoder, Options, decode
from ticdc_encoder.formats.format import Format

__all__ = ["FORMAT", "Encoder", "Options", "decode"]

FORMAT = Format(decode, Encoder, Options)
