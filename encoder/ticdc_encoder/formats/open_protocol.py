"""TiCDC Open Protocol."""

from dataclasses import dataclass
from typing import Literal

from ticdc_encoder.compression import Compression
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange
from ticdc_encoder.formats.format import Clock, Record, wall_clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`time_zone` is that of the TiCDC server: TIMESTAMP is written in it, and left in it by
    `decode`. `message_limit` bounds what a compressed value may inflate to."""

    only_output_updated_columns: bool = False
    delete_only_output_handle_key_columns: bool = False
    output_old_value: bool = True
    max_batch_size: int = 16
    time_zone: str = "UTC"
    compression: Compression = "none"
    large_message_handle_option: Literal["none", "handle-key-only"] = "none"
    max_message_bytes: int = 10485760
    message_limit: int = 256 << 20
    classic: bool = False


def decode(key: bytes | None, value: bytes | None, options: Options) -> list[Event]:
    return []


class Encoder:
    def __init__(self, options: Options, clock: Clock = wall_clock) -> None:
        self.options = options
        self.clock = clock

    def row(self, change: RowChange) -> list[Record]:
        return []

    def flush(self) -> list[Record]:
        return []

    def ddl(self, ddl: Ddl) -> Record:
        return None, None

    def resolved(self, resolved: Resolved) -> Record:
        return None, None
