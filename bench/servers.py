"""The servers that the benchmarks run against, named by the environment as the tests' are."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import psutil
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support import brokers, databases

URLS = {
    "postgresql": "POSTGRES_URL",
    "mariadb": "MARIADB_URL",
    "mysql": "MYSQL_URL",
    "tidb": "TIDB_URL",
}

Kafka = brokers.Kafka


def kafka() -> AbstractContextManager[Kafka]:
    """The real one at KAFKA_BOOTSTRAP."""
    return brokers.real(os.environ["KAFKA_BOOTSTRAP"])


@contextmanager
def target_url(name: str) -> Iterator[str]:
    """A new, empty database."""
    if name == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/bench.db"
    else:
        with databases.fresh_database(os.environ[URLS[name]]) as url:
            yield url


def cpu_of(url: str) -> float:
    """CPU seconds until now of the server that listens on this machine at the URL's port, with the
    processes that it started; 0 if there is none."""
    port = sa.make_url(url).port
    for listening in psutil.net_connections("tcp"):
        here = listening.status == "LISTEN" and listening.laddr[1:] == (port,)
        if here and listening.pid:
            server = psutil.Process(listening.pid)
            ended = server.cpu_times()
            seconds = ended.children_user + ended.children_system
            for process in (server, *server.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):  # it ended meanwhile
                    times = process.cpu_times()
                    seconds += times.user + times.system
            return float(seconds)
    return 0.0


def verdict(is_met: bool) -> str:
    """What follows a goal."""
    return "met" if is_met else "not met"
