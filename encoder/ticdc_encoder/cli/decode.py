"""Messages as readable JSON, for people and for `jq`."""

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from ticdc_encoder.errors import TicdcError, visible
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Value
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.kafka.records import Located
from ticdc_encoder.tso import moment, physical


def lines(protocol: str, options: Any, records: Iterable[Located]) -> Iterator[str]:
    """One line per event, in the records' order. `options` are the format's.

    A row of Simple waits for its table's schema; rows that still wait at the end are printed with
    every value as text, and `"schema": "missing"`. Errors name the record's position.
    """
    format_ = FORMATS[protocol]
    if format_.Decoder is not None:
        yield from _lines_with_memory(format_, options, records)
        return
    for record in records:
        for event in _decoded(record, format_.decode, record.key, record.value, options):
            yield json_line(event, record)


def _lines_with_memory(format_: Any, options: Any, records: Iterable[Located]) -> Iterator[str]:
    decoder = format_.Decoder(options)
    waiting: dict[int, Located] = {}
    for number, record in enumerate(records):
        waited = decoder.waits
        decoded = _decoded(record, decoder.decode, record.key, record.value, number)
        for at, event in decoded:
            yield json_line(event, record if at == number else waiting.pop(at))
        if decoder.waits > waited:
            waiting[number] = record
    for row in sorted(decoder.waiting, key=lambda row: row.at):
        record = waiting[row.at]
        for event in _decoded(record, format_.decode, record.key, record.value, options):
            yield json_line(event, record, schema="missing")


def _decoded(record: Located, decode: Any, *arguments: Any) -> Any:
    try:
        return decode(*arguments)
    except TicdcError as error:
        error.add_note(f"at {record.where}")
        raise


def json_line(event: Event, record: Located | None = None, **more: str) -> str:
    """An event as one line of JSON, with its position in the topic. Integers are exact; DECIMAL is
    text, bytes are `{"hex": ...}`, what is not UTF-8 in text is an escaped surrogate, control
    characters are escaped; a column that was not sent is absent. A commit_ts that the message
    does not have is null."""
    members = {**_members(event), **more}
    for name in ("topic", "partition", "offset"):
        value = None if record is None else getattr(record, name)
        if value is not None:
            members[name] = value
    line = json.dumps(members, ensure_ascii=False, separators=(",", ":"))
    return visible(line) if _is_utf_8(line) else json.dumps(members, separators=(",", ":"))


def _is_utf_8(line: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in line) if not line.isascii() else True


def _members(event: Event) -> dict[str, Any]:
    match event:
        case Resolved(ts):
            return {"kind": "resolved", "resolved_ts": ts, "time": _time(ts)}
        case Ddl():
            return {
                "kind": "ddl",
                "table": f"{event.schema}.{event.table}" if event.table else event.schema,
                "commit_ts": event.commit_ts or None,
                "time": _time(event.commit_ts),
                "query": event.query,
            }
        case RowChange():
            return _row_members(event)


def _row_members(change: RowChange) -> dict[str, Any]:
    kind = "delete" if change.after is None else "insert" if change.before is None else "update"
    members: dict[str, Any] = {
        "kind": kind,
        "table": f"{change.table.schema}.{change.table.name}",
        "commit_ts": change.commit_ts or None,
        "time": _time(change.commit_ts),
        "before": _row(change.before),
        "after": _row(change.after),
    }
    if change.key_changed is not None:
        members["key_changed"] = change.key_changed.value
    for name in ("partition_id", "claim_check"):
        if (value := getattr(change, name)) is not None:
            members[name] = value
    for name in ("incomplete", "corrupted"):
        if getattr(change, name):
            members[name] = True
    return members


def _row(row: Row | None) -> dict[str, Any] | None:
    return None if row is None else {name: _value(value) for name, value in row.items()}


def _value(value: Value) -> Any:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    return str(value) if isinstance(value, Decimal) else value


def _time(ts: int) -> str | None:
    """The time of a TSO, in UTC."""
    if not ts:
        return None
    return f"{moment(ts):%Y-%m-%dT%H:%M:%S}.{physical(ts) % 1000:03d}Z"
