"""Canal-JSON, with the TiDB extension and without."""

from ticdc_encoder.formats.canal_json.format import Encoder, Options, decode
from ticdc_encoder.formats.format import Format

__all__ = ["FORMAT", "Encoder", "Options", "decode"]

FORMAT = Format(decode, Encoder, Options)
