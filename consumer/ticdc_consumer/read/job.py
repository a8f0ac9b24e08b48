"""What a task that reads is given, and how far it is."""

from collections.abc import Mapping
from dataclasses import dataclass

from ticdc_encoder.event import Table

from ticdc_consumer.config.options import Options
from ticdc_consumer.plan import restart_offset
from ticdc_consumer.read.facts import Shape
from ticdc_consumer.source import TaskSource
from ticdc_consumer.source.marks import DdlIdentity, TopicPartition
from ticdc_consumer.targets.layout import Layout


@dataclass(frozen=True, slots=True)
class ReadJob:
    """What all tasks of one cut need; pickled to them. `latest` bounds what is believed."""

    options: Options
    source: TaskSource
    begin: int
    end: int
    latest: int
    places: tuple[TopicPartition, ...]
    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]
    joined: frozenset[TopicPartition]
    proof_time: int
    known_ddls: frozenset[DdlIdentity]
    layouts: tuple[Layout, ...]
    shapes: Mapping[tuple[str, str], tuple[int, Shape | None]]
    """Upstream (schema, table) -> the number of its layout, and the shape that it was made for:
    None where only DELETEs were seen, which need not carry all columns."""
    most_bytes: int
    """Encoded facts that one task may give before it calls the cut too large; 0: any number."""
    schemas: tuple[Table, ...] = ()
    """Simple's, by which rows are read."""


@dataclass(slots=True)
class Progress:
    """How far one partition was read."""

    place: TopicPartition
    number: int
    end: int
    position: int
    done: bool = False
    stopped_at: int | None = None
    stopped_above: bool = False
    least_kept: int | None = None
    mark: tuple[int, int] | None = None

    def keep(self, offset: int) -> None:
        if self.least_kept is None:
            self.least_kept = offset

    @property
    def restart(self) -> int:
        return restart_offset(self.end, self.stopped_at, self.stopped_above, self.least_kept)
