"""ALTER TABLE: what differs between a table's two definitions, as a target sees them.

A target writes its statements from the two definitions, never from upstream's statement. What that
cannot give exactly raises `Unsupported`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.targets.layout import ReferenceChanges, TargetName
from ticdc_consumer.targets.schema.conversions import (
    Above,
    Below,
    Condition,
    Conversion,
    IsNull,
    Longer,
    LongerInBytes,
    certain,
    conversion,
    likely_conversion,
)
from ticdc_consumer.targets.schema.initial import Initial, initial, likely_initial

if TYPE_CHECKING:
    from ticdc_consumer.targets.target import Target


@dataclass(frozen=True, slots=True)
class Alteration:
    """`refusals` are (a query, the reason): a row of its result forbids the rest. `rows_only`: the
    statements change rows alone, and so can be rolled back on every target. `set_aside` is the
    new name of the table that was dropped or emptied."""

    statements: tuple[str, ...] = ()
    refusals: tuple[tuple[str, str], ...] = ()
    rows_only: bool = False
    set_aside: TargetName | None = None


@dataclass(frozen=True, slots=True)
class Differences:
    """`old` and `new` are the definitions; only surviving columns are in `old`, by their new
    names. `dropped` and `drop_indexes` are names before, all others those after; a renamed
    index is in `rename_indexes` alone. `modified` are pairs of a column before and after."""

    old: Table
    new: Table
    dropped: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    added: tuple[Column, ...]
    modified: tuple[tuple[Column, Column], ...]


def differences(evolved: Evolved) -> Differences:
    """The differences in the columns whose values are sent."""
    before, after, sources = evolved.before, evolved.after, evolved.sources
    names = {source: name for name, source in sources.items()}
    sent_before = {c.name: c for c in before.columns if c.generated != "virtual"}
    sent_after = [c for c in after.columns if c.generated != "virtual"]
    surviving = [c for c in sent_after if sources.get(c.name) in sent_before]
    staying = {sources[c.name] for c in surviving}
    for column in sent_after:
        source = sources.get(column.name)
        if source is not None and source not in sent_before:
            raise Unsupported(f"column {column.name} was virtual, and its values are not sent")
    dropped = tuple(name for name in sent_before if name not in staying)
    return Differences(
        _survivors(before, {source: names[source] for source in staying}),
        after,
        dropped,
        _in_order(
            [(sources[c.name], c.name) for c in surviving if sources[c.name] != c.name],
            set(sent_before) - set(dropped),
        ),
        tuple(c for c in sent_after if c.name not in sources),
        tuple((sent_before[sources[c.name]], c) for c in surviving),
    )


def _survivors(table: Table, names: Mapping[str, str]) -> Table:
    columns = tuple(replace(c, name=names[c.name]) for c in table.columns if c.name in names)
    indexes = tuple(
        replace(index, columns=tuple(names[c] for c in index.columns))
        for index in table.indexes
        if set(index.columns) <= names.keys()
    )
    whole = set(table.handle_key) <= names.keys()
    key = tuple(names[c] for c in table.handle_key) if whole else ()
    return replace(table, columns=columns, indexes=indexes, handle_key=key)


def _in_order(pairs: list[tuple[str, str]], used: set[str]) -> tuple[tuple[str, str], ...]:
    """Renames such that each finds its new name free."""
    ordered, circle = _free_first(pairs, used)
    if circle:
        raise Unsupported(
            f"columns change their names in a circle: {', '.join(n for _, n in circle)}"
        )
    return tuple(ordered)


@dataclass(frozen=True, slots=True)
class IndexChanges:
    dropped: tuple[str, ...]
    created: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...] = ()


def index_changes(
    before: Iterable[str], old: Mapping[str, object], new: Mapping[str, object]
) -> IndexChanges:
    """`before` are all names before; `old` and `new` what the surviving and the new indexes are.
    Each of `renamed` finds its new name free."""
    used = set(before)
    dropped = [name for name in before if old.get(name) != new.get(name) or name not in new]
    created = [name for name in new if name in dropped or name not in old]
    renamed = []
    for name in list(dropped):
        same = [other for other in created if name in old and new[other] == old[name]]
        if same and same[0] != name:
            renamed.append((name, same[0]))
            dropped.remove(name)
            created.remove(same[0])
    ordered, circle = _free_first(renamed, used - set(dropped))
    dropped += [name for name, _ in circle]
    created += [name for _, name in circle]
    return IndexChanges(tuple(dropped), tuple(created), tuple(ordered))


def _free_first(
    pairs: Sequence[tuple[str, str]], used: set[str]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Renames such that each finds its new name free, and those that are in a circle."""
    left, ordered = list(pairs), list[tuple[str, str]]()
    while free := next((pair for pair in left if pair[1] not in used), None):
        left.remove(free)
        used = (used - {free[0]}) | {free[1]}
        ordered.append(free)
    return ordered, left


def conversions(
    differences: Differences,
    empty: bool,
    convert: Callable[[Column, Column], Conversion] = conversion,
) -> dict[str, Conversion | None]:
    """By the new name of each column whose definition changes its values or may refuse them;
    None if there are no values to convert. Raises `Unsupported`."""
    changed: dict[str, Conversion | None] = {}
    for old, new in differences.modified:
        same = (old.type, old.nullable, old.generated, old.expression) == (
            new.type,
            new.nullable,
            new.generated,
            new.expression,
        )
        if not same:
            changed[new.name] = None if empty else convert(old, new)
    return changed


def initials(
    evolved: Evolved,
    differences: Differences,
    empty: bool,
    commit_ts: int,
    first: Callable[[Column, bool, int], Initial] = initial,
) -> dict[str, Initial]:
    """What existing rows get in new columns. Raises `Unsupported`."""
    if empty:
        return {}
    return {
        column.name: first(column, column.name in evolved.computed, commit_ts)
        for column in differences.added
    }


class TableAlteration(ABC):
    """The work of one ALTER TABLE, in one target's words."""

    conversions: dict[str, Conversion | None]
    initials: dict[str, Initial]

    def __init__(
        self,
        target: "Target",
        schema: str | None,
        name: str,
        evolved: Evolved,
        commit_ts: int,
        references: ReferenceChanges,
    ) -> None:
        self.target, self.schema, self.name = target, schema, name
        self.evolved, self.commit_ts, self.references = evolved, commit_ts, references
        self.differences = differences(evolved)
        self.relation = target.quote(schema, name)

    def alteration(self) -> Alteration:
        """Raises `Stop` for what cannot be done exactly."""
        try:
            self.prepare()
        except Unsupported as refusal:
            raise Unsupported(str(refusal), self._perhaps()) from refusal
        return Alteration(tuple(self.statements()), self.refusals())

    def _perhaps(self) -> tuple[str, ...]:
        """What might do it: the rows that are there are cast as the target does it, and new columns
        have TiDB's zero or NULL. Nothing where the target would refuse that."""
        differences = self.differences
        self.conversions = conversions(differences, False, likely_conversion)
        if not all(
            self.casts(old, new) for old, new in differences.modified if not certain(old, new)
        ):
            return ()
        try:
            self.initials = initials(
                self.evolved, differences, False, self.commit_ts, likely_initial
            )
            refused = any(self.target.execute(query).first() for query, _ in self.refusals())
            return () if refused else tuple(self.statements())
        except Stop:
            return ()

    def casts(self, old: Column, new: Column) -> bool:
        """Whether the target casts every value of the one type to the other."""
        return True

    def prepare(self) -> None:
        """Raises `Unsupported` for what cannot be done exactly."""
        empty = not self.target.has_rows(self.schema, self.name)
        self.conversions = conversions(self.differences, empty)
        self.initials = initials(self.evolved, self.differences, empty, self.commit_ts)

    @abstractmethod
    def statements(self) -> Iterable[str]: ...

    @abstractmethod
    def quote(self, name: str) -> str:
        """A column's name."""

    def number(self, column: Column) -> str:
        """The expression of a column's value as a number."""
        return self.quote(column.name)

    @abstractmethod
    def characters(self, column: Column) -> str:
        """The expression of a text's length in characters, or a binary value's in bytes."""

    @abstractmethod
    def bytes_of(self, column: Column) -> str:
        """The expression of a text's length in bytes of UTF-8."""

    def refusals(self) -> tuple[tuple[str, str], ...]:
        """The queries for rows that a conversion would not keep, with the names before."""
        queries = []
        for old, new in self.differences.modified:
            converted = self.conversions.get(new.name)
            for refused in converted.refused if converted else ():
                condition = self._condition(old, refused)
                queries.append(
                    (
                        f"SELECT 1 FROM {self.relation} WHERE {condition} LIMIT 1",  # noqa: S608
                        f"column {new.name}: there are values that its new definition cannot hold "
                        "as they are, and what TiDB made of them is not sent",
                    )
                )
        return tuple(queries)

    def _condition(self, column: Column, refused: Condition) -> str:
        match refused:
            case Below(least):
                return f"{self.number(column)} < {least}"
            case Above(greatest):
                return f"{self.number(column)} > {greatest}"
            case Longer(length):
                return f"{self.characters(column)} > {length}"
            case LongerInBytes(length):
                return f"{self.bytes_of(column)} > {length}"
            case IsNull():
                return f"{self.quote(column.name)} IS NULL"
