"""Histories in which rows change their keys, as changefeeds of many versions and settings tell it.

Each changefeed has a schema of its own, and all of them share a topic, or a storage: a consumer
takes no notice. Each is started again in the middle, as another version with other settings.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import count
from random import Random
from typing import Any

from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.changefeed.split import mysql_split_mode
from ticdc_encoder.changefeed.storage import StorageChangefeed, StorageFile
from ticdc_encoder.event import RowChange, Table, Transaction
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.formats.registry import Registry
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.storage.layout import METADATA, metadata_json

BASE = 429918007904436226
PARTITIONS = 3
COLUMNS = ("id", "u", "p", "v")
SQL = "create table {} (id int primary key {}, u int not null, p int, v int, unique key uku (u))"
TABLES = {"loose": "nonclustered", "fixed": "clustered"}

Values = tuple[int, int, int, int]
Step = tuple[Values | None, Values | None]

# Every history has rows of its own: what is there before, and then its transactions.
HISTORIES: dict[str, tuple[list[Values], list[list[Step]]]] = {
    "primary keys swapped": (
        [(1, 1, 0, 1), (2, 2, 0, 2)],
        [[((1, 1, 0, 1), (2, 1, 0, 1)), ((2, 2, 0, 2), (1, 2, 0, 2))]],
    ),
    "a chain of primary keys": (
        [(11, 11, 0, 1), (12, 12, 0, 2), (13, 13, 0, 3)],
        [
            [
                ((11, 11, 0, 1), (12, 11, 0, 1)),
                ((12, 12, 0, 2), (13, 12, 0, 2)),
                ((13, 13, 0, 3), (14, 13, 0, 3)),
            ],
            [((14, 13, 0, 3), (11, 13, 0, 3))],
        ],
    ),
    "unique keys swapped": (
        [(21, 21, 0, 1), (22, 22, 0, 2)],
        [
            [((21, 21, 0, 1), (21, 22, 0, 1)), ((22, 22, 0, 2), (22, 21, 0, 2))],
            [((21, 22, 0, 1), (21, 29, 0, 1))],
        ],
    ),
    "primary and unique keys together": (
        [(31, 31, 0, 1), (32, 32, 0, 2), (33, 33, 0, 3)],
        [
            [
                ((31, 31, 0, 1), (32, 33, 0, 1)),
                ((32, 32, 0, 2), (33, 31, 0, 2)),
                ((33, 33, 0, 3), (31, 32, 0, 3)),
            ]
        ],
    ),
    "deleted and inserted again": (
        [(41, 41, 0, 1), (42, 42, 0, 2)],
        [
            [
                ((41, 41, 0, 1), None),
                ((42, 42, 0, 2), None),
                (None, (41, 42, 1, 3)),
                (None, (43, 41, 1, 4)),
            ],
            [((41, 42, 1, 3), None)],
            [(None, (41, 49, 2, 5))],
        ],
    ),
    "from partition to partition": (
        [(51, 51, 0, 1), (52, 52, 1, 2)],
        [
            [((51, 51, 0, 1), (51, 51, 1, 1)), ((52, 52, 1, 2), (52, 52, 2, 2))],
            [((51, 51, 1, 1), (51, 51, 5, 7))],
            [((52, 52, 2, 2), None)],
        ],
    ),
}
STEPS = 1 + max(len(steps) for _, steps in HISTORIES.values())

DISPATCHERS: dict[str, dict[str, Any]] = {
    "table": {"partition": "table"},
    "default": {"partition": "default"},
    "index-value": {"partition": "index-value"},
    "index-value of a unique key": {"partition": "index-value", "index": "uku"},
    "columns": {"partition": "columns", "columns": ["p"]},
    "columns, split": {"partition": "columns", "columns": ["p"]},
    "ts": {"partition": "ts"},
}
"""`split` says split-update-partition-key."""

VERSIONS = (
    *("6.5.1", "6.5.2", "6.5.3", "6.5.4", "6.5.9", "6.5.10", "6.5.10 raw", "7.1.0", "7.1.1"),
    "7.1.5",
    *("7.1.6", "7.1.6 raw", "7.3.0", "7.5.2", "7.5.3", "7.5.3 raw", "8.1.0", "8.1.1", "8.1.1 raw"),
    *("8.5.3", "8.5.3 raw", "8.5.7", "8.5.7 new", "8.5.7 new raw"),
    # As the MySQL sink splits: transactions from before a restart, or all of them.
    *("6.5.9 mysql", "8.5.3 mysql", "8.5.7 new mysql"),
    *("6.5.1 safe-mode", "6.5.9 safe-mode", "8.5.3 safe-mode", "8.5.7 new safe-mode"),
)
"""Each with the words that tell its architecture and settings."""


@dataclass(frozen=True)
class Feed:
    """A changefeed, and the schema of its tables."""

    schema: str
    protocol: str
    version: str
    dispatcher: str

    def changefeed(
        self,
        topic: str,
        settings: str = "",
        registry: Registry | None = None,
        **sink: Any,
    ) -> Changefeed:
        number, *words = self.version.split()
        new = "new" in words
        kafka = {
            "output-raw-change-event": "raw" in words,
            "split-update-partition-key": self.dispatcher.endswith("split"),
        }
        dispatcher = {"matcher": ["*.*"], **DISPATCHERS[self.dispatcher]}
        mode = None
        if "mysql" in words:
            mode = partial(mysql_split_mode, number, threshold_ts=BASE + 15, new_architecture=new)
        elif "safe-mode" in words:
            mode = partial(mysql_split_mode, number, safe_mode=True, new_architecture=new)
        return Changefeed(
            f"kafka://h/{topic}?protocol={self.protocol}&partition-num={PARTITIONS}{settings}",
            {"sink": {"dispatchers": [dispatcher], "kafka-config": kafka, **sink}},
            number,
            new_architecture=new,
            registry=registry,
            split_mode=mode and (lambda ts: mode(commit_ts=ts)),
        )

    def storage(
        self, start_ts: int, today: Callable[[], date], settings: str = "", **csv: bool
    ) -> StorageChangefeed:
        number, *words = self.version.split()
        storage = {"output-raw-change-event": "raw" in words}
        return StorageChangefeed(
            f"s3://b/f?protocol={self.protocol}{settings}",
            {"sink": {"csv": csv, "cloud-storage-config": storage}},
            number,
            new_architecture="new" in words,
            start_ts=start_ts,
            today=today,
        )

    def tables(self) -> list[Table]:
        return [
            parse_create_table(SQL.format(name, clustered), self.schema)
            for name, clustered in TABLES.items()
        ]


WHOLE = {
    *("6.5.1", "6.5.2", "6.5.3", "6.5.4", "6.5.10 raw", "7.1.0", "7.1.1", "7.1.6 raw", "7.3.0"),
    *("7.5.3 raw", "8.1.1 raw", "8.5.3 raw", "8.5.7 new raw"),
    # As the MySQL sink of the old architecture does with what is newer than its start.
    *("6.5.9 mysql", "8.5.3 mysql"),
}
"""Those that send UPDATEs of keys whole, be it in transactions of one row or of several alone."""


BY_HANDLE_KEY = {"6.5.3", "6.5.4", "7.1.1", "7.3.0"}
"""Those whose CSV has the halves of an UPDATE of the handle key, and the new row of any other."""


def versions(protocol: str) -> list[str]:
    """Those whose messages carry enough: Debezium has resolved ts in the new architecture, where
    Avro tells when a row was deleted since 8.5.7, and never the old key of an UPDATE that is
    whole."""
    match protocol:
        case "simple":
            return [version for version in VERSIONS if version[0] == "8"]
        case "debezium":
            return [version for version in VERSIONS if version.startswith("8.5.7 new")]
        case "avro":
            return [v for v in VERSIONS if v.startswith("8.5.7 new") and v not in WHOLE]
    return [*VERSIONS]


def feeds(protocol: str, every: bool) -> list[Feed]:
    """Every version with every dispatcher; or each with one of them, so that all come in turn."""
    names, first, known = list(DISPATCHERS), list(FORMATS).index(protocol), versions(protocol)
    chosen = [
        (version, dispatcher)
        for number, version in enumerate(known, first)
        for place, dispatcher in enumerate(names)
        if every or len(known) < len(names) or place == number % len(names)
    ]
    return [Feed(f"s{number}", protocol, *of) for number, of in enumerate(chosen)]


def storage_feeds(protocol: str, old_values: bool = True) -> list[Feed]:
    """Of those versions whose files carry enough, and lie where a consumer finds them."""
    unfit = ("6.5.1", "6.5.2")
    known = [v for v in VERSIONS if not v.endswith(("mysql", "safe-mode")) and v not in unfit]
    chosen = [v for v in known if old_values or v not in WHOLE or v in BY_HANDLE_KEY]
    return [Feed(f"s{number}", protocol, version, "") for number, version in enumerate(chosen)]


def transactions(table: Table, rng: Random) -> Iterator[tuple[int, Transaction]]:
    """Each with its step: the rows before, then every history's next transaction as one of its own,
    its changes in any order."""

    def row(values: Values | None) -> dict[str, Any] | None:
        return values and dict(zip(COLUMNS, values, strict=True))

    first = [(None, values) for rows, _ in HISTORIES.values() for values in rows]
    steps: list[tuple[int, Sequence[Step]]] = [(0, first)]
    for _, history in HISTORIES.values():
        steps += enumerate(history, 1)
    for number, (step, changes) in enumerate(sorted(steps, key=lambda of: of[0])):
        commit_ts = BASE + 10 * step + number % 5
        made = [RowChange(table, commit_ts, row(old), row(new)) for old, new in changes]
        if all(old is not None and new is not None for old, new in changes):
            rng.shuffle(made)
        yield step, Transaction(commit_ts, tuple(made))


def contents(steps: int) -> list[Values]:
    """What every table holds after so many steps."""
    held: set[Values] = set()
    for rows, history in HISTORIES.values():
        held |= set(rows)
        for changes in history[: max(steps, 0)]:
            held -= {old for old, _ in changes if old is not None}
            held |= {new for _, new in changes if new is not None}
    return sorted(held)


def runs(
    feed: Feed, table: Table, others: Sequence[Feed], rng: Random
) -> Iterator[tuple[Feed, list[tuple[int, Transaction]]]]:
    """What is sent of a table: up to anywhere, and from somewhere before that on once more, as
    another changefeed of the same protocol would."""
    sent = sorted(transactions(table, rng), key=lambda of: of[1].commit_ts)
    end = rng.randint(1, len(sent))
    yield feed, sent[:end]
    yield replace(rng.choice(others), schema=feed.schema), sent[rng.randrange(end) :]


def _tables(chosen: Sequence[Feed]) -> Iterator[tuple[Feed, Table]]:
    return ((feed, table) for feed in chosen for table in feed.tables())


def topic_of(
    chosen: Sequence[Feed],
    topic: str,
    settings: str,
    rng: Random,
    registry: Registry | None = None,
) -> list[Message]:
    """All messages, with the resolved ts of each step. Partitions are interleaved at random; a
    partition has each table's messages in their order, and maybe the next step's before the
    resolved ts of this."""
    born: list[tuple[float, int, Message]] = []
    others = feeds(chosen[0].protocol, True)
    for feed, table in _tables(chosen):
        latest: dict[int, float] = {}
        for run, sent in runs(feed, table, others, rng):
            changefeed = run.changefeed(topic, settings, registry)
            for step, transaction in sent:
                for message in [*changefeed.encode(transaction), *changefeed.flush()]:
                    before = latest.get(message.partition, 0.0)
                    at = max(before, step + 1.5 * rng.random())
                    latest[message.partition] = at
                    born.append((at, len(born), message))
    for step in range(STEPS):
        changefeed = rng.choice(chosen).changefeed(topic, settings, registry)
        for message in changefeed.resolve(BASE + 10 * step + 10):
            born.append((step + 1.5 + 0.3 * rng.random(), len(born), message))
    return [message for *_, message in sorted(born, key=lambda of: of[:2])]


def storage_of(
    chosen: Sequence[Feed], settings: str, rng: Random, **csv: bool
) -> list[list[StorageFile]]:
    """The files, by the step whose checkpoint is the last of them. A file has any number of
    transactions, some maybe of the next step, and may be there before the checkpoint of the
    previous. A day, of which there is a directory, is some changes long."""
    steps: list[list[StorageFile]] = [[] for _ in range(STEPS)]
    for feed, table in _tables(chosen):
        ticks, at = count(), 0
        for run, sent in runs(feed, table, chosen, rng):
            start_ts = sent[0][1].commit_ts - 1 - (run is feed)
            storage = run.storage(start_ts, partial(_day, ticks), settings, **csv)
            while sent:
                size = rng.randint(1, 3)
                at = max(at, sent[0][0] - rng.randrange(2))
                for _, transaction in sent[:size]:
                    steps[at] += storage.encode(transaction)
                steps[at] += storage.flush()
                sent = sent[size:]
    for step, files in enumerate(steps):
        files.append(StorageFile(METADATA, metadata_json(BASE + 10 * step + 9)))
    return steps


def _day(ticks: Iterator[int]) -> date:
    return date(2024, 5, 25 + next(ticks) // 15)
