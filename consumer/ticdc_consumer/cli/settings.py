"""Output of `settings`: each setting with its type, default and allowed values."""

from collections.abc import Sequence
from dataclasses import asdict

from ticdc_consumer.config.reference import Described, settings
from ticdc_consumer.config.suggesting import did_you_mean
from ticdc_consumer.errors import Usage


def named(name: str) -> list[Described]:
    """The settings of a section, or one by its name; all for "". Raises `Usage` if none match."""
    known = settings()
    matching = [
        each for each in known if name in ("", each.name) or each.name.startswith(f"{name}.")
    ]
    if not matching:
        names = {part for each in known for part in (each.name, each.name.partition(".")[0])}
        raise Usage(f"there is no setting {name}{did_you_mean(name, sorted(names))}")
    return matching


def as_text(described: Sequence[Described]) -> str:
    """Lines for people: a name, and under it its purpose and allowed values."""
    blocks = [f"{each.name}\n    {each.help}\n    {each.values}" for each in described]
    return "\n".join(blocks)


def as_json(described: Sequence[Described]) -> dict[str, object]:
    """A list for programs."""
    return {"settings": [{**asdict(each), "variable": each.variable} for each in described]}
