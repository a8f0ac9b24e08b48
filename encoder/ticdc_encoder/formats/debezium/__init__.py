"""Debezium's JSON, with its schema and without."""

from ticdc_encoder.formats.debezium.format import Encoder, Options, decode

__all__ = ["Encoder", "Options", "decode"]
