"""CPU per message of every format: writing it, and reading it beside its bare parser alone.

    python bench/formats.py [--changes 20000] [--protocol csv ...]

The bare parser reads the same bytes and makes nothing of them: `orjson.loads` of JSON (keys, too),
fastavro's `schemaless_reader`, `csv.reader`. Half UPDATEs, 30 % INSERTs, 20 % DELETEs of two
tables; the best of five, one core.
"""

import argparse
import csv
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO, StringIO
from time import process_time
from typing import Any

import fastavro
import orjson
from reading import FIRST_TS, ORDERS, SBTEST, changes
from ticdc_encoder.event import RowChange
from ticdc_encoder.formats import FORMATS, Record, simple
from ticdc_encoder.formats import csv as csv_format
from ticdc_encoder.formats.registry import MemoryRegistry
from ticdc_encoder.formats.simple import avro as simple_avro

ROUNDS = 5
FAST_ENOUGH = 3.0

Work = Callable[[], object]


TABLES = tuple(
    replace(table, table_id=number, version=FIRST_TS)
    for number, table in enumerate((SBTEST, ORDERS), 104)
)
"""With the id and the version that TiCDC's rows of Simple name."""


def made(count: int) -> list[RowChange]:
    return list(changes(count, TABLES))


def json_parser(records: list[Record]) -> Work:
    texts = [text for record in records for text in record if text]

    def parse() -> None:
        for text in texts:
            orjson.loads(text)

    return parse


def open_parser(records: list[Record]) -> Work:
    def items(data: bytes, at: int) -> Iterator[bytes]:
        while at < len(data):
            start = at + 8
            at = start + int.from_bytes(data[at:start], "big")
            yield data[start:at]

    def parse() -> None:
        for key, value in records:
            for item in items(key or b"", 8):
                orjson.loads(item)
            for item in items(value or b"", 0):
                orjson.loads(item)

    return parse


def avro_parser(registry: MemoryRegistry) -> Callable[[list[Record]], Work]:
    def parser(records: list[Record]) -> Work:
        schemas = {n: fastavro.parse_schema(orjson.loads(t)) for n, t in registry.schemas.items()}
        data = [part for record in records for part in record if part and part[:1] == b"\0"]

        def parse() -> None:
            for part in data:
                file = BytesIO(part)
                file.seek(5)
                fastavro.schemaless_reader(file, schemas[int.from_bytes(part[1:5], "big")], None)

        return parse

    return parser


def simple_avro_parser(records: list[Record]) -> Work:
    schema = fastavro.parse_schema(simple_avro._ROW)

    def parse() -> None:
        for _, value in records:
            file = BytesIO(value or b"")
            file.seek(3)
            fastavro.schemaless_reader(file, schema, None)

    return parse


def of_records(
    protocol: str, events: list[RowChange], parser: Any = json_parser, **options: Any
) -> tuple[Work, Work, Work]:
    """Writing, reading, and the bare parser."""
    wire = FORMATS[protocol]
    settings = wire.Options(new_architecture=True, **options)

    def write() -> list[Record]:
        encoder = wire.Encoder(settings)
        found = [record for change in events for record in encoder.row(change)]
        return found + encoder.flush()

    records = write()
    if protocol == "simple":
        encoder: Any = wire.Encoder(settings)
        boots = [encoder.bootstrap(table) for table in TABLES]

        def read_simple() -> None:
            decoder = simple.Decoder(settings)
            for key, value in [*boots, *records]:
                decoder.decode(key, value)

        return write, read_simple, parser(records)

    def read() -> None:
        for key, value in records:
            wire.decode(key, value, settings)

    return write, read, parser(records)


def of_csv(events: list[RowChange], **options: Any) -> tuple[Work, Work, Work]:
    settings = csv_format.Options(include_commit_ts=True, **options)

    def write() -> list[tuple[Any, bytes]]:
        encoder = csv_format.Encoder(settings)
        return [
            (table, b"".join(r[1] or b"" for c in of for r in encoder.row(c)))
            for table, of in by_table
        ]

    by_table = [(t, [c for c in events if c.table is t]) for t in TABLES]
    files = write()

    def read() -> None:
        for table, data in files:
            for _ in csv_format.changes(data, table, settings):
                pass

    def parse() -> None:
        for _, data in files:
            for _ in csv.reader(StringIO(data.decode(), newline="")):
                pass

    return write, read, parse


def cases(events: list[RowChange]) -> Iterator[tuple[str, tuple[Work, Work, Work]]]:
    yield "canal-json", of_records("canal-json", events)
    yield "open-protocol", of_records("open-protocol", events, open_parser)
    yield "simple json", of_records("simple", events)
    yield (
        "simple avro",
        of_records("simple", events, simple_avro_parser, encoding_format="avro"),
    )
    yield "debezium", of_records("debezium", events)
    yield "debezium, no schema", of_records("debezium", events, debezium_disable_schema=True)
    for protocol, options in (
        ("avro", {"avro_enable_watermark": True}),
        ("debezium-avro", {"avro_enable_watermark": True}),
    ):
        registry = MemoryRegistry()
        yield (
            protocol,
            of_records(protocol, events, avro_parser(registry), registry=registry, **options),
        )
    yield "csv", of_csv(events)
    yield "csv, old values", of_csv(events, output_old_value=True)


def cpu(work: Work) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        before = process_time()
        work()
        best = min(best, process_time() - before)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=20_000)
    parser.add_argument("--protocol", nargs="*", default=[])
    arguments = parser.parse_args()
    events = made(arguments.changes)
    print(f"{'format':20} {'written/s':>10} {'read/s':>10} {'bare/s':>10} {'read : bare':>12}")
    for name, (write, read, bare) in cases(events):
        if arguments.protocol and not any(name.startswith(p) for p in arguments.protocol):
            continue
        spent = [cpu(work) for work in (write, read, bare)]
        rates = "".join(f" {arguments.changes / seconds:10,.0f}" for seconds in spent)
        slow = " !" if spent[1] > FAST_ENOUGH * spent[2] else ""
        print(f"{name:20}{rates} {spent[1] / spent[2]:12.1f}{slow}", flush=True)


if __name__ == "__main__":
    main()
