"""One step of the target, from a checkpoint to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ticdc_encoder.event import Table

from ticdc_consumer.cut.apply.before_commit import BeforeCommit
from ticdc_consumer.cut.apply.repair import Repair
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.targets.layout import Layout, TableName


@dataclass(frozen=True, slots=True)
class Step:
    """From which checkpoint to which. `entries` are the DDL of the cut, `seen` the
    tables whose columns, as rows showed them, are news for the ledger, `declared` those whose
    definition the upstream was asked for; `newcomers` those that it
    does not know yet; `waiting` counts the rows of each table that is quarantined, which may be
    none. `copies` are those that are loaded beside those in use (`ddl.beside`), `repair` rows that
    are put right beside those of the cut, `before_commit` what a program does with them."""

    old: Checkpoint
    new: Checkpoint
    entries: Sequence[LedgerEntry] = ()
    seen: Sequence[Table] = ()
    newcomers: Sequence[TableName] = ()
    waiting: Mapping[TableName, int] = field(default_factory=dict)
    copies: Mapping[TableName, str] = field(default_factory=dict)
    repair: Repair | None = None
    declared: Sequence[Table] = ()
    before_commit: BeforeCommit | None = None

    def with_copy(self, layout: Layout) -> tuple[Layout, ...]:
        """The table of a layout, and the one that is loaded beside it."""
        copy = self.copies.get((layout.schema, layout.table))
        return (layout,) if copy is None else (layout, replace(layout, relation=copy))

    def record_tables(self, ledger: Ledger) -> None:
        """What the rows, or the upstream, show of their tables; inside the transaction of the
        rows."""
        if self.declared:
            ledger.define_all(self.declared, "declared")
        if self.seen:
            ledger.define_all(self.seen, "seen")
        known = ledger.known().destinations
        if unknown := [name for name in self.newcomers if name not in known]:
            ledger.note_all(unknown)
