"""Copies chunks of tables into the target, in separate sessions, each chunk in one transaction with
its note. Used in Spark's tasks and in the driver."""

from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field

import pyarrow as pa
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table

from ticdc_consumer import failpoints
from ticdc_consumer.commands.load.read_ahead import read_ahead
from ticdc_consumer.errors import Retry, Stop, Unavailable, UnknownCommit
from ticdc_consumer.state.loading import LoadNotes
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import encoders, open_target
from ticdc_consumer.targets.layout import Layout, TableName
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.origin import ChunkReader, Origin
from ticdc_consumer.waiting import backing_off, retried


@dataclass(frozen=True, slots=True)
class CopyJob:
    """The data that all tasks of a load need; pickled for Spark's. `tables` are the upstream's,
    with the layouts of their rows. `beside`: the stream continues, and writes to these tables, too;
    the load began at `snapshot_ts`, and each chunk is as of R - 1."""

    changefeed: str
    snapshot_ts: int
    tables: Mapping[TableName, tuple[Table, Layout]]
    retries: int
    write_source: int | None
    origin: Origin
    target_url: str = field(repr=False)
    beside: bool = False


class Copier:
    """One task's sessions of the origin and the target. Raises their errors, except `Retry` and
    `UnknownCommit`, after which it tries again in new sessions, and finally raises
    `Unavailable`."""

    def __init__(self, job: CopyJob) -> None:
        self._job = job
        self._reader: ChunkReader | None = None
        self._target: Target | None = None

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        if self._target is not None:
            self._target.close()
        self._reader = self._target = None

    def copy(self, name: TableName, number: int) -> int:
        """Loads a chunk, unless another client has; returns its number of rows."""
        try:
            # The chunk's note, which is read first, tells whether a lost COMMIT happened.
            return retried(
                lambda: self._copy(name, number),
                backing_off(self._job.retries),
                on=(Retry, UnknownCommit),
                failed=self._close_failed,
            )
        except (Retry, UnknownCommit) as cause:
            raise Unavailable(
                f"{'.'.join(name)}: a chunk could not be loaded in {self._job.retries + 1} tries, "
                f"last: {cause}; continue with: ticdc-consumer load CONFIG"
            ) from cause

    def _close_failed(self, error: Exception) -> None:
        """Closes the sessions: the next attempt opens its own."""
        with suppress(TicdcError):
            self.close()

    def _copy(self, name: TableName, number: int) -> int:
        job, target, reader = self._job, self._in_target(), self._of_origin()
        notes = LoadNotes(target, job.changefeed)
        table, layout = job.tables[name]
        encode_rows, encode_keys = encoders(layout.dialect)
        with target.transaction():
            as_of = job.snapshot_ts
            if job.beside:
                as_of = locked_ts(Store(target, job.changefeed)) - 1
            stored = notes.locked_chunk(name, number, job.snapshot_ts)
            if stored is None:
                return 0
            rows = 0
            with closing(read_ahead(reader.batches(table, stored, as_of))) as batches:
                for arrays in batches:
                    payloads = encode_rows(layout, arrays).cast(pa.binary())
                    if job.beside:  # the stream may have brought some of them, as they are here
                        keys = [arrays[position] for position in layout.key_positions()]
                        target.delete(layout, encode_keys(layout, keys).cast(pa.binary()))
                    target.insert(layout, payloads, "stop")
                    rows += len(payloads)
                    failpoints.hit("chunk-rows-written")
            notes.loaded(name, number, rows)
            failpoints.hit("chunk-commit")
        failpoints.hit("chunk-committed")
        return rows

    def _in_target(self) -> Target:
        if self._target is None:
            job = self._job
            self._target = open_target(
                job.target_url, write_source=job.write_source, changefeed=job.changefeed
            )
        return self._target

    def _of_origin(self) -> ChunkReader:
        if self._reader is None:
            self._reader = self._job.origin.reader()
        return self._reader


def locked_ts(store: Store) -> int:
    """R, which nobody can move before the transaction ends. Raises `Stop` if the changefeed was
    ended."""
    checkpoint = store.lease.locked_row()
    if checkpoint is None:
        raise Stop(
            f"the checkpoint of changefeed {store.changefeed} was deleted meanwhile (forget)"
        )
    return int(checkpoint.resolved_ts)
