"""A Kafka record, before it is produced or after it was consumed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """`key` and `value` are the record's bytes; TiCDC sets no headers."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
