"""CREATE TABLE for SQLite."""

from ticdc_consumer.targets.layout import Reference
from ticdc_consumer.targets.schema.create import DdlWords
from ticdc_consumer.targets.sqlite import types
from ticdc_consumer.targets.sqlite.generated import SqliteWriter
from ticdc_consumer.targets.sqlite.quoting import quote_name

WORDS = DdlWords(
    quote=quote_name,
    column_type=types.column_type,
    key_type=types.column_type,
    prefix=lambda column, length: f"substr({column}, 1, {length})",
    # SQLite's has no digits after the second.
    now=lambda column: None if column.type.decimals else "CURRENT_TIMESTAMP",
    writer_of=lambda columns: SqliteWriter(columns, quote_name),
    generated="VIRTUAL",
)


def reference_text(of: Reference) -> str:
    """A foreign key as a line of CREATE TABLE. Without columns, it refers to the primary key."""
    parent = f" ({', '.join(map(quote_name, of.parent_columns))})" if of.parent_columns else ""
    return (
        f"FOREIGN KEY ({', '.join(map(quote_name, of.columns))}) REFERENCES "
        f"{quote_name(of.table)}{parent} DEFERRABLE INITIALLY DEFERRED"
    )
