"""Readers that prove a message by one regular expression, and leave its row unparsed.

A row that a later change of the same key replaces is never parsed at all. A message that is not
recognised, byte for byte, as one like those that the plain decoder has read before in this cut goes
to the plain decoder.
"""

from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Protocol

import pyarrow as pa
from ticdc_encoder.event import Event

from ticdc_consumer.config.reading import ReadOptions
from ticdc_consumer.protocols import protocol_of
from ticdc_consumer.protocols.shape import TableShapes
from ticdc_consumer.read.fast.json import FastRun
from ticdc_consumer.source.records import Records
from ticdc_consumer.targets.layout import Layout


class FastReader(Protocol):
    def take(self, records: Records, start: int, end: int) -> FastRun:
        """Reads the records from `start` on that begin like a known table's rows, at most to `end`;
        none if the first does not."""

    def learn(self, key: bytes | None, value: bytes | None, events: Sequence[Event]) -> None:
        """Called with every message that the plain decoder had to read, and its events."""

    def parse(self, layout: Layout, pieces: Sequence[bytes]) -> Sequence[pa.Array]:
        """Canonical arrays of the pieces, TIMESTAMP as on the wire. Raises WireError."""


class NoFastReader:
    """For protocols without a fast reader: it recognises no message."""

    def take(self, records: Records, start: int, end: int) -> FastRun:
        return FastRun(start)

    def learn(self, key: bytes | None, value: bytes | None, events: Sequence[Event]) -> None:
        return

    def parse(self, layout: Layout, pieces: Sequence[bytes]) -> Sequence[pa.Array]:
        raise AssertionError("it reads nothing")


def fast_reader(
    options: ReadOptions,
    layouts: Sequence[Layout],
    shapes: TableShapes,
    latest: int,
) -> FastReader:
    """The protocol's fast reader. `latest` is the greatest commit_ts that is believed."""
    name = protocol_of(options).fast_reader
    # To inflate costs more than a fast reader saves.
    if name and options.compression == "none":
        reader: FastReader = resolve_name(name)(layouts, shapes, latest)
        return reader
    return NoFastReader()
