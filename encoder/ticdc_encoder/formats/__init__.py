"""One module per protocol, encode and decode side by side; `FORMATS` names them as TiCDC does."""

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

FORMATS: dict[str, Format] = {
    "avro": Format(avro.decode, avro.Encoder, avro.Options),
    "canal-json": Format(canal_json.decode, canal_json.Encoder, canal_json.Options),
    "debezium": Format(debezium.decode, debezium.Encoder, debezium.Options),
    "debezium-avro": Format(debezium_avro.decode, debezium_avro.Encoder, debezium_avro.Options),
    "open-protocol": Format(open_protocol.decode, open_protocol.Encoder, open_protocol.Options),
    "simple": Format(simple.decode, simple.Encoder, simple.Options, simple.Decoder),
}
