"""An upstream whose tables change, and its topic as TiCDC's contract allows it to look.

Like `world`, with DDL among the rows: tables that come, go, come again under the same name, swap
their names, and get, lose and change columns. The model keeps columns and rows by itself: nothing
of the product's reading or changing of definitions takes part.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from ticdc_encoder.event import Ddl, Row, RowChange, Table
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_torture.column import INTS, ModelColumn, ModelValue

from support.world import World, lay_out

SCHEMA = "w"
NAMES = ("a", "b", "c")
TEXTS = ("VARCHAR(9)", "VARCHAR(20)")
WIDER = {"INT": ("BIGINT", "VARCHAR(20)"), "BIGINT": ("VARCHAR(20)",), "VARCHAR(9)": TEXTS[1:]}

Contents = dict[str, tuple[Any, ...]]
"""Table -> its columns, its unique columns, and its rows, each sorted."""


def value_of(column: ModelColumn, rng: Random) -> ModelValue:
    if not column.required and rng.random() < 0.2:
        return None
    if column.type == "DATETIME":
        return f"2024-01-0{rng.randint(1, 9)} 00:00:00"
    number = rng.randint(0, 9)
    return number if column.type in INTS else f"v{number}"


@dataclass
class Model:
    """One table: `id` is its primary key, `u`, where there is one, a unique key."""

    columns: list[ModelColumn]
    rows: dict[int, Row] = field(default_factory=dict)
    """By a number that a row keeps while its key changes."""

    @property
    def unique(self) -> bool:
        return any(column.name == "u" for column in self.columns)

    @property
    def own(self) -> list[ModelColumn]:
        """The columns that DDL may change."""
        return [column for column in self.columns if column.name not in ("id", "u")]

    def create(self, name: str) -> str:
        parts = [column.sql for column in self.columns] + ["PRIMARY KEY (`id`)"]
        parts += ["UNIQUE KEY `u` (`u`)"] * self.unique
        return f"CREATE TABLE `{name}` ({', '.join(parts)})"

    def table(self, name: str) -> Table:
        return parse_create_table(self.create(name), SCHEMA)

    def contents(self) -> tuple[Any, ...]:
        """In the words of SQLite's catalog."""
        kinds = {
            "DATETIME": "TEXT",
            **dict.fromkeys(INTS, "INTEGER"),
            **dict.fromkeys(TEXTS, "TEXT"),
        }
        columns = sorted((c.name, kinds[c.type], c.required) for c in self.columns)
        rows = sorted((sorted(row.items()) for row in self.rows.values()), key=repr)
        return columns, ["u"] * self.unique, rows


class History:
    """Transactions and DDL of one upstream; `statements` are its DDL, `states` what the
    tables hold after a commit_ts."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.ts = 10
        self.tables: dict[str, Model] = {}
        self.statements: list[Ddl] = []
        self.states: list[tuple[int, Contents]] = []
        self._ids = 0

    def run(self, steps: int) -> Iterator[RowChange | Ddl]:
        rng = self.rng
        for step in range(steps):
            self.ts += rng.choice([1, 1, 2, 5])
            of_ddl = step < 2 or rng.random() < 0.4
            if not of_ddl or rng.random() < 0.3:
                yield from self._transaction()
            if of_ddl:
                # Rows of the same commit_ts are of the schema before it.
                there = set(self.tables)
                yield from self._ddl()
                gone = there - set(self.tables)
                if gone and rng.random() < 0.6:
                    self._remember()
                    self.ts += 1
                    yield from self._done(self._create(sorted(gone)))
            self._remember()

    def _remember(self) -> None:
        contents = {name: model.contents() for name, model in self.tables.items()}
        self.states.append((self.ts, contents))

    # --- DDL ----------------------------------------------------------------------------------

    def _ddl(self) -> list[Ddl]:
        rng, there = self.rng, sorted(self.tables)
        free = [name for name in NAMES if name not in self.tables]
        if not there:
            found = self._create(free)
        else:
            ways = [self._add, self._add, self._drop_column, self._modify, self._change]
            ways += [self._drop, self._drop, self._truncate, self._rename, self._swap]
            ways += [self._create] * (2 if free else 0)
            way = rng.choice(ways)
            found = way(free if way == self._create else there)
        return self._done(found)

    def _done(self, found: list[tuple[str, str]]) -> list[Ddl]:
        made = [Ddl(SCHEMA, name, query, self.ts) for name, query in found]
        self.statements += made
        return made

    def _create(self, there: list[str]) -> list[tuple[str, str]]:
        """One of these tables, or several in a batch."""
        rng, made = self.rng, []
        for name in rng.sample(there, rng.randint(1, min(2, len(there)))):
            columns = [ModelColumn("id", "INT", required=True)]
            columns += [ModelColumn("u", "INT")] * rng.randint(0, 1)
            columns += [self._column(f"c{n}") for n in range(rng.randint(0, 2))]
            self.tables[name] = Model(columns)
            made.append((name, self.tables[name].create(name)))
        return made

    def _drop(self, there: list[str]) -> list[tuple[str, str]]:
        name = self.rng.choice(there)
        del self.tables[name]
        return [(name, f"DROP TABLE `{name}`")]

    def _truncate(self, there: list[str]) -> list[tuple[str, str]]:
        name = self.rng.choice(there)
        self.tables[name].rows = {}
        return [(name, f"TRUNCATE TABLE `{name}`")]

    def _rename(self, there: list[str]) -> list[tuple[str, str]]:
        free = [name for name in (*NAMES, "d") if name not in self.tables]
        if not free:
            return self._swap(there)
        old, new = self.rng.choice(there), self.rng.choice(free)
        self.tables[new] = self.tables.pop(old)
        return [(new, renaming(old, new))]

    def _swap(self, there: list[str]) -> list[tuple[str, str]]:
        if len(there) < 2:
            return self._truncate(there)
        one, two = self.rng.sample(there, 2)
        self.tables[one], self.tables[two] = self.tables[two], self.tables[one]
        # TiCDC says the name that a table has in the end beside each.
        return [(two, renaming(one, "x")), (one, renaming(two, one)), (two, renaming("x", two))]

    def _column(self, name: str) -> ModelColumn:
        rng = self.rng
        if rng.random() < 0.2:
            return ModelColumn(name, "DATETIME", required=True, default="1970-01-01 00:00:00")
        type_ = rng.choice([INTS[0], TEXTS[0]])
        default = rng.choice([None, 7 if type_ == "INT" else "d"])
        return ModelColumn(name, type_, rng.random() < 0.5, default)

    def _altered(self, name: str, clause: str) -> list[tuple[str, str]]:
        return [(name, f"ALTER TABLE `{name}` {clause}")]

    def _add(self, there: list[str]) -> list[tuple[str, str]]:
        name = self.rng.choice(there)
        model = self.tables[name]
        taken = {column.name for column in model.columns}
        column = self._column(next(f"c{n}" for n in range(9) if f"c{n}" not in taken))
        first = self.rng.random() < 0.3
        model.columns = [column, *model.columns] if first else [*model.columns, column]
        model.rows = {n: {**row, column.name: column.initial} for n, row in model.rows.items()}
        return self._altered(name, f"ADD COLUMN {column.sql}{' FIRST' * first}")

    def _drop_column(self, there: list[str]) -> list[tuple[str, str]]:
        name = self.rng.choice(there)
        model = self.tables[name]
        if not model.own:
            return self._add([name])
        gone = self.rng.choice(model.own).name
        model.columns = [column for column in model.columns if column.name != gone]
        model.rows = {n: {k: v for k, v in r.items() if k != gone} for n, r in model.rows.items()}
        return self._altered(name, f"DROP COLUMN `{gone}`")

    def _modify(self, there: list[str]) -> list[tuple[str, str]]:
        name = self.rng.choice(there)
        model = self.tables[name]
        changing = [column for column in model.own if column.type in WIDER]
        if not changing:
            return self._add([name])
        old = self.rng.choice(changing)
        new = self._wider(old, old.name)
        self._replace(model, old, new)
        return self._altered(name, f"MODIFY COLUMN {new.sql}")

    def _change(self, there: list[str]) -> list[tuple[str, str]]:
        name = self.rng.choice(there)
        model = self.tables[name]
        if not model.own:
            return self._add([name])
        old = self.rng.choice(model.own)
        taken = {column.name for column in model.columns}
        free = self.rng.choice([f"c{n}" for n in range(9) if f"c{n}" not in taken])
        new = self._wider(old, free) if self.rng.random() < 0.5 else replace(old, name=free)
        self._replace(model, old, new)
        return self._altered(name, f"CHANGE COLUMN `{old.name}` {new.sql}")

    def _wider(self, old: ModelColumn, name: str) -> ModelColumn:
        wider = WIDER.get(old.type)
        if wider is None:
            return replace(old, name=name)
        type_ = self.rng.choice(wider)
        default = old.default
        if type_ not in INTS and isinstance(default, int):
            default = str(default)
        return ModelColumn(name, type_, old.required, default)

    def _replace(self, model: Model, old: ModelColumn, new: ModelColumn) -> None:
        def value(row: Row) -> Any:
            found = row[old.name]
            return str(found) if isinstance(found, int) and new.type not in INTS else found

        model.columns = [new if column is old else column for column in model.columns]
        model.rows = {
            n: {
                (new.name if k == old.name else k): (value(r) if k == old.name else v)
                for k, v in r.items()
            }
            for n, r in model.rows.items()
        }

    # --- rows ---------------------------------------------------------------------------------

    def _transaction(self) -> Iterator[RowChange]:
        rng = self.rng
        for name in rng.sample(sorted(self.tables), min(len(self.tables), rng.randint(1, 2))):
            model = self.tables[name]
            before = model.rows
            for _ in range(rng.randint(1, 4)):
                rows = self._mutated(model)
                if _valid(rows):
                    model.rows = rows
            table = model.table(name)
            for one in sorted({*before, *model.rows}):
                old, new = before.get(one), model.rows.get(one)
                if old != new:
                    yield RowChange(table, self.ts, before=old, after=new)

    def _mutated(self, model: Model) -> dict[int, Row]:
        rng, rows = self.rng, dict(model.rows)
        one = rng.choice(sorted(rows)) if rows else None
        match rng.choice(["insert", "insert", "update", "delete", "key", "swap"]):
            case "update" if one is not None:
                column = rng.choice(model.columns)
                if column.name != "id":
                    rows[one] = {**rows[one], column.name: value_of(column, rng)}
            case "delete" if one is not None:
                del rows[one]
            case "key" if one is not None:
                rows[one] = {**rows[one], "id": rng.randint(1, 5)}
            case "swap" if len(rows) > 1:
                first, second = rng.sample(sorted(rows), 2)
                ids = rows[first]["id"], rows[second]["id"]
                rows[first], rows[second] = (
                    {**rows[first], "id": ids[1]},
                    {**rows[second], "id": ids[0]},
                )
            case _:
                self._ids += 1
                row = {c.name: value_of(c, rng) for c in model.columns}
                rows[self._ids] = {**row, "id": rng.randint(1, 5)}
        return rows


def renaming(old: str, new: str) -> str:
    return f"RENAME TABLE `{SCHEMA}`.`{old}` TO `{SCHEMA}`.`{new}`"


def _valid(rows: dict[int, Row]) -> bool:
    ids = [row["id"] for row in rows.values()]
    units = [row["u"] for row in rows.values() if row.get("u") is not None]
    return len(ids) == len(set(ids)) and len(units) == len(set(units))


@dataclass
class DdlWorld(World):
    """`at` tells columns and keys beside the rows."""

    statements: list[Ddl] = field(default_factory=list)

    def done(self, end: int) -> list[tuple[int, str, str]]:
        """The DDL with commit_ts < `end`, each once."""
        return sorted((d.commit_ts, d.table, d.query) for d in self.statements if d.commit_ts < end)


def make_ddl_world(rng: Random, protocol: str, steps: int = 14) -> DdlWorld:
    history = History(rng)
    changes = list(history.run(steps))
    world = DdlWorld(rng, rng.choice([1, 2, 3]), history=history.states)
    world.statements = history.statements
    lay_out(world, protocol, changes)
    return world
