"""The Kafka records of a file.

A line is one record. An object with `topic` and `partition` is a whole record: with `key` and
`value` in base64 (null for none), or as `kcat -J` prints it, with `payload` (and `key`) as text.
Any other line is a message's value by itself: JSON protocols have no line breaks in theirs.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from ticdc_encoder.errors import WireError


@dataclass(frozen=True, slots=True)
class Located:
    """A record and its position in its topic, as far as that is known; `where` is the position as
    text for messages."""

    key: bytes | None
    value: bytes | None
    where: str
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


def records_of_lines(lines: Iterable[bytes], name: str) -> Iterator[Located]:
    """The records of a file called `name`. Raises WireError for a line that looks like a record but
    is not one."""
    for number, line in enumerate(lines, 1):
        line = line.rstrip(b"\r\n")
        if not line:
            continue
        where = f"line {number} of {name}"
        members = _record(line)
        if members is None:
            yield Located(None, line, where)
            continue
        try:
            yield _located(members, where)
        except (TypeError, ValueError, binascii.Error) as error:
            raise WireError(f"{where} is not a record: {error}") from error


def _record(line: bytes) -> dict[str, Any] | None:
    """The line's members if it is a record, None if it is a message."""
    if b'"partition"' not in line or b'"topic"' not in line:
        return None
    try:
        members = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(members, dict) or not {"topic", "partition"} <= members.keys():
        return None
    return members if {"value", "payload"} & members.keys() else None


def _located(members: dict[str, Any], where: str) -> Located:
    if "payload" in members:
        key, value = (_text(members.get(name)) for name in ("key", "payload"))
    else:
        key, value = (_base64(members.get(name)) for name in ("key", "value"))
    partition, offset = members["partition"], members.get("offset")
    if not all(number is None or type(number) is int for number in (partition, offset)):
        raise ValueError("partition or offset is not a number")
    return Located(key, value, where, str(members["topic"]), partition, offset)


def _base64(text: Any) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)


def _text(text: Any) -> bytes | None:
    if text is None:
        return None
    if not isinstance(text, str):
        raise TypeError("key or payload is not text")
    return text.encode()
