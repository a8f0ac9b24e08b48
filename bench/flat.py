"""Whether the cost of a change stays the same, whatever the backlog's size and form.

    python bench/flat.py [--target postgresql] [--changes 500000] [--shapes even,long,hot,...]

Needs KAFKA_BOOTSTRAP and the target's URL. Every backlog is of the encoder's own bytes: updates of
a table of 200,000 rows by transactions of 5 rows, with a resolved ts after every 1,000 of them.

    warm     as even, for what the first round costs; its speed counts for nothing
    even     4 partitions alike
    long     four times as many changes
    longest  twenty times as many
    hot      all rows in one of 4 partitions, as the dispatcher `table` sends one large table
    single   a topic of one partition
    wide     rows of 2 KB, a quarter as many
    large    a transaction of twice as many new rows in between
    moved    updates that change the primary key, each one message
    split    the same, each split into a DELETE and an INSERT

Each line names its speed as a share of `even` (`split`: of `moved`). The goals
are a share of 0.85 (0.90), and less than 1.5 GiB in the driver.
"""

import argparse
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from servers import Kafka, kafka, target_url, verdict
from throughput import Processes, options, place, round_
from ticdc_consumer.cut.spark.session import session, warm_up
from ticdc_consumer.targets import encoders, open_target
from ticdc_consumer.targets.target import Target
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Row, RowChange, Transaction
from ticdc_encoder.kafka.produce import produce
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table
from workload import SCHEMA, START_TS, arrays

ROWS = 200_000
GOAL, GOAL_OF_SPLIT, MOST_MIB = 0.85, 0.90, 1536
TABLE = parse_create_table(
    "CREATE TABLE f (id bigint NOT NULL PRIMARY KEY, version bigint NOT NULL, "
    "pad varchar(4000) NOT NULL)",
    SCHEMA,
)
OF_A_TRANSACTION = 5
MARK_EVERY = 1_000
# What stands for a value while a message is made a template.
ID, ID_BEFORE, VERSION, BEFORE = 1_111_111_111, 1_211_111_111, 2_222_222_222, 3_333_333_333

FAR = 1 << 40
"""What a key moves by, there and back."""

Template = tuple[bytes | None, bytes]
"""Key and value of a message, to be filled by `%`."""


@dataclass(frozen=True)
class Shape:
    """`size` is the changes in units of --changes; `large` is the size of the transaction in the
    middle, in the same units. `key`: what the changefeed does with updates that change the key."""

    name: str
    size: float = 1.0
    partitions: int = 4
    hot: bool = False
    width: int = 200
    large: float = 0.0
    key: Literal["unchanged", "raw", "split"] = "unchanged"


SHAPES = (
    Shape("warm"),
    Shape("even"),
    Shape("long", size=4),
    Shape("longest", size=20),
    Shape("hot", hot=True),
    Shape("single", partitions=1),
    Shape("wide", size=0.25, width=2000),
    Shape("large", large=2),
    Shape("moved", key="raw"),
    Shape("split", key="split"),
)


class Backlog:
    """A shape's messages. `rows` are the ids and versions that they leave, once all are made."""

    def __init__(self, shape: Shape, topic: str, unit: int) -> None:
        self.shape = shape
        self._transactions = int(unit * shape.size) // OF_A_TRANSACTION
        self._large = int(unit * shape.large)
        self.changes = self._transactions * OF_A_TRANSACTION + self._large
        self.bytes = 0
        self._ids = np.arange(ROWS + self._large)
        self._versions: NDArray[np.int64] = np.zeros(ROWS + self._large, np.int64)
        self._feed = Changefeed(
            f"kafka://127.0.0.1/{topic}?protocol=canal-json&enable-tidb-extension=true"
            f"&partition-num={shape.partitions}",
            {"sink": {"kafka-config": {"output-raw-change-event": shape.key == "raw"}}},
            new_architecture=True,
        )
        self._topic = topic

    @property
    def rows(self) -> NDArray[np.int64]:
        """By id."""
        return np.column_stack([self._ids, self._versions])[np.argsort(self._ids)]

    def messages(self) -> Iterator[Message]:
        """In the order in which TiCDC would send them."""
        update = self._templates(is_insert=False)
        firsts = np.random.default_rng(7).integers(0, ROWS, self._transactions).tolist()
        commit_ts = START_TS
        for number, first in enumerate(firsts, 1):
            commit_ts += 1
            for nth in range(OF_A_TRANSACTION):
                yield from self._change(update, (first + nth * 40_009) % ROWS, number, commit_ts)
            if number % MARK_EVERY == 0:
                yield from self._feed.resolve(commit_ts + 1)
            if number == self._transactions // 2 and self._large:
                commit_ts += 1
                insert = self._templates(is_insert=True)
                for row in range(ROWS, ROWS + self._large):
                    yield from self._change(insert, row, number, commit_ts)
        yield from self._feed.resolve(commit_ts + 1)

    def _change(
        self, templates: Sequence[Template], row: int, version: int, commit_ts: int
    ) -> Iterator[Message]:
        before, old = int(self._ids[row]), int(self._versions[row])
        after = before if self.shape.key == "unchanged" else (before + FAR) % (2 * FAR)
        self._ids[row], self._versions[row] = after, version
        last = self.shape.partitions - 1
        partition = last if self.shape.hot else row % (last + 1)
        values = {b"id": after, b"was": before, b"new": version, b"old": old, b"ts": commit_ts}
        for key, value in templates:
            message = Message(self._topic, partition, key and key % values, value % values)
            self.bytes += len(message.key or b"") + len(message.value or b"")
            yield message

    def _templates(self, is_insert: bool) -> list[Template]:
        """The messages of one change, with fields for what differs from row to row."""
        row: Row = {"id": ID, "version": VERSION, "pad": "p" * self.shape.width}
        id_before = ID if self.shape.key == "unchanged" else ID_BEFORE
        before = None if is_insert else {**row, "id": id_before, "version": BEFORE}
        change = RowChange(TABLE, START_TS, before=before, after=row)
        messages = self._feed.encode(Transaction(START_TS, (change,)))
        return [(m.key and _opened(m.key), _opened(m.value or b"")) for m in messages]


def _opened(text: bytes) -> bytes:
    fields = {ID: b"id", ID_BEFORE: b"was", VERSION: b"new", BEFORE: b"old", START_TS: b"ts"}
    text = text.replace(b"%", b"%%")
    for value, field in fields.items():
        text = text.replace(b"%d" % value, b"%%(%s)d" % field)
    return text


def load(target: Target, shape: Shape, schema: str) -> None:
    """Creates the table and puts the rows there, at version 0."""
    for text in target.create_schema(schema) if target.dialect == "postgresql" else []:
        target.execute(text)
    where = place(target, TABLE.name, schema)
    for text in [*target.drop_table(*where), *target.create_table(*where, TABLE)]:
        target.connection.exec_driver_sql(text)
    described = target.describe(*where)
    assert described is not None
    layout = target.layout(TABLE, TABLE.handle_key, described, TABLE, frozenset())
    encode_rows, _ = encoders(layout.dialect)
    pad = "p" * shape.width
    with target.transaction():
        for start in range(0, ROWS, 20_000):
            numbers = range(start, start + 20_000)
            rows: list[Row] = [{"id": n, "version": 0, "pad": pad} for n in numbers]
            texts = arrays(TABLE, rows)
            payloads = encode_rows(layout, [pa.array(column, pa.string()) for column in texts])
            target.insert(layout, payloads, "stop")


@dataclass(frozen=True)
class Produced:
    """What a backlog has, and the rows that it leaves."""

    changes: int
    bytes: int
    rows: NDArray[np.int64]


def produced(shape: Shape, topic: str, unit: int, config: Mapping[str, str]) -> Produced:
    backlog = Backlog(shape, topic, unit)
    produce(backlog.messages(), {**config, "linger.ms": "20", "compression.type": "lz4"})
    return Produced(backlog.changes, backlog.bytes, backlog.rows)


def is_equal(target: Target, shape: Shape, backlog: Produced, schema: str) -> bool:
    """Whether the table has exactly the rows that the backlog leaves."""
    where = target.quote(*place(target, TABLE.name, schema))
    pad = "p" * shape.width
    others = target.query(f"SELECT count(*) FROM {where} WHERE pad <> '{pad}'")
    found = np.array(target.query(f"SELECT id, version FROM {where} ORDER BY id"), np.int64)
    return others == [(0,)] and np.array_equal(found, backlog.rows)


def measured(shape: Shape, broker: Kafka, arguments: argparse.Namespace, base: float) -> float:
    """Changes per second; prints the line."""
    topic = broker.create_topic(f"flat-{shape.name}", shape.partitions)
    # In a process of its own: what it holds is none of the driver's.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        asked = (shape, topic, arguments.changes, dict(broker.config))
        backlog = pool.submit(produced, *asked).result()
    processes = Processes()
    with target_url(arguments.target) as url, closing(open_target(url)) as target:
        load(target, shape, SCHEMA)
        settings = options(url, topic, broker.config, arguments)
        spark = session({}, "bench")
        threading.Thread(target=processes.watch, daemon=True).start()
        wall, seconds, cpu, _, cuts = round_(spark, settings, processes)
        processes.running = False
        equal = is_equal(target, shape, backlog, SCHEMA)
    speed = backlog.changes / wall
    share, goal = speed / (base or speed), GOAL_OF_SPLIT if shape.key == "split" else GOAL
    micro = {kind: f"{spent / backlog.changes * 1e6:.1f}" for kind, spent in cpu.items()}
    driver = processes.peak["driver"] >> 20
    print(
        f"{shape.name:8} {backlog.changes:9,} {wall:7.1f} {speed:9,.0f} "
        f"{backlog.bytes / wall / 1e6:6.0f}   {share:4.2f} {cuts:5} | "
        f"{seconds.get('plan', 0):5.1f} {seconds.get('read', 0):5.1f} {seconds.get('load', 0):5.1f}"
        f" | {micro['jvm']:>5} {micro['worker']:>6} {micro['driver']:>6} | {driver:6} | {equal}"
        f" | share {verdict(share >= goal)}, driver {verdict(driver < MOST_MIB)}",
        flush=True,
    )
    return speed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--changes", type=int, default=500_000)
    parser.add_argument("--cut", type=int, default=400_000)
    parser.add_argument("--target", default="postgresql")
    parser.add_argument("--shapes", default=",".join(shape.name for shape in SHAPES))
    arguments = parser.parse_args()
    arguments.protocol = "canal-json"
    wanted = arguments.shapes.split(",")
    shapes = [shape for shape in SHAPES if shape.name in (*wanted, "warm")]
    warm_up(session({}, "bench"))
    print(
        f"into {arguments.target}, goals: a share of {GOAL} or more ({GOAL_OF_SPLIT} of split), a "
        f"driver below {MOST_MIB} MiB\n"
        "shape      changes  wall s changes/s   MB/s  share  cuts |  plan  read  load s | "
        "us: jvm worker driver | driver MiB | equal | goals"
    )
    with kafka() as broker:
        speeds: dict[str, float] = {}
        for shape in shapes:
            beside = "moved" if shape.key == "split" else "even"
            speeds[shape.name] = measured(shape, broker, arguments, speeds.get(beside, 0.0))
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
