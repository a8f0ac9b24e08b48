"""Updates the upstream definitions stored in the target after a DDL."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from ticdc_encoder.column import Column
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import apply, columns_renamed, evolve, parent_renamed
from ticdc_encoder.sql.statements import (
    Action,
    AddColumn,
    AlterSchema,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    CreateView,
    DropColumn,
    DropSchema,
    DropTable,
    DropView,
    ModifyColumn,
    Other,
    RecoverTable,
    RenameColumn,
    RenameTable,
    Statement,
    TruncateTable,
)

from ticdc_consumer.ddl.dropped_tables import newest
from ticdc_consumer.ddl.kinds import kind_of, like_definition, names_of
from ticdc_consumer.ddl.names import statement_in_database, statement_of
from ticdc_consumer.ddl.shared.databases import is_shared, statement_of_database
from ticdc_consumer.state.known_tables import Basis, Definitions, lower
from ticdc_consumer.state.ledger import DroppedTable, Ledger, LedgerEntry
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.target import Target


def keep_definition(
    ledger: Ledger,
    entry: LedgerEntry,
    basis: Basis = "applied",
    set_aside: TargetName | None = None,
    created: Table | None = None,
) -> None:
    """Updates the stored definitions after a finished DDL, whoever did it: forgets what it may have
    changed, unless the statement itself defines the new state. A table's destination is forgotten
    only when the table is dropped or renamed. `basis` is "declared" if the DDL was skipped, or an
    operator did it; `set_aside` is the new place of the dropped or emptied table; `created` is the
    DDL's result for a previously unknown table."""
    if created is not None:
        ledger.define(created, basis)
        return
    definitions = ledger.definitions()
    try:
        statement = statement_in_database(entry, definitions, ledger)
        if set_aside is not None:
            _set_aside(ledger, entry, statement, set_aside)
        _keep(ledger, statement, definitions, entry, basis)
    except TicdcError:
        _unknown(ledger, entry)


def _keep(
    ledger: Ledger,
    statement: Statement,
    definitions: Definitions,
    entry: LedgerEntry,
    basis: Basis,
) -> None:
    match statement:
        case CreateTable(table):
            ledger.define(table, basis)
        case CreateTableLike(schema, name, like):
            if like in definitions:
                ledger.define(like_definition(definitions[like], schema, name), basis)
            else:
                ledger.note(schema, name)
        case DropTable(schema, name):
            ledger.forget(schema, name)
        case DropSchema(schema) if is_shared(ledger, schema, entry.order):
            pass  # the missing tables are not sent: see `forget_gone`
        case DropSchema(schema):
            ledger.forget(schema)
            for dropped in ledger.dropped():
                if dropped.schema == schema:
                    ledger.remove_dropped(dropped)
        case RecoverTable((_, _) as name, (_, _) as new):
            _recover(ledger, name, new, basis)
        case RenameTable(old, new):
            known = ledger.known().get(old)
            ledger.forget(*old)
            if known is None:
                ledger.note(*new)
            else:
                ledger.define(apply(statement, known.table), _less(basis, known.basis))
            _follow(ledger, lambda table: parent_renamed(table, old, new), old, {old, new})
        case AlterTable(schema, name):
            known = ledger.known().get((schema, name))
            if known is None:
                _note(ledger, schema, name)
            else:
                evolved = evolve(statement, known.table)
                if known.basis == "reflected":
                    # The target's catalog may differ from upstream's: rows will tell.
                    ledger.note(schema, name)
                else:
                    ledger.define(evolved.after, _less(basis, known.basis))
                of = schema, name
                _follow(ledger, partial(columns_renamed, evolved), of, {of})
        case TruncateTable(schema, name):
            _note(ledger, schema, name)
        case CreateSchema() | AlterSchema() | CreateView() | DropView():
            pass
        case RecoverTable() | Other():
            _unknown(ledger, entry)


def forget_gone(target: Target, ledger: Ledger, entry: LedgerEntry) -> None:
    """Forgets missing tables after an operator did a DROP DATABASE."""
    dropped = statement_of_database(entry)
    if not isinstance(dropped, DropSchema):
        return
    known = ledger.known()
    for name in known.of_schema(dropped.schema):
        at = known.destinations[name]
        if at is not None and target.describe(*at) is None:
            ledger.forget(*name)


def _note(ledger: Ledger, schema: str, table: str) -> None:
    """Notes that this table exists: something was done to it."""
    if (schema, table) not in ledger.known().destinations:
        ledger.note(schema, table)


def _unknown(ledger: Ledger, entry: LedgerEntry) -> None:
    """Notes that something may have been done to this table."""
    if (entry.schema, entry.table) in ledger.known().destinations:
        ledger.note(entry.schema, entry.table)


def _recover(ledger: Ledger, name: TableName, new: TableName, basis: Basis) -> None:
    recovered = newest(ledger.dropped(), name)
    if recovered is not None and recovered.definition is not None:
        table = replace(recovered.definition, schema=new[0], name=new[1])
        ledger.define(table, _less(basis, recovered.basis))
    else:
        ledger.note(*new)
    if recovered is not None and basis == "applied":
        ledger.remove_dropped(recovered)


def definitions_after(
    statement: Statement, definitions: Definitions, ledger: Ledger
) -> Definitions:
    """Returns the definitions known after a statement."""
    changes = kind_of(statement).changes
    return definitions.changed(changes(statement, definitions, partial(_restored, ledger)))


def _restored(ledger: Ledger, name: TableName) -> Table | None:
    dropped = newest(ledger.dropped(), name)
    return None if dropped is None else dropped.definition


def definitions_at(ledger: Ledger, order: tuple[int, int]) -> Definitions:
    """Returns the definitions that the DDL before that (commit_ts, seq) left, by their
    statements."""
    definitions, dropped = Definitions(), dict[TableName, Table]()

    def restored(name: TableName) -> Table | None:
        return dropped.get(name) or _restored(ledger, name)

    for entry in ledger.entries():
        if entry.order >= order:
            break
        if entry.state == "pending":
            continue
        try:
            statement = statement_in_database(entry, definitions, ledger)
            kind = kind_of(statement)
            if kind.empties:
                (name,) = kind.names(statement).tables
                if name in definitions:
                    dropped[name] = definitions[name]
            definitions = definitions.changed(kind.changes(statement, definitions, restored))
        except TicdcError:
            definitions = definitions.changed({(entry.schema, entry.table): None})
    return definitions


def _set_aside(ledger: Ledger, entry: LedgerEntry, statement: Statement, aside: TargetName) -> None:
    if kind_of(statement).empties:
        (name,) = names_of(statement).tables
        known = ledger.known().get(name)
        table, basis = (known.table, known.basis) if known else (None, _UNKNOWN)
        ledger.add_dropped(DroppedTable(entry.commit_ts, entry.seq, *name, *aside, table, basis))


_UNKNOWN: Basis = "seen"


def _less(basis: Basis, before: Basis) -> Basis:
    """Returns the less certain basis: a result of an uncertain table is uncertain."""
    lasting: dict[Basis, Basis] = {"applied": basis, "checked": "declared", "reflected": "seen"}
    return lasting.get(before, before)


def _follow(
    ledger: Ledger, renamed: Callable[[Table], Table], parent: TableName, but: set[TableName]
) -> None:
    """Renames `parent` and its columns in other tables' foreign keys."""
    known = ledger.known()
    for name in known.children(parent):
        child = known.get(name)
        if child is not None and name not in but:
            after = renamed(child.table)
            if after.foreign_keys != child.table.foreign_keys:
                ledger.define(after, child.basis)


# --- labels of a table whose CREATE TABLE did not come -------------------------------------------

_Labels = dict[str, tuple[str, ...]]
"""Labels by the column's name in lower case; empty for a column of another type."""


def with_labels(source: Table, ledger: Ledger) -> Table:
    """Returns the table of a row, with the labels that its ENUM and SET columns lack."""
    lacking = [column for column in source.columns if _lacks_labels(column)]
    if not lacking:
        return source
    labels = _labels_by_table(ledger).get(lower((source.schema, source.name)), {})
    columns = [
        replace(column, type=replace(column.type, elements=labels.get(column.name.lower(), ())))
        if column in lacking
        else column
        for column in source.columns
    ]
    return replace(source, columns=tuple(columns))


def _lacks_labels(column: Column) -> bool:
    return column.type.name in ("enum", "set") and not column.type.elements


def _labels_by_table(ledger: Ledger) -> Mapping[TableName, _Labels]:
    """Returns the labels as of the last DDL that is done, or was skipped here and done upstream."""
    tables: dict[TableName, _Labels] = {}
    definitions = ledger.definitions()
    for entry in ledger.entries():
        if entry.state == "pending":
            continue
        try:
            statement = statement_of(entry, definitions, None)
        except TicdcError:
            # Its effect on the table is unknown.
            tables.pop(lower((entry.schema, entry.table)), None)
            continue
        match statement:
            case AlterTable(schema, table, actions):
                labels = tables.setdefault(lower((schema, table)), {})
                for action in actions:
                    _relabel(labels, action, alone=len(actions) == 1)
            case RenameTable(old, new):
                tables[lower(new)] = tables.pop(lower(old), {})
            case CreateTableLike(schema, table, like):
                tables[lower((schema, table))] = dict(tables.get(lower(like), {}))
            case DropTable(schema, table) | CreateTable(Table(schema=schema, name=table)):
                tables.pop(lower((schema, table)), None)
            case DropSchema(schema):
                dropped = lower((schema, ""))[0]
                tables = {name: of for name, of in tables.items() if name[0] != dropped}
    return tables


def _relabel(labels: _Labels, action: Action, alone: bool) -> None:
    match action:
        case AddColumn(column) if alone or not action.if_not_exists:
            # Otherwise the column may be older: a statement without effect is not sent.
            labels[column.name.lower()] = column.type.elements
        case ModifyColumn(name, column):
            labels.pop(name.lower(), None)
            labels[column.name.lower()] = column.type.elements
        case RenameColumn(name, new) if name.lower() in labels:
            labels[new.lower()] = labels.pop(name.lower())
        case DropColumn(name):
            labels.pop(name.lower(), None)
