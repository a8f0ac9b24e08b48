"""A golden variant through the whole product: Kafka, Spark, a target; contents at each mark.

What a target should hold is said here, by the table of docs/reference/types.md, from what TiDB
itself printed: nothing of the product's decoding or encoding takes part.
"""

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import psycopg
import pymysql  # type: ignore[import-untyped]
import sqlalchemy as sa
from pyspark.sql import SparkSession
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.config.options import Settings
from ticdc_consumer.targets.rules import CALENDAR_DATES, LITERAL_DEFAULTS
from ticdc_encoder.message import Message

from support.brokers import Kafka
from support.golden import Contents, Scenario, State, Value, Variant, repeated

PROTOCOLS = {
    "avro": "avro",
    "canal-json": "canal-json",
    "debezium": "debezium",
    "debezium-avro": "debezium-avro",
    "open": "open-protocol",
    "simple": "simple",
}


TRUSTED: Mapping[str, frozenset[str]] = {
    "debezium": frozenset({CALENDAR_DATES}),
    "debezium-avro": frozenset({CALENDAR_DATES, LITERAL_DEFAULTS}),
}
"""The rules that a protocol needs: they hold for the tables that are read by it."""


def protocol_of(variant: Variant) -> str | None:
    """None for a protocol that is not read."""
    return PROTOCOLS.get(variant.name.removeprefix("classic.").partition(".")[0])


def send(kafka: Kafka, variant: Variant, again: bool) -> tuple[str, ...]:
    """Produces a variant, `again` as a restarted producer does. The topics' names."""
    records: Sequence[Message] = variant.records
    names = {
        topic: kafka.create_topic(topic, variant.partitions)
        for topic in sorted({record.topic for record in records})
    }
    if again:
        records = repeated(records, seed=7)
    kafka.produce(Message(names[r.topic], r.partition, r.key, r.value) for r in records)
    return tuple(names.values())


@dataclass(frozen=True)
class Own:
    """What a user does to a table that has values which new columns cannot hold: `ahead`, before
    the stream creates it, or right after. `texts` are the columns that then hold what TiDB prints,
    `unheld` those that the target generates itself, because no type of its could hold them."""

    statements: tuple[str, ...]
    ahead: bool = False
    texts: frozenset[str] = frozenset()
    unheld: frozenset[str] = frozenset()
    rules: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Place:
    """A target, and how upstream's schemas are named in it."""

    url: str = field(repr=False)
    dialect: str

    @property
    def route(self) -> dict[str, str]:
        """The MySQL family's servers are shared by tests: a schema gets a database of its own."""
        if self.dialect in ("mysql", "mariadb", "tidb"):
            return {"*.*": f"{sa.make_url(self.url).database}_{{schema}}.{{table}}"}
        return {}

    def named(self, upstream: str) -> str:
        """The schema of the target that an upstream's goes to."""
        return f"{sa.make_url(self.url).database}_{upstream}" if self.route else upstream

    def schema(self, upstream: str) -> str:
        return self.quoted(self.named(upstream))

    def relation(self, schema: str, table: str) -> str:
        name = self.quoted(table)
        return name if self.dialect == "sqlite" else f"{self.schema(schema)}.{name}"

    def quoted(self, name: str) -> str:
        quote = "`" if self.route else '"'
        return quote + name.replace(quote, quote * 2) + quote

    def execute(self, name: str, statements: Iterable[str]) -> None:
        """For `{schema}` and `{relation}` stand those of the table `name`."""
        schema, _, table = name.partition(".")
        words = {"schema": self.schema(schema), "relation": self.relation(schema, table)}
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement.format(**words))


@contextmanager
def consumer_of(
    variant: Variant,
    topics: Sequence[str],
    kafka: Kafka,
    place: Place,
    spark: SparkSession,
    way: str,
    rules: frozenset[str] = frozenset(),
    by_spark: bool = False,
    **settings: Any,
) -> Iterator[Consumer]:
    """With `by_spark` it reads every cut, else the driver the small ones, which are all."""
    protocol = protocol_of(variant) or ""
    if by_spark:
        settings["spark_from_messages"] = 0
    options = Settings(
        changefeed="golden",
        protocol=protocol,
        topics=tuple(topics),
        kafka=kafka.config,
        target_url=place.url,
        apply=way,  # type: ignore[arg-type]
        time_zone=variant.server_tz,
        encoding_format="avro" if "simple.avro" in variant.name else "json",
        rules=rules | TRUSTED.get(protocol, frozenset()),
        route=place.route,
        # The clock of the machine that made them may be ahead of this one's.
        future_limit=10 * 365 * 86400.0,
        **settings,
    )
    with Consumer(options, spark) as consumer:
        yield consumer


def run_to(
    consumer: Consumer, ts: int, place: Place, scenario: Scenario, own: Mapping[str, Own]
) -> int:
    """Applies up to R = `ts`, and does the user's work in between; says how many changes came
    more than once, or too late."""
    created = {f"{table.schema}.{table.table}": table.since_ts + 1 for table in scenario.tables}
    works = {created[name]: name for name, work in own.items() if not work.ahead}
    came_again = 0
    for stop in sorted({*works, ts}):
        if consumer.resolved_ts < stop <= ts:
            epochs = list(consumer.epochs(until=stop))
            assert consumer.resolved_ts == stop
            came_again += sum(epoch.duplicates + epoch.replays for epoch in epochs)
            if name := works.get(stop):
                place.execute(name, own[name].statements)
    return came_again


# --- what a target holds -----------------------------------------------------------------------


@dataclass(frozen=True)
class Type:
    """A column of upstream's `information_schema`."""

    name: str
    length: int
    unsigned: bool

    @classmethod
    def parse(cls, text: str) -> "Type":
        found = re.match(r"(\w+)(?:\((\d+)\D)?", text)
        assert found is not None, text
        return cls(found[1], int(found[2] or 0), "unsigned" in text)

    @property
    def wide(self) -> bool:
        """Whether it takes 64 bits without a sign."""
        return (self.name == "bigint" and self.unsigned) or (self.name, self.length) == ("bit", 64)


Row = tuple[Any, ...]
Query = Callable[[Contents, Mapping[str, Type]], list[Row]]
"""The rows of a table, as far as it has these columns."""


COMPUTED: Mapping[str, Collection[str]] = {
    **dict.fromkeys(("sqlite", "postgresql", "mysql", "mariadb"), ("va", "gens")),
    "tidb": ("va", "vb", "gens"),
}
"""The virtual columns that a target computes; the others never come."""


def columns_of(
    scenario: Scenario, ts: int, table: Contents, unheld: Collection[str], dialect: str
) -> dict[str, Type]:
    """The table's columns at `ts`, as the target has them."""
    version = max(
        (
            version
            for version in scenario.tables
            if (version.schema, version.table) == (table.schema, table.table)
            and version.since_ts <= ts
        ),
        key=lambda version: version.since_ts,
    )
    return {
        column["column_name"]: Type.parse(column["column_type"])
        for column in version.columns
        if column["column_name"] not in unheld
        if "VIRTUAL" not in column["extra"] or column["column_name"] in COMPUTED.get(dialect, ())
    }


def expected(
    table: Contents, columns: Mapping[str, Type], dialect: str, texts: Collection[str]
) -> list[Row]:
    """The rows, as the target should give them."""
    mapped = EXPECTED[dialect]
    places = [table.columns.index(name) for name in columns]
    kinds = [None if name in texts else type_ for name, type_ in columns.items()]
    return _sorted(
        tuple(
            value if value is None or kind is None else mapped(value, kind)
            for value, kind in zip((row[place] for place in places), kinds, strict=True)
        )
        for row in table.rows
    )


def found(query: Query, table: Contents, columns: Mapping[str, Type]) -> list[Row]:
    """The rows that the target has; FLOATs as TiDB prints them."""
    floats = [type_.name == "float" for type_ in columns.values()]
    return _sorted(
        tuple(
            _printed_float(value) if is_float and value is not None else value
            for value, is_float in zip(row, floats, strict=True)
        )
        for row in query(table, columns)
    )


def differences(
    place: Place,
    scenario: Scenario,
    state: State,
    own: Mapping[str, Own],
    left_out: Collection[str],
) -> str:
    """What the target has otherwise than upstream at a state, or "". Tables that are `left_out`
    are not looked at."""
    told = []
    with QUERIES[place.dialect](place) as query:
        for name, table in state.tables.items():
            if name in left_out:
                continue
            work = own.get(name, Own(()))
            columns = columns_of(scenario, state.ts, table, work.unheld, place.dialect)
            wanted = expected(table, columns, place.dialect, work.texts)
            there = found(query, table, columns)
            if there == wanted:
                continue
            told.append(f"{name} at {state.ts}: {len(there)} rows for {len(wanted)}")
            told += [f"  upstream {row}" for row in wanted if row not in there][:3]
            told += [f"  target   {row}" for row in there if row not in wanted][:3]
    return "\n".join(told)


def _sorted(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=repr)


def _number(text: Value) -> float:
    assert isinstance(text, str)
    return float(text) + 0.0  # without the sign of -0


def _printed_float(value: Any) -> float:
    """A FLOAT's number as TiDB prints it: the shortest digits, but six where it takes an `e`."""
    single = np.float32(value)
    plain = single == 0 or 1e-15 <= abs(single) < 1e15
    return float(str(single) if plain else f"{single:.5e}") + 0.0


def _span(text: str) -> timedelta:
    hours, minutes, seconds = text.removeprefix("-").split(":")
    whole, _, fraction = seconds.partition(".")
    span = timedelta(
        hours=int(hours),
        minutes=int(minutes),
        seconds=int(whole),
        microseconds=int(fraction.ljust(6, "0")),
    )
    return -span if text.startswith("-") else span


def _in_sqlite(value: Value, type_: Type) -> Any:
    if isinstance(value, bytes):
        if type_.name != "bit":
            return value
        value = str(int.from_bytes(value))
    assert value is not None
    if type_.name in INTEGERS and not type_.wide:
        return int(value)
    return _number(value) if type_.name in ("float", "double") else value


def _in_postgresql(value: Value, type_: Type) -> Any:
    if isinstance(value, bytes):
        if type_.name != "bit":
            return value
        value = str(int.from_bytes(value))
    assert value is not None
    if type_.name in INTEGERS:
        return Decimal(value) if type_.wide else int(value)
    match type_.name:
        case "decimal":
            return Decimal(value)
        case "float" | "double":
            return _number(value)
        case "date":
            return date.fromisoformat(value)
        case "datetime":
            return datetime.fromisoformat(value)
        case "timestamp":
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        case "time":
            return _span(value)
        case "vector":
            return tuple(_number(part) for part in value[1:-1].split(",") if part)
        case _:
            return value


def _in_mysql(value: Value, type_: Type) -> Any:
    """MySQL and MariaDB print what TiDB prints, but for the digits of FLOAT and DOUBLE."""
    return _number(value) if type_.name in ("float", "double") else value


@contextmanager
def _sqlite(place: Place) -> Iterator[Query]:
    with closing(sqlite3.connect(sa.make_url(place.url).database or "")) as connection:
        yield lambda table, columns: connection.execute(
            _select(place, table, map(place.quoted, columns))
        ).fetchall()


@contextmanager
def _postgresql(place: Place) -> Iterator[Query]:
    url = place.url.replace("+psycopg", "")
    with psycopg.connect(url, options="-c timezone=UTC") as connection:

        def query(table: Contents, columns: Mapping[str, Type]) -> list[Row]:
            select = _select(place, table, map(place.quoted, columns))
            return [tuple(map(_plain, row)) for row in connection.execute(select.encode())]

        yield query


def _plain(value: Any) -> Any:
    match value:
        case datetime(tzinfo=zone) if zone is not None:
            return value.astimezone(UTC)
        case list():
            return tuple(_printed_float(part) for part in value)
        case _:
            return value


@contextmanager
def _mysql(place: Place) -> Iterator[Query]:
    """As the text protocol gives them; of a FLOAT it shows six digits, of a DOUBLE all."""
    url = sa.make_url(place.url)
    connection = pymysql.connect(
        host=url.host,
        port=url.port or 3306,
        user=url.username,
        password=url.password or "",
        charset="utf8mb4",
        init_command="SET time_zone = '+00:00'",
        conv=pymysql.converters.encoders,  # and no decoders
    )

    def query(table: Contents, columns: Mapping[str, Type]) -> list[Row]:
        exact = [type_.name in ("float", "double") for type_ in columns.values()]
        cursor.execute(
            _select(
                place,
                table,
                (
                    f"{place.quoted(name)} + 0e0" if is_exact else place.quoted(name)
                    for name, is_exact in zip(columns, exact, strict=True)
                ),
            )
        )
        return [
            tuple(
                _number(value) if is_exact and value is not None else value
                for value, is_exact in zip(row, exact, strict=True)
            )
            for row in cursor.fetchall()
        ]

    with closing(connection), connection.cursor() as cursor:
        yield query


def _select(place: Place, table: Contents, expressions: Iterable[str]) -> str:
    relation = place.relation(table.schema, table.table)
    return f"SELECT {', '.join(expressions)} FROM {relation}"  # noqa: S608


INTEGERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit"})

EXPECTED: Mapping[str, Callable[[Value, Type], Any]] = {
    "sqlite": _in_sqlite,
    "postgresql": _in_postgresql,
    "mysql": _in_mysql,
    "mariadb": _in_mysql,
    "tidb": _in_mysql,
}
QUERIES: Mapping[str, Callable[[Place], AbstractContextManager[Query]]] = {
    "sqlite": _sqlite,
    "postgresql": _postgresql,
    "mysql": _mysql,
    "mariadb": _mysql,
    "tidb": _mysql,
}
