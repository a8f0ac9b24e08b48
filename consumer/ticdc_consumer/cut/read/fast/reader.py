"""Readers that prove a message by one regular expression, and leave its row unparsed.

A row that a later change of the same key replaces is never parsed at all. A message that is not
recognised, byte for byte, as one like those that the plain decoder has read before, for the same
tables, goes to the plain decoder.
"""

from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Protocol

import pyarrow as pa
from ticdc_encoder.event import Event

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.cut.read.fast.json import FastRun
from ticdc_consumer.protocols import protocol_of
from ticdc_consumer.protocols.shape import TableShapes
from ticdc_consumer.source.records import Records
from ticdc_consumer.targets.layout import Layout

MOST_KEPT = 4_096
"""Forms of messages that are kept from one cut to the next."""


class FastReader(Protocol):
    @property
    def size(self) -> int:
        """How many forms of messages it knows."""

    def begin(self, latest: int) -> None:
        """Begins another cut of the same tables. No commit_ts above `latest` is believed."""

    def take(self, records: Records, start: int, end: int) -> FastRun:
        """Reads the records from `start` on that begin like a known table's rows, at most to `end`;
        none if the first does not."""

    def learn(self, key: bytes | None, value: bytes | None, events: Sequence[Event]) -> None:
        """Called with every message that the plain decoder had to read, and its events."""

    def parse(self, layout: Layout, pieces: Sequence[bytes]) -> Sequence[pa.Array]:
        """Canonical arrays of the pieces, TIMESTAMP as on the wire. Raises WireError."""


class NoFastReader:
    """For protocols without a fast reader: it recognises no message."""

    size = 0

    def begin(self, latest: int) -> None:
        return

    def take(self, records: Records, start: int, end: int) -> FastRun:
        return FastRun(start)

    def learn(self, key: bytes | None, value: bytes | None, events: Sequence[Event]) -> None:
        return

    def parse(self, layout: Layout, pieces: Sequence[bytes]) -> Sequence[pa.Array]:
        raise AssertionError("it reads nothing")


Premises = tuple[ReadSettings, Sequence[Layout], TableShapes]
"""What the forms of a reader follow from, beside the messages. A table that is not to be read has
no layout."""

_last_readers: dict[str, tuple[Premises, FastReader]] = {}
"""The readers of this process' last cuts, by their names; while one is used, it is not here."""


def fast_reader(
    options: ReadSettings,
    layouts: Sequence[Layout],
    shapes: TableShapes,
    latest: int,
) -> FastReader:
    """The protocol's fast reader: the one that was kept, if it was made of the same. `latest` is
    the greatest commit_ts that is believed."""
    name = protocol_of(options).fast_reader
    # To inflate costs more than a fast reader saves.
    if not name or options.compression != "none":
        return NoFastReader()
    premises, reader = _last_readers.pop(name, (None, None))
    if reader is not None and premises == (options, layouts, shapes):
        reader.begin(latest)
        return reader
    new: FastReader = resolve_name(name)(layouts, shapes, latest)
    return new


def keep(
    reader: FastReader, options: ReadSettings, layouts: Sequence[Layout], shapes: TableShapes
) -> None:
    """Keeps what a reader has learned for this process' next cut."""
    name = protocol_of(options).fast_reader
    if name and 0 < reader.size <= MOST_KEPT:
        _last_readers[name] = (options, layouts, shapes), reader
