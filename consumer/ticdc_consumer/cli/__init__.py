"""The command line: `ticdc-consumer`."""

from ticdc_consumer.cli.commands import main

__all__ = ["main"]
