"""The configured protocol, as the scout and the tasks read it."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ticdc_encoder.errors import ConfigError, TicdcError
from ticdc_encoder.event import Event, Resolved, Table
from ticdc_encoder.formats import FORMATS, avro, canal_json, debezium, open_protocol, simple
from ticdc_encoder.formats.compression import inflate
from ticdc_encoder.formats.registry import ConfluentRegistry
from ticdc_encoder.formats.simple import Waiting
from ticdc_encoder.tso import compose

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.schemas import SimpleReader

Decode = Callable[[bytes | None, bytes | None], list[Event]]


class Decoder(Protocol):
    """A record's events. Where the protocol has schemas of its own (Simple), rows that lack theirs
    are `unread`, and forgotten, and `told` are the schemas that came; both since the last call."""

    def __call__(self, key: bytes | None, value: bytes | None) -> list[Event]: ...

    def unread(self) -> Sequence[Waiting]: ...

    def told(self) -> Sequence[Table]: ...


@dataclass(frozen=True, slots=True)
class PlainDecoder:
    """A protocol without memory."""

    decode: Decode

    def __call__(self, key: bytes | None, value: bytes | None) -> list[Event]:
        return self.decode(key, value)

    def unread(self) -> Sequence[Waiting]:
        return ()

    def told(self) -> Sequence[Table]:
        return ()


def decoder(options: Options, schemas: Iterable[Table] = ()) -> Decoder:
    """The protocol's decoder, with what the bytes do not tell taken from the options. `schemas` are
    Simple's, as far as they are known."""
    if options.storage_url is not None:
        return PlainDecoder(lambda key, value: [])  # files are no messages
    known = settings(options)
    if isinstance(known, simple.Options):
        return SimpleReader(known, schemas)
    decode = FORMATS[options.protocol].decode
    return PlainDecoder(lambda key, value: decode(key, value, known))


def settings(options: Options) -> Any:
    """The format's own options."""
    match options.protocol:
        case "canal-json":
            return canal_json.Options(
                time_zone=options.time_zone,
                compression=options.compression,
                message_limit=options.message_limit,
            )
        case "open-protocol":
            return open_protocol.Options(
                time_zone=options.time_zone,
                compression=options.compression,
                message_limit=options.message_limit,
            )
        case "simple":
            return simple.Options(
                encoding_format=options.encoding_format,
                time_zone=options.time_zone,
                compression=options.compression,
                message_limit=options.message_limit,
                on_corruption="warn",  # what to do is said where the key is known
            )
        case "debezium":
            return debezium.Options(
                time_zone=options.time_zone,
                compression=options.compression,
                message_limit=options.message_limit,
                require_types=True,
            )
        case "avro":
            return avro.Options(
                registry=ConfluentRegistry(options.registry),
                time_zone=options.time_zone,
                on_corruption="warn",  # what to do is said where the key is known
            )
        case _:
            raise ConfigError(f"{options.protocol} is not read")


_IN_UTC = frozenset({"simple", "debezium"})


def zone_of_rows(options: Options) -> str:
    """The zone in which the decoder gives TIMESTAMP: UTC where the messages name theirs."""
    return "UTC" if options.protocol in _IN_UTC else options.time_zone


Test = Callable[[bytes | None, bytes | None], bool]


def may_be_control(options: Options) -> Test:
    """A quick test that lets every resolved message and DDL pass, and few rows.

    What passes is decoded in full, so a row that imitates either stays a row.
    """
    test = _TESTS.get(options.protocol)
    if test is None:
        return lambda key, value: True
    if options.compression == "none" or options.protocol in ("open-protocol", "avro"):
        # Open Protocol's keys, which it looks at, are never compressed; Avro has no compression.
        return test

    def inflated(key: bytes | None, value: bytes | None) -> bool:
        if value is None:
            return True
        return test(key, inflate(value, options.compression, options.message_limit))

    return inflated


def _canal_control(key: bytes | None, value: bytes | None) -> bool:
    return value is None or b'"isDdl":false' not in value or b"TIDB_WATERMARK" in value


def _open_control(key: bytes | None, value: bytes | None) -> bool:
    return key is None or b'"t":1' not in key or b'"t":2' in key or b'"t":3' in key


def _simple_control(key: bytes | None, value: bytes | None) -> bool:
    """A row's first member behind the version is its database, or its first bytes say DML."""
    return value is None or not value.startswith((b'{"version":1,"database":"', b"\x16\x06\x06"))


def _debezium_control(key: bytes | None, value: bytes | None) -> bool:
    """A row has one of three `op`; a quote inside a string would be escaped."""
    return (
        value is None
        or b'"op":"m"' in value
        or not (b'"op":"c"' in value or b'"op":"u"' in value or b'"op":"d"' in value)
    )


def _avro_control(key: bytes | None, value: bytes | None) -> bool:
    return not key and (not value or value[:1] in (avro.DDL, avro.RESOLVED))


_TESTS: dict[str, Test] = {
    "avro": _avro_control,
    "debezium": _debezium_control,
    "canal-json": _canal_control,
    "open-protocol": _open_control,
    "simple": _simple_control,
}


WITHOUT_MARKS: dict[str, str] = {
    "avro": "avro-enable-watermark=true and enable-tidb-extension=true",
    "canal-json": "enable-tidb-extension=true",
    "debezium": "enable-tidb-extension=true (of TiCDC 8.5.4's new architecture, or 9.0)",
}
"""The settings of a sink URI without which a protocol has no resolved ts."""


def latest_sane(options: Options) -> int:
    """The greatest commit_ts that is believed now: `[limits] future_limit` ahead of our clock."""
    return compose(int((time.time() + options.future_limit) * 1000))


def check_ts(event: Event | Waiting, latest: int) -> None:
    """Raises `Stop` for a timestamp that cannot be one. Nothing is selected by it."""
    ts = event.resolved_ts if isinstance(event, Resolved) else event.commit_ts
    if not 0 < ts <= latest:
        what = "resolved ts" if isinstance(event, Resolved) else "commit_ts"
        why = "is not positive" if ts <= 0 else "lies too far in the future (limits.future_limit)"
        raise Stop(f"{what} {ts} {why}")


def located(error: TicdcError, topic: str, partition: int, offset: int) -> TicdcError:
    """The error, with the place it was found at."""
    error.add_note(f"at {place_text(topic, partition)} offset {offset}")
    return error


def place_text(topic: str, partition: int) -> str:
    return f"{topic}[{partition}]"
