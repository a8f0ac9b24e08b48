"""A shop's changes into a Kafka topic, as TiCDC would send them: something to try a consumer with.

It shows the encoder: a `Changefeed` takes what `cdc cli changefeed create` takes, and turns
transactions, DDL and resolved ts into the messages that TiCDC would send. What at-least-once
delivery does to them (duplicates, replays, partitions out of step) is added on purpose.

    python samples/shop/shop.py localhost:9092 shop                    # until Ctrl-C
    python samples/shop/shop.py localhost:9092 shop --transactions 1000 --protocol open-protocol

Then apply it: samples/shop/shop.toml is a configuration for `ticdc-consumer run`.
"""

import argparse
import itertools
import time
from collections.abc import Iterable

from confluent_kafka import Producer
from ticdc_encoder import Changefeed, Message, TicdcError
from ticdc_encoder.produce import ensure_topics
from ticdc_encoder.testing.disturbance import Disturbance
from ticdc_encoder.testing.shop import Shop

PARTITIONS = 4
BETWEEN_MARKS = 20


def main() -> None:
    arguments = parse()
    # Its level keeps librdkafka from remarking on each of its tries to connect.
    kafka = {"bootstrap.servers": arguments.bootstrap, "log_level": "2"}
    changefeed = Changefeed(
        f"kafka://{arguments.bootstrap}/{arguments.topic}?protocol={arguments.protocol}"
        f"&partition-num={PARTITIONS}&enable-tidb-extension=true",
        {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}},
        version="8.5.4",
        new_architecture=True,
    )
    ensure_topics(kafka, {arguments.topic: PARTITIONS})
    producer = Producer({**kafka, "enable.idempotence": True})
    # Its clock gives commit_ts of now, so that a consumer's lag means something.
    shop = Shop(arguments.seed, clock=lambda: time.time_ns() // 1_000_000)
    disturbance = Disturbance(arguments.seed)

    rows = [message for ddl in shop.definitions() for message in changefeed.ddl(ddl)]
    rows += changefeed.encode(shop.open())
    for done in itertools.count():
        # A resolved ts promises that all changes committed before it have been sent.
        marks = changefeed.resolve(shop.resolve())
        for batch in disturbance.wave(rows, marks):
            send(producer, batch)
        print(f"\r{done * BETWEEN_MARKS:,} transactions", end="", flush=True)
        if arguments.transactions and done * BETWEEN_MARKS >= arguments.transactions:
            break
        rows = [m for _ in range(BETWEEN_MARKS) for m in changefeed.encode(shop.trade())]
        rows += changefeed.flush()
        time.sleep(arguments.pause)
    print(f"; the accounts' total is {shop.total:,} in all of them")


def send(producer: Producer, messages: Iterable[Message]) -> None:
    """Waits for the brokers: a mark must not overtake the rows that it covers."""
    for message in messages:
        producer.produce(message.topic, message.value, message.key, message.partition)
    if producer.flush(30):
        raise SystemExit("the brokers take nothing")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("bootstrap", help="Kafka's bootstrap.servers")
    parser.add_argument("topic", help=f"is created with {PARTITIONS} partitions if missing")
    parser.add_argument("--protocol", default="canal-json")
    parser.add_argument("--transactions", type=int, default=0, help="0: until Ctrl-C")
    parser.add_argument("--pause", type=float, default=0.2, help="seconds between resolved ts")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print()
    except TicdcError as error:
        raise SystemExit(f"shop: {error}") from None
