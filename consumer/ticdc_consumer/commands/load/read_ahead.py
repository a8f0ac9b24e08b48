"""The next batch of a chunk is read while the target takes the one before it."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa


def read_ahead(batches: Iterator[list[pa.Array]]) -> Generator[list[pa.Array]]:
    """The same batches, each read by a thread of its own before it is asked for. Raises what
    reading raises, at its batch. Once this iterator is closed, nothing is read any more."""
    with ThreadPoolExecutor(1, "ticdc-load-read") as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch
