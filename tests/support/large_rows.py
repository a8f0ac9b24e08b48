"""A table with every kind of column, and its changefeed, which sends large rows' keys only."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from ticdc_encoder.event import Row, RowChange, Table

from support.brokers import Kafka
from support.torture_cli import Command
from support.torture_topics import Feed, ts

DOCS = """CREATE TABLE `docs` (
  `id` int NOT NULL, `code` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `seen` timestamp(3) NOT NULL DEFAULT '2024-01-01 00:00:00.000', `100%` mediumtext,
  `raw` blob, `four` binary(4), `f` float, `d` double, `amount` decimal(20,5),
  `big` bigint unsigned, `flags` bit(12), `mood` enum('a','b'), `tags` set('x','y'), `born` date,
  `at` datetime(6), `span` time(2), `y` year, `twice` int GENERATED ALWAYS AS (`id` * 2) VIRTUAL,
  PRIMARY KEY (`id`, `code`, `seen`))"""


def doc(number: int, text: str, code: str = "it's 100%") -> Row:
    return {
        "id": number,
        "code": code,
        "seen": "2024-06-01 10:20:30.125",
        "100%": text,
        "raw": b"\x00\xff" + text.encode(),
        "four": b"a\x00\x00\x00",
        "f": 0.1,
        "d": 1.0e-7,
        "amount": Decimal("12.34500"),
        "big": 2**64 - 1,
        "flags": 0b101010101010,
        "mood": 2,
        "tags": 3,
        "born": "2024-02-29",
        "at": "2024-02-29 23:59:59.123456",
        "span": "-10:11:12.50",
        "y": 2024,
    }


class Reduced:
    """A changefeed of a table whose large rows come as their handle keys."""

    def __init__(
        self,
        kafka: Kafka,
        table: Table,
        protocol: str,
        zone: str,
        **options: Any,
    ) -> None:
        self.feed = Feed(
            kafka,
            protocol,
            time_zone=zone,
            max_message_bytes=3000,
            large_message_handle_option="handle-key-only",
            **options,
        )
        self.table = table
        self.feed.create(10, DOCS, table.schema)
        if protocol == "simple":
            self.table = replace(table, table_id=7, version=ts(10))
            self.feed.bootstrap(0, self.table)

    def send(self, number: int, before: Row | None, after: Row | None) -> None:
        self.feed.send(number % 2, RowChange(self.table, ts(number), before, after))


def held(run: Command) -> list[tuple[Any, ...]]:
    return run.rows('SELECT id, code, "100%", raw FROM docs ORDER BY id, code')


def told(*rows: Row) -> list[tuple[Any, ...]]:
    return [(row["id"], row["code"], row["100%"], row["raw"]) for row in rows]
