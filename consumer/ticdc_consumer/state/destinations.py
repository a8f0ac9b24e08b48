"""Which table of the target the rows of an upstream table go to."""

from dataclasses import dataclass
from typing import Protocol

from ticdc_encoder.filters.table import TableFilter

from ticdc_consumer.config.merging import Merging, Shard
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.routing import Routes
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.target import Target


class Destinations(Protocol):
    """Upstream table -> table of the target."""

    def of(self, name: TableName) -> TargetName | None:
        """The target's table; None if the rows of `name` are left out."""

    def comparable(self, destination: TargetName) -> TargetName:
        """Equal for two names if and only if the target has one table for both."""

    def shard(self, name: TableName) -> Shard | None:
        """What tells the rows of `name` from those of other tables with the same destination."""


class Unrouted:
    """As if every name were the target's: what is compared where there is no target."""

    def of(self, name: TableName) -> TargetName | None:
        return name

    def comparable(self, destination: TargetName) -> TargetName:
        return destination

    def shard(self, name: TableName) -> Shard | None:
        return None


@dataclass(frozen=True, slots=True)
class InTarget:
    """By `[tables] filter`, `route` and `merge`, and as the target names its tables."""

    target: Target
    routes: Routes
    tables: TableFilter
    merging: Merging

    @classmethod
    def by(cls, options: Settings, target: Target) -> "InTarget":
        case_sensitive = options.case_sensitive
        return cls(
            target,
            Routes(options.route, case_sensitive=case_sensitive),
            TableFilter(options.filter, case_sensitive=case_sensitive),
            Merging(options.merge, case_sensitive=case_sensitive),
        )

    @classmethod
    def unrouted(cls, target: Target) -> "InTarget":
        """Without any setting."""
        return cls(target, Routes({}), TableFilter(("*.*",)), Merging({}))

    def of(self, name: TableName) -> TargetName | None:
        if not self.tables.matches(*name):
            return None
        return self.target.locate(*self.routes(*name))

    def comparable(self, destination: TargetName) -> TargetName:
        return self.target.comparable(destination)

    def shard(self, name: TableName) -> Shard | None:
        return self.merging.shard(*name)


def apart(where: Destinations, one: TableName, other: TableName) -> bool:
    """Whether the same column tells the rows of both from each other."""
    mine, theirs = where.shard(one), where.shard(other)
    return mine is not None and theirs is not None and mine.column == theirs.column
