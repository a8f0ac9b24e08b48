"""Reading of a registered schema's records as rows."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Row, Table, Value
from ticdc_encoder.formats.avro import binary as avro_binary
from ticdc_encoder.formats.avro import schema as avro_schema
from ticdc_encoder.formats.avro.names import schema_name
from ticdc_encoder.formats.avro.values import from_avro
from ticdc_encoder.formats.json_text import Members
from ticdc_encoder.formats.registry import Registry, SchemaId


@dataclass(frozen=True, slots=True)
class RecordShape:
    """`read` gives a record's members: `extension` names those behind the columns, `hidden` columns
    that are not the user's, `convert` has those whose values Avro holds in another form."""

    table: Table
    read: avro_binary.Read
    convert: tuple[tuple[str, Callable[[Any], Value]], ...]
    extension: frozenset[str]
    hidden: tuple[str, ...]

    def row(self, members: Members) -> Row:
        """The row, made from `members` in place."""
        for name in self.hidden:
            del members[name]
        for name, convert in self.convert:
            value = members[name]
            if value is not None:
                try:
                    members[name] = convert(value)
                except (TypeError, ValueError) as error:
                    table = self.table
                    raise WireError(
                        f"column `{name}` of {table.schema}.{table.name}: {error}"
                    ) from error
        return members


_HIDDEN = re.compile(r"_V__.+_[0-9]+")
"""The name, `_V$_...` in TiDB, of the column that it makes for an index over an expression."""


@lru_cache(maxsize=4096)
def key_shape(registry: Registry, schema_id: SchemaId) -> RecordShape:
    """The shape of a message's key, whose columns are the handle key."""
    return _shape(avro_binary.schema_of(registry.schema(schema_id)), None, "key")


@lru_cache(maxsize=4096)
def value_shape(registry: Registry, key_id: SchemaId | None, value_id: SchemaId) -> RecordShape:
    """The shape of a message's value, next to a key of that schema."""
    schema = avro_binary.schema_of(registry.schema(value_id))
    key = () if key_id is None else key_shape(registry, key_id).table.handle_key
    return _shape(schema, key, "value")


def _shape(schema: Members, key: tuple[str, ...] | None, what: str) -> RecordShape:
    fields = schema["fields"]
    names = [field.get("name") if isinstance(field, dict) else None for field in fields]
    behind = [name for name in names if name in avro_schema.AFTER_COLUMNS]
    columns = fields[: names.index(behind[0])] if behind else fields
    if names[len(columns) :] != behind or not columns:
        raise WireError(f"the schema of the {what} has no columns, or has some after its extension")
    hidden = tuple(name for name in names if name and _HIDDEN.fullmatch(name))
    known = [avro_schema.field_of(field) for field in columns if field["name"] not in hidden]
    table = Table(
        schema_name(str(schema.get("namespace", ""))),
        str(schema.get("name", "")),
        tuple(field.column for field in known),
        handle_key=tuple(field.column.name for field in known) if key is None else key,
    )
    if not {*table.handle_key} <= {*names}:
        raise WireError(f"the key of {table.schema}.{table.name} has columns that its value lacks")
    return RecordShape(
        table,
        avro_binary.reader(schema, what),
        tuple(
            (field.column.name, convert)
            for field in known
            if (convert := from_avro(field.column.type, field.avro_type)) is not None
        ),
        frozenset(behind),
        hidden,
    )
