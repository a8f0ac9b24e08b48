"""One DDL in the target's words, and what it leaves of the definitions that are kept."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import sqlalchemy as sa
from ticdc_encoder.definition import parse_ddl
from ticdc_encoder.errors import DefinitionError, TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.evolution import apply, evolve
from ticdc_encoder.statements import (
    AlterSchema,
    AlterTable,
    ChangePartition,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    DropSchema,
    DropTable,
    NoEffect,
    Other,
    OtherAction,
    RenameTable,
    Repartition,
    Statement,
    TruncateTable,
)

from ticdc_consumer.checkpoint_tables import OWN_TABLES
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.ledger import Basis, Ledger, LedgerEntry
from ticdc_consumer.targets.alter import Alteration
from ticdc_consumer.targets.alterers import alterers
from ticdc_consumer.targets.layout import TargetTable
from ticdc_consumer.targets.target import Target

Name = tuple[str, str]
Place = tuple[str | None, str]
Route = Callable[[str, str], Name]
"""Upstream (schema, table) -> where it is to land; the table is "" for a schema alone."""
Definitions = Mapping[Name, Table]


def work(
    target: Target,
    entry: LedgerEntry,
    route: Route,
    rules: frozenset[str],
    ledger: Ledger,
) -> Alteration:
    """What is still to be done for an entry. Raises `Stop` for what cannot be done exactly."""
    definitions = ledger.definitions()
    match statement_of(entry, definitions):
        case CreateSchema(source):
            return Alteration(tuple(target.create_schema(route(source, "")[0])))
        case AlterSchema():
            return Alteration()  # every table says its own character set
        case DropSchema(source):
            _check_created(ledger, source)
            return _drop_schema(target, route, source, definitions)
        case CreateTable(table):
            return _create(target, route, table, rules)
        case CreateTableLike(schema, name, like):
            if like not in definitions:
                raise Unsupported(
                    f"the definition of {'.'.join(like)} did not come through the stream"
                )
            table = replace(definitions[like], schema=schema, name=name)
            return _create(target, route, table, rules)
        case DropTable(source, table):
            place = _place(target, route, source, table)
            there = target.describe(*place) is not None
            return Alteration(tuple(target.drop_table(*place) if there else ()))
        case TruncateTable(source, table):
            return Alteration(tuple(target.truncate_table(*_place(target, route, source, table))))
        case RenameTable(old, new):
            return _rename(target, route, old, new, definitions)
        case AlterTable() as altered:
            return _alter(target, route, altered, entry.commit_ts, ledger)
        case Other(_, what):
            raise Unsupported(f"{what.upper()} is not translated")


def keep_definition(ledger: Ledger, entry: LedgerEntry, basis: Basis = "made") -> None:
    """Brings the kept definitions up to a DDL that is done, by whomever: what it may have changed
    is forgotten, unless the statement itself says how it is now. `basis` is "told" where it was
    skipped, or a person did it."""
    definitions = ledger.definitions()
    try:
        statement = statement_of(entry, definitions)
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
                ledger.define(replace(definitions[like], schema=schema, name=name), basis)
        case DropTable(schema, name):
            ledger.forget(schema, name)
        case DropSchema(schema):
            ledger.forget(schema)
        case RenameTable(old, new):
            known = ledger.known().get(old)
            ledger.forget(*new)
            if known is not None:
                ledger.forget(*old)
                ledger.define(apply(statement, known[0]), _less(basis, known[1]))
        case AlterTable(schema, name):
            known = ledger.known().get((schema, name))
            if known is not None:
                ledger.define(apply(statement, known[0]), _less(basis, known[1]))
        case TruncateTable() | CreateSchema() | AlterSchema():
            pass
        case Other():
            ledger.forget(entry.schema, entry.table)


def _less(basis: Basis, before: Basis) -> Basis:
    """What is made of a table that is not certain is not certain."""
    return basis if before == "made" else before


# --- names --------------------------------------------------------------------------------------


def statement_of(entry: LedgerEntry, definitions: Definitions) -> Statement:
    """The entry's statement, with the names as TiCDC gives them beside it: TiDB's SQL has the
    user's spelling, rows and all else have the table's own. Raises `Stop`, `DefinitionError`."""
    statement = parse_ddl(entry.query, entry.schema)
    if not entry.table:
        return statement
    match statement:
        case CreateTable(table):
            _check_name(entry, table.schema, table.name)
            return CreateTable(replace(table, schema=entry.schema, name=entry.table))
        case CreateTableLike(schema, table, like):
            _check_name(entry, schema, table)
            return CreateTableLike(entry.schema, entry.table, _spelled(like, definitions))
        case DropTable(schema, table):
            _check_name(entry, schema, table)
            return DropTable(entry.schema, entry.table)
        case TruncateTable(schema, table):
            _check_name(entry, schema, table)
            return TruncateTable(entry.schema, entry.table)
        case AlterTable(schema, table, actions):
            # EXCHANGE PARTITION is said to be of the table that is exchanged.
            if not any(isinstance(action, ChangePartition) for action in actions):
                _check_name(entry, schema, table)
                return AlterTable(entry.schema, entry.table, actions)
            return statement
        case RenameTable(old, new):
            return _renamed(entry, old, new, definitions)
        case _:
            return statement


def _check_name(entry: LedgerEntry, schema: str, table: str) -> None:
    if (schema.lower(), table.lower()) != (entry.schema.lower(), entry.table.lower()):
        raise Stop(f"it is said to be of {entry.schema}.{entry.table}, but names {schema}.{table}")


def _renamed(entry: LedgerEntry, old: Name, new: Name, definitions: Definitions) -> RenameTable:
    """An old name without its database is in that of the new name, unless only the new one says
    which that is."""
    as_written = parse_ddl(entry.query, "")
    if isinstance(as_written, RenameTable) and not as_written.old[0] and as_written.new[0]:
        raise Stop(f"it does not say which database {old[1]} is in")
    final = entry.schema, entry.table
    if _lower(new) == _lower(final):
        new = final
    return RenameTable(_spelled(old, definitions), new)


def _spelled(name: Name, definitions: Definitions) -> Name:
    """As the table's own definition spells it."""
    if name in definitions:
        return name
    same = [known for known in definitions if _lower(known) == _lower(name)]
    return same[0] if len(same) == 1 else name


def _lower(name: Name) -> Name:
    return name[0].lower(), name[1].lower()


def _place(target: Target, route: Route, schema: str, table: str) -> Place:
    """Where the table lies in the target. Raises `Stop` for the consumer's own tables."""
    there, name = target.locate(*route(schema, table))
    if name.lower() in OWN_TABLES and there in (None, _own_schema(target)):
        raise Stop(f"{schema}.{table} would land in the consumer's own table {name}")
    return there, name


def _own_schema(target: Target) -> str | None:
    return sa.inspect(target.connection).default_schema_name


# --- schemas and tables -------------------------------------------------------------------------


def _create(target: Target, route: Route, table: Table, rules: frozenset[str]) -> Alteration:
    schema, name = _place(target, route, table.schema, table.name)
    existing = target.describe(schema, name)
    if existing is None:
        return Alteration(tuple(target.create_table(schema, name, table)))
    _check_equal(target, table, existing, rules)
    return Alteration()


def _check_equal(
    target: Target, table: Table, existing: TargetTable, rules: frozenset[str]
) -> None:
    """Raises `Stop` unless `existing` is what a CREATE of `table` would give: empty, with these
    columns, a key that identifies its rows, and no other unique keys than these."""
    name = f"{existing.schema}.{existing.name}" if existing.schema else existing.name
    wanted = {column.name.lower() for column in table.columns}
    found = {column.name.lower() for column in existing.columns}
    virtual = {column.name.lower() for column in table.columns if column.generated == "virtual"}
    if wanted - virtual != found - virtual:
        differing = ", ".join(sorted(wanted ^ found))
        raise Stop(f"{name} exists with other columns: they differ in {differing}")
    unique = {_set(index.columns) for index in table.indexes if index.unique}
    for key in existing.unique_keys:
        if key.plain and _set(key.columns) not in unique:
            raise Stop(f"{name} exists with another unique key, {key.name}")
    if table.handle_key:
        target.layout(table, table.handle_key, existing, table, rules)
    if target.has_rows(existing.schema, existing.name):
        raise Stop(f"{name} exists and has rows")


def _set(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


def _check_created(ledger: Ledger, schema: str) -> None:
    """Raises `Stop` unless all tables of the schema came through the stream."""
    for entry in ledger.entries():
        if entry.state == "done" and entry.schema == schema and not entry.table:
            statement = parse_ddl(entry.query, entry.schema)
            if isinstance(statement, CreateSchema):
                return
    raise Unsupported(
        f"{schema} was not created through the stream, so that it is not certain what is in it"
    )


def _drop_schema(target: Target, route: Route, source: str, definitions: Definitions) -> Alteration:
    """The tables of the schema that came through the stream, and the schema itself where it is not
    the consumer's own. Raises `Stop` where it holds anything else."""
    places = {name: _place(target, route, *name) for name in definitions if name[0] == source}
    statements = [
        text
        for place in places.values()
        if target.describe(*place) is not None
        for text in target.drop_table(*place)
    ]
    schema = target.locate(route(source, "")[0], "")[0]
    if schema is None or schema == _own_schema(target):
        return Alteration(tuple(statements))
    catalog = sa.inspect(target.connection)
    if schema not in catalog.get_schema_names():
        return Alteration(tuple(statements))
    there = {*catalog.get_table_names(schema), *catalog.get_view_names(schema)}
    others = there - {name for at, name in places.values() if at == schema}
    if others:
        raise Stop(
            f"{target.quote(None, schema)} holds what did not come through the stream as "
            f"{source}'s: {', '.join(sorted(others))}"
        )
    kind = "SCHEMA" if target.transactional_ddl else "DATABASE"
    return Alteration((*statements, f"DROP {kind} {target.quote(None, schema)}"))


def _rename(
    target: Target, route: Route, old: Name, new: Name, definitions: Definitions
) -> Alteration:
    before, after = _place(target, route, *old), _place(target, route, *new)
    if before == after:
        return Alteration()
    there = target.describe(*before) is not None, target.describe(*after) is not None
    if there == (False, True) and not target.transactional_ddl and old in definitions:
        return Alteration()  # it ran, and a crash came before it was noted
    if there != (True, False):
        told = "neither is there" if not there[0] else "both are there"
        if there == (False, True):
            told = "only the latter is there"
        raise Stop(f"{target.quote(*before)} is to become {target.quote(*after)}, but {told}")
    _, rename = alterers(target.dialect)
    return Alteration(tuple(rename(target, before, after, definitions.get(old))))


def _alter(
    target: Target, route: Route, altered: AlterTable, commit_ts: int, ledger: Ledger
) -> Alteration:
    for action in altered.actions:
        match action:
            case ChangePartition(what):
                raise Unsupported(f"{what}: the rows that it removes are not sent")
            case OtherAction(what):
                raise Unsupported(f"ALTER TABLE ... {what} is not translated")
    if all(isinstance(action, (NoEffect, Repartition)) for action in altered.actions):
        return Alteration()
    name = altered.schema, altered.table
    definitions = ledger.definitions()
    if name not in definitions:
        raise Unsupported(
            f"the definition of {'.'.join(name)} did not come through the stream, so that what an "
            "ALTER TABLE makes of it is not certain"
        )
    try:
        evolved = evolve(altered, definitions[name])
    except DefinitionError as error:
        raise Stop(f"the definition that came through the stream does not fit: {error}") from error
    place = _place(target, route, *name)
    if target.describe(*place) is None:
        raise Stop(f"there is no table {target.quote(*place)}")
    alter, _ = alterers(target.dialect)
    return alter(target, *place, evolved, commit_ts)
