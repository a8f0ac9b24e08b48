"""Canal-JSON, with the TiDB extension and without."""

from ticdc_encoder.formats.canal_json.format import Encoder, Options, decode

__all__ = ["Encoder", "Options", "decode"]
