"""ALTER TABLE and RENAME TABLE for the MySQL family.

They commit by themselves, so that after a crash only the catalog shows whether they ran. An ALTER
TABLE is one statement, done as a whole or not at all.
"""

import re
from collections.abc import Iterable
from typing import Any

from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.tso import physical

from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.mysql.catalog import unescaped
from ticdc_consumer.targets.mysql.create import MySqlColumn, MySqlTable, add_reference, shape
from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.mysql.quoting import quote_name, string_literal
from ticdc_consumer.targets.schema.alter import Alteration, TableAlteration, index_changes
from ticdc_consumer.targets.schema.conversions import CAPACITIES
from ticdc_consumer.targets.schema.initial import Initial
from ticdc_consumer.targets.target import Target

Facts = dict[str, object]

_OWN_ZERO = frozenset({"json", "vector"})
_TYPE = re.compile(r"(\w+)(?:\((.*)\))?(.*)", re.DOTALL)
_WIDTH_MEANS_NOTHING = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "year"})
_COLLATE = re.compile(r" character set \w+ collate (\w+)$")


class MySqlAlteration(TableAlteration):
    def __init__(self, dialect: Dialect, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.dialect = dialect
        self.before = shape(dialect, self.evolved.before)
        self.old = shape(dialect, self.differences.old)
        self.new = shape(dialect, self.evolved.after)

    def alteration(self) -> Alteration:
        """Nothing of the table itself if it is done already. Raises `Stop` also if the table is
        neither as it was before nor as it is to be."""
        if _done(self.target, self.dialect, self.schema, self.name, self.before, self.new):
            return Alteration((*self._dropped_references(), *self._added_references()))
        return super().alteration()

    def statements(self) -> list[str]:
        statements = []
        passing: list[str] = []
        if clauses := self._clauses(passing):
            statements = [
                f"ALTER TABLE {self.relation} {', '.join(clauses)}",
                *(
                    f"ALTER TABLE {self.relation} ALTER COLUMN {self.quote(column)} DROP DEFAULT"
                    for column in passing
                ),
            ]
        if any("CURRENT_TIMESTAMP" in text for text in statements):
            # The current timestamp that new columns take is that of the DDL.
            seconds, milliseconds = divmod(physical(self.commit_ts), 1000)
            moment = f"SET SESSION timestamp = {seconds}.{milliseconds:03}"
            statements = [moment, *statements, "SET SESSION timestamp = DEFAULT"]
        return [*self._dropped_references(), *statements, *self._added_references()]

    def quote(self, name: str) -> str:
        return quote_name(name, self.dialect.wide_names)

    def characters(self, column: Column) -> str:
        return f"char_length({self.quote(column.name)})"

    def bytes_of(self, column: Column) -> str:
        return f"length({self.quote(column.name)})"

    def _dropped_references(self) -> list[str]:
        return [
            f"ALTER TABLE {self.relation} DROP FOREIGN KEY {self.quote(each.name)}"
            for each in self.references.dropped
        ]

    def _added_references(self) -> list[str]:
        return [
            add_reference(self.target, self.schema, self.name, each)
            for each in self.references.added
        ]

    def _clauses(self, passing: list[str]) -> list[str]:
        """Adds to `passing` the columns whose default is only for the existing rows."""
        keys = index_changes(self.before.indexes, self.old.indexes, self.new.indexes)
        renamed = {new: old for old, new in self.differences.renamed}
        lines = [
            "DROP PRIMARY KEY"
            if self.before.indexes[name].primary
            else f"DROP INDEX {self.quote(name)}"
            for name in keys.dropped
        ]
        lines += [f"DROP COLUMN {self.quote(name)}" for name in self.differences.dropped]
        for name, column in self.new.columns.items():
            if name not in self.old.columns:
                lines.append(self._added(name, column, passing))
            elif name in renamed:
                lines.append(
                    f"CHANGE COLUMN {self.quote(renamed[name])} {self.quote(name)} "
                    f"{column.text()}{self._position(name)}"
                )
            elif column != self._before(name) or name in self.evolved.moved:
                lines.append(
                    f"MODIFY COLUMN {self.quote(name)} {column.text()}{self._position(name)}"
                )
        lines += [f"ADD {self.new.indexes[name].text(name, self.dialect)}" for name in keys.created]
        lines += [
            f"RENAME INDEX {self.quote(old)} TO {self.quote(new)}" for old, new in keys.renamed
        ]
        return lines

    def _before(self, name: str) -> MySqlColumn:
        """As it is now: its type depends on those of all columns of the table."""
        return self.before.columns[self.evolved.sources[name]]

    def _added(self, name: str, column: MySqlColumn, passing: list[str]) -> str:
        value = self.initials.get(name)
        default = column.default
        if value is not None and default is None:
            definition = next(c for c in self.differences.added if c.name == name)
            default = None if column.type in _OWN_ZERO else _literal(definition, value)
            if default is not None:
                passing.append(name)
        text = MySqlColumn(column.type, column.nullable, default).text()
        return f"ADD COLUMN {self.quote(name)} {text}{self._position(name)}"

    def _position(self, name: str) -> str:
        if name not in self.evolved.moved:
            return ""
        names = list(self.new.columns)
        position = names.index(name)
        return f" AFTER {self.quote(names[position - 1])}" if position else " FIRST"


def _literal(column: Column, value: Initial) -> str | None:
    """None if the server's own zero is the same."""
    if column.type.name in ("datetime", "timestamp", "date"):
        return string_literal(str(value))
    if column.type.name in ("json", "vector"):
        return f"({string_literal(str(value))})"  # a text here
    if column.default is None:
        return None
    if column.type.name in CAPACITIES and not value:
        return "('')"  # the only default that TiDB lets them have
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    raise Unsupported(f"column {column.name}: a default that this {column.type.name} cannot have")


# --- the catalog --------------------------------------------------------------------------------


def _done(
    target: Target,
    dialect: Dialect,
    schema: str | None,
    name: str,
    before: MySqlTable,
    after: MySqlTable,
) -> bool:
    """Whether the table is already as after the DDL. Raises `Stop` if it is neither."""
    old, new, now = _facts(before), _facts(after), _catalog(target, dialect, schema, name)
    differing = sorted(fact for fact in old.keys() | new.keys() if old.get(fact) != new.get(fact))
    if not differing:
        return False  # columns and keys do not change; what else does may be done twice
    if all(now.get(fact) == old.get(fact) for fact in differing):
        return False
    if all(now.get(fact) == new.get(fact) for fact in differing):
        return True
    neither = "; ".join(
        f"{fact} was {_text(old.get(fact))} before, is {_text(new.get(fact))} after, "
        f"and is now {_text(now.get(fact))}"
        for fact in differing
        if now.get(fact) not in (old.get(fact), new.get(fact))
    )
    half = "some of its changes are done and some are not"
    raise Stop(f"{target.quote(schema, name)} is neither as before nor as after: {neither or half}")


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


def _catalog(target: Target, dialect: Dialect, schema: str | None, name: str) -> Facts:
    facts: Facts = {}
    with target.errors():
        columns = target.query(
            "SELECT column_name, column_type, is_nullable, collation_name "
            "FROM information_schema.columns WHERE table_schema = %s AND table_name = %s",
            schema,
            name,
        )
        for column, type_, nullable, collation in columns:
            exact_type = unescaped(dialect, type_)
            facts[f"column {column}"] = _column(exact_type, collation, nullable == "YES")
        keys: dict[str, tuple[bool, list[tuple[str, int | None]]]] = {}
        parts_of_keys = target.query(
            f"SELECT index_name, non_unique, {dialect.index_column}, sub_part "  # noqa: S608
            "FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s "
            "ORDER BY index_name, seq_in_index",
            schema,
            name,
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
    words = [type_name, rest.strip().lower(), collation or "", "" if nullable else "not null"]
    return " ".join(word for word in words if word)


def _key(unique: bool, parts: Iterable[tuple[str, int | None]]) -> str:
    columns = ", ".join(column + (f"({length})" if length else "") for column, length in parts)
    return f"{'unique ' if unique else ''}({columns})"


def rename_table(target: Target, old: TargetName, new: TargetName, _: Table | None) -> list[str]:
    return [f"RENAME TABLE {target.quote(*old)} TO {target.quote(*new)}"]
