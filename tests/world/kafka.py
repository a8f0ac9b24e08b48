"""Kafka: topics, partitions, offsets, and what its clients see of them."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]
from ticdc_encoder.message import Message
from ticdc_torture.history import Topic as Created
from world.schedule import BEGIN, Fault, Scheduler


@dataclass(frozen=True, slots=True)
class Record:
    key: bytes | None
    value: bytes | None
    time: int


@dataclass
class Log:
    """One partition. Offsets without a record belong to markers of transactions."""

    records: dict[int, Record] = field(default_factory=dict)
    begin: int = 0
    end: int = 0
    sent: list[int] = field(default_factory=list)
    """The offsets of all records that there ever were."""


@dataclass(frozen=True)
class Lost:
    """What a fault takes away: of a partition, all records before the `records`-th."""

    kind: str
    topic: str = ""
    partition: int = 0
    records: int = 0


@dataclass
class Topic:
    id: int
    logs: list[Log]
    listed_from: float = BEGIN
    """When the brokers that are asked for all topics know of it."""


class Brokers:
    """All topics; `harmed` says what was lost of them, so that a consumer may have to stop. What a
    consumer never saw may not be lost: nobody could know. So a topic is harmed only once the
    checkpoint has it, which `restart` says; one whose offsets end early gets nothing more."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.topics: dict[str, Topic] = {}
        self.harmed: list[str] = []
        self.restart: Callable[[str, int], int | None] = lambda topic, partition: None
        """The offset at which the checkpoint has a partition read on."""
        self._frozen: set[tuple[str, int]] = set()
        self.silent_until = BEGIN
        self.has_ids = scheduler.rng.random() < 0.8
        self.gaps = scheduler.rng.choice([0.0, 0.0, 0.1])
        self._ids = 0
        self.delays: Callable[[Message], bool] = lambda message: False
        """Which messages come later than those that were produced after them."""
        self._delayed: list[Message] = []
        self.listing_lag: Callable[[str], float] = lambda topic: 0.0
        """For how many seconds listings lack a new topic."""
        self.missed = set[str]()
        """The topics that a listing lacked although they had messages."""
        self.compacts = False
        """Whether `cleanup.policy` is `compact`."""
        self.story: list[object] = []
        """All that the brokers took and lost, in its order, and whatever else is put there."""
        scheduler.handlers |= {
            "brokers are silent": self._fall_silent,
            "retention": self._retain,
            "truncation": self._truncate,
            "recreated topic": self._recreate,
            "deleted topic": self._delete,
            "compaction": self._compact,
        }

    def create(self, name: str, partitions: int) -> None:
        if name not in self.topics and (name, 0) not in self._frozen:
            self._ids += 1
            listed_from = self.scheduler.now + self.listing_lag(name)
            self.topics[name] = Topic(self._ids, [Log() for _ in range(partitions)], listed_from)
            self.story.append(Created(name, partitions))
            self.scheduler.say(f"topic {name} is created with {partitions} partitions")

    def produce(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if self.delays(message):
                self._delay(message)
                continue
            self._append([message])
            if self._delayed and self.scheduler.rng.random() < 0.2:
                self._append([self._delayed.pop(0)])

    def _delay(self, message: Message) -> None:
        if self.scheduler.rng.random() < 0.03:
            self.harmed.append("a message that was delayed is lost")
        else:
            self._delayed.append(message)

    def give_all(self) -> None:
        """Nothing is delayed any longer, and every topic is listed."""
        self.listing_lag = lambda topic: 0.0
        for topic in self.topics.values():
            topic.listed_from = BEGIN
        delayed, self._delayed = self._delayed, []
        self._append(delayed)

    def _append(self, messages: Iterable[Message]) -> None:
        rng = self.scheduler.rng
        for message in messages:
            topic = self.topics.get(message.topic)
            if topic is None or (message.topic, message.partition) in self._frozen:
                continue
            log = topic.logs[message.partition]
            if self.gaps and rng.random() < self.gaps:
                log.end += rng.randint(1, 2)
            time = int(self.scheduler.now * 1000)
            log.records[log.end] = Record(message.key, message.value, time)
            log.sent.append(log.end)
            self.story.append(message)
            log.end += 1

    @property
    def answers(self) -> bool:
        return self.scheduler.now >= self.silent_until

    def listed(self) -> dict[str, Topic]:
        """What a listing has now."""
        topics = dict(self.topics)
        for name, topic in self.topics.items():
            if self.scheduler.now < topic.listed_from:
                del topics[name]
                if any(log.sent for log in topic.logs):
                    self.missed.add(name)
        return topics

    @property
    def misses(self) -> bool:
        """Whether the checkpoint lacks a topic that a listing has lacked: R may be above rows of
        it, until they are met."""
        return any(self.restart(name, 0) is None for name in self.missed)

    # --- faults -------------------------------------------------------------------------------

    def _fall_silent(self, fault: Fault) -> None:
        self.silent_until = self.scheduler.now + fault.size % 90

    def _known(self, fault: Fault) -> tuple[str, int, int] | None:
        """A partition that the checkpoint has, and where it is read on."""
        places = [(name, n) for name, topic in self.topics.items() for n in range(len(topic.logs))]
        known = [(*place, at) for place in places if (at := self.restart(*place)) is not None]
        return sorted(known)[fault.size % len(known)] if known else None

    def _harm(self, fault: Fault, topic: str, *frozen: int) -> None:
        self.harmed.append(f"{fault.kind} of {topic}")
        self._frozen |= {(topic, number) for number in frozen}
        self.scheduler.say(self.harmed[-1])

    def look_again(self, why: str) -> None:
        """The checkpoint may need what was lost before."""
        for name, topic in self.topics.items():
            for number, log in enumerate(topic.logs):
                if log.begin > (self.restart(name, number) or 0):
                    self.harmed.append(f"{why}: {name}[{number}] begins too late")

    def hides_a_loss_from(self, restarts: Mapping[tuple[str, int], int]) -> bool:
        """Whether a consumer that reads on there could not know that a topic lost something."""
        for lost in (each for each in self.story if isinstance(each, Lost)):
            read_on = {n: at for (topic, n), at in restarts.items() if topic == lost.topic}
            if lost.kind == "truncation" and lost.topic in self.topics:
                end = self.topics[lost.topic].logs[lost.partition].end
                if read_on.get(lost.partition, 0) <= end:
                    return True
            elif lost.kind in ("recreated topic", "deleted topic") and not any(read_on.values()):
                return True
        return False

    def _retain(self, fault: Fault) -> None:
        if (known := self._known(fault)) is None:
            return
        name, number, restart = known
        log = self.topics[name].logs[number]
        log.begin += fault.size // 7 % (log.end - log.begin + 1)
        log.records = {o: record for o, record in log.records.items() if o >= log.begin}
        self.story.append(Lost(fault.kind, name, number, bisect_left(log.sent, log.begin)))
        if log.begin > restart:
            self._harm(fault, name)

    def _truncate(self, fault: Fault) -> None:
        known = self._known(fault)
        if known is not None and known[2]:
            name, number, restart = known
            log = self.topics[name].logs[number]
            log.end = fault.size // 7 % restart
            log.begin = min(log.begin, log.end)
            log.records = {o: record for o, record in log.records.items() if o < log.end}
            self.story.append(Lost(fault.kind, name, number))
            self._harm(fault, name, number)

    def _recreate(self, fault: Fault) -> None:
        known = self._known(fault)
        if known is not None and known[2] and self.has_ids:
            partitions = len(self.topics.pop(known[0]).logs)
            self.story.append(Lost(fault.kind, known[0]))
            self.create(known[0], partitions)
            self._harm(fault, known[0], *range(partitions))

    def _delete(self, fault: Fault) -> None:
        if (known := self._known(fault)) is not None:
            partitions = len(self.topics.pop(known[0]).logs)
            self.story.append(Lost(fault.kind, known[0]))
            self._harm(fault, known[0], *range(partitions))

    def _compact(self, fault: Fault) -> None:
        """Of the records of a key only the last stays."""
        self.compacts = True
        self.story.append(Lost(fault.kind))
        self.harmed.append("compaction")
        for log in (log for topic in self.topics.values() for log in topic.logs):
            newest = {record.key: offset for offset, record in log.records.items()}
            log.records = {
                offset: record
                for offset, record in log.records.items()
                if record.key is None or newest[record.key] == offset
            }


class ClientMessage:
    """Stands for librdkafka's message."""

    def __init__(
        self, place: tuple[str, int], offset: int, record: Record | None, error: int | None = None
    ) -> None:
        self._place, self._offset, self._record = place, offset, record
        self._error = None if error is None else KafkaError(error)

    def topic(self) -> str:
        return self._place[0]

    def partition(self) -> int:
        return self._place[1]

    def offset(self) -> int:
        return self._offset

    def error(self) -> KafkaError | None:
        return self._error

    def key(self) -> bytes | None:
        return self._record.key if self._record else None

    def value(self) -> bytes | None:
        return self._record.value if self._record else None

    def timestamp(self) -> tuple[int, int]:
        return 1, self._record.time if self._record else 0


class Client:
    """Stands for librdkafka's consumer with `auto.offset.reset = error` and ends of partitions."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._positions: dict[tuple[str, int], int] = {}
        self._ended: dict[tuple[str, int], int] = {}

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        self._positions, self._ended = {}, {}
        self.incremental_assign(partitions)

    def incremental_assign(self, partitions: Sequence[TopicPartition]) -> None:
        for each in partitions:
            self._positions[each.topic, each.partition] = each.offset

    def incremental_unassign(self, partitions: Sequence[TopicPartition]) -> None:
        for each in partitions:
            del self._positions[each.topic, each.partition]
            self._ended.pop((each.topic, each.partition), None)

    def unassign(self) -> None:
        self._positions, self._ended = {}, {}

    def close(self) -> None:
        self._positions = {}

    def commit(self, offsets: Sequence[TopicPartition], asynchronous: bool) -> None:
        if self._brokers.scheduler.door("group commit"):
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    def get_watermark_offsets(self, of: TopicPartition, cached: bool) -> tuple[int, int]:
        """As the last answer told them."""
        topic = self._brokers.topics.get(of.topic)
        return (topic.logs[0].begin, topic.logs[0].end) if topic else (-1001, -1001)

    def consume(self, count: int, wait: float) -> list[ClientMessage]:
        scheduler, brokers = self._brokers.scheduler, self._brokers
        faults = scheduler.door("poll")
        if not brokers.answers:
            return []
        messages: list[ClientMessage] = []
        for fault in faults:
            if self._positions:
                places = sorted(self._positions)
                place = places[fault.size % len(places)]
                messages.append(ClientMessage(place, 0, None, KafkaError._TRANSPORT))
        most = scheduler.rng.choice([1, 3, 20])
        for place in sorted(self._positions):
            messages += self._of(place, most)
        return messages

    def _of(self, place: tuple[str, int], most: int) -> Iterator[ClientMessage]:
        topic, position = self._brokers.topics.get(place[0]), self._positions[place]
        if topic is None or place[1] >= len(topic.logs):
            yield ClientMessage(place, position, None, KafkaError.UNKNOWN_TOPIC_OR_PART)
            return
        log = topic.logs[place[1]]
        if not log.begin <= position <= log.end:
            yield ClientMessage(place, position, None, KafkaError._AUTO_OFFSET_RESET)
            return
        while position < log.end and most:
            record = log.records.get(position)
            if record is not None:
                most -= 1
                yield ClientMessage(place, position, record)
            position += 1
        self._positions[place] = position
        if position == log.end and self._ended.get(place) != position:
            self._ended[place] = position
            yield ClientMessage(place, position, None, KafkaError._PARTITION_EOF)


class _Answer:
    """A future that has ended."""

    def __init__(self, value: object = None, error: int | None = None) -> None:
        self._value, self._error = value, error

    def result(self) -> Any:
        if self._error is not None:
            raise KafkaException(KafkaError(self._error))
        return self._value

    def exception(self) -> KafkaException | None:
        return None if self._error is None else KafkaException(KafkaError(self._error))


class Admin:
    """Stands for the AdminClient."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    def poll(self, timeout: float) -> int:
        return 0

    def _asked(self, door: str) -> bool:
        """Whether the brokers answer."""
        faults = self._brokers.scheduler.door(door)
        return not faults and self._brokers.answers

    def list_topics(self, timeout: float) -> Any:
        if not self._asked("list topics"):
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        topics = {
            name: SimpleNamespace(
                error=None,
                partitions={n: SimpleNamespace(leader=1) for n in range(len(topic.logs))},
            )
            for name, topic in self._brokers.listed().items()
        }
        return SimpleNamespace(controller_id=1, brokers={1: None}, topics=topics)

    def list_offsets(
        self, specs: Mapping[TopicPartition, OffsetSpec], request_timeout: float
    ) -> dict[TopicPartition, _Answer]:
        if not self._asked("list offsets"):
            return {each: _Answer(error=KafkaError._TIMED_OUT) for each in specs}
        return {each: self._offset(each, spec) for each, spec in specs.items()}

    def _offset(self, of: TopicPartition, spec: OffsetSpec) -> _Answer:
        topic = self._brokers.topics.get(of.topic)
        if topic is None or of.partition >= len(topic.logs):
            return _Answer(error=KafkaError.UNKNOWN_TOPIC_OR_PART)
        log = topic.logs[of.partition]
        earliest = spec is OffsetSpec.earliest()  # type: ignore[no-untyped-call]
        return _Answer(SimpleNamespace(offset=log.begin if earliest else log.end))

    def describe_topics(self, topics: Any, request_timeout: float) -> dict[str, _Answer]:
        if not self._brokers.has_ids:
            unsupported = KafkaError._UNSUPPORTED_FEATURE
            return {name: _Answer(error=unsupported) for name in topics.topic_names}
        if not self._asked("describe topics"):
            return {name: _Answer(error=KafkaError._TIMED_OUT) for name in topics.topic_names}
        return {name: self._description(name) for name in topics.topic_names}

    def _description(self, name: str) -> _Answer:
        topic = self._brokers.topics.get(name)
        if topic is None:
            return _Answer(error=KafkaError.UNKNOWN_TOPIC_OR_PART)
        return _Answer(SimpleNamespace(topic_id=f"id-{topic.id}"))

    def describe_configs(
        self, resources: Sequence[Any], request_timeout: float
    ) -> dict[Any, _Answer]:
        if not self._asked("describe configs"):
            return {each: _Answer(error=KafkaError._TIMED_OUT) for each in resources}
        answers = {}
        for each in resources:
            policy = "compact" if self._brokers.compacts else "delete"
            entries = {"cleanup.policy": SimpleNamespace(value=policy)}
            answers[each] = _Answer(entries)
        return answers
