"""CPU per change of reading: the plain decoder and the fast reader beside `orjson.loads` alone.

Run: `python bench/reading.py [CHANGES]`. No Kafka, no Spark, no database: the messages are in
memory, and what is measured is what a Spark task does with them. Half updates, 30 % inserts, 20 %
deletes, in two tables that hold 200,000 rows each before.
"""

import random
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from time import process_time
from typing import Any
from unittest import mock

import orjson
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.read import task as read
from ticdc_consumer.cut.read.fast.reader import NoFastReader, fast_reader
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.task import BATCH, Reading
from ticdc_consumer.protocols import decoder
from ticdc_consumer.protocols.shape import ExpectedShape, shape
from ticdc_consumer.source.kafka.tasks import KafkaTasks
from ticdc_consumer.source.marks import Span
from ticdc_consumer.source.records import Records
from ticdc_consumer.targets.layout import Layout
from ticdc_encoder.event import Row, RowChange, Table
from ticdc_encoder.formats import FORMATS, Record
from ticdc_encoder.sql.parser import parse_create_table

PRELOADED = 200_000
FIRST_TS = 470620402195890176
PLACE = ("topic", 0)
ALWAYS = 1 << 62

SBTEST = parse_create_table(
    """CREATE TABLE `sbtest` (`id` INT NOT NULL, `k` INT NOT NULL, `c` CHAR(120) NOT NULL,
    `pad` CHAR(60) NOT NULL, PRIMARY KEY (`id`), KEY `k` (`k`))""",
    "bench",
)
ORDERS = parse_create_table(
    """CREATE TABLE `orders` (`order_id` BIGINT NOT NULL, `line` INT NOT NULL,
    `sku` VARCHAR(24) NOT NULL, `quantity` INT NOT NULL, `price` DECIMAL(12,4) NOT NULL,
    `placed` DATETIME(6) NOT NULL, `note` VARCHAR(120), `tax` DOUBLE,
    PRIMARY KEY (`order_id`, `line`))""",
    "bench",
)

CODECS = {
    "sqlite": {
        **dict.fromkeys(("int", "bigint"), "integer"),
        "double": "number",
        "decimal": "quoted:decimal",
        "datetime": "quoted:datetime",
    },
    "postgresql": {
        **dict.fromkeys(("int", "bigint"), "plain"),
        "double": "number",
        "decimal": "decimal:12:4",
        "datetime": "date:6",
    },
    "mysql": {
        **dict.fromkeys(("int", "bigint"), "integer"),
        "double": "double",
        "decimal": "decimal:12:4",
        "datetime": "datetime:6",
    },
}
"""What a layout would name for columns of the same types; else "text"."""


def _digits(chance: random.Random, groups: int) -> str:
    return "-".join(f"{chance.getrandbits(36):011d}"[:11] for _ in range(groups))


def _row(chance: random.Random, table: Table, number: int) -> dict[str, Any]:
    if table.name == SBTEST.name:
        return {
            "id": number,
            "k": chance.randint(1, PRELOADED),
            "c": _digits(chance, 10),
            "pad": _digits(chance, 5),
        }
    return {
        "order_id": number // 4,
        "line": number % 4,
        "sku": f"SKU-{chance.randint(1, 9999):04d}",
        "quantity": chance.randint(1, 9),
        "price": Decimal(chance.randint(100, 10**7)).scaleb(-4),
        "placed": f"2024-01-01 00:{chance.randint(10, 59)}:38.512564",
        "note": chance.choice((None, "please ring", 'a "quoted" word', "naïve \\ 茶杯")),
        "tax": chance.randint(0, 2000) / 100,
    }


def changes(count: int, tables: tuple[Table, ...]) -> Iterator[RowChange]:
    """A history of these tables, five rows to a transaction."""
    chance = random.Random(1)
    rows: dict[str, dict[int, Row]] = {table.name: {} for table in tables}
    top = dict.fromkeys(rows, PRELOADED)
    changed = set[tuple[str, int]]()
    for n in range(count):
        table, commit_ts = chance.choice(tables), FIRST_TS + n // 5
        if n % 5 == 0:
            changed.clear()
        kind = chance.random()
        if kind < 0.3:
            top[table.name] += 1
            yield RowChange(table, commit_ts, None, _row(chance, table, top[table.name]))
            continue
        number = chance.randrange(top[table.name])
        while (table.name, number) in changed:
            number = chance.randrange(top[table.name])
        changed.add((table.name, number))
        before = rows[table.name].pop(number, None) or _row(chance, table, number)
        after = None
        if kind < 0.8:
            rows[table.name][number] = after = {**before, **_changed(chance, table)}
        yield RowChange(table, commit_ts, before, after)


def _changed(chance: random.Random, table: Table) -> dict[str, Any]:
    if table.name == SBTEST.name:
        return {"k": chance.randint(1, PRELOADED)}
    return {"quantity": chance.randint(1, 9)}


def records(protocol: str, count: int, tables: tuple[Table, ...]) -> list[Record]:
    wire = FORMATS[protocol]
    encoder = wire.Encoder(wire.Options(new_architecture=True))
    made = [record for change in changes(count, tables) for record in encoder.row(change)]
    made += encoder.flush()
    return [_turned(n, record) for n, record in enumerate(made)]


def _turned(number: int, record: Record) -> Record:
    """The members of `mysqlType` begin anywhere, as those of Go's maps do."""
    key, value = record
    start = (value or b"").find(b'"mysqlType":{') + 13
    if value is None or start == 12:
        return record
    end = value.index(b"}", start)
    members = value[start:end].split(b",")
    turn = number % len(members)
    return key, value[:start] + b",".join(members[turn:] + members[:turn]) + value[end:]


def job(protocol: str, dialect: str, messages: list[Record], tables: tuple[Table, ...]) -> ReadJob:
    options = Settings(
        changefeed="bench", protocol=protocol, topics=("t",), kafka={}, target_url="sqlite://"
    )
    decode, seen = decoder(options), dict[str, Table]()
    for key, value in messages:
        for event in decode(key, value):
            if isinstance(event, RowChange) and event.after is not None:
                seen.setdefault(event.table.name, event.table)
        if len(seen) == len(tables):
            break
    layouts = tuple(
        Layout(
            dialect=dialect,
            schema=table.schema,
            table=table.name,
            relation=table.name,
            source=table.columns,
            columns=tuple(column.name for column in table.columns),
            codecs=tuple(CODECS[dialect].get(c.type.name, "text") for c in table.columns),
            key=tables[[t.name for t in tables].index(table.name)].handle_key,
            upsert=True,
        )
        for table in seen.values()
    )
    return ReadJob(
        options=options,
        source=KafkaTasks({}),
        begin=0,
        end=ALWAYS,
        latest=ALWAYS,
        partitions=(PLACE,),
        ends={PLACE: ALWAYS},
        joined=frozenset(),
        proof_time=0,
        known_ddls=frozenset(),
        layouts=layouts,
        shapes={
            (table.schema, table.name): (number, ExpectedShape(shape(table)))
            for number, table in enumerate(seen.values())
        },
        most_bytes=0,
    )


class Given:
    """A record as librdkafka gives it."""

    def __init__(self, key: bytes | None, value: bytes | None, offset: int) -> None:
        self.key, self.value, self.offset = (lambda: key), (lambda: value), (lambda: offset)

    def timestamp(self) -> tuple[int, int]:
        return 1, 0


def cpu(work: Callable[[], object]) -> float:
    before = process_time()
    work()
    return process_time() - before


def loads(protocol: str, messages: list[Record]) -> None:
    if protocol == "canal-json":
        for _, value in messages:
            orjson.loads(value or b"")
        return
    for _, value in messages:
        data = value or b""
        at = 0
        while at < len(data):
            start = at + 8
            at = start + int.from_bytes(data[at:start], "big")
            orjson.loads(data[start:at])


def reading(made: ReadJob, messages: list[Record], fast: bool) -> tuple[float, float, int]:
    """CPU of the way to the fold, CPU of what comes after it, and the facts that were left."""
    with mock.patch.object(read, "fast_reader", fast_reader if fast else lambda *_: NoFastReader()):
        task = Reading(made, [Span(0, 0, ALWAYS)])
    progress = task.progress[PLACE]
    given = [Given(*message, offset) for offset, message in enumerate(messages)]

    def feed() -> None:
        for start in range(0, len(given), BATCH):
            task.feed_records(progress, Records(given[start : start + BATCH], ALWAYS))

    folding = cpu(feed)
    left = 0

    def flush() -> None:
        nonlocal left
        left = sum(batch.num_rows for batch in task.fold.flush())

    return folding, cpu(flush), left


def main(count: int) -> None:
    print(f"us of CPU per change, {count} changes of two tables; the best of three")
    columns = ("protocol", "tables", "orjson.loads", "path", "read + fold")
    print(
        f"{columns[0]:14} {columns[1]:14} {columns[2]:>12} {columns[3]:>6} {columns[4]:>12}", end=""
    )
    print("".join(f"{'+ ' + dialect:>14}" for dialect in CODECS), f"{'facts left':>11}")
    for protocol in ("canal-json", "open-protocol"):
        for tables in ((SBTEST,), (ORDERS,), (SBTEST, ORDERS)):
            messages = records(protocol, count, tables)
            alone = min(cpu(lambda: loads(protocol, messages)) for _ in range(3))  # noqa: B023
            for fast in (False, True):
                folding, flushing, left = [], {}, 0
                for dialect in CODECS:
                    made = job(protocol, dialect, messages, tables)
                    runs = [reading(made, messages, fast) for _ in range(3)]
                    folding += [run[0] for run in runs]
                    flushing[dialect] = min(run[1] for run in runs)
                    left = runs[0][2]
                print(
                    f"{protocol:14} {'+'.join(t.name for t in tables):14} "
                    f"{alone / count * 1e6:12.2f} {'fast' if fast else 'plain':>6} "
                    f"{min(folding) / count * 1e6:12.2f}"
                    + "".join(
                        f"{(min(folding) + flushing[d]) / count * 1e6:14.2f}" for d in CODECS
                    ),
                    f"{left:11}",
                    flush=True,
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
