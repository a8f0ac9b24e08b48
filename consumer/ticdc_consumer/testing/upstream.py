"""The demo's producer: sends the shop's transactions to Kafka, as TiCDC would."""

from collections import deque
from threading import Condition

from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.kafka.produce import Delivery
from ticdc_encoder.testing.disturbance import Disturbance
from ticdc_encoder.testing.shop import Shop

TOPIC = "shop"
PARTITIONS = 4
ROOM = 12 << 20
"""Bytes that may be sent and not applied, at most: the mock keeps 5 MiB per partition, as
stored."""
TRANSACTIONS = 60
"""Transactions per resolved ts."""


class Upstream:
    """Sends about `rows` changes, and pauses for `pause` seconds after each resolved ts; `final` is
    the one after the last of them."""

    def __init__(
        self,
        shop: Shop,
        changefeed: Changefeed,
        disturbance: Disturbance,
        bootstrap: str,
        rows: float,
        pause: float = 0.0,
    ) -> None:
        self.shop = shop
        self.disturbance = disturbance
        self.changes = 0
        self.transactions = 0
        self.final: int | None = None
        self._changefeed = changefeed
        self._rows = rows
        self._pause = pause
        self._kafka = bootstrap
        self._sent = 0
        self._marks: deque[tuple[int, int]] = deque()
        self._room = Condition()
        self._stopping = False

    def run(self) -> None:
        """Produces all of it, in the calling thread. Raises ProduceError."""
        config = {
            "bootstrap.servers": self._kafka,
            "compression.type": "lz4",
            "linger.ms": "5",
        }
        created = [m for ddl in self.shop.definitions() for m in self._changefeed.ddl(ddl)]
        opening = self.shop.open()
        self._count(len(opening.changes))
        rows = [*created, *self._changefeed.encode(opening)]
        with Delivery(config) as delivery:
            while True:
                rows += self._changefeed.flush()
                resolved_ts = self.shop.resolve()
                for batch in self.disturbance.wave(rows, self._changefeed.resolve(resolved_ts)):
                    # A mark may not overtake its rows: the brokers must have a batch first.
                    delivery.deliver(batch)
                    self._sent += sum(len(m.key or b"") + len(m.value or b"") for m in batch)
                if not self._may_send_more(resolved_ts):
                    return
                rows = []
                for _ in range(TRANSACTIONS):
                    transaction = self.shop.trade()
                    self._count(len(transaction.changes))
                    rows += self._changefeed.encode(transaction)

    def _may_send_more(self, resolved_ts: int) -> bool:
        """Notes what was sent up to `resolved_ts`, and waits for room. False: this was the last."""
        with self._room:
            self._marks.append((resolved_ts, self._sent))
            if self._is_over():
                self.final = resolved_ts
            self._room.wait_for(self._has_room)
            self._room.wait_for(self._is_over, self._pause)
            return not self._stopping and self.final is None

    def applied(self, resolved_ts: int) -> None:
        """Reports that the target is at `resolved_ts`, which makes room for more."""
        with self._room:
            while len(self._marks) > 1 and self._marks[0][0] < resolved_ts:
                self._marks.popleft()
            self._room.notify()

    def finish(self) -> None:
        """Makes the next resolved ts the last."""
        with self._room:
            self._rows = 0
            self._room.notify()

    def stop(self) -> None:
        """Stops the producer at any point."""
        with self._room:
            self._stopping = True
            self._room.notify()

    def _has_room(self) -> bool:
        return self._stopping or self._sent - self._marks[0][1] < ROOM

    def _is_over(self) -> bool:
        return self._stopping or self.changes >= self._rows

    def _count(self, changes: int) -> None:
        self.changes += changes
        self.transactions += 1
