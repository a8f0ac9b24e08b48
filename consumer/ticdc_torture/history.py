"""A history from a seed: all upstream events, and all that a changefeed sends of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from ticdc_encoder.message import Message

from ticdc_torture.changefeed import Feed, TiCDC, topics
from ticdc_torture.upstream import SCHEMA, Contents, TiDB

PROTOCOLS = ("canal-json", "open-protocol", "simple", "debezium")
TABLES = 3
"""Number of tables in a history without DDL."""
OF_DDL = 0.08
TROUBLES = ("restart", "move", "go_back")
MOST_TROUBLES = 12
DUPLICATES = 0.02


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that is created at this moment."""

    name: str
    partitions: int


Step = Topic | Message

TableState = tuple[str, tuple[str, ...], tuple[tuple[str | None, ...], ...]]
State = tuple[TableState, ...]
"""Name, columns and rows of each table, all sorted; every value as its text."""


@dataclass(frozen=True, kw_only=True)
class HistoryPlan:
    """Parameters of a history. `ddl`: the log creates the tables and changes them; else they exist
    before it begins."""

    seed: int
    protocol: str
    transactions: int = 200
    ddl: bool = False
    per_table: bool = False
    schema: str = SCHEMA
    topic: str = "torture"


class History:
    """`log` are topics and messages in the order in which brokers get them; `goal` is the last
    resolved ts; `since` is the first ts of the changefeed."""

    def __init__(self, plan: HistoryPlan) -> None:
        self.plan = plan
        self.tidb = TiDB(plan.protocol != "debezium", plan.schema)
        self.since = 0
        self.definitions: dict[str, str] = {}
        """CREATE TABLE of each table that exists before the log begins."""
        rng = Random(f"{plan.seed} upstream")
        if not plan.ddl:
            self.tidb.create(rng, TABLES)
            self.since = self.tidb.ts + 1
            models = self.tidb.tables.items()
            self.definitions = {name: model.create(name) for name, model in models}
        for _ in range(plan.transactions):
            self.tidb.step(rng, OF_DDL if plan.ddl else 0.0)
        self.log = _Log(Random(f"{plan.seed} producer"))
        rng = Random(f"{plan.seed} changefeed")
        feed = Feed.of(rng, plan.protocol, plan.topic, plan.per_table)
        self.topics = topics(feed, plan.schema)
        cdc = TiCDC(rng, self.tidb, self.log, feed, lambda words: None, self.since)
        _send(cdc, Random(f"{plan.seed} troubles"))
        self.goal = cdc.goal
        self.steps: list[Step] = self.log.steps

    def states(self) -> list[tuple[int, State]]:
        """The tables' contents from each commit_ts on; the first is the initial one."""
        contents = self.tidb.states
        begin = [] if self.definitions else [(0, ())]
        return [*begin, *((ts, canonical(tables)) for ts, tables in contents)]


def canonical(contents: Contents) -> State:
    """One form for equal contents, whatever types hold them."""
    return tuple(
        (name, columns, sorted_rows(rows)) for name, (columns, rows) in sorted(contents.items())
    )


def sorted_rows(rows: Iterable[Iterable[Any]]) -> tuple[tuple[str | None, ...], ...]:
    """Values as their texts, rows in one order."""
    texts = [tuple(None if value is None else str(value) for value in row) for row in rows]
    return tuple(sorted(texts, key=repr))


class _Log:
    """Brokers that record what they get; some messages come twice."""

    def __init__(self, rng: Random) -> None:
        self.steps: list[Step] = []
        self._rng = rng
        self._names: set[str] = set()

    def create(self, name: str, partitions: int) -> None:
        if name not in self._names:
            self._names.add(name)
            self.steps.append(Topic(name, partitions))

    def produce(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.steps.append(message)
            if self._rng.random() < DUPLICATES:
                self.steps.append(message)


def _send(cdc: TiCDC, rng: Random) -> None:
    """Sends all, with restarts of TiCDC, tables that move and resolved ts that go back."""
    troubles = 0
    while cdc.step():
        if troubles < MOST_TROUBLES and rng.random() < 0.01:
            troubles += 1
            getattr(cdc, rng.choice(TROUBLES))(rng.randrange(1 << 20))
