"""The demo, and that its reader and its comparison would notice."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa
from support.browser import browser, console, look_at, text_of
from support.ports import free_port
from ticdc_consumer.config.options import Settings
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target
from ticdc_consumer.testing.audit import Audit, ShopTables
from ticdc_consumer.waiting import until
from ticdc_encoder.testing.shop import TABLES, Shop

COMMAND = Path(sys.executable).with_name("ticdc-consumer")


PAIRS = [
    ("simple", "sqlite"),
    ("open-protocol", "postgresql"),
    ("canal-json", "mariadb"),
    ("canal-json", "mysql"),
    ("canal-json", "tidb"),
]
ALL_PAIRS = [*PAIRS, ("canal-json", "sqlite"), ("debezium", "sqlite")]
STARTS = "starting Spark beside the first cuts ([spark] start); this takes some seconds\n"
SIGNALS = [
    (signal.SIGINT, 0.3),
    (signal.SIGTERM, 1.0),
    (signal.SIGINT, 2.0),
    (signal.SIGTERM, 3.5),
]
"""Signal, and seconds after Spark begins to start."""
ALL_SIGNALS = [
    (number, seconds)
    for number in (signal.SIGINT, signal.SIGTERM)
    for seconds in (0.3, 1.0, 2.0, 3.5)
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All of them with `--long`: each demo costs 15 seconds of a processor."""
    long = metafunc.config.getoption("--long")
    if "protocol" in metafunc.fixturenames:
        metafunc.parametrize(("protocol", "target"), ALL_PAIRS if long else PAIRS)
    if "seconds" in metafunc.fixturenames:
        metafunc.parametrize(("number", "seconds"), ALL_SIGNALS if long else SIGNALS)


def test_the_demo_ends_equal_to_its_upstream(
    protocol: str, target: str, request: pytest.FixtureRequest
) -> None:
    target_url: str = request.getfixturevalue(f"{target}_url")
    done = subprocess.run(
        [COMMAND, "demo", "--rows", "3000", "--protocol", protocol, "--target", target_url],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert told[-1].startswith("every table equals the upstream at R = ")
    assert sum("rows, equal to upstream" in line for line in told) == len(TABLES)
    figures = {line[:36].strip(): int(line[36:48].replace(",", "")) for line in told[-14:-1]}
    assert figures["upstream: rows changed"] >= 3000
    assert figures["torn transactions that it saw"] == 0
    assert figures["checks by a second reader"] > 0
    assert figures["read: dropped, duplicates"] > 0


# A shell's background job ignores the signal, and its children do.
HEEDING = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from ticdc_consumer.cli import main; sys.exit(main(['demo', *sys.argv[1:]]))"
)


def test_a_signal_ends_the_demo_anywhere_and_leaves_nothing(
    number: signal.Signals, seconds: float, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HEEDING, "--rows", "100000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        while process.stdout.readline() != "starting Spark ...\n":
            assert process.poll() is None
        time.sleep(seconds)
        started = psutil.Process(process.pid).children(recursive=True)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.terminate()
        try:
            _, said = process.communicate(timeout=300)
        finally:
            process.kill()  # else a process that hangs is waited for
    assert process.returncode == 128 + number
    interrupted = "ticdc-consumer: interrupted; uncommitted changes are rolled back\n"
    assert said.removeprefix(STARTS) == (interrupted if number == signal.SIGINT else "")
    assert psutil.wait_procs(started, timeout=120)[1] == []
    assert [*tmp_path.glob("ticdc-demo-*")] == []


def test_the_demo_shows_its_page_until_ctrl_c() -> None:
    url = f"http://127.0.0.1:{(port := free_port())}/"
    with (
        browser() as chrome,
        subprocess.Popen(
            [sys.executable, "-c", HEEDING, "--page", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None

        def shows_rows() -> bool:
            look_at(chrome, url)
            return "shop.orders" in text_of(chrome, "main")

        try:
            while process.stdout.readline() != f"the page is {url}; Ctrl-C ends the demo\n":
                assert process.poll() is None
            assert until(shows_rows, 300)
            assert (text_of(chrome, "h1"), console(chrome)) == ("demo ready", [])
            process.send_signal(signal.SIGINT)
            told, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, STARTS)
    assert told.splitlines()[-1].startswith("every table equals the upstream at R = ")


def test_the_demo_needs_an_empty_database(sqlite_url: str) -> None:
    opened(sqlite_url)[1].engine.dispose()
    done = subprocess.run(
        [COMMAND, "demo", "--target", sqlite_url], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ticdc-consumer: the demo needs an empty database; ")


def opened(url: str) -> tuple[Settings, ShopTables]:
    """A target with the shop's empty tables and a checkpoint at 1."""
    options = Settings(
        changefeed="demo", protocol="canal-json", topics=("shop",), kafka={}, target_url=url
    )
    with closing(open_target(url)) as target:
        store = Store(target, options.changefeed)
        assert store.start(1.0) is None
        store.begin_first(Checkpoint.first(options, 1, {}))
        for table in TABLES.values():
            with target.transaction():
                for statement in target.create_table(*target.locate("shop", table.name), table):
                    target.execute(statement)
        return options, ShopTables.of(options, target)


def write(tables: ShopTables, *statements: str) -> None:
    with tables.engine.connect() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))


def test_a_missing_an_extra_and_a_changed_row_are_named_by_key(sqlite_url: str) -> None:
    shop = Shop(1, accounts=3, users=10)
    shop.open()
    _, tables = opened(sqlite_url)
    with closing(tables.engine.connect()):
        assert sorted(tables.compare(shop, "accounts")) == [(0,), (1,), (2,)]
        write(
            tables,
            "INSERT INTO accounts VALUES (0, 'owner 0', 100000), (1, 'owner 1', 99999)",
            "INSERT INTO accounts VALUES (2, 'owner 2', 100000), (7, 'owner 7', 0)",
        )
        assert sorted(tables.compare(shop, "accounts")) == [(1,), (7,)]
    tables.engine.dispose()


TORN = [
    ("UPDATE accounts SET balance = balance + 1 WHERE id = 0", 1),
    ("INSERT INTO orders VALUES (1, 0, 'new', 2, '2024-01-01 00:00:00.000', NULL)", 1),
    ("UPDATE ticdc_checkpoint SET resolved_ts = '0'", 1),
    ("UPDATE ticdc_checkpoint SET resolved_ts = '5'", 0),
]


@pytest.mark.parametrize(("statement", "torn"), TORN)
def test_the_reader_notices_what_should_not_be(sqlite_url: str, statement: str, torn: int) -> None:
    options, tables = opened(sqlite_url)
    write(tables, "INSERT INTO accounts VALUES (0, 'owner 0', 100000), (1, 'owner 1', 100000)")
    audit = Audit(options.changefeed, tables, 200_000)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(audit.run)
        look(audit, running)
        assert audit.torn == 0
        write(tables, statement)
        look(audit, running)
        look(audit, running)
        audit.stop()
    running.result()
    assert (audit.torn > 0, audit.first_torn != "") == (bool(torn), bool(torn))
    tables.engine.dispose()


def look(audit: Audit, running: "Future[None]") -> None:
    """Returns once the reader has looked again."""
    looks = audit.looks
    while audit.looks == looks and not running.done():
        time.sleep(0.001)
