"""ALTER TABLE and RENAME TABLE for the MySQL family.

They commit by themselves, so that after a crash nobody has noted whether they ran: the catalog
tells. An ALTER TABLE is one statement, done as a whole or not at all.
"""

import re
from collections.abc import Callable, Iterable

from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved
from ticdc_encoder.tso import physical

from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.targets.layout import ReferenceChanges
from ticdc_consumer.targets.mysql.catalog import unescaped
from ticdc_consumer.targets.mysql.create import ColumnShape, Shape, add_reference, shape
from ticdc_consumer.targets.mysql.dialects import DIALECTS, Dialect
from ticdc_consumer.targets.mysql.quoting import quote_name, string_literal
from ticdc_consumer.targets.schema.alter import (
    Alteration,
    Differences,
    conversions,
    differences,
    index_changes,
    initials,
    refusals,
)
from ticdc_consumer.targets.schema.conversions import (
    Above,
    Below,
    Condition,
    IsNull,
    Longer,
    LongerInBytes,
)
from ticdc_consumer.targets.schema.initial import Initial
from ticdc_consumer.targets.target import Target

Facts = dict[str, object]

_TYPE = re.compile(r"(\w+)(?:\((.*)\))?(.*)", re.DOTALL)
_WIDTH_SAYS_NOTHING = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "year"})
_COLLATE = re.compile(r" character set \w+ collate (\w+)$")


def alter_table(
    target: Target,
    schema: str | None,
    name: str,
    evolved: Evolved,
    commit_ts: int,
    references: ReferenceChanges,
) -> Alteration:
    """Nothing where it is done already. Raises `Stop` for what cannot be done exactly, and where
    the table is neither as it was before nor as it is to be."""
    dialect = DIALECTS[target.dialect]
    found = differences(evolved)
    before, new = shape(dialect, evolved.before), shape(dialect, evolved.after)
    relation = target.quote(schema, name)
    gone = [
        f"ALTER TABLE {relation} DROP FOREIGN KEY {quote_name(each.name, dialect.wide_names)}"
        for each in references.dropped
    ]
    added = [add_reference(target, schema, name, each) for each in references.added]
    if _done(target, schema, name, before, new):
        return Alteration((*gone, *added))
    empty = not target.has_rows(schema, name)
    made = conversions(found, empty)
    values = initials(evolved, found, empty, commit_ts)
    work = _Clauses(dialect, evolved, found, before, new, values)
    statements = []
    if clauses := work.clauses():
        statements = [
            f"ALTER TABLE {relation} {', '.join(clauses)}",
            *(
                f"ALTER TABLE {relation} ALTER COLUMN {work.quote(column)} DROP DEFAULT"
                for column in work.passing
            ),
        ]
    if any("CURRENT_TIMESTAMP" in text for text in statements):
        # The current timestamp that new columns take is that of the DDL.
        seconds, milliseconds = divmod(physical(commit_ts), 1000)
        moment = f"SET SESSION timestamp = {seconds}.{milliseconds:03}"
        statements = [moment, *statements, "SET SESSION timestamp = DEFAULT"]
    return Alteration(
        (*gone, *statements, *added), refusals(relation, found, made, _condition(dialect))
    )


class _Clauses:
    """`passing` are the columns whose default is only for the rows that are there."""

    def __init__(
        self,
        dialect: Dialect,
        evolved: Evolved,
        found: Differences,
        before: Shape,
        new: Shape,
        values: dict[str, Initial],
    ) -> None:
        self.dialect, self.evolved, self.found, self.values = dialect, evolved, found, values
        self.before, self.old, self.new = before, shape(dialect, found.old), new
        self.passing: list[str] = []

    def quote(self, name: str) -> str:
        return quote_name(name, self.dialect.wide_names)

    def clauses(self) -> list[str]:
        keys = index_changes(self.before.indexes, self.old.indexes, self.new.indexes)
        renamed = {new: old for old, new in self.found.renamed}
        lines = [
            "DROP PRIMARY KEY"
            if self.before.indexes[name].primary
            else f"DROP INDEX {self.quote(name)}"
            for name in keys.dropped
        ]
        lines += [f"DROP COLUMN {self.quote(name)}" for name in self.found.dropped]
        for name, column in self.new.columns.items():
            if name not in self.old.columns:
                lines.append(self._added(name, column))
            elif name in renamed:
                lines.append(
                    f"CHANGE COLUMN {self.quote(renamed[name])} {self.quote(name)} "
                    f"{column.text()}{self._place(name)}"
                )
            elif column != self._old(name) or name in self.evolved.moved:
                lines.append(f"MODIFY COLUMN {self.quote(name)} {column.text()}{self._place(name)}")
        lines += [f"ADD {self.new.indexes[name].text(name, self.dialect)}" for name in keys.created]
        lines += [
            f"RENAME INDEX {self.quote(old)} TO {self.quote(new)}" for old, new in keys.renamed
        ]
        return lines

    def _old(self, name: str) -> ColumnShape:
        """As it is now: its type depends on those of all columns of the table."""
        return self.before.columns[self.evolved.sources[name]]

    def _added(self, name: str, column: ColumnShape) -> str:
        value = self.values.get(name)
        default = column.default
        if value is not None and default is None:
            definition = next(c for c in self.found.added if c.name == name)
            default = _literal(definition, value)
            if default is not None:
                self.passing.append(name)
        text = ColumnShape(column.type, column.nullable, default).text()
        return f"ADD COLUMN {self.quote(name)} {text}{self._place(name)}"

    def _place(self, name: str) -> str:
        if name not in self.evolved.moved:
            return ""
        names = list(self.new.columns)
        place = names.index(name)
        return f" AFTER {self.quote(names[place - 1])}" if place else " FIRST"


def _literal(column: Column, value: Initial) -> str | None:
    """None where the server's own zero is the same."""
    if column.type.name in ("datetime", "timestamp", "date"):
        return string_literal(str(value))
    if column.default is None:
        return None
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    raise Unsupported(f"column {column.name}: a default that this {column.type.name} cannot have")


def _condition(dialect: Dialect) -> Callable[[Column, Condition], str]:
    def condition(column: Column, refused: Condition) -> str:
        name = quote_name(column.name, dialect.wide_names)
        match refused:
            case Below(least):
                return f"{name} < {least}"
            case Above(greatest):
                return f"{name} > {greatest}"
            case Longer(length):
                return f"char_length({name}) > {length}"
            case LongerInBytes(length):
                return f"length({name}) > {length}"
            case IsNull():
                return f"{name} IS NULL"

    return condition


# --- what is there ------------------------------------------------------------------------------


def _done(target: Target, schema: str | None, name: str, before: Shape, after: Shape) -> bool:
    """Whether the table is as after the DDL already. Raises `Stop` where it is neither."""
    old, new, there = _facts(before), _facts(after), _catalog(target, schema, name)
    differing = sorted(fact for fact in old.keys() | new.keys() if old.get(fact) != new.get(fact))
    if not differing:
        return False  # of columns and keys; what else it says may be said twice
    if all(there.get(fact) == old.get(fact) for fact in differing):
        return False
    if all(there.get(fact) == new.get(fact) for fact in differing):
        return True
    told = "; ".join(
        f"{fact} was to be {_shown(old.get(fact))}, then {_shown(new.get(fact))}, "
        f"and is {_shown(there.get(fact))}"
        for fact in differing
        if there.get(fact) not in (old.get(fact), new.get(fact))
    )
    half = "some of its changes are there and some are not"
    raise Stop(f"{target.quote(schema, name)} is neither as before nor as after: {told or half}")


def _shown(fact: object) -> str:
    return "absent" if fact is None else str(fact)


def _facts(made: Shape) -> Facts:
    facts: Facts = {}
    for name, column in made.columns.items():
        collation = _COLLATE.search(column.type)
        type_ = _COLLATE.sub("", column.type)
        shown = _column(type_, collation[1] if collation else None, column.nullable)
        facts[f"column {name}"] = shown
    for name, index in made.indexes.items():
        facts[f"key {name}"] = _key(index.unique, index.parts)
    return facts


def _catalog(target: Target, schema: str | None, name: str) -> Facts:
    facts: Facts = {}
    with target.errors():
        columns = target.execute(
            "SELECT column_name, column_type, is_nullable, collation_name "
            "FROM information_schema.columns WHERE table_schema = %s AND table_name = %s",
            (schema, name),
        ).all()
        for column, type_, nullable, collation in map(tuple, columns):
            facts[f"column {column}"] = _column(unescaped(type_), collation, nullable == "YES")
        keys: dict[str, tuple[bool, list[tuple[str, int | None]]]] = {}
        parts_of_keys = target.execute(
            "SELECT index_name, non_unique, column_name, sub_part "
            "FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s "
            "ORDER BY index_name, seq_in_index",
            (schema, name),
        ).all()
        for key, plain, column, prefix in map(tuple, parts_of_keys):
            parts = keys.setdefault(key, (not plain, []))[1]
            parts.append((column or "an expression", prefix))
    for key, (unique, parts) in keys.items():
        facts[f"key {key}"] = _key(unique, parts)
    return facts


def _column(type_: str, collation: str | None, nullable: bool) -> str:
    name, arguments, rest = _TYPE.fullmatch(type_).groups()  # type: ignore[union-attr]
    shown = name.lower()
    if arguments and shown not in _WIDTH_SAYS_NOTHING:
        shown += f"({arguments})"
    words = [shown, rest.strip().lower(), collation or "", "" if nullable else "not null"]
    return " ".join(word for word in words if word)


def _key(unique: bool, parts: Iterable[tuple[str, int | None]]) -> str:
    shown = ", ".join(column + (f"({length})" if length else "") for column, length in parts)
    return f"{'unique ' if unique else ''}({shown})"


def rename_table(
    target: Target,
    old: tuple[str | None, str],
    new: tuple[str | None, str],
    definition: Table | None,
) -> list[str]:
    return [f"RENAME TABLE {target.quote(*old)} TO {target.quote(*new)}"]
