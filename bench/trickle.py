"""From a resolved message to the commit that it allows: 40 rows and a resolved ts every 200 ms.

    python bench/trickle.py [--seconds 60] [--target sqlite,postgresql] [--protocol canal-json]

Needs KAFKA_BOOTSTRAP, and the URLs of the servers among the targets.
"""

import argparse
import os
import statistics
import threading
import time

from pyspark.sql import SparkSession
from servers import Kafka, kafka, target_url
from throughput import load, options
from ticdc_consumer.consumer import Consumer
from ticdc_consumer.spark.session import session, warm_up
from ticdc_consumer.targets import open_target
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import RowChange, Transaction
from ticdc_encoder.message import Message
from workload import SCHEMA, START_TS, T, Workload


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--target", default="sqlite,postgresql")
    parser.add_argument("--protocol", default="canal-json")
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--every", type=float, default=0.2)
    parser.add_argument("--cut", type=int, default=400_000)
    arguments = parser.parse_args()
    spark = session({}, "trickle")
    warm_up(spark)
    print("target       epochs  median ms  p90  p99  max")
    for name in arguments.target.split(","):
        with kafka() as broker, target_url(name) as url:
            latencies = trickle(spark, broker, url, arguments)
        at = statistics.quantiles(latencies, n=100)
        print(
            f"{name:11} {len(latencies):7} {at[49]:10.0f} {at[89]:4.0f} {at[98]:4.0f} "
            f"{max(latencies):4.0f}   load average {os.getloadavg()[0]:.1f}",
            flush=True,
        )


def trickle(
    spark: SparkSession, broker: Kafka, url: str, arguments: argparse.Namespace
) -> list[float]:
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
        consumer.stop()

    latencies = []
    with Consumer(options(url, topic, broker, arguments), spark) as consumer:
        sender = threading.Thread(target=send)
        sender.start()
        for epoch in consumer:
            now = time.monotonic()
            latencies.append((now - produced[epoch.resolved_ts]) * 1000)
        sender.join()
    # The first ones are the JVM's warming up.
    return latencies[min(50, len(latencies) // 4) :]


if __name__ == "__main__":
    main()
