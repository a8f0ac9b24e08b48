"""Marks of a changefeed in its source: resolved timestamps and DDL, with their places."""

from dataclasses import dataclass
from typing import NamedTuple

from ticdc_encoder.event import Ddl

TopicPartition = tuple[str, int]
"""Topic and partition. A storage's directory of numbered files is a topic with partition 0."""

DdlIdentity = tuple[int, str, str, str]
"""commit_ts, schema, table and SQL, which all copies of one DDL have in common."""


class Span(NamedTuple):
    """The offsets [`start`, `end`) of a cut's partition, by its number in sorted order."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A resolved message: `time` is its Kafka timestamp in ms, `crc` that of key and value."""

    resolved_ts: int
    offset: int = 0
    topic: str = ""
    time: int = 0
    crc: int = 0


@dataclass(frozen=True, slots=True)
class SeenDdl:
    """A DDL, and the place of its first copy in partition 0."""

    ddl: Ddl
    topic: str
    offset: int

    @property
    def identity(self) -> DdlIdentity:
        return self.ddl.commit_ts, self.ddl.schema, self.ddl.table, self.ddl.query
