"""Readers that prove a message by one regular expression, and leave its row unparsed.

A row that a later change of the same key replaces is never parsed at all. A message goes to the
plain decoder unless it is recognised, byte for byte, as one like those that the plain decoder has
read before for the same tables.
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
        """The number of known forms of messages."""

    def begin(self, latest: int) -> None:
        """Begins another cut of the same tables. No commit_ts above `latest` is believed."""

    def take(self, records: Records, start: int, end: int) -> FastRun:
        """Reads records from `start` to at most `end` as long as they begin like a known table's
        rows; none if the first does not."""

    def learn(self, key: bytes | None, value: bytes | None, events: Sequence[Event]) -> None:
        """Learns from every message that the plain decoder had to read, and its events."""

    def parse(self, layout: Layout, pieces: Sequence[bytes]) -> Sequence[pa.Array]:
        """Returns canonical arrays of the pieces, TIMESTAMP as on the wire. Raises WireError."""


class NoFastReader:
    """Recognises no message, for protocols without a fast reader."""

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
"""The premises, next to the messages, of a reader's forms. A table that is not read has no
layout."""

_last_readers: dict[str, tuple[Premises, FastReader]] = {}
"""The readers of this process' last cuts, by protocol; a reader in use is not here."""


def fast_reader(
    options: ReadSettings,
    layouts: Sequence[Layout],
    shapes: TableShapes,
    latest: int,
) -> FastReader:
    """Returns the protocol's fast reader: the kept one, if its premises are the same. `latest` is
    the greatest commit_ts that is believed."""
    name = protocol_of(options).fast_reader
    # Inflating costs more than a fast reader saves.
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
    """Keeps a reader's knowledge for this process' next cut."""
    name = protocol_of(options).fast_reader
    if name and 0 < reader.size <= MOST_KEPT:
        _last_readers[name] = (options, layouts, shapes), reader
