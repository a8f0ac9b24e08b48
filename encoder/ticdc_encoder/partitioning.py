"""Rows of a partition, as far as the table's definition gives them as values of columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ticdc_encoder.errors import DefinitionError

MOST_PARTITIONS = 8192
"""TiDB's `PartitionCountLimit`."""


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """A value in a partition's definition; `text` is that of a number or a string."""

    kind: Literal["number", "string", "null", "maxvalue", "default"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition. `values` are the bound of VALUES LESS THAN, or the members of VALUES IN; each
    has one value per column. HASH and KEY have none."""

    name: str
    values: tuple[tuple[PartitionValue, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The values in `partitions` are those of `columns`, or of `function` of the one column if it
    is not "".

    It is not `exact` after EXCHANGE PARTITION ... WITHOUT VALIDATION: a partition may then hold any
    row.
    """

    method: Literal["range", "list", "hash", "key"]
    columns: tuple[str, ...]
    function: str
    partitions: tuple[Partition, ...]
    exact: bool = True

    def without(self, names: Iterable[str]) -> "Partitioning":
        """The partitioning without the partitions of these names, in any case."""
        dropped = {name.lower() for name in names}
        rest = tuple(p for p in self.partitions if p.name.lower() not in dropped)
        return replace(self, partitions=rest)

    def with_others(self, old: tuple[str, ...], new: tuple[Partition, ...]) -> "Partitioning":
        """The partitioning with `new` instead of `old`, where the first of `old` is, or at the end
        if none exists.
        """
        names = [partition.name.lower() for partition in self.partitions]
        positions = [names.index(name.lower()) for name in old if name.lower() in names]
        rest = self.without(old).partitions
        at = min(positions) if positions else len(rest)
        return replace(self, partitions=(*rest[:at], *new, *rest[at:]))

    def resized(self, by: int) -> "Partitioning":
        """The partitioning with `by` more partitions (fewer if negative); for HASH and KEY."""
        return replace(self, partitions=numbered(len(self.partitions) + by))


def numbered(number: int) -> tuple[Partition, ...]:
    """The partitions of HASH and KEY: p0, p1 and so on. Raises DefinitionError for too many."""
    if number > MOST_PARTITIONS:
        raise DefinitionError(f"{number} partitions, which are more than {MOST_PARTITIONS}")
    return tuple(Partition(f"p{n}") for n in range(number))


def partitioning_from_json(stored: Mapping[str, Any] | None) -> Partitioning | None:
    """The inverse of `dataclasses.asdict`, after a way through JSON."""
    if stored is None:
        return None
    partitions = tuple(
        Partition(
            partition["name"],
            tuple(tuple(PartitionValue(**v) for v in values) for values in partition["values"]),
        )
        for partition in stored["partitions"]
    )
    whole = {"columns": tuple(stored["columns"]), "partitions": partitions}
    return Partitioning(**{**stored, **whole})
