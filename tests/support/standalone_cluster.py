"""Spark's standalone cluster on this machine: a master, and workers of one core that may die."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyspark
from ticdc_consumer.cut.spark.java import java_home

from support import jvm
from support.ports import free_port
from support.torture_driver import children

PATIENCE = 240.0
SPARK_HOME = Path(pyspark.__file__).parent
JARS = SPARK_HOME / "jars"
CLASS_PATH = f"{SPARK_HOME / 'conf'}:{next(JARS.glob('slf4j-api-*'))}:{JARS / '*'}"
"""That of Spark's scripts, or the JVM does not take the archived classes."""
OPENED = ("java.lang", "java.lang.invoke", "java.net", "java.nio", "java.util", "sun.nio.ch")


class Cluster:
    """With `settings` a consumer uses it for every cut."""

    def __init__(self, folder: Path) -> None:
        """The logs of its processes go to the folder."""
        self._folder = folder
        self._workers: list[subprocess.Popen[bytes]] = []
        self._port = free_port()
        self.url = f"spark://127.0.0.1:{self._port}"
        self._master = self._daemon("master", "master.Master", "--port", str(self._port))
        _until(self._listens)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "spark__master": self.url,
            "spark__driver.host": "127.0.0.1",
            "spark__executor.memory": "512m",
            "spark__executor.extraJavaOptions": " ".join(jvm.options()),
            "spark__executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
            "spark__from_messages": 0,
        }

    def add_worker(self) -> int:
        """One that has room for one executor; returns its process."""
        name = f"worker{len(list(self._folder.glob('worker*.log')))}"
        words = ["--cores", "1", "--memory", "600m", "--work-dir", str(self._folder / name)]
        self._workers.append(self._daemon(name, "worker.Worker", *words, self.url))
        log = self._folder / f"{name}.log"
        _until(lambda: "Successfully registered with master" in log.read_text())
        return self._workers[-1].pid

    @property
    def executors(self) -> list[int]:
        """Their processes."""
        return [pid for pid, words in self._below().items() if "ExecutorBackend" in words]

    def await_stopped_tasks(self) -> None:
        """Returns once a failpoint has stopped a task."""
        _until(lambda: bool(self._stopped_tasks()))

    def continue_tasks(self) -> None:
        """Those that a failpoint has stopped go on."""
        _send(signal.SIGCONT, self._stopped_tasks())

    def kill_executors(self, most: int) -> None:
        """kill -9 of so many, with all that they run; returns once they are gone."""
        killed = self.executors[:most]
        assert len(killed) == most, "there are not so many executors"
        _send(signal.SIGKILL, [*killed, *(pid for each in killed for pid in children(each))])
        _until(lambda: not set(killed) & set(self.executors))

    def kill_workers(self) -> None:
        """kill -9 of each with all that it runs, as where machines are lost."""
        _send(signal.SIGKILL, [*(worker.pid for worker in self._workers), *self._below()])
        for worker in self._workers:
            worker.wait()
        self._workers.clear()

    def close(self) -> None:
        self.kill_workers()
        self._master.kill()
        self._master.wait()

    def _stopped_tasks(self) -> list[int]:
        below = self._below().items()
        return [pid for pid, words in below if "pyspark" in words and _state(pid) == "T"]

    def _below(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for worker in self._workers:
            found |= children(worker.pid)
        return found

    def _daemon(self, name: str, kind: str, *words: str) -> "subprocess.Popen[bytes]":
        """One of Spark's own, started as its scripts start it, but without a JVM before it."""
        environ = {**os.environ, "SPARK_HOME": str(SPARK_HOME), "JAVA_HOME": str(java_home())}
        opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
        begin: list[str | Path] = [java_home() / "bin" / "java", "-cp", CLASS_PATH, *opens]
        kind = f"org.apache.spark.deploy.{kind}"
        host = ["--host", "127.0.0.1", "--webui-port", "0"]
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [*begin, *jvm.options(), "-Xmx256m", kind, *host, *words],
                env={**environ, "SPARK_SCALA_VERSION": "2.13"},
                stdout=log,
                stderr=log,
            )

    def _listens(self) -> bool:
        assert self._master.poll() is None, (self._folder / "master.log").read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
            return True
        return False


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the cluster does not get there"
        time.sleep(0.1)


def _send(number: signal.Signals, processes: Iterable[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def _state(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    folder.mkdir()
    running = Cluster(folder)
    try:
        for _ in range(workers):
            running.add_worker()
        yield running
    finally:
        running.close()
