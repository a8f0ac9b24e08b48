"""CREATE TABLE for PostgreSQL."""

from ticdc_encoder.column import TEXTS, Column

from ticdc_consumer.targets.layout import Reference
from ticdc_consumer.targets.postgresql import types
from ticdc_consumer.targets.postgresql.generated import PostgreSqlWriter
from ticdc_consumer.targets.postgresql.quoting import quote_name
from ticdc_consumer.targets.schema.create import DdlWords, index_name
from ticdc_consumer.targets.target import Target


def _key_type(column: Column) -> str:
    """The type of a key, compared by bytes whatever the database's locale: no keys merge."""
    type_ = types.column_type(column)
    textual = column.type.name in TEXTS or column.type.name in ("enum", "set")
    return f'{type_} COLLATE "C"' if textual else type_


WORDS = DdlWords(
    quote=quote_name,
    column_type=types.column_type,
    key_type=_key_type,
    prefix=lambda column, length: f"substring({column} from 1 for {length})",
    now=lambda column: f"CURRENT_TIMESTAMP({column.type.decimals or 0})",
    writer_of=lambda columns: PostgreSqlWriter(columns, quote_name),
    generated="STORED",
)


WAITS = " DEFERRABLE INITIALLY DEFERRED"
"""The suffix of a foreign key that is checked at COMMIT."""


def add_reference(target: Target, schema: str | None, name: str, added: Reference) -> str:
    label = quote_name(index_name(name, added.name))
    return (
        f"ALTER TABLE {target.quote(schema, name)} ADD CONSTRAINT {label} "
        f"FOREIGN KEY ({', '.join(map(quote_name, added.columns))}) "
        f"REFERENCES {target.quote(added.schema, added.table)} "
        f"({', '.join(map(quote_name, added.parent_columns))}){WAITS}"
    )
