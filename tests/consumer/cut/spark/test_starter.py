"""Spark starts once, when it is told to or needed, and is ended by who started it."""

import subprocess
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from ticdc_consumer.cut.spark import session as spark_session
from ticdc_consumer.cut.spark.session import WARMING_JOBS
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.errors import Away, Unavailable
from ticdc_encoder.errors import TicdcError


class Session:
    """Stands for Spark's: what is done to it is listed."""

    sparkContext = SimpleNamespace(master="local[1]")

    def __init__(self) -> None:
        self.log: list[str] = []

    def stop(self) -> None:
        self.log.append("stop")


class World:
    """A Spark that starts when `go` is set, or fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        self.warmer = threading.Event()
        self.error: TicdcError | None = None
        self.session = Session()
        monkeypatch.setattr(spark_session, "session", self._start)
        monkeypatch.setattr(spark_session, "warm_up", self._warm_up)
        self.to_stop = False
        self.starter = SparkStarter({}, "test", gives_up=lambda: self.to_stop)

    def _start(self, settings: Any, name: str) -> Session:
        assert self.go.wait(10)
        if self.error is not None:
            raise self.error
        self.session.log.append("start")
        return self.session

    def _warm_up(self, spark: Any, jobs: int) -> None:
        self.session.log.append("warm")
        assert self.warmer.wait(10)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_what_needs_no_spark_starts_none(world: World) -> None:
    world.starter.require()
    world.starter.close()
    assert (world.session.log, world.starter.begun, world.starter.ready) == ([], False, False)


def test_it_starts_beside_other_work_and_warms_up(world: World) -> None:
    world.starter.begin("to test")
    world.starter.begin("to test")
    world.starter.require()  # still starts
    assert not world.starter.ready
    world.go.set()
    world.warmer.set()
    assert world.starter._warmed is not None
    world.starter._warmed.result(10)
    assert world.starter.ready
    assert world.session.log == ["start", *["warm"] * WARMING_JOBS]
    world.starter.close()
    assert world.session.log[-1] == "stop"


def test_who_needs_it_does_not_wait_until_it_is_warm(world: World) -> None:
    world.go.set()
    world.starter.begin("to test")
    assert world.starter.session("to test") is cast("SparkSession", world.session)
    world.warmer.set()
    world.starter.close()
    assert world.session.log.count("start") == 1
    assert world.session.log.count("warm") <= 1


def test_why_it_starts_is_told_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ticdc_consumer")
    world.go.set()
    world.warmer.set()
    world.starter.begin("to read 7,000 messages")
    world.starter.session("to read 8,000 messages")
    world.starter.session("to read 9,000 messages")
    world.starter.close()
    assert caplog.messages == ["starting Spark to read 7,000 messages; this takes some seconds"]
    assert [record.__dict__["event"] for record in caplog.records] == ["starting_spark"]


def test_it_starts_for_who_needs_it_first(world: World) -> None:
    world.go.set()
    assert world.starter.session("to test") is cast("SparkSession", world.session)
    world.starter.begin("to test")
    assert world.starter.session("to test") is cast("SparkSession", world.session)
    world.starter.close()
    assert world.session.log == ["start", "stop"]


@pytest.mark.parametrize("use", [SparkStarter.require, lambda starter: starter.session("to test")])
def test_a_start_that_failed_is_raised(world: World, use: Callable[[SparkStarter], object]) -> None:
    world.error = Unavailable("no Java")
    world.starter.begin("to test")
    world.go.set()
    assert world.starter._started is not None
    assert world.starter._started.exception(10) is world.error
    with pytest.raises(Unavailable, match="no Java"):
        use(world.starter)
    assert not world.starter.ready
    world.starter.close()
    assert world.session.log == []


def test_who_is_to_stop_does_not_wait_and_the_end_does(world: World) -> None:
    world.to_stop = True
    with pytest.raises(Away):
        world.starter.session("to test")
    threading.Timer(0.1, world.go.set).start()
    world.starter.close()
    assert world.session.log == ["start", "stop"]


def test_a_session_that_was_given_goes_on(world: World) -> None:
    given = cast("SparkSession", Session())
    starter = SparkStarter({}, "test", given)
    starter.begin("to test")
    assert starter.ready and starter.session("to test") is given
    starter.close()
    assert (cast("Session", given).log, world.session.log) == ([], [])


IMPORTED = """
import sys
import ticdc_consumer.cli.commands, ticdc_consumer.commands.run
import ticdc_consumer.commands.check.checks
import ticdc_consumer.cli.progress, ticdc_consumer.status.diagnosis
import ticdc_consumer.targets.postgresql.session, ticdc_consumer.targets.mysql.session
import ticdc_consumer.targets.sqlite.session
print(sorted({name.partition(".")[0] for name in sys.modules} & {"pyspark", "py4j", "pandas"}))
"""


def test_no_command_imports_spark_before_it_needs_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
