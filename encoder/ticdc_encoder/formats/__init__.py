"""One module per protocol, encode and decode side by side; `FORMATS` names them as TiCDC does."""

from ticdc_encoder.formats import canal_json, open_protocol
from ticdc_encoder.formats.format import (
    Clock,
    Encoder,
    Format,
    MessageTooLarge,
    MissingCommitTs,
    Record,
    wall_clock,
)

__all__ = [
    "FORMATS",
    "Clock",
    "Encoder",
    "Format",
    "MessageTooLarge",
    "MissingCommitTs",
    "Record",
    "wall_clock",
]

FORMATS: dict[str, Format] = {
    "canal-json": Format(canal_json.decode, canal_json.Encoder, canal_json.Options),
    "open-protocol": Format(open_protocol.decode, open_protocol.Encoder, open_protocol.Options),
}
