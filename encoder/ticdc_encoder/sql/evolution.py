"""A table after a DDL, and its columns' names before."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from ticdc_encoder.column import Column, Index
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Table
from ticdc_encoder.partitioning import Partitioning
from ticdc_encoder.sql.clauses import complete, with_foreign_key
from ticdc_encoder.sql.column import default_collation
from ticdc_encoder.sql.statements import (
    Action,
    AddColumn,
    AddForeignKey,
    AddIndex,
    AlterTable,
    DropColumn,
    DropForeignKey,
    DropIndex,
    EmptyPartitions,
    ExchangePartition,
    ModifyColumn,
    NoEffect,
    OtherAction,
    RenameColumn,
    RenameIndex,
    RenameTable,
    Repartition,
    ReplacePartitions,
    ResizePartitions,
    SetCharset,
    SetDefault,
    Statement,
)


@dataclass(frozen=True, slots=True)
class Evolved:
    """`sources` maps each column that existed before to its name before; `computed` are the new
    columns whose default is an expression, so that the values of existing rows are not known;
    `moved` are the columns with FIRST or AFTER."""

    before: Table
    after: Table
    sources: Mapping[str, str] = field(default_factory=dict)
    computed: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()


def apply(statement: Statement, table: Table) -> Table:
    """The table's definition after a statement that alters or renames it; unchanged by any other.
    Raises `DefinitionError` if the statement does not fit the table."""
    match statement:
        case AlterTable():
            return evolve(statement, table).after
        case RenameTable(old, (schema, name)):
            return parent_renamed(replace(table, schema=schema, name=name), old, (schema, name))
        case _:
            return table


def evolve(statement: AlterTable, table: Table) -> Evolved:
    """The definition before and after an ALTER TABLE. Raises `DefinitionError`."""
    work = _Work(table)
    for action, following in zip_longest(statement.actions, statement.actions[1:]):
        work.do(action)
        if not (isinstance(action, AddColumn) and isinstance(following, AddColumn)):
            work.table = complete(work.table, work.columns, work.indexes)
    after = work.table
    names = {column.name for column in after.columns}
    return Evolved(
        table,
        after,
        {name: source for name, source in work.sources.items() if name in names},
        frozenset(work.computed & names),
        frozenset(work.moved & names),
    )


def columns_renamed(evolved: Evolved, table: Table) -> Table:
    """Another table after an ALTER TABLE: foreign keys follow the columns that they name."""
    for new, old in evolved.sources.items():
        if old != new:
            table = _column_renamed(table, evolved.after, old, new)
    return table


def _column_renamed(table: Table, of: Table, old: str, new: str) -> Table:
    """`table` after a column of table `of` got another name: foreign keys follow it."""
    own = (table.schema, table.name) == (of.schema, of.name)
    parent = of.schema.lower(), of.name.lower()

    def renamed(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new if name.lower() == old.lower() else name for name in columns)

    keys = []
    for key in table.foreign_keys:
        if own:
            key = replace(key, columns=renamed(key.columns))
        if (key.parent[0].lower(), key.parent[1].lower()) == parent:
            key = replace(key, parent_columns=renamed(key.parent_columns))
        keys.append(key)
    return replace(table, foreign_keys=tuple(keys))


def parent_renamed(table: Table, old: tuple[str, str], new: tuple[str, str]) -> Table:
    """`table` after a table that its foreign keys may name was renamed."""
    keys = tuple(
        replace(key, parent=new)
        if (key.parent[0].lower(), key.parent[1].lower()) == (old[0].lower(), old[1].lower())
        else key
        for key in table.foreign_keys
    )
    return replace(table, foreign_keys=keys)


class _Work:
    def __init__(self, table: Table) -> None:
        self.table = table
        self.sources = {column.name: column.name for column in table.columns}
        self.computed: set[str] = set()
        self.moved: set[str] = set()

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.table.columns

    @property
    def indexes(self) -> tuple[Index, ...]:
        return self.table.indexes

    def _set(self, columns: list[Column] | None = None, indexes: list[Index] | None = None) -> None:
        self.table = replace(
            self.table,
            columns=self.columns if columns is None else tuple(columns),
            indexes=self.indexes if indexes is None else tuple(indexes),
        )

    def do(self, action: Action) -> None:
        match action:
            case AddColumn():
                self._add(action)
            case ModifyColumn():
                self._modify(action)
            case DropColumn(name, if_exists):
                if not if_exists or self._has(name):
                    self._drop(self._position(name))
            case RenameColumn(name, new):
                position = self._position(name)
                self._replace(position, replace(self.columns[position], name=new))
            case SetDefault(name, default):
                position = self._position(name)
                self._replace(position, replace(self.columns[position], default=default))
            case AddIndex(index, if_not_exists):
                named = index.name.lower()
                if not (if_not_exists and named in {i.name.lower() for i in self.indexes}):
                    self._set(indexes=[*self.indexes, index])
            case DropIndex(name):
                # No statement names the index that a foreign key created for itself.
                rest = [index for index in self.indexes if index.name.lower() != name.lower()]
                self._set(indexes=rest)
            case RenameIndex(name, new):
                renamed = [
                    replace(index, name=new) if index.name.lower() == name.lower() else index
                    for index in self.indexes
                ]
                self._set(indexes=renamed)
            case AddForeignKey(key):
                parent = key.parent[0] or self.table.schema, key.parent[1]
                self.table = with_foreign_key(self.table, replace(key, parent=parent))
            case DropForeignKey(name):
                keys = tuple(k for k in self.table.foreign_keys if k.name.lower() != name.lower())
                self.table = replace(self.table, foreign_keys=keys)
            case SetCharset():
                self._charset(action)
            case Repartition(partitioned, by):
                self.table = replace(self.table, partitioned=partitioned, partitioning=by)
            case ReplacePartitions() | ResizePartitions() | EmptyPartitions() | ExchangePartition():
                if self.table.partitioning is not None:
                    self._partition(action, self.table.partitioning)
            case NoEffect() | OtherAction():
                pass

    def _has(self, name: str) -> bool:
        return name.lower() in {column.name.lower() for column in self.columns}

    def _position(self, name: str) -> int:
        for position, column in enumerate(self.columns):
            if column.name.lower() == name.lower():
                return position
        raise DefinitionError(f"{self.table.schema}.{self.table.name} has no column {name!r}")

    def _after(self, after: str | None, end: int) -> int:
        if after is None:
            return end
        return self._position(after) + 1 if after else 0

    def _add(self, action: AddColumn) -> None:
        if self._has(action.column.name):
            if action.if_not_exists:
                return
            raise DefinitionError(f"column {action.column.name!r} exists already")
        columns = list(self.columns)
        columns.insert(self._after(action.after, len(columns)), action.column)
        self._note(action.column.name, action.computed, action.after)
        self._set(columns, [*self.indexes, *action.keys])

    def _note(self, name: str, computed: bool, after: str | None) -> None:
        if computed:
            self.computed.add(name)
        if after is not None:
            self.moved.add(name)

    def _modify(self, action: ModifyColumn) -> None:
        if action.if_exists and not self._has(action.name):
            return
        position = self._position(action.name)
        name = action.column.name
        self._replace(position, action.column)
        if action.computed:
            self.computed.add(name)
        if action.after is not None:
            columns = list(self.columns)
            moved = columns.pop(position)
            self.table = replace(self.table, columns=tuple(columns))
            columns.insert(self._after(action.after, len(columns)), moved)
            self._set(columns)
            self.moved.add(name)
        self._set(indexes=[*self.indexes, *action.keys])

    def _replace(self, position: int, column: Column) -> None:
        old = self.columns[position].name
        columns = list(self.columns)
        columns[position] = column
        indexes = [
            replace(index, columns=tuple(column.name if c == old else c for c in index.columns))
            for index in self.indexes
        ]
        if old != column.name:
            self.table = _column_renamed(self.table, self.table, old, column.name)
            if old in self.sources:
                self.sources[column.name] = self.sources.pop(old)
            for names in (self.computed, self.moved):
                if old in names:
                    names.remove(old)
                    names.add(column.name)
        self._set(columns, indexes)

    def _drop(self, position: int) -> None:
        name = self.columns[position].name
        self.sources.pop(name, None)
        self.computed.discard(name)
        self.moved.discard(name)
        indexes = [index for index in self.indexes if index.columns != (name,)]
        if any(name in index.columns for index in indexes):
            raise DefinitionError(f"column {name!r} belongs to a key of several columns")
        self._set([*self.columns[:position], *self.columns[position + 1 :]], indexes)

    def _partition(
        self,
        action: ReplacePartitions | ResizePartitions | EmptyPartitions | ExchangePartition,
        now: Partitioning,
    ) -> None:
        match action:
            case ReplacePartitions(old, new):
                now = now.with_others(old, new)
            case ResizePartitions(by):
                now = now.resized(by)
            case EmptyPartitions(names, drop):
                now = now.without(names) if drop else now
            case ExchangePartition():
                now = replace(now, exact=now.exact and action.validated)
        self.table = replace(self.table, partitioning=now)

    def _charset(self, action: SetCharset) -> None:
        charset, collation = action.charset, action.collation
        if charset is None and collation is None:
            return
        charset = charset or (collation or "").partition("_")[0]
        collation = collation or default_collation(charset)
        self.table = replace(self.table, charset=charset, collation=collation)
        if action.convert:
            columns = [
                replace(column, type=replace(column.type, charset=charset, collation=collation))
                if column.type.charset is not None
                else column
                for column in self.columns
            ]
            self._set(columns)
