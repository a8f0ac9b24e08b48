"""The known tables of the upstream: immutable values, found by name in any case.

A definition is parsed once, when it is first needed. A definition that was just written is also
parsed from its text, so that memory equals a fresh read.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import from_json, to_json

from ticdc_consumer.errors import Stop
from ticdc_consumer.state.destinations import Destinations, Unrouted, apart
from ticdc_consumer.targets.layout import TableName, TargetName

Basis = Literal["applied", "declared", "checked", "seen", "reflected"]
"""The certainty of a definition. "applied": the target's table is its translation by the consumer.
"declared": it is the upstream's, but an operator may have created another table here, or a DDL was
skipped; "checked" for the pending ALTER TABLE. "seen": only the columns that rows had. "reflected":
the target's catalog, for the pending ALTER TABLE."""


class Shared(Stop):
    """Rows of two upstream tables would go to one table of the target."""

    @classmethod
    def by(cls, name: TableName, other: TableName, relation: str) -> "Shared":
        return cls(
            f"{'.'.join(other)} and {'.'.join(name)} both go to {relation}: send one elsewhere by "
            "[tables] route, leave it out by [tables] filter, or tell them apart by [tables.merge]"
        )


NAMED = "named"
"""The stored basis of a table of which only the destination is known."""

_NO_FOREIGN_KEYS = '"foreign_keys": []'
_VIRTUAL = '"generated": "virtual"'


class Definition:
    """One table as it is stored: `text` is JSON; `table` is parsed from it on first use."""

    __slots__ = ("_table", "basis", "text")

    def __init__(self, text: str, basis: Basis) -> None:
        self.text = text
        self.basis: Basis = basis
        self._table: Table | None = None

    @classmethod
    def of(cls, table: Table, basis: Basis) -> "Definition":
        return cls(json.dumps(to_json(table)), basis)

    @property
    def table(self) -> Table:
        if self._table is None:
            self._table = from_json(json.loads(self.text))
        return self._table

    @property
    def created(self) -> bool:
        """Returns whether the stream's CREATE TABLE defined it."""
        return self.basis not in ("seen", "reflected")

    @property
    def computes(self) -> bool:
        """Returns whether the table has virtual columns."""
        return _VIRTUAL in self.text

    def parents(self) -> set[TableName]:
        """The tables that its foreign keys name, in lower case."""
        # JSON escapes a quote inside a string, so this text can only be the member itself.
        if _NO_FOREIGN_KEYS in self.text:
            return set()
        return {lower(key.parent) for key in self.table.foreign_keys}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Definition):
            return NotImplemented
        return (self.text, self.basis) == (other.text, other.basis)

    __hash__ = None  # type: ignore[assignment]


def lower(name: TableName) -> TableName:
    """The name in lower case as TiDB compares it: letter by letter. Python lowers Σ by its
    neighbours, and makes two letters of İ."""
    return _lower(name[0]), _lower(name[1])


def _lower(name: str) -> str:
    return name.replace("İ", "i").replace("Σ", "σ").lower()


@dataclass(frozen=True, slots=True)
class KnownTables:
    """The known tables of the upstream, by their own spelling. Each change returns a new value;
    copying a dict of 10,000 names takes about 0.1 ms.

    `destinations` has every known table, also those without a definition.
    """

    by_name: Mapping[TableName, Definition]
    destinations: Mapping[TableName, TargetName | None]
    where: Destinations
    _spellings: Mapping[TableName, tuple[TableName, ...]]
    _children: Mapping[TableName, tuple[TableName, ...]]
    _sharing: Mapping[TargetName, tuple[TableName, ...]]

    @classmethod
    def of(
        cls,
        definitions: Iterable[tuple[TableName, Definition]],
        where: Destinations | None = None,
        destinations: Mapping[TableName, TargetName | None] | None = None,
    ) -> "KnownTables":
        """Builds the value from `definitions` and the stored `destinations`, which may name tables
        without a definition. `where` gives the destination of a table that has none stored."""
        by_name, where, stored = dict(definitions), where or Unrouted(), destinations or {}
        spellings: dict[TableName, tuple[TableName, ...]] = {}
        children: dict[TableName, tuple[TableName, ...]] = {}
        sharing: dict[TargetName, tuple[TableName, ...]] = {}
        for name, definition in by_name.items():
            _add(spellings, lower(name), name)
            for parent in definition.parents():
                _add(children, parent, name)
        names = dict.fromkeys((*by_name, *stored))
        of_all = {name: stored.get(name) or where.of(name) for name in names}
        for name, destination in of_all.items():
            if destination is not None:
                _add(sharing, where.comparable(destination), name)
        return cls(by_name, of_all, where, spellings, children, sharing)

    @property
    def created(self) -> "Definitions":
        """The tables whose CREATE TABLE came through the stream."""
        return Definitions(self)

    def get(self, name: TableName) -> Definition | None:
        return self.by_name.get(name)

    def children(self, parent: TableName) -> tuple[TableName, ...]:
        """The tables whose foreign keys name `parent`, including itself if it does."""
        return self._children.get(lower(parent), ())

    def spellings(self, name: TableName) -> tuple[TableName, ...]:
        return self._spellings.get(lower(name), ())

    def of_schema(self, schema: str) -> list[TableName]:
        """All known tables of a schema, also those without a definition."""
        return [name for name in self.destinations if name[0] == schema]

    def sharing(self, name: TableName) -> tuple[TableName, ...]:
        """The known upstream tables with the same destination as `name`."""
        destination = self.where.of(name)
        if destination is None:
            return ()
        return self._sharing.get(self.where.comparable(destination), ())

    def others(self, name: TableName) -> tuple[TableName, ...]:
        """The other known upstream tables with the same destination as `name` whose rows cannot be
        told from its rows."""
        return tuple(
            other
            for other in self.sharing(name)
            if lower(other) != lower(name) and not apart(self.where, name, other)
        )

    def require_alone(
        self,
        name: TableName,
        quote: Callable[[str | None, str], str],
        leaving: Iterable[TableName] = (),
    ) -> None:
        """Raises `Shared` if another table not in `leaving` shares the destination of `name`,
        and `Stop` if the rows of `name` had another destination before."""
        before, now = self.destinations.get(name), self.where.of(name)
        if now is None:
            return
        for other in self.others(name):
            if other not in leaving:
                raise Shared.by(name, other, quote(*now))
        if before and self.where.comparable(before) != self.where.comparable(now):
            raise Stop(
                f"the rows of {'.'.join(name)} went to {quote(*before)} until now, and would go to "
                f"{quote(*now)} by this release's reading of [tables] route"
            )

    def changed(
        self, changes: Mapping[TableName, Definition | None], noted: Iterable[TableName] = ()
    ) -> "KnownTables":
        """Returns a copy with these definitions replaced (None removes one). For the names in
        `noted`, a subset, the copy knows only the destination."""
        by_name = dict(self.by_name)
        spellings, children = dict(self._spellings), dict(self._children)
        destinations, sharing = dict(self.destinations), dict(self._sharing)
        for name, definition in changes.items():
            left = destinations.pop(name, None)
            if left is not None:
                _remove(sharing, self.where.comparable(left), name)
            if definition is not None or name in noted:
                destination = destinations[name] = self.where.of(name)
                if destination is not None:
                    _add(sharing, self.where.comparable(destination), name)
            previous = by_name.pop(name, None)
            if previous is not None:
                _remove(spellings, lower(name), name)
                for parent in previous.parents():
                    _remove(children, parent, name)
            if definition is not None:
                by_name[name] = definition
                _add(spellings, lower(name), name)
                for parent in definition.parents():
                    _add(children, parent, name)
        return KnownTables(by_name, destinations, self.where, spellings, children, sharing)


NOTHING_KNOWN = KnownTables.of(())


class Definitions(Mapping[TableName, Table]):
    """The tables whose CREATE TABLE came through the stream, by upstream schema and table."""

    def __init__(self, known: KnownTables = NOTHING_KNOWN) -> None:
        self._known = known

    @classmethod
    def of(cls, tables: Mapping[TableName, Table]) -> "Definitions":
        return cls(KnownTables.of((n, Definition.of(t, "applied")) for n, t in tables.items()))

    def __getitem__(self, name: TableName) -> Table:
        definition = self._known.get(name)
        if definition is None or not definition.created:
            raise KeyError(name)
        return definition.table

    def __contains__(self, name: object) -> bool:
        definition = self._known.by_name.get(name)  # type: ignore[call-overload]
        return definition is not None and definition.created

    def __iter__(self) -> Iterator[TableName]:
        return (name for name, known in self._known.by_name.items() if known.created)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def spelled(self, name: TableName) -> TableName:
        """The name as the table's own definition spells it, unless several match."""
        if name in self:
            return name
        same = [other for other in self._known.spellings(name) if other in self]
        return same[0] if len(same) == 1 else name

    def any_case(self, name: TableName) -> Table | None:
        """The last table of this name in any case."""
        same = [other for other in self._known.spellings(name) if other in self]
        return self[same[-1]] if same else None

    def children(self, parent: TableName) -> list[Table]:
        """The tables whose foreign keys name `parent`, including itself if it does."""
        return [self[name] for name in self._known.children(parent) if name in self]

    def of_schema(self, schema: str) -> list[TableName]:
        return [name for name in self if name[0] == schema]

    def changed(self, changes: Mapping[TableName, Table | None]) -> "Definitions":
        """Returns a copy with these tables replaced (None removes one)."""
        stored = {n: None if t is None else Definition.of(t, "applied") for n, t in changes.items()}
        return Definitions(self._known.changed(stored))


Key = TypeVar("Key", TableName, TargetName)


def _add(index: dict[Key, tuple[TableName, ...]], key: Key, name: TableName) -> None:
    index[key] = (*index.get(key, ()), name)


def _remove(index: dict[Key, tuple[TableName, ...]], key: Key, name: TableName) -> None:
    left = tuple(other for other in index[key] if other != name)
    if left:
        index[key] = left
    else:
        del index[key]
