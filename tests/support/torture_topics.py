"""Topics written by hand: each message where the test wants it, as it wants it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ticdc_encoder.event import Ddl, Resolved, Row, RowChange, Table
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

from support.brokers import Kafka

BASE = 450_000_000_000_000_000
"""A timestamp of 2024; tests count from it."""

ITEMS = "CREATE TABLE `items` (`id` INT NOT NULL, `name` VARCHAR(40), PRIMARY KEY (`id`))"


def ts(number: int) -> int:
    return BASE + number


def table(sql: str = ITEMS, schema: str = "shop") -> Table:
    return parse_create_table(sql, schema)


def inserted(number: int, row: Row, of: Table | None = None) -> RowChange:
    return RowChange(of or table(), ts(number), after=row)


def deleted(number: int, row: Row, of: Table | None = None) -> RowChange:
    return RowChange(of or table(), ts(number), before=row)


def updated(number: int, before: Row, after: Row, of: Table | None = None) -> RowChange:
    return RowChange(of or table(), ts(number), before=before, after=after)


class Feed:
    """One topic of a changefeed; what it is given is in Kafka when a call returns."""

    def __init__(
        self,
        kafka: Kafka,
        protocol: str = "canal-json",
        name: str = "feed",
        partitions: int = 2,
        **options: Any,
    ) -> None:
        """`options` are the format's."""
        self.kafka = kafka
        self.protocol = protocol
        self.name = name
        self.partitions = partitions
        self.topic = kafka.create_topic(name, partitions) if partitions else kafka.prefix + name
        wire_format = FORMATS[protocol]
        if protocol != "debezium-avro":  # the new one's alone
            options = {"new_architecture": True} | options
        self._encoder = wire_format.Encoder(wire_format.Options(**options), lambda: 0)

    def record(self, event: RowChange | Ddl | Resolved) -> tuple[bytes | None, bytes | None]:
        """The event's key and value."""
        match event:
            case RowChange():
                (record,) = [*self._encoder.row(event), *self._encoder.flush()]
            case Ddl():
                record = self._encoder.ddl(event)
            case Resolved():
                record = self._encoder.resolved(event)
        return record

    def send(self, partition: int, *events: RowChange | Ddl | Resolved) -> None:
        self.kafka.produce(Message(self.topic, partition, *self.record(event)) for event in events)

    def send_raw(self, partition: int, key: bytes | None, value: bytes | None) -> None:
        self.kafka.produce([Message(self.topic, partition, key, value)])

    def mark(self, number: int, *partitions: int) -> None:
        """A resolved ts, to every partition unless some are named."""
        for partition in partitions or range(self.partitions):
            self.send(partition, Resolved(ts(number)))

    def resolve(self, resolved_ts: int) -> None:
        """The same, of a real upstream's clock."""
        for partition in range(self.partitions):
            self.send(partition, Resolved(resolved_ts))

    def create(self, number: int, sql: str = ITEMS, schema: str = "shop") -> None:
        """CREATE TABLE, as the protocol sends it: canal-json once, others to every partition."""
        defined = parse_create_table(sql, schema)
        self.ddl(number, sql, defined.name, schema, kind=3, definition=defined)

    def bootstrap(self, number: int, known: Table) -> None:
        """Simple's schema of a table, to one partition."""
        (key, value) = self._encoder.bootstrap(known)  # type: ignore[attr-defined]
        self.send_raw(number, key, value)

    def ddl(
        self,
        number: int,
        query: str,
        table: str = "",
        schema: str = "shop",
        kind: int = 0,
        definition: Table | None = None,
    ) -> None:
        self.send_ddl(Ddl(schema, table, query, ts(number), kind, definition))

    def send_ddl(self, ddl: Ddl) -> None:
        """To the partitions that the protocol sends it to."""
        everywhere = self.protocol != "canal-json"
        for partition in range(self.partitions if everywhere else 1):
            self.send(partition, ddl)


def canal(value: bytes | None, change: Callable[[dict[str, Any]], object]) -> bytes:
    """A canal-json value with something in it changed."""
    members = json.loads(value or b"")
    change(members)
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


def framed(items: Sequence[bytes], lengths: Sequence[int] | None = None) -> bytes:
    """Open Protocol's items, each after its length: its own, or that of `lengths`."""
    said = lengths or [len(item) for item in items]
    return b"".join(
        length.to_bytes(8, "big", signed=length < 0) + item
        for length, item in zip(said, items, strict=True)
    )


def renamed(known: Table, schema: str, name: str) -> Table:
    return replace(known, schema=schema, name=name)
