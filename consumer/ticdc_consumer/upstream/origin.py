"""The origin of a load's rows: the upstream itself, or files that Dumpling wrote."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

import pyarrow as pa
from ticdc_encoder.event import Table

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop
from ticdc_consumer.source.storage.files import Files
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.upstream.chunks import Chunk, chunks
from ticdc_consumer.upstream.dump.contents import (
    DumpContents,
    contents,
    dumped_at,
    require_time_zone,
)
from ticdc_consumer.upstream.dump.lines import lines_of
from ticdc_consumer.upstream.dump.pieces import Piece, PieceReader, pieces
from ticdc_consumer.upstream.dump.rows import DumpSettings
from ticdc_consumer.upstream.dump.rows import batches as batches_of_dump
from ticdc_consumer.upstream.rows import AT_ONCE, batches
from ticdc_consumer.upstream.session import UpstreamSession, reading, upstream_url
from ticdc_consumer.upstream.snapshot import current_ts, pinned, require_kept
from ticdc_consumer.upstream.tables import Defined, names, tables

SAMPLE = 200
"""Rows of a table from which its row size is estimated."""
MOST_ROWS = 100_000
"""Most rows of a chunk, however small they are."""

StoredChunk = tuple[str, int]
"""A chunk as JSON, and its number of rows: for a dump approximate."""


Cut = Callable[[Table, int], list[StoredChunk]]
"""Cuts a table in chunks of about so many bytes."""


class Contents(NamedTuple):
    """The tables to load, the names of the views, which are not, and a function that cuts
    tables."""

    tables: Sequence[Defined]
    views: Sequence[TableName]
    cut: Cut


class ChunkReader(Protocol):
    """Reads chunks, for one task."""

    def batches(self, table: Table, stored: str, snapshot_ts: int) -> Iterator[list[pa.Array]]:
        """Yields the rows of a chunk that `Contents.cut` made, as of the timestamp: arrays of
        canonical values (`targets.layout`) for each column of `tables.sent`."""

    def close(self) -> None: ...


class Origin(Protocol):
    """The origin of rows; pickled to Spark's tasks."""

    def require(self, at: int | None) -> int | None:
        """The only timestamp that can be loaded, if there is just one, or `at`. Raises `Stop` if
        the two differ."""

    def snapshot(self, at: int | None) -> int:
        """The timestamp to load: `at`, or the present. Raises `Stop` if it cannot be read."""

    def keeping(self, snapshot_ts: int) -> AbstractContextManager[None]:
        """Keeps the contents as of the timestamp. Raises `Stop` if the origin has another one."""

    def contents(self, options: Settings, snapshot_ts: int) -> Contents: ...

    def reader(self) -> ChunkReader: ...


def origin_of(options: Settings) -> Origin:
    """The origin `[source] dump` or `upstream`. Raises `Usage` if neither is set."""
    if options.dump_url is None:
        return FromUpstream(upstream_url(options))
    return FromDump(
        options.dump_url, DumpSettings(options.dump_csv, options.dump_time_zone or "UTC")
    )


# --- the upstream ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FromUpstream:
    """The TiDB of a URL."""

    url: str = field(repr=False)

    def require(self, at: int | None) -> int | None:
        return at

    def snapshot(self, at: int | None) -> int:
        with reading(self.url) as session:
            now = current_ts(session)
            if at is not None and at > now:
                raise Stop(f"--at {at} is not there yet: the upstream is at {now}")
            require_kept(session, at or now)
        return at or now

    def keeping(self, snapshot_ts: int) -> AbstractContextManager[None]:
        return pinned(self.url, snapshot_ts)

    def contents(self, options: Settings, snapshot_ts: int) -> Contents:
        with reading(self.url, snapshot_ts) as session:
            of_filter = list(tables(session, options))
            views = names(session, options, "VIEW")
        return Contents(of_filter, views, partial(self.cut, snapshot_ts))

    def reader(self) -> ChunkReader:
        return _UpstreamReader(UpstreamSession.open(self.url))

    def cut(self, snapshot_ts: int, table: Table, size: int) -> list[StoredChunk]:
        """Chunks of a table as of the timestamp."""
        with reading(self.url, snapshot_ts) as session:
            of_row = row_size(session, table)
            rows = max(1, min(MOST_ROWS, int(size / of_row))) if of_row else MOST_ROWS
            return [
                (json.dumps(chunk.to_json() | {"bytes": int(chunk.rows * of_row)}), chunk.rows)
                for chunk in chunks(session, table, rows)
            ]


class _UpstreamReader:
    def __init__(self, session: UpstreamSession) -> None:
        self._session = session

    def batches(self, table: Table, stored: str, snapshot_ts: int) -> Iterator[list[pa.Array]]:
        values = json.loads(stored)
        if "key" not in values:
            raise Stop(_BEGUN.format("[source] dump", "set it again"))
        if self._session.snapshot_ts != snapshot_ts:
            self._session.look_at(snapshot_ts)
        chunk = Chunk.from_json(values)
        return batches(self._session, table, chunk, at_once(chunk.rows))

    def close(self) -> None:
        self._session.close()


def row_size(session: UpstreamSession, table: Table) -> float:
    """Bytes of a row, estimated from the first ones; 0 for a table without rows."""
    rows = bytes_ = 0
    for arrays in batches(session, table, Chunk(), most=SAMPLE):
        rows += len(arrays[0])
        bytes_ += sum(array.nbytes for array in arrays)
    return bytes_ / rows if rows else 0.0


# --- a dump ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FromDump:
    """Dumpling's files below a URL."""

    url: str = field(repr=False)
    settings: DumpSettings

    def require(self, at: int | None) -> int | None:
        dumped = dumped_at(self._files())
        if at not in (None, dumped):
            raise Stop(f"[source] dump is of {dumped}: leave --at {at} out, or dump again")
        return dumped

    def snapshot(self, at: int | None) -> int:
        return dumped_at(self._files())

    @contextmanager
    def keeping(self, snapshot_ts: int) -> Iterator[None]:
        dumped = dumped_at(self._files())
        if dumped != snapshot_ts:
            raise Stop(
                f"a load as of {snapshot_ts} is not finished, and [source] dump is of {dumped}: "
                "set it as it was, or give the load up by: ticdc-consumer forget CONFIG"
            )
        yield

    def contents(self, options: Settings, snapshot_ts: int) -> Contents:
        of_filter = contents(self._files(), options)
        defined = [each.defined for each in of_filter.tables.values()]
        for each in defined:
            require_time_zone(options, each)
        return Contents(defined, of_filter.views, partial(self._cut, of_filter))

    def reader(self) -> ChunkReader:
        return _DumpReader(PieceReader(self._files()), self.settings)

    def _cut(self, of_filter: DumpContents, table: Table, size: int) -> list[StoredChunk]:
        dumped = of_filter.tables[table.schema, table.name]
        lines = lines_of(table, dumped.format, self.settings.csv)
        with PieceReader(self._files()) as reader:
            return [
                (json.dumps(piece.to_json()), piece.rows)
                for path, length in dumped.files.items()
                for piece in pieces(reader, path, length, size, lines.ending)
            ]

    def _files(self) -> Files:
        return Files(self.url, "[source] dump")


class _DumpReader:
    def __init__(self, reader: PieceReader, settings: DumpSettings) -> None:
        self._reader, self._settings = reader, settings

    def batches(self, table: Table, stored: str, snapshot_ts: int) -> Iterator[list[pa.Array]]:
        values = json.loads(stored)
        if "file" not in values:
            raise Stop(_BEGUN.format("[source] upstream", "leave dump out"))
        piece = Piece(**values)
        content = self._reader.read(piece)
        return batches_of_dump(table, piece, content, self._settings, at_once(piece.rows))

    def close(self) -> None:
        self._reader.close()


_BEGUN = (
    "the load was begun from {}: {} to continue, or give it up by: ticdc-consumer forget CONFIG"
)


def full_chunks(pending: Iterable[StoredChunk], size: int) -> float:
    """Number of chunks of `size` bytes or `MOST_ROWS` rows that the pending ones would fill."""
    return sum(max(rows / MOST_ROWS, _bytes(stored) / size) for stored, rows in pending)


def _bytes(stored: str) -> int:
    values = json.loads(stored)
    of_piece = values["end"] - values["begin"] if "file" in values else 0
    return int(values.get("bytes", of_piece))


def at_once(rows: int) -> int:
    """Rows of a chunk that are in memory at a time: fewer, the larger they are."""
    return max(1, min(AT_ONCE, rows // 4))
