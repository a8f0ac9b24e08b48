"""What `check` looks at: brokers, a sample of their messages, the target."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from confluent_kafka import Consumer, KafkaError, TopicPartition
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange, Table
from ticdc_encoder.sql.parser import CreateTable, parse_ddl

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop, Unavailable
from ticdc_consumer.plan import Place
from ticdc_consumer.protocols import decoder
from ticdc_consumer.protocols.protocol import located
from ticdc_consumer.protocols.schemas import SchemaKey
from ticdc_consumer.source.kafka.brokers import Cluster, Listing, consumer_settings
from ticdc_consumer.source.kafka.scout import consume_error
from ticdc_consumer.source.storage.source import StorageSource
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.store import Store
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
    """The first messages of the partitions: what they say, and what is wrong with them."""

    messages: dict[Place, int] = field(default_factory=dict)
    first_time: dict[Place, int] = field(default_factory=dict)
    """Kafka's timestamp (ms) of the first message, by partition."""
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
    """Whether there is an UPDATE with its old row."""
    without_before: bool = False
    """Whether there is one without."""
    unread: int = 0
    """Rows whose schema (Simple's) is not among these messages."""
    schemas: tuple[Table, ...] = ()
    errors: list[TicdcError] = field(default_factory=list)

    def meet(self, place: Place, event: Event) -> None:
        match event:
            case Resolved(resolved_ts):
                if place[1] == 0:
                    self.first_mark.setdefault(place[0], resolved_ts)
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
    """Brokers and target as far as they can be reached; each is asked for once.

    `listing`, `begins`, `storage`, `sample`, `target` are None until the check whose subject they
    are has found them.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.listing: Listing | None = None
        self.begins: Mapping[Place, int] = {}
        self.storage: StorageSource | None = None
        self.sample: Sample | None = None
        self.target: Target | None = None
        self.checkpoint: Checkpoint | None = None

    def close(self) -> None:
        if self.target is not None:
            self.target.close()

    def list_topics(self) -> Listing:
        cluster = Cluster(self.options.kafka, self.options.topics)
        try:
            self.listing = cluster.list()
            self.begins = cluster.begins(self.listing.ends)
        finally:
            cluster.close()
        return self.listing

    def open_target(self) -> Target:
        self.target = open_target(self.options.target_url, to_look=True)
        self.checkpoint = Store(self.target, self.options.changefeed).read()
        return self.target

    def take_sample(self) -> Sample:
        """Reads the first messages that a run would read, or that are still there."""
        sample = Sample()
        starts = dict(self.begins)
        for place, position in (self.checkpoint.positions if self.checkpoint else {}).items():
            if place in starts:
                starts[place] = max(starts[place], position.restart_offset)
        stored: Mapping[SchemaKey, Table] = {}
        if self.target is not None:
            stored = Store(self.target, self.options.changefeed).schemas()
        decode = decoder(self.options, stored.values())
        unread = []
        for place, key, value, offset, time in self._first_messages(starts):
            sample.messages[place] = sample.messages.get(place, 0) + 1
            sample.first_time.setdefault(place, time)
            try:
                for event in decode(key, value):
                    sample.meet(place, event)
            except TicdcError as error:
                sample.errors.append(located(error, *place, offset))
            if decode.unread():
                unread.append((place, key, value))
        # Another partition may have told the schema.
        for place, key, value in unread:
            for event in decode(key, value):
                sample.meet(place, event)
            sample.unread += len(decode.unread())
        sample.schemas = (*stored.values(), *decode.new_schemas())
        self.sample = sample
        return sample

    def _first_messages(
        self, starts: Mapping[Place, int]
    ) -> Iterator[tuple[Place, bytes | None, bytes | None, int, int]]:
        """At most `SAMPLE` records per partition."""
        assert self.listing is not None
        left = {
            place: SAMPLE for place, start in starts.items() if start < self.listing.ends[place]
        }
        if not left:
            return
        consumer = Consumer(consumer_settings(self.options.kafka))
        try:
            consumer.assign([TopicPartition(*place, starts[place]) for place in left])
            silence = 0.0
            while left:
                messages = consumer.consume(1000, 0.2)
                silence = 0.0 if messages else silence + 0.2
                if silence > SILENCE:
                    raise Unavailable(f"the brokers gave nothing for {SILENCE:.0f} s")
                for message in messages:
                    place = (str(message.topic()), int(message.partition() or 0))
                    offset = int(message.offset() or 0)
                    error = message.error()
                    if place not in left:
                        continue
                    if error is None:
                        yield (
                            place,
                            message.key(),
                            message.value(),
                            offset,
                            int(message.timestamp()[1]),
                        )
                        left[place] -= 1
                        if not left[place]:
                            del left[place]
                    elif error.code() == KafkaError._PARTITION_EOF:
                        del left[place]
                    elif problem := consume_error(error, *place, starts[place]):
                        raise problem
        finally:
            consumer.close()
