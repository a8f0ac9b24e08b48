"""Debezium's Avro with a schema registry."""

from ticdc_encoder.formats.debezium_avro.format import Encoder, Options, decode

__all__ = ["Encoder", "Options", "decode"]
