"""Virtual generated columns that the target's table has, and the reasons why it lacks others.

A table may lack one that the target could compute: an earlier release created it, a snapshot's
table has none, or an operator dropped it. It is not missed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ticdc_encoder.column import Column
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved
from ticdc_encoder.sql.statements import (
    Action,
    AddColumn,
    AlterTable,
    CreateTable,
    DropColumn,
    DropTable,
    ModifyColumn,
    RenameColumn,
    RenameTable,
)

from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.names import statement_of
from ticdc_consumer.errors import Unsupported
from ticdc_consumer.state.ledger import Ledger
from ticdc_consumer.targets.layout import TableName, TargetTable
from ticdc_consumer.targets.schema.generated import virtual_columns, without
from ticdc_consumer.targets.target import Target


@dataclass(frozen=True, slots=True)
class LeftOutColumn:
    """A virtual column that the target's table lacks; `unique_keys` are upstream's over it."""

    table: TableName
    column: str
    reason: str
    unique_keys: tuple[str, ...] = ()

    def text(self) -> str:
        keys = "".join(f", and with it unique key {name}" for name in self.unique_keys)
        return f"virtual column {self.column} is left out{keys}: {self.reason}"


def as_it_is(target: Target, evolved: Evolved, existing: TargetTable, certain: bool) -> Evolved:
    """Returns an ALTER TABLE of the target's table, without the virtual columns that it lacks. If
    the table is not `certain` to be as the consumer makes it, also without new and unchanged
    virtual columns. Raises `Unsupported`."""
    present = {column.name.lower() for column in existing.columns if column.generated}
    names = {source: name for name, source in evolved.sources.items()}
    missing = {
        column.name
        for column in evolved.before.columns
        # After a crash it may already have its new name.
        if column.virtual and not {column.name.lower(), _new_name(column, names)} & present
    }
    computed = virtual_columns(evolved.after, target.writer_of()).expressions
    left = set[str]()
    for column in evolved.after.columns:
        source = evolved.sources.get(column.name)
        if source in missing and not column.virtual:
            raise Unsupported(f"column {column.name} was virtual, and its values are not sent")
        if source in missing:
            left.add(column.name)
        elif column.virtual and not certain:
            if source is not None and evolved.before.column(source) == column:
                missing.add(source)
            elif source is not None and column.name in computed:
                continue
            elif source is not None:
                raise Unsupported(
                    f"virtual column {column.name} is not one that can be computed here for certain"
                )
            left.add(column.name)
    return replace(
        evolved,
        before=without(evolved.before, missing),
        after=without(evolved.after, left),
        sources={name: of for name, of in evolved.sources.items() if name not in left},
        moved=evolved.moved - left,
    )


def _new_name(column: Column, names: dict[str, str]) -> str:
    return names.get(column.name, column.name).lower()


def computed_here(
    context: DdlContext, table: Table, existing: TargetTable | None = None
) -> frozenset[str]:
    """Returns the virtual columns, in lower case, that the target's table has, or will have once it
    has this definition. `existing` is the current table, if known already."""
    if not any(column.virtual for column in table.columns):
        return frozenset()
    name, target = (table.schema, table.name), context.target
    existing = existing or target.describe(*context.locate(name))
    now = context.definitions.get(name)
    lacking = set[str]()
    if existing is not None and now is not None:
        present = {column.name.lower() for column in existing.columns if column.generated}
        lacking = {column.name.lower() for column in now.columns} - present
    computed = virtual_columns(table, target.writer_of()).expressions
    return frozenset(map(str.lower, computed)) - lacking


def all_left_out(target: Target, ledger: Ledger) -> list[LeftOutColumn]:
    """Returns the left-out columns of all tables, as far as the stream told their virtual
    columns."""
    lacking: list[LeftOutColumn] = []
    known = ledger.known()
    for name, definition in sorted(known.by_name.items()):
        where = known.destinations.get(name)
        if definition.created and definition.computes and where is not None:
            lacking += left_out(target, definition.table, target.describe(*where))
    for name, columns in sorted(_added(ledger).items()):
        where = known.destinations.get(name)
        if where is None or not columns or name in ledger.definitions():
            continue
        existing = target.describe(*where)
        present = {column.name.lower() for column in existing.columns} if existing else set[str]()
        lacking += [
            LeftOutColumn(name, column, OF_SNAPSHOT) for column in sorted(columns - present)
        ]
    return lacking


OF_SNAPSHOT = (
    "the table's CREATE TABLE did not come, so that the types which its columns have upstream are "
    "not certain"
)


def _added(ledger: Ledger) -> dict[TableName, set[str]]:
    """Returns the virtual columns, in lower case, that ALTER TABLE added to the existing tables."""
    added: dict[TableName, set[str]] = {}
    for entry in ledger.entries():
        if entry.state != "done":
            continue
        try:
            statement = statement_of(entry, ledger.definitions(), None)
        except TicdcError:
            continue  # an operator did its work
        match statement:
            case AlterTable(schema, table, actions):
                columns = added.setdefault((schema, table), set())
                for action in actions:
                    _follow(columns, action)
            case RenameTable(old, new):
                added[new] = added.pop(old, set())
            case DropTable(schema, table) | CreateTable(Table(schema=schema, name=table)):
                added.pop((schema, table), None)
    return added


def _follow(columns: set[str], action: Action) -> None:
    match action:
        case AddColumn(column) if column.virtual:
            columns.add(column.name.lower())
        case DropColumn(name):
            columns.discard(name.lower())
        case RenameColumn(name, new) if name.lower() in columns:
            columns.discard(name.lower())
            columns.add(new.lower())
        case ModifyColumn(name, column) if name.lower() in columns:
            columns.discard(name.lower())
            columns.add(column.name.lower())


def left_out(target: Target, table: Table, existing: TargetTable | None) -> Iterator[LeftOutColumn]:
    """Yields the virtual columns that a target's table lacks, or would lack if created now."""
    if not any(column.virtual for column in table.columns):
        return
    reasons = virtual_columns(table, target.writer_of()).left_out
    present = {column.name.lower() for column in existing.columns} if existing else set[str]()
    for column in table.columns:
        if not column.virtual or column.name.lower() in present:
            continue
        reason = reasons.get(column.name)
        if reason is None and existing is None:
            continue
        keys = [i.name for i in table.indexes if i.unique and column.name in i.columns]
        why = "the target's table was made without it"
        yield LeftOutColumn((table.schema, table.name), column.name, reason or why, tuple(keys))
