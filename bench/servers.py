"""The servers that the benchmarks run against, named by the environment as the tests' are."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

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


def verdict(is_met: bool) -> str:
    """What follows a goal."""
    return "met" if is_met else "not met"
