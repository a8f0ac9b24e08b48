"""The samples of the formats, each beside its tests: messages of TiCDC's documents and of its own
tests, with the events that they stand for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ticdc_encoder.event import Ddl, Event, Resolved, Row, Value

_FORMATS = Path(__file__).resolve().parent.parent / "encoder" / "formats"


def vectors(package: str) -> Any:
    """The samples of a format, by the name of its package: a list, or a dict by subject."""
    return json.loads((_FORMATS / package / "vectors.json").read_text())


def sample(samples: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(known for known in samples if known["name"] == name)


def name_of(known: dict[str, Any]) -> str:
    """The id of a test that takes the sample."""
    return str(known["name"])


def value_of(known: dict[str, Any]) -> bytes:
    """The record's value, which a sample has in hex or as text."""
    return bytes.fromhex(known["hex"]) if "hex" in known else known["value"].encode()


def json_value(value: Value) -> Any:
    """A value as samples have it: numbers but for DECIMAL as they are, bytes in hex."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    return value if value is None or isinstance(value, str | int | float) else str(value)


def json_row(
    row: Row | None, to_json: Callable[[Value], Any] = json_value
) -> dict[str, Any] | None:
    return None if row is None else {name: to_json(value) for name, value in row.items()}


def described(event: Event, to_json: Callable[[Value], Any] = json_value) -> dict[str, Any]:
    """An event as samples have it. Attributes of a row that are not set are absent."""
    match event:
        case Resolved(ts):
            return {"event": "resolved", "ts": ts}
        case Ddl():
            names = ("schema", "table", "query", "commit_ts")
            return {"event": "ddl", **{name: getattr(event, name) for name in names}}
    operation = "delete" if event.after is None else "insert" if event.before is None else "update"
    members: dict[str, Any] = {
        "event": "row",
        "op": operation,
        "schema": event.table.schema,
        "table": event.table.name,
        "commit_ts": event.commit_ts,
        "old": json_row(event.before, to_json),
        "new": json_row(event.after, to_json),
    }
    for name in ("incomplete", "claim_check", "corrupted"):
        if getattr(event, name):
            members[name] = getattr(event, name)
    return members
