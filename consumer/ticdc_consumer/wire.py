"""The configured protocol, as the scout and the tasks read it."""

import time
from collections.abc import Callable
from typing import Any

from ticdc_encoder.compression import inflate
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Event, Resolved
from ticdc_encoder.formats import FORMATS, canal_json, open_protocol

from ticdc_consumer.errors import Stop
from ticdc_consumer.options import Options

Decode = Callable[[bytes | None, bytes | None], list[Event]]

PHYSICAL_SHIFT = 18
"""A TSO is `milliseconds << 18 | logical`."""


def decoder(options: Options) -> Decode:
    """The protocol's decoder, with what the bytes do not tell taken from the options."""
    decode_with, known = FORMATS[options.protocol].decode, settings(options)

    def decode(key: bytes | None, value: bytes | None) -> list[Event]:
        return decode_with(key, value, known)

    return decode


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
        case _:
            return FORMATS[options.protocol].Options()


def may_be_control(options: Options) -> Callable[[bytes | None, bytes | None], bool]:
    """A quick test that lets every resolved message and DDL pass, and few rows.

    What passes is decoded in full, so a row that imitates either stays a row.
    """
    match options.protocol:
        case "canal-json":
            inflated = options.compression != "none"

            def canal(key: bytes | None, value: bytes | None) -> bool:
                if value is None:
                    return True
                if inflated:
                    value = inflate(value, options.compression, options.message_limit)
                return b'"isDdl":false' not in value or b"TIDB_WATERMARK" in value

            return canal
        case "open-protocol":
            return lambda key, value: (
                key is None or b'"t":1' not in key or b'"t":2' in key or (b'"t":3' in key)
            )
        case _:
            return lambda key, value: True


def latest_sane(options: Options) -> int:
    """The greatest commit_ts that is believed now: `[limits] future_limit` ahead of our clock."""
    return int((time.time() + options.future_limit) * 1000) << PHYSICAL_SHIFT


def check_ts(event: Event, latest: int) -> None:
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
