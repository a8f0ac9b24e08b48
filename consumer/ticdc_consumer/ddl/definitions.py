"""What a DDL leaves of the upstream definitions that are kept in the target."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import apply, columns_renamed, evolve, parent_renamed
from ticdc_encoder.sql.statements import (
    AlterSchema,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    CreateView,
    DropSchema,
    DropTable,
    DropView,
    Other,
    RecoverTable,
    RenameTable,
    Statement,
    TruncateTable,
)

from ticdc_consumer.ddl.dropped_tables import newest
from ticdc_consumer.ddl.names import Definitions, Name, Place, statement_of
from ticdc_consumer.state.ledger import Basis, KeptTable, Ledger, LedgerEntry


def keep_definition(
    ledger: Ledger,
    entry: LedgerEntry,
    basis: Basis = "made",
    set_aside: Place | None = None,
) -> None:
    """Brings the kept definitions up to a DDL that is done, by whomever: what it may have changed
    is forgotten, unless the statement itself says how it is now. `basis` is "told" where it was
    skipped, or a person did it; `set_aside` where the table that was dropped or emptied lies."""
    definitions = ledger.definitions()
    try:
        statement = statement_of(entry, definitions)
        if set_aside is not None:
            _set_aside(ledger, entry, statement, set_aside)
        _keep(ledger, statement, definitions, entry, basis)
    except TicdcError:
        ledger.forget(entry.schema, entry.table)


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
            ledger.forget(schema, name)
            if like in definitions:
                ledger.define(like_definition(definitions[like], schema, name), basis)
        case DropTable(schema, name):
            ledger.forget(schema, name)
        case DropSchema(schema):
            ledger.forget(schema)
            for kept in ledger.kept():
                if kept.schema == schema:
                    ledger.release(kept)
        case RecoverTable((_, _) as dropped, (schema, name)):
            ledger.forget(schema, name)
            recovered = newest(ledger.kept(), dropped)
            if recovered is not None and recovered.definition is not None:
                table = replace(recovered.definition, schema=schema, name=name)
                ledger.define(table, _less(basis, recovered.basis))
            if recovered is not None and basis == "made":
                ledger.release(recovered)
        case RenameTable(old, new):
            known = ledger.known().get(old)
            ledger.forget(*new)
            if known is not None:
                ledger.forget(*old)
                ledger.define(apply(statement, known[0]), _less(basis, known[1]))
            _follow(ledger, lambda table: parent_renamed(table, old, new), {old, new})
        case AlterTable(schema, name):
            known = ledger.known().get((schema, name))
            if known is not None:
                evolved = evolve(statement, known[0])
                ledger.define(evolved.after, _less(basis, known[1]))
                _follow(ledger, partial(columns_renamed, evolved), {(schema, name)})
        case TruncateTable() | CreateSchema() | AlterSchema() | CreateView() | DropView():
            pass
        case RecoverTable() | Other():
            ledger.forget(entry.schema, entry.table)


def definitions_after(
    statement: Statement, definitions: Definitions, ledger: Ledger
) -> dict[Name, Table]:
    """What will be known after a statement."""
    after = dict(definitions)
    match statement:
        case CreateTable(table):
            after[table.schema, table.name] = table
        case CreateTableLike(schema, name, like) if like in definitions:
            after[schema, name] = like_definition(definitions[like], schema, name)
        case DropTable(schema, name):
            after.pop((schema, name), None)
        case DropSchema(schema):
            after = {name: table for name, table in after.items() if name[0] != schema}
        case RecoverTable((_, _) as dropped, (schema, name)):
            kept = newest(ledger.kept(), dropped)
            if kept is not None and kept.definition is not None:
                after[schema, name] = replace(kept.definition, schema=schema, name=name)
        case RenameTable(old, new) if old in definitions:
            after[new] = apply(statement, after.pop(old))
        case AlterTable(schema, name) if (schema, name) in definitions:
            after[schema, name] = evolve(statement, definitions[schema, name]).after
    return after


def _set_aside(ledger: Ledger, entry: LedgerEntry, statement: Statement, at: Place) -> None:
    if isinstance(statement, DropTable | TruncateTable):
        name = statement.schema, statement.table
        unknown: tuple[Table | None, Basis] = (None, "seen")
        table, basis = ledger.known().get(name, unknown)
        ledger.keep(KeptTable(entry.commit_ts, entry.seq, *name, *at, table, basis))


def _less(basis: Basis, before: Basis) -> Basis:
    """What is made of a table that is not certain is not certain."""
    lasting: dict[Basis, Basis] = {"made": basis, "checked": "told", "found": "seen"}
    return lasting.get(before, before)


def like_definition(table: Table, schema: str, name: str) -> Table:
    """CREATE TABLE ... LIKE takes no foreign keys along."""
    return replace(table, schema=schema, name=name, foreign_keys=())


def _follow(ledger: Ledger, renamed: Callable[[Table], Table], but: set[Name]) -> None:
    """Foreign keys of other tables name this one and its columns."""
    for name, (child, basis) in ledger.known().items():
        if name not in but and child.foreign_keys:
            after = renamed(child)
            if after.foreign_keys != child.foreign_keys:
                ledger.define(after, basis)
