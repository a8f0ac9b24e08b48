"""The tables of a load: refusals before anything is done, each table's creation before its rows,
and its completion after."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import sqlalchemy as sa
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved
from ticdc_encoder.sql.parser import parse_create_table

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.ddl.foreign_keys import references
from ticdc_consumer.ddl.generated_columns import as_it_is
from ticdc_consumer.errors import Denied, Problems, Stop
from ticdc_consumer.protocols import protocol_of
from ticdc_consumer.state.known_tables import Definitions
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.loading import LoadNotes, TableLoad, TableState
from ticdc_consumer.targets.layout import Layout, Reference, ReferenceChanges, TableName
from ticdc_consumer.upstream.tables import Defined, sent


class Creation(NamedTuple):
    """The statements for a table that the consumer creates: before its rows, after them, and its
    foreign keys when all tables are complete."""

    first: Sequence[str]
    indexes: Sequence[str]
    references: Sequence[tuple[Reference, str]]


@dataclass(frozen=True, slots=True)
class LoadTables:
    """The tables of a load in the target. `tables` are the upstream's."""

    options: Settings
    context: DdlContext
    layouts: TableLayouts
    tables: Mapping[TableName, Defined]

    # --- before anything is done ---------------------------------------------------------------

    def states(self, replace_rows: bool) -> dict[TableName, TableState]:
        """The first state of each table. Raises `Stop` for all tables that cannot be loaded
        exactly, or have rows that must not be replaced."""
        problems, states = Problems(), dict[TableName, TableState]()
        for name, each in self.tables.items():
            with problems:
                states[name] = self._state(each, replace_rows)
        problems.require_none()
        return states

    def _state(self, defined: Defined, replace_rows: bool) -> TableState:
        state = self.fitting(defined)
        target, located = self.context.target, self.context.locate(defined.name)
        if state == "create" or not target.has_rows(*located):
            return state
        if not replace_rows:
            raise Stop(
                f"{'.'.join(defined.name)}: {target.quote(*located)} has rows: empty it, or load "
                "with --replace, which deletes them"
            )
        return "empty"

    def fitting(self, defined: Defined) -> TableState:
        """Returns whether the table is to be created or an existing one can be used, whatever rows
        it has. Raises `Stop` if neither can hold the upstream's rows."""
        name, target = ".".join(defined.name), self.context.target
        if self.context.shard(defined.name) is not None:
            raise Stop(
                f"{name}: load does not fill tables that [tables.merge] merges: load them "
                "yourself, with the column filled, and start with --from-ts"
            )
        self.layouts.claim(defined.name)
        located = self.context.locate(defined.name)
        if target.describe(*located) is None:
            self._require_creatable(defined)
            return "create"
        # Chunks of a child may come before those of its parent.
        if target.before_ddl and (keys := target.references(*located)):
            raise Stop(
                f"{name}: {target.quote(*located)} has foreign key {keys[0].name}: drop it, and "
                "create it after the load; or drop the table, and load creates both"
            )
        self.layouts.add(rows_of(defined.table), deletes_only=False)
        return "use"

    def _require_creatable(self, defined: Defined) -> None:
        located = self.context.locate(defined.name)
        with naming(defined):
            self.creation(defined)
            self.context.target.create_table(*located, defined.table)  # with all of its keys
        protocol_of(self.options).exactness.require_exact(
            rows_of(defined.table), self.options.rules
        )
        self.layouts.require_identified(defined.table)

    def creation(self, defined: Defined) -> Creation:
        """Statements that create the table. Raises `Stop` for what the target cannot hold."""
        context, table = self.context, self._without_indexes(defined.table)
        located = context.locate(defined.name)
        known = Definitions.of({name: each.table for name, each in self.tables.items()})
        keys = references(table, known, context.locate)
        plain = context.target.create_table(*located, table)
        whole = context.target.create_table(*located, table, keys)
        # If another key than the primary one identifies rows, it is created at the beginning.
        first = 1 if table.handle_key == table.primary_key else len(plain)
        later = whole[len(plain) :]
        return Creation(
            whole[:first],
            whole[first : len(plain)],
            list(zip(keys, later, strict=True)) if later else (),
        )

    def _without_indexes(self, table: Table) -> Table:
        """Returns the table without non-identifying indexes where CREATE TABLE has all keys and
        ALTER TABLE adds them faster than rows do, unless that changes its column types."""
        target = self.context.target
        if target.transactional_ddl or not target.alters_as_mysql:
            return table
        first = [index for index in table.indexes if index.columns == table.handle_key]
        bare = replace(table, indexes=tuple(first))
        return bare if target.column_types(bare) == target.column_types(table) else table

    def _left(self, table: TableLoad) -> Sequence[str]:
        """The statements that complete a table that the consumer created."""
        context, defined = self.context, self.tables[table.name]
        bare = self._without_indexes(defined.table)
        if bare is defined.table:
            return self.creation(defined).indexes
        located = context.locate(table.name)
        existing = context.target.describe(*located)
        assert existing is not None  # its rows were loaded
        names = {column.name: column.name for column in bare.columns}
        indexed = as_it_is(
            context.target, Evolved(bare, defined.table, names), existing, certain=True
        )
        return context.target.alter_table(*located, indexed, ReferenceChanges()).statements

    # --- before the rows -----------------------------------------------------------------------

    def begin(self, notes: LoadNotes, table: TableLoad, entry: LedgerEntry) -> None:
        """Brings a table to the state "rows". An earlier attempt may have crashed before noting
        it."""
        if notes.state(table.name) != table.state:
            return
        defined, target = self.tables[table.name], self.context.target
        located = self.context.locate(table.name)
        statements: Sequence[str] = ()
        if table.state == "empty":
            statements = target.truncate_table(*located)
        elif table.state == "create" and target.describe(*located) is None:
            statements = self.creation(defined).first
        if not target.transactional_ddl:
            self._execute(statements, defined)
        with target.transaction():
            if target.transactional_ddl:
                self._execute(statements, defined)
            if table.created:
                self.context.ledger.add([entry])
                keep_definition(self.context.ledger, entry)
            else:
                self.context.ledger.define(defined.table, "declared")
            notes.reached(table.name, "rows")

    def create_schemas(self, snapshot_ts: int) -> None:
        """Creates the missing schemas of the tables' destinations."""
        context, target = self.context, self.context.target
        existing: set[str | None] = {None, *sa.inspect(target.connection).get_schema_names()}
        upstream = sorted({schema for schema, _ in self.tables})
        for name in sorted(self.tables):
            located, _ = context.locate(name)
            if located is None or located in existing:
                continue
            existing.add(located)
            # The entry equals that of the stream's CREATE DATABASE, if that would create the
            # schema.
            query = f"CREATE DATABASE `{name[0].replace('`', '``')}`"
            number = upstream.index(name[0]) + 1
            entry = LedgerEntry(snapshot_ts, number, name[0], "", query, _CREATE_SCHEMA, "done")
            is_its_own = target.locate(context.route(name[0], "")[0], "")[0] == located
            with target.transaction():
                self._execute(target.create_schema(located), self.tables[name])
                if is_its_own and context.ledger.entry(entry.order) is None:
                    context.ledger.add([entry])

    def entry(self, snapshot_ts: int, name: TableName) -> LedgerEntry:
        """The ledger's entry of a table that the consumer creates, as if its CREATE TABLE had come
        at the snapshot, after those of all schemas."""
        schemas = len({schema for schema, _ in self.tables})
        number = schemas + 1 + sorted(self.tables).index(name)
        return LedgerEntry(
            snapshot_ts, number, *name, self.tables[name].statement, _CREATE_TABLE, "done"
        )

    def layouts_of_rows(self) -> dict[TableName, tuple[Table, Layout]]:
        """The layouts with which rows are written. All rows are new, and replace nothing."""
        self.layouts.learn(self.context.ledger)
        of_rows = {}
        for name, defined in self.tables.items():
            self.layouts.add(rows_of(defined.table), deletes_only=False)
            number, _ = self.layouts.shapes[name]
            of_rows[name] = defined.table, replace(self.layouts.layouts[number], upsert=False)
        return of_rows

    # --- after the rows ------------------------------------------------------------------------

    def complete(self, notes: LoadNotes, table: TableLoad) -> None:
        """Brings a table whose rows are loaded to the state "done": with all of its indexes."""
        if notes.state(table.name) == "done":
            return
        target = self.context.target
        statements = self._left(table) if table.created else ()
        defined = self.tables[table.name]
        if not target.transactional_ddl:
            self._execute(statements, defined)
        with target.transaction():
            if target.transactional_ddl:
                self._execute(statements, defined)
            notes.reached(table.name, "done")

    def add_references(self, tables: Iterable[TableLoad]) -> None:
        """Adds the foreign keys of the tables that the consumer created."""
        for table in tables:
            if not table.created:
                continue
            located = self.context.locate(table.name)
            existing = {key.key for key in self.context.target.references(*located)}
            for key, statement in self.creation(self.tables[table.name]).references:
                if key.key not in existing:
                    self._execute([statement], self.tables[table.name])

    def _execute(self, statements: Iterable[str], of: Defined) -> None:
        with naming(of), self.context.target.errors():
            for statement in statements:
                self.context.target.run_ddl(statement)
                failpoints.hit("load-statement-ran")


_CREATE_SCHEMA, _CREATE_TABLE = 1, 3
"""TiDB's action codes."""


def rows_of(table: Table) -> Table:
    """The table with the columns that the stream sends."""
    return Table(table.schema, table.name, sent(table), handle_key=table.handle_key)


def defined_of(table: TableLoad) -> Defined:
    """The upstream's table, from the load's plan."""
    return Defined(parse_create_table(table.statement, table.name[0]), table.statement)


@contextmanager
def naming(defined: Defined) -> Iterator[None]:
    """Adds the table's name to a refusal raised inside."""
    try:
        yield
    except Denied:
        raise
    except Stop as refusal:
        raise Stop(f"{'.'.join(defined.name)}: {refusal}") from refusal
