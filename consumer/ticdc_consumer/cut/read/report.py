"""The report of a task, sent as the last row after its facts."""

from dataclasses import astuple, dataclass, field
from typing import Self

import orjson
import pyarrow as pa
from ticdc_encoder.event import Ddl, Table
from ticdc_encoder.sql.parser import from_json

from ticdc_consumer.cut.read.facts import REPORT, SCHEMA
from ticdc_consumer.protocols.schemas import SchemaKey
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.targets.layout import TableName

NO_LAYOUT = -1
"""The number, in `Report.tables`, for everything without a layout: DDL, and rows of such tables."""


@dataclass(frozen=True, slots=True)
class TableCounts:
    """`facts` counts those inside the cut, before folding; `duplicates` the facts among them that
    came before; `replays` the row changes below the cut."""

    facts: int = 0
    duplicates: int = 0
    replays: int = 0

    def __add__(self, other: Self) -> "TableCounts":
        return TableCounts(
            self.facts + other.facts,
            self.duplicates + other.duplicates,
            self.replays + other.replays,
        )


MOST_LEFT_OUT = 20
"""Tables that a task counts by name; rows of more tables are counted under `OTHERS`."""
OTHERS: TableName = ("", "")


@dataclass(slots=True)
class Report:
    """The report of a task. `restarts` are by partition; `missing` has the tables without a layout,
    each with whether only DELETEs of it were read; `unknown_ddls` those that the plan lacked;
    `stale_ddls` those of a joining partition below the cut. `corrupted` counts the rows that differ
    from their checksums, `corrupted_rows` describes the first. `unread` has the schemas that rows
    of the cut lack, each with the topic, partition and offset of such a row; `schemas` those that
    came with the messages. `tables` are by the number of a layout, or NO_LAYOUT. `facts_sent`
    counts the facts before the report. `left_out` counts the row changes that the filter rejects
    (no partition is read again for their sake); `waiting` those of the cut whose table is
    quarantined. `error_table` is the table that `error` is about, if it is only one, and `error_ts`
    its commit_ts, if known."""

    restarts: dict[TopicPartition, int] = field(default_factory=dict)
    missing: dict[TableName, tuple[Table, bool]] = field(default_factory=dict)
    unknown_ddls: list[Ddl] = field(default_factory=list)
    stale_ddls: list[Ddl] = field(default_factory=list)
    unread: dict[SchemaKey, tuple[str, int, int]] = field(default_factory=dict)
    schemas: list[Table] = field(default_factory=list)
    tables: dict[int, TableCounts] = field(default_factory=dict)
    messages: int = 0
    bytes: int = 0
    facts_sent: int = 0
    too_large: bool = False
    corrupted: int = 0
    corrupted_rows: list[str] = field(default_factory=list)
    left_out: dict[TableName, int] = field(default_factory=dict)
    waiting: dict[TableName, int] = field(default_factory=dict)
    error: tuple[str, str] | None = None
    error_table: TableName | None = None
    error_ts: int = 0

    @property
    def is_incomplete(self) -> bool:
        """Returns whether the task lacked a layout, a DDL or a schema: the cut is then read
        again."""
        return bool(self.missing or self.unknown_ddls or self.unread)

    def leave_out(self, name: TableName) -> None:
        counted = name in self.left_out or len(self.left_out) < MOST_LEFT_OUT
        name = name if counted else OTHERS
        self.left_out[name] = self.left_out.get(name, 0) + 1


def pack(report: Report) -> pa.RecordBatch:
    """Returns the report as a batch of one row."""
    text = orjson.dumps(
        {
            "restarts": [[*partition, offset] for partition, offset in report.restarts.items()],
            "missing": [[table, only] for table, only in report.missing.values()],
            "unknown_ddls": [_ddl_json(ddl) for ddl in report.unknown_ddls],
            "stale_ddls": [_ddl_json(ddl) for ddl in report.stale_ddls],
            "unread": [[*key, *record] for key, record in report.unread.items()],
            "schemas": report.schemas,
            "tables": [[number, *astuple(counts)] for number, counts in report.tables.items()],
            "messages": report.messages,
            "bytes": report.bytes,
            "facts_sent": report.facts_sent,
            "too_large": report.too_large,
            "corrupted": report.corrupted,
            "corrupted_rows": report.corrupted_rows,
            "left_out": [[*name, rows] for name, rows in report.left_out.items()],
            "waiting": [[*name, rows] for name, rows in report.waiting.items()],
            "error": report.error,
            "error_table": report.error_table,
            "error_ts": report.error_ts,
        }
    )
    columns: list[list[object]] = [[REPORT], [b""], [0], [False], [text], [0], [0]]
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def _ddl_json(ddl: Ddl) -> list[object]:
    return [ddl.schema, ddl.table, ddl.query, ddl.commit_ts, ddl.kind]


def unpack(text: bytes) -> Report:
    """Returns the report that a task packed."""
    members = orjson.loads(text)
    tables = [(from_json(stored), only) for stored, only in members["missing"]]
    return Report(
        restarts={(topic, number): offset for topic, number, offset in members["restarts"]},
        missing={(table.schema, table.name): (table, only) for table, only in tables},
        unknown_ddls=[Ddl(*ddl) for ddl in members["unknown_ddls"]],
        stale_ddls=[Ddl(*ddl) for ddl in members["stale_ddls"]],
        unread={(s, t, v): (topic, n, at) for s, t, v, topic, n, at in members["unread"]},
        schemas=[from_json(stored) for stored in members["schemas"]],
        tables={number: TableCounts(*counts) for number, *counts in members["tables"]},
        messages=members["messages"],
        bytes=members["bytes"],
        facts_sent=members["facts_sent"],
        too_large=members["too_large"],
        corrupted=members["corrupted"],
        corrupted_rows=members["corrupted_rows"],
        left_out={(schema, table): rows for schema, table, rows in members["left_out"]},
        waiting={(schema, table): rows for schema, table, rows in members["waiting"]},
        error=tuple(members["error"]) if members["error"] else None,
        error_table=tuple(members["error_table"]) if members["error_table"] else None,
        error_ts=members["error_ts"],
    )
