"""The state of a table that is quarantined, while its log is read up to the changefeed's R."""

from typing import Literal

from ticdc_consumer import failpoints
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store


class TableStore(Store):
    """In place of the changefeed's checkpoint, cuts move the table's row in `ticdc_quarantine`; the
    one that reaches the changefeed's R removes it. The changefeed's checkpoint is locked before,
    and stays as it is."""

    table: SetAside
    goal: Checkpoint
    """The changefeed's checkpoint."""

    @classmethod
    def of(cls, store: Store, table: SetAside, goal: Checkpoint) -> "TableStore":
        """With the lease that `store` has taken, and its ledger: `store` goes on with it after."""
        keep_dropped, where = store.ledger.keep_dropped, store.where
        own = cls(store.target, store.changefeed, keep_dropped, where, store.monitor)
        own.lease, own.ledger, own.table, own.goal = store.lease, store.ledger, table, goal
        return own

    def rejoin(self, retries: int) -> None:
        """Ends it for a table that is at the changefeed's R already: no cut of a release does."""

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
