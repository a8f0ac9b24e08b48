"""The foreign keys of a table: those to a unique key of a table that came through the stream.

They have NO ACTION, whatever upstream's do: the rows that those change are sent.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from ticdc_encoder.column import ForeignKey
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.state.known_tables import Definitions, lower
from ticdc_consumer.targets.layout import Reference, ReferenceChanges, TableName, TargetName
from ticdc_consumer.targets.target import Target

Locate = Callable[[TableName], TargetName]
"""Maps an upstream table to its place in the target."""


def references(table: Table, definitions: Definitions, locate: Locate) -> tuple[Reference, ...]:
    """Returns the foreign keys for `table`, by its upstream definition."""
    own = lower((table.schema, table.name))
    result = []
    for key in table.foreign_keys:
        parent = table if lower(key.parent) == own else definitions.any_case(key.parent)
        if parent is not None and (columns := _unique(key, parent)):
            relation = locate((parent.schema, parent.name))
            result.append(Reference(key.name, key.columns, *relation, columns))
    return tuple(result)


def waiting(
    parent: Table, definitions: Definitions, locate: Locate
) -> Iterator[tuple[Table, tuple[Reference, ...]]]:
    """Yields the tables created before the parent that their foreign keys name."""
    name = parent.schema, parent.name
    for child in definitions.children(name):
        known = Definitions.of({name: parent})
        keys = tuple(key for key in child.foreign_keys if lower(key.parent) == lower(name))
        if lower((child.schema, child.name)) != lower(name):
            yield child, references(replace(child, foreign_keys=keys), known, locate)


def changes(
    target: Target, evolved: Evolved, definitions: Definitions, locate: Locate
) -> ReferenceChanges:
    """Returns an ALTER TABLE's changes to foreign keys, as far as they are not done yet."""
    before, after = evolved.before, evolved.after
    existing = target.references(*locate((before.schema, before.name)))
    staying = {key.name for key in after.foreign_keys}
    known = {key.name for key in before.foreign_keys}
    dropped = {r.key for r in references(before, definitions, locate) if r.name not in staying}
    added = [r for r in references(after, definitions, locate) if r.name not in known]
    present = {reference.key for reference in existing}
    return ReferenceChanges(
        staying=tuple(r for r in existing if r.key not in dropped),
        dropped=tuple(r for r in existing if r.key in dropped),
        added=tuple(r for r in added if r.key not in present),
    )


def _unique(key: ForeignKey, parent: Table) -> tuple[str, ...]:
    """Returns the parent's columns in its spelling, none if they are not a unique key of it."""
    spelled = {column.name.lower(): column.name for column in parent.columns}
    columns = tuple(spelled.get(name.lower(), "") for name in key.parent_columns)
    for index in parent.indexes:
        whole = not (any(index.lengths) or index.expression or index.partial)
        if index.unique and whole and sorted(index.columns) == sorted(columns):
            return columns
    return ()
