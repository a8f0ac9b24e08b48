"""The name that a misspelt one may stand for."""

from collections.abc import Iterable
from functools import cache


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """The end of a sentence about an unknown name; empty if no known one is like it."""
    from difflib import get_close_matches  # what is spelt right waits for none of this

    near = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]}?" if near else ""


@cache
def known_settings(client: str) -> frozenset[str]:
    """The settings of "librdkafka" or "spark", as far as they are listed beside this module."""
    from importlib.resources import files

    return frozenset(
        files("ticdc_consumer.config").joinpath(f"{client}_settings.txt").read_text().split()
    )
