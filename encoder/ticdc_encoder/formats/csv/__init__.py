"""CSV, of the cloud storage sink."""

from ticdc_encoder.formats.csv.format import Encoder, Options, changes, decode, schema_of, shortest

__all__ = ["Encoder", "Options", "changes", "decode", "schema_of", "shortest"]
