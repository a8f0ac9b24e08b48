"""PARTITION BY, and the definitions of partitions, as SQL writes them."""

from collections.abc import Callable, Iterator
from datetime import date
from typing import Literal

from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.partitioning import Partition, Partitioning, PartitionValue, numbered
from ticdc_encoder.sql.words import SqlWords


def partition_by(words: SqlWords) -> Partitioning | None:
    """Parses the text after PARTITION BY, up to the end. None if it is not understood."""
    try:
        partitioning = _partition_by(words)
    except DefinitionError:
        partitioning = None
    whole = words.done() or words.at(";")
    words.skip_to_semicolon()
    return partitioning if whole else None


def _partition_by(words: SqlWords) -> Partitioning:
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
        partitions = numbered(number)
        if method in ("range", "list"):
            raise DefinitionError("partitions by interval")
    return Partitioning(method, columns, function, partitions)


_METHODS: tuple[Literal["range", "list", "hash", "key"], ...] = ("range", "list", "hash", "key")


def _names(words: SqlWords) -> Iterator[str]:
    words.expect("(")
    if not words.at(")"):
        yield words.identifier()
    while words.take(","):
        yield words.identifier()
    words.expect(")")


def definitions(words: SqlWords) -> tuple[Partition, ...]:
    """`(PARTITION p VALUES ..., ...)`."""
    words.expect("(")
    partitions = []
    while True:
        words.expect("PARTITION")
        name = words.identifier()
        partitions.append(Partition(name, tuple(_values(words))))
        while not (words.at(",") or words.at(")")):  # COMMENT, ENGINE and so on
            if words.at("("):
                words.parenthesised()
            else:
                words.next()
        if not words.take(","):
            break
    words.expect(")")
    return tuple(partitions)


def _values(words: SqlWords) -> Iterator[tuple[PartitionValue, ...]]:
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


def _tuple(words: SqlWords) -> tuple[PartitionValue, ...]:
    words.expect("(")
    values = [_value(words)]
    while words.take(","):
        values.append(_value(words))
    words.expect(")")
    return tuple(values)


def _value(words: SqlWords) -> PartitionValue:
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
