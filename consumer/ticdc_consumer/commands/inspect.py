"""Decodes one message of a topic as far as possible, and shows the bytes around its fault."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import confluent_kafka
from confluent_kafka import Message as KafkaMessage
from ticdc_encoder.cli.decode import json_line
from ticdc_encoder.errors import TicdcError
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
"""Most places of a possible error that are shown."""
_ROW = 16

_CHARACTER = re.compile(r"\bat (byte|character) (\d+)")
_COLUMN = re.compile(r"\bcolumn `([^`]+)`")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Part of a value, decompressed, from byte `begin` on; `fault` is the first wrong byte, None if
    it is unknown."""

    begin: int
    data: bytes
    fault: int | None

    def lines(self) -> Iterator[str]:
        """Sixteen bytes a line; the line with the fault is marked."""
        for start in range(0, len(self.data), _ROW):
            row = self.data[start : start + _ROW]
            at = self.begin + start
            marked = self.fault is not None and at <= self.fault < at + _ROW
            text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
            yield f"{'>' if marked else ' '} {at:08x}  {row.hex(' '):<{_ROW * 3 - 1}}  {text}"


@dataclass(frozen=True, slots=True)
class Inspection:
    """A message and its decoding: its events as lines of JSON, then the error, if any.

    `time` is Kafka's, in seconds since 1970; `plain` is the decompressed value; `waiting` are
    tables and versions of rows that wait for their Simple schema.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    time: float | None
    headers: Sequence[str]
    plain: bytes | None
    events: Sequence[str]
    waiting: Sequence[str]
    error: TicdcError | None

    @property
    def where(self) -> str:
        return _where(self.topic, self.partition, self.offset)

    @property
    def excerpts(self) -> list[Excerpt]:
        """Excerpts around the possible places of the error; the beginning, if unknown."""
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
    where = _where(topic, partition, offset)
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
    return Inspection(
        topic,
        partition,
        offset,
        record.key,
        record.value,
        time,
        headers,
        plain,
        events,
        waiting,
        error,
    )


def _where(topic: str, partition: int, offset: int) -> str:
    return f"{partition_text(topic, partition)} offset {offset}"


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
    """The stored Simple schemas, if the target can be asked for them."""
    with (
        suppress(TicdcError),
        closing(
            open_target(options.target_url, to_look=True, changefeed=options.changefeed)
        ) as target,
    ):
        return tuple(Store(target, options.changefeed).schemas().values())
    return ()


def _faults(value: bytes, error: str) -> list[int]:
    """Offsets in the value to which an error may refer."""
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
