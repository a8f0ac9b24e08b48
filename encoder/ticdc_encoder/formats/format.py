"""What a wire format is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from time import time_ns
from typing import Any, Protocol

from ticdc_encoder.event import Ddl, Event, Resolved, RowChange

Record = tuple[bytes | None, bytes | None]
"""A Kafka record's key and value."""

Clock = Callable[[], int]
"""Milliseconds since the epoch, for the members that say when a message was made."""


def wall_clock() -> int:
    return time_ns() // 1_000_000


class Encoder(Protocol):
    """Writes the events of one (topic, partition), in their order."""

    def row(self, change: RowChange) -> list[Record]:
        """The records that this row completes. TIMESTAMP values of the row are in UTC."""

    def flush(self) -> list[Record]:
        """What is still open: due before every `ddl` and `resolved`, and at the end."""

    def ddl(self, ddl: Ddl) -> Record: ...

    def resolved(self, resolved: Resolved) -> Record: ...


@dataclass(frozen=True, slots=True)
class Format:
    """A protocol: `decode(key, value, options)` is pure and raises `WireError` for anything that
    the protocol does not say; `Encoder(options, clock)` writes; `Options` is a frozen dataclass of
    keywords, named as TiCDC's settings are, that both take."""

    decode: Callable[[bytes | None, bytes | None, Any], list[Event]]
    Encoder: Callable[..., Encoder]
    Options: Callable[..., Any]
