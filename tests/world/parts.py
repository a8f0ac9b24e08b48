"""Puts the world's models in the place of the libraries that the consumer reaches the world by."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

from ticdc_consumer import waiting
from ticdc_consumer.commands import run as consumer
from ticdc_consumer.commands.repair import reading
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut import cut_reader, cuts, read_ahead
from ticdc_consumer.cut.apply.repair import Repair
from ticdc_consumer.cut.read import staging
from ticdc_consumer.cut.read.fast import reader as fast_readers
from ticdc_consumer.cut.reconcile import chunks
from ticdc_consumer.cut.spark import jobs, spilled
from ticdc_consumer.source.kafka import brokers, client, follower, scout, tasks
from ticdc_consumer.state.repairs import RepairRequest
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import DATABASES as KNOWN
from world import loading
from world.database.session import DATABASES
from world.kafka import Admin, Client
from world.repairing import read_repair
from world.schedule import Threads, quiet

WORLD = loading.WORLD

MONOTONIC, WALL, SLEEP = time.monotonic, time.time, time.sleep


def _monotonic() -> float:
    return float(WORLD[-1].scheduler.now) if WORLD else MONOTONIC()


def _wall() -> float:
    if not WORLD:
        return WALL()
    return float(WORLD[-1].scheduler.now + WORLD[-1].scheduler.jump)


def _sleep(seconds: float) -> None:
    if WORLD and WORLD[-1].scheduler.is_here():
        WORLD[-1].scheduler.sleep(seconds)
    else:
        SLEEP(seconds)


def _client(*_: object) -> Client:
    return Client(WORLD[-1].brokers)


def _admin(*_: object) -> Admin:
    return Admin(WORLD[-1].brokers)


class NoRecorder:
    """Stands for `ActivityRecorder`, a thread that takes part in no cut."""

    def __init__(self, *_: object) -> None:
        return

    def begin(self) -> None:
        return

    def end(self) -> None:
        return


def _job() -> Any:
    """That of the task that runs."""
    jobs = WORLD[-1].scheduler.current.jobs
    return jobs[-1] if jobs else None


def _read_repair(options: Settings, store: Store, request: RepairRequest, end: int) -> Repair:
    history = WORLD[-1]
    consumer = history.consumers[history.scheduler.current]
    is_away = history.scheduler.rng.random() < 0.3
    return read_repair(history.upstream, consumer._tables, request, end, is_away)


def _wait_for(works: list[Any]) -> None:
    for work in works:
        work.run()


@contextmanager
def replaced() -> Iterator[None]:
    """Inside, consumers live in the history that runs."""
    uniform = SimpleNamespace(uniform=lambda low, high: WORLD[-1].scheduler.rng.uniform(low, high))
    parts: list[tuple[object, str, object]] = [
        (time, "monotonic", _monotonic),
        (time, "time", _wall),
        (time, "sleep", _sleep),
        (waiting, "random", uniform),
        (scout, "Consumer", _client),
        (follower, "Consumer", _client),
        (client, "Consumer", _client),
        (tasks, "_consumer", _client),
        (brokers, "AdminClient", _admin),
        (read_ahead, "ThreadPoolExecutor", lambda *_, **__: Threads(WORLD[-1].scheduler)),
        (read_ahead, "wait_for", _wait_for),
        (jobs, "F", SimpleNamespace(xxhash64=lambda *columns: columns)),
        (jobs, "TaskContext", SimpleNamespace(get=_job)),
        (reading, "read_repair", _read_repair),
        *loading.PARTS,
        (consumer, "ActivityRecorder", NoRecorder),
        (consumer, "watched", nullcontext),
        (consumer, "_release", lambda: "world"),
    ]
    with mock.patch.dict(KNOWN, DATABASES), quiet():
        patches = [mock.patch.object(*part) for part in parts]
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in reversed(patches):
                patch.stop()


@contextmanager
def without_driver() -> Iterator[None]:
    """Inside, what reads the upstream for a repair cannot be imported."""
    with mock.patch.dict(sys.modules, {reading.__name__: None}):
        yield


LIMITS: dict[str, tuple[ModuleType, ...]] = {
    "SMALL": (cut_reader,),
    "LEAST_SPAN": (cuts,),
    "FEW": (cuts,),
    "FIRST_MESSAGES": (cuts,),
    "LAST_ROWS": (cuts,),
    "FAR_BEHIND": (scout,),
    "FAR": (scout,),
    "MOST_BYTES": (scout, follower),
    "CHUNK_ROWS": (chunks,),
    "CHUNK_BYTES": (chunks,),
    "STEP_BYTES": (spilled,),
    "LEAST_ROWS": (staging,),
}
"""The modules' own limits that a history may change."""


@contextmanager
def unlearned() -> Iterator[None]:
    """No fast reader has learned anything, whatever was played before."""
    with mock.patch.dict(fast_readers._last_readers, clear=True):
        yield


@contextmanager
def limited(limits: dict[str, int]) -> Iterator[None]:
    """With other limits, so that few messages are many."""
    with ExitStack() as stack:
        for name, limit in limits.items():
            for module in LIMITS[name]:
                stack.enter_context(mock.patch.object(module, name, limit))
        yield
