"""One table of the upstream as of a timestamp, for a DDL whose values TiCDC does not send."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pyarrow as pa
from ticdc_encoder.event import Table

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Retry, Unavailable, UpstreamAway
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.upstream.origin import ChunkReader, FromUpstream, StoredChunk
from ticdc_consumer.upstream.session import reading, upstream_url
from ticdc_consumer.upstream.snapshot import pinned, require_kept
from ticdc_consumer.upstream.tables import defined


@dataclass(frozen=True, slots=True)
class TableAsOf:
    """A `ddl.context.Snapshot`."""

    table: Table
    snapshot_ts: int
    stored: Sequence[StoredChunk]
    reader: ChunkReader

    def chunks(self) -> Iterator[Iterator[list[pa.Array]]]:
        for chunk, _ in self.stored:
            yield self._batches(chunk)

    def _batches(self, chunk: str) -> Iterator[list[pa.Array]]:
        with _away():
            yield from self.reader.batches(self.table, chunk, self.snapshot_ts)


@contextmanager
def table_as_of(options: Settings, name: TableName, snapshot_ts: int) -> Iterator[TableAsOf]:
    """Yields the table, whose rows the upstream keeps until the end. Raises `Stop` for a snapshot
    that it no longer has, or a table that it did not have, and `UpstreamAway`."""
    url = upstream_url(options)
    origin = FromUpstream(url)
    with ExitStack() as stack:
        with _away():
            stack.enter_context(pinned(url, snapshot_ts))
            with reading(url) as session:
                require_kept(session, snapshot_ts)
            with reading(url, snapshot_ts) as session:
                table = defined(session, *name).table
            stored = origin.cut(snapshot_ts, table, options.load_chunk)
            reader = origin.reader()
        stack.callback(reader.close)
        yield TableAsOf(table, snapshot_ts, stored, reader)


@contextmanager
def _away() -> Iterator[None]:
    try:
        yield
    except (Retry, Unavailable) as error:
        raise UpstreamAway(f"{error}; start again when it answers") from error
