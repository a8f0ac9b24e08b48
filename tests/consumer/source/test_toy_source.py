"""A source is one class and one line in `SOURCES`: a folder of text files, one line a message."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession
from support.local_spark import LocalSpark
from ticdc_consumer import Consumer, Settings
from ticdc_consumer.commands.check.checks import check
from ticdc_consumer.errors import Unavailable
from ticdc_consumer.protocols import decoder
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source import (
    SOURCES,
    ProgressT,
    Receiver,
    RunSurvey,
    SourceKind,
    TaskSource,
)
from ticdc_consumer.source.listing import Listing, LogRecord
from ticdc_consumer.source.marks import Mark, SeenDdl, TopicPartition
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Ddl, Resolved, Table
from ticdc_encoder.message import Message
from ticdc_encoder.testing.shop import Shop


def lines(folder: Path, partition: int) -> list[bytes]:
    return (folder / f"{partition}.log").read_bytes().splitlines()


@dataclass(frozen=True)
class ToyTasks:
    folder: Path
    gives_messages = True

    def read(self, receiver: Receiver[ProgressT], size: int) -> Iterator[None]:
        for (_, number), progress in receiver.progress.items():
            values = lines(self.folder, number)
            while not progress.done:
                receiver.feed(progress, None, values[progress.position], progress.position, 0)
                progress.done |= progress.position >= progress.end
            yield
        yield from receiver.complete()


class ToySource:
    """The files `0.log`, `1.log`, ... are the partitions of a topic named `toy`."""

    rows_per_offset = 1.0
    listing_may_lag = False

    def __init__(self, options: Settings) -> None:
        self._folder = Path(options.kafka["folder"])
        self._decode = decoder(options)
        self._position = 0
        self._ddls: list[SeenDdl] = []
        self.schemas = Schemas(options)
        self.marks: list[Mark] = []
        self.top: dict[str, Mark] = {}
        self.newest: float | None = None
        self.trouble: Unavailable | None = None

    def close(self) -> None:
        return

    def list(self) -> Listing:
        numbers = [int(path.stem) for path in self._folder.glob("*.log")]
        return Listing({("toy", n): len(lines(self._folder, n)) for n in numbers}, {"toy": ""})

    def list_patiently(self, known: Iterable[TopicPartition], patience: float) -> Listing:
        return self.list()

    def expected(self, known: Iterable[TopicPartition]) -> set[TopicPartition]:
        return set(known)

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def record_at(
        self, topic_partition: TopicPartition, offset: int, patience: float
    ) -> LogRecord | None:
        return LogRecord(offset, 0, 0)

    def follow(self, starts: Mapping[str, int]) -> None:
        self._position = max(self._position, *starts.values(), 0)

    def position(self, topic: str) -> int:
        return self._position

    def survey_by(self, surveys: Callable[[], RunSurvey | None]) -> None:
        return

    def poll(self, wait: float) -> int:
        come = lines(self._folder, 0)[self._position :]
        for value in come:
            for event in self._decode(None, value):
                match event:
                    case Resolved(resolved_ts):
                        self.marks.append(Mark(resolved_ts, self._position, "toy"))
                        self.top["toy"] = self.marks[-1]
                    case Ddl():
                        self._ddls.append(SeenDdl(event, "toy", self._position))
            self._position += 1
        return len(come)

    def read_to(self, reach: int, ends: Mapping[str, int], patience: float) -> None:
        self.poll(0.0)

    def require_marks(self, silence: float) -> None:
        return

    def ddls(self) -> Sequence[SeenDdl]:
        return self._ddls

    def forget(self, applied: int) -> None:
        self.marks = [mark for mark in self.marks if mark.resolved_ts > applied]
        self._ddls = [seen for seen in self._ddls if seen.ddl.commit_ts >= applied]

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        return

    def tasks(
        self,
        end: int,
        ddls: Iterable[int],
        definitions: Mapping[tuple[str, str], Table],
        *,
        here: bool = False,
    ) -> TaskSource:
        return ToyTasks(self._folder)


def write(folder: Path, messages: Iterable[Message]) -> None:
    for message in messages:
        with (folder / f"{message.partition}.log").open("ab") as file:
            file.write((message.value or b"") + b"\n")


def test_a_source_is_registered_by_one_line_and_runs_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SOURCES, "toy", SourceKind(lambda o: "folder" in o.kafka, ToySource))
    changefeed = Changefeed(
        "kafka://x/toy?protocol=canal-json&partition-num=2&enable-tidb-extension=true",
        {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}},
    )
    shop = Shop(1, accounts=20, users=20)
    for ddl in shop.definitions():
        write(tmp_path, changefeed.ddl(ddl))
    write(tmp_path, changefeed.encode(shop.open()))
    resolved = shop.resolve()
    write(tmp_path, changefeed.resolve(resolved))
    options = Settings(
        changefeed="toy",
        protocol="canal-json",
        topics=("toy",),
        kafka={"folder": str(tmp_path)},
        target_url=f"sqlite:///{tmp_path / 'target.db'}",
    )
    findings = list(check(options))
    assert [str(finding) for finding in findings if finding.level == "fail"] == []
    assert "ok    source: 1 topic, 2 partitions" in map(str, findings)
    with Consumer(options, cast("SparkSession", LocalSpark(2))) as consumer:
        epochs = list(consumer.epochs("caught-up"))
    assert epochs[-1].resolved_ts == resolved
    with closing(sqlite3.connect(tmp_path / "target.db")) as target:
        assert target.execute("SELECT count(*) FROM accounts").fetchone() == (20,)
        assert target.execute("SELECT count(*) FROM users").fetchone() == (20,)
