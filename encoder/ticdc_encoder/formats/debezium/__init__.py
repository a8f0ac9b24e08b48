"""Debezium's JSON, with its schema and without."""

from ticdc_encoder.formats.debezium.format import Encoder, Options, decode
from ticdc_encoder.formats.format import Format

__all__ = ["FORMAT", "Encoder", "Options", "decode"]

FORMAT = Format(decode, Encoder, Options)
