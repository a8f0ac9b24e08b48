"""Which stage binds as a Spark cluster grows, on one machine.

    python bench/cluster.py [--workers 1,2,4] [--share 0.2] [--changes 200000]
                            [--target postgresql] [--publish driver,staging]

Needs root, KAFKA_BOOTSTRAP and the target's URL. Spark's standalone cluster has so many workers of
one core. Once all run, a control group (version 1) limits each, with its executor and Python, to a
share of a core: driver, brokers and target have what is left. The workers' shares must leave them
enough: on a machine that is busy the figures are those of its other work. Beside each is what
`orjson.loads` alone took of the same messages then, and the load average.

For each number of workers: changes/s; the CPU of all workers and of the driver, in us a change; how
long cuts were read and loaded, at the same time; and how much of their share the workers used. What
took longer binds: reading, or the driver with its target. docs/explanation/performance.md has the
same for clusters that are not here, computed.
"""

import argparse
import os
import signal
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from servers import kafka, target_url
from support.standalone_cluster import Cluster, cluster
from throughput import check, load, options, parsed
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.spark.session import session, warm_up
from ticdc_consumer.targets import open_target
from ticdc_consumer.waiting import patiently, until
from ticdc_encoder.kafka.produce import produce
from workload import SCHEMA, Workload

LIMITS, ACCOUNTS = (Path("/sys/fs/cgroup") / name for name in ("cpu", "cpuacct"))
"""Version 1's controllers: one folder, or two."""
PERIOD = 20_000
"""Microseconds in which a group may use its share: short, so that tasks are slow, not stopped."""

PATIENCE = 240.0
"""Seconds for a worker's executor to begin, or to be gone."""

HEADER = (
    "workers publish   changes/s | us a change: workers driver orjson.loads | s: read load | "
    "used, binds"
)


@dataclass(frozen=True)
class Round:
    """`cpu` in us a change by `workers` and `driver`; `used` is the part of the workers' share."""

    wall: float
    seconds: dict[str, float]
    cpu: dict[str, float]
    used: float


class Limited:
    """Control groups, one for each worker."""

    def __init__(self) -> None:
        self._tops = {LIMITS.resolve(), ACCOUNTS.resolve()}
        self._groups: list[str] = []

    def add(self, process: int) -> None:
        """With all that it starts from now on."""
        name = f"ticdc-bench-{os.getpid()}-{len(self._groups)}"
        self._groups.append(name)
        for top in self._tops:
            group = top / name
            group.mkdir()
            (group / "cgroup.procs").write_text(str(process))

    @contextmanager
    def limit(self, share: float) -> Iterator[None]:
        """Each has no more than that share of a core."""
        groups = [LIMITS / name for name in self._groups]
        for group in groups:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(round(PERIOD * share)))
        yield
        for group in groups:
            (group / "cpu.cfs_quota_us").write_text("-1")

    def used(self) -> float:
        """Seconds of CPU until now."""
        files = (ACCOUNTS / name / "cpuacct.usage" for name in self._groups)
        return sum(int(file.read_text()) for file in files) / 1e9

    def close(self) -> None:
        for name in self._groups:
            for top in self._tops:
                for process in (top / name / "cgroup.procs").read_text().split():
                    os.kill(int(process), signal.SIGKILL)
                patiently((top / name).rmdir, PATIENCE, OSError)


@contextmanager
def limited(folder: Path, workers: int) -> Iterator[tuple[Cluster, Limited]]:
    groups = Limited()
    with cluster(folder / "cluster", 0) as running:
        try:
            for _ in range(workers):
                groups.add(running.add_worker())
            yield running, groups
        finally:
            running.kill_workers()
            groups.close()


def round_(settings: Settings, workers: int, share: float, changes: int) -> Round:
    """Consumes the topic in a process and a JVM of its own."""
    seconds: dict[str, float] = {}
    with TemporaryDirectory() as folder, limited(Path(folder), workers) as (running, groups):
        spark = {
            name.removeprefix("spark__"): str(value)
            for name, value in running.settings.items()
            if name != "spark__from_messages"
        }
        spark["default.parallelism"] = str(workers)
        running_session = session(spark, "cluster")
        assert until(lambda: len(running.executors) == workers, PATIENCE), "no executors"
        warm_up(running_session)
        with Consumer(replace(settings, spark_from_messages=0), running_session) as consumer:
            used, driver, began = groups.used(), time.process_time(), time.monotonic()
            with groups.limit(share):
                for epoch in consumer.epochs(until="caught-up"):
                    for stage, spent in epoch.stages.items():
                        seconds[stage] = seconds.get(stage, 0.0) + spent
                wall = time.monotonic() - began
            of_workers = groups.used() - used
            cpu = {"workers": of_workers, "driver": time.process_time() - driver}
        running_session.stop()
    micro = {kind: spent / changes * 1e6 for kind, spent in cpu.items()}
    return Round(wall, seconds, micro, of_workers / wall / share / workers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--changes", type=int, default=200_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--target", default="postgresql")
    parser.add_argument("--publish", default="driver,staging")
    arguments = parser.parse_args()
    arguments.protocol, arguments.cut = "canal-json", arguments.changes // 4
    workload = Workload(arguments.rows, arguments.changes)
    with kafka() as broker:
        topic = broker.create_topic("cluster", 4)
        messages = list(workload.messages(topic, "canal-json", 4))
        produce(messages, {**broker.config, "linger.ms": "20"})
        values = [each.value for each in messages[:50_000] if each.value]
        print(HEADER)
        for workers in map(int, arguments.workers.split(",")):
            for publish in arguments.publish.split(","):
                done, equal = measure(workload, broker.config, topic, workers, publish, arguments)
                print(line(workers, publish, done, arguments.changes, equal, parsed(values)))


def measure(
    workload: Workload,
    config: Mapping[str, str],
    topic: str,
    workers: int,
    publish: str,
    arguments: argparse.Namespace,
) -> tuple[Round, bool]:
    """And whether the tables equal the truth."""
    with target_url(arguments.target) as url, closing(open_target(url)) as target:
        load(target, workload, SCHEMA)
        settings = options(url, topic, config, arguments)
        if publish == "staging":
            settings = replace(settings, publish="staging")
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            share, changes = arguments.share, arguments.changes
            done = alone.submit(round_, settings, workers, share, changes).result()
        return done, check(target, workload, SCHEMA)


def line(workers: int, publish: str, done: Round, changes: int, equal: bool, parsing: float) -> str:
    read, loaded = (done.seconds.get(stage, 0.0) for stage in ("read", "load"))
    binds = "reading" if read > loaded else "driver and target"
    return (
        f"{workers:7} {publish:8} {changes / done.wall:10.0f} | {done.cpu['workers']:20.1f} "
        f"{done.cpu['driver']:6.1f} {parsing:12.1f} | {read:7.1f} {loaded:4.1f} | "
        f"{done.used:4.0%} {binds}; equal {equal}; load average {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
