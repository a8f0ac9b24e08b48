"""What `check` looks at: the source, a sample of its messages, the target."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Literal

from confluent_kafka import Message as KafkaMessage
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange, Table
from ticdc_encoder.sql.parser import CreateTable, parse_ddl

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols import decoder
from ticdc_consumer.protocols.protocol import located
from ticdc_consumer.protocols.schemas import SchemaKey
from ticdc_consumer.source import Source, open_source
from ticdc_consumer.source.kafka.client import records_from
from ticdc_consumer.source.listing import Listing
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.state.store import Checkpoint, Store
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target

SAMPLE = 200
"""Messages of each partition that are decoded."""
SILENCE = 20.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `check`. `exit_code` is what a failure alone would end the command with."""

    level: Literal["ok", "warn", "fail"]
    subject: str
    text: str
    exit_code: int = 0

    def __str__(self) -> str:
        return f"{self.level:<4}  {self.subject}: {self.text}"


def ok(subject: str, text: str) -> Finding:
    return Finding("ok", subject, text)


def warn(subject: str, text: str) -> Finding:
    return Finding("warn", subject, text)


def fail(subject: str, text: str, exit_code: int = Stop.exit_code) -> Finding:
    return Finding("fail", subject, text, exit_code)


@dataclass(slots=True)
class Sample:
    """The first messages of the partitions: what they contain, and what is wrong with them."""

    messages: dict[TopicPartition, int] = field(default_factory=dict)
    first_mark: dict[str, int] = field(default_factory=dict)
    """By topic, of its partition 0."""
    tables: dict[tuple[str, str], Table] = field(default_factory=dict)
    created: dict[tuple[str, str], Table] = field(default_factory=dict)
    deletes_only: set[tuple[str, str]] = field(default_factory=set)
    claim_check: RowChange | None = None
    """The first row that lies in a claim check."""
    handle_key_only: RowChange | None = None
    """The first row of which no more than its key was sent."""
    rows: int = 0
    with_before: bool = False
    """Whether an UPDATE has its old row."""
    without_before: bool = False
    """Whether an UPDATE lacks it."""
    unread: int = 0
    """Rows whose schema (Simple's) is not among these messages."""
    schemas: tuple[Table, ...] = ()
    errors: list[TicdcError] = field(default_factory=list)

    def add(self, topic_partition: TopicPartition, event: Event) -> None:
        match event:
            case Resolved(resolved_ts):
                if topic_partition[1] == 0:
                    self.first_mark.setdefault(topic_partition[0], resolved_ts)
            case Ddl():
                statement = parse_ddl(event.query, event.schema)
                if isinstance(statement, CreateTable):
                    self.created[event.schema, event.table] = statement.table
            case RowChange():
                self.rows += 1
                if event.before is not None and event.after is not None:
                    self.with_before |= bool(event.before)
                    self.without_before |= not event.before
                name = (event.table.schema, event.table.name)
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


class Premises:
    """Source and target as far as they can be reached; each is asked for once.

    `source`, `listing`, `begins`, `sample`, `target` are None until the check for them has
    reached them.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.listing: Listing | None = None
        self.begins: Mapping[TopicPartition, int] = {}
        self.source: Source | None = None
        self.sample: Sample | None = None
        self.target: Target | None = None
        self.checkpoint: Checkpoint | None = None

    def close(self) -> None:
        for opened in (self.source, self.target):
            if opened is not None:
                opened.close()

    def open_source(self) -> Source:
        self.source = open_source(self.options)
        return self.source

    def list_topics(self) -> Listing:
        source = self.open_source()
        self.listing = source.list()
        self.begins = source.begins(self.listing.ends)
        return self.listing

    def open_target(self) -> Target:
        self.target = open_target(self.options.target_url, to_look=True)
        self.read_checkpoint()
        return self.target

    def read_checkpoint(self) -> Checkpoint | None:
        """The checkpoint as it is now, which a consumer that runs may move."""
        assert self.target is not None
        self.checkpoint = Store(self.target, self.options.changefeed).read()
        return self.checkpoint

    def take_sample(self) -> Sample:
        """Reads the first messages that a run would read, or that the log still has."""
        sample = Sample()
        starts = dict(self.begins)
        for name, position in (self.checkpoint.positions if self.checkpoint else {}).items():
            if name in starts:
                starts[name] = max(starts[name], position.restart_offset)
        stored: Mapping[SchemaKey, Table] = {}
        if self.target is not None:
            stored = Store(self.target, self.options.changefeed).schemas()
        decode = decoder(self.options, stored.values())
        unread = []
        for name, message in self._first_messages(starts):
            key, value = message.key(), message.value()
            sample.messages[name] = sample.messages.get(name, 0) + 1
            try:
                for event in decode(key, value):
                    sample.add(name, event)
            except TicdcError as error:
                sample.errors.append(located(error, *name, int(message.offset() or 0)))
            if decode.unread():
                unread.append((name, key, value))
        # The schema may be in another partition.
        for name, key, value in unread:
            for event in decode(key, value):
                sample.add(name, event)
            sample.unread += len(decode.unread())
        sample.schemas = (*stored.values(), *decode.new_schemas())
        self.sample = sample
        return sample

    def _first_messages(
        self, starts: Mapping[TopicPartition, int]
    ) -> Iterator[tuple[TopicPartition, KafkaMessage]]:
        """At most `SAMPLE` records per partition."""
        assert self.listing is not None
        left = {name: SAMPLE for name, start in starts.items() if start < self.listing.ends[name]}
        if not left:
            return
        starts = {topic_partition: starts[topic_partition] for topic_partition in left}
        with closing(records_from(self.options.kafka, starts, 1000, SILENCE)) as records:
            for topic_partition, message in records:
                if message is None:
                    left.pop(topic_partition, None)
                elif topic_partition in left:
                    yield topic_partition, message
                    left[topic_partition] -= 1
                    if not left[topic_partition]:
                        del left[topic_partition]
                if not left:
                    return
