"""How long commands take, and what a consumer of few changes holds, each beside its goal.

    python bench/start.py [--rounds 3] [--target sqlite,postgresql]

`run`, `check`, `plan` and `status` of a changefeed with nothing new; the first commit of a `run`
with 40 rows, and the memory of its process and of what it starts while rows go on coming.
Needs KAFKA_BOOTSTRAP, and the URLs of the servers among the targets.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import sqlalchemy as sa
from confluent_kafka import Producer
from servers import Kafka, kafka, target_url, verdict
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Ddl, Row, RowChange, Transaction
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.tso import compose

COMMAND = [
    sys.executable,
    "-c",
    "import sys; from ticdc_consumer.cli import main; sys.exit(main())",
]
SQL = "CREATE TABLE `t` (`id` BIGINT NOT NULL, `v` VARCHAR(40), PRIMARY KEY (`id`))"
TABLE = parse_create_table(SQL, "shop")
GOALS = {
    "run --until caught-up": 4.0,
    "check": 1.5,
    "plan": 1.5,
    "status": 1.5,
    "first commit, when-needed": 1.5,
    "first commit, at-once": 1.5,
}
"""Seconds."""
GOAL_MEMORY = 250
"""MiB, with `start = "when-needed"`."""
WARM = 15.0
"""Seconds until memory is looked at."""


class Feed:
    """A topic with one table, whose rows are sent by tens."""

    def __init__(self, broker: Kafka) -> None:
        self.topic = broker.create_topic("start", 2)
        self._producer = Producer({**broker.config, "linger.ms": 0})
        self._changefeed = Changefeed(
            f"kafka://x/{self.topic}?protocol=canal-json&partition-num=2&enable-tidb-extension=true"
        )
        self._ts = compose(int(time.time() * 1000)) - (1 << 30)
        self._id = 0
        self._out(self._changefeed.ddl(Ddl("shop", "", "CREATE DATABASE `shop`", self._next(), 1)))
        self._out(self._changefeed.ddl(Ddl("shop", "t", SQL, self._next(), 3)))
        self.resolve()

    def _next(self) -> int:
        self._ts += 1
        return self._ts

    def _out(self, messages: Iterable[Message]) -> None:
        for m in messages:
            self._producer.produce(m.topic, m.value, m.key, m.partition)
        self._producer.flush()

    def rows(self, count: int = 40) -> None:
        ts = self._next()
        first, self._id = self._id, self._id + count
        rows: list[Row] = [{"id": n, "v": f"row {n}"} for n in range(first, self._id)]
        changes = tuple(RowChange(TABLE, ts, after=row) for row in rows)
        self._out(self._changefeed.encode(Transaction(ts, changes)))
        self.resolve()

    def resolve(self) -> None:
        self._out(self._changefeed.resolve(self._next()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--target", default="sqlite,postgresql")
    arguments = parser.parse_args()
    for name in arguments.target.split(","):
        with kafka() as broker, target_url(name) as url:
            feed = Feed(broker)
            with config(broker, feed, url) as file:
                measure(name, feed, file, arguments.rounds)


def measure(target: str, feed: Feed, file: Path, rounds: int) -> None:
    timed(["run", str(file), "--until", "caught-up"])
    for command in ("run --until caught-up", "check", "plan", "status"):
        word, *more = command.split()
        tell(target, command, [timed([word, str(file), *more]) for _ in range(rounds)])
    for start in ("when-needed", "at-once"):
        runs = [first_commit(feed, file, start) for _ in range(rounds)]
        tell(target, f"first commit, {start}", [(wall, cpu) for wall, cpu, _ in runs])
        memory = max(mebibytes for _, _, mebibytes in runs)
        met = verdict(memory < GOAL_MEMORY)
        goal = f"goal {GOAL_MEMORY}: {met}" if start == "when-needed" else ""
        print(f"{target:11} memory of all processes, {start:28} {memory:6.0f} MiB {goal}")


def tell(target: str, what: str, runs: list[tuple[float, float]]) -> None:
    wall, cpu = min(runs)
    load = os.getloadavg()[0]
    print(
        f"{target:11} {what:40} {wall:6.2f} s, {cpu:5.2f} s of CPU, goal {GOALS[what]:.1f} s: "
        f"{verdict(wall < GOALS[what])}"
        f"   load average {load:.1f}",
        flush=True,
    )


def timed(arguments: list[str]) -> tuple[float, float]:
    """Seconds by the clock, and of CPU."""
    began, used = time.monotonic(), os.times()
    subprocess.run([*COMMAND, *arguments], check=True, capture_output=True)
    now = os.times()
    cpu = now.children_user + now.children_system - used.children_user - used.children_system
    return time.monotonic() - began, cpu


def first_commit(feed: Feed, file: Path, start: str) -> tuple[float, float, float]:
    """Seconds by the clock and of CPU until the first commit, and MiB after a while."""
    feed.rows()
    began = time.monotonic()
    process = subprocess.Popen(
        [*COMMAND, "run", str(file), "--set", f"spark.start={start}"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()  # the first cut is told at once
        wall = time.monotonic() - began
        assert line.startswith("R "), line
        times = psutil.Process(process.pid).cpu_times()
        while time.monotonic() < began + WARM:
            feed.rows()
            time.sleep(0.2)
        running = [
            psutil.Process(process.pid),
            *psutil.Process(process.pid).children(recursive=True),
        ]
        memory = sum(one.memory_info().rss for one in running) / (1 << 20)
    finally:
        process.terminate()
        process.communicate()
    return wall, times.user + times.system, memory


@contextmanager
def config(broker: Kafka, feed: Feed, url: str) -> Iterator[Path]:
    database = sa.make_url(url).database if url.startswith(("mysql", "mariadb")) else None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "start.toml")
        route = f'[tables.route]\n"*.*" = "{database}.{{table}}"\n' if database else ""
        file.write_text(
            f'changefeed = "start"\nprotocol = "canal-json"\n[kafka]\ntopics = ["{feed.topic}"]\n'
            f'"bootstrap.servers" = "{broker.bootstrap}"\n[target]\nurl = "{url}"\n{route}'
        )
        yield file


if __name__ == "__main__":
    main()
