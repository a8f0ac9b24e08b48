"""One module per protocol, encode and decode side by side; `FORMATS` names them as TiCDC does."""

from typing import Any

from ticdc_encoder.formats import avro, canal_json, debezium, debezium_avro, open_protocol, simple
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

FORMATS: dict[str, Format[Any]] = {
    "avro": avro.FORMAT,
    "canal-json": canal_json.FORMAT,
    "debezium": debezium.FORMAT,
    "debezium-avro": debezium_avro.FORMAT,
    "open-protocol": open_protocol.FORMAT,
    "simple": simple.FORMAT,
}
"""By name. Whoever knows the protocol takes its own `FORMAT`, which is typed."""
