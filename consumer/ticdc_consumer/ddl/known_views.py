"""The views that came through the stream, in the target or left out.

The translation of views is in `views`, which imports sqlglot: callers that only list views need not
wait for it.
"""

from dataclasses import dataclass, replace

from ticdc_encoder.sql.statements import CreateView, DropSchema, DropView

from ticdc_consumer.ddl.names import understood
from ticdc_consumer.ddl.shared.databases import UpstreamDatabases
from ticdc_consumer.errors import DDL_RUN
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.schema.alteration import Alteration

Order = tuple[int, int]
"""(commit_ts, seq) of a DDL."""
LAST: Order = (1 << 64, 0)
"""The order after every DDL."""


@dataclass(frozen=True, slots=True)
class KnownView:
    """A view that came through the stream, by its last CREATE VIEW."""

    entry: LedgerEntry
    view: CreateView

    @property
    def by_operator(self) -> bool:
        """Returns whether an operator did the work of the CREATE VIEW."""
        return bool(self.entry.instead or self.entry.reason)


def known(ledger: Ledger, before: Order = LAST) -> dict[TableName, KnownView]:
    """Returns the views that came through the stream before a DDL, and are in the target."""
    return {
        name: KnownView(entry, statement)
        for name, (entry, statement) in created_upstream(ledger, before).items()
        if entry.state == "done"
    }


def left_out(ledger: Ledger, before: Order = LAST) -> dict[TableName, LedgerEntry]:
    """Returns the views that upstream has before a DDL and the target lacks, by their last CREATE
    VIEW, whose reason tells why."""
    return {
        name: entry
        for name, (entry, _) in created_upstream(ledger, before).items()
        if entry.state == "skipped"
    }


def note_left_out(ledger: Ledger, work: Alteration) -> list[LedgerEntry]:
    """Writes in a statement's transaction which views are missing after it; returns them."""
    entries = []
    for order, reason in work.views_left_out:
        view = ledger.entry(order)
        assert view is not None  # `around` has it from there
        entries.append(replace(view, state="skipped", reason=reason))
        ledger.mark(entries[-1])
    return entries


def warning_of(entry: LedgerEntry) -> str:
    """Returns the warning for a view that is left out."""
    return (
        f"view {entry.schema}.{entry.table} is left out, and the tables continue: "
        f"{entry.reason}; to have it, write a CREATE VIEW for the target to a file, and run "
        "once: " + DDL_RUN.format(config="CONFIG", id=entry.id)
    )


def is_create(entry: LedgerEntry) -> bool:
    """Returns whether a DDL creates a view."""
    if not entry.of_schema_or_view:
        return False
    return isinstance(understood(entry.query, entry.schema), CreateView)


def created_upstream(
    ledger: Ledger, before: Order = LAST
) -> dict[TableName, tuple[LedgerEntry, CreateView]]:
    """Returns each view by its last CREATE VIEW."""
    result: dict[TableName, tuple[LedgerEntry, CreateView]] = {}
    databases = UpstreamDatabases()
    for entry in ledger.of_schemas_and_views():
        if entry.state == "pending" or entry.order >= before:
            continue
        statement = understood(entry.query, entry.schema)
        if statement is None:
            continue  # an operator did its work
        if entry.state == "skipped" and not isinstance(statement, CreateView):
            continue
        shared = databases.is_shared(entry.schema)
        databases.see(entry)
        match statement:
            case CreateView():
                result[entry.schema, entry.table] = entry, statement
            case DropView():
                result.pop((entry.schema, entry.table), None)
            case DropSchema(schema) if not shared:
                result = {name: view for name, view in result.items() if name[0] != schema}
    return result
