"""ALTER TABLE: the differences between a table's two definitions, as a target sees them.

A target writes its statements from the two definitions, never from the upstream's statement.
Changes that these cannot give exactly raise `Unsupported`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar, get_args

from ticdc_encoder.column import TEXTS, Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.errors import Stop, Unsupported, ValuesNotSent
from ticdc_consumer.targets.layout import ReferenceChanges
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.schema.changes import (
    Above,
    Below,
    Change,
    Condition,
    Fraction,
    IsNull,
    LabelledOneOf,
    Longer,
    LongerInBytes,
    NegativeHalf,
    Unroundable,
)
from ticdc_consumer.targets.schema.conversions import (
    Conversion,
    certain,
    conversion,
    likely_conversion,
)
from ticdc_consumer.targets.schema.create import literal
from ticdc_consumer.targets.schema.generated import computed
from ticdc_consumer.targets.schema.initial import Initial, initial, likely_initial
from ticdc_consumer.targets.target import Target


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences between two definitions. `old` has only surviving columns, by their new
    names. `dropped` has old names, `added` new ones. `renamed` and `modified` are pairs of a column
    before and after."""

    old: Table
    new: Table
    dropped: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    added: tuple[Column, ...]
    modified: tuple[tuple[Column, Column], ...]


def differences(evolved: Evolved) -> Differences:
    """Compares two tables as a target has them. Virtual columns are dropped before the columns that
    they read, and added after them; a virtual column reads none that is behind it."""
    before, after, sources = evolved.before, evolved.after, evolved.sources
    names = {source: name for name, source in sources.items()}
    old = {c.name: c for c in before.columns}
    surviving = [c for c in after.columns if sources.get(c.name) in old]
    staying = {sources[c.name] for c in surviving}
    leaving = [c for n, c in old.items() if n not in staying]
    virtual = [column for column in reversed(leaving) if column.virtual]
    dropped = tuple(c.name for c in (*virtual, *(c for c in leaving if not c.virtual)))
    return Differences(
        _survivors(before, {source: names[source] for source in staying}),
        after,
        dropped,
        _in_order(
            [(sources[c.name], c.name) for c in surviving if sources[c.name] != c.name],
            set(old) - set(dropped),
        ),
        tuple(sorted((c for c in after.columns if c.name not in sources), key=_is_virtual)),
        tuple((old[sources[c.name]], c) for c in surviving),
    )


def _is_virtual(column: Column) -> bool:
    return column.virtual


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
    """Orders renames so that each finds its new name free."""
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
    """Compares indexes. `before` are all old names; `old` and `new` map names to the surviving and
    the new indexes. Each of `renamed` finds its new name free."""
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
    """Orders renames so that each finds its new name free; returns those in a circle separately."""
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
    """Conversions by the new name of each column whose definition changes its values or may refuse
    them; None if there are no values to convert. Raises `Unsupported`."""
    changed: dict[str, Conversion | None] = {}
    for old, new in differences.modified:
        same = (old.type, old.nullable, old.generated, old.expression) == (
            new.type,
            new.nullable,
            new.generated,
            new.expression,
        )
        if not same and not (old.virtual and new.virtual):
            plain = old.virtual == new.virtual
            changed[new.name] = None if empty and plain else convert(old, new)
    return changed


def initials(
    evolved: Evolved,
    differences: Differences,
    empty: bool,
    first: Callable[[Column, bool], Initial] = initial,
) -> dict[str, Initial]:
    """The values of existing rows in new columns. Raises `Unsupported`."""
    if empty:
        return {}
    return {
        column.name: first(column, column.name in evolved.computed)
        for column in differences.added
        if not column.virtual
    }


class TableAlteration(ABC):
    """The work of one ALTER TABLE, in one target's SQL."""

    conversions: dict[str, Conversion | None]
    initials: dict[str, Initial]
    computed: ClassVar[Sequence[type[Change]]] = get_args(Change)
    """The changes that the target can apply to values."""

    def __init__(
        self,
        target: Target,
        schema: str | None,
        name: str,
        evolved: Evolved,
        references: ReferenceChanges,
    ) -> None:
        self.target, self.schema, self.name = target, schema, name
        self.references = references
        self.evolved = self.settled(evolved)
        self.differences = differences(self.evolved)
        self.relation = target.quote(schema, name)

    def settled(self, evolved: Evolved) -> Evolved:
        """Keeps only virtual columns that the target computes. Raises `Unsupported`."""
        return computed(evolved, self.target.writer_of())

    def alteration(self) -> Alteration:
        """Builds the alteration. Raises `Stop` if it cannot be done exactly."""
        try:
            self.prepare()
        except Unsupported as refusal:
            rows = self.target.has_rows(self.schema, self.name)
            raise ValuesNotSent(str(refusal), self._perhaps(), inexact=rows) from refusal
        return Alteration(tuple(self.statements()), self.refusals())

    def _perhaps(self) -> tuple[str, ...]:
        """Statements that may do it: the target casts existing values, and new columns get TiDB's
        most likely values. Empty if the target would refuse that."""
        differences = self.differences
        self.conversions = conversions(differences, False, likely_conversion)
        if not all(
            self.casts(old, new) for old, new in differences.modified if not certain(old, new)
        ):
            return ()
        try:
            self.initials = initials(self.evolved, differences, False, likely_initial)
            refused = any(self.target.execute(query).first() for query, _ in self.refusals())
            return () if refused else tuple(self.statements())
        except Stop:
            return ()

    def casts(self, old: Column, new: Column) -> bool:
        """Returns whether the target casts every value of the one type to the other, and most of
        them as TiDB does."""
        labelled = new.type.name in ("enum", "set") and old.type.name not in TEXTS
        return old.type.binary == new.type.binary and not labelled

    def prepare(self) -> None:
        """Raises `Unsupported` for changes that cannot be done exactly."""
        empty = not self.target.has_rows(self.schema, self.name)
        self.conversions = conversions(self.differences, empty)
        for name, converted in self.conversions.items():
            if converted and not isinstance(converted.change, (*self.computed, type(None))):
                raise Unsupported(f"column {name}: its new values cannot be computed here")
        self.initials = initials(self.evolved, self.differences, empty)

    @abstractmethod
    def statements(self) -> Iterable[str]: ...

    @abstractmethod
    def quote(self, name: str) -> str:
        """Quotes a column's name."""

    def compared(self, column: Column, sign: str, number: int | Decimal) -> str:
        """The condition that a number is less or greater than another."""
        return f"{self.quote(column.name)} {sign} {written(number)}"

    def unroundable(self, column: Column, last: str) -> str:
        """The condition of `Unroundable`, for targets that round."""
        raise Unsupported(f"column {column.name}: its values cannot be searched here")

    def negative_half(self, column: Column, digits: int) -> str:
        """The condition of `NegativeHalf`, for targets that round such values differently."""
        raise Unsupported(f"column {column.name}: its values cannot be searched here")

    def fraction(self, column: Column) -> str:
        """The condition that a time has a fraction of a second."""
        raise Unsupported(f"column {column.name}: its values cannot be searched here")

    @abstractmethod
    def characters(self, column: Column, stripped: bool = False) -> str:
        """The expression of a text's length in characters, or a binary value's in bytes.
        `stripped`: without trailing spaces."""

    @abstractmethod
    def bytes_of(self, column: Column) -> str:
        """The expression of a text's length in bytes of UTF-8."""

    def refused(self, new: Column, conversion: Conversion) -> tuple[Condition, ...]:
        """The refused values, including those that the target itself converts unlike TiDB."""
        return conversion.refused

    def refusals(self) -> tuple[tuple[str, str], ...]:
        """Queries, with the old names, for rows that a conversion would not keep."""
        queries = []
        for old, new in self.differences.modified:
            converted = self.conversions.get(new.name)
            for refused in self.refused(new, converted) if converted else ():
                condition = self._condition(old, refused)
                queries.append(
                    (
                        f"SELECT 1 FROM {self.relation} WHERE {condition} LIMIT 1",  # noqa: S608
                        f"column {new.name}: it has values that its new definition cannot hold "
                        "unchanged, and TiCDC does not send what TiDB made of them",
                    )
                )
        return tuple(queries)

    def _condition(self, column: Column, refused: Condition) -> str:
        match refused:
            case Below(least):
                return self.compared(column, "<", least)
            case Above(greatest):
                return self.compared(column, ">", greatest)
            case Longer(length, stripped):
                return f"{self.characters(column, stripped)} > {length}"
            case Unroundable(last):
                return self.unroundable(column, last)
            case NegativeHalf(digits):
                return self.negative_half(column, digits)
            case Fraction():
                return self.fraction(column)
            case LabelledOneOf(labels):
                return f"{self.quote(column.name)} IN ({', '.join(map(literal, labels))})"
            case LongerInBytes(length):
                return f"{self.bytes_of(column)} > {length}"
            case IsNull():
                return f"{self.quote(column.name)} IS NULL"


def written(number: int | Decimal) -> str:
    """Writes a number so that SQL reads it exactly."""
    return f"{number:f}" if isinstance(number, Decimal) else str(number)
