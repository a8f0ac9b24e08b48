"""Golden variants as the changefeed must have sent them for the consumer: Debezium with its
schemas, Avro in watermark mode. TiCDC made no such records of these scenarios; our own encoder,
which is held to the golden ones byte for byte, makes them of the same changes."""

from collections.abc import Mapping
from dataclasses import replace

from support.golden import Variant
from support.golden_replay import replayed
from ticdc_encoder.formats.registry import MemoryRegistry, SchemaId

WITHOUT_PRIMARY_KEY = {
    "keys": ("keysdb.uknn", "keysdb.uknn2", "keysdb.uknull", "keysdb.nokey"),
    "splits": ("spl.uk",),
}
"""Avro's DELETE of these names no row: a changefeed in watermark mode must leave them out."""


def readable(variant: Variant) -> bool:
    """Whether the consumer takes the records as they are."""
    if variant.name.removeprefix("classic.").startswith("debezium."):
        extension = "enable-tidb-extension=true" in variant.sink_uri
        return extension and "debezium-disable-schema=true" not in variant.sink_uri
    if {"avro", "debezium-avro"} & {*variant.name.split(".")[:2]} and "simple" not in variant.name:
        return "avro-enable-watermark=true" in variant.sink_uri
    return not variant.name.endswith(".plain")


def made(variant: Variant) -> tuple[Variant, Mapping[SchemaId, str]]:
    """The variant, made anew where it is not readable, and the schemas of its registry."""
    if readable(variant):
        return variant, {}
    uri = variant.sink_uri.replace("&debezium-disable-schema=true", "")
    config = variant.config_toml
    if variant.name.startswith("debezium-avro"):
        uri = uri.replace("&enable-tidb-extension=true", "")
        uri += "&enable-tidb-extension=true&avro-enable-watermark=true"
    if variant.name.startswith("avro"):
        uri += "&avro-enable-watermark=true"
        rules = ["*.*", *(f"!{name}" for name in WITHOUT_PRIMARY_KEY.get(variant.scenario, ()))]
        config += f"\n[filter]\nrules = {rules}\n"
    registry = MemoryRegistry()
    other = replace(variant, sink_uri=uri, config_toml=config)
    messages, _ = replayed(other, registry)
    other.__dict__["records"] = tuple(messages)
    return other, registry.schemas
