"""Readers that find a change's key and commit_ts by searching bytes.

What they do not recognise, byte for byte, as a message like one that the plain decoder has read
before in this cut goes to the plain decoder.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa
from ticdc_encoder.event import Event

from ticdc_consumer.facts import Key, Shape
from ticdc_consumer.options import Options
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.zone import Zone

Taken = tuple[int, int, Key | None, bytes | None, Key | None]
"""Table number, commit_ts, the key that is present, the piece that holds its row, the key that is
absent."""


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
    zone: Zone,
) -> FastReader:
    return NoFastReader()
