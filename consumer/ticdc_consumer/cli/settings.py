"""What `settings` prints: each setting with its type, default and allowed values."""

from collections.abc import Sequence
from dataclasses import asdict

from ticdc_consumer.config.reference import Described, settings
from ticdc_consumer.config.suggesting import did_you_mean
from ticdc_consumer.errors import Usage


def named(name: str) -> list[Described]:
    """Those of a section, or one by its name; all for "". Raises `Usage` if there is none."""
    known = settings()
    matching = [
        each for each in known if name in ("", each.name) or each.name.startswith(f"{name}.")
    ]
    if not matching:
        names = {part for each in known for part in (each.name, each.name.partition(".")[0])}
        raise Usage(f"there is no setting {name}{did_you_mean(name, sorted(names))}")
    return matching


def as_text(described: Sequence[Described]) -> str:
    """For people: a name, and under it what it is for and what it may be."""
    blocks = [f"{each.name}\n    {each.help}\n    {each.values}" for each in described]
    return "\n".join(blocks)


def as_json(described: Sequence[Described]) -> dict[str, object]:
    """For programs."""
    return {"settings": [{**asdict(each), "variable": each.variable} for each in described]}
