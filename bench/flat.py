"""Whether the cost of a change stays the same, whatever the backlog's size and form.

    python bench/flat.py [--target postgresql] [--changes 500000] [--shapes even,long,hot,...]

Needs KAFKA_BOOTSTRAP and the target's URL. Every backlog is of the encoder's own bytes: updates of
a table of 200,000 rows by transactions of 5 rows, with a resolved ts after every 1,000 of them.

    even     4 partitions alike
    long     four times as many changes
    longest  twenty times as many
    hot      all rows in one of 4 partitions, as the dispatcher `table` sends one large table
    single   a topic of one partition
    wide     rows of 2 KB, a quarter as many
    large    a transaction of twice as many new rows in between

Each line names its speed as a share of `even`, which is run first. The goal is 0.85, with less than
1.5 GiB in the driver.
"""

import argparse
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from servers import Kafka, kafka, target_url
from throughput import Processes, options, place, round_
from ticdc_consumer.spark.session import session, warm_up
from ticdc_consumer.targets import encoders, open_target
from ticdc_consumer.targets.target import Target
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Row, RowChange, Transaction
from ticdc_encoder.kafka.produce import produce
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table
from workload import SCHEMA, START_TS, arrays

ROWS = 200_000
GOAL, MOST_MIB = 0.85, 1536
TABLE = parse_create_table(
    "CREATE TABLE f (id bigint NOT NULL PRIMARY KEY, version bigint NOT NULL, "
    "pad varchar(4000) NOT NULL)",
    SCHEMA,
)
OF_A_TRANSACTION = 5
MARK_EVERY = 1_000
# What stands for a value while a message is made a template.
ID, VERSION, BEFORE = 1_111_111_111, 2_222_222_222, 3_333_333_333


@dataclass(frozen=True)
class Shape:
    """`size` is the changes in units of --changes; `large` is the size of the transaction in the
    middle, in the same units."""

    name: str
    size: float = 1.0
    partitions: int = 4
    hot: bool = False
    width: int = 200
    large: float = 0.0


SHAPES = (
    Shape("even"),
    Shape("long", size=4),
    Shape("longest", size=20),
    Shape("hot", hot=True),
    Shape("single", partitions=1),
    Shape("wide", size=0.25, width=2000),
    Shape("large", large=2),
)


class Backlog:
    """A shape's messages. `versions` are the rows' last ones, once all messages have been made."""

    def __init__(self, shape: Shape, topic: str, unit: int, protocol: str) -> None:
        self.shape = shape
        self._transactions = int(unit * shape.size) // OF_A_TRANSACTION
        self._large = int(unit * shape.large)
        self.changes = self._transactions * OF_A_TRANSACTION + self._large
        self.versions: NDArray[np.int64] = np.zeros(ROWS + self._large, np.int64)
        self._feed = Changefeed(
            f"kafka://127.0.0.1/{topic}?protocol={protocol}"
            f"&partition-num={shape.partitions}&enable-tidb-extension=true",
            new_architecture=True,
        )
        self._topic, self._protocol = topic, protocol

    def messages(self) -> Iterator[Message]:
        """In the order in which TiCDC would send them."""
        update = self._template(is_insert=False)
        firsts = np.random.default_rng(7).integers(0, ROWS, self._transactions).tolist()
        commit_ts = START_TS
        for number, first in enumerate(firsts, 1):
            commit_ts += 1
            for nth in range(OF_A_TRANSACTION):
                id_ = (first + nth * 40_009) % ROWS
                yield update(id_, number, int(self.versions[id_]), commit_ts)
                self.versions[id_] = number
            if number % MARK_EVERY == 0:
                yield from self._feed.resolve(commit_ts + 1)
            if number == self._transactions // 2 and self._large:
                commit_ts += 1
                yield from self._of_one_transaction(number, commit_ts)
        yield from self._feed.resolve(commit_ts + 1)

    def _of_one_transaction(self, number: int, commit_ts: int) -> Iterator[Message]:
        insert = self._template(is_insert=True)
        for id_ in range(ROWS, ROWS + self._large):
            yield insert(id_, number, 0, commit_ts)
            self.versions[id_] = number

    def _template(self, is_insert: bool) -> Callable[[int, int, int, int], Message]:
        """(id, version, version before, commit_ts) -> the message of such a row."""
        row: Row = {"id": ID, "version": VERSION, "pad": "p" * self.shape.width}
        before = None if is_insert else {**row, "version": BEFORE}
        change = RowChange(TABLE, START_TS, before=before, after=row)
        message, *_ = self._feed.encode(Transaction(START_TS, (change,)))
        fields = {ID: b"%(id)d", VERSION: b"%(new)d", BEFORE: b"%(old)d", START_TS: b"%(ts)d"}

        def opened(text: bytes | None) -> bytes | None:
            if text is None:
                return None
            text = text.replace(b"%", b"%%")
            for value, field in fields.items():
                text = text.replace(b"%d" % value, field)
            return text

        key, value = opened(message.key), opened(message.value)
        assert value is not None and b"%(id)d" in value and self._protocol == "canal-json"
        last, hot = self.shape.partitions - 1, self.shape.hot

        def filled(id_: int, version: int, old: int, commit_ts: int) -> Message:
            values = {b"id": id_, b"new": version, b"old": old, b"ts": commit_ts}
            partition = last if hot else id_ % (last + 1)
            return Message(self._topic, partition, key and key % values, value % values)

        return filled


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


def is_equal(target: Target, backlog: Backlog, schema: str) -> bool:
    """Whether the table has exactly the rows that the backlog leaves."""
    where = target.quote(*place(target, TABLE.name, schema))
    pad = "p" * backlog.shape.width
    others = target.query(f"SELECT count(*) FROM {where} WHERE pad <> '{pad}'")
    found = np.array(target.query(f"SELECT id, version FROM {where} ORDER BY id"), np.int64)
    expected = np.column_stack([np.arange(len(backlog.versions)), backlog.versions])
    return others == [(0,)] and np.array_equal(found, expected)


def measured(shape: Shape, broker: Kafka, arguments: argparse.Namespace, base: float) -> float:
    """Changes per second; prints the line."""
    topic = broker.create_topic(f"flat-{shape.name}", shape.partitions)
    backlog = Backlog(shape, topic, arguments.changes, arguments.protocol)
    produce(backlog.messages(), {**broker.config, "linger.ms": "20", "compression.type": "lz4"})
    processes = Processes()
    with target_url(arguments.target) as url, closing(open_target(url)) as target:
        load(target, shape, SCHEMA)
        settings = options(url, topic, broker, arguments)
        spark = session({}, "bench")
        threading.Thread(target=processes.watch, daemon=True).start()
        wall, seconds, cpu, _, cuts = round_(spark, settings, processes)
        processes.running = False
        equal = is_equal(target, backlog, SCHEMA)
    speed = backlog.changes / wall
    share = speed / (base or speed)
    micro = {kind: f"{spent / backlog.changes * 1e6:.1f}" for kind, spent in cpu.items()}
    driver = processes.peak["driver"] >> 20
    print(
        f"{shape.name:8} {backlog.changes:9,} {wall:7.1f} {speed:9,.0f}   {share:4.2f} {cuts:5} | "
        f"{seconds.get('plan', 0):5.1f} {seconds.get('read', 0):5.1f} {seconds.get('load', 0):5.1f}"
        f" | {micro['jvm']:>5} {micro['worker']:>6} {micro['driver']:>6} | {driver:6} | {equal}"
        f"{'' if share >= GOAL else ' below the goal'}"
        f"{'' if driver < MOST_MIB else ' above the goal'}",
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
    shapes = [shape for shape in SHAPES if shape.name in wanted]
    warm_up(session({}, "bench"))
    print(
        f"into {arguments.target}, goal: a share of {GOAL} or more, a driver below {MOST_MIB} MiB\n"
        "shape      changes  wall s changes/s  share  cuts |  plan  read  load s | "
        "us: jvm worker driver | driver MiB | equal"
    )
    with kafka() as broker:
        base = 0.0
        for shape in shapes:
            speed = measured(shape, broker, arguments, base)
            base = base or speed
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
