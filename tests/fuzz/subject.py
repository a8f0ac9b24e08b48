"""One thing that is fuzzed, and the golden messages that its inputs begin with."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fuzz.mutator import Record
from support.golden import Variant, scenario


@dataclass(frozen=True)
class Subject:
    """A corpus, and a function that may raise our errors only."""

    corpus: Sequence[Record]
    run: Callable[[Record], object]


def records(variants: Iterable[Variant], most: int = 60) -> list[Record]:
    """The shortest messages of each variant, and some others."""
    found: list[Record] = []
    for variant in variants:
        those = {(r.key, r.value): None for r in variant.records if len(r.value or b"") < 8000}
        by_size = sorted(those, key=lambda record: len(record[1] or b""))
        found += by_size[:: max(1, len(by_size) // most)]
    return found


def golden_variants(*names: str) -> list[Variant]:
    return [
        scenario(part).variants[name]
        for part in ("types", "keys", "ddl")
        for name in names
        if name in scenario(part).variants
    ]


def text_of(record: Record) -> str:
    return (record[0] or b"").decode("utf-8", "replace")
