"""Reads the next batch of a chunk while the target takes the previous one."""

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa


def read_ahead(batches: Iterator[list[pa.Array]]) -> Generator[list[pa.Array]]:
    """Yields the same batches, each read by a separate thread before it is asked for. Raises a read
    error at its batch. Once this iterator is closed, reading stops."""
    with ThreadPoolExecutor(1, "ticdc-load-read") as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch
