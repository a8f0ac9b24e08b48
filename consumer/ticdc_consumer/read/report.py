"""What a task tells beside its facts, as the last row of what it gives."""

from dataclasses import dataclass, field

import orjson
import pyarrow as pa
from ticdc_encoder.event import Ddl, Table
from ticdc_encoder.sql.parser import from_json, to_json

from ticdc_consumer.protocols.schemas import SchemaKey
from ticdc_consumer.read.facts import REPORT, SCHEMA
from ticdc_consumer.source.marks import TopicPartition


@dataclass(slots=True)
class Report:
    """What a task tells beside its facts. `restarts` are by partition; `missing` the tables that
    have no layout yet, each with whether only DELETEs of it were met; `unknown_ddls` those that the
    plan did not hold; `stale_ddls` those of a joining partition that lie below the cut; `corrupted`
    counts the rows that are not what their checksums say, `corrupted_rows` tells the first.
    `unread` are the schemas that rows of the cut lack, each with the topic, partition and offset of
    such a row; `schemas` those that the task was told. `given` is how many facts came before it."""

    restarts: dict[TopicPartition, int] = field(default_factory=dict)
    missing: dict[tuple[str, str], tuple[Table, bool]] = field(default_factory=dict)
    unknown_ddls: list[Ddl] = field(default_factory=list)
    stale_ddls: list[Ddl] = field(default_factory=list)
    unread: dict[SchemaKey, tuple[str, int, int]] = field(default_factory=dict)
    schemas: list[Table] = field(default_factory=list)
    tables: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    messages: int = 0
    bytes: int = 0
    given: int = 0
    too_large: bool = False
    corrupted: int = 0
    corrupted_rows: list[str] = field(default_factory=list)
    error: tuple[str, str] | None = None


def pack(report: Report) -> pa.RecordBatch:
    """The report as a batch of one row."""
    text = orjson.dumps(
        {
            "restarts": [[*place, offset] for place, offset in report.restarts.items()],
            "missing": [[to_json(table), only] for table, only in report.missing.values()],
            "unknown_ddls": [_ddl_json(ddl) for ddl in report.unknown_ddls],
            "stale_ddls": [_ddl_json(ddl) for ddl in report.stale_ddls],
            "unread": [[*key, *place] for key, place in report.unread.items()],
            "schemas": [to_json(table) for table in report.schemas],
            "tables": [[number, *counts] for number, counts in report.tables.items()],
            "messages": report.messages,
            "bytes": report.bytes,
            "given": report.given,
            "too_large": report.too_large,
            "corrupted": report.corrupted,
            "corrupted_rows": report.corrupted_rows,
            "error": report.error,
        }
    )
    columns: list[list[object]] = [[REPORT], [b""], [0], [False], [text], [0], [0]]
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def _ddl_json(ddl: Ddl) -> list[object]:
    return [ddl.schema, ddl.table, ddl.query, ddl.commit_ts, ddl.kind]


def unpack(text: bytes) -> Report:
    """The report that a task packed."""
    told = orjson.loads(text)
    tables = [(from_json(stored), only) for stored, only in told["missing"]]
    return Report(
        restarts={(topic, number): offset for topic, number, offset in told["restarts"]},
        missing={(table.schema, table.name): (table, only) for table, only in tables},
        unknown_ddls=[Ddl(*ddl) for ddl in told["unknown_ddls"]],
        stale_ddls=[Ddl(*ddl) for ddl in told["stale_ddls"]],
        unread={(s, t, v): (topic, n, at) for s, t, v, topic, n, at in told["unread"]},
        schemas=[from_json(stored) for stored in told["schemas"]],
        tables={number: tuple(counts) for number, *counts in told["tables"]},
        messages=told["messages"],
        bytes=told["bytes"],
        given=told["given"],
        too_large=told["too_large"],
        corrupted=told["corrupted"],
        corrupted_rows=told["corrupted_rows"],
        error=tuple(told["error"]) if told["error"] else None,
    )
