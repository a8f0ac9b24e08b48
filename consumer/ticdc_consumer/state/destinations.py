"""The table of the target that holds the rows of an upstream table."""

from dataclasses import dataclass
from typing import Protocol

from ticdc_encoder.filters.table import TableFilter

from ticdc_consumer.config.merging import Merging, Shard
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.routing import Routes
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.target import Target


class Destinations(Protocol):
    """Map from an upstream table to its table of the target."""

    def of(self, name: TableName) -> TargetName | None:
        """The target's table; None if the rows of `name` are left out."""

    def comparable(self, destination: TargetName) -> TargetName:
        """A name that is equal for two destinations if and only if they are one table of the
        target."""

    def shard(self, name: TableName) -> Shard | None:
        """The value that tells the rows of `name` from those of other tables with its
        destination."""


class Unrouted:
    """Upstream names taken as the target's: for comparisons without a target."""

    def of(self, name: TableName) -> TargetName | None:
        return name

    def comparable(self, destination: TargetName) -> TargetName:
        return destination

    def shard(self, name: TableName) -> Shard | None:
        return None


@dataclass(frozen=True, slots=True)
class InTarget:
    """Destinations by `[tables] filter`, `route` and `merge`, named as the target names its
    tables."""

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
        """The destinations without any setting."""
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
    """Returns whether one column tells the rows of both tables from each other."""
    mine, theirs = where.shard(one), where.shard(other)
    return mine is not None and theirs is not None and mine.column == theirs.column
