"""TiCDC: nodes that send tables, one that sends DDL and resolved ts, and all their disturbances.

The contract, and no more: a row or DDL with commit_ts < R is acknowledged before R is produced
anywhere, and a node sends the rows of one table in their order. Nodes restart and repeat what they
sent, two of them may send one table, resolved ts lag, go back and differ by partition; topics are
created with their table.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Protocol

from ticdc_encoder import Changefeed
from ticdc_encoder.event import RowChange
from ticdc_encoder.message import Message

from ticdc_torture.upstream import Event, Model, TiDB

VERSIONS = ("7.5.3", "8.1.1 raw", "8.5.3", "8.5.7 new", "8.5.7 new raw")
"""Releases that split UPDATEs by different rules; the words name architecture and settings."""
PARTITIONS = ("table", "index-value", "ts", "default")


class Brokers(Protocol):
    """Receiver of a changefeed's messages."""

    def create(self, name: str, partitions: int) -> None:
        """Creates a topic unless it exists."""

    def produce(self, messages: Iterable[Message]) -> None:
        """Produces the messages in order; they are acknowledged when it returns."""


@dataclass(frozen=True)
class Feed:
    """The settings of a changefeed."""

    protocol: str
    version: str
    partition: str
    partitions: int
    per_table: bool
    """True if each table has its own topic."""
    topic: str = "main"
    """Topic of the resolved ts, and of tables without their own."""
    keyless: bool = False
    """True if tables without a key are sent."""
    row_keys: bool = False
    """True if each change names TiKV's key of its row, if the protocol can (Canal-JSON)."""

    @classmethod
    def of(
        cls, rng: Random, protocol: str, topic: str = "main", per_table: bool | None = None
    ) -> "Feed":
        """Chooses any release and dispatcher that the protocol has; without `per_table`, either."""
        versions = [v for v in VERSIONS if protocol != "simple" or v[0] == "8"]
        if protocol == "debezium":
            versions = [v for v in versions if "new" in v]
        version, partition = rng.choice(versions), rng.choice(PARTITIONS)
        partitions, either = rng.choice([1, 2, 3]), rng.random() < 0.5
        each = either if per_table is None else per_table
        return cls(protocol, version, partition, partitions, each, topic)

    def open(self) -> Changefeed:
        number, *words = self.version.split()
        dispatcher: dict[str, object] = {"matcher": ["*.*"], "partition": self.partition}
        if self.per_table:
            dispatcher["topic"] = "{schema}_{table}"
        extends = self.protocol in ("canal-json", "debezium")
        extension = "&enable-tidb-extension=true" if extends else ""
        if self.row_keys:
            extension += "&output-row-key=true"
        return Changefeed(
            f"kafka://h/{self.topic}?protocol={self.protocol}&partition-num={self.partitions}{extension}",
            {
                "force-replicate": self.keyless,
                "sink": {
                    "dispatchers": [dispatcher],
                    "kafka-config": {"output-raw-change-event": "raw" in words},
                },
            },
            number,
            new_architecture="new" in words,
            clock=lambda: 0,
        )


@dataclass(eq=False)
class Node:
    """`next` is the position in the events of each table that it sends, `queue` the rest to produce
    of the current one."""

    changefeed: Changefeed
    next: dict[Model, int] = field(default_factory=dict)
    queue: list[Message] = field(default_factory=list)
    at: Model | None = None


class TiCDC:
    """`step` does one thing, and says whether there is more to do; `goal` is the last resolved
    ts."""

    def __init__(
        self,
        rng: Random,
        upstream: TiDB,
        brokers: Brokers,
        feed: Feed,
        say: Callable[[str], object],
        since: int = 0,
    ) -> None:
        """`say` gets a description of each step. Nothing with a commit_ts below `since` is sent."""
        self.rng, self.upstream, self.brokers, self.feed = rng, upstream, brokers, feed
        self.say, self.since = say, since
        self.goal = upstream.ts + 1 + rng.randint(0, 3)
        first = min([self.goal, *(e.commit_ts for m in upstream.models for e in m.events)])
        self.resolved = max(first, since)
        self.over = False
        self._sent: dict[Model, int] = {m: self._first(m, since) for m in upstream.models}
        """The events of each table that all brokers have acknowledged, from the first on."""
        self._late: list[Message] = []
        self._lag = rng.choice([0.0, 0.3, 0.8])
        self._jumbles = rng.random() < 0.3
        """True if a transaction's rows are sent in any order, which TiCDC does not do."""
        self._events = sorted(
            {event for model in upstream.models for event in model.events if event.ddls},
            key=lambda event: event.number,
        )
        self._start(self.resolved)

    @property
    def latest(self) -> int:
        """The greatest commit_ts of which something may have been sent."""
        return max(
            (e.commit_ts for m, sent in self._sent.items() for e in m.events[: sent + 1]), default=0
        )

    # --- nodes --------------------------------------------------------------------------------

    def _start(self, checkpoint: int) -> None:
        """Starts all nodes again from a checkpoint."""
        self.owner = self.feed.open()
        self.nodes = [Node(self.feed.open()) for _ in range(self.rng.choice([1, 1, 2]))]
        for event in self._events:
            for ddl in event.ddls if event.commit_ts < checkpoint else ():
                self.owner.ddl(ddl)
        for model in self.upstream.models:
            self.rng.choice(self.nodes).next[model] = self._start_of(model, checkpoint)
        self._create_topics()

    def _start_of(self, model: Model, checkpoint: int) -> int:
        """The first event to send of a table: it may be a little before the checkpoint."""
        first = self._first(model, checkpoint) - self.rng.choice([0, 0, 1])
        return max(self._first(model, self.since), first)

    def _first(self, model: Model, ts: int) -> int:
        """The first event of a table that is not below a ts."""
        events = model.events
        return next((n for n, e in enumerate(events) if e.commit_ts >= ts), len(events))

    def restart(self, size: int) -> None:
        """Ends all nodes, and starts them again from the resolved ts or a little before it."""
        back = max(self.since, min(self.resolved - size % 4, self.goal - 1))
        self.say(f"TiCDC restarts from {back}")
        self._late, self.resolved, self.over = [], back, False
        self._start(back)

    def move(self, size: int) -> None:
        """Makes another node send a table from the checkpoint on; the first may continue for a
        while.
        """
        model = self.upstream.models[size % len(self.upstream.models)]
        node = Node(self.feed.open(), {model: self._start_of(model, self.resolved)})
        if size % 3:
            for other in self.nodes:
                other.next.pop(model, None)
                if other.at is model:
                    other.at, other.queue = None, []
        self.nodes.append(node)
        self.over = False

    def go_back(self, size: int) -> None:
        """Sends a resolved ts that is lower than the last."""
        self._produce(self.owner.resolve(max(1, self.resolved - 1 - size % 9)))

    # --- messages -----------------------------------------------------------------------------

    def _create_topics(self) -> None:
        for topic, partitions in self.owner.topics.items():
            self.brokers.create(topic, partitions)

    def _produce(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.brokers.create(message.topic, self.feed.partitions)
            self.brokers.produce([message])

    def send(self, change: RowChange) -> None:
        """Sends a change that is in no table's events, by a node of its own, to any partition."""
        changefeed = self.feed.open()
        messages = [*changefeed.stream([change], change.commit_ts), *changefeed.flush()]
        partition = self.rng.randrange(self.feed.partitions)
        self._produce(replace(message, partition=partition) for message in messages)

    def step(self) -> bool:
        choices: list[Callable[[], None]] = [
            partial(self._send, node, model)
            for node in self.nodes
            for model in ([node.at] if node.at is not None else node.next)
            if node.at is not None or self._can_send(node, model)
        ]
        behind = bool(choices)
        if self._late:
            choices.append(self._send_late)
        if self.resolved < self.goal:
            choices.append(self._resolve)
        if choices:
            self.rng.choice(choices)()
        self.over = not behind and not self._late and self.resolved >= self.goal
        return not self.over

    def _can_send(self, node: Node, model: Model) -> bool:
        index = node.next[model]
        if index >= len(model.events):
            return False
        event = model.events[index]
        # A DDL, and later events of its table, wait until all earlier ones are sent.
        bar = event.number
        if not event.rows or (index and not model.events[index - 1].rows):
            return all(
                other.events[sent].number >= bar
                for other, sent in self._sent.items()
                if sent < len(other.events) and other is not model
            )
        return True

    def _send(self, node: Node, model: Model) -> None:
        """Sends one message, or all that is left of an event of the table."""
        if node.at is None:
            node.at, node.queue = model, list(self._messages(node, model.events[node.next[model]]))
            if self._jumbles and model.events[node.next[model]].rows:
                self.rng.shuffle(node.queue)
        most = self.rng.choice([1, len(node.queue)])
        self._produce(node.queue[:most])
        del node.queue[:most]
        if not node.queue:
            node.at = None
            node.next[model] += 1
            self._sent[model] = max(self._sent[model], node.next[model])
            self._create_topics()

    def _messages(self, node: Node, event: Event) -> Iterator[Message]:
        for ddl in event.ddls:
            self.say(f"DDL of {ddl.commit_ts} is sent: {ddl.query}")
            yield from self.owner.ddl(ddl)
        if event.rows:
            self.say(f"{len(event.rows)} changes of {event.commit_ts} are sent")
            yield from node.changefeed.stream(event.rows, event.commit_ts, net=True)
            yield from node.changefeed.flush()

    def _send_late(self) -> None:
        self._produce([self._late.pop(0)])

    def _resolve(self) -> None:
        """Sends any ts below which all is sent."""
        waiting = [
            model.events[sent].commit_ts
            for model, sent in self._sent.items()
            if sent < len(model.events)
        ]
        bound = min(waiting, default=self.goal)
        if bound <= self.resolved:
            return
        exact = [e.commit_ts for m in self.upstream.models for e in m.events]
        between = [ts for ts in exact if self.resolved < ts <= bound]
        self.resolved = self.rng.choice([bound, *between, self.resolved + 1])
        self.say(f"resolved ts {self.resolved} is sent")
        for message in self.owner.resolve(self.resolved):
            if self.rng.random() < self._lag:
                self._late.append(message)
            else:
                self._produce([message])


def topics(feed: Feed, schema: str) -> tuple[str, ...]:
    """Topics for a consumer's settings, or regular expressions of them."""
    return (feed.topic, f"^{schema}_.*") if feed.per_table else (feed.topic,)
