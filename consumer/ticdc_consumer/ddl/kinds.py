"""The kinds of DDL: one row for each kind of statement, and one for each action of ALTER TABLE.

A new kind is a row here and its translation in `translate.TRANSLATIONS`. A step looks up the
properties of a statement in the row; it does not ask for the statement's class.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import apply, evolve
from ticdc_encoder.sql.statements import (
    Action,
    AddColumn,
    AddForeignKey,
    AddIndex,
    AlterSchema,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    CreateView,
    DropColumn,
    DropForeignKey,
    DropIndex,
    DropSchema,
    DropTable,
    DropView,
    EmptyPartitions,
    ExchangePartition,
    ModifyColumn,
    NoEffect,
    Other,
    OtherAction,
    RecoverTable,
    RenameColumn,
    RenameIndex,
    RenameTable,
    Repartition,
    ReplacePartitions,
    ResizePartitions,
    SetCharset,
    SetDefault,
    Statement,
    TruncateTable,
)

from ticdc_consumer.state.known_tables import Definitions
from ticdc_consumer.targets.layout import TableName

# --- the names in a statement --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Named:
    """The tables, views and databases that one statement names, in its spelling.

    `tables` and `views` are its own: those that it creates, changes or drops, including both names
    of a rename. `exchanged` are the tables of EXCHANGE PARTITION, `restored` is the dropped table
    that is restored, `parents` are the tables that its foreign keys name, `like` is the table that
    it copies. `schema` is the database that it creates, alters or drops; with `contents`, all
    tables in it, too. `complete` is False if it may touch more than it names.
    """

    tables: tuple[TableName, ...] = ()
    views: tuple[TableName, ...] = ()
    exchanged: tuple[TableName, ...] = ()
    restored: tuple[TableName, ...] = ()
    parents: tuple[TableName, ...] = ()
    like: tuple[TableName, ...] = ()
    schema: str | None = None
    contents: bool = False
    complete: bool = True

    @property
    def relations(self) -> tuple[TableName, ...]:
        return *self.tables, *self.views


def _in_create_table(statement: CreateTable) -> Named:
    table = statement.table
    parents = tuple(key.parent for key in table.foreign_keys)
    return Named(((table.schema, table.name),), parents=parents)


def _in_create_table_like(statement: CreateTableLike) -> Named:
    return Named(((statement.schema, statement.table),), like=(statement.like,))


def _of_table(statement: DropTable | TruncateTable) -> Named:
    return Named(((statement.schema, statement.table),))


def _in_alter_table(statement: AlterTable) -> Named:
    actions = statement.actions
    return Named(
        ((statement.schema, statement.table),),
        exchanged=tuple(a.table for a in actions if isinstance(a, ExchangePartition)),
        parents=tuple(a.key.parent for a in actions if isinstance(a, AddForeignKey)),
    )


def _in_rename_table(statement: RenameTable) -> Named:
    return Named((statement.old, statement.new))


def _in_recover_table(statement: RecoverTable) -> Named:
    dropped, table = statement.dropped, statement.table
    return Named(
        (table,) if table else (),
        restored=(dropped,) if dropped else (),
        complete=None not in (dropped, table),
    )


def _of_view(statement: CreateView | DropView) -> Named:
    return Named(views=((statement.schema, statement.view),))


def _of_schema(statement: CreateSchema | AlterSchema) -> Named:
    return Named(schema=statement.schema)


def _in_drop_schema(statement: DropSchema) -> Named:
    return Named(schema=statement.schema, contents=True)


def _in_other(_: Other) -> Named:
    return Named(complete=False)


# --- the same statement under the name that TiCDC sends ------------------------------------------


def _create_table_as(statement: CreateTable, name: TableName) -> CreateTable:
    return replace(statement, table=replace(statement.table, schema=name[0], name=name[1]))


def _table_as(
    statement: CreateTableLike | DropTable | TruncateTable | AlterTable, name: TableName
) -> Statement:
    return replace(statement, schema=name[0], table=name[1])


def _view_as(statement: CreateView | DropView, name: TableName) -> Statement:
    return replace(statement, schema=name[0], view=name[1])


# --- the definitions that a statement changes ----------------------------------------------------

Restored = Callable[[TableName], Table | None]
"""Returns the definition of a dropped table of that name, or None if it is unknown."""
Changes = Mapping[TableName, Table | None]
"""Definitions after a statement; None for a table that is gone."""


def _created(statement: CreateTable, *_: object) -> Changes:
    return {(statement.table.schema, statement.table.name): statement.table}


def _copied(statement: CreateTableLike, definitions: Definitions, _: Restored) -> Changes:
    name = statement.schema, statement.table
    if statement.like not in definitions:
        return {}
    return {name: like_definition(definitions[statement.like], *name)}


def like_definition(table: Table, schema: str, name: str) -> Table:
    """Returns the definition of CREATE TABLE ... LIKE, which copies no foreign keys."""
    return replace(table, schema=schema, name=name, foreign_keys=())


def _dropped(statement: DropTable, *_: object) -> Changes:
    return {(statement.schema, statement.table): None}


def _dropped_schema(statement: DropSchema, definitions: Definitions, _: Restored) -> Changes:
    return dict.fromkeys(definitions.of_schema(statement.schema))


def _recovered(statement: RecoverTable, _: Definitions, restored: Restored) -> Changes:
    if statement.dropped is None or statement.table is None:
        return {}
    table, (schema, name) = restored(statement.dropped), statement.table
    return {} if table is None else {(schema, name): replace(table, schema=schema, name=name)}


def _renamed(statement: RenameTable, definitions: Definitions, _: Restored) -> Changes:
    if statement.old not in definitions:
        return {}
    return {statement.old: None, statement.new: apply(statement, definitions[statement.old])}


def _altered(statement: AlterTable, definitions: Definitions, _: Restored) -> Changes:
    name = statement.schema, statement.table
    return {name: evolve(statement, definitions[name]).after} if name in definitions else {}


def _no_changes(*_: object) -> Changes:
    return {}


# --- the rows ------------------------------------------------------------------------------------

Runs = Literal["alone", "in a shared cut", "with its neighbours", "maybe refilled"]
"""Runs of DDL. Where it is transactional, several of one cut may run "in a shared cut". Elsewhere,
DDL "with its neighbours" run as one statement, and one "maybe refilled" may fill its table from
upstream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The properties of one kind of statement that the steps of a DDL look up.

    `names` lists the names in a statement of the kind. `under` returns it with its own table or
    view under the name that TiCDC sends; None if replacing a name is not enough. `changes` returns
    the definitions that it changes, from those before it. It `creates` or `drops` its table, view
    or database, and `empties` its table, whose rows may be stored elsewhere. It `reads` tables by a
    query. After it, `any_layout` may differ.
    """

    names: Callable[[Any], Named]
    under: Callable[[Any, TableName], Statement] | None = None
    changes: Callable[[Any, Definitions, Restored], Changes] = _no_changes
    runs: Runs = "alone"
    creates: bool = False
    drops: bool = False
    empties: bool = False
    reads: bool = False
    any_layout: bool = False


KINDS: Mapping[type[Statement], Kind] = {
    CreateSchema: Kind(names=_of_schema, creates=True),
    AlterSchema: Kind(names=_of_schema, any_layout=True),
    DropSchema: Kind(names=_in_drop_schema, changes=_dropped_schema, drops=True, any_layout=True),
    CreateTable: Kind(
        names=_in_create_table,
        under=_create_table_as,
        changes=_created,
        runs="in a shared cut",
        creates=True,
    ),
    CreateTableLike: Kind(
        names=_in_create_table_like,
        under=_table_as,
        changes=_copied,
        runs="in a shared cut",
        creates=True,
    ),
    DropTable: Kind(names=_of_table, under=_table_as, changes=_dropped, drops=True, empties=True),
    TruncateTable: Kind(names=_of_table, under=_table_as, empties=True),
    AlterTable: Kind(
        names=_in_alter_table, under=_table_as, changes=_altered, runs="maybe refilled"
    ),
    RenameTable: Kind(names=_in_rename_table, changes=_renamed, runs="with its neighbours"),
    RecoverTable: Kind(names=_in_recover_table, changes=_recovered),
    CreateView: Kind(names=_of_view, under=_view_as, creates=True, reads=True),
    DropView: Kind(names=_of_view, under=_view_as, drops=True),
    Other: Kind(names=_in_other, any_layout=True),
}


def kind_of(statement: Statement) -> Kind:
    """Returns the row of a statement."""
    return KINDS[type(statement)]


def names_of(statement: Statement) -> Named:
    """Returns the names in a statement."""
    return KINDS[type(statement)].names(statement)


# --- actions of ALTER TABLE ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionKind:
    """The properties of one kind of action that every step needs.

    `policy` is its name in `[ddl.kinds]`, "" if it has none of its own. Without `effect`, it
    concerns neither columns, keys nor rows; without `work`, the target's table stays unchanged.
    `keys`: only indexes change. `partitions`: rows come or go with a partition.
    """

    policy: str = ""
    effect: bool = True
    work: bool = True
    keys: bool = False
    partitions: bool = False


ACTIONS: Mapping[type[Action], ActionKind] = {
    AddColumn: ActionKind(policy="ADD COLUMN"),
    ModifyColumn: ActionKind(policy="MODIFY COLUMN"),
    DropColumn: ActionKind(policy="DROP COLUMN"),
    RenameColumn: ActionKind(policy="RENAME COLUMN"),
    SetDefault: ActionKind(policy="SET DEFAULT"),
    AddIndex: ActionKind(policy="ADD INDEX", keys=True),
    DropIndex: ActionKind(policy="DROP INDEX", keys=True),
    RenameIndex: ActionKind(policy="RENAME INDEX", keys=True),
    AddForeignKey: ActionKind(),
    DropForeignKey: ActionKind(),
    SetCharset: ActionKind(),
    Repartition: ActionKind(work=False),
    ReplacePartitions: ActionKind(work=False),
    ResizePartitions: ActionKind(work=False),
    EmptyPartitions: ActionKind(partitions=True),  # its policy: see `policy_of`
    ExchangePartition: ActionKind(policy="EXCHANGE PARTITION", partitions=True),
    NoEffect: ActionKind(effect=False, work=False),
    OtherAction: ActionKind(),
}


def action_kind(action: Action) -> ActionKind:
    """Returns the row of an action."""
    return ACTIONS[type(action)]


def policy_of(action: Action) -> str:
    """Returns the name of an action in `[ddl.kinds]`, "" if it has none of its own."""
    if isinstance(action, EmptyPartitions):
        return "DROP PARTITION" if action.drop else "TRUNCATE PARTITION"
    return ACTIONS[type(action)].policy
