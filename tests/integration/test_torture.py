"""kill -9, again and again, while a shop goes on selling: nothing is lost, torn or done twice.

The upstream, the brokers and the databases are real, and so is Spark where a test says so; else
the tasks run in the driver, which starts in a second and dies all the same. `make torture` kills
at least 30 times on each database and in both ways, and at every step of an epoch.
"""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa
from integration import applied_log
from support import brokers
from support.torture_driver import Driver, children
from support.torture_upstream import PARTITIONS, History, Upstream, history
from ticdc_consumer import config, failpoints
from ticdc_consumer.state.schema import CHECKPOINT
from ticdc_consumer.targets import open_target
from ticdc_consumer.testing.audit import Audit, ShopTables
from ticdc_encoder.testing.shop import TABLES, Shop

pytestmark = pytest.mark.torture

STEPS = [
    *("take-lease", "lease-taken", "plan", "end-chosen", "read", "apply", "begin", "fenced"),
    *("delete-rows", "write-rows", "run-ddl", "write-checkpoint", "commit", "committed"),
    *("publish-offsets", "cut-ended"),
]
"""Where a driver may die; a worker of Spark dies at `decode`."""
STAGING_STEPS = [name for name in failpoints.STEPS if name.startswith("stage")]
PATIENCE = 300.0


@dataclass(frozen=True)
class Torment:
    """One run: what is killed how often, how fast the upstream is, and what it speaks."""

    target: str
    way: str
    protocol: str
    spark: bool
    kills: int
    steps: int
    publish: str = "driver"

    def __str__(self) -> str:
        words = [self.target, self.way, self.protocol, "spark" * self.spark]
        return "-".join([*filter(None, words), *["staging"] * (self.publish == "staging")])

    @property
    def places(self) -> list[str]:
        """Where a driver may die."""
        return STEPS + STAGING_STEPS * (self.publish == "staging")


SHORT = [
    Torment("sqlite", "net", "canal-json", True, kills=2, steps=0),
    Torment("sqlite", "transactions", "open-protocol", False, kills=4, steps=5),
    Torment("postgresql", "transactions", "canal-json", False, kills=4, steps=5),
    Torment("tidb", "net", "open-protocol", False, kills=4, steps=5),
    Torment("postgresql", "net", "canal-json", False, kills=1, steps=3, publish="staging"),
]
LONG = [
    Torment(target, way, protocol, True, kills=30, steps=len(STEPS))
    for target, first, second in [
        ("sqlite", "canal-json", "open-protocol"),
        ("postgresql", "open-protocol", "canal-json"),
        ("mariadb", "canal-json", "open-protocol"),
        ("mysql", "open-protocol", "canal-json"),
        ("tidb", "canal-json", "open-protocol"),
    ]
    for way, protocol in [("net", first), ("transactions", second)]
]
LONG += [
    Torment(target, "net", "canal-json", spark, kills=30, steps=21, publish="staging")
    for target in ("postgresql", "mariadb", "mysql")
    for spark in (False, True)
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    long = metafunc.config.getoption("--long")
    if "torment" in metafunc.fixturenames:
        metafunc.parametrize("torment", LONG if long else SHORT, ids=str)
    if "way" in metafunc.fixturenames:
        metafunc.parametrize("way", ["net", "transactions"] if long else ["net"])


class Bench:
    """A shop, a changefeed of it, and one target; drivers come and go."""

    def __init__(self, folder: Path, target_url: str, settings: dict[str, Any]) -> None:
        self._file = folder / "changefeed.toml"
        self._file.write_text("")
        family = target_url.startswith(("mysql", "mariadb"))
        route = f'{{"*.*" = "{sa.make_url(target_url).database}.{{table}}"}}' if family else "{}"
        self.sets = [
            f"{name}={value}"
            for name, value in {
                **settings,
                "changefeed": "torture",
                "target.url": target_url,
                "tables.route": route,
                "limits.takeover_after": 1,
                "limits.rows_per_epoch": 5000,
            }.items()
        ]
        self.options = config.Settings.read(self._file, self.sets)
        with closing(open_target(target_url)) as target:
            self.tables = ShopTables.of(self.options, target)
        self.engine = self.tables.engine
        self._stages = settings["target.publish"] == "staging"
        self._drivers: list[Driver] = []
        self._logged = False

    def log_steps(self) -> None:
        """From here on, triggers log what is done."""
        applied_log.create(self.engine, self.tables.tables)
        self._logged = True

    def driver(self, spark: bool, failpoint: str | None = None, until: int | None = None) -> Driver:
        # Without it, the driver reads the small cuts, and a stand-in for Spark the large ones; it
        # stages nothing itself.
        sets = [*self.sets, f"spark.from_messages={0 if spark or self._stages else 300}"]
        sets = [part for text in sets for part in ("--set", text)]
        end = [] if until is None else ["--until", str(until)]
        driver = Driver(["run", str(self._file), *end, *sets], spark=spark, failpoint=failpoint)
        self._drivers.append(driver)
        return driver

    def close(self) -> None:
        for driver in self._drivers:
            driver.kill()
        self.engine.dispose()

    def finish(self, spark: bool, until: int) -> None:
        # The upstream went on all the time, and the kills let little of it through.
        code, said = self.driver(spark, until=until).wait(4 * PATIENCE)
        assert code == 0, said

    @property
    def resolved_ts(self) -> int:
        with self.engine.connect() as connection:
            return int(connection.execute(sa.select(CHECKPOINT.c.resolved_ts)).scalar_one())

    def is_right(self, sent: History) -> None:
        assert self.resolved_ts == sent.final
        differing = {name: self.tables.compare(sent.shop, name) for name in TABLES}
        assert differing == {name: [] for name in TABLES}
        if self._logged:
            assert applied_log.differences(self.engine, sent.steps) == []

    def await_progress(self, driver: Driver) -> None:
        """Returns when the driver has committed something, or ended."""
        before, deadline = self.resolved_ts, time.monotonic() + PATIENCE
        while self.resolved_ts == before and driver.running:
            assert time.monotonic() < deadline, "the driver does nothing"
            time.sleep(0.05)


@contextmanager
def watched(bench: Bench) -> Iterator[Audit]:
    """A reader looks at the tables all the time; none of its looks may be torn."""
    audit = Audit("torture", bench.tables, Shop().total)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(audit.run)
        try:
            yield audit
        finally:
            audit.stop()
            running.result()
    assert audit.torn == 0, (
        f"{audit.torn} of {audit.looks} looks were torn, the first: {audit.first_torn}"
    )


@contextmanager
def open_shop(
    kafka: brokers.Real, folder: Path, target_url: str, torment: Torment
) -> Iterator[tuple[Bench, Upstream]]:
    """The tables are there, and in `transactions` their triggers; the shop goes on selling."""
    topic = kafka.create_topic("shop", PARTITIONS)
    pause = 0.2 if torment.way == "net" else 0.5
    with ExitStack() as stack:
        upstream = Upstream(kafka, topic, torment.protocol, seed=11, pause=pause)
        stack.callback(upstream.close)
        settings = {
            "protocol": torment.protocol,
            "kafka.topics": topic,
            "kafka.bootstrap.servers": kafka.bootstrap,
            "target.apply": torment.way,
            "target.publish": torment.publish,
        }
        bench = Bench(folder, target_url, settings)
        stack.callback(bench.close)
        bench.finish(spark=False, until=upstream.first)
        if torment.way == "transactions" and torment.target != "tidb":  # it has no triggers
            bench.log_steps()
        upstream.go_on()
        yield bench, upstream


def test_kill_9_at_any_moment_loses_nothing(
    request: pytest.FixtureRequest, real_kafka: brokers.Real, tmp_path: Path, torment: Torment
) -> None:
    target_url = request.getfixturevalue(f"{torment.target}_url")
    random = Random(5)
    with (
        open_shop(real_kafka, tmp_path, target_url, torment) as (bench, upstream),
        watched(bench) as audit,
    ):
        died_at = set()
        for number in range(torment.kills):
            driver = bench.driver(torment.spark)
            # Every third dies at some moment of its start, the others soon after a commit.
            if number % 3:
                bench.await_progress(driver)
                time.sleep(random.uniform(0, 1.0))
            else:
                time.sleep(random.uniform(0, 8.0 if torment.spark else 2.0))
            died_at.add(bench.resolved_ts)
            assert driver.running, driver.wait()
            driver.kill()
        for step in random.sample(torment.places, torment.steps):
            hit = 1 if step in ("take-lease", "lease-taken") else random.randint(1, 3)
            driver = bench.driver(torment.spark, failpoint=f"{step}:kill:{hit}")
            driver.process.wait(PATIENCE)
            assert driver.process.returncode == -signal.SIGKILL, driver.wait()
            driver.kill()
        sent = upstream.stop()
        bench.finish(torment.spark, until=sent.final)
        assert len(died_at) >= torment.kills * 2 // 3
        assert audit.looks > 10 * torment.kills
        bench.is_right(sent)


def test_kill_9_of_what_spark_runs_loses_nothing(
    real_kafka: brokers.Real, sqlite_url: str, tmp_path: Path, way: str, long: bool
) -> None:
    kills = 10 if long else 1
    torment = Torment("sqlite", way, "canal-json", spark=True, kills=0, steps=0)
    with (
        open_shop(real_kafka, tmp_path, sqlite_url, torment) as (bench, upstream),
        watched(bench),
    ):
        driver = bench.driver(spark=True)
        bench.await_progress(driver)
        for _ in range(kills):
            while not (workers := below(driver, "pyspark.daemon")):
                assert driver.running, driver.wait()
                time.sleep(0.1)
            for worker in workers:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            bench.await_progress(driver)
            assert driver.running, driver.wait()
        (jvm,) = below(driver, "java")
        os.kill(jvm, signal.SIGKILL)
        code, said = driver.wait()
        assert code == 1, said
        assert said.splitlines()[-1].startswith("ticdc-consumer: Spark"), said
        # Every worker dies at its third task.
        driver = bench.driver(spark=True, failpoint="decode:kill:3")
        for _ in range(kills):
            bench.await_progress(driver)
        assert driver.running, driver.wait()
        driver.kill()
        sent = upstream.stop()
        bench.finish(spark=kills > 1, until=sent.final)
        bench.is_right(sent)


def below(driver: Driver, name: str) -> list[int]:
    """The processes that the driver runs, by a word of their command lines."""
    return [pid for pid, words in children(driver.process.pid).items() if name in words]


MISTAKES = {
    "a step is missing": "DELETE FROM applied WHERE n = 300",
    "a step is done twice": "INSERT INTO applied SELECT n + 1, tbl, k, op, r FROM applied "
    "WHERE n = 600",
    "another step is done": "UPDATE applied SET op = 'X' WHERE n = 600",
    "a step is done too late": "UPDATE applied SET r = (SELECT r FROM applied WHERE n = 900) "
    "WHERE n = 600",
    "steps are done in another order": "UPDATE applied SET n = 601 WHERE n = 1000",
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_the_log_of_steps_shows_every_mistake(sqlite_url: str, mistake: str) -> None:
    steps = history(seed=3, count=20).steps
    engine = sa.create_engine(sqlite_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE applied (n, tbl, k, op, r)")
        number, before = 0, 0
        for commit_ts, done in steps.items():
            for step in done:
                number += 2
                connection.execute(
                    sa.text("INSERT INTO applied VALUES (:n, :tbl, :k, :op, :r)"),
                    dict(zip(("n", "tbl", "k", "op", "r"), (number, *step, before), strict=True)),
                )
            before = commit_ts + 1
    assert applied_log.differences(engine, steps) == []
    with engine.begin() as connection:
        assert connection.exec_driver_sql(mistake).rowcount == 1
    assert applied_log.differences(engine, steps) != []
