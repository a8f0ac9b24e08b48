"""A question at the terminal."""

import sys

from ticdc_encoder.errors import visible

from ticdc_consumer.errors import Usage


def require_yes(question: str) -> None:
    """Asks, and raises `Usage` for any answer but yes, and where there is no terminal to ask at."""
    if not sys.stdin.isatty():
        raise Usage("there is no terminal to ask at: say --yes")
    print(f"{visible(question)} [y/N]: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Usage("nothing was done")
