"""Plays histories on real parts, one after the other: a new database for each, in turn of every
kind that the environment names."""

import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any

from support.databases import fresh_database
from world.history import Plan
from world.real import can_be_real, play, spark_session

TARGETS = {
    "postgresql": "POSTGRES_URL",
    "sqlite": None,
    "mariadb": "MARIADB_URL",
    "mysql": "MYSQL_URL",
    "tidb": "TIDB_URL",
}
WITH_SPARK = 4
"""One history of so many has its consumers in this process, beside a Spark."""


@contextmanager
def _database(variable: str | None) -> Iterator[str]:
    if variable is not None:
        with fresh_database(os.environ[variable]) as url:
            yield url
        return
    with tempfile.TemporaryDirectory(prefix="world-") as folder:
        yield f"sqlite:///{folder}/{Path(folder).name}.db"


def search(planned: Callable[[int], Plan], first: int, number: int) -> int:
    """Plays so many; prints those that end otherwise than the model's, and what was done."""
    bootstrap = os.environ.get("KAFKA_BOOTSTRAP")
    if not bootstrap:
        print("KAFKA_BOOTSTRAP names no Kafka: tests/services/services up kafka")
        return 2
    targets = [name for name, variable in TARGETS.items() if not variable or variable in os.environ]
    different, covered, begun = 0, Counter[str](), time.monotonic()
    seeds = (seed for seed in count(first) if can_be_real(planned(seed)))
    with spark_session() if number >= WITH_SPARK else nullcontext() as spark:
        for turn, seed in enumerate(seeds):
            if turn == number:
                break
            target = targets[turn % len(targets)]
            with_spark: Any = spark if turn % WITH_SPARK == WITH_SPARK - 1 else None
            with _database(TARGETS[target]) as url:
                played = play(planned(seed), url, bootstrap, with_spark)
            covered.update(played.done)
            covered.update({target: 1, "stops": played.stopped, "Spark": with_spark is not None})
            if played.different:
                different += 1
                print(f"SEED={seed} on {target}: {played.different}", flush=True)
            elif sys.stdout.isatty():
                print(f"seed {seed} on {target}: the same", flush=True)
    spent = time.monotonic() - begun
    print(f"{number} histories in {spent:.0f} s, {different} otherwise than the model's")
    print(", ".join(f"{what}: {times:,}" for what, times in sorted(covered.items())))
    return 1 if different else 0
