"""The demo's other side: the shop's transactions, as TiCDC would send them, into Kafka."""

from collections import deque
from collections.abc import Sequence
from threading import Condition

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Delivered
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.message import Message
from ticdc_encoder.testing.disturbance import Disturbance
from ticdc_encoder.testing.shop import Shop

TOPIC = "shop"
PARTITIONS = 4
ROOM = 12 << 20
"""Bytes that may be ahead of what is applied: the mock keeps 5 MiB per partition, as stored."""
EVERY = 60
"""Transactions per resolved ts."""


class Upstream:
    """Sends about `rows` changes; `final` is the resolved ts after the last of them."""

    def __init__(
        self,
        shop: Shop,
        changefeed: Changefeed,
        disturbance: Disturbance,
        bootstrap: str,
        rows: int,
    ) -> None:
        self.shop = shop
        self.disturbance = disturbance
        self.changes = 0
        self.transactions = 0
        self.final: int | None = None
        self._changefeed = changefeed
        self._rows = rows
        self._kafka = bootstrap
        self._sent = 0
        self._marks: deque[tuple[int, int]] = deque()
        self._room = Condition()
        self._stopping = False

    def run(self) -> None:
        """Produces all of it, in the thread that calls. Raises KafkaException."""
        producer = Producer(
            {
                "bootstrap.servers": self._kafka,
                "enable.idempotence": True,
                "compression.type": "lz4",
                "linger.ms": 5,
            }
        )
        created = [m for ddl in self.shop.definitions() for m in self._changefeed.ddl(ddl)]
        opening = self.shop.open()
        self._count(len(opening.changes))
        rows = [*created, *self._changefeed.encode(opening)]
        while True:
            rows += self._changefeed.flush()
            resolved_ts = self.shop.resolve()
            for batch in self.disturbance.wave(rows, self._changefeed.resolve(resolved_ts)):
                self._send(producer, batch)
            with self._room:
                self._marks.append((resolved_ts, self._sent))
                if self.changes >= self._rows:
                    self.final = resolved_ts
                self._room.wait_for(self._may_go_on)
                if self._stopping or self.final is not None:
                    return
            rows = []
            for _ in range(EVERY):
                transaction = self.shop.trade()
                self._count(len(transaction.changes))
                rows += self._changefeed.encode(transaction)

    def applied(self, resolved_ts: int) -> None:
        """Tells how far the target is, which makes room for more."""
        with self._room:
            while len(self._marks) > 1 and self._marks[0][0] < resolved_ts:
                self._marks.popleft()
            self._room.notify()

    def stop(self) -> None:
        with self._room:
            self._stopping = True
            self._room.notify()

    def _may_go_on(self) -> bool:
        return self._stopping or self._sent - self._marks[0][1] < ROOM

    def _count(self, changes: int) -> None:
        self.changes += changes
        self.transactions += 1

    def _send(self, producer: Producer, batch: Sequence[Message]) -> None:
        """Returns when the brokers have all of it: a mark may not overtake its rows."""
        refused: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Delivered) -> None:
            if error is not None:
                refused.append(error)

        for message in batch:
            self._sent += len(message.key or b"") + len(message.value or b"")
            while True:
                try:
                    producer.produce(
                        message.topic,
                        message.value,
                        message.key,
                        message.partition,
                        on_delivery=delivered,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(30.0) or refused:
            raise KafkaException(refused[0] if refused else KafkaError(KafkaError._TIMED_OUT))
