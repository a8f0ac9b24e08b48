"""Spark's standalone cluster on this machine: a master, and workers of one core that come and go."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyspark
from ticdc_consumer.spark.java import java_home

from support.torture_driver import children

PATIENCE = 60.0
SPARK_HOME = Path(pyspark.__file__).parent


class Cluster:
    """`settings` let a consumer use it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._workers: list[subprocess.Popen[bytes]] = []
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._url = f"spark://127.0.0.1:{self._port}"
        self._master = self._daemon("master", "master.Master", "--port", str(self._port))
        self._until(self._listens)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "spark__master": self._url,
            "spark__driver.host": "127.0.0.1",
            "spark__executor.memory": "512m",
            "spark__executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
            "spark__from_messages": 0,
        }

    def add_worker(self) -> None:
        """A worker of one core, which has room for one executor."""
        name = f"worker{len(self._workers)}"
        words = ["--cores", "1", "--memory", "600m", "--work-dir", str(self._folder / name)]
        self._workers.append(self._daemon(name, "worker.Worker", *words, self._url))
        log = self._folder / f"{name}.log"
        self._until(lambda: "Successfully registered with master" in log.read_text())

    def executors(self) -> list[int]:
        """Their processes."""
        return [pid for pid, words in self._below().items() if "ExecutorBackend" in words]

    def stopped_tasks(self) -> list[int]:
        """Python workers that a failpoint has stopped."""
        return [
            pid for pid, words in self._below().items() if "pyspark" in words and _state(pid) == "T"
        ]

    def await_stopped_tasks(self) -> None:
        self._until(lambda: bool(self.stopped_tasks()))

    def kill_executors(self) -> None:
        """kill -9 of all that there are now; returns once they are gone."""
        executors = self.executors()
        assert executors, "no executor runs"
        _kill(executors)
        self._until(lambda: not set(executors) & set(self.executors()))

    def kill_workers(self) -> None:
        """kill -9 of each with its executors, as where machines are lost."""
        _kill([*(worker.pid for worker in self._workers), *self._below()])
        for worker in self._workers:
            worker.wait()
        self._workers.clear()

    def kill_master(self) -> None:
        self._master.kill()
        self._master.wait()

    def _below(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for worker in self._workers:
            found |= children(worker.pid)
        return found

    def _daemon(self, name: str, of_spark: str, *words: str) -> "subprocess.Popen[bytes]":
        environ = {**os.environ, "SPARK_HOME": str(SPARK_HOME), "JAVA_HOME": str(java_home())}
        environ |= {"SPARK_SCALA_VERSION": "2.13", "SPARK_DAEMON_MEMORY": "256m"}
        begin = [SPARK_HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{of_spark}"]
        host = ["--host", "127.0.0.1", "--webui-port", "0"]
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen([*begin, *host, *words], env=environ, stdout=log, stderr=log)

    def _listens(self) -> bool:
        assert self._master.poll() is None, (self._folder / "master.log").read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
            return True
        return False

    def _until(self, condition: Any) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "the cluster does not get there"
            time.sleep(0.02)


def _kill(processes: list[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _state(process: int) -> str:
    with suppress(OSError):
        text = Path(f"/proc/{process}/stat").read_text()
        return text.rpartition(")")[2].split()[0]
    return ""


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """Its logs are in the folder."""
    folder.mkdir()
    running = Cluster(folder)
    try:
        for _ in range(workers):
            running.add_worker()
        yield running
    finally:
        running.kill_workers()
        running.kill_master()
