"""What no further core helps with: the driver's own work on a large cut, and its transaction.

    python bench/serial.py [--changes 400000] [--tasks 4] [--rounds 3] [--writers 0,1,2,4]
                           [--target postgresql,mariadb,mysql,sqlite]

Needs the URLs of the servers among the targets; no Kafka, no Spark: the facts of a cut are ready,
as its tasks would send them. Measured is what the driver does with them, in microseconds a change:
its CPU, and by the clock. `locked` is from the checkpoint's lock to the end of COMMIT, `serial` all
that the driver does with a cut. By the clock they say how many changes a second any cluster could
apply: goal 3 us, 330,000/s. The tables are compared with the truth.

With 0 writers the driver sends all rows, as with `[target] publish = "driver"`. With 1 or more so
many processes put the tasks' rows into staging tables before (`staged`, by the clock), as with
"staging"; all numbers of writers take turns in each round. The next cut is staged while this one is
published: the slower of `staged` and `serial` counts, `both`. `server` is the CPU that the target's
process, or thread, for the driver's session takes: what `locked` would be on an idle machine, less
the waits for its disk; it is seen where the server runs on this machine.
"""

import argparse
import os
import pickle
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pyarrow as pa
from servers import target_url, verdict
from throughput import check, load, options
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.cut.apply.transaction import apply
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.staging import staged
from ticdc_consumer.cut.read.task import Reading
from ticdc_consumer.cut.reconcile.gathered import of_tasks
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.source.kafka.tasks import KafkaTasks
from ticdc_consumer.source.marks import Span
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.staging import StagingJob
from ticdc_consumer.targets.target import Target
from ticdc_encoder.message import Message
from workload import SCHEMA, START_TS, Workload

GOAL = 3.0
"""Microseconds a change."""
FIRST = 1_000
"""Messages that show the tables' columns."""
ALWAYS = 1 << 62
STAGES = ("unpack", "fold", "split", "delete", "insert", "checkpoint")
"""Of the driver, in their order. `split`: what belongs to which table and pass."""


@dataclass
class Spent:
    """Seconds by stage: of this process's CPU, and by the clock."""

    cpu: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    clock: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def at(self, stage: str) -> Iterator[None]:
        cpu, began = time.process_time(), time.monotonic()
        yield
        self.cpu[stage] += time.process_time() - cpu
        self.clock[stage] += time.monotonic() - began

    def measure(self, stage: str, work: Any) -> Any:
        """The function, measured."""

        def measured(*given: Any) -> Any:
            with self.at(stage):
                return work(*given)

        return measured


def read_job(settings: Settings, tables: TableLayouts, tasks: int) -> ReadJob:
    layouts, shapes = tables.for_tasks()
    partitions = tuple(("bench", number) for number in range(tasks))
    return ReadJob(
        options=settings,
        source=KafkaTasks({}),
        begin=0,
        end=ALWAYS,
        latest=ALWAYS,
        partitions=partitions,
        ends=dict.fromkeys(partitions, ALWAYS),
        joined=frozenset(),
        proof_time=0,
        known_ddls=frozenset(),
        layouts=layouts,
        shapes=shapes,
        most_bytes=0,
    )


def facts_of(job: ReadJob, number: int, messages: list[Message]) -> list[pa.RecordBatch]:
    """What the task of one partition sends."""
    reading = Reading(job, [Span(number, 0, ALWAYS)])
    progress = reading.progress[job.partitions[number]]
    for offset, message in enumerate(messages):
        reading.feed(progress, message.key, message.value, offset, 0)
    return [*reading.fold.flush(), reading.close()]


def learn(settings: Settings, tables: TableLayouts, messages: list[Message]) -> None:
    """Builds the layouts of the tables that the first messages are of."""
    reading = Reading(read_job(settings, tables, 1), [Span(0, 0, ALWAYS)])
    progress = reading.progress["bench", 0]
    for offset, message in enumerate(messages[:FIRST]):
        reading.feed(progress, message.key, message.value, offset, 0)
    for table, deletes_only in reading.report.missing.values():
        tables.add(table, deletes_only)


def warm(_: int) -> None:
    """Imports what a worker of Spark has imported already."""
    time.sleep(0.05)


def staged_facts(job: StagingJob, layouts: tuple[Layout, ...], file: Path) -> list[bytes]:
    """What a task sends that stages its rows."""
    *facts, report = pickle.loads(file.read_bytes())
    return [bytes(packed(batch)) for batch in [*staged(job, layouts, facts), report]]


OS_THREAD = {
    "postgresql": "SELECT pg_backend_pid()",
    "mariadb": "SELECT tid FROM information_schema.processlist WHERE id = CONNECTION_ID()",
    "mysql": "SELECT thread_os_id FROM performance_schema.threads "
    "WHERE processlist_id = CONNECTION_ID()",
}
"""Which thread of the operating system serves this session."""


def server_cpu(target: Target) -> float:
    """Seconds that the server's thread for this session has used; 0 where it cannot be seen."""
    if target.dialect not in OS_THREAD:
        return 0.0
    thread = target.query(OS_THREAD[target.dialect])[0][0]
    stat = Path(f"/proc/{thread}/task/{thread}/stat")
    if not stat.exists():
        return 0.0
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Cut:
    """One cut of a changefeed, of which the driver has everything but what the tasks send."""

    def __init__(
        self, target: Target, settings: Settings, parts: list[list[Message]], folder: Path
    ) -> None:
        self._target, self._settings = target, settings
        self._store = Store(target, settings.changefeed)
        self._store.start(1.0)
        self._store.begin_first(Checkpoint.first(settings, START_TS, {}))
        state = self._store.start(1.0)
        assert state is not None
        self._state = state
        self._tables = TableLayouts(settings, target)
        self._tables.learn(self._store.ledger)
        learn(settings, self._tables, parts[0])
        self._job = read_job(settings, self._tables, len(parts))
        self._files = [folder / str(number) for number in range(len(parts))]
        for number, (file, messages) in enumerate(zip(self._files, parts, strict=True)):
            file.write_bytes(pickle.dumps(facts_of(self._job, number, messages)))
        self._sent: list[pa.Buffer] = []

    def send(self, writers: int) -> float:
        """What the tasks do at last; the seconds that so many processes need to stage the rows."""
        if not writers:
            facts = [pickle.loads(file.read_bytes()) for file in self._files]
            self._sent = [packed(batch) for batches in facts for batch in batches]
            return 0.0
        staging = StagingJob(self._settings.target_url, self._settings.changefeed)
        self._job = replace(self._job, staging=staging)
        layouts = tuple(self._job.layouts)
        with ProcessPoolExecutor(writers, get_context("spawn")) as pool:
            list(pool.map(warm, range(writers * 4)))
            began = time.monotonic()
            several = pool.map(staged_facts, repeat(staging), repeat(layouts), self._files)
            self._sent = [pa.py_buffer(stream) for streams in several for stream in streams]
            return time.monotonic() - began

    def apply(self) -> Spent:
        spent, store, target, old = Spent(), self._store, self._target, self._state
        new = replace(old, resolved_ts=old.resolved_ts + (1 << 40))
        route = self._tables.route
        context = DdlContext.of(self._settings, target, store.ledger, route)
        locked_at = []
        lock = store.lock

        def locked(state: Checkpoint) -> None:
            lock(state)
            locked_at.append(time.monotonic())

        spent.cpu["server"] = -server_cpu(target)
        with spent.at("serial"):
            with spent.at("unpack"):
                tables = [pa.ipc.open_stream(stream).read_all() for stream in self._sent]
                sent = pa.concat_tables(tables, promote_options="default")
            with spent.at("fold"):
                gathered = of_tasks(self._job, sent)
            assert gathered.change is not None and gathered.clash is None
            with ExitStack() as patched, spent.at("apply"):
                for of, name, stage in (
                    (target, "delete", "delete"),
                    (target, "insert", "insert"),
                    (target, "publish", "insert"),
                    (store, "write", "checkpoint"),
                ):
                    measured = spent.measure(stage, getattr(of, name))
                    patched.enter_context(mock.patch.object(of, name, measured))
                patched.enter_context(mock.patch.object(store, "lock", locked))
                apply(context, store, Step(old, new), gathered.change, self._settings)
        spent.clock["locked"] = time.monotonic() - locked_at[0]
        spent.cpu["server"] += server_cpu(target)
        for taken in (spent.cpu, spent.clock):
            inside = sum(taken[stage] for stage in ("delete", "insert", "checkpoint"))
            taken["split"] = taken.pop("apply") - inside
        return spent


def packed(batch: pa.RecordBatch) -> pa.Buffer:
    """As Spark's tasks send it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def shared_out(workload: Workload, tasks: int) -> list[list[Message]]:
    parts: list[list[Message]] = [[] for _ in range(tasks)]
    for message in workload.messages("bench", "canal-json", tasks):
        parts[message.partition].append(message)
    return parts


def row(words: str, seconds: dict[str, float], changes: int, names: tuple[str, ...]) -> str:
    micro = "".join(f"{seconds[name] / changes * 1e6:11.2f}" for name in names)
    return f"{words:32}{micro}"


def summary(spent: Spent, staged_for: float, changes: int, equal: bool) -> str:
    locked, serial = (spent.clock[stage] / changes * 1e6 for stage in ("locked", "serial"))
    micro, cpu = staged_for / changes * 1e6, spent.cpu["serial"] / changes * 1e6
    return (
        f"    staged {micro:.2f} us, locked {locked:.2f} us, serial {serial:.2f} us, both "
        f"{1e6 / max(micro, serial):,.0f}/s; CPU {cpu:.2f} us, goal {GOAL:.0f} us: "
        f"{verdict(cpu <= GOAL)}; server {spent.cpu['server'] / changes * 1e6:.2f} us; "
        f"equal {equal}; load average {os.getloadavg()[0]:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=400_000)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--writers", default="0,1,2,4")
    parser.add_argument("--target", default="postgresql,mariadb,mysql,sqlite")
    arguments = parser.parse_args()
    arguments.protocol, arguments.cut = "canal-json", arguments.changes
    workload = Workload(arguments.rows, arguments.changes)
    parts = shared_out(workload, arguments.tasks)
    names = (*STAGES, "serial")
    print(f"{f'us a change of {arguments.changes:,}':32}" + "".join(f"{n:>11}" for n in names))
    for name in arguments.target.split(","):
        for _ in range(arguments.rounds):
            for writers in map(int, arguments.writers.split(",")):
                if writers == 0 or name != "sqlite":
                    measure(name, writers, workload, parts, arguments)


def measure(
    name: str,
    writers: int,
    workload: Workload,
    parts: list[list[Message]],
    arguments: argparse.Namespace,
) -> None:
    with target_url(name) as url, TemporaryDirectory() as folder:
        target = open_target(url)
        load(target, workload, SCHEMA)
        cut = Cut(target, options(url, "bench", {}, arguments), parts, Path(folder))
        staged_for = cut.send(writers)
        spent = cut.apply()
        equal = check(target, workload, SCHEMA)
        target.close()
    changes, names = arguments.changes, (*STAGES, "serial")
    print(row(f"{name}, {writers} writers, CPU", spent.cpu, changes, names))
    print(row(f"{name}, {writers} writers, clock", spent.clock, changes, names))
    print(summary(spent, staged_for, changes, equal), flush=True)


if __name__ == "__main__":
    main()
