"""ALTER TABLE and RENAME TABLE for PostgreSQL; each runs in the transaction of its cut."""

from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.targets.layout import ReferenceChanges
from ticdc_consumer.targets.postgresql.create import WORDS, add_reference
from ticdc_consumer.targets.postgresql.quoting import quote_name
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
    Conversion,
    IsNull,
    Longer,
    LongerInBytes,
)
from ticdc_consumer.targets.schema.create import (
    ColumnShape,
    IndexShape,
    index_name,
    literal,
    primary_key,
    shape,
)
from ticdc_consumer.targets.schema.initial import Initial
from ticdc_consumer.targets.target import Target


def alter_table(
    target: Target,
    schema: str | None,
    name: str,
    evolved: Evolved,
    commit_ts: int,
    references: ReferenceChanges,
) -> Alteration:
    """Raises `Stop` for what cannot be done exactly."""
    found = differences(evolved)
    empty = not target.has_rows(schema, name)
    made = conversions(found, empty)
    values = initials(evolved, found, empty, commit_ts)
    relation = target.quote(schema, name)
    work = _Writing(target, schema, name, relation)
    for gone in references.dropped:
        work.table(f"DROP CONSTRAINT {quote_name(gone.name)}")
    work.write(found, evolved.before, values, made)
    work.statements += [add_reference(target, schema, name, added) for added in references.added]
    return Alteration(tuple(work.statements), refusals(relation, found, made, _condition))


class _Writing:
    def __init__(self, target: Target, schema: str | None, name: str, relation: str) -> None:
        self.target, self.schema, self.name, self.relation = target, schema, name, relation
        self.statements: list[str] = []

    def table(self, action: str) -> None:
        self.statements.append(f"ALTER TABLE {self.relation} {action}")

    def column(self, name: str, action: str) -> None:
        self.table(f"ALTER COLUMN {quote_name(name)} {action}")

    def index(self, label: str) -> str:
        return index_name(self.name, label)

    def write(
        self,
        found: Differences,
        before: Table,
        values: dict[str, Initial],
        made: dict[str, Conversion | None],
    ) -> None:
        whole, old, new = shape(before, WORDS), shape(found.old, WORDS), shape(found.new, WORDS)
        indexes = index_changes(whole.indexes, old.indexes, new.indexes)
        for label in indexes.dropped:
            self.statements.append(
                f"DROP INDEX {self.target.quote(self.schema, self.index(label))}"
            )
        rekeyed = old.primary != new.primary or bool(set(whole.primary) & set(found.dropped))
        if rekeyed and whole.primary:
            self.table(f"DROP CONSTRAINT {quote_name(self._primary())}")
        for column in found.dropped:
            self.table(f"DROP COLUMN {quote_name(column)}")
        for column, named in found.renamed:
            self.table(f"RENAME COLUMN {quote_name(column)} TO {quote_name(named)}")
        for added in found.added:
            self._add(added, new.columns[added.name], values)
        for name, now in new.columns.items():
            if name in old.columns:
                self._change(name, old.columns[name], now, made)
        if rekeyed and new.primary:
            self.table(f"ADD {primary_key(new.primary, WORDS)}")
        for label, renamed in indexes.renamed:
            self.statements.append(
                f"ALTER INDEX {self.target.quote(self.schema, self.index(label))} "
                f"RENAME TO {quote_name(self.index(renamed))}"
            )
        for label in indexes.created:
            self._create(new.indexes[label], label)

    def _create(self, index: IndexShape, label: str) -> None:
        self.statements.append(index.create(quote_name(self.index(label)), self.relation))

    def _primary(self) -> str:
        described = self.target.describe(self.schema, self.name)
        for key in described.unique_keys if described else ():
            if key.primary:
                return key.name
        raise Stop(f"{self.relation} has no primary key to drop")

    def _add(self, column: Column, made: ColumnShape, values: dict[str, Initial]) -> None:
        name = quote_name(column.name)
        value = (
            _literal(column, values[column.name]) if values.get(column.name) is not None else None
        )
        if value is None or value == made.default:
            self.table(f"ADD COLUMN {name} {made.text()}")
            return
        not_null = " NOT NULL" if made.not_null else ""
        self.table(f"ADD COLUMN {name} {made.type}{not_null} DEFAULT {value}")
        self._default(column.name, made)

    def _default(self, name: str, made: ColumnShape) -> None:
        self.column(name, "DROP DEFAULT" if made.default is None else f"SET DEFAULT {made.default}")

    def _change(
        self, name: str, old: ColumnShape, new: ColumnShape, made: dict[str, Conversion | None]
    ) -> None:
        converted = made.get(name, Conversion())
        suffix = converted.suffix if converted else ""
        retyped = old.type != new.type
        if retyped and old.default is not None:
            self.column(name, "DROP DEFAULT")
        if retyped:
            plain = new.type.partition(" COLLATE ")[0]
            using = f"{quote_name(name)}::{plain}"
            if converted is None:
                using = f"NULL::{plain}"
            elif suffix and plain == "text":
                using = f"{quote_name(name)}::text || {literal(suffix)}"
            self.column(name, f"TYPE {new.type} USING {using}")
        if old.not_null != new.not_null:
            self.column(name, "SET NOT NULL" if new.not_null else "DROP NOT NULL")
        if old.default != new.default or (retyped and new.default is not None):
            self._default(name, new)


def _condition(column: Column, refused: Condition) -> str:
    name = quote_name(column.name)
    text = name if column.type.binary else f"{name}::text"
    match refused:
        case Below(least):
            return f"{name} < {least}"
        case Above(greatest):
            return f"{name} > {greatest}"
        case Longer(length):
            return f"length({text}) > {length}"
        case LongerInBytes(length):
            return f"octet_length({text}) > {length}"
        case IsNull():
            return f"{name} IS NULL"


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
    target: Target,
    old: tuple[str | None, str],
    new: tuple[str | None, str],
    definition: Table | None,
) -> list[str]:
    """Indexes that the consumer named after the table are named anew."""
    statements = []
    schema, name = old
    if new[0] != schema:
        if new[0] is None:
            raise Stop(f"{target.quote(*old)} would move to no schema")
        statements.append(f"ALTER TABLE {target.quote(*old)} SET SCHEMA {quote_name(new[0])}")
        schema = new[0]
    if new[1] == name:
        return statements
    # In another schema, the old name may be taken.
    if statements and target.describe(schema, name) is not None:
        raise Stop(f"{target.quote(schema, name)} is in the way of a rename through it")
    statements.append(f"ALTER TABLE {target.quote(schema, name)} RENAME TO {quote_name(new[1])}")
    for label in shape(definition, WORDS).indexes if definition else ():
        statements.append(
            f"ALTER INDEX IF EXISTS {target.quote(schema, index_name(name, label))} "
            f"RENAME TO {quote_name(index_name(new[1], label))}"
        )
    return statements
