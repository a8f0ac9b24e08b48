"""The state of a quarantined table while its log is read up to the changefeed's R."""

from typing import Literal

from ticdc_consumer import failpoints
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store


class TableStore(Store):
    """A store whose cuts move the table's row in `ticdc_quarantine`, not the checkpoint; the cut
    that reaches the changefeed's R removes the row. Each cut first locks the changefeed's
    checkpoint, and leaves it unchanged."""

    table: SetAside
    goal: Checkpoint
    """The changefeed's checkpoint."""

    @classmethod
    def of(cls, store: Store, table: SetAside, goal: Checkpoint) -> "TableStore":
        """Builds the table's store with the lease and the ledger of `store`, which uses them again
        after."""
        keep_dropped, where = store.ledger.keep_dropped, store.where
        own = cls(store.target, store.changefeed, keep_dropped, where, store.monitor)
        own.lease, own.ledger, own.table, own.goal = store.lease, store.ledger, table, goal
        return own

    def rejoin(self, retries: int) -> None:
        """Ends the quarantine of a table that is already at the changefeed's R, where no cut would
        end it."""

        def attempt() -> None:
            with self.target.transaction():
                self.lock(self.goal)
                self.quarantine.remove(self.table)
                failpoints.hit("release-commit")
            failpoints.hit("released")

        def happened() -> bool:
            self.reconnect()
            return self.quarantine.get(self.table.name) is None

        until_known(self, retries, attempt, happened)

    def lock(self, old: Checkpoint) -> None:
        super().lock(self.goal)

    def write(self, old: Checkpoint, new: Checkpoint) -> None:
        before = self.table.moved(old)
        if new.resolved_ts == self.goal.resolved_ts:
            self.quarantine.remove(before)
        else:
            self.quarantine.move(before, before.moved(new))
        self._write_schemas(old.schemas, new.schemas)

    def resolve_unknown(self, old: Checkpoint, new: Checkpoint) -> Literal["new", "old"]:
        reached = self.reconnect()
        if reached != self.goal.resolved_ts:
            raise self._moved(self.goal, reached)
        table = self.quarantine.get(self.table.name)
        now = self.goal.resolved_ts if table is None else table.resolved_ts
        if now not in (old.resolved_ts, new.resolved_ts):
            raise self._moved(old, now)
        return "new" if now == new.resolved_ts else "old"
