"""The first messages of the partitions, as far as `check` needs them."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field

from confluent_kafka import Message as KafkaMessage
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange, Table
from ticdc_encoder.sql.parser import parse_ddl
from ticdc_encoder.sql.statements import (
    AlterSchema,
    Charset,
    CreateSchema,
    CreateTable,
    DropTable,
    RenameTable,
)

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import fault
from ticdc_consumer.protocols import decoder
from ticdc_consumer.protocols.protocol import located
from ticdc_consumer.protocols.schemas import SchemaKey
from ticdc_consumer.source.kafka.client import records_from
from ticdc_consumer.source.marks import TopicPartition

SAMPLE = 200
"""Messages of each partition that are decoded."""
SILENCE = 20.0
"""Seconds without a message after which the brokers count as unreachable."""


@dataclass(slots=True)
class Sample:
    """The first messages of the partitions: their contents, and their errors."""

    messages: dict[TopicPartition, int] = field(default_factory=dict)
    first_mark: dict[str, int] = field(default_factory=dict)
    """First mark of each topic, in its partition 0."""
    tables: dict[tuple[str, str], Table] = field(default_factory=dict)
    created: dict[tuple[str, str], Table] = field(default_factory=dict)
    created_ts: dict[tuple[str, str], int] = field(default_factory=dict)
    """The commit_ts of the newest CREATE TABLE."""
    charsets: dict[str, Charset] = field(default_factory=dict)
    """Charset of each schema by its newest statement, for tables that name none."""
    removed_ts: dict[tuple[str, str], int] = field(default_factory=dict)
    """The commit_ts of the newest DROP TABLE, or RENAME to another name."""
    used_ts: dict[tuple[str, str], int] = field(default_factory=dict)
    """The commit_ts of the newest row."""
    deletes_only: set[tuple[str, str]] = field(default_factory=set)
    claim_check: RowChange | None = None
    """The first row that is stored in a claim check."""
    handle_key_only: RowChange | None = None
    """The first row of which only the key was sent."""
    rows: int = 0
    with_before: bool = False
    """True if an UPDATE has its old row."""
    without_before: bool = False
    """True if an UPDATE lacks it."""
    unread: int = 0
    """Rows whose Simple schema is not among these messages."""
    schemas: tuple[Table, ...] = ()
    errors: list[TicdcError] = field(default_factory=list)

    def add(self, topic_partition: TopicPartition, event: Event) -> None:
        match event:
            case Resolved(resolved_ts):
                if topic_partition[1] == 0:
                    self.first_mark.setdefault(topic_partition[0], resolved_ts)
            case Ddl():
                self._add_ddl(event)
            case RowChange():
                self.rows += 1
                if event.before is not None and event.after is not None:
                    self.with_before |= bool(event.before)
                    self.without_before |= not event.before
                name = (event.table.schema, event.table.name)
                _raise(self.used_ts, name, event.commit_ts)
                if event.claim_check is not None:
                    self.claim_check = self.claim_check or event
                elif event.incomplete and event.after is not None:
                    self.handle_key_only = self.handle_key_only or event
                if event.after is not None and not event.incomplete:
                    self.tables[name] = event.table
                    self.deletes_only.discard(name)
                elif name not in self.tables:
                    self.tables[name] = event.table
                    self.deletes_only.add(name)

    def _add_ddl(self, ddl: Ddl) -> None:
        match parse_ddl(ddl.query, ddl.schema, self.charsets.get(ddl.schema)):
            case (
                CreateSchema(charset=Charset() as charset)
                | AlterSchema(charset=Charset() as charset)
            ):
                self.charsets[ddl.schema] = charset
            case CreateTable(table):
                name = ddl.schema, ddl.table
                self.created[name] = table
                _raise(self.created_ts, name, ddl.commit_ts)
            case DropTable(schema, table_name):
                _raise(self.removed_ts, (schema, table_name), ddl.commit_ts)
            case RenameTable(old, _):
                _raise(self.removed_ts, old, ddl.commit_ts)

    def is_removed_before(self, name: tuple[str, str], start: int) -> bool:
        """Returns whether upstream had dropped or renamed the table before `start`."""
        last = max(self.created_ts.get(name, 0), self.used_ts.get(name, 0))
        return last < self.removed_ts.get(name, 0) < start


def _raise(newest: dict[tuple[str, str], int], name: tuple[str, str], commit_ts: int) -> None:
    newest[name] = max(newest.get(name, 0), commit_ts)


def sample_of(
    options: Settings,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    stored: Mapping[SchemaKey, Table],
) -> Sample:
    """Reads the first messages from `starts` on. `stored` are the Simple schemas that the target
    has."""
    sample = Sample()
    decode = decoder(options, stored.values())
    unread = []
    for name, message in _first_messages(options.kafka, starts, ends):
        key, value = message.key(), message.value()
        sample.messages[name] = sample.messages.get(name, 0) + 1
        try:
            for event in decode(key, value):
                sample.add(name, event)
        except Exception as error:  # noqa: BLE001 - of any kind, it is a finding
            sample.errors.append(located(fault(error), *name, int(message.offset() or 0)))
        if decode.unread():
            unread.append((name, key, value))
    # The schema may be in another partition.
    for name, key, value in unread:
        for event in decode(key, value):
            sample.add(name, event)
        sample.unread += len(decode.unread())
    sample.schemas = (*stored.values(), *decode.new_schemas())
    return sample


def _first_messages(
    kafka: Mapping[str, str],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> Iterator[tuple[TopicPartition, KafkaMessage]]:
    """Yields at most `SAMPLE` records per partition."""
    left = {name: SAMPLE for name, start in starts.items() if start < ends[name]}
    if not left:
        return
    starts = {name: starts[name] for name in left}
    with closing(records_from(kafka, starts, 1000, SILENCE)) as records:
        for name, message in records:
            if message is None:
                left.pop(name, None)
            elif name in left:
                yield name, message
                left[name] -= 1
                if not left[name]:
                    del left[name]
            if not left:
                return
