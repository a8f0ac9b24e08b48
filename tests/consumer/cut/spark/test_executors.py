"""A real standalone cluster, whose executors and workers are killed while cuts are read."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import brokers
from support.diagnoses import comes_to
from support.standalone_cluster import Cluster, cluster
from support.torture_cli import Command
from support.torture_driver import Driver
from support.torture_topics import Feed, deleted, inserted, ts, updated
from ticdc_consumer.status.causes import thresholds
from ticdc_encoder.event import Row

pytestmark = pytest.mark.longest
PARTITIONS = 4
ROWS = 300
"""A partition."""
PATIENCE = 300.0
SPILLED = {"limits__memory_budget": 1}
KILLED: list[tuple[int, dict[str, Any]]] = [(1, {}), (2, SPILLED)]
APPLIED = ["net", "transactions"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All of them with `--long`: JVMs that start are seconds of a processor."""
    long = metafunc.config.getoption("--long")
    if "killed" in metafunc.fixturenames:
        metafunc.parametrize(("killed", "settings"), KILLED if long else KILLED[1:])
    if "way" in metafunc.fixturenames:
        metafunc.parametrize("way", APPLIED if long else APPLIED[:1])


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """`why` names it after a second, and at the first executor that is lost."""
    monkeypatch.setattr(thresholds, "QUIET", 1.0)
    monkeypatch.setattr(thresholds, "LOST_EXECUTORS", 1)


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("spark") / "cluster", workers=2) as running:
        yield running


class Changefeed:
    """A table of which rows are deleted, updated and inserted in one cut, in all partitions."""

    def __init__(
        self,
        kafka: brokers.Kafka,
        folder: Path,
        capsys: pytest.CaptureFixture[str],
        running: Cluster,
        **settings: Any,
    ) -> None:
        self.feed = feed = Feed(kafka, partitions=PARTITIONS)
        feed.create(10)
        for n in range(PARTITIONS):
            feed.send(n, *(inserted(20 + i, self._row(n, i)) for i in range(ROWS)))
        feed.mark(1000)
        url = f"sqlite:///{folder / 'target.db'}"
        settings = {"spark__sql.shuffle.partitions": 4, **settings}
        self.run = Command([feed], url, folder, capsys, **running.settings, **settings)
        self._begin()

    def _row(self, partition: int, number: int, name: str = "old") -> Row:
        return {"id": number * PARTITIONS + partition, "name": name}

    def _begin(self) -> None:
        """The first cut, by the driver itself; then there is the second."""
        alone: dict[str, Any] = {"spark__from_messages": 100_000, "limits__memory_budget": "64 MiB"}
        driver = self.run.driver(until=str(ts(1000)), **alone)
        code, text = driver.wait(PATIENCE)
        assert (code, self.run.resolved_ts) == (0, ts(1000)), text
        third = ROWS // 3
        for n in range(PARTITIONS):
            old = [self._row(n, i) for i in range(2 * third)]
            new = [self._row(n, i, "new") for i in range(2 * third)]
            later = [self._row(n, i) for i in range(ROWS, ROWS + third)]
            self.feed.send(
                n,
                *(deleted(2000 + i, old[i]) for i in range(third)),
                *(updated(2000 + i, old[i], new[i]) for i in range(third, 2 * third)),
                *(inserted(2000 + i, row) for i, row in enumerate(later)),
            )
        self.feed.mark(3000)

    def is_whole(self) -> bool:
        """Whether the target equals the upstream after the second cut."""
        third = ROWS // 3
        expected = [
            (number, "new" if number < 2 * third * PARTITIONS else "old")
            for number in range(third * PARTITIONS, (ROWS + third) * PARTITIONS)
        ]
        return self.run.resolved_ts == ts(3000) and expected == self.rows()

    def rows(self) -> list[tuple[Any, ...]]:
        return self.run.rows("SELECT id, name FROM items ORDER BY id")


STOPPED_TASKS = {"spark__executorEnv.TICDC_FAILPOINT": "decode:stop"}


def await_progress(feed: Changefeed, running: Cluster, driver: Driver) -> None:
    """Until the second cut is committed. Each new Python worker stops at its failpoint, too."""
    deadline = time.monotonic() + PATIENCE
    while feed.run.resolved_ts < ts(3000) and driver.running and time.monotonic() < deadline:
        running.continue_tasks()
        time.sleep(0.1)


def test_a_cut_whose_executors_die_while_it_is_read_ends_exactly(
    killed: int,
    settings: dict[str, Any],
    mock_kafka: brokers.Mock,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    two_workers: Cluster,
) -> None:
    feed = Changefeed(mock_kafka, tmp_path, capsys, two_workers, **settings)
    driver = feed.run.driver(until=str(ts(3000)), spark=True, **STOPPED_TASKS)
    try:
        two_workers.await_stopped_tasks()
        two_workers.kill_executors(killed)
        assert feed.run.resolved_ts == ts(1000)
        assert "since the start, the last" in comes_to(feed.run, "executors-lost").sentence
        await_progress(feed, two_workers, driver)
        code, text = driver.wait(PATIENCE)
    finally:
        driver.kill()
    assert (code, feed.is_whole()) == (0, True), text


def test_a_cut_whose_executors_die_during_its_apply_ends_exactly(
    way: str,
    mock_kafka: brokers.Mock,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    two_workers: Cluster,
) -> None:
    feed = Changefeed(mock_kafka, tmp_path, capsys, two_workers, **SPILLED, target__apply=way)
    driver = feed.run.driver("write-rows:stop:2", until=str(ts(3000)), spark=True)
    try:
        driver.wait_until_stopped(PATIENCE)
        two_workers.kill_executors(2)
        driver.go_on()
        code, text = driver.wait(PATIENCE)
    finally:
        driver.kill()
    assert (code, feed.is_whole()) == (0, True), text


def test_a_cluster_without_workers_is_told_and_awaited(
    mock_kafka: brokers.Mock,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    two_workers: Cluster,
) -> None:
    waits = (
        f"Spark's jobs wait for an executor: master {two_workers.url} has provided none for 20 s"
    )
    feed = Changefeed(mock_kafka, tmp_path, capsys, two_workers)
    driver = feed.run.driver(spark=True, **STOPPED_TASKS)
    try:
        two_workers.await_stopped_tasks()
        two_workers.kill_workers()
        driver.await_words(waits, 120)
        assert "have been waiting for one for" in comes_to(feed.run, "no-executors").sentence
        assert feed.run.resolved_ts == ts(1000)
        two_workers.add_worker()
        await_progress(feed, two_workers, driver)
        assert feed.is_whole(), driver.text
        two_workers.kill_workers()
        feed.feed.send(0, inserted(3500, {"id": 1, "name": "late"}))
        feed.feed.mark(4000)
        time.sleep(5)
        driver.process.send_signal(signal.SIGTERM)
        code, text = driver.wait(PATIENCE)
    finally:
        driver.kill()
        two_workers.add_worker()
        two_workers.add_worker()
    assert (code, "stopped by SIGTERM" in text, "Traceback" in text) == (0, True, False), text
    assert feed.is_whole()
