"""A small upstream with a random history, and its topic as TiCDC's contract allows it to look.

The contract, and no more: a row or DDL with commit_ts < R is in the log, somewhere, before R is
produced anywhere. Else everything may happen: any partition, any order, copies, marks that go
back, partitions without marks, rows that come long before the mark that covers them, rows and DDL
whose commit_ts equals a resolved ts. Simple's schemas come before or long after the rows that need
them, in partition 0 or in all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from confluent_kafka import KafkaError, TopicPartition
from ticdc_consumer.source.listing import Listing
from ticdc_encoder.column import Column, ColumnType, Index
from ticdc_encoder.event import Ddl, Resolved, Row, RowChange, Table
from ticdc_encoder.formats import FORMATS

TOPIC = "world"
FAR = 1000
"""Between two resolved ts: commit times of a real upstream are not reached in small steps."""

SINGLE = Table.define(
    "w",
    "single",
    (Column("id", ColumnType("int"), nullable=False), Column("v", ColumnType("varchar", length=9))),
    (Index("primary", ("id",), unique=True, primary=True),),
)
UNIQUE = Table.define(
    "w",
    "uniq",
    (
        Column("a", ColumnType("int"), nullable=False),
        Column("b", ColumnType("varchar", length=9), nullable=False),
        Column("u", ColumnType("int")),
        Column("v", ColumnType("int")),
    ),
    (
        Index("primary", ("a", "b"), unique=True, primary=True),
        Index("uku", ("u",), unique=True),
    ),
)
TABLES = (SINGLE, UNIQUE)
SQL = (
    "CREATE TABLE single (id INTEGER NOT NULL PRIMARY KEY, v TEXT)",
    "CREATE TABLE uniq (a INTEGER NOT NULL, b TEXT NOT NULL, u INTEGER UNIQUE, v INTEGER,"
    " PRIMARY KEY (a, b))",
)
State = dict[str, dict[int, Row]]
"""Table -> hidden row id -> row."""


@dataclass(slots=True)
class Record:
    """A record of the log; `born` is its place on the common time line."""

    partition: int
    key: bytes | None
    value: bytes | None
    born: int


@dataclass
class World:
    rng: Random
    partitions: int
    log: list[Record] = field(default_factory=list)
    history: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    """(commit_ts, contents after it)"""
    marks: list[int] = field(default_factory=list)
    empty: dict[str, Any] = field(default_factory=dict)

    def at(self, end: int) -> dict[str, Any]:
        """The upstream's contents with all commit_ts < `end`."""
        contents = self.empty
        for commit_ts, after in self.history:
            if commit_ts < end:
                contents = after
        return contents


def make_world(rng: Random, protocol: str, transactions: int = 12) -> World:
    nothing: dict[str, Any] = {table.name: [] for table in TABLES}
    world = World(rng, partitions=rng.choice([1, 2, 3]), empty=nothing)
    changes = list(_history(world, transactions))
    lay_out(world, protocol, changes)
    return world


def _history(world: World, transactions: int) -> Iterator[RowChange | Ddl]:
    rng, ts, ids = world.rng, 10, 0
    state: State = {table.name: {} for table in TABLES}
    for _ in range(transactions):
        ts += rng.choice([1, 1, 2, 5])
        if rng.random() < 0.08:
            table = rng.choice(TABLES)
            state[table.name] = {}
            yield Ddl("w", table.name, f"TRUNCATE TABLE `w`.`{table.name}`", ts, 11)
        else:
            table = rng.choice(TABLES)
            before = dict(state[table.name])
            for _ in range(rng.randint(1, 4)):
                ids = _mutate(rng, table, state, ids)
            yield from _changes(rng, table, before, state[table.name], ts)
        world.history.append((ts, _contents(state)))


def _contents(state: State) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: sorted((tuple(row.values()) for row in rows.values()), key=repr)
        for name, rows in state.items()
    }


def _mutate(rng: Random, table: Table, state: State, ids: int) -> int:
    """One statement, undone where it would break a unique key: swaps are several in one."""
    rows = dict(state[table.name])
    match rng.choice(["insert", "insert", "update", "delete", "key", "swap", "reinsert"]):
        case "insert":
            ids += 1
            rows[ids] = _row(rng, table)
        case "delete" if rows:
            del rows[rng.choice(sorted(rows))]
        case "update" if rows:
            one = rng.choice(sorted(rows))
            rows[one] = {**rows[one], "v": _row(rng, table)["v"]}
        case "key" if rows:
            one = rng.choice(sorted(rows))
            rows[one] = _row(rng, table)
        case "reinsert" if rows:
            ids += 1
            rows[ids] = rows.pop(rng.choice(sorted(rows)))
        case "swap" if len(rows) > 1:
            some = rng.sample(sorted(rows), min(len(rows), rng.choice([2, 3, 4])))
            columns = (
                rng.choice([("u",), ("a", "b"), ("a", "b", "u")]) if table is UNIQUE else ("id",)
            )
            taken = [{c: rows[i][c] for c in columns} for i in some]
            for one, values in zip(some, taken[1:] + taken[:1], strict=True):
                rows[one] = {**rows[one], **values}
        case _:
            pass
    if _valid(table, rows):
        state[table.name] = rows
    return ids


def _row(rng: Random, table: Table) -> Row:
    if table is SINGLE:
        return {"id": rng.randint(1, 5), "v": rng.choice(["x", "y", None])}
    return {
        "a": rng.randint(1, 2),
        "b": rng.choice(["p", "q", "r"]),
        "u": rng.choice([None, 1, 2, 3, 4]),
        "v": rng.randint(0, 9),
    }


def _valid(table: Table, rows: Mapping[int, Row]) -> bool:
    for index in table.indexes:
        keys = [tuple(row[c] for c in index.columns) for row in rows.values()]
        keys = [key for key in keys if None not in key]
        if len(keys) != len(set(keys)):
            return False
    return True


def _changes(
    rng: Random, table: Table, before: Mapping[int, Row], after: Mapping[int, Row], ts: int
) -> Iterator[RowChange]:
    for one in sorted({*before, *after}):
        old, new = before.get(one), after.get(one)
        if old == new:
            continue
        if old and new and rng.random() < 0.5:
            yield RowChange(table, ts, before=old)
            yield RowChange(table, ts, after=new)
        else:
            yield RowChange(table, ts, before=old, after=new)


def lay_out(world: World, protocol: str, changes: Sequence[RowChange | Ddl]) -> None:
    rng = world.rng
    wire_format = FORMATS[protocol]
    encoder = wire_format.Encoder(wire_format.Options(new_architecture=True), lambda: 0)
    schemas = _Schemas(changes) if protocol == "simple" else None
    marked = [0, *(p for p in range(1, world.partitions) if rng.random() < 0.7)]
    waiting = list(changes)
    sent: list[RowChange | Ddl] = []
    late: list[tuple[int, int]] = []
    last = changes[-1].commit_ts if changes else 10
    resolved = 10

    def append(partition: int, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        for key, value in records:
            world.log.append(Record(partition, key, value, len(world.log)))

    def send(partition: int, event: RowChange | Ddl | Resolved) -> None:
        match event:
            case RowChange():
                append(partition, [*encoder.row(event), *encoder.flush()])
            case Ddl():
                append(partition, [encoder.ddl(event)])
            case _:
                append(partition, [encoder.resolved(event)])

    def bootstrap(partitions: Iterable[int], table: Table) -> None:
        for partition in partitions:
            append(partition, [encoder.bootstrap(table)])  # type: ignore[attr-defined]

    def send_change(event: RowChange | Ddl) -> None:
        if schemas is not None:
            event = schemas.versioned(event)
            if isinstance(event, RowChange) and rng.random() < 0.2:
                bootstrap(rng.choice([[0], range(world.partitions)]), event.table)
        if isinstance(event, Ddl):
            for partition in range(1 if protocol == "canal-json" else world.partitions):
                send(partition, event)
        else:
            send(rng.randrange(world.partitions), event)

    while resolved <= last:
        exact = [c.commit_ts for c in waiting[:6]]
        if not exact and last - resolved > FAR:
            exact = [last + 1]
        resolved = rng.choice([resolved + rng.randint(1, 9), *(t for t in exact if t > resolved)])
        due = [c for c in waiting if c.commit_ts < resolved]
        early = [c for c in waiting if c.commit_ts >= resolved and rng.random() < 0.2]
        again = [c for c in sent if rng.random() < 0.15]
        batch = due + early + again
        rng.shuffle(batch)
        for event in batch:
            while late and rng.random() < 0.4:
                send(late[0][0], Resolved(late.pop(0)[1]))
            send_change(event)
        waiting = [c for c in waiting if c not in due and c not in early]
        sent += due + early
        world.marks.append(resolved)
        for partition in marked:
            if rng.random() < 0.7:
                send(partition, Resolved(resolved))
            else:
                late.append((partition, resolved))
        if rng.random() < 0.2:
            send(rng.choice(marked), Resolved(max(1, resolved - rng.randint(1, 9))))
    for partition, ts in late:
        send(partition, Resolved(ts))
    if schemas is not None:
        # A consumer that began in the middle may have waited for these.
        for table in schemas.first:
            bootstrap([0], table)


class _Schemas:
    """The tables as Simple tells them: each DDL makes a new version."""

    def __init__(self, changes: Sequence[RowChange | Ddl]) -> None:
        self._versions = {table.name: [(0, replace(table, version=1))] for table in TABLES}
        for change in changes:
            if isinstance(change, Ddl):
                of = self._versions[change.table]
                of.append((change.commit_ts, replace(of[-1][1], version=len(of) + 1)))

    @property
    def first(self) -> list[Table]:
        return [of[0][1] for of in self._versions.values()]

    def versioned(self, event: RowChange | Ddl) -> RowChange | Ddl:
        name = event.table if isinstance(event, Ddl) else event.table.name
        table = [of for since, of in self._versions[name] if since <= event.commit_ts][-1]
        if isinstance(event, Ddl):
            return replace(event, definition=table)
        return replace(event, table=table)


class Broker:
    """The log as it is at `now`; time goes on whenever somebody looks."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.now = 0
        self.logs: list[list[Record]] = [[] for _ in range(world.partitions)]
        for record in world.log:
            self.logs[record.partition].append(record)

    @property
    def over(self) -> bool:
        return self.now >= len(self.world.log)

    def tick(self) -> None:
        self.now = min(len(self.world.log), self.now + self.world.rng.randint(0, 6))

    def end(self, partition: int) -> int:
        return sum(record.born < self.now for record in self.logs[partition])


class FakeCluster:
    """Stands for `listing.Cluster`."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def list_patiently(self, known: object, patience: float) -> Listing:
        self.broker.tick()
        ends = {(TOPIC, p): self.broker.end(p) for p in range(self.broker.world.partitions)}
        self.broker.tick()
        return Listing(ends, {TOPIC: "one"})

    def begins(self, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(partitions, 0)


class FakeMessage:
    """Stands for librdkafka's message."""

    def __init__(self, partition: int, offset: int, record: Record | None) -> None:
        self._partition, self._offset, self._record = partition, offset, record

    def topic(self) -> str:
        return TOPIC

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def error(self) -> KafkaError | None:
        return None if self._record else KafkaError(KafkaError._PARTITION_EOF)

    def key(self) -> bytes | None:
        assert self._record
        return self._record.key

    def value(self) -> bytes | None:
        return self._record.value if self._record else b"reached end of partition"

    def timestamp(self) -> tuple[int, int]:
        assert self._record
        return 1, self._record.born


class FakeConsumer:
    """Stands for librdkafka's consumer; it gives a few records at a time, and EOF at the end."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.positions: dict[int, int] = {}
        self.told: dict[int, int] = {}

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        self.positions, self.told = {}, {}
        self.incremental_assign(partitions)

    def incremental_assign(self, partitions: Sequence[TopicPartition]) -> None:
        self.positions.update({place.partition: place.offset for place in partitions})

    def incremental_unassign(self, partitions: Sequence[TopicPartition]) -> None:
        for place in partitions:
            del self.positions[place.partition]
            self.told.pop(place.partition, None)

    def unassign(self) -> None:
        self.positions = {}

    def close(self) -> None:
        return

    def get_watermark_offsets(self, of: TopicPartition, cached: bool) -> tuple[int, int]:
        return 0, self.broker.end(of.partition)

    def consume(self, count: int, wait: float) -> list[FakeMessage]:
        rng, messages = self.broker.world.rng, []
        for partition, position in sorted(self.positions.items()):
            end = self.broker.end(partition)
            upto = min(end, position + rng.randint(0, 5))
            log = self.broker.logs[partition]
            messages += [FakeMessage(partition, o, log[o]) for o in range(position, upto)]
            self.positions[partition] = max(position, upto)
            if upto == end and self.told.get(partition) != end:
                self.told[partition] = end
                messages.append(FakeMessage(partition, end, None))
        self.broker.tick()
        return messages
