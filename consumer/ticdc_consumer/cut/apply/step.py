"""One step of the target, from one checkpoint to the next."""

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
    """The old and new checkpoint, and the work between them. `entries` are the cut's DDL; `seen`
    the tables whose columns, as rows showed them, the ledger lacks; `declared` those whose
    definition the upstream gave; `newcomers` those unknown to the ledger. `waiting` counts the rows
    of each quarantined table, 0 included. `copies` are tables loaded next to those in use
    (`ddl.beside`), `repair` rows repaired with the cut, `before_commit` the program's own work."""

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
        """Returns the layout's table, and its copy that is being loaded."""
        copy = self.copies.get((layout.schema, layout.table))
        return (layout,) if copy is None else (layout, replace(layout, relation=copy))

    def record_tables(self, ledger: Ledger) -> None:
        """Records the tables as rows or the upstream show them, inside the rows' transaction."""
        if self.declared:
            ledger.define_all(self.declared, "declared")
        if self.seen:
            ledger.define_all(self.seen, "seen")
        known = ledger.known().destinations
        if unknown := [name for name in self.newcomers if name not in known]:
            ledger.note_all(unknown)
