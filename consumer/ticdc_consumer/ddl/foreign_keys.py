"""Which foreign keys a table gets: those to a unique key of a table that came through the stream.

They say NO ACTION, whatever upstream's do: the rows that those change are sent.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ticdc_encoder.column import ForeignKey
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.targets.layout import Reference, ReferenceChanges
from ticdc_consumer.targets.target import Target

Name = tuple[str, str]
Locate = Callable[[Name], tuple[str | None, str]]
"""An upstream table -> where it lies in the target."""


def references(
    table: Table, definitions: Mapping[Name, Table], locate: Locate
) -> tuple[Reference, ...]:
    """Those that `table`, by its upstream definition, is to have."""
    named = {_lower(name): known for name, known in definitions.items()}
    named[_lower((table.schema, table.name))] = table
    found = []
    for key in table.foreign_keys:
        parent = named.get(_lower(key.parent))
        if parent is not None and (columns := _unique(key, parent)):
            place = locate((parent.schema, parent.name))
            found.append(Reference(key.name, key.columns, *place, columns))
    return tuple(found)


def waiting(
    parent: Table, definitions: Mapping[Name, Table], locate: Locate
) -> Iterator[tuple[Table, tuple[Reference, ...]]]:
    """The tables that were created before the parent that their foreign keys name."""
    name = _lower((parent.schema, parent.name))
    for child in definitions.values():
        keys = tuple(key for key in child.foreign_keys if _lower(key.parent) == name)
        if keys and _lower((child.schema, child.name)) != name:
            known = {(parent.schema, parent.name): parent}
            yield child, references(replace(child, foreign_keys=keys), known, locate)


def changes(
    target: Target, evolved: Evolved, definitions: Mapping[Name, Table], locate: Locate
) -> ReferenceChanges:
    """What an ALTER TABLE does to them, as far as it is not done yet."""
    before, after = evolved.before, evolved.after
    there = target.references(*locate((before.schema, before.name)))
    staying = {key.name for key in after.foreign_keys}
    known = {key.name for key in before.foreign_keys}
    gone = {r.key for r in references(before, definitions, locate) if r.name not in staying}
    wanted = [r for r in references(after, definitions, locate) if r.name not in known]
    here = {reference.key for reference in there}
    return ReferenceChanges(
        staying=tuple(r for r in there if r.key not in gone),
        dropped=tuple(r for r in there if r.key in gone),
        added=tuple(r for r in wanted if r.key not in here),
    )


def _unique(key: ForeignKey, parent: Table) -> tuple[str, ...]:
    """The parent's columns as it spells them, none where they are no unique key of it."""
    spelled = {column.name.lower(): column.name for column in parent.columns}
    columns = tuple(spelled.get(name.lower(), "") for name in key.parent_columns)
    for index in parent.indexes:
        whole = not (any(index.lengths) or index.expression or index.partial)
        if index.unique and whole and sorted(index.columns) == sorted(columns):
            return columns
    return ()


def _lower(name: Name) -> Name:
    return name[0].lower(), name[1].lower()
