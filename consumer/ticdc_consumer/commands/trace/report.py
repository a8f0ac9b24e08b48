"""A row's history for people and for programs."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime

from ticdc_encoder.counted import counted
from ticdc_encoder.errors import visible
from ticdc_encoder.tso import with_time

from ticdc_consumer.commands.trace.history import Entry, texts_of
from ticdc_consumer.commands.trace.tracing import EVERYTHING, LogPart, RowHistory

MOST_PARTITIONS = 20
"""Partitions whose logs are described one by one; `--json` has all."""


def to_text(traced: RowHistory) -> str:
    """The messages in the order of the upstream, then the net change and the target's state."""
    return "\n".join(map(visible, _lines(traced)))


def _lines(traced: RowHistory) -> Iterator[str]:
    request, report = traced.request, traced.report
    yield f"{'.'.join(request.table)} {request.key}"
    for part in traced.log[:MOST_PARTITIONS]:
        yield f"log     {_of_log(part)}"
    if len(traced.log) > MOST_PARTITIONS:
        yield f"log     and {counted(len(traced.log) - MOST_PARTITIONS, 'more partition')}"
    changes = f"with {counted(report.rows, 'change')} of the table"
    yield f"read    {counted(report.messages, 'message')}, {changes}"
    for entry in traced.entries:
        yield f"  {_of_entry(traced, entry)}"
        yield from (f"    {line}" for line in _values(entry))
    if not traced.entries:
        yield "  the log has no message of this row"
    for (schema, table, version), count in sorted(report.unread.items()):
        of = f"{schema}.{table}, version {version}"
        yield f"unread  {counted(count, 'row')} of {of}: its schema is missing"
    if report.unreadable:
        yield f"unread  {counted(report.unreadable, 'message')} cannot be decoded"
        yield from (f"    {error}" for error in report.errors)
    yield from _verdict(traced)


def _of_log(part: LogPart) -> str:
    name = f"{part.topic}[{part.partition}]"
    if part.start >= part.end:
        return f"{name} is empty, from offset {part.end} on"
    begins = "" if part.start == part.begin else f" (the log begins at {part.begin})"
    time = datetime.fromtimestamp(part.time / 1000, UTC)
    at = f", from {time:%Y-%m-%d %H:%M:%S} UTC on" if part.time > 0 else ""
    return f"{name} offsets {part.start} to {part.end - 1}{begins}{at}"


def _of_entry(traced: RowHistory, entry: Entry) -> str:
    each = entry.observation
    words = [with_time(each.commit_ts), _what(entry), each.where]
    if entry.role in ("duplicate", "replay"):
        words.append(entry.role)
    if each.part:
        words.append(each.part)
    words.append(_fate(traced, entry))
    return ", ".join(word for word in words if word)


def _what(entry: Entry) -> str:
    each = entry.observation
    if each.kind == "ddl":
        copies = f" (in {entry.copies} partitions)" if entry.copies > 1 else ""
        return f"DDL {' '.join(each.query.split())}{copies}"
    what: str = each.kind
    if each.changed:
        what += f" of {', '.join(each.changed)}"
    if entry.half:
        what += ", half of an UPDATE"
    if entry.others:
        word = "from" if each.is_after else "to"
        keys = " or ".join(f"({texts_of(key)})" for key in entry.others)
        what += f", key {'perhaps ' if len(entry.others) > 1 else ''}{word} {keys}"
    return what


def _fate(traced: RowHistory, entry: Entry) -> str:
    """The effect of the cuts on the message."""
    if entry.applied is None:
        return ""
    if not entry.applied:
        return "not applied: at or above R"
    if entry.role == "ddl":
        known = traced.target.ddls.get((entry.observation.commit_ts, entry.observation.query))
        return "below R" if known is None else f"{known.state}{known.reason and ': '}{known.reason}"
    return "applied" if entry.role == "change" else "dropped"


def _values(entry: Entry) -> Iterator[str]:
    for side, row in (("before", entry.observation.before), ("after", entry.observation.after)):
        if row is not None:
            yield f"{side}: {texts_of(row)}"


def _verdict(traced: RowHistory) -> Iterator[str]:
    target, net = traced.target, traced.expected
    if target.resolved_ts is not None:
        yield f"R       {with_time(target.resolved_ts)}"
    if net is not None:
        yield f"net     {_net(traced)}"
    if target.rows is None:
        yield f"target  {target.problem}"
        return
    holds = "has the row" if target.rows else "has no such row"
    agrees = {True: ", as the log says", False: ": NOT as the log says", None: ""}[traced.agrees]
    yield f"target  {target.relation} {holds}{agrees}"
    yield from (f"    {texts_of(row)}" for row in target.values)


def _net(traced: RowHistory) -> str:
    net = traced.expected
    assert net is not None
    if net.exists is None:
        return f"not known: {net.reason}"
    assert net.last is not None
    exists = "exists" if net.exists else "does not exist"
    return f"at R the row {exists}, by the {net.last.kind} at {net.last.where}"


def to_json(traced: RowHistory) -> dict[str, object]:
    """JSON for programs. A TSO is a text."""
    request, target, net = traced.request, traced.target, traced.expected
    last = None if net is None else net.last
    return {
        "schema": request.table[0],
        "table": request.table[1],
        "key": dict(request.key.parts),
        "from_ts": str(request.begin) if request.begin else None,
        "to_ts": str(request.end - 1) if request.end != EVERYTHING else None,
        "log": [asdict(part) for part in traced.log],
        "messages": traced.report.messages,
        "entries": [_entry_json(traced, entry) for entry in traced.entries],
        "unread": [
            {"schema": schema, "table": table, "version": version, "rows": rows}
            for (schema, table, version), rows in sorted(traced.report.unread.items())
        ],
        "unreadable": traced.report.unreadable,
        "errors": traced.report.errors,
        "net": {
            "exists": None if net is None else net.exists,
            "commit_ts": None if last is None else str(last.commit_ts),
            "reason": (net.reason if net is not None else target.problem) or None,
        },
        "target": {
            "resolved_ts": None if target.resolved_ts is None else str(target.resolved_ts),
            "relation": target.relation or None,
            "rows": target.rows,
            "problem": target.problem or None,
            **({"values": list(target.values)} if request.with_values else {}),
        },
        "agrees": traced.agrees,
    }


def _entry_json(traced: RowHistory, entry: Entry) -> dict[str, object]:
    each = entry.observation
    described: dict[str, object] = {
        "topic": each.topic,
        "partition": each.partition,
        "offset": each.offset,
        "time": each.time,
        "commit_ts": str(each.commit_ts),
        "kind": each.kind,
        "role": entry.role,
        "half": entry.half,
        "other_keys": list(entry.others),
        "changed": list(each.changed),
        "part": each.part or None,
        "query": each.query or None,
        "copies": entry.copies,
        "below_r": entry.applied,
        "fate": _fate(traced, entry) or None,
    }
    if traced.request.with_values:
        described |= {"before": each.before, "after": each.after}
    return described
