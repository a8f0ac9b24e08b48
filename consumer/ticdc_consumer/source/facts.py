"""Facts of a source's log at one time, to explain why nothing is applied."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ticdc_consumer.source.marks import TopicPartition

TableName = tuple[str, str]

AGED = 0.8
"""Share of its retention after which a message is soon deleted."""


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """A partition, whose log is [`begin`, `end`). Of its last messages: the time of the newest, in
    seconds since 1970; the greatest resolved ts; the number of row changes by commit_ts. `aged` is
    the offset from which on messages are younger than AGED of the retention, if known."""

    begin: int
    end: int
    newest: float | None = None
    resolved_ts: int = 0
    rows: Mapping[int, int] = field(default_factory=dict)
    aged: int | None = None


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Facts of a source. `retention` is in seconds, by topic, where it is limited. `tails`: whether
    the last messages of all partitions were read; `tables` are those of their rows, of which the
    filter lets `passing` through. `topic_ids` are the brokers' own, if they have any."""

    partitions: Mapping[TopicPartition, PartitionFacts]
    retention: Mapping[str, float] = field(default_factory=dict)
    tails: bool = False
    tables: frozenset[TableName] = frozenset()
    passing: frozenset[TableName] = frozenset()
    topic_ids: Mapping[str, str] = field(default_factory=dict)

    @property
    def newest(self) -> float | None:
        """Time of the newest message of all partitions."""
        return max((p.newest for p in self.partitions.values() if p.newest), default=None)
