"""ALTER TABLE and RENAME TABLE for PostgreSQL; each runs in the transaction of its cut."""

from collections.abc import Mapping
from dataclasses import replace

from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.postgresql.create import WORDS, add_reference
from ticdc_consumer.targets.postgresql.quoting import quote_name
from ticdc_consumer.targets.postgresql.types import column_type
from ticdc_consumer.targets.schema.alter import TableAlteration, index_changes
from ticdc_consumer.targets.schema.changes import (
    Appended,
    Approximated,
    Change,
    Digits,
    Padded,
    Rounded,
    Spelled,
    Stripped,
    Widened,
)
from ticdc_consumer.targets.schema.conversions import Conversion
from ticdc_consumer.targets.schema.create import (
    ColumnShape,
    IndexShape,
    index_name,
    literal,
    primary_key,
    shape,
)
from ticdc_consumer.targets.schema.generated import reads_all
from ticdc_consumer.targets.schema.initial import Initial
from ticdc_consumer.targets.target import Target

_WIDER = {
    "smallint": ("integer", "bigint", "real", "double precision"),
    "integer": ("bigint", "real", "double precision"),
    "bigint": ("real", "double precision"),
    "real": ("double precision",),
    "timestamp without time zone": ("date",),
    "date": ("timestamp without time zone",),
}
"""The types besides text to which every value of a type can be cast."""


class PostgreSqlAlteration(TableAlteration):
    def statements(self) -> list[str]:
        self._written: list[str] = []
        for dropped in self.references.dropped:
            self._table(f"DROP CONSTRAINT {quote_name(dropped.name)}")
        self._write()
        for added in self.references.added:
            self._written.append(add_reference(self.target, self.schema, self.name, added))
        return self._written

    def settled(self, evolved: Evolved) -> Evolved:
        """Drops and re-adds some generated columns: PostgreSQL can change neither a generated
        column nor the type of a column that it reads."""
        settled = super().settled(evolved)
        old, new = shape(settled.before, WORDS).columns, shape(settled.after, WORDS).columns
        renamed = {source: name for name, source in settled.sources.items()}
        changed = {
            source.lower()
            for source, name in renamed.items()
            if name in new and old[source].type != new[name].type
        }
        again = {
            name
            for name, source in settled.sources.items()
            for column in (settled.before.column(source),)
            if column.virtual and settled.after.column(name).virtual
            if old[source] != new[name] or reads_all(column, settled.before) & changed
        }
        unchanged = {name: source for name, source in settled.sources.items() if name not in again}
        return replace(settled, sources=unchanged)

    def quote(self, name: str) -> str:
        return quote_name(name)

    def unroundable(self, column: Column, last: str) -> str:
        # PostgreSQL does not have other such dates at all.
        return f"{quote_name(column.name)} > '{last}+00'"

    def fraction(self, column: Column) -> str:
        return f"{_microseconds(quote_name(column.name))} % 1000000 <> 0"

    def characters(self, column: Column, stripped: bool = False) -> str:
        text = self._text(column)
        return f"length(rtrim({text}, ' '))" if stripped else f"length({text})"

    def bytes_of(self, column: Column) -> str:
        return f"octet_length({self._text(column)})"

    def casts(self, old: Column, new: Column) -> bool:
        before, after = (column_type(each) for each in (old, new))
        every = before == after or after == "text" or after in _WIDER.get(before, ())
        return every and super().casts(old, new)

    def _text(self, column: Column) -> str:
        name = quote_name(column.name)
        return name if column.type.binary else f"{name}::text"

    def _table(self, action: str) -> None:
        self._written.append(f"ALTER TABLE {self.relation} {action}")

    def _column(self, name: str, action: str) -> None:
        self._table(f"ALTER COLUMN {quote_name(name)} {action}")

    def _index(self, label: str) -> str:
        return index_name(self.name, label)

    def _write(self) -> None:
        differences = self.differences
        whole = shape(self.evolved.before, WORDS)
        old, new = shape(differences.old, WORDS), shape(differences.new, WORDS)
        indexes = index_changes(whole.indexes, old.indexes, new.indexes)
        for label in indexes.dropped:
            self._written.append(f"DROP INDEX {self.target.quote(self.schema, self._index(label))}")
        rekeyed = old.primary != new.primary or bool(set(whole.primary) & set(differences.dropped))
        if rekeyed and whole.primary:
            self._table(f"DROP CONSTRAINT {quote_name(self._primary())}")
        for column in differences.dropped:
            self._table(f"DROP COLUMN {quote_name(column)}")
        for column, named in differences.renamed:
            self._table(f"RENAME COLUMN {quote_name(column)} TO {quote_name(named)}")
        for added in (each for each in differences.added if not each.virtual):
            self._add(added, new.columns[added.name])
        for name, now in new.columns.items():
            if name in old.columns and now.generated is None:
                self._change(name, old.columns[name], now)
        for added in (each for each in differences.added if each.virtual):
            self._add(added, new.columns[added.name])
        if rekeyed and new.primary:
            self._table(f"ADD {primary_key(new.primary, WORDS)}")
        for label, renamed in indexes.renamed:
            self._written.append(
                f"ALTER INDEX {self.target.quote(self.schema, self._index(label))} "
                f"RENAME TO {quote_name(self._index(renamed))}"
            )
        for label in indexes.created:
            self._create(new.indexes[label], label)

    def _create(self, index: IndexShape, label: str) -> None:
        self._written.append(index.create(quote_name(self._index(label)), self.relation))

    def _primary(self) -> str:
        described = self.target.describe(self.schema, self.name)
        for key in described.unique_keys if described else ():
            if key.primary:
                return key.name
        raise Stop(f"{self.relation} has no primary key to drop")

    def _add(self, column: Column, new: ColumnShape) -> None:
        name = quote_name(column.name)
        initial = self.initials.get(column.name)
        value = None if initial is None else _literal(column, initial)
        if value is None or value == new.default:
            self._table(f"ADD COLUMN {name} {new.text()}")
            return
        not_null = " NOT NULL" if new.not_null else ""
        self._table(f"ADD COLUMN {name} {new.type}{not_null} DEFAULT {value}")
        self._default(column.name, new)

    def _default(self, name: str, new: ColumnShape) -> None:
        default = "DROP DEFAULT" if new.default is None else f"SET DEFAULT {new.default}"
        self._column(name, default)

    def _change(self, name: str, old: ColumnShape, new: ColumnShape) -> None:
        converted = self.conversions.get(name, Conversion())
        retyped = old.type != new.type
        if retyped and old.default is not None:
            self._column(name, "DROP DEFAULT")
        plain = new.type.partition(" COLLATE ")[0]
        if converted is None:
            using = f"NULL::{plain}"
        else:
            using = _converted(quote_name(name), converted.change, old.type, plain)
        if retyped or (converted and using != f"{quote_name(name)}::{plain}"):
            self._column(name, f"TYPE {new.type} USING {using}")
        if old.not_null != new.not_null:
            self._column(name, "SET NOT NULL" if new.not_null else "DROP NOT NULL")
        if old.default != new.default or (retyped and new.default is not None):
            self._default(name, new)


def _converted(name: str, change: Change | None, before: str, after: str) -> str:
    """Converts the value of a column from the type `before` to `after`."""
    match change:
        case Appended(suffix) if after == "text":
            return f"{name}::text || {literal(suffix)}"
        case Padded(width):
            return f"{name} || decode(repeat('00', {width} - octet_length({name})), 'hex')"
        case Widened():
            return f"{name}::real::{after}"
        case Stripped():
            return f"rtrim({name}, ' ')"
        case Rounded(digits):
            return _rounded(name, 10 ** (6 - digits))
        case Spelled(digits):
            return _text(name, before, digits)
        case Digits():
            return f"({_text(name, before, 0, _NUMBERS)})::{after}"
        case Approximated(single):
            return f"{name}::double precision" + ("::real" if single else "")
    return f"{name}::{after}"


def _microseconds(name: str) -> str:
    """The microseconds of the second, including its whole part."""
    return f"extract(microseconds FROM {name})::bigint"


def _rounded(name: str, unit: int) -> str:
    """Rounds to whole units, in microseconds: the server's own rounding takes halves before the
    year 2000 to the earlier time. A negative interval has negative microseconds."""
    now = f"extract(microseconds FROM {name})::numeric"
    rounded = f"floor(({now} + {unit // 2}) / {unit}) * {unit}"
    return f"{name} + ({rounded} - {now})::double precision * interval '1 microsecond'"


_TEXTS = {
    "date": "YYYY-MM-DD",
    "timestamp without time zone": "YYYY-MM-DD HH24:MI:SS",
    "interval": "HH24:MI:SS",
}
_NUMBERS = {
    "date": "YYYYMMDD",
    "timestamp without time zone": "YYYYMMDDHH24MISS",
    "interval": "HH24MISS",
}


def _text(name: str, type_: str, digits: int, formats: Mapping[str, str] = _TEXTS) -> str:
    """TiDB's text of a date or time, with so many digits of the second."""
    sign, value = "", name
    if type_ == "interval":
        # The parts of an interval are negative one by one.
        negative = f"{name} < interval '0'"
        sign = f"CASE WHEN {negative} THEN '-' ELSE '' END || "
        value = f"CASE WHEN {negative} THEN -{name} ELSE {name} END"
    micro = ".US" if digits else ""
    text = f"to_char({value}, '{formats[type_]}{micro}')"
    return sign + (f"left({text}, {digits - 6})" if 0 < digits < 6 else text)


def _literal(column: Column, value: Initial) -> str:
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'"
    if isinstance(value, str):
        dated = column.type.name in ("date", "datetime", "timestamp")
        if dated and (value.startswith("0000-") or "-00" in value[:10]):
            raise Unsupported(f"column {column.name}: PostgreSQL has no date {value}")
        if "\0" in value:
            raise Unsupported(
                f"column {column.name}: a NUL character, which PostgreSQL cannot hold"
            )
        zone = "+00" if column.type.name == "timestamp" else ""
        return literal(value + zone)
    return literal(str(value))


def rename_table(
    target: Target, old: TargetName, new: TargetName, definition: Table | None
) -> list[str]:
    """Renames a table and the indexes that the consumer named after it."""
    statements = []
    schema, name = old
    if new[0] != schema:
        if new[0] is None:
            raise Stop(f"{target.quote(*old)} would move to no schema")
        statements.append(f"ALTER TABLE {target.quote(*old)} SET SCHEMA {quote_name(new[0])}")
        schema = new[0]
    if new[1] == name:
        return statements
    # In the other schema, the old name may be taken.
    if statements and target.describe(schema, name) is not None:
        raise Stop(f"{target.quote(schema, name)} is in the way of a rename through it")
    statements.append(f"ALTER TABLE {target.quote(schema, name)} RENAME TO {quote_name(new[1])}")
    for label in shape(definition, WORDS).indexes if definition else ():
        statements.append(
            f"ALTER INDEX IF EXISTS {target.quote(schema, index_name(name, label))} "
            f"RENAME TO {quote_name(index_name(new[1], label))}"
        )
    return statements
