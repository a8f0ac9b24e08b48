"""From a resolved message to the commit that it allows: 40 rows and a resolved ts every 200 ms,
then a resolved ts alone every second.

    python bench/trickle.py [--seconds 60] [--target sqlite,postgresql] [--protocol canal-json]
        [--start at-once|when-needed] [--by-spark]

Needs KAFKA_BOOTSTRAP, and the URLs of the servers among the targets.
"""

import argparse
import os
import statistics
import threading
import time
from dataclasses import dataclass, field, replace

from servers import Kafka, kafka, target_url, verdict
from throughput import load, options
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.targets import open_target
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import RowChange, Transaction
from ticdc_encoder.message import Message
from workload import SCHEMA, START_TS, T, Workload

GOAL_MEDIAN, GOAL_P99 = 20, 45
"""Milliseconds."""
GOAL_IDLE = 0.2
"""Of a core."""
IDLE = 10.0
"""Seconds in which only resolved timestamps are sent."""


@dataclass
class Measured:
    latencies: list[float] = field(default_factory=list)
    idle: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--target", default="sqlite,postgresql")
    parser.add_argument("--protocol", default="canal-json")
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--every", type=float, default=0.2)
    parser.add_argument("--cut", type=int, default=400_000)
    parser.add_argument("--start", default="at-once")
    parser.add_argument("--by-spark", action="store_true", help="Spark reads every cut")
    arguments = parser.parse_args()
    print(f"goal: median {GOAL_MEDIAN} ms, p99 {GOAL_P99} ms, idle {GOAL_IDLE:.2f} of a core")
    print("target       epochs  median ms  p90  p99  max  idle")
    for name in arguments.target.split(","):
        with kafka() as broker, target_url(name) as url:
            measured = trickle(broker, url, arguments)
        at = statistics.quantiles(measured.latencies, n=100)
        print(
            f"{name:11} {len(measured.latencies):7} {at[49]:10.0f} {at[89]:4.0f} {at[98]:4.0f} "
            f"{max(measured.latencies):4.0f} {measured.idle:5.2f}"
            f"   {verdict(at[49] <= GOAL_MEDIAN)}, {verdict(at[98] <= GOAL_P99)}, "
            f"{verdict(measured.idle < GOAL_IDLE)}   load average {os.getloadavg()[0]:.1f}",
            flush=True,
        )


def trickle(broker: Kafka, url: str, arguments: argparse.Namespace) -> Measured:
    topic = broker.create_topic("trickle", 2)
    workload = Workload(10_000, 0)
    target = open_target(url)
    load(target, workload, SCHEMA)
    target.close()
    feed = Changefeed(
        f"kafka://127.0.0.1/{topic}?protocol={arguments.protocol}&partition-num=2"
        "&enable-tidb-extension=true",
        {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}},
        new_architecture=True,
    )
    produced: dict[int, float] = {}
    measured = Measured()

    def send() -> None:
        from confluent_kafka import Producer

        producer = Producer({**broker.config, "linger.ms": 0})

        def out(messages: list[Message]) -> None:
            for m in messages:
                producer.produce(m.topic, m.value, m.key, m.partition)
            producer.flush()

        ts, following = START_TS + 10, 10_000
        until = time.monotonic() + arguments.seconds
        while time.monotonic() < until:
            started = time.monotonic()
            for _ in range(arguments.rows // 5):
                ts += 1
                changes = []
                for _ in range(5):
                    following += 1
                    changes.append(RowChange(T, ts, after=workload._t(following)))
                out(feed.encode(Transaction(ts, tuple(changes))))
            ts += 1
            messages = feed.resolve(ts)
            produced[ts] = time.monotonic()
            out(messages)
            time.sleep(max(0.0, arguments.every - (time.monotonic() - started)))
        time.sleep(1)
        used = time.process_time()
        for _ in range(int(IDLE)):
            ts += 1
            out(feed.resolve(ts))
            time.sleep(1)
        measured.idle = (time.process_time() - used) / IDLE
        consumer.stop()

    asked = replace(options(url, topic, broker.config, arguments), spark_start=arguments.start)
    if arguments.by_spark:
        asked = replace(asked, spark_from_messages=0)
    with Consumer(asked) as consumer:
        sender = threading.Thread(target=send)
        sender.start()
        for epoch in consumer:
            now = time.monotonic()
            if epoch.resolved_ts in produced:
                measured.latencies.append((now - produced[epoch.resolved_ts]) * 1000)
        sender.join()
    # Spark starts, and warms up, beside the first ones.
    del measured.latencies[: min(100, len(measured.latencies) // 3)]
    return measured


if __name__ == "__main__":
    main()
