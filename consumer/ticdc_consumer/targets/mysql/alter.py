"""ALTER TABLE and RENAME TABLE for the MySQL family.

They commit by themselves, so after a crash only the catalog shows which of them ran.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from ticdc_encoder.column import INTEGERS, TEMPORALS, TEXTS, Column
from ticdc_encoder.event import Table

from ticdc_consumer.errors import Unsupported, ValuesNotSent
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.mysql.collations import kept_charset
from ticdc_consumer.targets.mysql.create import MySqlColumn, MySqlTable, add_reference, shape
from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.mysql.primary_key import rebuilt, refusal
from ticdc_consumer.targets.mysql.quoting import quote_name, string_literal
from ticdc_consumer.targets.mysql.steps import (
    AlterStep,
    OrderedClauses,
    Progress,
    catalog_columns,
    done,
)
from ticdc_consumer.targets.mysql.types import CatalogType, charset_of
from ticdc_consumer.targets.schema.alter import (
    TableAlteration,
    index_changes,
    written,
)
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.schema.changes import (
    Above,
    Condition,
    NegativeHalf,
    OnlyDate,
    Quantized,
    Rounded,
)
from ticdc_consumer.targets.schema.conversions import CAPACITIES, Conversion
from ticdc_consumer.targets.schema.initial import Initial
from ticdc_consumer.targets.target import Target

_OWN_ZERO = frozenset({"json", "vector"})
_COMPARED = INTEGERS | TEMPORALS | TEXTS | {"decimal", "enum", "set", "varbinary"}
"""The types whose values each server compares with the text in which they are written."""


def _name_after(ran: Iterable[AlterStep], name: str) -> str:
    """The name of a column of the old table after these steps."""
    for step in ran:
        name = dict(step.renamed).get(name, name)
    return name


class MySqlAlteration(TableAlteration):
    def __init__(self, dialect: Dialect, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.dialect = dialect
        wide = self._wide()
        self.before = shape(dialect, self.evolved.before, wide)
        sources = self.evolved.sources
        wide_now = {name for name, source in sources.items() if source in wide}
        self.old = shape(dialect, self.differences.old, wide_now)
        self.new = shape(dialect, self.evolved.after, wide_now)
        self.keys = index_changes(self.before.indexes, self.old.indexes, self.new.indexes)
        self.left: list[AlterStep] = []
        self.mode = ""

    def _wide(self) -> set[str]:
        """The columns of the old table, by their old names, that are utf8mb4 here although a new
        table would keep upstream's character set: an earlier release or a user created them. They
        stay so."""
        catalog = catalog_columns(self.target, self.dialect, (self.schema, self.name))
        now = {source: name for name, source in self.evolved.sources.items()}
        wide = set()
        for column in self.evolved.before.columns:
            present = catalog.get(column.name) or catalog.get(now.get(column.name, ""))
            collation = present.collation if present is not None else None
            if kept_charset(column.type, self.dialect) and (collation or "").startswith("utf8mb4_"):
                wide.add(column.name)
        return wide

    def alteration(self) -> Alteration:
        """Builds the statements that a crash left undone. Raises `Stop` also if the table matches
        neither its state before nor its state after."""
        try:
            self.prepare()
        except Unsupported as refusal:
            raise ValuesNotSent(str(refusal)) from refusal
        steps = self._steps()
        progress = self._done(steps)
        ran, self.left = progress.ran, steps[progress.ran :]
        if ran == 0 and self.dialect.clustered_keys:
            self._check_primary_key()
        return Alteration(
            tuple(self.statements()),
            self.refusals() if ran == 0 else (),
            as_after=progress.as_after,
            evidence=self._evidence(steps[:ran]),
            unlike=self._unlike(steps[:ran]) if ran else (),
        )

    def _evidence(self, ran: list[AlterStep]) -> tuple[str, ...]:
        """Queries for the contents of renamed columns, by their current names."""
        queries = []
        for old, new in self.differences.renamed:
            column = self.quote(_name_after(ran, old))
            sums = f"count({column})"
            if self._keeps_text(self.before.columns[old], self.new.columns[new]):
                sums += f", coalesce(sum(crc32({column})), 0)"
            queries.append(f"SELECT {sums} FROM {self.relation}")  # noqa: S608
        return tuple(queries)

    @staticmethod
    def _keeps_text(old: MySqlColumn, new: MySqlColumn) -> bool:
        """Returns whether values that stay have the same text in both types."""
        kinds = {CatalogType.parse(column.type).name for column in (old, new)}
        return (old.type == new.type and "vector" not in kinds) or kinds == {"varchar"}

    def _unlike(self, ran: list[AlterStep]) -> tuple[tuple[str, str], ...]:
        """Queries for rows without the value that the statement gives them in a new column."""
        queries = []
        old_columns = self.before.columns.keys() - set(self.differences.dropped)
        new = ran[-1].after.columns.keys() - {_name_after(ran, name) for name in old_columns}
        for column in self.differences.added:
            if column.name not in self.initials or column.name not in new:
                continue
            if column.type.name in _COMPARED:
                value = self.initials[column.name]
                text = "NULL" if value is None else _written(value)
                other = f"NOT ({self.quote(column.name)} <=> {text})"
                queries.append(
                    (
                        f"SELECT 1 FROM {self.relation} WHERE {other} LIMIT 1",  # noqa: S608
                        f"rows of {self.relation} hold another value in the new column "
                        f"{column.name} than its default",
                    )
                )
        return tuple(queries)

    def prepare(self) -> None:
        super().prepare()
        changes = {
            type(conversion.change): old
            for old, new in self.differences.modified
            if (conversion := self.conversions.get(new.name)) and old.type.decimals
        }
        if self.dialect.date_mode and {Rounded, OnlyDate} <= changes.keys():
            raise Unsupported(
                f"column {changes[OnlyDate].name} loses its time, which this server would round in "
                f"an ALTER TABLE that rounds {changes[Rounded].name}"
            )
        modes = {Rounded: self.dialect.rounding_mode, OnlyDate: self.dialect.date_mode}
        self.mode = next((modes[of] for of in modes if of in changes and modes[of]), "")

    def refused(self, new: Column, conversion: Conversion) -> tuple[Condition, ...]:
        match conversion.change:
            case Rounded(digits) if new.type.name == "time" and self.dialect.halves_away:
                return (*conversion.refused, NegativeHalf(digits))
            case Quantized() if new.type.unsigned and self.dialect.greatest_rounded:
                return (*conversion.refused, Above(self.dialect.greatest_rounded))
        return conversion.refused

    def statements(self) -> list[str]:
        statements = [step.text for step in self.left]
        if statements and self.mode:
            alone = f"SET SESSION sql_mode = REPLACE(@@sql_mode, ',{self.mode}', '')"
            mode = f"SET SESSION sql_mode = CONCAT(@@sql_mode, ',{self.mode}')"
            statements = [mode, *statements, alone]
        return [*self._dropped_references(), *statements, *self._added_references()]

    def quote(self, name: str) -> str:
        return quote_name(name, self.dialect.wide_names)

    def compared(self, column: Column, sign: str, number: int | Decimal) -> str:
        # A YEAR takes the number 1 that it is compared with for 2001; a BIT may be bytes.
        plus = " + 0" if column.type.name in ("year", "bit") else ""
        return f"{self.quote(column.name)}{plus} {sign} {written(number)}"

    def negative_half(self, column: Column, digits: int) -> str:
        name, unit = self.quote(column.name), 10 ** (6 - digits)
        return f"{name} < '00:00:00' AND microsecond({name}) % {unit} = {unit // 2}"

    def unroundable(self, column: Column, last: str) -> str:
        name = self.quote(column.name)
        first = f"makedate(year({name}), 1) + INTERVAL month({name}) - 1 MONTH"
        unreal = f"month({name}) = 0 OR day({name}) = 0 OR day({name}) > day(last_day({first}))"
        return f"{self.fraction(column)} AND ({unreal} OR {name} > '{last}')"

    def fraction(self, column: Column) -> str:
        return f"microsecond({self.quote(column.name)}) <> 0"

    def characters(self, column: Column, stripped: bool = False) -> str:
        name = self.quote(column.name)
        return (
            f"char_length(trim(TRAILING ' ' FROM {name}))" if stripped else f"char_length({name})"
        )

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

    def _done(self, steps: list[AlterStep]) -> Progress:
        name = (self.schema, self.name)
        return done(self.target, self.dialect, name, self.before, steps)

    def _steps(self) -> list[AlterStep]:
        passing: dict[str, str] = {}
        if self.dialect.dependent_clauses:
            clauses = self._clauses(passing)
            text = f"ALTER TABLE {self.relation} {', '.join(clauses)}"
            after = self._with_defaults(passing)
            steps = [AlterStep(text, after, tuple(self.differences.renamed))] if clauses else []
        else:
            steps = self._ordered_clauses(passing).steps(self.relation)
        for column in list(passing):
            del passing[column]
            text = f"ALTER TABLE {self.relation} ALTER COLUMN {self.quote(column)} DROP DEFAULT"
            steps.append(AlterStep(text, self._with_defaults(passing)))
        return steps

    def _with_defaults(self, passing: Mapping[str, str]) -> MySqlTable:
        """The table after the DDL, but with these defaults."""
        columns = {
            name: replace(column, default=passing.get(name, column.default))
            for name, column in self.new.columns.items()
        }
        return replace(self.new, columns=columns)

    def _clauses(self, passing: dict[str, str]) -> list[str]:
        """Builds the clauses; `passing` collects, by column, defaults only for existing rows."""
        renamed = {new: old for old, new in self.differences.renamed}
        lines = [
            "DROP PRIMARY KEY"
            if self.before.indexes[name].primary
            else f"DROP INDEX {self.quote(name)}"
            for name in self.keys.dropped
        ]
        lines += [f"DROP COLUMN {self.quote(name)}" for name in self.differences.dropped]
        for name, column in self.new.columns.items():
            if name in renamed:
                lines.append(
                    f"CHANGE COLUMN {self.quote(renamed[name])} {self.quote(name)} "
                    f"{column.text()}{self._position(name)}"
                )
            elif text := self._placed(name, passing):
                lines.append(text)
        lines += [
            f"ADD {self.new.indexes[name].text(name, self.dialect)}" for name in self.keys.created
        ]
        lines += [
            f"RENAME INDEX {self.quote(old)} TO {self.quote(new)}" for old, new in self.keys.renamed
        ]
        if self.dialect.copies_texts and self._recoded():
            lines.append("ALGORITHM=COPY")
        return lines

    def _recoded(self) -> bool:
        """Returns whether a column gets another character set."""
        return any(
            charset_of(self._before(name).type) not in ("", charset_of(column.type))
            for name, column in self.new.columns.items()
            if name in self.old.columns
        )

    def _ordered_clauses(self, passing: dict[str, str]) -> OrderedClauses:
        """Returns the same clauses in an order in which each may run after those before it."""
        clauses = OrderedClauses(self.before, self.quote)
        for name in self.keys.dropped:
            clauses.drop_key(name)
        for name in self.differences.dropped:
            clauses.drop_column(name)
        for old, new in self.differences.renamed:
            clauses.rename_column(old, new, self.new.columns[new])
        renamed = {new for _, new in self.differences.renamed}
        for name, column in self.new.columns.items():
            moved = name in self.evolved.moved
            if name in renamed and not moved:
                continue
            if text := self._placed(name, passing):
                before = list(self.new.columns)[: list(self.new.columns).index(name)]
                placed = replace(column, default=passing.get(name, column.default))
                clauses.place_column(name, placed, text, before if moved else None)
        for old, new in self.keys.renamed:
            clauses.rename_key(old, new)
        for name in self.keys.created:
            index = self.new.indexes[name]
            clauses.add_key(name, index, index.text(name, self.dialect))
        return clauses

    def _placed(self, name: str, passing: dict[str, str]) -> str:
        """ADD or MODIFY COLUMN; "" if the column stays as it is."""
        column = self.new.columns[name]
        if name not in self.old.columns:
            return self._added(name, column, passing)
        if column != self._before(name) or name in self.evolved.moved:
            return f"MODIFY COLUMN {self.quote(name)} {column.text()}{self._position(name)}"
        return ""

    def _before(self, name: str) -> MySqlColumn:
        """The current column: its type depends on those of all columns of the table."""
        return self.before.columns[self.evolved.sources[name]]

    def _added(self, name: str, column: MySqlColumn, passing: dict[str, str]) -> str:
        value = self.initials.get(name)
        default = column.default
        if value is not None and default is None:
            definition = next(c for c in self.differences.added if c.name == name)
            default = None if column.type in _OWN_ZERO else _literal(definition, value)
            if default is not None:
                passing[name] = default
        text = replace(column, default=default).text()
        return f"ADD COLUMN {self.quote(name)} {text}{self._position(name)}"

    def _position(self, name: str) -> str:
        if name not in self.evolved.moved:
            return ""
        names = list(self.new.columns)
        position = names.index(name)
        return f" AFTER {self.quote(names[position - 1])}" if position else " FIRST"

    def _check_primary_key(self) -> None:
        """Raises `Unsupported`, with statements that do it, for a change that TiDB refuses."""
        names = {source: name for name, source in self.evolved.sources.items()}
        after = {
            source: self.new.columns[name]
            for source, name in names.items()
            if name in self.new.columns
        }
        relation = (self.schema, self.name)
        reason = refusal(self.target, relation, self.before, self.keys.dropped, after)
        if reason is None:
            return
        values = {
            name: self.quote(source)
            for source, name in names.items()
            if name in self.new.columns and self.new.columns[name].generated is None
        }
        for column in self.differences.added:
            if self.new.columns[column.name].default is None and not column.virtual:
                value = self.initials.get(column.name)
                values[column.name] = "NULL" if value is None else _written(value)
        instead = rebuilt(self.target, self.dialect, relation, self.evolved.after, values)
        inexact = any(self.target.execute(query).first() for query, _ in self.refusals())
        raise Unsupported(reason, instead, inexact)


def _written(value: int | str | bytes) -> str:
    return f"X'{value.hex()}'" if isinstance(value, bytes) else string_literal(str(value))


def _literal(column: Column, value: Initial) -> str | None:
    """Returns None if the server's own zero is the same."""
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


def rename_table(target: Target, old: TargetName, new: TargetName, _: Table | None) -> list[str]:
    return [f"RENAME TABLE {target.quote(*old)} TO {target.quote(*new)}"]
