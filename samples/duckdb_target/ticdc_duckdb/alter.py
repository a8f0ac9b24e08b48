"""ALTER TABLE and RENAME TABLE for DuckDB; each runs in the transaction of its cut.

DuckDB alters no table in the columns of its keys, so that a new table always replaces the old one.
That would lose what a user added, so the table must be as the consumer created it.
"""

from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.schema.alter import TableAlteration
from ticdc_consumer.targets.schema.changes import Appended, Padded, Stripped, Widened
from ticdc_consumer.targets.schema.conversions import Conversion
from ticdc_consumer.targets.schema.create import ColumnShape, TableShape, index_name, literal
from ticdc_consumer.targets.schema.initial import Initial
from ticdc_consumer.targets.target import Query, Target
from ticdc_encoder.column import Column
from ticdc_encoder.event import Table

from ticdc_duckdb import catalog
from ticdc_duckdb.create import create_indexes, create_table, keys, shape
from ticdc_duckdb.quoting import quote_name

REBUILT = "ticdc_rebuilt"
"""The name of the new table until it replaces the old one."""


class DuckDbAlteration(TableAlteration):
    computed = (Appended, Padded, Stripped, Widened)

    def statements(self) -> list[str]:
        _check_ours(self.target, self.schema, self.name, shape(self.evolved.before))
        rebuilt = self.target.quote(self.schema, REBUILT)
        table = self.differences.new
        sources = {column.name: old for old, column in self.differences.modified}
        added = {column.name: column for column in self.differences.added}
        columns, expressions = [], []
        for name, column in shape(table).columns.items():
            columns.append(quote_name(name))
            if name in sources:
                expressions.append(self._converted(sources[name], name, column))
            else:
                value = _literal(added[name], self.initials.get(name))
                expressions.append(f"CAST({value} AS {column.type})")
        return [
            create_table(rebuilt, table),
            f"INSERT INTO {rebuilt} ({', '.join(columns)}) "  # noqa: S608
            f"SELECT {', '.join(expressions)} FROM {self.relation}",
            f"DROP TABLE {self.relation}",
            f"ALTER TABLE {rebuilt} RENAME TO {quote_name(self.name)}",
            *create_indexes(self.relation, self.name, table),
        ]

    def quote(self, name: str) -> str:
        return quote_name(name)

    def characters(self, column: Column, stripped: bool = False) -> str:
        name = quote_name(column.name)
        if column.type.binary:
            return f"octet_length({name})"
        text = f"CAST({name} AS VARCHAR)"
        return f"length(rtrim({text}, ' '))" if stripped else f"length({text})"

    def bytes_of(self, column: Column) -> str:
        return f"strlen(CAST({quote_name(column.name)} AS VARCHAR))"

    def _converted(self, old: Column, name: str, new: ColumnShape) -> str:
        conversion = self.conversions.get(name, Conversion())
        if conversion is None:  # there are no rows
            return f"CAST(NULL AS {new.type})"
        name = quote_name(old.name)
        text = f"CAST({name} AS {new.type})"
        match conversion.change:
            case Widened():
                return f"CAST(CAST({name} AS FLOAT) AS {new.type})"
            case Padded(width):
                return f"{text} || unhex(repeat('00', {width} - octet_length({text})))"
            case Stripped():
                return f"rtrim({text}, ' ')"
            case Appended(suffix) if new.type == "VARCHAR":
                return f"{text} || {literal(suffix)}"
        return text


def _literal(column: Column, value: Initial) -> str:
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"unhex('{value.hex()}')"
    text, kind = str(value), column.type.name
    if kind in ("date", "datetime", "timestamp") and (
        text.startswith("0000-") or "-00" in text[:10]
    ):
        raise Unsupported(f"column {column.name}: DuckDB has no date {text}")
    if "\0" in text:
        raise Unsupported(f"column {column.name}: a NUL character in its default")
    return literal(text + ("+00" if kind == "timestamp" else ""))


def _check_ours(target: Target, schema: str | None, name: str, expected: TableShape) -> None:
    """Raises `Stop` unless the table is as the consumer created it."""
    described = target.describe(schema, name)
    if described is None:
        raise Stop(f"there is no table {name}")
    columns = {c.name: (c.type.upper(), not c.nullable) for c in described.columns}
    ours = {
        column: (of.type, of.not_null or column in expected.primary)
        for column, of in expected.columns.items()
    }
    differing = sorted(c for c in columns.keys() | ours.keys() if columns.get(c) != ours.get(c))
    labels = {index_name(name, label) for label in keys(expected).indexes}
    existing = {index for index, _, _ in catalog.indexes(target.query, schema, name)}
    differing += sorted(existing ^ labels)
    differing += [key for key, _ in described.strict_foreign_keys]
    if differing:
        raise Stop(
            f"DuckDB cannot alter {name} in place, and to rebuild it would lose what is not the "
            f"consumer's: {', '.join(differing)}"
        )


def rename_table(
    target: Target, old: TargetName, new: TargetName, definition: Table | None
) -> list[str]:
    """Indexes that the consumer named after the table are recreated: they forbid to rename it."""
    (schema, name), (moved, named) = old, new
    if schema != moved:
        raise Unsupported(f"DuckDB cannot move {target.quote(*old)} to another schema")
    if name == named:
        return []
    query: Query = target.query
    labels = keys(shape(definition)).indexes if definition else {}
    mine = {index_name(name, label) for label in labels}
    existing = {index for index, _, _ in catalog.indexes(query, schema, name)}
    if foreign := sorted(existing - mine):
        raise Stop(f"DuckDB cannot rename {name} while it has the indexes {', '.join(foreign)}")
    return [
        *(f"DROP INDEX {target.quote(schema, index)}" for index in sorted(existing)),
        f"ALTER TABLE {target.quote(*old)} RENAME TO {quote_name(named)}",
        *(create_indexes(target.quote(*new), named, definition) if definition else ()),
    ]
