"""ALTER TABLE and RENAME TABLE for SQLite; each runs in the transaction of its cut.

If SQLite's ALTER TABLE cannot do it, a new table replaces the old one
(https://www.sqlite.org/lang_altertable.html, section 7). That would lose a user's additions, so the
table must be as the consumer created it.
"""

from dataclasses import replace
from decimal import Decimal

from ticdc_encoder.column import Column
from ticdc_encoder.event import Table

from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.schema.alter import TableAlteration, index_changes
from ticdc_consumer.targets.schema.changes import (
    Appended,
    Approximated,
    Digits,
    OnlyDate,
    Padded,
    Quantized,
    Rounded,
    Spelled,
    Stripped,
    Widened,
)
from ticdc_consumer.targets.schema.conversions import Conversion
from ticdc_consumer.targets.schema.create import (
    ColumnShape,
    TableShape,
    create_table,
    index_name,
    literal,
    shape,
)
from ticdc_consumer.targets.schema.functions import (
    COMPARED,
    DECIMAL,
    DOUBLE,
    FLOAT32,
    ROUNDED,
    SINGLE,
)
from ticdc_consumer.targets.schema.initial import Initial
from ticdc_consumer.targets.sqlite.create import WORDS, reference_text
from ticdc_consumer.targets.sqlite.quoting import quote_name
from ticdc_consumer.targets.target import Target

REBUILT = "ticdc_rebuilt"
"""The name of the new table until it replaces the old one."""


class SqliteAlteration(TableAlteration):
    def statements(self) -> list[str]:
        before = shape(self.evolved.before, WORDS)
        old, new = shape(self.differences.old, WORDS), shape(self.differences.new, WORDS)
        rekeyed = bool(self.references.dropped or self.references.added)
        if rekeyed or self._rebuilds(before, old, new):
            _check_ours(self.target, self.name, before)
            return self._rebuilt(new)
        return self._altered(before, old, new)

    def quote(self, name: str) -> str:
        return quote_name(name)

    def compared(self, column: Column, sign: str, number: int | Decimal) -> str:
        name = quote_name(column.name)
        if isinstance(number, Decimal):
            return f"{COMPARED}({name}, '{number:f}') {sign} 0"
        # An unsigned BIGINT is text.
        return f"CAST({name} AS NUMERIC) {sign} {number}"

    def unroundable(self, column: Column, last: str) -> str:
        name = quote_name(column.name)
        unknown = f"{name} > '{last}' OR {ROUNDED}({name}, 0) IS NULL"
        return f"{self.fraction(column)} AND ({unknown})"

    def fraction(self, column: Column) -> str:
        return f"{quote_name(column.name)} GLOB '*.*[1-9]*'"

    def characters(self, column: Column, stripped: bool = False) -> str:
        name = quote_name(column.name)
        return f"length(rtrim({name}, ' '))" if stripped else f"length({name})"

    def bytes_of(self, column: Column) -> str:
        return f"length(CAST({quote_name(column.name)} AS BLOB))"

    def _rebuilds(self, before: TableShape, old: TableShape, new: TableShape) -> bool:
        differences = self.differences
        changed = any(new.columns[name] != column for name, column in old.columns.items())
        # A date or time is the text already.
        converted = any(
            each is not None and not isinstance(each.change, Spelled | None)
            for each in self.conversions.values()
        )
        rekeyed = old.primary != new.primary or bool(set(before.primary) & set(differences.dropped))
        return (
            changed
            or converted
            or rekeyed
            or any(not self._addable(column, new) for column in differences.added)
        )

    def _addable(self, column: Column, new: TableShape) -> bool:
        """Returns whether ADD COLUMN suffices: with a constant that remains its default."""
        added = new.columns[column.name]
        if added.generated is not None:
            return True
        if added.default == "CURRENT_TIMESTAMP":
            return False
        initial = self.initials.get(column.name)
        if initial is None:
            return not added.not_null or added.default is not None
        return _literal(column, initial) == added.default

    def _altered(self, before: TableShape, old: TableShape, new: TableShape) -> list[str]:
        name, relation, differences = self.name, self.relation, self.differences
        indexes = index_changes(before.indexes, old.indexes, new.indexes)
        dropped = [*indexes.dropped, *(label for label, _ in indexes.renamed)]
        created = [*indexes.created, *(label for _, label in indexes.renamed)]
        return [
            *(f"DROP INDEX {quote_name(index_name(name, label))}" for label in dropped),
            *(
                f"ALTER TABLE {relation} DROP COLUMN {quote_name(column)}"
                for column in differences.dropped
            ),
            *(
                f"ALTER TABLE {relation} RENAME COLUMN {quote_name(column)} TO {quote_name(named)}"
                for column, named in differences.renamed
            ),
            *(
                f"ALTER TABLE {relation} ADD COLUMN {quote_name(column.name)} "
                f"{new.columns[column.name].text()}"
                for column in differences.added
            ),
            *(
                new.indexes[label].create(quote_name(index_name(name, label)), relation)
                for label in created
            ),
        ]

    def _rebuilt(self, new: TableShape) -> list[str]:
        relation, rebuilt = self.relation, quote_name(REBUILT)
        sources = {column.name: old for old, column in self.differences.modified}
        added = {column.name: column for column in self.differences.added}
        columns, expressions = [], []
        for name, column in new.columns.items():
            if column.generated is not None:
                continue
            columns.append(quote_name(name))
            if name in sources:
                expressions.append(_converted(sources[name], column, self.conversions.get(name)))
            else:
                expressions.append(_literal(added[name], self.initials.get(name)))
        table = self.differences.new
        (create, *_), (_, *indexes) = (
            create_table(rebuilt, REBUILT, table, WORDS, self._foreign_keys()),
            create_table(relation, self.name, table, WORDS),
        )
        return [
            create,
            f"INSERT INTO {rebuilt} ({', '.join(columns)}) "  # noqa: S608
            f"SELECT {', '.join(expressions)} FROM {relation}",
            f"DROP TABLE {relation}",
            f"ALTER TABLE {rebuilt} RENAME TO {relation}",
            *indexes,
        ]

    def _foreign_keys(self) -> list[str]:
        """The new table's foreign keys; staying ones are given with the old names of columns."""
        names = {source: name for name, source in self.evolved.sources.items()}
        staying = [
            replace(each, columns=tuple(names.get(column, column) for column in each.columns))
            for each in self.references.staying
        ]
        return [reference_text(each) for each in (*staying, *self.references.added)]


def _converted(old: Column, new: ColumnShape, conversion: Conversion | None) -> str:
    name = quote_name(old.name)
    cast = name if WORDS.column_type(old) == new.type else f"CAST({name} AS {new.type})"
    match conversion.change if conversion else None:
        case Appended(suffix):
            return f"{cast} || {literal(suffix)}"
        case Padded(width):
            # || makes text of the same bytes
            return f"CAST({name} || zeroblob({width} - length({name})) AS BLOB)"
        case Widened():
            return f"{FLOAT32}({name})"
        case Stripped():
            return f"rtrim({name}, ' ')"
        case Rounded(digits):
            return f"{ROUNDED}({name}, {digits})"
        case OnlyDate():
            return f"substr({name}, 1, 10)"
        case Digits():
            digits_alone = f"replace({name}, ':', '')"
            if old.type.name != "time":
                digits_alone = f"replace(replace({digits_alone}, '-', ''), ' ', '')"
            number = f"CAST({digits_alone} AS INTEGER)"
            return number if new.type == "INTEGER" else f"CAST({number} AS {new.type})"
        case Quantized(digits):
            rounded = f"{DECIMAL}({name}, {digits})"
            return rounded if new.type == "TEXT" else f"CAST({rounded} AS {new.type})"
        case Approximated(single):
            return f"{SINGLE if single else DOUBLE}({name})"
    return cast


def _literal(column: Column, value: Initial) -> str:
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"X'{value.hex()}'"
        case _:
            if "\0" in str(value):
                raise Unsupported(f"column {column.name}: a NUL character in its default")
            return literal(str(value))


def _check_ours(target: Target, name: str, expected: TableShape) -> None:
    """Raises `Stop` unless the table is as the consumer created it."""
    described = target.describe(None, name)
    if described is None:
        raise Stop(f"there is no table {name}")
    columns = {c.name: (c.type.upper(), not c.nullable) for c in described.columns}
    ours = {column: (of.type, of.not_null) for column, of in expected.columns.items()}
    differing = sorted(c for c in columns.keys() | ours.keys() if columns.get(c) != ours.get(c))
    rows = target.query(
        "SELECT name FROM sqlite_master WHERE tbl_name = ? COLLATE NOCASE AND type = 'index' "
        "AND sql IS NOT NULL",
        name,
    )
    labels = {index_name(name, label) for label in expected.indexes}
    differing += sorted({str(index) for (index,) in rows} ^ labels)
    differing += described.triggers
    if differing:
        raise Stop(
            f"SQLite cannot alter {name} in place, and to rebuild it would lose what is not the "
            f"consumer's: {', '.join(differing)}"
        )


def rename_table(
    target: Target, old: TargetName, new: TargetName, definition: Table | None
) -> list[str]:
    """Renames a table and recreates the indexes that the consumer named after it."""
    name, named = old[1], new[1]
    if name == named:
        return []
    relation = target.quote(*new)
    statements = [f"ALTER TABLE {target.quote(*old)} RENAME TO {relation}"]
    rows = target.query("SELECT name FROM sqlite_master WHERE type = 'index'")
    existing = {str(index) for (index,) in rows}
    for label, index in (shape(definition, WORDS).indexes if definition else {}).items():
        if index_name(name, label) in existing:
            statements.append(f"DROP INDEX {quote_name(index_name(name, label))}")
            statements.append(index.create(quote_name(index_name(named, label)), relation))
    return statements
