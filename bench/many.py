"""Many tables: their first creation, their first rows, and a trickle over all of them.

    python bench/many.py [--tables 10000] [--columns 20] [--partitions 2] [--seconds 30]
                         [--target postgresql]

One topic has a CREATE TABLE each, a resolved ts behind every hundred, then a row of each, then 40
rows of any tables and a resolved ts every 200 ms. The creation is timed by tenths: it must be as
fast for the last tables as for the first. Needs KAFKA_BOOTSTRAP and the target's URL.
"""

import argparse
import os
import statistics
import threading
import time
from collections.abc import Iterable, Iterator
from random import Random

from confluent_kafka import Producer
from servers import Kafka, kafka, target_url, verdict
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.config.options import Settings
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Ddl, Row, RowChange, Transaction
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

CREATED_WITHIN = 600.0
"""The goal for 10,000 tables, in seconds."""
FLAT = 1.5
"""The goal for what the last tenth costs, by the first."""
P99 = 250.0
"""The goal for the trickle, in milliseconds."""
START_TS = 470_000_000_000_000_000
MARK_EVERY = 100


class Many:
    """The upstream's tables, and what their changefeed sends."""

    def __init__(self, tables: int, columns: int, topic: str, partitions: int) -> None:
        self.ts = START_TS
        self._rng = Random(1)
        self._columns = columns
        texts = ", ".join(f"c{n} VARCHAR({n + 10})" for n in range(columns - 1))
        self._queries = {
            f"t{n}": f"CREATE TABLE t{n} (id BIGINT PRIMARY KEY, {texts})" for n in range(tables)
        }
        self._tables = [parse_create_table(query, "many") for query in self._queries.values()]
        self._next = 0
        self._feed = Changefeed(
            f"kafka://127.0.0.1/{topic}?protocol=canal-json&partition-num={partitions}"
            "&enable-tidb-extension=true",
            {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "table"}]}},
            new_architecture=True,
        )

    def begun(self) -> Iterator[Message]:
        self.ts += 1
        yield from self._feed.ddl(Ddl("many", "", "CREATE DATABASE many", self.ts))
        yield from self.mark()

    def created(self) -> Iterator[Message]:
        for number, (name, query) in enumerate(self._queries.items(), 1):
            self.ts += 1
            yield from self._feed.ddl(Ddl("many", name, query, self.ts))
            if number % MARK_EVERY == 0:
                yield from self.mark()
        yield from self.mark()

    def first_rows(self) -> Iterator[Message]:
        for table in range(len(self._tables)):
            yield from self._row(table)
        yield from self.mark()

    def some_rows(self, number: int) -> Iterator[Message]:
        for _ in range(number):
            yield from self._row(self._rng.randrange(len(self._tables)))

    def mark(self) -> list[Message]:
        self.ts += 1
        return self._feed.resolve(self.ts)

    def _row(self, number: int) -> list[Message]:
        self.ts += 1
        self._next += 1
        row: Row = {"id": self._next, **{f"c{n}": f"v{n}" for n in range(self._columns - 1)}}
        change = RowChange(self._tables[number], self.ts, after=row)
        return self._feed.encode(Transaction(self.ts, (change,)))


class Sender:
    def __init__(self, broker: Kafka) -> None:
        self._producer = Producer({**broker.config, "linger.ms": 0})

    def send(self, messages: Iterable[Message]) -> None:
        for number, m in enumerate(messages):
            self._producer.produce(m.topic, m.value, m.key, m.partition)
            if number % 10_000 == 0:
                self._producer.poll(0)
        self._producer.flush()


def caught_up(consumer: Consumer) -> tuple[float, float, list[tuple[float, int]]]:
    """Seconds, seconds of this process's CPU, and of each cut when it ended and its DDL."""
    began, cpu = time.monotonic(), time.process_time()
    cuts = [(time.monotonic() - began, len(epoch.ddls)) for epoch in consumer.epochs("caught-up")]
    return time.monotonic() - began, time.process_time() - cpu, cuts


def tenths(cuts: list[tuple[float, int]], tables: int) -> list[float]:
    """Milliseconds a table, for each tenth of the tables."""
    result, last, done, since = [], 0.0, 0, 0
    for ended, number in cuts:
        done += number
        if done - since >= tables / 10:
            result.append((ended - last) * 1000 / (done - since))
            last, since = ended, done
    return result


def trickle(consumer: Consumer, many: Many, sender: Sender, seconds: float) -> list[float]:
    produced: dict[int, float] = {}

    def send() -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            started = time.monotonic()
            sender.send(many.some_rows(40))
            messages = many.mark()
            produced[many.ts] = time.monotonic()
            sender.send(messages)
            time.sleep(max(0.0, 0.2 - (time.monotonic() - started)))
        time.sleep(1)
        consumer.stop()

    thread = threading.Thread(target=send)
    thread.start()
    latencies = [
        (time.monotonic() - produced[epoch.resolved_ts]) * 1000
        for epoch in consumer
        if epoch.resolved_ts in produced
    ]
    thread.join()
    return latencies[len(latencies) // 10 :]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--target", default="postgresql")
    arguments = parser.parse_args()
    with kafka() as broker, target_url(arguments.target) as url:
        topic = broker.create_topic("many", arguments.partitions)
        many = Many(arguments.tables, arguments.columns, topic, arguments.partitions)
        sender = Sender(broker)
        sender.send(many.begun())
        options = Settings(
            changefeed="bench",
            protocol="canal-json",
            topics=(topic,),
            kafka=broker.config,
            target_url=url,
            from_ts=START_TS,
            future_limit=1e9,
        )
        with Consumer(options) as consumer:
            report(consumer, many, sender, arguments)


def report(consumer: Consumer, many: Many, sender: Sender, arguments: argparse.Namespace) -> None:
    tables = arguments.tables
    caught_up(consumer)  # with it, Spark starts
    sender.send(many.created())
    took, cpu, cuts = caught_up(consumer)
    each = tenths(cuts, tables)
    within, growth = CREATED_WITHIN * tables / 10_000, each[-1] / each[0]
    print(f"load average {os.getloadavg()[0]:.1f}; {arguments.target}, {tables:,} tables")
    print(
        f"created in {took:7.1f} s, {len(cuts)} cuts, {cpu * 1000 / tables:.1f} ms of the driver's "
        f"CPU each; goal {within:.0f} s: {verdict(took < within)}"
    )
    print(
        f"ms a table, by tenths: {' '.join(f'{ms:.1f}' for ms in each)}; last by first "
        f"{growth:.2f}, goal {FLAT}: {verdict(growth <= FLAT)}",
        flush=True,
    )
    sender.send(many.first_rows())
    took, cpu, cuts = caught_up(consumer)
    print(f"first rows {took:6.1f} s, {len(cuts)} cuts, {cpu * 1000 / tables:.1f} ms of CPU each")
    latencies = trickle(consumer, many, sender, arguments.seconds)
    at = statistics.quantiles(latencies, n=100)
    print(
        f"trickle over all: {len(latencies)} epochs, median {at[49]:.0f} ms, p99 {at[98]:.0f} ms; "
        f"goal {P99:.0f} ms: {verdict(at[98] < P99)}   load average {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
