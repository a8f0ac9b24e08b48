"""Errors of a standard output that nobody reads any more, or that accepts nothing more."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ticdc_encoder.errors import TicdcError

CLOSED = 128 + signal.SIGPIPE
"""Exit code that a shell gives to a command whose reader has left."""
INTERRUPTED = 128 + signal.SIGINT


class OutputClosed(Exception):
    """The reader has left, as with `| head -1`: not an error."""


class OutputError(TicdcError):
    """The standard output cannot be written. Exit 1."""

    exit_code = 1


@contextmanager
def standard_output() -> Iterator[None]:
    """Converts an OSError inside the block to `OutputClosed` or `OutputError`."""
    try:
        yield
    except OSError as error:
        # What is left in the buffer has nowhere to go, and Python would report that at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise OutputClosed from None
        raise OutputError(f"the output cannot be written: {error.strerror}") from None
