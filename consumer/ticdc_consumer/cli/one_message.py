"""Output of `ticdc-consumer inspect`: one message, for people or for programs."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

from ticdc_encoder.errors import visible

from ticdc_consumer.commands.inspect import Inspection


def as_text(inspection: Inspection) -> str:
    """Lines for people."""
    return "\n".join(map(visible, _lines(inspection)))


def _lines(inspection: Inspection) -> Iterator[str]:
    plain = inspection.plain
    yield f"message  {inspection.where}{_at(inspection.time)}"
    yield f"key      {_size(inspection.key)}"
    inflated = "" if plain == inspection.value else f", {_size(plain)} inflated"
    yield f"value    {_size(inspection.value)}{inflated}"
    for header in inspection.headers:
        yield f"header   {header}"
    for event in inspection.events:
        yield f"event    {event}"
    for row in inspection.waiting:
        yield f"row      of {row}: its schema is not known"
    if inspection.error is None:
        if not inspection.events and not inspection.waiting:
            yield "event    none: a run skips this message"
        return
    yield f"error    {inspection.error}"
    for excerpt in inspection.excerpts:
        yield f"bytes    of the value, from {excerpt.begin} on"
        yield from excerpt.lines()
    if (document := _document(plain)) is not None:
        yield "JSON"
        yield from json.dumps(document, indent=2, ensure_ascii=False).splitlines()


def _at(time: float | None) -> str:
    return "" if time is None else f", {datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _size(data: bytes | None) -> str:
    return "null" if data is None else f"{len(data):,} bytes"


def _document(value: bytes | None) -> object:
    """The value as JSON, if it is JSON that the protocol does not allow; Open Protocol's begins
    with its length."""
    for text in (value or b"", (value or b"")[8:]):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return None


def as_json(inspection: Inspection) -> dict[str, object]:
    """An object for programs. A TSO is a text."""
    error = inspection.error
    return {
        "topic": inspection.topic,
        "partition": inspection.partition,
        "offset": inspection.offset,
        "time": inspection.time,
        "key_bytes": None if inspection.key is None else len(inspection.key),
        "value_bytes": None if inspection.value is None else len(inspection.value),
        "headers": list(inspection.headers),
        "events": [_event(line) for line in inspection.events],
        "waiting": list(inspection.waiting),
        "error": None if error is None else str(error),
        "excerpts": [
            {"begin": each.begin, "fault": each.fault, "hex": each.data.hex()}
            for each in inspection.excerpts
        ],
    }


def _event(line: str) -> dict[str, object]:
    members = json.loads(line)
    return {
        name: str(value) if name.endswith("_ts") and value is not None else value
        for name, value in members.items()
    }
