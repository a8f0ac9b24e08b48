"""TiDB: transactions and DDL over tables with all kinds of keys, and their contents at any ts.

Every step has a seed of its own, so that a history without some of its steps still makes sense: a
step that the present tables do not allow does nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random
from typing import Any, TypeVar

from ticdc_encoder.event import Ddl, Row, RowChange, Table
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.tso import compose

from ticdc_torture.column import ModelColumn

SCHEMA = "w"
"""Schema of the tables, unless another is named."""
NAMES = ("a", "b", "c", "d")
ID = ModelColumn("id", "INT", required=True)
B = ModelColumn("b", "VARCHAR(9)", required=True)
U = ModelColumn("u", "INT")
K = ModelColumn("k", "INT", required=True)
KEYS: dict[str, tuple[tuple[ModelColumn, ...], tuple[str, ...]]] = {
    "id": ((ID,), ("PRIMARY KEY (`id`)",)),
    "id, u": ((ID, U), ("PRIMARY KEY (`id`)", "UNIQUE KEY `u` (`u`)")),
    "id+b, u": ((ID, B, U), ("PRIMARY KEY (`id`, `b`)", "UNIQUE KEY `u` (`u`)")),
    "b": ((B,), ("PRIMARY KEY (`b`)",)),
    "id, k+u": ((ID, K, U), ("PRIMARY KEY (`id`)", "UNIQUE KEY `ku` (`k`, `u`)")),
    "unique k": ((K, U), ("UNIQUE KEY `k` (`k`)",)),
    "unique id+b, k": ((ID, B, K), ("UNIQUE KEY `ib` (`id`, `b`)", "UNIQUE KEY `k` (`k`)")),
}
"""Kinds of keys: their columns and their definitions."""
KEYLESS: dict[str, tuple[tuple[ModelColumn, ...], tuple[str, ...]]] = {
    "none": ((ID, U), ()),
    "only unique u": ((B, U), ("UNIQUE KEY `u` (`u`)",)),
}
"""Definitions of tables in which nothing identifies a row: a NULL is not unique."""
P = ModelColumn("p", "INT")
JOINED: dict[str, tuple[tuple[ModelColumn, ...], tuple[str, ...]]] = {
    "id, p of none": ((ID, P), ("FOREIGN KEY (`p`) REFERENCES `none` (`id`)", "PRIMARY KEY (`id`)"))
}
"""Definitions of tables with a foreign key, made while TiDB did not check for such a row."""
ALL_KEYS = KEYS | KEYLESS | JOINED
OWN_TYPES = ("INT", "VARCHAR(9)")
ORIGIN = compose(1_700_000_000_000)
"""A ts near the time when the world begins."""

T = TypeVar("T")

Contents = dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]]
"""Table -> its columns and its rows, both sorted."""


@dataclass(frozen=True)
class Event:
    """Changes of one table at one commit_ts: the rows of a transaction, or DDL."""

    commit_ts: int
    rows: tuple[RowChange, ...] = ()
    ddls: tuple[Ddl, ...] = ()
    number: int = 0
    """The place in the order of all events of the upstream."""


@dataclass(eq=False)
class Model:
    """One table under any name. `events` are all that ever happened to it."""

    kind: str
    columns: list[ModelColumn]
    id: int = 1
    version: int = 0
    """The commit_ts of its last DDL."""
    rows: dict[int, Row] = field(default_factory=dict)
    """Rows by a number that stays while the key changes."""
    events: list[Event] = field(default_factory=list)

    @property
    def own(self) -> list[ModelColumn]:
        """The columns that DDL may change."""
        return [column for column in self.columns if column.name.startswith("c")]

    @property
    def keys(self) -> list[tuple[str, ...]]:
        texts = [text.rpartition("(")[2][:-1] for text in ALL_KEYS[self.kind][1]]
        return [tuple(name.strip(" `") for name in text.split(",")) for text in texts]

    def create(self, name: str) -> str:
        parts = [*(column.sql for column in self.columns), *ALL_KEYS[self.kind][1]]
        return f"CREATE TABLE `{name}` ({', '.join(parts)})"

    def table(self, schema: str, name: str) -> Table:
        return _parsed(self.create(name), schema, self.id, self.version)

    def is_valid(self, rows: dict[int, Row]) -> bool:
        for key in self.keys:
            values = [tuple(row[c] for c in key) for row in rows.values()]
            values = [value for value in values if None not in value]
            if len(values) != len(set(values)):
                return False
        return True

    def contents(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        names = tuple(sorted(column.name for column in self.columns))
        rows = [tuple(row[name] for name in names) for row in self.rows.values()]
        return names, sorted(rows, key=repr)


@lru_cache(maxsize=4096)
def _parsed(sql: str, schema: str, id_: int, version: int) -> Table:
    return replace(parse_create_table(sql, schema), table_id=id_, version=version)


class TiDB:
    """`tables` by their names now; `models` all that ever were; `states` what the tables held after
    each commit_ts, `statements` the CREATE TABLE of each."""

    def __init__(
        self,
        nullable_defaults: bool = True,
        schema: str = SCHEMA,
        kinds: Sequence[str] = tuple(KEYS),
    ) -> None:
        """`nullable_defaults`: columns may have both NULL and DEFAULT, which Debezium sends for
        NULL. `kinds` are those of the tables' keys."""
        self._kinds = kinds
        self._nullable_defaults = nullable_defaults
        self.schema = schema
        self.ts = ORIGIN
        self.tables: dict[str, Model] = {}
        self.models: list[Model] = []
        self.states: list[tuple[int, Contents]] = []
        self.statements: list[tuple[int, dict[str, str]]] = []
        self.ddls: list[Ddl] = []
        self.of_rows: set[int] = set()
        """The commit_ts of transactions that changed which rows there are."""
        self._numbers = 0
        self._ids = 0

    def at(self, end: int) -> Contents:
        """The contents with all commit_ts < `end`."""
        return _before(end, self.states)

    def statements_at(self, end: int) -> dict[str, str]:
        """The CREATE TABLE of each table with all commit_ts < `end`."""
        return _before(end, self.statements)

    def ddls_before(self, end: int) -> list[Ddl]:
        """All DDL with commit_ts < `end`."""
        return [ddl for ddl in self.ddls if ddl.commit_ts < end]

    def transactions_between(self, begin: int, end: int) -> list[int]:
        """The commit_ts in [`begin`, `end`) of rows that changed the tables' contents."""
        changing, last = set[int](), self.at(begin)
        for commit_ts, contents in self.states:
            if begin <= commit_ts < end:
                if contents != last and commit_ts in self.of_rows:
                    changing.add(commit_ts)
                last = contents
        return sorted(changing)

    def step(self, rng: Random, of_ddl: float) -> None:
        """One transaction or DDL, or both at one commit_ts."""
        self.ts += rng.choice([1, 1, 2, 5, 1 << 18])
        ddl = not self.tables or rng.random() < of_ddl
        if self.tables and (not ddl or rng.random() < 0.3):
            self._transaction(rng)
        if ddl:
            # Rows of the same commit_ts are of the schema before it.
            self._ddl(rng)
        self._remember()

    def create(self, rng: Random, count: int) -> None:
        """Creates several tables, at one commit_ts before all others."""
        for name in NAMES[:count]:
            self._create(rng, name)
        self._remember()

    def _remember(self) -> None:
        contents = {name: model.contents() for name, model in self.tables.items()}
        self.states.append((self.ts, contents))
        statements = {name: model.create(name) for name, model in self.tables.items()}
        self.statements.append((self.ts, statements))

    def _note(self, model: Model, rows: Sequence[RowChange] = (), ddls: Sequence[Ddl] = ()) -> None:
        self._numbers += 1
        model.events.append(Event(self.ts, tuple(rows), tuple(ddls), self._numbers))
        self.ddls += ddls

    # --- rows ---------------------------------------------------------------------------------

    def _transaction(self, rng: Random) -> None:
        for name in rng.sample(sorted(self.tables), min(len(self.tables), rng.choice([1, 1, 2]))):
            model = self.tables[name]
            before, contents = model.rows, model.contents()
            for _ in range(rng.randint(1, 4)):
                rows = self._mutated(rng, model)
                if model.is_valid(rows):
                    model.rows = rows
            changes = list(_changes(model.table(self.schema, name), before, model.rows, self.ts))
            if changes:
                if model.contents() != contents:
                    self.of_rows.add(self.ts)
                self._note(model, rows=changes)

    def _mutated(self, rng: Random, model: Model) -> dict[int, Row]:
        rows = dict(model.rows)
        one = rng.choice(sorted(rows)) if rows else 0
        way = rng.choice(["insert", "insert", "update", "delete", "key", "swap", "reinsert"])
        match way:
            case "update" if rows:
                column = rng.choice(model.columns)
                rows[one] = {**rows[one], column.name: _value(rng, column)}
            case "delete" if rows:
                del rows[one]
            case "key" if rows and model.keys:
                fresh = self._row(rng, model)
                rows[one] = {**rows[one], **{c: fresh[c] for c in rng.choice(model.keys)}}
            case "swap" if len(rows) > 1 and model.keys:
                some = rng.sample(sorted(rows), min(len(rows), rng.choice([2, 2, 3])))
                key = rng.choice(model.keys)
                values = [{c: rows[i][c] for c in key} for i in some]
                for i, others in zip(some, values[1:] + values[:1], strict=True):
                    rows[i] = {**rows[i], **others}
            case "reinsert" if rows:
                self._ids += 1
                rows[self._ids] = rows.pop(one)
            case _:
                self._ids += 1
                rows[self._ids] = self._row(rng, model)
        return rows

    def _row(self, rng: Random, model: Model) -> Row:
        return {column.name: _value(rng, column) for column in model.columns}

    # --- DDL ----------------------------------------------------------------------------------

    def _ddl(self, rng: Random) -> None:
        existing, free = sorted(self.tables), [n for n in NAMES if n not in self.tables]
        ways = ["add", "drop column", "wider", "drop", "truncate", "rename", "swap", "again"]
        way = rng.choice(["create", *ways]) if len(existing) > 1 else "create"
        if way == "create" and not free:
            way = "truncate"
        if way == "create":
            for name in rng.sample(free, min(len(free), rng.choice([1, 1, 2]))):
                self._create(rng, name)
            return
        name = rng.choice(existing)
        model = self.tables[name]
        match way:
            case "add":
                names = {column.name for column in model.columns}
                column = self._own(rng, next(f"c{n}" for n in range(99) if f"c{n}" not in names))
                model.columns = [*model.columns, column]
                model.rows = {
                    n: {**row, column.name: column.initial} for n, row in model.rows.items()
                }
                self._altered(name, f"ADD COLUMN {column.sql}")
            case "drop column" if model.own:
                dropped = rng.choice(model.own).name
                model.columns = [column for column in model.columns if column.name != dropped]
                model.rows = {
                    n: {k: v for k, v in row.items() if k != dropped}
                    for n, row in model.rows.items()
                }
                self._altered(name, f"DROP COLUMN `{dropped}`")
            case "wider" if any(column.type == "INT" for column in model.own):
                old = next(column for column in model.own if column.type == "INT")
                new = ModelColumn(old.name, "BIGINT", old.required, old.default)
                model.columns = [new if column is old else column for column in model.columns]
                self._altered(name, f"MODIFY COLUMN {new.sql}")
            case "drop":
                self._drop(name)
            case "again":
                self._drop(name)
                self._remember()
                self.ts += 1
                self._create(rng, name)
            case "rename" if free:
                self._rename(name, rng.choice(free))
            case "swap":
                other = rng.choice([other for other in existing if other != name])
                self._swap(name, other)
            case _:
                model.rows, model.version = {}, self.ts
                self._say(
                    model,
                    name,
                    f"TRUNCATE TABLE `{self.schema}`.`{name}`",
                    model.table(self.schema, name),
                )

    def _say(self, model: Model, name: str, query: str, after: Table | None) -> None:
        self._note(model, ddls=[Ddl(self.schema, name, query, self.ts, definition=after)])

    def _altered(self, name: str, clause: str) -> None:
        model = self.tables[name]
        model.version = self.ts
        self._say(
            model,
            name,
            f"ALTER TABLE `{self.schema}`.`{name}` {clause}",
            model.table(self.schema, name),
        )

    def _create(self, rng: Random, name: str) -> None:
        kind = rng.choice(self._kinds)
        columns = [*ALL_KEYS[kind][0], *(self._own(rng, f"c{n}") for n in range(rng.randint(0, 2)))]
        model = self.tables[name] = Model(kind, columns, len(self.models) + 1, self.ts)
        self.models.append(model)
        self._say(model, name, model.create(name), model.table(self.schema, name))

    def _own(self, rng: Random, name: str) -> ModelColumn:
        kind, required = rng.choice(OWN_TYPES), rng.random() < 0.5
        default = rng.choice([None, 7 if kind == "INT" else "d"])
        if not required and not self._nullable_defaults:
            default = None
        return ModelColumn(name, kind, required, default)

    def _drop(self, name: str) -> None:
        model = self.tables.pop(name)
        self._say(model, name, f"DROP TABLE `{self.schema}`.`{name}`", None)

    def _rename(self, old: str, new: str) -> None:
        model = self.tables[new] = self.tables.pop(old)
        model.version = self.ts
        self._say(model, new, self._renaming(old, new), model.table(self.schema, new))

    def _renaming(self, old: str, new: str) -> str:
        return f"RENAME TABLE `{self.schema}`.`{old}` TO `{self.schema}`.`{new}`"

    def _swap(self, one: str, two: str) -> None:
        first, second = self.tables[one], self.tables[two]
        self.tables[one], self.tables[two] = second, first
        first.version = second.version = self.ts
        # TiCDC puts a table's final name next to each.
        to_two = Ddl(
            self.schema,
            two,
            self._renaming(one, "x"),
            self.ts,
            definition=first.table(self.schema, two),
        )
        to_one = Ddl(
            self.schema,
            one,
            self._renaming(two, one),
            self.ts,
            definition=second.table(self.schema, one),
        )
        at_last = Ddl(
            self.schema,
            two,
            self._renaming("x", two),
            self.ts,
            definition=first.table(self.schema, two),
        )
        self._note(first, ddls=[to_two, to_one, at_last])
        # The other table's rows wait for it, too.
        self._numbers += 1
        second.events.append(Event(self.ts, number=self._numbers - 1))


def _before(end: int, moments: Sequence[tuple[int, dict[str, T]]]) -> dict[str, T]:
    latest: dict[str, T] = {}
    for commit_ts, tables in moments:
        if commit_ts >= end:
            break
        latest = tables
    return latest


def _value(rng: Random, column: ModelColumn) -> Any:
    if not column.required and rng.random() < 0.2:
        return None
    few = 5 if column.name in ("id", "b", "u", "k") else 9
    number = rng.randint(1, few)
    return f"v{number}" if column.type.startswith("VARCHAR") else number


def _changes(
    table: Table, before: dict[int, Row], after: dict[int, Row], ts: int
) -> Iterator[RowChange]:
    for one in sorted({*before, *after}):
        old, new = before.get(one), after.get(one)
        if old != new:
            yield RowChange(table, ts, before=old, after=new, row_key=b"%d" % one)
