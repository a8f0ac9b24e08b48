"""The upstream of the tutorial: a small shop's changes in a Kafka inside this process.

    python -m ticdc_consumer.testing.tutorial

Writes `shop.toml`, a configuration for `ticdc-consumer`, then sends some transactions a second, as
TiCDC would, until Ctrl-C. A line that is typed is sent as a DDL: CREATE VIEW or DROP VIEW.
"""

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl
from ticdc_encoder.kafka.produce import Delivery
from ticdc_encoder.message import Message
from ticdc_encoder.testing.disturbance import Disturbance
from ticdc_encoder.testing.shop import SCHEMA, Shop

from ticdc_consumer.testing.mock_kafka import MockKafka

CONFIG = """\
changefeed = "shop"
protocol = "canal-json"

[kafka]
topics = ["shop"]
"bootstrap.servers" = "{bootstrap}"

[target]
url = "sqlite:///shop.db"
"""
TOPIC = "shop"
PARTITIONS = 4
DISPATCHERS = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}
AT_FIRST, EACH = 100, 5
"""Transactions before the first resolved ts, and before each later one."""
PAUSE = 1.0
"""Seconds between two resolved ts."""
VIEW = re.compile(r"\s*(?:CREATE|DROP)\s+VIEW\s+`?(\w+)`?", re.IGNORECASE)


class TutorialUpstream:
    """The shop, and the messages of its changefeed."""

    def __init__(self, bootstrap: str) -> None:
        self._shop = Shop(1, clock=lambda: time.time_ns() // 1_000_000)
        self._changefeed = Changefeed(
            f"kafka://{bootstrap}/{TOPIC}?protocol=canal-json"
            f"&partition-num={PARTITIONS}&enable-tidb-extension=true",
            DISPATCHERS,
        )
        self._disturbance = Disturbance(1)

    def begin(self) -> Iterator[list[Message]]:
        """Sends the tables, their first rows, and some trade."""
        rows = [m for ddl in self._shop.definitions() for m in self._changefeed.ddl(ddl)]
        rows += self._changefeed.encode(self._shop.open())
        yield from self._wave([*rows, *self._trade(AT_FIRST)])

    def trade(self) -> Iterator[list[Message]]:
        """Sends some more transactions, and the next resolved ts."""
        yield from self._wave(self._trade(EACH))

    def ddl(self, statement: str) -> Iterator[list[Message]]:
        """Sends a view. Raises ValueError for any other statement, TicdcError for one that TiDB
        would not parse."""
        match = VIEW.match(statement)
        if match is None:
            raise ValueError("only CREATE VIEW and DROP VIEW can be sent from here")
        commit_ts = self._shop.resolve()
        messages = self._changefeed.ddl(Ddl(SCHEMA, match[1], statement.strip(), commit_ts))
        while self._shop.resolve() == commit_ts:
            pass  # the shop likes to commit at a resolved ts, which is the DDL's alone
        yield from self._wave(messages)

    def _trade(self, transactions: int) -> list[Message]:
        traded = (self._shop.trade() for _ in range(transactions))
        rows = [message for each in traded for message in self._changefeed.encode(each)]
        return [*rows, *self._changefeed.flush()]

    def _wave(self, rows: list[Message]) -> Iterator[list[Message]]:
        yield from self._disturbance.wave(rows, self._changefeed.resolve(self._shop.resolve()))


def _lines(queue: "SimpleQueue[str]") -> None:
    for line in sys.stdin:
        if line.strip():
            queue.put(line.strip().rstrip(";"))


def _typed(queue: "SimpleQueue[str]", upstream: TutorialUpstream) -> Iterator[list[Message]]:
    try:
        statement = queue.get(timeout=PAUSE)
    except Empty:
        return
    try:
        yield from upstream.ddl(statement)
        print("sent, as a DDL", flush=True)
    except (ValueError, TicdcError) as error:
        print(f"not sent: {error}", flush=True)


def main() -> None:
    with MockKafka() as kafka:
        kafka.create_topic(TOPIC, PARTITIONS)
        upstream = TutorialUpstream(kafka.bootstrap)
        queue = SimpleQueue[str]()
        Thread(target=_lines, args=(queue,), daemon=True).start()
        with Delivery({"bootstrap.servers": kafka.bootstrap, "log_level": "2"}) as delivery:
            for batch in upstream.begin():
                delivery.deliver(batch)
            Path("shop.toml").write_text(CONFIG.format(bootstrap=kafka.bootstrap))
            print("a shop sends its changes to a Kafka in this process; shop.toml names it")
            print("Ctrl-C ends both", flush=True)
            while True:
                for batch in (*_typed(queue, upstream), *upstream.trade()):
                    delivery.deliver(batch)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print()
