"""Tables and messages for the fast readers' tests."""

from collections.abc import Iterable
from typing import Any

from ticdc_consumer.cut.read.fast.reader import FastReader
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.protocols import decoder
from ticdc_encoder.event import Row, RowChange, Table
from ticdc_encoder.formats import FORMATS, Record
from ticdc_encoder.sql.parser import parse_create_table

from support.both_paths import decoded, fast_for, job_of, learning_at_once, options_for, tables_in

PROTOCOLS = ("canal-json", "open-protocol")
TS = 470620402195890176

PEOPLE = parse_create_table(
    """CREATE TABLE `people` (`id` INT NOT NULL, `name` VARCHAR(40), `age` TINYINT UNSIGNED,
    `photo` BLOB, `token` VARBINARY(16), `weight` DOUBLE, `story` TEXT, PRIMARY KEY (`id`))""",
    "shop",
)
LINES = parse_create_table(
    """CREATE TABLE `lines` (`line` INT NOT NULL, `order` VARCHAR(20) NOT NULL,
    `price` DECIMAL(10,2), `at` TIMESTAMP(3), PRIMARY KEY (`order`, `line`))""",
    "shop",
)

PERSON: dict[str, Any] = {
    "id": 1,
    "name": "Ann",
    "age": 30,
    "photo": b"\x00\xff'",
    "token": b"\x89P\n",
    "weight": 1.5,
    "story": "once",
}

HOSTILE = (
    "",
    '"',
    "\\",
    '\\"',
    ',"data":[{',
    '"_tidb":{"commitTs":1}}',
    '}],"_tidb":{"commitTs":1}}',
    '","type":"DELETE","es":1',
    '"old":null',
    '{"u":{',
    '},"p":{"id":{"t":3,"h":true,"f":11,"v":1}}}',
    '"v":',
    "null",
    "\x00",
    "\x1f\x7f\x80\xff",
    "<&>\u2028\u2029",
    "naïve 茶杯 🫖",
    "\ufffd\ue000\U0010ffff",
    "\\u0041\\x41\\\\",
    "line\nbreak\ttab\r\b\f\v\a",
    "'; DROP TABLE `x`; --",
)


def encoded(protocol: str, changes: Iterable[RowChange], **settings: Any) -> list[Record]:
    wire = FORMATS[protocol]
    encoder = wire.Encoder(wire.Options(**({"new_architecture": True} | settings)))
    records = [record for change in changes for record in encoder.row(change)]
    return records + encoder.flush()


def message(
    protocol: str, table: Table, before: Row | None, after: Row | None, **settings: Any
) -> Record:
    """The one record of one change."""
    (record,) = encoded(protocol, [RowChange(table, TS, before, after)], **settings)
    return record


def primed(protocol: str, records: Iterable[Record], **changed: Any) -> tuple[ReadJob, FastReader]:
    """A reader that has learned from these records, and its cut."""
    records = list(records)
    options = options_for(protocol, **changed)
    job = job_of(options, tables_in(decoded(options, records)))
    reader, decode = fast_for(job), decoder(options)
    with learning_at_once():
        for key, value in records:
            reader.learn(key, value, decode(key, value))
    return job, reader
