"""The settings of a golden variant's changefeed, as its sink URI and its file have them."""

import tomllib
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from support.golden import Variant


def uri(variant: Variant) -> Mapping[str, str]:
    return dict(parse_qsl(urlsplit(variant.sink_uri).query))


def protocol_of(variant: Variant) -> str:
    return uri(variant)["protocol"]


def sink(variant: Variant) -> Mapping[str, Any]:
    """The file's section `sink`."""
    section: Mapping[str, Any] = tomllib.loads(variant.config_toml).get("sink", {})
    return section


def common(variant: Variant) -> dict[str, Any]:
    """The options that all formats have."""
    large = sink(variant).get("kafka-config", {}).get("large-message-handle", {})
    handle = large.get("large-message-handle-option", "none")
    return {
        "time_zone": variant.server_tz,
        "compression": large.get("large-message-handle-compression", "none"),
        "large_message_handle_option": "none" if handle == "claim-check" else handle,
        "max_message_bytes": int(uri(variant)["max-message-bytes"]),
        "new_architecture": not variant.name.startswith("classic."),
    }
