"""Chunks that Spark's fold sends to the driver: pieces of payloads, and counts."""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import pyarrow as pa

CHUNK_ROWS = 10_000
"""The most payloads of a piece."""
CHUNK_BYTES = 4 << 20
"""The approximate most bytes of a piece."""


class ChunkKind(IntEnum):
    """The content of a chunk. The two passes of a load are not negative, and the first comes first:
    all deletes of a cut are applied before its first row."""

    DELETES = 0
    """Keys to delete: a packed column of payloads."""
    ROWS = 1
    """Rows to write: a packed column of payloads."""
    REPORT = -1
    """A task's report, as JSON."""
    CLASH = -2
    """A `Clash`, as text."""
    DUPLICATES = -3
    """`count` facts of `table` that were sent more than once."""
    TAKEN = -4
    """`count` facts of all tables that arrived at the fold."""


CHUNKS = pa.schema(
    [
        pa.field("step", pa.int64()),
        pa.field("pass", pa.int32()),
        pa.field("table", pa.int32()),
        pa.field("count", pa.int32()),
        pa.field("payload", pa.binary()),
    ]
)
"""`pass` is a `ChunkKind`. `step` is the commit_ts if steps are kept apart, else 0; `table` is an
index into the job's layouts; `count` is the number of payloads, or the count of that kind."""


class Clash(NamedTuple):
    """Two present facts of one key and commit_ts with different rows; each is given by the number
    of its partition in the job, and its offset."""

    table: int
    commit_ts: int
    first: tuple[int, int]
    second: tuple[int, int]

    def to_bytes(self) -> bytes:
        return ",".join(map(str, (self.table, self.commit_ts, *self.first, *self.second))).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> "Clash":
        table, commit_ts, *ends = (int(part) for part in text.split(b","))
        return cls(table, commit_ts, (ends[0], ends[1]), (ends[2], ends[3]))


def pieces(payloads: pa.ChunkedArray) -> Iterator[pa.Array]:
    """Yields the payloads in pieces of at most CHUNK_ROWS and about CHUNK_BYTES. Small chunks share
    a piece: the target gets one piece at a time."""
    small: list[pa.Array] = []
    rows = size = 0
    for part in _parts(payloads):
        if small and (rows + len(part) > CHUNK_ROWS or size + part.nbytes > CHUNK_BYTES):
            yield _joined(small)
            small, rows, size = [], 0, 0
        small.append(part)
        rows, size = rows + len(part), size + part.nbytes
    if small:
        yield _joined(small)


def _parts(payloads: pa.ChunkedArray) -> Iterator[pa.Array]:
    for array in payloads.chunks:
        start = 0
        while start < len(array):
            part = array.slice(start, CHUNK_ROWS)
            if part.nbytes > CHUNK_BYTES:
                part = array.slice(start, max(1, len(part) * CHUNK_BYTES // part.nbytes))
            yield part
            start += len(part)


def _joined(parts: Sequence[pa.Array]) -> pa.Array:
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def payload_chunk(step: int, kind: ChunkKind, table: int, payloads: pa.Array) -> pa.RecordBatch:
    """Returns a batch of CHUNKS with one piece of payloads."""
    return _batch(step, kind, table, len(payloads), pack(payloads))


def note_chunk(kind: ChunkKind, table: int, count: int = 0, text: bytes = b"") -> pa.RecordBatch:
    """Returns a batch of CHUNKS outside the net change."""
    return _batch(0, kind, table, count, text)


def _batch(step: int, kind: ChunkKind, table: int, count: int, payload: bytes) -> pa.RecordBatch:
    values: list[list[object]] = [[step], [int(kind)], [table], [count], [payload]]
    return pa.RecordBatch.from_arrays(
        [pa.array(v, f.type) for v, f in zip(values, CHUNKS, strict=True)], schema=CHUNKS
    )


def pack(payloads: pa.Array) -> bytes:
    """Returns an Arrow stream of one column."""
    batch = pa.RecordBatch.from_arrays([payloads], names=["payload"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpack(payload: bytes) -> pa.Array:
    """Returns the column that `pack` packed."""
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_all()["payload"].combine_chunks()
