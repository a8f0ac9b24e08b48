"""Readers that prove a message by one regular expression, and leave its row unparsed.

A row that a later change of the same key replaces is never parsed at all. What is not recognised,
byte for byte, as a message like one that the plain decoder has read before in this cut goes to the
plain decoder.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa
from ticdc_encoder.event import Event

from ticdc_consumer.config.options import Options
from ticdc_consumer.read.facts import Shape
from ticdc_consumer.read.fast.canal_json import FastCanal
from ticdc_consumer.read.fast.json import Taken
from ticdc_consumer.read.fast.open_protocol import FastOpen
from ticdc_consumer.targets.layout import Layout


class FastReader(Protocol):
    def take(self, key: bytes | None, value: bytes | None) -> Sequence[Taken] | None:
        """The changes of a message; None where it is not recognised in full."""

    def learn(self, key: bytes | None, value: bytes | None, events: Sequence[Event]) -> None:
        """Shown every message that the plain decoder had to read, with what it gave."""

    def parse(self, layout: Layout, pieces: Sequence[bytes]) -> Sequence[pa.Array]:
        """Canonical arrays of the pieces, TIMESTAMP as on the wire. Raises WireError."""


class NoFastReader:
    """For protocols without one."""

    def take(self, key: bytes | None, value: bytes | None) -> Sequence[Taken] | None:
        return None

    def learn(self, key: bytes | None, value: bytes | None, events: Sequence[Event]) -> None:
        return

    def parse(self, layout: Layout, pieces: Sequence[bytes]) -> Sequence[pa.Array]:
        raise AssertionError("nothing was taken")


def fast_reader(
    options: Options,
    layouts: Sequence[Layout],
    shapes: Mapping[tuple[str, str], tuple[int, Shape | None]],
    latest: int,
) -> FastReader:
    """The protocol's fast reader. `latest` is the greatest commit_ts that is believed."""
    # To inflate costs more than a fast reader saves.
    if options.compression == "none":
        match options.protocol:
            case "canal-json":
                return FastCanal(layouts, shapes, latest)
            case "open-protocol":
                return FastOpen(layouts, shapes, latest)
    return NoFastReader()
