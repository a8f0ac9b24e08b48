"""CREATE TABLE for DuckDB.

Unique keys over whole columns are constraints of the table, since an index forbids to rename it. A
key over prefixes is a unique index. Other indexes are left out: a column store reads without them.
Foreign keys are left out, too: DuckDB checks them row by row, and cannot defer them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ticdc_consumer.targets.schema.create import DdlWords, IndexShape, TableShape, primary_key
from ticdc_consumer.targets.schema.create import index_name as index_name
from ticdc_consumer.targets.schema.create import shape as shared_shape
from ticdc_encoder.event import Table

from ticdc_duckdb import types
from ticdc_duckdb.quoting import quote_name

WORDS = DdlWords(
    quote=quote_name,
    column_type=types.column_type,
    key_type=types.column_type,
    prefix=lambda column, length: f"array_slice({column}, 1, {length})",
    # DuckDB's has six digits after the second.
    now=lambda column: "CURRENT_TIMESTAMP" if column.type.decimals == 6 else None,
)


@dataclass(frozen=True, slots=True)
class Keys:
    """The unique keys besides the primary one."""

    constraints: tuple[tuple[str, ...], ...]
    indexes: Mapping[str, IndexShape]


def shape(table: Table) -> TableShape:
    return shared_shape(table, WORDS)


def keys(of: TableShape) -> Keys:
    unique = {label: index for label, index in of.indexes.items() if index.unique}
    whole = {quote_name(name) for name in of.columns}
    constraints = {
        label: index.parts for label, index in unique.items() if set(index.parts) <= whole
    }
    return Keys(
        tuple(dict.fromkeys(constraints.values())),
        {label: index for label, index in unique.items() if label not in constraints},
    )


def create_table(relation: str, table: Table) -> str:
    """Without the unique indexes."""
    new = shape(table)
    lines = [f"{quote_name(column)} {of.text()}" for column, of in new.columns.items()]
    if new.primary:
        lines.append(primary_key(new.primary, WORDS))
    lines += [f"UNIQUE ({', '.join(parts)})" for parts in keys(new).constraints]
    return f"CREATE TABLE {relation} ({', '.join(lines)})"


def create_indexes(relation: str, name: str, table: Table) -> list[str]:
    return [
        index.create(quote_name(index_name(name, label)), relation)
        for label, index in keys(shape(table)).indexes.items()
    ]
