"""`ticdc-consumer inspect`: one message of a topic, decoded as far as possible, and the bytes
around its fault."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import confluent_kafka
from confluent_kafka import Message as KafkaMessage
from ticdc_encoder.cli.decode import json_line
from ticdc_encoder.errors import TicdcError, visible
from ticdc_encoder.event import Table
from ticdc_encoder.formats.compression import inflate
from ticdc_encoder.kafka.records import Located

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop, Unavailable, Usage, fault
from ticdc_consumer.protocols import decoder
from ticdc_consumer.protocols.protocol import check_ts, latest_sane, partition_text
from ticdc_consumer.source.kafka.client import consumer_settings, records_from
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target

PATIENCE = 10.0
"""Seconds that the brokers may take."""
AROUND = 64
"""Bytes that are shown before and after a fault."""
MOST_EXCERPTS = 4
"""Parts of a value that may be what an error means."""
_ROW = 16

_CHARACTER = re.compile(r"\bat (byte|character) (\d+)")
_COLUMN = re.compile(r"\bcolumn `([^`]+)`")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a value from `begin` on; `fault` is where the wrong part begins, None if that is
    not known."""

    begin: int
    data: bytes
    fault: int | None

    def lines(self) -> Iterator[str]:
        """Sixteen bytes a line, those of the fault marked."""
        for start in range(0, len(self.data), _ROW):
            row = self.data[start : start + _ROW]
            at = self.begin + start
            marked = self.fault is not None and at <= self.fault < at + _ROW
            text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
            yield f"{'>' if marked else ' '} {at:08x}  {row.hex(' '):<{_ROW * 3 - 1}}  {text}"


@dataclass(frozen=True, slots=True)
class Inspection:
    """A message and what it is read as: its events as lines of JSON, then the error, if any."""

    record: Located
    time: float | None
    headers: Sequence[str]
    plain: bytes | None
    """The value, inflated."""
    events: Sequence[str]
    waiting: Sequence[str]
    """Tables and versions of rows that wait for their schema (Simple)."""
    error: TicdcError | None

    @property
    def excerpts(self) -> list[Excerpt]:
        """Around what the error means; the beginning, if that is not known."""
        if self.error is None or not self.plain:
            return []
        faults = _faults(self.plain, str(self.error))
        if not faults:
            return [Excerpt(0, self.plain[: 2 * AROUND], None)]
        return [_around(self.plain, at) for at in faults]


def inspect(options: Settings, topic: str, partition: int, offset: int) -> Inspection:
    """Reads the message and decodes it as a run does. Raises `Usage` and `Unavailable`."""
    if not options.kafka:
        raise Usage("inspect reads topics; `ticdc-encoder decode` shows the files of a storage")
    message = _read(options, topic, partition, offset)
    where = f"{partition_text(topic, partition)} offset {offset}"
    record = Located(message.key(), message.value(), where, topic, partition, offset)
    plain, events, waiting, error = record.value, [], [], None
    try:
        if plain is not None and options.compression != "none":
            plain = inflate(plain, options.compression, options.message_limit)
        decode = decoder(options, _schemas(options))
        for event in decode(record.key, record.value):
            events.append(json_line(event, record))
            check_ts(event, latest_sane(options))
        for row in decode.unread():
            waiting.append(f"{row.schema}.{row.table}, version {row.version}")
    except Exception as raised:  # noqa: BLE001 - of any kind, a run would report it
        error = fault(raised)
    _, milliseconds = message.timestamp()
    pairs: Any = message.headers() or ()
    headers = [f"{name}={value!r}" for name, value in pairs]
    time = milliseconds / 1000 if milliseconds > 0 else None
    return Inspection(record, time, headers, plain, events, waiting, error)


def _read(options: Settings, topic: str, partition: int, offset: int) -> KafkaMessage:
    first, end = _offsets(options, topic, partition)
    name = partition_text(topic, partition)
    if not first <= offset < end:
        offsets = f"offsets {first} to {end - 1}" if first < end else "no messages"
        raise Usage(f"{name} has {offsets}, and no offset {offset}")
    with closing(records_from(options.kafka, {(topic, partition): offset}, 1, PATIENCE)) as records:
        for _, message in records:
            if message is None:
                raise Usage(f"{name} has no message at offset {offset} or after it")
            if message.offset() != offset:
                raise Usage(f"{name} has no offset {offset}; the next is {message.offset()}")
            return message
    raise AssertionError("records_from has no end")


def _offsets(options: Settings, topic: str, partition: int) -> tuple[int, int]:
    client = confluent_kafka.Consumer(consumer_settings(options.kafka))
    try:
        topic_partition = confluent_kafka.TopicPartition(topic, partition)
        first, end = client.get_watermark_offsets(topic_partition, timeout=PATIENCE)
        return int(first), int(end)
    except confluent_kafka.KafkaException as error:
        reason = error.args[0]
        unknown = reason.code() in (
            confluent_kafka.KafkaError.UNKNOWN_TOPIC_OR_PART,
            confluent_kafka.KafkaError._UNKNOWN_PARTITION,
            confluent_kafka.KafkaError._UNKNOWN_TOPIC,
        )
        kind: type[TicdcError] = Stop if unknown else Unavailable
        raise kind(f"{partition_text(topic, partition)}: {reason.str()}") from error
    finally:
        client.close()


def _schemas(options: Settings) -> tuple[Table, ...]:
    """Simple's, as far as the target can be asked for them."""
    with (
        suppress(TicdcError),
        closing(
            open_target(options.target_url, to_look=True, changefeed=options.changefeed)
        ) as target,
    ):
        return tuple(Store(target, options.changefeed).schemas().values())
    return ()


def _faults(value: bytes, error: str) -> list[int]:
    """Where in the value an error may be about."""
    if position := _CHARACTER.search(error):
        at = int(position[2])
        if position[1] == "byte":
            return [at]
        return [len(value.decode(errors="surrogateescape")[:at].encode(errors="surrogateescape"))]
    if column := _COLUMN.search(error):
        name = re.escape(json.dumps(column[1], ensure_ascii=False).encode())
        return [match.start() for match in re.finditer(name, value)][:MOST_EXCERPTS]
    return []


def _around(value: bytes, at: int) -> Excerpt:
    begin = max(0, at - AROUND) // _ROW * _ROW
    return Excerpt(begin, value[begin : at + AROUND], at)


def as_text(inspection: Inspection) -> str:
    """For people."""
    return "\n".join(map(visible, _lines(inspection)))


def _lines(inspection: Inspection) -> Iterator[str]:
    record, plain = inspection.record, inspection.plain
    yield f"message  {record.where}{_at(inspection.time)}"
    yield f"key      {_size(record.key)}"
    inflated = "" if plain == record.value else f", {_size(plain)} inflated"
    yield f"value    {_size(record.value)}{inflated}"
    for header in inspection.headers:
        yield f"header   {header}"
    for event in inspection.events:
        yield f"event    {event}"
    for row in inspection.waiting:
        yield f"row      of {row}: its schema is not known"
    if inspection.error is None:
        if not inspection.events and not inspection.waiting:
            yield "event    none: a run passes over this message"
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
    """The value as JSON, if it is JSON but not what the protocol allows; Open Protocol's begins
    with its length."""
    for text in (value or b"", (value or b"")[8:]):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return None


def as_json(inspection: Inspection) -> dict[str, object]:
    """For programs. A TSO is a text."""
    record, error = inspection.record, inspection.error
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "time": inspection.time,
        "key_bytes": None if record.key is None else len(record.key),
        "value_bytes": None if record.value is None else len(record.value),
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
