"""One DDL in the target's words."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import sqlalchemy as sa
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved
from ticdc_encoder.sql.parser import parse_ddl
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
    EmptyPartitions,
    ExchangePartition,
    NoEffect,
    Other,
    OtherAction,
    RecoverTable,
    RenameTable,
    Repartition,
    ReplacePartitions,
    ResizePartitions,
    Statement,
    TruncateTable,
)

from ticdc_consumer.ddl import dropped_tables as kept_tables
from ticdc_consumer.ddl import partitions as partition_ddl
from ticdc_consumer.ddl import reflection as reflected
from ticdc_consumer.ddl import views
from ticdc_consumer.ddl.definitions import definitions_after, like_definition
from ticdc_consumer.ddl.foreign_keys import Locate, changes, references, waiting
from ticdc_consumer.ddl.names import (
    Definitions,
    Name,
    Place,
    Route,
    own_schema,
    place_of,
    spelled,
    statement_of,
)
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.state.ledger import Basis, KeptTable, Ledger, LedgerEntry
from ticdc_consumer.targets.layout import Reference, ReferenceChanges, TargetTable
from ticdc_consumer.targets.schema.alter import Alteration
from ticdc_consumer.targets.target import Target


class InTheWay(Stop):
    """A table that is there already, and is not what the CREATE TABLE would make."""


def work(
    target: Target,
    entry: LedgerEntry,
    route: Route,
    rules: frozenset[str],
    ledger: Ledger,
) -> Alteration:
    """What is still to be done for an entry. Raises `Stop` for what cannot be done exactly."""
    definitions = ledger.definitions()
    statement = statement_of(entry, definitions)

    def locate(name: Name) -> Place:
        return place_of(target, route, *name)

    done = _work(target, entry, statement, route, rules, ledger, locate)
    changed = _tables_changed(statement, definitions, done)
    if not changed:
        return done
    after = definitions_after(statement, definitions, ledger)
    before, again = views.around(target, ledger, changed, after, locate)
    return replace(done, statements=(*before, *done.statements, *again))


def _tables_changed(statement: Statement, definitions: Definitions, done: Alteration) -> set[Name]:
    """The tables whose views would be in the way of what is done."""
    if not done.statements or done.rows_only:
        return set()
    match statement:
        case RenameTable(old, new):
            return {old, new}
        case RecoverTable(_, (_, _) as name):
            return {name}
        case CreateTable(table):
            return {(table.schema, table.name)}
        case AlterTable(schema, name) | DropTable(schema, name) | CreateTableLike(schema, name):
            return {(schema, name)}
        case TruncateTable(schema, name) if done.set_aside is not None:
            return {(schema, name)}
        case DropSchema(source):
            return {name for name in definitions if name[0] == source}
        case _:
            return set()


def _work(
    target: Target,
    entry: LedgerEntry,
    statement: Statement,
    route: Route,
    rules: frozenset[str],
    ledger: Ledger,
    locate: Locate,
) -> Alteration:
    definitions = ledger.definitions()
    match statement:
        case CreateSchema(source):
            return Alteration(tuple(target.create_schema(route(source, "")[0])))
        case AlterSchema():
            return Alteration()  # every table says its own character set
        case DropSchema(source):
            _check_created(ledger, source)
            kept = [each for each in ledger.kept() if each.schema == source]
            seen = [locate(name) for name in views.known(ledger) if name[0] == source]
            return _drop_schema(target, route, source, definitions, kept, seen)
        case CreateTable(table):
            return _create(target, route, table, rules, definitions)
        case CreateTableLike(schema, name, like):
            if like not in definitions:
                raise Unsupported(
                    f"the definition of {'.'.join(like)} did not come through the stream"
                )
            table = like_definition(definitions[like], schema, name)
            return _create(target, route, table, rules, definitions)
        case DropTable(source, table):
            return kept_tables.drop(target, ledger, entry, (source, table), locate)
        case TruncateTable(source, table):
            return kept_tables.truncate(target, ledger, entry, (source, table), locate)
        case RecoverTable((_, _) as dropped, (_, _) as name):
            return kept_tables.recover(target, ledger, dropped, name, locate)
        case RenameTable(old, new):
            return _rename(target, route, old, new, definitions)
        case AlterTable() as altered:
            return _alter(target, route, altered, entry.commit_ts, ledger)
        case CreateView():
            return views.create(target, statement, definitions, locate)
        case DropView():
            return views.drop(target, statement, locate)
        case RecoverTable():
            raise Unsupported("it does not say which table comes back")
        case Other(_, what):
            raise Unsupported(f"{what.upper()} is not translated")


# --- schemas and tables -------------------------------------------------------------------------


def _create(
    target: Target,
    route: Route,
    table: Table,
    rules: frozenset[str],
    definitions: Definitions,
) -> Alteration:
    schema, name = place_of(target, route, table.schema, table.name)

    def locate(source: Name) -> Place:
        return place_of(target, route, *source)

    existing = target.describe(schema, name)
    wanted = references(table, definitions, locate)
    statements: list[str] = []
    if existing is None:
        statements += target.create_table(schema, name, table, wanted)
    else:
        _check_equal(target, table, existing, rules)
        statements += _referring(target, table, locate, wanted)
    for child, keys in waiting(table, definitions, locate):
        statements += _referring(target, child, locate, keys)
    return Alteration(tuple(statements))


def _referring(
    target: Target, table: Table, locate: Locate, wanted: Sequence[Reference]
) -> tuple[str, ...]:
    """Gives a table that is there the foreign keys that it lacks."""
    place = locate((table.schema, table.name))
    if target.describe(*place) is None:
        return ()
    there = target.references(*place)
    known = {reference.key for reference in there}
    missing = tuple(reference for reference in wanted if reference.key not in known)
    if not missing:
        return ()
    unchanged = Evolved(table, table, {column.name: column.name for column in table.columns})
    added = ReferenceChanges(there, (), missing)
    return target.alter_table(*place, unchanged, 0, added).statements


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
        raise InTheWay(f"{name} exists with other columns: they differ in {differing}")
    unique = {
        _set(index.columns)
        for index in table.indexes
        if index.unique and not (index.expression or index.partial)
    }
    for key in existing.unique_keys:
        if key.plain and _set(key.columns) not in unique:
            raise InTheWay(f"{name} exists with another unique key, {key.name}")
    if table.handle_key:
        target.layout(table, table.handle_key, existing, table, rules)
    if target.has_rows(existing.schema, existing.name):
        raise InTheWay(f"{name} exists and has rows")


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


def _drop_schema(
    target: Target,
    route: Route,
    source: str,
    definitions: Definitions,
    kept: Sequence[KeptTable],
    seen: Sequence[Place],
) -> Alteration:
    """The views and tables of the schema that came through the stream, and the schema itself where
    it is not the consumer's own. Raises `Stop` where it holds anything else."""
    places = [place_of(target, route, *name) for name in definitions if name[0] == source]
    places += [(each.target_schema, each.target_table) for each in kept]
    statements = [f"DROP VIEW IF EXISTS {target.quote(*view)}" for view in seen]
    statements += [
        text
        for place in places
        if target.describe(*place) is not None
        for text in target.drop_table(*place)
    ]
    schema = target.locate(route(source, "")[0], "")[0]
    if schema is None or schema == own_schema(target):
        return Alteration(tuple(statements))
    catalog = sa.inspect(target.connection)
    if schema not in catalog.get_schema_names():
        return Alteration(tuple(statements))
    there = {*catalog.get_table_names(schema), *catalog.get_view_names(schema)}
    others = there - {name for at, name in (*places, *seen) if at == schema}
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
    before, after = place_of(target, route, *old), place_of(target, route, *new)
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
    return Alteration(tuple(target.rename_table(before, after, definitions.get(old))))


_WITHOUT_WORK = (NoEffect, Repartition, ReplacePartitions, ResizePartitions)


def _alter(
    target: Target, route: Route, altered: AlterTable, commit_ts: int, ledger: Ledger
) -> Alteration:
    for action in altered.actions:
        match action:
            case OtherAction(what):
                raise Unsupported(f"ALTER TABLE ... {what} is not translated")
    if all(isinstance(action, _WITHOUT_WORK) for action in altered.actions):
        return Alteration()
    name = altered.schema, altered.table
    definitions = ledger.definitions()
    place = place_of(target, route, *name)
    if _partitions(altered):
        if target.describe(*place) is None:
            raise Stop(f"there is no table {target.quote(*place)}")
        return _change_partitions(target, route, altered, definitions)
    evolved = reflected.evolved(target, place, altered, ledger.known().get(name))
    if target.describe(*place) is None:
        raise Stop(f"there is no table {target.quote(*place)}")

    def locate(source: Name) -> Place:
        return place_of(target, route, *source)

    references = changes(target, evolved, definitions, locate)
    return target.alter_table(*place, evolved, commit_ts, references)


def _partitions(altered: AlterTable) -> bool:
    partitions = (EmptyPartitions, ExchangePartition)
    return any(isinstance(action, partitions) for action in altered.actions)


def _change_partitions(
    target: Target, route: Route, altered: AlterTable, definitions: Definitions
) -> Alteration:
    name = altered.schema, altered.table
    if name not in definitions:
        raise Unsupported(
            f"the definition of {'.'.join(name)} did not come through the stream, so that it is "
            "not certain which rows are in which partition"
        )
    place = place_of(target, route, *name)
    match altered.actions:
        case (EmptyPartitions(names),):
            return partition_ddl.empty(target, place, definitions[name], names)
        case (ExchangePartition(partition, other),):
            with_table = place_of(target, route, *spelled(other, definitions))
            return partition_ddl.exchange(target, place, definitions[name], partition, with_table)
        case _:
            raise Unsupported("TRUNCATE, DROP and EXCHANGE PARTITION beside other actions")


def before_alter(
    target: Target, route: Route, entry: LedgerEntry, ledger: Ledger
) -> tuple[Table, Basis] | None:
    """What must be kept before an ALTER TABLE that commits by itself, of a table that the consumer
    did not make: after a crash the catalog says no more how it was. Raises `Stop`."""
    statement = statement_of(entry, ledger.definitions())
    if not isinstance(statement, AlterTable) or not _alters(statement):
        return None
    name = statement.schema, statement.table
    known = ledger.known().get(name)
    if known is not None and known[1] not in ("told", "seen"):
        return None
    found = reflected.evolved(target, place_of(target, route, *name), statement, known)
    return found.before, "found" if known is None or known[1] == "seen" else "checked"


def _alters(statement: AlterTable) -> bool:
    """Whether it can be done, and does anything to the table itself."""
    actions = statement.actions
    return (
        not any(isinstance(action, OtherAction) for action in actions)
        and not _partitions(statement)
        and not all(isinstance(action, _WITHOUT_WORK) for action in actions)
    )
