"""Preparation of Spark's Python workers before each task of ours."""

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

Batches = Iterator[pa.RecordBatch]
Run = Callable[[Batches], Batches]

_modules = 0
"""The number of modules when they were last frozen."""


def in_workers(rows: DataFrame, run: Run, columns: StructType | str) -> DataFrame:
    """Applies `run` to the batches of each task.

    A worker collects garbage after every task (`pyspark/daemon.py`). Scanning the imported modules'
    objects takes 30 ms of a core, more than most tasks do; so they are frozen.
    """
    return rows.mapInArrow(partial(_with_frozen_modules, run), columns)


def _with_frozen_modules(run: Run, batches: Batches) -> Batches:
    global _modules
    if len(sys.modules) != _modules:
        gc.freeze()
        _modules = len(sys.modules)
    return run(batches)
