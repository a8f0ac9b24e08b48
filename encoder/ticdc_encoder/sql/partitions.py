"""Which rows a partition holds, as far as its definition says so in values of columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.sql.words import Words


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """`text` is that of a number or a string."""

    kind: Literal["number", "string", "null", "maxvalue", "default"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Partition:
    """`values` are the bound of VALUES LESS THAN, or the members of VALUES IN; each has one value
    per column. A partition of HASH or KEY has none."""

    name: str
    values: tuple[tuple[PartitionValue, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Partitioning:
    """`function` is that of the one column which the values are of, "" for the column itself.

    Not `exact` where a table was exchanged WITHOUT VALIDATION: a partition may then hold any row.
    """

    method: Literal["range", "list", "hash", "key"]
    columns: tuple[str, ...]
    function: str
    partitions: tuple[Partition, ...]
    exact: bool = True

    def without(self, names: Iterable[str]) -> "Partitioning":
        gone = {name.lower() for name in names}
        kept = tuple(p for p in self.partitions if p.name.lower() not in gone)
        return replace(self, partitions=kept)

    def with_others(self, old: tuple[str, ...], new: tuple[Partition, ...]) -> "Partitioning":
        """`new` in the place of `old`, at the end where there is none."""
        names = [partition.name.lower() for partition in self.partitions]
        places = [names.index(name.lower()) for name in old if name.lower() in names]
        rest = self.without(old).partitions
        at = min(places) if places else len(rest)
        return replace(self, partitions=(*rest[:at], *new, *rest[at:]))

    def resized(self, by: int) -> "Partitioning":
        """Of HASH and KEY: with as many partitions more, or less."""
        return replace(self, partitions=_numbered(len(self.partitions) + by))


def from_json(stored: Mapping[str, Any] | None) -> Partitioning | None:
    """What `dataclasses.asdict` and JSON made of it."""
    if stored is None:
        return None
    partitions = tuple(
        Partition(
            partition["name"],
            tuple(tuple(PartitionValue(**v) for v in each) for each in partition["values"]),
        )
        for partition in stored["partitions"]
    )
    whole = {"columns": tuple(stored["columns"]), "partitions": partitions}
    return Partitioning(**{**stored, **whole})


# --- as SQL writes it ----------------------------------------------------------------------------


def partition_by(words: Words) -> Partitioning | None:
    """What follows PARTITION BY, up to the end. None for what is not understood."""
    try:
        found = _partition_by(words)
    except DefinitionError:
        found = None
    whole = words.done() or words.at(";")
    words.skip_to_semicolon()
    return found if whole else None


def _partition_by(words: Words) -> Partitioning:
    for method in _METHODS:
        if words.take(method.upper()):
            break
    else:
        raise DefinitionError("a partitioning that is not known")
    function = ""
    if words.take("COLUMNS") or method == "key":
        columns = tuple(_names(words))
    else:
        words.expect("(")
        columns = (words.identifier(),)
        if words.take("("):
            function = columns[0].lower()
            columns = (words.identifier(),)
            words.expect(")")
        words.expect(")")
    number = words.integer() if words.take("PARTITIONS") else 1
    if words.at("("):
        partitions = definitions(words)
    else:
        partitions = _numbered(number)
        if method in ("range", "list"):
            raise DefinitionError("partitions by interval")
    return Partitioning(method, columns, function, partitions)


_METHODS: tuple[Literal["range", "list", "hash", "key"], ...] = ("range", "list", "hash", "key")


_MOST = 8192
"""TiDB's `PartitionCountLimit`."""


def _numbered(number: int) -> tuple[Partition, ...]:
    if number > _MOST:
        raise DefinitionError(f"{number} partitions, which are more than {_MOST}")
    return tuple(Partition(f"p{n}") for n in range(number))


def _names(words: Words) -> Iterator[str]:
    words.expect("(")
    if not words.at(")"):
        yield words.identifier()
    while words.take(","):
        yield words.identifier()
    words.expect(")")


def definitions(words: Words) -> tuple[Partition, ...]:
    """`(PARTITION p VALUES ..., ...)`."""
    words.expect("(")
    found = []
    while True:
        words.expect("PARTITION")
        name = words.identifier()
        found.append(Partition(name, tuple(_values(words))))
        while not (words.at(",") or words.at(")")):  # COMMENT, ENGINE and so on
            if words.at("("):
                words.parenthesised()
            else:
                words.next()
        if not words.take(","):
            break
    words.expect(")")
    return tuple(found)


def _values(words: Words) -> Iterator[tuple[PartitionValue, ...]]:
    if words.take("DEFAULT"):
        yield (PartitionValue("default"),)
    if not words.take("VALUES"):
        return
    if words.take("LESS", "THAN"):
        if words.take("MAXVALUE"):
            yield (PartitionValue("maxvalue"),)
        else:
            yield _tuple(words)
        return
    words.expect("IN", "(")
    while True:
        yield _tuple(words) if words.at("(") else (_value(words),)
        if not words.take(","):
            break
    words.expect(")")


def _tuple(words: Words) -> tuple[PartitionValue, ...]:
    words.expect("(")
    found = [_value(words)]
    while words.take(","):
        found.append(_value(words))
    words.expect(")")
    return tuple(found)


def _value(words: Words) -> PartitionValue:
    for word, kind in _WORDS.items():
        if words.take(word):
            return PartitionValue(kind)
    if words.at_introducer() or words.kind() == "string":
        return PartitionValue("string", words.string())
    for function, number in _FUNCTIONS.items():
        if words.take(function, "("):
            text = words.string()
            words.expect(")")
            try:
                return PartitionValue("number", str(number(date.fromisoformat(text[:10]))))
            except ValueError:
                raise DefinitionError(f"no date: {text!r}") from None
    sign = "-" if words.take("-") else ""
    text = sign + words.next("number")
    if not text.removeprefix("-").isdecimal():
        raise DefinitionError(f"no integer: {text!r}")
    return PartitionValue("number", text)


_WORDS: dict[str, Literal["maxvalue", "null", "default"]] = {
    "MAXVALUE": "maxvalue",
    "NULL": "null",
    "DEFAULT": "default",
}
# TO_DAYS counts from the year 0.
_FUNCTIONS: dict[str, Callable[[date], int]] = {
    "TO_DAYS": lambda day: day.toordinal() + 365,
    "YEAR": lambda day: day.year,
}
