"""The state that a changefeed has durably reached."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ticdc_encoder.event import Table

from ticdc_consumer.config.options import Settings
from ticdc_consumer.protocols.schemas import SchemaKey
from ticdc_consumer.state.scope import check_scope, scope_hash, scope_text


@dataclass(frozen=True, slots=True)
class Position:
    """Start of the next read of one partition.

    `topic_id` is "" if the broker has none; the offset and the CRC of the last mark read then show
    whether the topic was recreated.
    """

    topic: str
    topic_id: str
    partition: int
    restart_offset: int
    mark_offset: int | None = None
    mark_crc: int | None = None


WHOLE = "whole"
"""Counter: 1 if the changefeed began with its whole log, or with a load. Then only tables that it
knows have rows. Absent after `from_ts`, and in checkpoints of earlier releases."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The durable state of a changefeed: the target equals the upstream at `resolved_ts`.

    `positions` holds every listed partition, by (topic, partition). `mark_time` is the Kafka
    timestamp (ms) of the mark that proved `resolved_ts`. `counters` are sums since the beginning.
    `schemas` are the Simple schemas that rows behind `positions` may need.
    """

    changefeed: str
    generation: int
    resolved_ts: int
    scope: str
    mark_time: int
    positions: Mapping[tuple[str, int], Position]
    counters: Mapping[str, int] = field(default_factory=dict)
    scope_text: str = "{}"
    schemas: Mapping[SchemaKey, Table] = field(default_factory=dict)

    @classmethod
    def first(
        cls,
        options: Settings,
        resolved_ts: int,
        positions: Mapping[tuple[str, int], Position],
        mark_time: int = 0,
    ) -> "Checkpoint":
        """The checkpoint of a changefeed that begins at `resolved_ts`."""
        return cls(
            options.changefeed,
            1,
            resolved_ts,
            scope_hash(options),
            mark_time,
            positions,
            {WHOLE: 1} if options.from_ts is None else {},
            scope_text(options),
        )

    @property
    def empty_at(self) -> int | None:
        """R, if a table that is still unknown must have no rows."""
        return self.resolved_ts if not self.resolved_ts or WHOLE in self.counters else None

    def check_scope(self, options: Settings) -> None:
        """Raises `Stop`, naming the changes, if `options` have another scope and something was
        already applied."""
        if self.resolved_ts:
            check_scope(self.changefeed, self.resolved_ts, self.scope, self.scope_text, options)
