"""The context of every step of a DDL."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ticdc_encoder.event import Table
from ticdc_encoder.sql.statements import Statement

from ticdc_consumer.config.merging import Shard
from ticdc_consumer.config.options import Settings
from ticdc_consumer.ddl.names import Route, in_target, statement_in_database
from ticdc_consumer.ddl.policy import Policy
from ticdc_consumer.state.known_tables import Definitions
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.state.other_changefeeds import OtherChangefeeds
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.target import Target

if TYPE_CHECKING:
    import pyarrow as pa


class Snapshot(Protocol):
    """A table of the upstream as of one timestamp. Raises `Stop` for data that cannot be read yet,
    or any more."""

    @property
    def table(self) -> Table: ...

    def chunks(self) -> Iterator[Iterator[list["pa.Array"]]]:
        """Yields the rows, in chunks of a bounded size, each in batches: arrays of canonical values
        (`targets.layout`) for each column that TiCDC sends."""


SnapshotOf = Callable[[TableName, int], AbstractContextManager[Snapshot]]
"""Opens a table of the upstream, as of a timestamp."""


@dataclass(frozen=True, slots=True)
class DdlContext:
    """The context of DDL on one target, kept as long as the target is open.

    `ledger` holds the definitions in memory, as the last finished DDL left them. `rules` are the
    accepted rules of column types (`[target] rules`). `snapshot_of` reads `[source] upstream`, if
    that is set. `load_missing`: whether a table that TiCDC left out is loaded from there.
    """

    target: Target
    ledger: Ledger
    route: Route
    rules: frozenset[str] = frozenset()
    policy: Policy = field(default_factory=Policy)
    snapshot_of: SnapshotOf | None = None
    load_missing: bool = False

    @classmethod
    def of(
        cls,
        options: Settings,
        target: Target,
        ledger: Ledger,
        route: Route,
        snapshot_of: SnapshotOf | None = None,
    ) -> "DdlContext":
        policy, load_missing = Policy.of(options), options.ddl_load_missing
        return cls(target, ledger, route, options.rules, policy, snapshot_of, load_missing)

    @property
    def definitions(self) -> Definitions:
        """Returns the tables whose CREATE TABLE came through the stream."""
        return self.ledger.definitions()

    @property
    def others(self) -> OtherChangefeeds:
        """Returns the other changefeeds of the target."""
        where = self.ledger.known().where
        return OtherChangefeeds(self.target, self.ledger.changefeed, where)

    def statement(self, entry: LedgerEntry) -> Statement:
        """Returns an entry's statement, with names in the tables' own spelling. Raises `Stop`,
        `DefinitionError`."""
        return statement_in_database(entry, self.definitions, self.ledger)

    def shard(self, name: TableName) -> Shard | None:
        """Returns the shard that distinguishes the rows of a merged table from other tables'
        rows."""
        return self.ledger.known().where.shard(name)

    def locate(self, name: TableName) -> TargetName:
        """Returns the place of an upstream table in the target. Raises `Stop` for the consumer's
        own tables."""
        return in_target(self.target, self.route, name)
