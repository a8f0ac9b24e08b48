"""Protocols by name, and the module of each entry.

Settings need only the names and a few fields of an entry; the entries themselves are above.
"""

from collections.abc import Mapping
from importlib.metadata import entry_points
from pkgutil import resolve_name

from ticdc_consumer.errors import Usage

GROUP = "ticdc_consumer.protocols"
"""Entry point group for protocols of other distributions."""

OURS: Mapping[str, str] = {
    "canal-json": "ticdc_consumer.protocols.canal_json:PROTOCOL",
    "open-protocol": "ticdc_consumer.protocols.open_protocol:PROTOCOL",
    "simple": "ticdc_consumer.protocols.simple:PROTOCOL",
    "debezium": "ticdc_consumer.protocols.debezium:PROTOCOL",
    "avro": "ticdc_consumer.protocols.avro:PROTOCOL",
    "debezium-avro": "ticdc_consumer.protocols.debezium_avro:PROTOCOL",
    "csv": "ticdc_consumer.protocols.csv:PROTOCOL",
}
"""Protocols of this package, by TiCDC's name."""

NOT_READ: Mapping[str, str] = {
    "canal": "has neither commit_ts nor resolved ts: use canal-json, enable-tidb-extension=true",
    "maxwell": "has neither commit_ts nor resolved ts: use canal-json, enable-tidb-extension=true",
}
"""Protocols of TiCDC that no consumer can apply exactly, and why."""


def protocol_names() -> tuple[str, ...]:
    """The names of this package's protocols, then those of other distributions."""
    return *OURS, *sorted(entry_points(group=GROUP).names - OURS.keys())


def is_protocol(name: object) -> bool:
    return name in OURS or name in entry_points(group=GROUP).names


def entry_named(name: str) -> object:
    """Imports the entry. Raises KeyError for an unknown name, and `Usage` for a failing entry point
    of another distribution."""
    if name in OURS:
        return resolve_name(OURS[name])
    points = tuple(entry_points(group=GROUP, name=name))
    if not points:
        raise KeyError(name)
    try:
        return points[0].load()
    except (ImportError, AttributeError) as error:
        raise Usage(f"protocol {name}: its entry point {points[0].value} fails: {error}") from error


def no_entry(name: str) -> Usage:
    """The error for an entry point that gives something else."""
    point = next(iter(entry_points(group=GROUP, name=name)))
    return Usage(f"protocol {name}: its entry point {point.value} is not a WireProtocol")
