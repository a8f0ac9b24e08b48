"""The command line: `ticdc-encoder`."""

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. The consumer's command line uses parts of this
    package, and need not wait for its commands."""
    from ticdc_encoder.cli import commands

    return commands.main(argv)
