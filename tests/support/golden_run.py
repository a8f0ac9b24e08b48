"""A golden variant through the whole product: Kafka, Spark, a target; contents at each mark.

What a target should hold is said here, from TiDB's own printing of the values and `docs/types.md`,
without the product's encoding.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from brokers import Kafka
from golden import Contents, Scenario, Value, Variant, repeated
from pyspark.sql import SparkSession
from ticdc_consumer.consumer import Consumer
from ticdc_consumer.errors import Stop
from ticdc_consumer.options import Options
from ticdc_consumer.redact import redact
from ticdc_encoder.message import Message

Mapped = Callable[[Value, str], Any]
"""(value as TiDB prints it, upstream column type) -> what the target gives back."""

PROTOCOLS = {"canal-json": "canal-json", "open": "open-protocol"}


def protocol_of(variant: Variant) -> str:
    return PROTOCOLS[variant.name.removeprefix("classic.").partition(".")[0]]


def send(kafka: Kafka, variant: Variant, again: bool) -> dict[str, str]:
    """Produces a variant; says the topics' names by their golden ones."""
    records: Sequence[Message] = variant.records
    names = {
        topic: kafka.create_topic(topic, variant.partitions)
        for topic in sorted({record.topic for record in records})
    }
    if again:
        records = repeated(records, seed=7)
    kafka.produce(Message(names[r.topic], r.partition, r.key, r.value) for r in records)
    return names


@dataclass(frozen=True)
class Place:
    """A target, and how upstream schemas are named in it."""

    url: str
    dialect: str

    @property
    def route(self) -> dict[str, str]:
        if self.dialect in ("mysql", "mariadb"):
            name = sa.make_url(self.url).database
            return {"*.*": f"{name}_{{schema}}.{{table}}"}
        return {}

    def relation(self, schema: str, table: str) -> str:
        match self.dialect:
            case "sqlite":
                return f'"{table}"'
            case "postgresql":
                return f'"{schema}"."{table}"'
            case _:
                return f"`{sa.make_url(self.url).database}_{schema}`.`{table}`"


@contextmanager
def consumer_of(
    variant: Variant,
    topics: Sequence[str],
    kafka: Kafka,
    place: Place,
    spark: SparkSession,
    way: str,
    **settings: Any,
) -> Iterator[Consumer]:
    options = Options(
        changefeed="golden",
        protocol=protocol_of(variant),
        topics=tuple(topics),
        kafka=kafka.config,
        target_url=place.url,
        apply=way,  # type: ignore[arg-type]
        time_zone=variant.server_tz,
        route=place.route,
        future_limit=10 * 365 * 86400.0,
        **settings,
    )
    with Consumer(options, spark) as consumer:
        yield consumer


def run_to(consumer: Consumer, ts: int) -> list[str]:
    """Applies up to R = `ts`; DDL that wait for a person are said to be done. Which they were."""
    waited = []
    while True:
        try:
            for _ in consumer.epochs(until=ts):
                pass
            return waited
        except Stop as stop:
            found = re.search(r"--ddl-done (\d+:\d+)", str(stop))
            if found is None:
                raise
            entry = consumer.ddl_done(found[1])
            waited.append(entry.query)


def contents(place: Place, table: Contents) -> list[tuple[Any, ...]]:
    """The table's rows in the target, its columns in upstream order; virtual ones left out."""
    engine = sa.create_engine(place.url, poolclass=sa.NullPool)
    quote = '"' if place.dialect in ("sqlite", "postgresql") else "`"
    with engine.connect() as connection:
        if place.dialect in ("mysql", "mariadb"):
            connection.exec_driver_sql("SET time_zone = '+00:00'")
        if place.dialect == "postgresql":
            connection.exec_driver_sql("SET TIME ZONE 'UTC'")
        columns = ", ".join(f"{quote}{name}{quote}" for name in table.columns)
        statement = f"SELECT {columns} FROM {place.relation(table.schema, table.table)}"  # noqa: S608
        return [tuple(row) for row in connection.exec_driver_sql(statement)]


__all__ = ["Mapping", "Scenario", "redact"]
