"""Test for a terminal that wants colour."""

import os
from typing import TextIO


def wants_colour(stream: TextIO) -> bool:
    """Returns whether the terminal can move its cursor and the user did not set NO_COLOR
    (https://no-color.org).
    """
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in ("", "dumb")
    return stream.isatty() and not plain
