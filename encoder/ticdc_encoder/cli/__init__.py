"""The command line: `ticdc-encoder`."""

from ticdc_encoder.cli.commands import main

__all__ = ["main"]
