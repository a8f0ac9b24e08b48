"""An ALTER TABLE as statements that commit one by one, and the number that a crash let through.

MySQL and MariaDB take all clauses in one statement. TiDB checks each clause against the table
before the statement, and refuses two that name one column or key (8.4: errors 1068, 1072, 8200):
there a clause that builds upon another has its own statement. After a crash the catalog shows which
statement came last, as far as it is certain that no other client changed the table.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ticdc_consumer.errors import InTheWay, Stop, Unsupported
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.mysql.catalog import unescaped
from ticdc_consumer.targets.mysql.create import MySqlColumn, MySqlIndex, MySqlTable
from ticdc_consumer.targets.mysql.defaults import CatalogColumn, other_default
from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.target import Target

Facts = dict[str, object]

_TYPE = re.compile(r"(\w+)(?:\((.*)\))?(.*)", re.DOTALL)
_WIDTH_MEANS_NOTHING = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "year"})
_COLLATE = re.compile(r" character set \w+ collate (\w+)$")


@dataclass(frozen=True, slots=True)
class AlterStep:
    """A statement, and the table after it. `renamed` are pairs of the old and new names of columns
    that it renames, so it must not run twice."""

    text: str
    after: MySqlTable
    renamed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _AlterClause:
    """A clause. `names` are the columns and keys that it needs or changes."""

    text: str
    names: frozenset[str]
    after: MySqlTable
    renamed: tuple[tuple[str, str], ...]


class OrderedClauses:
    """The clauses of an ALTER TABLE, in an order in which each finds the state that it needs."""

    def __init__(self, before: MySqlTable, quote: Callable[[str], str]) -> None:
        self._columns, self._indexes = dict(before.columns), dict(before.indexes)
        self._quote = quote
        self._clauses: list[_AlterClause] = []

    def drop_key(self, name: str) -> None:
        index = self._indexes.pop(name)
        text = "DROP PRIMARY KEY" if index.primary else f"DROP INDEX {self._quote(name)}"
        self._add(text, index.columns, [name])

    def drop_column(self, name: str) -> None:
        column = self._columns.pop(name)
        self._add(f"DROP COLUMN {self._quote(name)}", [name, *column.reads])

    def rename_column(self, old: str, new: str, column: MySqlColumn) -> None:
        self._columns = {
            new if name == old else name: column if name == old else each
            for name, each in self._columns.items()
        }
        self._indexes = {name: each.renamed(old, new) for name, each in self._indexes.items()}
        text = f"CHANGE COLUMN {self._quote(old)} {self._quote(new)} {column.text()}"
        self._add(text, [old, new, *column.reads], renamed=((old, new),))

    def place_column(
        self, name: str, column: MySqlColumn, text: str, position: Sequence[str] | None
    ) -> None:
        """Adds an ADD or MODIFY COLUMN. `position` are the columns before it; None if it keeps its
        place or is the last."""
        needed = [name]
        if position is None:
            self._columns[name] = column
        else:
            others = {other: each for other, each in self._columns.items() if other != name}
            before = list(others)[: list(others).index(position[-1]) + 1] if position else []
            self._columns = {
                **{other: others[other] for other in before},
                name: column,
                **{other: each for other, each in others.items() if other not in before},
            }
            needed += position[-1:]
        self._add(text, [*needed, *column.reads])

    def rename_key(self, old: str, new: str) -> None:
        self._indexes[new] = self._indexes.pop(old)
        text = f"RENAME INDEX {self._quote(old)} TO {self._quote(new)}"
        self._add(text, keys=[old, new])

    def add_key(self, name: str, index: MySqlIndex, text: str) -> None:
        self._indexes[name] = index
        self._add(f"ADD {text}", index.columns, [name])

    def steps(self, relation: str) -> list[AlterStep]:
        """Groups the clauses into as few statements as TiDB accepts."""
        groups: list[list[_AlterClause]] = []
        for clause in self._clauses:
            named = frozenset[str]().union(*(each.names for each in groups[-1])) if groups else None
            if named is None or named & clause.names:
                groups.append([])
            groups[-1].append(clause)
        return [
            AlterStep(
                f"ALTER TABLE {relation} {', '.join(each.text for each in group)}",
                group[-1].after,
                tuple(pair for each in group for pair in each.renamed),
            )
            for group in groups
        ]

    def _add(
        self,
        text: str,
        columns: Iterable[str] = (),
        keys: Iterable[str] = (),
        renamed: tuple[tuple[str, str], ...] = (),
    ) -> None:
        names = {f"column {name.lower()}" for name in columns}
        names |= {f"key {name.lower()}" for name in keys}
        after = MySqlTable(dict(self._columns), dict(self._indexes))
        self._clauses.append(_AlterClause(text, frozenset(names), after, renamed))


@dataclass(frozen=True, slots=True)
class Progress:
    """The number of steps that a table shows as done; if any, `as_after` says what it shows and how
    to undo it."""

    ran: int
    as_after: str = ""


def done(
    target: Target,
    dialect: Dialect,
    name: TargetName,
    table: MySqlTable,
    steps: Sequence[AlterStep],
) -> Progress:
    """Returns how many of the steps from `table` on are done: the smallest possible number if
    repeating a step is harmless. Raises `Stop` if the table matches no state before or after a
    step, and `Unsupported` if a crash would leave the number unknown."""
    states = [table, *(step.after for step in steps)]
    facts = [_facts(state) for state in states]
    catalog = catalog_columns(target, dialect, name)
    now = {**_column_facts(catalog), **_catalog_keys(target, dialect, name)}
    every = {fact for each in facts for fact in each}
    differing = sorted(f for f in every if any(each.get(f) != facts[0].get(f) for each in facts))
    fitting = [
        number
        for number, each in enumerate(facts)
        if all(now.get(fact) == each.get(fact) for fact in differing)
    ]
    undo = _undo(target, name, facts, differing, now)
    if not fitting:
        raise InTheWay(f"{target.quote(*name)} {_neither(facts, differing, now)}{undo}")
    altered = [_altered(table, state) for state in states]
    others = [
        _other_columns(state, names, catalog) for state, names in zip(states, altered, strict=True)
    ]
    if all(others[number] for number in fitting):
        (column, *_) = others[fitting[0]]
        raise InTheWay(
            f"{target.quote(*name)} has another default or expression for column {column} than "
            f"expected{undo}"
        )
    fitting = [number for number in fitting if not others[number]]
    if _renamed_between(steps, fitting):
        order = list(catalog)
        known = [list(states[number].columns) for number in fitting]
        fitting = [
            number
            for number, columns in zip(fitting, known, strict=True)
            if columns == [column for column in order if column in set(columns)]
        ]
        if not fitting:
            raise Stop(f"{target.quote(*name)} has its columns in another order than it was given")
    if _renamed_between(steps, fitting):
        names = {name for each in altered for name in each}
        by_default = [n for n in fitting if not _other_columns(states[n], names, catalog)]
        fitting = by_default or fitting
    if _renamed_between(steps, fitting):
        raise Unsupported(
            f"{target.quote(*name)} has columns of the same names and types before and after it, "
            "so that after a crash it would not be certain whether it ran"
        )
    as_after = ""
    if fitting[0]:
        changed = [fact for fact in differing if now.get(fact) != facts[0].get(fact)]
        present = "; ".join(f"{fact} is {_text(now.get(fact))}" for fact in changed)
        details = f": {present}" if present else ""
        as_after = f"{target.quote(*name)} already looks as it does after this DDL{details}{undo}"
    return Progress(fitting[0], as_after)


def _altered(table: MySqlTable, state: MySqlTable) -> list[str]:
    """The columns that the steps up to this state change."""
    return [name for name, each in state.columns.items() if each != table.columns.get(name)]


def _other_columns(
    state: MySqlTable, names: Iterable[str], catalog: Mapping[str, CatalogColumn]
) -> list[str]:
    """The columns among `names` whose default differs from this state's, or that are computed only
    in one of the two."""
    present = [name for name in names if name in catalog and name in state.columns]
    return [name for name in present if other_default(state.columns[name], catalog[name])]


def _undo(
    target: Target,
    table: TargetName,
    facts: Sequence[Facts],
    differing: Sequence[str],
    now: Facts,
) -> str:
    """The remedy that restores the table's earlier state; only additions that are certain are
    dropped."""
    changed = [fact for fact in differing if now.get(fact) != facts[0].get(fact)]
    relation = target.quote(*table)
    if not changed or any(fact in facts[0] for fact in changed):
        return (
            "; if its rows equal the upstream's after this DDL, mark it as done; else restore "
            "the table and its rows as they were before it, and start again"
        )
    clauses = [
        "DROP PRIMARY KEY"
        if fact == "key PRIMARY"
        else f"DROP {'COLUMN' if kind == 'column' else 'INDEX'} {target.quote(None, name)}"
        for fact in sorted(changed, reverse=True)
        for kind, _, name in [fact.partition(" ")]
    ]
    return f"; undo that by ALTER TABLE {relation} {', '.join(clauses)}, and start again"


def _renamed_between(steps: Sequence[AlterStep], fitting: Sequence[int]) -> bool:
    return any(step.renamed for step in steps[fitting[0] : fitting[-1]])


def _neither(facts: Sequence[Facts], differing: Sequence[str], now: Facts) -> str:
    neither = "; ".join(
        f"{fact} was {_text(facts[0].get(fact))} before, is {_text(facts[-1].get(fact))} after, "
        f"and is now {_text(now.get(fact))}"
        for fact in differing
        if now.get(fact) not in [each.get(fact) for each in facts]
    )
    half = "some of its changes are done and some are not"
    return f"matches neither its state before the DDL nor after it: {neither or half}"


def _text(fact: object) -> str:
    return "absent" if fact is None else str(fact)


def _facts(table: MySqlTable) -> Facts:
    facts: Facts = {}
    for name, column in table.columns.items():
        collation = _COLLATE.search(column.type)
        type_ = _COLLATE.sub("", column.type)
        facts[f"column {name}"] = _column(
            type_, collation[1] if collation else None, column.nullable
        )
    for name, index in table.indexes.items():
        facts[f"key {name}"] = _key(index.unique, index.parts)
    return facts


def catalog_columns(
    target: Target, dialect: Dialect, table: TargetName
) -> dict[str, CatalogColumn]:
    with target.errors():
        columns = target.query(
            "SELECT column_name, column_type, is_nullable, collation_name, column_default, extra "
            "FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
            "ORDER BY ordinal_position",
            *table,
        )
    return {
        name: CatalogColumn(unescaped(dialect, type_), nullable == "YES", collation, default, extra)
        for name, type_, nullable, collation, default, extra in columns
    }


def _column_facts(catalog: Mapping[str, CatalogColumn]) -> Facts:
    return {
        f"column {name}": _column(column.type, column.collation, column.nullable)
        for name, column in catalog.items()
    }


def _catalog_keys(target: Target, dialect: Dialect, table: TargetName) -> Facts:
    facts: Facts = {}
    with target.errors():
        keys: dict[str, tuple[bool, list[tuple[str, int | None]]]] = {}
        parts_of_keys = target.query(
            f"SELECT index_name, non_unique, {dialect.index_column}, sub_part "  # noqa: S608
            "FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s "
            "ORDER BY index_name, seq_in_index",
            *table,
        )
        for key, plain, column, prefix in parts_of_keys:
            parts = keys.setdefault(key, (not int(plain), []))[1]  # text in TiDB
            parts.append((column or "an expression", prefix))
    for key, (unique, parts) in keys.items():
        facts[f"key {key}"] = _key(unique, parts)
    return facts


def _column(type_: str, collation: str | None, nullable: bool) -> str:
    name, arguments, rest = _TYPE.fullmatch(type_).groups()  # type: ignore[union-attr]
    type_name = name.lower()
    if arguments and type_name not in _WIDTH_MEANS_NOTHING:
        type_name += f"({arguments})"
    # Releases differ in their name for utf8mb3.
    collation = re.sub(r"^utf8_", "utf8mb3_", collation or "")
    words = [type_name, rest.strip().lower(), collation, "" if nullable else "not null"]
    return " ".join(word for word in words if word)


def _key(unique: bool, parts: Iterable[tuple[str, int | None]]) -> str:
    columns = ", ".join(column + (f"({length})" if length else "") for column, length in parts)
    return f"{'unique ' if unique else ''}({columns})"
