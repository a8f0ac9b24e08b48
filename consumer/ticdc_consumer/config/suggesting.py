"""Suggestions for misspelt names."""

from collections.abc import Iterable
from functools import cache


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """The end of a sentence about an unknown name; empty if no known one is similar."""
    from difflib import get_close_matches  # a correctly spelt name does not wait for this

    near = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]}?" if near else ""


@cache
def known_settings(client: str) -> frozenset[str]:
    """Returns the settings of "librdkafka" or "spark" listed next to this module."""
    from importlib.resources import files

    return frozenset(
        files("ticdc_consumer.config").joinpath(f"{client}_settings.txt").read_text().split()
    )
