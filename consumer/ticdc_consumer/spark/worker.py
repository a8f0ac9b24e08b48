"""What a Python worker of Spark does before each task of ours."""

import gc
import sys
from collections.abc import Callable, Iterator

import pyarrow as pa

Batches = Iterator[pa.RecordBatch]

_modules = 0
"""How many were imported when they were last taken from the collector."""


def in_worker(run: Callable[[Batches], Batches], batches: Batches) -> Batches:
    """What a task runs, for `mapInArrow`.

    A worker collects garbage after every task (`pyspark/daemon.py`). To walk over what the imported
    modules hold takes 30 ms of a core, more than most tasks do; so they are frozen.
    """
    global _modules
    if len(sys.modules) != _modules:
        gc.freeze()
        _modules = len(sys.modules)
    return run(batches)
