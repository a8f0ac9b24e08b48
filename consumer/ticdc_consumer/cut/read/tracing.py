"""The log's record of one row, read inside Spark's tasks, or in the driver if the log is small."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import orjson
import pyarrow as pa
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.sql.parser import from_json, to_json

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.cut.read.progress import PartitionProgress
from ticdc_consumer.cut.read.row_key import RowKey, RowMatch, Texts, texts
from ticdc_consumer.errors import Retry, fault
from ticdc_consumer.protocols import control_test, decoder, protocol_of
from ticdc_consumer.protocols.schemas import SchemaKey
from ticdc_consumer.source import TaskSource
from ticdc_consumer.source.ddl_filter import wants
from ticdc_consumer.source.marks import Span, TopicPartition
from ticdc_consumer.source.records import Records
from ticdc_consumer.targets.layout import TableName

BATCH = 5_000
"""Messages requested from the source at a time; changes of a file between two checks."""
MOST_UNREADABLE = 10
"""Undecodable messages that a task reports one by one."""

RECORDS = pa.schema([pa.field("record", pa.binary())])
"""JSON objects: observations, and as a task's last one its report."""

Kind = Literal["insert", "update", "delete", "ddl"]


@dataclass(frozen=True, slots=True)
class TraceJob:
    """The input of the tasks, pickled for Spark's. They read the log up to `ends`: changes of the
    row with commit_ts in [`begin`, `end`), and the DDL of its table, which is `defined` by its
    CREATE TABLE, if known. `followed` are commit_ts whose other rows of the table are reported,
    too."""

    options: ReadSettings
    source: TaskSource
    partitions: tuple[TopicPartition, ...]
    ends: Mapping[TopicPartition, int]
    table: TableName
    key: RowKey
    begin: int
    end: int
    defined: Table | None = None
    schemas: tuple[Table, ...] = ()
    followed: frozenset[int] = frozenset()
    with_values: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """A message about the row, or a DDL of its table. `time` is Kafka's, in ms. `mark` is the
    greatest resolved ts before it in its partition, as far as the task read it. `was` and `became`
    are the key's columns before and after, None where there is no row; `is_before` and `is_after`
    tell whether they are the traced key. `digest` stands for the whole change. `before` and `after`
    are the values, if requested."""

    topic: str
    partition: int
    offset: int
    time: int
    commit_ts: int
    kind: Kind
    mark: int = 0
    was: Texts | None = None
    became: Texts | None = None
    is_before: bool = False
    is_after: bool = False
    changed: tuple[str, ...] = ()
    digest: str = ""
    part: str = ""
    """The reason why the message lacks the whole row."""
    query: str = ""
    before: Texts | None = None
    after: Texts | None = None

    @property
    def where(self) -> str:
        return f"{self.topic}[{self.partition}] offset {self.offset}"


@dataclass(slots=True)
class TraceReport:
    """The report of a task: `rows` of the table, `unread` rows of it that lack their schema
    (Simple), undecodable messages with the errors of the first ones, and the table as its last row
    showed it."""

    messages: int = 0
    rows: int = 0
    unread: dict[SchemaKey, int] = field(default_factory=dict)
    schemas: list[Table] = field(default_factory=list)
    unreadable: int = 0
    errors: list[str] = field(default_factory=list)
    table: Table | None = None
    spans: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Number of the partition, start of the span, greatest resolved ts in it, Kafka's time (ms) of
    its first message."""

    def to_json(self) -> dict[str, object]:
        return {
            "messages": self.messages,
            "rows": self.rows,
            "unread": [[*key, count] for key, count in self.unread.items()],
            "schemas": [to_json(table) for table in self.schemas],
            "unreadable": self.unreadable,
            "errors": self.errors,
            "table": None if self.table is None else to_json(self.table),
            "spans": self.spans,
        }

    def add(self, members: Mapping[str, Any]) -> None:
        """Adds another task's report, as `to_json` gives it."""
        self.messages += members["messages"]
        self.rows += members["rows"]
        for *key, count in members["unread"]:
            schema, table, version = key
            name = schema, table, version
            self.unread[name] = self.unread.get(name, 0) + count
        self.schemas += map(from_json, members["schemas"])
        self.unreadable += members["unreadable"]
        self.errors += members["errors"]
        if members["table"] is not None:
            self.table = from_json(members["table"])
        self.spans += [
            (number, start, mark, time) for number, start, mark, time in members["spans"]
        ]


class Tracing:
    """One task's share of the log: messages in, observations out."""

    def __init__(self, job: TraceJob, spans: Sequence[Span]) -> None:
        self._job = job
        self._decode = decoder(job.options, job.schemas)
        self._match = RowMatch(job.key, job.defined)
        schema, table = job.table
        self._table = TableFilter((f"{quoted_rule(schema)}.{quoted_rule(table)}",))
        self._may_be_control = control_test(job.options)
        self._names_it = _name_test(job)
        self._spans = spans
        self._marks: dict[TopicPartition, int] = {}
        self._times: dict[TopicPartition, int] = {}
        self.observations: list[Observation] = []
        self.report = TraceReport()
        self.progress: dict[TopicPartition, PartitionProgress] = {}
        for number, start, end in spans:
            name = job.partitions[number]
            is_last = end >= job.ends[name]
            self.progress[name] = PartitionProgress(name, number, end, start, is_last, start >= end)

    def wants(self, name: TableName) -> bool:
        return self._table.matches(*name)

    reads = wants

    def feed_records(self, progress: PartitionProgress, records: Records) -> None:
        """Reads messages of one partition in order, as `feed` does."""
        for record in records:
            if not progress.done:
                self.feed(progress, *record)

    def feed(
        self,
        progress: PartitionProgress,
        key: bytes | None,
        value: bytes | None,
        offset: int,
        time: int,
    ) -> None:
        """Reads one message. An undecodable one is reported, and the next one read."""
        progress.position = offset + 1
        self._times.setdefault(progress.topic_partition, time)
        self.report.messages += 1
        if self._is_of_others(key, value):
            return
        try:
            for event in self._decode(key, value):
                self._read_event(progress, event, offset, time)
            for row in self._decode.unread():
                if self.wants((row.schema, row.table)):
                    version = row.schema, row.table, row.version
                    self.report.unread[version] = self.report.unread.get(version, 0) + 1
        except Retry:
            raise
        except Exception as error:  # noqa: BLE001 - of any kind, it is reported with its position
            self._cannot_read(progress, offset, error)

    def feed_file(
        self,
        progress: PartitionProgress,
        content: bytes,
        offset: int,
        changes: Iterable[RowChange],
    ) -> Iterator[None]:
        """Reads one file of a storage, some of its changes at a time."""
        self.report.messages += 1
        try:
            for number, change in enumerate(changes, 1):
                self._read_event(progress, change, offset, 0)
                if number % BATCH == 0:
                    yield
        except Retry:
            raise
        except Exception as error:  # noqa: BLE001 - of any kind, it is reported with its position
            self._cannot_read(progress, offset, error)
        progress.position = offset + 1

    def complete(self) -> Iterator[None]:
        """Shows rows that were sent in part as such."""
        yield from ()

    def records(self) -> pa.RecordBatch:
        """Returns the observations since the last call."""
        observed, self.observations = self.observations, []
        return packed([asdict(each) for each in observed])

    def close(self) -> pa.RecordBatch:
        """Returns the report, as the last batch of the task."""
        report = self.report
        report.schemas = list(self._decode.new_schemas())
        for number, start, _ in self._spans:
            name = self._job.partitions[number]
            report.spans.append((number, start, self._marks.get(name, 0), self._times.get(name, 0)))
        return packed([report.to_json()])

    def _is_of_others(self, key: bytes | None, value: bytes | None) -> bool:
        """Returns whether a message need not be decoded: it lacks the table's name."""
        names_it = self._names_it
        if names_it is None or names_it(value or b"") or names_it(key or b""):
            return False
        return not self._may_be_control(key, value)

    def _cannot_read(self, progress: PartitionProgress, offset: int, error: Exception) -> None:
        self.report.unreadable += 1
        if len(self.report.errors) < MOST_UNREADABLE:
            topic, number = progress.topic_partition
            self.report.errors.append(f"{topic}[{number}] offset {offset}: {fault(error)}")

    def _read_event(
        self, progress: PartitionProgress, event: Event, offset: int, time: int
    ) -> None:
        match event:
            case RowChange():
                self._read_row(progress, event, offset, time)
            case Ddl() if wants(self._table, event) and self._holds(event.commit_ts):
                topic, number = progress.topic_partition
                self.observations.append(
                    Observation(
                        *(topic, number, offset, time, event.commit_ts, "ddl"),
                        mark=self._marks.get(progress.topic_partition, 0),
                        query=event.query,
                    )
                )
            case Resolved(resolved_ts):
                name = progress.topic_partition
                self._marks[name] = max(resolved_ts, self._marks.get(name, 0))
                if resolved_ts >= self._job.end:
                    progress.stop(offset, above=True)

    def _holds(self, commit_ts: int) -> bool:
        return self._job.begin <= commit_ts < self._job.end

    def _read_row(
        self, progress: PartitionProgress, change: RowChange, offset: int, time: int
    ) -> None:
        table = change.table
        if not self.wants((table.schema, table.name)):
            return
        self.report.rows += 1
        self.report.table = table
        if not self._holds(change.commit_ts):
            return
        is_before, is_after = self._match.of(change)
        if not (is_before or is_after) and change.commit_ts not in self._job.followed:
            return
        topic, number = progress.topic_partition
        names, with_values = self._match.names(table), self._job.with_values
        before, after = _whole(change.before, change.after), change.after
        self.observations.append(
            Observation(
                *(topic, number, offset, time, change.commit_ts, _kind(change)),
                mark=self._marks.get(progress.topic_partition, 0),
                was=None if before is None else texts(before, names),
                became=None if after is None else texts(after, names),
                is_before=is_before,
                is_after=is_after,
                changed=_changed(change),
                digest=_digest(change),
                part=_part(change),
                before=texts(before) if with_values and before is not None else None,
                after=texts(after) if with_values and after is not None else None,
            )
        )


def quoted_rule(name: str) -> str:
    """Returns a filter rule that matches only this name."""
    return '"' + name.replace('"', '""') + '"'


def _name_test(job: TraceJob) -> Callable[[bytes], object] | None:
    """Returns a search for the table's name in a message; None if every message must be decoded."""
    _, table = job.table
    plain = job.options.compression == "none" and re.fullmatch(r"[0-9A-Za-z_]+", table)
    if not plain or not protocol_of(job.options).rows_name_their_table:
        return None
    return re.compile(re.escape(table.encode()), re.IGNORECASE).search


def _kind(change: RowChange) -> Kind:
    if change.before is None:
        return "insert"
    return "delete" if change.after is None else "update"


def _whole(before: Row | None, after: Row | None) -> Row | None:
    """Fills columns that an UPDATE's old row lacks: they did not change."""
    if before is None or after is None or len(before) >= len(after):
        return before
    return {**after, **before}


def _changed(change: RowChange) -> tuple[str, ...]:
    before, after = change.before, change.after
    if before is None or after is None:
        return ()
    return tuple(n for n, value in before.items() if n in after and after[n] != value)


def _part(change: RowChange) -> str:
    if change.claim_check is not None:
        return "its row is in a claim check"
    return "only its handle key was sent" if change.incomplete else ""


def _digest(change: RowChange) -> str:
    state = blake2b(digest_size=12)
    for image in (change.before, change.after):
        state.update(
            repr(None if image is None else sorted(image.items())).encode("utf-8", "replace")
        )
    return state.hexdigest()


def packed(records: Sequence[Mapping[str, object]]) -> pa.RecordBatch:
    """Returns the records as a batch."""
    texts_ = [orjson.dumps(record) for record in records]
    return pa.RecordBatch.from_arrays([pa.array(texts_, pa.binary())], schema=RECORDS)


def unpacked(records: pa.Table) -> tuple[list[Observation], TraceReport]:
    """Returns the observations of all tasks, and their merged reports."""
    observations, report = [], TraceReport()
    for record in records["record"].to_pylist():
        members = orjson.loads(record)
        if "messages" in members:
            report.add(members)
        else:
            members["changed"] = tuple(members["changed"])
            observations.append(Observation(**members))
    return observations, report


def trace(
    job: TraceJob, spans: Sequence[Span], read: Callable[[int], None] = lambda messages: None
) -> Iterator[pa.RecordBatch]:
    """Reads these spans, of different partitions; yields observations, then the report. `read` is
    called with the number of messages so far."""
    tracing = Tracing(job, spans)
    for _ in job.source.read(tracing, BATCH):
        read(tracing.report.messages)
        if tracing.observations:
            yield tracing.records()
    if tracing.observations:
        yield tracing.records()
    yield tracing.close()
