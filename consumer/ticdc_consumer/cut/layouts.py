"""Upstream tables -> layouts: target table, key, and refusals before any effect."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import sqlalchemy as sa
from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.filters.table import TableFilter, TableMatcher

from ticdc_consumer.config.merging import MOST_CHARACTERS, Shard
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.routing import Routes
from ticdc_consumer.ddl.definitions import with_labels
from ticdc_consumer.ddl.merged_tables import of_shard, require_named_rows, shard_column
from ticdc_consumer.ddl.touched import touched
from ticdc_consumer.errors import NoTable, Problems, Stop, Unsupported, about
from ticdc_consumer.protocols import protocol_of
from ticdc_consumer.protocols.exactness import require_all_columns
from ticdc_consumer.protocols.pickled_once import PickledInBlocks
from ticdc_consumer.protocols.shape import ExpectedShape, PickledShapes, shape, shape_of
from ticdc_consumer.state.destinations import InTarget, apart
from ticdc_consumer.state.known_tables import Definition, KnownTables, Shared, lower
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.state.other_changefeeds import OtherChangefeeds
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import Layout, TableName, TargetName, TargetTable
from ticdc_consumer.targets.target import Target

ForTasks = tuple[PickledInBlocks[Layout], PickledShapes]
_SOFT_DELETE = "_tidb_softdelete_time"
"""The column of TiDB X's tables with soft deletes, and of active-active ones. Source: TiCDC
`pkg/common/event/active_active.go` (`SoftDeleteTimeColumn`, `EvaluateRowPolicy`) at v26.3.1."""


class TableLayouts:
    """The numbered layouts of the tables whose rows have come. A layout that a DDL may have changed
    is rebuilt when the next row comes."""

    def __init__(self, options: Settings, target: Target) -> None:
        self._options = options
        self._target = target
        self._filter = TableFilter(options.filter, case_sensitive=options.case_sensitive)
        self._routes = Routes(options.route, case_sensitive=options.case_sensitive)
        self._at_least_once = TableMatcher(options.at_least_once, options.case_sensitive)
        self._exactness = protocol_of(options).exactness
        self.definitions: Mapping[TableName, Table] = {}
        self._seen: dict[TableName, tuple[Column, ...]] = {}
        self._where = InTarget.by(options, target)
        self._others = OtherChangefeeds(target, options.changefeed, self._where)
        self._known = KnownTables.of((), self._where)
        self.layouts: list[Layout] = []
        self.shapes: dict[TableName, tuple[int, ExpectedShape]] = {}
        self._unused: list[int] = []  # numbers of layouts that were dropped
        self._claims: dict[TargetName, TableName] = {}
        self._claimed: dict[TableName, dict[TableName, TargetName]] = {}  # by lower case
        self._new: set[TableName] = set()  # layouts built since the ledger was written
        self._ledger: Ledger | None = None
        self._declared: dict[TableName, Table] = {}
        self._beside: Mapping[TableName, TargetName] = {}
        self._named: set[TargetName] = set()  # merged tables whose rows all have a table's name
        self._for_tasks: ForTasks | None = None
        self._sent: ForTasks | None = None

    def learn(self, ledger: Ledger, done: Sequence[LedgerEntry] | None = None) -> None:
        """Takes the upstream tables' definitions from the ledger. Drops the layouts that the DDL
        `done` since then may have changed; without `done`, all of them."""
        before, self._known = self._known, ledger.known()
        self.definitions, self._ledger = self._known.created, ledger
        self._seen, self._declared = {}, {}
        # Another table may make names ambiguous on the wire.
        any_table = done is None or self._exactness.wire_name is not None
        changed = None if any_table else touched(done or (), before, self._known)
        if changed is None:
            self._forget_all()
        else:
            for name in changed:
                self._forget(name)

    def forget(self, name: TableName) -> None:
        """Drops the table's layout, as if none of its rows had come."""
        self._declared.pop(name, None)
        self._forget(lower(name))

    def fill(self, beside: Mapping[TableName, TargetName]) -> bool:
        """Sends only these tables' rows to the tables that will replace theirs. Returns whether
        this changes anything."""
        changed = beside.items() ^ self._beside.items()
        self._beside = beside
        for name, _ in changed:
            self._forget(lower(name))
        return bool(changed)

    def _forget_all(self) -> None:
        self.layouts, self.shapes, self._unused = [], {}, []
        self._claims, self._claimed, self._new = {}, {}, set()
        self._for_tasks = None

    def _forget(self, in_lower_case: TableName) -> None:
        for name, destination in self._claimed.pop(in_lower_case, {}).items():
            if self._claims.get(destination) == name:
                del self._claims[destination]
            number, _ = self.shapes.pop(name, (None, None))
            if number is not None:
                self._unused.append(number)
                self._for_tasks = None
            self._new.discard(name)

    def for_tasks(self) -> ForTasks:
        """Returns the current layouts and shapes; unchanged ones are not pickled again."""
        if self._for_tasks is None:
            layouts, shapes = self._sent or (None, None)
            self._for_tasks = self._sent = (
                PickledInBlocks(self.layouts, layouts),
                PickledShapes(self.shapes, shapes),
            )
        return self._for_tasks

    def sightings(self) -> list[Table]:
        """Returns the tables as rows show them, if their CREATE TABLE did not come and the ledger
        lacks this form. Rows whose types are families of types (Avro's) do not show a table."""
        if not self._exactness.types_are_complete:
            return []
        sighted = [
            Table(layout.schema, layout.table, layout.sent.source, handle_key=layout.sent.key)
            for layout, expected in map(self._layout, sorted(self._new))
            if not expected.keys_only
        ]
        return [
            table
            for table in sighted
            if (table.schema, table.name) not in self._declared
            and (table.schema, table.name) not in self.definitions
            and self._columns_seen((table.schema, table.name)) != table.columns
        ]

    def _columns_seen(self, name: TableName) -> tuple[Column, ...] | None:
        """Returns the columns that the ledger has from rows."""
        known = self._known.get(name)
        stored = known.table.columns if known is not None and known.basis == "seen" else None
        return self._seen.get(name, stored)

    def declare(self, source: Table, definition: Table) -> None:
        """Takes the upstream's definition of a table whose CREATE TABLE did not come. Raises `Stop`
        if it does not match the rows."""
        name, columns = (source.schema, source.name), {c.name: c for c in definition.columns}
        if self._exactness.types_are_complete:
            for column in source.columns:
                known = columns.get(column.name)
                if known is None or shape_of(known) != shape_of(column):
                    raise Stop(
                        f"{source.schema}.{source.name}.{column.name}: [source] upstream has "
                        f"{'no such column' if known is None else 'another type'} where the rows "
                        f"have {column.type.name}: is it the TiDB of this changefeed?"
                    )
        self._declared[name] = replace(definition, schema=source.schema, name=source.name)

    def declared(self) -> list[Table]:
        """Returns the definitions that the upstream was asked for and the ledger lacks."""
        return list(self._declared.values())

    def for_reading(self) -> Mapping[TableName, Table]:
        """Returns the definitions for reading rows that do not carry their own."""
        if not self._declared:
            return self.definitions
        return {**self.definitions, **self._declared}

    def newcomers(self) -> list[TableName]:
        """Returns the tables that the ledger does not know, not even by name."""
        return [name for name in sorted(self._new) if name not in self._known.destinations]

    def note_recorded(self, sightings: Sequence[Table], newcomers: Iterable[TableName]) -> None:
        """Notes that the ledger now has these `sightings` and `newcomers`, and everything
        `declared`. Raises `Stop` if another changefeed took one of the tables at the same moment.
        """
        self._seen |= {(table.schema, table.name): table.columns for table in sightings}
        if noted := set(newcomers):
            self._known = self._known.changed(dict.fromkeys(noted), noted=noted)
        if self._declared:
            stored = {n: Definition.of(t, "declared") for n, t in self._declared.items()}
            self._known, self._declared = self._known.changed(stored), {}
            self.definitions = self._known.created
        self._new = set()
        self._others.require_none_has(noted)

    def require_identified(self, table: Table) -> None:
        """Raises `Stop` if the table's CREATE TABLE has no key and the table is not accepted
        without one."""
        if not table.handle_key and not self._accepts_keyless(table):
            raise Stop(
                f"{table.schema}.{table.name}: no valid key: it has neither a primary key nor a "
                "NOT NULL unique key, so no change identifies its row; add one, leave it out by "
                "[tables] filter, or name it in [tables] at_least_once"
            )

    def _accepts_keyless(self, table: Table) -> bool:
        return self._at_least_once.matches(table.schema, table.name)

    def _layout(self, name: TableName) -> tuple[Layout, ExpectedShape]:
        number, expected = self.shapes[name]
        return self.layouts[number], expected

    def route(self, schema: str, table: str) -> TableName:
        """Returns the name in the target; `table` is "" for a schema only. Raises `Unsupported` if
        the table's rows are left out: a DDL of two tables may name such a table."""
        if table and not self._filter.matches(schema, table):
            raise Unsupported(f"the rows of {schema}.{table} are left out by [tables] filter")
        return self._routes(schema, table)

    def add(self, source: Table, deletes_only: bool, empty_at: int | None = None) -> None:
        """Builds the layout of a table from the columns that its rows carry.

        `deletes_only`: its rows may carry only the key. `empty_at`: the R at which the target's
        table must have no rows, if nothing is known of it. Raises `Stop`.
        """
        name = (source.schema, source.name)
        self.claim(name)
        with about(name):
            self._fit(name, source, deletes_only, empty_at)

    def _fit(
        self, name: TableName, source: Table, deletes_only: bool, empty_at: int | None
    ) -> None:
        whole = self._described(source, empty_at)
        definition = self._declared.get(name) or self.definitions.get(name)
        problems = Problems()
        if self._is_known(name):
            empty_at = None
        self._refuse(source, whole, problems)
        described, shard = whole, self._where.shard(name)
        if shard is not None:
            problems.require_none()
            described = _without(source, whole, shard)
            if not self._is_known(name):
                self._require_named_rows(name, shard)
        if empty_at is not None:
            with problems:
                self._require_empty(name, shard, empty_at)
        key: tuple[str, ...] = ()
        with problems:
            key = self._key(source, definition, described)
        # If nothing identifies a row, a DELETE carries all of it.
        deletes_only = deletes_only and bool(key)
        if deletes_only:
            source = replace(source, columns=tuple(c for c in source.columns if c.name in key))
        with problems:
            completed = self._exactness.complete(source, definition, described)
            if definition is None and self._ledger is not None:
                completed = with_labels(completed, self._ledger)
            layout = self._layout_of(completed, key, whole, definition, deletes_only)
        if not deletes_only:
            with problems:
                require_all_columns(source, definition, described)
        problems.require_none()
        existing = self.shapes.get(name)
        if existing is not None:
            number = existing[0]
        else:
            number = self._unused.pop() if self._unused else len(self.layouts)
        self.layouts[number : number + 1] = [layout]
        self.shapes[name] = (number, ExpectedShape(shape(source), deletes_only))
        self._for_tasks = None
        self._new.add(name)

    def _layout_of(
        self,
        source: Table,
        key: tuple[str, ...],
        described: TargetTable,
        definition: Table | None,
        deletes_only: bool,
    ) -> Layout:
        shard = self._where.shard((source.schema, source.name))
        if shard is not None:
            column = shard_column(shard)
            source = replace(source, columns=(*source.columns, column))
            key = (*key, column.name)
        rules = self._options.rules
        layout = self._target.layout(
            source, key, described, definition, rules, keys_only=deletes_only
        )
        return layout if shard is None else replace(layout, shard=shard.name)

    def claim(self, name: TableName) -> None:
        """Claims the target's table for the rows of an upstream table. Raises `Stop` if rows of
        another table go there, including another changefeed's."""
        self._known.require_alone(name, self._target.quote)
        self._others.require_none_has([name])
        destination = self._target.locate(*self._routes(*name))
        comparable = self._target.comparable(destination)
        other = self._claims.setdefault(comparable, name)
        self._claimed.setdefault(lower(name), {})[name] = comparable
        if lower(other) != lower(name) and not apart(self._where, name, other):
            raise Shared.by(name, other, self._target.quote(*destination))

    def _described(self, source: Table, empty_at: int | None) -> TargetTable:
        """Returns the target's table. Raises `Stop` if it does not exist, or may have received
        another table's rows."""
        name = source.schema, source.name
        label, (schema, table) = ".".join(name), self._destination(name)
        if wire_name := self._exactness.wire_name:
            self._require_one_name(source, schema, table, wire_name)
        described = self._target.describe(schema, table)
        if described is None:
            may_be_empty = empty_at is not None and not self._is_known(name)
            others = f", or create it {_IF_EMPTY}" if may_be_empty else ""
            if empty_at == 0:
                others += ", or leave it out by [tables] filter"
            missing = f"{label}: the target has no table {self._target.quote(schema, table)}"
            way = _load(label, empty_at)
            raise NoTable(f"{missing}; {way}{others}", may_be_empty=may_be_empty)
        return described

    def _destination(self, name: TableName) -> TargetName:
        """Returns the target table that gets the rows now."""
        return self._beside.get(name) or self._target.locate(*self._routes(*name))

    def _is_known(self, name: TableName) -> bool:
        """Returns whether the table's CREATE TABLE, rows or a load came before, under its name in
        any case."""
        same = (name, *self._known.sharing(name))
        return any(
            other in self._known.destinations and lower(other) == lower(name) for other in same
        )

    def _require_named_rows(self, name: TableName, shard: Shard) -> None:
        located = self._destination(name)
        if located not in self._named:
            require_named_rows(self._target, located, shard, self._where)
            self._named.add(located)

    def _require_empty(self, name: TableName, shard: Shard | None, resolved_ts: int) -> None:
        """Raises `Stop` if the target's table has rows that nothing received has written."""
        located = self._target.locate(*self._routes(*name))
        if shard is None:
            has_rows = self._target.has_rows(*located)
        else:
            rows = of_shard(self._target, located, shard)
            has_rows = self._target.execute(f"SELECT 1 FROM {rows} LIMIT 1").first() is not None  # noqa: S608
        if not has_rows:
            return
        label, changefeed = ".".join(name), self._options.changefeed
        snapshot = (
            "start with --from-ts TS if they are a snapshot of TS, " if not resolved_ts else ""
        )
        load = f"{_load(label, resolved_ts, replaces=True)}, or " if shard is None else ""
        raise Stop(
            f"{label}: the target's table has rows that changefeed {changefeed} did not write; "
            f"{snapshot}{load}delete them {_IF_EMPTY}{self._other_changefeeds()}"
        )

    def _refuse(self, source: Table, described: TargetTable, problems: Problems) -> None:
        """Notes the reasons why a table cannot be applied exactly."""
        label = f"{source.schema}.{source.name}"
        if any(column.name.lower() == _SOFT_DELETE for column in source.columns):
            with problems:
                raise Stop(
                    f"{label}: a table with soft deletes, or an active-active one (it has "
                    f"{_SOFT_DELETE}): TiCDC does not send its hard DELETEs, and sends a soft "
                    "one as a DELETE, so the target would differ from the upstream: leave the "
                    "table out by [tables] filter"
                )
        for name, cure in described.strict_foreign_keys:
            with problems:
                raise Stop(f"{label}: foreign key {name} cannot be deferred; run: {cure}")
        allowed = self._options.apply == "transactions" or label in self._options.allow_triggers
        for trigger in described.triggers if not allowed else ():
            with problems:
                raise Stop(
                    f"{label}: trigger {trigger} would see net changes only; "
                    'set apply = "transactions", or name the table in [tables] allow_triggers'
                )
        with problems:
            self._exactness.require_exact(source, self._options.rules)

    def _require_one_name(
        self, source: Table, schema: str | None, table: str, wire_name: Callable[[str], str]
    ) -> None:
        """Raises `Stop` if the messages write another table's name like this one (Avro's have `_`
        for every character but letters and digits)."""
        with self._target.errors():
            existing = sa.inspect(self._target.connection).get_table_names(schema)
        others = {name for name in existing if name != table and wire_name(name) == table}
        others |= {
            other
            for of, other in self.definitions
            if wire_name(of) == source.schema and wire_name(other) == source.name
        } - {source.name}
        if others:
            raise Stop(
                f"{source.schema}.{source.name}: {self._options.protocol}'s messages have "
                f"{source.name} for {min(others)}, too: rename it, or leave {source.name} out by "
                "[tables] filter"
            )

    def _other_changefeeds(self) -> str:
        """Returns a hint that the rows may belong to a changefeed that was renamed."""
        mine = self._options.changefeed
        others = [name for name in Store(self._target, mine).changefeeds() if name != mine]
        return f"; the target knows the changefeed {', '.join(others)}" if others else ""

    def _key(
        self, source: Table, definition: Table | None, described: TargetTable
    ) -> tuple[str, ...]:
        """Returns the fold key in the target's column order; empty if the table has none and is
        accepted without one."""
        label = f"{source.schema}.{source.name}"
        required = {column.name for column in described.columns if not column.nullable}
        sent = {column.name.lower(): column.name for column in source.columns}
        candidates = [
            unique.columns
            for unique in described.unique_keys
            if unique.plain
            and set(unique.columns) <= required
            and all(column.lower() in sent for column in unique.columns)
        ]
        identifying = (
            source.handle_key
            or (definition.handle_key if definition else ())
            or self._options.keys.get(label, ())
        )
        if identifying:
            for columns in candidates:
                if {c.lower() for c in columns} == {i.lower() for i in identifying}:
                    return tuple(sent[column.lower()] for column in columns)
            raise Stop(
                f"{label}: rows are identified by ({', '.join(identifying)}), but the target's "
                "table has neither a primary key nor a NOT NULL unique key of exactly these columns"
            )
        if definition is None and candidates:
            named = "; ".join(", ".join(columns) for columns in candidates)
            raise Stop(
                f"{label}: neither the messages nor a CREATE TABLE name upstream's key, and the "
                f'target\'s ({named}) may be another: name it by [tables.keys] "{label}", or set '
                "[source] upstream to the TiDB, from which a run then reads it; if upstream has "
                "none, drop the target's, and name the table in [tables] at_least_once"
            )
        if source.columns and self._accepts_keyless(source):
            return ()
        raise Stop(
            f"{label}: no valid key: neither the messages nor the target's table show what "
            "identifies a row; add a primary key or a NOT NULL unique key on both sides, or "
            "name the table in [tables] at_least_once"
        )


_IF_EMPTY = "if upstream's table had no rows when the changefeed began"


def _load(label: str, resolved_ts: int | None, *, replaces: bool = False) -> str:
    """Returns the advice to load the upstream's rows, including those older than the changefeed."""
    if resolved_ts == 0:
        return f"load all tables by: ticdc-consumer load CONFIG{' --replace' if replaces else ''}"
    return f"load it by: ticdc-consumer load CONFIG --table {label}"


def _without(source: Table, described: TargetTable, shard: Shard) -> TargetTable:
    """Returns the target's table as one shard sees it. Raises `Stop` unless the shard's column
    distinguishes its rows from all other shards' rows."""
    label, column = f"{source.schema}.{source.name}", shard.column
    if len(shard.name) > MOST_CHARACTERS:
        raise Stop(f"{label}: its name is too long for {column}")
    if column.lower() in {each.name.lower() for each in source.columns}:
        raise Stop(f"{label} has a column {column} itself: name another one in [tables.merge]")
    if column not in {each.name for each in described.columns if not each.nullable}:
        raise Stop(
            f"{label}: the target's table needs a column {column}, a text and NOT NULL, as "
            f"[tables.merge] says: add it, as VARCHAR({MOST_CHARACTERS}), fill it in existing "
            f"rows with the name of their upstream table ('{shard.name}' for the rows of this "
            "one), and make it a part of every unique key; then start again"
        )
    for unique in described.unique_keys:
        if not unique.plain or column not in unique.columns or len(unique.columns) == 1:
            raise Stop(
                f"{label}: unique key {unique.name} of the target must have {column} as one of "
                "its columns: else rows of merged tables would conflict"
            )
    return replace(
        described,
        columns=tuple(each for each in described.columns if each.name != column),
        unique_keys=tuple(
            replace(unique, columns=tuple(name for name in unique.columns if name != column))
            for unique in described.unique_keys
        ),
    )
