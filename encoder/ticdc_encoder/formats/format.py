"""What a wire format is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from time import time_ns
from typing import Any, Literal, Protocol

from ticdc_encoder.errors import TicdcError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange

Record = tuple[bytes | None, bytes | None]
"""A Kafka record's key and value."""

Clock = Callable[[], int]
"""Milliseconds since the epoch, for the members that say when a message was made."""

LargeMessageHandle = Literal["none", "handle-key-only", "claim-check"]
"""An encoder by itself takes `claim-check` for `none`: see `ClaimCheckEncoder`."""

RECORD_OVERHEAD = 36
"""What TiCDC counts for a Kafka record beside its key and value."""


class MessageTooLarge(TicdcError):
    """A row beyond max-message-bytes, for which a changefeed would stop."""


class MissingCommitTs(WireError):
    """A message without a commit_ts: what it says cannot be placed in time."""


def wall_clock() -> int:
    return time_ns() // 1_000_000


def timestamp(value: Any, name: str) -> int:
    """The value of the member `name`, if it is a TSO."""
    if value.__class__ is not int or not 0 < value < 1 << 64:
        raise WireError(f"{name} is not a timestamp of 1 to 2^64 - 1")
    return value


class Encoder(Protocol):
    """Writes the events of one (topic, partition), in their order."""

    def row(self, change: RowChange) -> list[Record]:
        """The records that this row completes. TIMESTAMP values of the row are in UTC."""

    def flush(self) -> list[Record]:
        """What is still open: due before every `ddl` and `resolved`, and at the end."""

    def ddl(self, ddl: Ddl) -> Record: ...

    def resolved(self, resolved: Resolved) -> Record:
        """Raises ConfigError where the protocol, with these options, has no such message."""


@dataclass(frozen=True, slots=True)
class Format:
    """A protocol: `decode(key, value, options)` is pure and raises `WireError` for anything that
    the protocol does not say; `Encoder(options, clock)` writes; `Options` is a frozen dataclass of
    keywords, named as TiCDC's settings are, that both take."""

    decode: Callable[[bytes | None, bytes | None, Any], list[Event]]
    Encoder: Callable[..., Encoder]
    Options: Callable[..., Any]
    Decoder: Callable[..., Any] | None = None
